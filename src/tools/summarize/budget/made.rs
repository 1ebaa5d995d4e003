//! The output within a budget: what stays, and the summary in what that leaves.

use ctx_cli::{Failure, Io};
use ctx_ledger::Ledger;
use ctx_select::budget::{LEAST_SUMMARY, TooSmall, Verdict};
use ctx_select::count::{MessageCounter, PRIMING};
use ctx_summary::{RECORD_HEADING, compose};
use ctx_transcript::{Dialect, Line, Object, Piece, Record, Role, Spool, Zone};

use super::shorten::shorten;
use super::{Item, Plan, Refused};
use crate::checks::Checks;
use crate::tagged::cannot_spool;
use crate::tools::summarize::Said;
use crate::tools::summarize::bad::Bad;
use crate::tools::summarize::old::OldZone;
use crate::tools::summarize::stream::{Done, HINT, Place, clean, tell};
use crate::tools::summarize::writer::Written;

/// With less room the parts that results lose are left to their handles.
const LEAST_OF_CUT: u64 = 60;

/// Makes the output.
pub(super) struct Made<'p> {
    plan: &'p Plan,
    dialect: Option<&'static dyn Dialect>,
    name: &'p str,
    counter: MessageCounter,
    ledger: Option<Ledger>,
    old: OldZone,
    place: Option<Place>,
    /// No message leaves: a summary tells what results lose, before the first message
    /// and if there is room.
    cut_only: bool,
    spool: Spool,
    /// Bytes in the spool before and behind the summary's place.
    before: usize,
    behind: usize,
    /// Tokens of what stays.
    used: u64,
    checks: Option<Checks>,
    bad: Bad,
}

impl<'p> Made<'p> {
    pub(super) fn new(
        plan: &'p Plan,
        dialect: Option<&'static dyn Dialect>,
        name: &'p str,
        ledger: Option<Ledger>,
        cut_only: bool,
    ) -> Self {
        Self {
            plan,
            dialect,
            name,
            counter: MessageCounter::new(plan.encoding),
            ledger,
            old: OldZone::without_ledger(plan),
            place: None,
            cut_only,
            spool: Spool::new(std::env::temp_dir()),
            before: 0,
            behind: 0,
            used: PRIMING,
            checks: dialect.map(|dialect| Checks::new(dialect.rules())),
            bad: Bad::default(),
        }
    }

    /// The next record and what was decided about it.
    pub(super) fn record(
        &mut self,
        item: Item,
        bytes: &[u8],
        verdict: Verdict,
    ) -> Result<(), Failure> {
        let record = record_of(item, bytes);
        let outline = record.outline(self.dialect);
        let is_old = verdict == Verdict::Old;
        if let (Some(checks), Some(outline)) = (&mut self.checks, &outline) {
            checks.input(item.line, outline);
        }
        if record.class.is_bad() {
            if matches!(item.piece, Piece::Whole | Piece::First) {
                let zone = if is_old { Zone::Old } else { Zone::Keep };
                self.bad.add(&record, zone, self.plan.drop_bad);
            }
            if self.plan.drop_bad && !is_old {
                return Ok(());
            }
        }
        if is_old {
            self.leaves(&record);
            return Ok(());
        }
        if let (true, None, Some(dialect), Some(outline)) =
            (self.cut_only, &self.place, self.dialect, &outline)
            && !outline.role.is_system()
        {
            let checks = self.checks.as_mut();
            self.place = Some(Place::at(&record, dialect, self.plan, checks));
        }
        // Shortening leaves the skeleton as it is.
        if let (Some(checks), Some(outline)) = (&mut self.checks, &outline) {
            checks.output(item.line, outline);
        }
        let short = match (verdict, self.dialect) {
            (Verdict::Shorten { tokens, arguments }, Some(dialect)) => {
                shorten(&record, dialect, &self.counter, tokens, arguments)
            }
            _ => None,
        };
        match short {
            Some(short) => {
                let before = self.used;
                self.stays(&record_of(item, &short))?;
                self.old.shortened += item.tokens.saturating_sub(self.used - before);
                Ok(())
            }
            None => self.stays(&record),
        }
    }

