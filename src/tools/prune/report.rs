//! What was freed, by rule.

use std::io;

use ctx_cli::{Failure, Io};
use ctx_select::prune::{Rule, Sums};

/// `--dry-run`: a table of the rules.
pub(super) fn table(sums: &Sums, io: &mut Io) -> Result<(), Failure> {
    let mut row = |cells: [&str; 5]| -> io::Result<()> {
        let [rule, changes, before, after, freed] = cells;
        writeln!(
            io.out(),
            "{rule:<10} {changes:>8} {before:>10} {after:>10} {freed:>10}"
        )
    };
    let mut written = row(["rule", "changes", "before", "after", "freed"]);
    let rules = sums.by_rule().map(|(rule, sum)| (rule.as_str(), sum));
    for (rule, sum) in rules.chain([("total", sums.total())]) {
        let numbers = [sum.changes, sum.before, sum.after, sum.gain()].map(|n| n.to_string());
        let [changes, before, after, freed] = numbers.each_ref().map(String::as_str);
        written = written.and_then(|()| row([rule, changes, before, after, freed]));
    }
    written.map_err(|error| Failure::stdout(&error))
}

/// What else would go of an agent's own file.
pub(super) fn beside(beside: &[(Rule, u64, u64)], io: &mut Io) -> Result<(), Failure> {
    let mut row = |rule: &str, count: &str, bytes: &str| {
        writeln!(io.out(), "{rule:<17} {count:>8} {bytes:>10}")
    };
    let mut written = if beside.is_empty() {
        Ok(())
    } else {
        row("beside the model", "count", "bytes")
    };
    for (rule, count, bytes) in beside {
        written = written.and_then(|()| row(rule.as_str(), &count.to_string(), &bytes.to_string()));
    }
    written.map_err(|error| Failure::stdout(&error))
}
