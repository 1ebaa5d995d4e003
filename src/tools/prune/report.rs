//! What was freed, by rule.

use std::io;

use ctx_cli::{Failure, Io};
use ctx_select::prune::{Sum, Sums};

/// Under `-v`: a line a rule, and the sum.
pub(super) fn tell(sums: &Sums, name: &str, io: &mut Io) {
    if sums.is_empty() {
        io.note(format_args!("{name}: nothing to prune"));
        return;
    }
    for (what, sum) in rows(sums, "in all") {
        let changes = if sum.changes == 1 {
            "change"
        } else {
            "changes"
        };
        io.note(format_args!(
            "{name}: {what}: {} {changes}: {} tokens, now {}",
            sum.changes, sum.before, sum.after
        ));
    }
}

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
    for (rule, sum) in rows(sums, "total") {
        let numbers = [sum.changes, sum.before, sum.after, sum.gain()].map(|n| n.to_string());
        let [changes, before, after, freed] = numbers.each_ref().map(String::as_str);
        written = written.and_then(|()| row([rule, changes, before, after, freed]));
    }
    written.map_err(|error| Failure::stdout(&error))
}

/// The rules that change anything, and all of them as `total`.
fn rows<'t>(sums: &Sums, total: &'t str) -> impl Iterator<Item = (&'t str, Sum)> {
    let rules = sums.by_rule().map(|(rule, sum)| (rule.as_str(), sum));
    rules.chain([(total, sums.total())])
}
