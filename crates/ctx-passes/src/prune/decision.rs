//! What was decided about a session: reported, checked, and carried out as it is written.

use std::io::{self, Write};

use ctx_select::prune::{Freed, Rule, Sums, Verdicts};
use ctx_transcript::{Dialect, Edits, Message, Origin, Presences, Record, Spool, counted};

use super::Plan;
use super::gate::Gate;
use super::items::{Item, Items};
use super::log::{Leaving, Log};
use super::usage::{Lessened, UsagePass};
use crate::bound::BoundReasoning;
use crate::checks::Checks;
use crate::note::Level;
use crate::outlet::{Announced, Outlet};
use crate::{ErrorKind, Notes, PassError};

/// A session that waits for the verdicts on its records.
pub(super) struct Waiting<'p> {
    pub(super) plan: &'p Plan,
    pub(super) dialect: Option<&'static dyn Dialect>,
    pub(super) items: Items,
    pub(super) presences: Presences,
    /// What is known of the lines of an agent's own file; `None` where it is none.
    pub(super) log: Option<Log>,
    /// The bytes of the records; `None` when they will not be written.
    pub(super) spool: Option<Spool>,
    pub(super) announced: Announced,
}

/// A session with the verdicts on its records.
pub struct Decision<'p> {
    pub(super) waiting: Waiting<'p>,
    pub(super) verdicts: Verdicts<'p>,
    /// Whether the verdicts are carried out.
    pub(super) changes: bool,
    /// What they free, if they may be carried out.
    pub sums: Sums,
    /// The lines that leave an agent's own file.
    pub(super) leaving: Option<Leaving>,
    /// Whether all that stays of such a file waits as it was shown to the checks: each record, and
    /// behind it the length of the bytes in its place and these, if there are any.
    pub(super) shown: bool,
    /// What the last reply of such a file is to say that it has used.
    pub(super) usage: Option<Lessened>,
    /// What goes of such a file beside what the model is sent: of each rule, how often and how
    /// many bytes.
    pub beside: Vec<(Rule, u64, u64)>,
    pub(super) bound: BoundReasoning,
}

impl<'p> Decision<'p> {
    /// Reports what would be done, and whether it frees too little to be done.
    pub(super) fn tell(
        &mut self,
        checks: Option<Checks>,
        notes: &mut Notes,
    ) -> Result<(), PassError> {
        let plan = self.waiting.plan;
        if self.changes {
            self.sums = self.verdicts.sums();
            if plan.tell_changes {
                self.tell_changes(notes);
            }
            let log = self.waiting.log.as_ref().zip(self.leaving.as_ref());
            self.beside = log.map_or_else(Vec::new, |(log, leaving)| leaving.sums(log));
            if self.beside.is_empty() || !self.sums.is_empty() {
                tell_sums(&self.sums, notes);
            }
            if self.leaving.is_none() {
                self.tell_other_lines(notes);
            }
        }
        let worth_it = self.sums.total().gain() >= plan.min_gain;
        self.changes &= worth_it;
        if let Some(mut checks) = checks {
            if self.leaving.is_some() {
                self.check_log(&mut checks, notes)?;
            } else {
                self.check(&mut checks)?;
            }
            checks.finish(plan.strict, notes)?;
        }
        if !worth_it {
            tell_gain(&self.sums, notes);
        }
        Ok(())
    }

    /// What each change frees, with the line of its record; nothing where none is made.
    pub fn freed(&self) -> impl Iterator<Item = (u64, Freed)> {
        let items = self.waiting.items.iter().enumerate();
        let freed = |(record, item): (usize, Item)| {
            let freed = self.verdicts.freed(record).into_iter();
            freed.map(move |freed| (item.line, freed))
        };
        items.filter(|_| self.changes).flat_map(freed)
    }

