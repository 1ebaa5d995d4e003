//! What was pruned, for programs.

use std::path::Path;

use ctx_select::prune::Sum;
use serde::Serialize;

use super::Decision;

/// What was done, for programs. The keys are a contract: new ones may come, none goes.
#[derive(Serialize)]
pub struct Told<'a> {
    name: Option<&'a str>,
    output: Option<String>,
    dry_run: bool,
    /// Whether anything was changed, or would be.
    pruned: bool,
    changes: u64,
    freed_tokens: u64,
    rules: Vec<ToldRule>,
    beside: Vec<ToldBeside>,
}

#[derive(Serialize)]
struct ToldRule {
    rule: &'static str,
    changes: u64,
    tokens_before: u64,
    tokens_after: u64,
    freed_tokens: u64,
}

/// What goes of an agent's own file beside what the model is sent.
#[derive(Serialize)]
struct ToldBeside {
    rule: &'static str,
    count: u64,
    bytes: u64,
}

impl Decision<'_> {
    /// What is done with the session `name`; `output` is the file that is written.
    pub fn told<'a>(
        &self,
        name: Option<&'a str>,
        output: Option<&Path>,
        dry_run: bool,
    ) -> Told<'a> {
        let rule = |(rule, sum): (ctx_select::prune::Rule, Sum)| ToldRule {
            rule: rule.as_str(),
            changes: sum.changes,
            tokens_before: sum.before,
            tokens_after: sum.after,
            freed_tokens: sum.gain(),
        };
        let total = self.sums.total();
        let beside = self.beside.iter().map(|(rule, count, bytes)| ToldBeside {
            rule: rule.as_str(),
            count: *count,
            bytes: *bytes,
        });
        Told {
            name,
            output: output.map(|path| path.display().to_string()),
            dry_run,
            pruned: self.changes && (total.changes > 0 || !self.beside.is_empty()),
            changes: total.changes,
            freed_tokens: total.gain(),
            rules: self.sums.by_rule().map(rule).collect(),
            beside: beside.collect(),
        }
    }
}
