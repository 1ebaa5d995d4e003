//! `--allow` and `--list-rules`: the rules by which something is a problem.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use ctx_cli::json_line;
use ctx_transcript::problems::{NamedRule, RULES, rule};
use serde::Serialize;

/// Of the rules that may be problems each by its name.
pub(super) fn parser() -> impl TypedValueParser<Value = &'static NamedRule> {
    let values = problems().map(|rule| PossibleValue::new(rule.name).help(rule.what));
    PossibleValuesParser::new(values).try_map(|name| rule(&name).ok_or("no such rule"))
}

fn problems() -> impl Iterator<Item = &'static NamedRule> {
    RULES.iter().filter(|rule| rule.may_be_problem)
}

#[derive(Serialize)]
struct Listed {
    rule: &'static str,
    what: &'static str,
}

/// A line for each, or an object.
pub(super) fn list(json: bool) -> String {
    let width = problems().map(|rule| rule.name.len()).max().unwrap_or(0);
    let line = |NamedRule { name, what, .. }: &NamedRule| {
        if json {
            json_line(&Listed { rule: name, what })
        } else {
            format!("{name:<width$}  {what}\n")
        }
    };
    problems().map(line).collect()
}