    /// Reports each change of each record.
    fn tell_changes(&self, notes: &mut Notes) {
        for (record, item) in self.waiting.items.iter().enumerate() {
            for freed in self.verdicts.freed(record) {
                let rule = freed.rule.as_str();
                let (before, after) = (freed.before, freed.after);
                let text = format_args!("{rule}: {before} tokens, now {after}");
                notes.add(Level::Detail, &[item.line], text);
            }
        }
    }

    fn tell_other_lines(&self, notes: &mut Notes) {
        let is_other = |(record, item): &(usize, Item)| {
            self.verdicts.is_dropped(*record)
                && !self.verdicts.is_message(*record)
                && item.piece.begins()
        };
        let count = self
            .waiting
            .items
            .iter()
            .enumerate()
            .filter(is_other)
            .count();
        if count > 0 {
            notes.info(format_args!(
                "{count} lines before the window are no messages and go with it"
            ));
        }
    }

    /// Removes dropped records from the spool, and shows the others to the checks. If none is
    /// dropped there is nothing to check: changing a record does not change what the checks
    /// look at.
    fn check(&mut self, checks: &mut Checks) -> Result<(), PassError> {
        let waiting = &mut self.waiting;
        if !self.changes || !self.verdicts.drop_any() {
            return Ok(());
        }
        let Some(mut all) = waiting.spool.take() else {
            return Ok(());
        };
        let mut rest = Spool::new(&waiting.plan.temp);
        for (record, item) in waiting.items.iter().enumerate() {
            let bytes = item.pop(&mut all)?;
            if self.verdicts.is_dropped(record) {
                continue;
            }
            let record_of = waiting.record(record, item, &bytes);
            if let Some(outline) = record_of.outline(waiting.dialect) {
                checks.output(item.line, &outline);
            }
            rest.push(&bytes).map_err(PassError::temporary)?;
        }
        waiting.spool = Some(rest);
        Ok(())
    }

    /// Shows what would be written of a log to the checks and to the gate, and says what goes
    /// beside what the model is sent.
    fn check_log(&mut self, checks: &mut Checks, notes: &mut Notes) -> Result<(), PassError> {
        let (Some(dialect), Some(leaving)) = (self.waiting.dialect, &self.leaving) else {
            return Ok(());
        };
        if let Some((lines, why)) = leaving.kept.filter(|_| self.changes) {
            let stay = if lines == 1 {
                "line stays"
            } else {
                "lines stay"
            };
            notes.warn(&[], format_args!("{lines} {stay} that would go: {why}"));
        }
        let copies = self.waiting.plan.policy.drops(Rule::Copies);
        if !self.changes || !(leaving.any() || copies || !self.sums.is_empty()) {
            return Ok(());
        }
        let (Some(mut all), Some(mut gate)) = (self.waiting.spool.take(), Gate::new(dialect))
        else {
            return Ok(());
        };
        let mut rest = Spool::new(&self.waiting.plan.temp);
        let is_less = self.sums.total().gain() > 0;
        let mut usage = is_less.then(|| UsagePass::new(self.waiting.plan.counter, dialect));
        let (mut records, mut cut_from, mut cut) = (0, 0, 0);
        for (number, item) in self.waiting.items.iter().enumerate() {
            records += 1;
            let bytes = item.pop(&mut all)?;
            let record = self.waiting.record(number, item, &bytes);
            if let Some(usage) = &mut usage {
                let message = record.message(Some(dialect));
                let tokens = message.and_then(|it| self.verdicts.tokens_before(number, &it));
                usage.push(&record, tokens, self.verdicts.gain(number));
            }
            if !leaving.is_gone(number) {
                let (new, cuts) = self.show(number, &record, dialect, checks, &mut gate)?;
                cut_from += u64::from(cuts > 0);
                cut += cuts;
                push_shown(&mut rest, &bytes, &new).map_err(PassError::temporary)?;
            }
        }
        self.shown = true;
        gate.finish(&self.waiting.presences, |at| leaving.is_gone(at), records)?;
        self.waiting.spool = Some(rest);
        if cut > 0 {
            self.beside.push((Rule::Copies, cut_from, cut));
        }
        tell_beside(&self.beside, notes);
        self.usage = usage.and_then(UsagePass::finish);
        if let Some(Lessened { tokens, .. }) = &self.usage {
            let (before, after) = tokens;
            notes.info(format_args!(
                "recorded usage of the last reply: {before} tokens, now {after}"
            ));
        }
        Ok(())
    }