    fn leaves(&mut self, record: &Record<'_>) {
        let Some(dialect) = self.dialect else {
            return;
        };
        if self.place.is_none() {
            let checks = self.checks.as_mut();
            self.place = Some(Place::at(record, dialect, self.plan, checks));
        }
        let object = record.whole_object();
        if let Some((object, message)) = object.and_then(|o| Some((o, dialect.message(o)?))) {
            let message = (record.line, &message);
            self.old.push(self.plan, dialect, object, message);
        }
    }

    fn stays(&mut self, record: &Record<'_>) -> Result<(), Failure> {
        let object = record.whole_object();
        if let Some(message) = object.and_then(|object| self.dialect?.message(object)) {
            self.used += self.counter.message(&message).total();
            if let Some(ledger) = &mut self.ledger {
                ledger.stays(&message);
            }
        }
        let place = match self.place {
            None => &mut self.before,
            Some(_) => &mut self.behind,
        };
        *place += record.bytes.len();
        self.spool
            .push(record.bytes)
            .map_err(|error| cannot_spool(&error))
    }

    /// Writes the summary and checks the whole output.
    pub(super) fn finish(mut self, budget: u64, io: &mut Io) -> Result<Done, Refused> {
        let name = self.name;
        self.bad.report(name, io);
        if let Some(checks) = self.checks.take() {
            checks.finish(self.plan.strict, HINT, name, io)?;
        }
        let (Some(place), Some(dialect)) = (self.place.take(), self.dialect) else {
            return Ok(self.plain());
        };
        self.old.ledger = self.ledger.take();
        let least = self.used + self.frame(dialect, place.role) + LEAST_OF_CUT;
        if self.cut_only && least > budget {
            return Ok(self.plain());
        }
        let (written, record) = self.summary(dialect, place.role, budget, io)?;
        if self.cut_only && written.text.trim() == RECORD_HEADING {
            return Ok(self.plain());
        }
        let mut summary = record.into_bytes();
        summary.extend_from_slice(&place.line_end);
        Ok(Done {
            spool: self.spool,
            before: self.before,
            summary,
            behind: self.behind,
            said: Some(Said::of(&self.old, written)),
        })
    }

    /// Without a summary.
    fn plain(self) -> Done {
        Done::plain(self.spool, self.before + self.behind)
    }

    /// Tokens of a summary without words.
    fn frame(&self, dialect: &dyn Dialect, role: Role) -> u64 {
        self.tokens_of(dialect, &dialect.summary_record(role, &self.around()))
    }

    fn tokens_of(&self, dialect: &dyn Dialect, record: &str) -> u64 {
        let object = Object::parse(record).ok();
        let message = object.as_ref().and_then(|object| dialect.message(object));
        message.map_or(0, |message| self.counter.message(&message).total())
    }

    /// The summary's text and record; what stays and it are within the budget.
    fn summary(
        &self,
        dialect: &dyn Dialect,
        role: Role,
        budget: u64,
        io: &mut Io,
    ) -> Result<(Written, String), Refused> {
        let (plan, old, name) = (self.plan, &self.old, self.name);
        let frame = self.frame(dialect, role);
        let mut room = budget.saturating_sub(self.used + frame);
        let written = plan.writer.write(old, Some(room), name, io)?;
        let (mut text, mut secrets) = clean(plan, written);
        loop {
            let record = dialect.summary_record(role, &text.text);
            let over = (self.used + self.tokens_of(dialect, &record)).saturating_sub(budget);
            if over == 0 {
                tell(plan, old, (&text, secrets), name, io);
                return Ok((text, record));
            }
            if room == 0 {
                return Err(Refused::TooSmall(TooSmall {
                    needed: self.used + frame + LEAST_SUMMARY,
                    budget,
                }));
            }
            // A few tokens too many, or no text is short enough: no model is asked
            // again for that.
            room = room.saturating_sub(over);
            (text, secrets) = clean(plan, plan.writer.by_code(old, Some(room)));
        }
    }

    /// What stands around the shortest summary, the extractive one, which says itself
    /// that it is a record.
    fn around(&self) -> String {
        let summary = compose(self.plan.header.as_deref(), &format!("{RECORD_HEADING}\n"));
        summary.replace(RECORD_HEADING, "").trim_end().to_owned()
    }
}

/// A record of the spool, as it was.
fn record_of(item: Item, bytes: &[u8]) -> Record<'_> {
    Record::classify(Line {
        bytes,
        number: item.line,
        offset: 0,
        piece: item.piece,
    })
}
