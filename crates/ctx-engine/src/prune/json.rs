//! The JSON of `ctx-prune --json`. Its keys are a contract: new ones may be added, none goes.

use std::path::Path;

use ctx_policy::Rule;
use serde::Serialize;

use super::{Decision, Sum};

/// The report of pruning.
#[derive(Serialize)]
pub struct PruneReport<'a> {
    name: Option<&'a str>,
    output: Option<String>,
    dry_run: bool,
    /// Whether anything changed, or would change.
    pruned: bool,
    changes: u64,
    freed_tokens: u64,
    rules: Vec<RuleReport>,
    /// Lines of an agent's log that go without being part of the context.
    #[serde(rename = "beside")]
    unsent: Vec<UnsentReport>,
}

#[derive(Serialize)]
struct RuleReport {
    rule: &'static str,
    changes: u64,
    tokens_before: u64,
    tokens_after: u64,
    freed_tokens: u64,
}

#[derive(Serialize)]
struct UnsentReport {
    rule: &'static str,
    count: u64,
    bytes: u64,
}

impl Decision<'_> {
    /// The report on the session `name`; `output` is the file that was written.
    pub fn report<'a>(
        &self,
        name: Option<&'a str>,
        output: Option<&Path>,
        dry_run: bool,
    ) -> PruneReport<'a> {
        let rule = |(rule, sum): (Rule, Sum)| RuleReport {
            rule: rule.as_str(),
            changes: sum.changes,
            tokens_before: sum.before,
            tokens_after: sum.after,
            freed_tokens: sum.gain(),
        };
        let unsent = |(rule, count, bytes): &(Rule, u64, u64)| UnsentReport {
            rule: rule.as_str(),
            count: *count,
            bytes: *bytes,
        };
        let total = self.sums.total();
        PruneReport {
            name,
            output: output.map(|path| path.display().to_string()),
            dry_run,
            pruned: self.changes() && (total.changes > 0 || !self.unsent.is_empty()),
            changes: total.changes,
            freed_tokens: total.gain(),
            rules: self.sums.by_rule().map(rule).collect(),
            unsent: self.unsent.iter().map(unsent).collect(),
        }
    }
}