    /// Shows a record that stays, as it would be written. Its new bytes, none where it does not
    /// change, and how many bytes of second copies were cut for their own sake.
    fn show(
        &self,
        number: usize,
        record: &Record<'_>,
        dialect: &dyn Dialect,
        checks: &mut Checks,
        gate: &mut Gate,
    ) -> Result<(Vec<u8>, u64), PassError> {
        let outline = record.outline(Some(dialect));
        if let Some(outline) = &outline {
            checks.output(record.line, outline);
        }
        let (edits, cut) = self.edits(number, record, dialect);
        if edits.is_empty() {
            gate.push(number, record);
            return Ok((Vec::new(), cut));
        }
        let bytes = record.edited(&edits);
        let new = record.origin().record(&bytes);
        if new.outline(Some(dialect)) != outline {
            return Err(ErrorKind::OtherRecord.at(record.line));
        }
        gate.push(number, &new);
        Ok((bytes, cut))
    }

    /// What changes in a record that stays, and how many bytes of second copies go with that.
    fn edits(&self, number: usize, record: &Record<'_>, dialect: &dyn Dialect) -> (Edits, u64) {
        let Some(object) = record.whole_object() else {
            return (Edits::new(), 0);
        };
        let changed = changed_places(&self.verdicts, number, record, dialect);
        let mut edits = changed.map_or_else(Edits::new, |(edits, _)| edits);
        let mut cut = 0;
        let Some(leaving) = &self.leaving else {
            return (edits, cut);
        };
        let stays = self
            .waiting
            .log
            .as_ref()
            .is_some_and(|log| log.stays(number));
        let all = self.waiting.plan.policy.drops(Rule::Copies)
            && !stays
            && !self.verdicts.is_protected(number);
        if all {
            for copy in dialect.second_copies(object) {
                if !edits.touch(&copy.cut) {
                    cut += copy.cut.len() as u64;
                    edits.cut(copy.cut);
                }
            }
        }
        leaving.relink(dialect, object, &mut edits);
        (edits, cut)
    }

    /// Whether a record leaves.
    fn is_gone(&self, number: usize) -> bool {
        self.changes
            && match &self.leaving {
                Some(leaving) => leaving.is_gone(number),
                None => self.verdicts.is_dropped(number),
            }
    }

    /// The new bytes of a record, with its usage set right where it is that of the last reply.
    fn with_usage(&self, record: &Record<'_>, new: Option<Vec<u8>>) -> Option<Vec<u8>> {
        let Some((usage, dialect)) = self.usage.as_ref().zip(self.waiting.dialect) else {
            return new;
        };
        let of_new = new.as_ref().map(|bytes| record.origin().record(bytes));
        let set_right = usage.of(of_new.as_ref().unwrap_or(record), dialect);
        set_right.or(new)
    }

    /// Whether anything changes.
    pub fn changes(&self) -> bool {
        self.changes
    }

