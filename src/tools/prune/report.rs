//! What was freed, by rule.

use std::collections::BTreeMap;
use std::io;

use ctx_cli::{Failure, Io, Verbosity};
use ctx_select::prune::{Freed, Rule};

/// Counts what is freed.
#[derive(Default)]
pub(super) struct Report {
    rules: BTreeMap<Rule, Sum>,
}

/// Changes and their tokens.
#[derive(Clone, Copy, Default)]
struct Sum {
    changes: u64,
    before: u64,
    after: u64,
}

impl Sum {
    fn add(&mut self, changes: u64, before: u64, after: u64) {
        self.changes += changes;
        self.before += before;
        self.after += after;
    }
}

impl Report {
    /// One change of the record at `line`.
    pub(super) fn add(&mut self, freed: Freed, name: &str, line: u64, io: &mut Io) {
        let Freed {
            rule,
            before,
            after,
        } = freed;
        self.rules.entry(rule).or_default().add(1, before, after);
        if io.verbosity() >= Verbosity::Debug {
            io.note(format_args!(
                "{name}:{line}: {}: {before} tokens, now {after}",
                rule.as_str()
            ));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Tokens that are freed.
    pub(super) fn gain(&self) -> u64 {
        let total = self.total();
        total.before.saturating_sub(total.after)
    }

    fn total(&self) -> Sum {
        let mut total = Sum::default();
        for sum in self.rules.values() {
            total.add(sum.changes, sum.before, sum.after);
        }
        total
    }

    /// Under `-v`: a line a rule, and the sum.
    pub(super) fn tell(&self, name: &str, io: &mut Io) {
        let mut tell = |what: &str, sum: Sum| {
            let changes = if sum.changes == 1 {
                "change"
            } else {
                "changes"
            };
            io.note(format_args!(
                "{name}: {what}: {} {changes}: {} tokens, now {}",
                sum.changes, sum.before, sum.after
            ));
        };
        for (rule, sum) in &self.rules {
            tell(rule.as_str(), *sum);
        }
        tell("in all", self.total());
    }

    /// `--dry-run`: a table of the rules.
    pub(super) fn table(&self, io: &mut Io) -> Result<(), Failure> {
        let mut row = |cells: [&str; 5]| -> io::Result<()> {
            let [rule, changes, before, after, freed] = cells;
            writeln!(
                io.out(),
                "{rule:<10} {changes:>8} {before:>10} {after:>10} {freed:>10}"
            )
        };
        let header = row(["rule", "changes", "before", "after", "freed"]);
        let mut written = header.map_err(|error| Failure::stdout(&error));
        let rules = Rule::ALL.into_iter();
        let sums = rules.filter_map(|rule| Some((rule.as_str(), *self.rules.get(&rule)?)));
        for (rule, sum) in sums.chain([("total", self.total())]) {
            written?;
            let freed = sum.before.saturating_sub(sum.after);
            let numbers = [sum.changes, sum.before, sum.after, freed].map(|n| n.to_string());
            let [changes, before, after, freed] = numbers.each_ref().map(String::as_str);
            written =
                row([rule, changes, before, after, freed]).map_err(|error| Failure::stdout(&error));
        }
        written
    }
}