    /// The verdicts.
    pub fn verdicts(&self) -> &Verdicts<'p> {
        &self.verdicts
    }

    /// Writes the session and gives the output back. `left_out` is how many records of the
    /// input were not pushed.
    pub fn write<W: Write>(&mut self, left_out: u64, output: W) -> Result<W, PassError> {
        let mut spool = self.waiting.spool.take();
        let waiting = &self.waiting;
        let mut outlet = Outlet::new(output, waiting.announced, &waiting.plan.temp);
        for (number, item) in waiting.items.iter().enumerate() {
            let changes = self.changes && changes_context(&self.verdicts, number);
            let Some(spool) = spool.as_mut().filter(|_| !self.is_gone(number)) else {
                if changes {
                    self.bound.change();
                }
                outlet.skip(item.piece);
                continue;
            };
            let bytes = item.pop(spool)?;
            let record = waiting.record(number, item, &bytes);
            let new = if self.shown {
                pop_shown(spool).map_err(PassError::temporary)?
            } else {
                let dialect = waiting.dialect.filter(|_| self.changes);
                let edits = dialect.map(|it| self.edits(number, &record, it).0);
                let edits = edits.filter(|edits| !edits.is_empty());
                edits.map(|edits| record.edited(&edits))
            };
            if let Some(dialect) = waiting.dialect {
                self.bound.write(&record, new.as_deref(), dialect, changes);
            }
            outlet.write(&record, self.with_usage(&record, new))?;
        }
        outlet.finish(left_out)
    }

    /// Warns of signed reasoning after a change, once the session is written.
    pub fn warn_of_reasoning(&self, notes: &mut Notes) {
        self.bound.warn(notes);
    }
}

/// Whether a record changes what later reasoning is bound to. Dropping the oldest reasoning
/// does not.
pub(crate) fn changes_context(verdicts: &Verdicts<'_>, number: usize) -> bool {
    let freed = verdicts.freed(number);
    freed.iter().any(|freed| freed.rule != Rule::Reasoning)
}

/// A record, and behind it what takes its place.
fn push_shown(spool: &mut Spool, record: &[u8], new: &[u8]) -> io::Result<()> {
    spool.push(record)?;
    spool.push(&(new.len() as u64).to_le_bytes())?;
    spool.push(new)
}

/// What takes the place of the record before it, if anything does.
fn pop_shown(spool: &mut Spool) -> io::Result<Option<Vec<u8>>> {
    let length = spool.pop(size_of::<u64>())?;
    let length = length.try_into().map_err(|_| io::ErrorKind::InvalidData)?;
    let length = usize::try_from(u64::from_le_bytes(length)).map_err(io::Error::other)?;
    (length > 0).then(|| spool.pop(length)).transpose()
}

impl Waiting<'_> {
    /// The record of that number, which waited with these bytes.
    fn record<'r>(&self, number: usize, item: Item, bytes: &'r [u8]) -> Record<'r> {
        let origin = Origin {
            line: item.line,
            offset: 0,
            piece: item.piece,
            presence: self.presences.of(number),
            portion: self.presences.portion(number),
        };
        origin.record(bytes)
    }
}

/// The bytes of a record after its change, and the message in them; `None` where it
/// does not change.
pub(crate) fn changed<'r>(
    verdicts: &Verdicts<'_>,
    number: usize,
    record: &Record<'r>,
    dialect: &dyn Dialect,
) -> Option<(Vec<u8>, Message<'r>)> {
    let (edits, message) = changed_places(verdicts, number, record, dialect)?;
    Some((record.edited(&edits), message))
}

/// What changes in a record, with the second copies of what changes, and the message then;
/// `None` where it does not change.
fn changed_places<'r>(
    verdicts: &Verdicts<'_>,
    number: usize,
    record: &Record<'r>,
    dialect: &dyn Dialect,
) -> Option<(Edits, Message<'r>)> {
    let object = record
        .whole_object()
        .filter(|_| verdicts.is_changed(number))?;
    let message = record.message(Some(dialect))?;
    let (mut edits, message) = verdicts.carry_out(number, message, object);
    for copy in dialect.second_copies(object) {
        if edits.touch(&copy.of) {
            edits.cut(copy.cut);
        }
    }
    Some((edits, message))
}

/// Reports the sums of each rule, and of all.
pub(crate) fn tell_sums(sums: &Sums, notes: &mut Notes) {
    if sums.is_empty() {
        return notes.info("nothing to prune");
    }
    let rules = sums.by_rule().map(|(rule, sum)| (rule.as_str(), sum));
    for (what, sum) in rules.chain([("in all", sums.total())]) {
        let changes = counted(sum.changes, "change");
        notes.info(format_args!(
            "{what}: {changes}: {} tokens, now {}",
            sum.before, sum.after
        ));
    }
}

/// Reports what goes beside what the model is sent.
fn tell_beside(beside: &[(Rule, u64, u64)], notes: &mut Notes) {
    for (rule, count, bytes) in beside {
        let noun = if *rule == Rule::Copies {
            "second copy"
        } else {
            "line"
        };
        let (rule, what) = (rule.as_str(), counted(*count, noun));
        let bytes = counted(*bytes, "byte");
        notes.info(format_args!("{rule}: {what}, {bytes}"));
    }
}

/// Reports that too little is freed to change anything.
pub(crate) fn tell_gain(sums: &Sums, notes: &mut Notes) {
    if !sums.is_empty() {
        let gain = sums.total().gain();
        notes.info(format_args!(
            "{gain} tokens are fewer than --min-gain: nothing was changed"
        ));
    }
}

#[cfg(test)]
mod tests {
    use ctx_select::prune::Policy;

    use super::super::tests::{pass, plan, result};

    /// Drops all but the last `count` messages.
    fn window(count: u64) -> Policy {
        Policy {
            window_messages: Some(count),
            ..Policy::default()
        }
    }

    fn user(text: &str) -> String {
        format!("{{\"role\":\"user\",\"content\":\"{text}\"}}\n")
    }

    #[test]
    fn lines_before_the_window_go_with_it_and_are_counted() {
        let session = user("one") + "broken\n\n" + &user("two");
        let (written, notes) = pass(&plan(window(1)), &session).expect("no failure");
        assert_eq!(written, user("two"));
        let told = [
            "window: 1 change: 5 tokens, now 0",
            "in all: 1 change: 5 tokens, now 0",
            "2 lines before the window are no messages and go with it",
        ];
        assert_eq!(notes, told);
    }

    #[test]
    fn too_small_a_gain_changes_nothing_and_is_told() {
        let session = user("one") + &user("two");
        let mut plan = plan(window(1));
        plan.min_gain = 6;
        let (written, notes) = pass(&plan, &session).expect("no failure");
        assert_eq!(written, session);
        let told = "5 tokens are fewer than --min-gain: nothing was changed";
        assert_eq!(notes.last().map(String::as_str), Some(told));
        plan.min_gain = 5;
        assert_eq!(pass(&plan, &session).expect("no failure").0, user("two"));
    }

    #[test]
    fn each_change_is_told_to_who_asks() {
        let mut plan = plan(window(1));
        plan.tell_changes = true;
        let (_, notes) = pass(&plan, &(user("one") + &user("two"))).expect("no failure");
        assert_eq!(notes[0], "1: window: 5 tokens, now 0");
        let (_, notes) = pass(&plan, &user("one")).expect("no failure");
        assert_eq!(notes, ["nothing to prune"]);
    }

    #[test]
    fn a_tagged_stream_announces_what_is_left() {
        let tagged = |text: &str, end: &str| {
            user(text).replacen('{', &format!("{{\"_ctx\":{{\"line\":1{end}}},"), 1)
        };
        let session = tagged("one", "") + &tagged("two", ",\"end\":2");
        let (written, _) = pass(&plan(window(1)), &session).expect("no failure");
        assert_eq!(written, tagged("two", ",\"end\":1"));
    }

    #[test]
    fn what_was_wrong_before_is_refused_only_by_the_strict() {
        let orphan = user("one") + &result(1, 3);
        let mut plan = plan(window(9));
        let (written, notes) = pass(&plan, &orphan).expect("it is told");
        assert_eq!(written, orphan);
        assert!(
            notes[1].starts_with("2: 1 problem in the input"),
            "{notes:?}"
        );
        plan.strict = true;
        assert_eq!(pass(&plan, &orphan).expect_err("strict").lines, [2]);
    }
}
