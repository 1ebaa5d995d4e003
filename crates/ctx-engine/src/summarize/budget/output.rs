//! Builds the output within a budget: the records that stay, and a summary in the space that they
//! leave.

use crate::allocate::{Decision, LEAST_SUMMARY, TooSmall, Verdict};
use ctx_format::{Dialect, Record};
use ctx_summary::RECORD_HEADING;

use super::super::assembly::{Assembly, Draft, Material, SummaryPlacement};
use super::super::old::MessageSize;
use super::super::shorten::{Limits, Shortener};
use super::super::writer::{ReusedSummary, Writer};
use super::super::{NewSession, Plan, clean, tell};
use super::refill::{Cut, refill};
use crate::calls::CallNames;
use crate::waiting::WaitingRecords;
use crate::{ErrorKind, Notes, PassError, Result};

/// The minimum space, in tokens, for a summary that covers only text cut from tool results. With
/// less space, only the handles describe the text cut from results.
const LEAST_OF_CUT: u64 = 60;

/// An output that is being built from records and the verdicts on them.
pub(super) struct Output<'p> {
    pub(super) assembly: Assembly<'p>,
    pub(super) writer: &'p Writer,
    /// The budget for the whole output, in tokens.
    pub(super) budget: u64,
    /// Whether all messages stay and only their tool results are shortened. A summary of the text
    /// cut from the results is then put before the first message, provided that there is space.
    pub(super) cut_only: bool,
    /// The number of tokens in the records that stay.
    pub(super) used: u64,
    /// The records that stay in shortened form.
    pub(super) cuts: Vec<Cut>,
    /// The names of calls, for the handles of their results.
    pub(super) calls: CallNames,
}

impl<'p> Output<'p> {
    /// Removes a message, given only its size. Returns false, and does nothing, if no record has
    /// been removed yet, because the first removed record itself is needed to position the summary.
    pub(super) fn leave(&mut self, size: MessageSize) -> bool {
        let has_summary = self.assembly.has_summary();
        if has_summary {
            self.assembly.old.push_size(size);
        }
        has_summary
    }

    /// Processes a record according to `verdict`. `index` and `tokens` are the record's index in
    /// the session and its token count.
    pub(super) fn record(
        &mut self,
        index: usize,
        record: &Record<'_>,
        tokens: u64,
        verdict: Verdict,
    ) -> Result<()> {
        let is_old = verdict == Verdict::Old;
        let assembly = &mut self.assembly;
        if assembly.input(record, None, is_old) {
            return Ok(());
        }
        if is_old {
            // Exchanges are never split, so no result that stays needs the name of a removed call.
            assembly.leave(record, record.message(assembly.dialect).as_ref());
            return Ok(());
        }
        let mut calls = Vec::new();
        if let Some(message) = record.message(assembly.dialect) {
            assembly.old.support(&message);
            message.calls().for_each(|call| self.calls.push(call));
            calls = message.results().map(|it| self.calls.of(it)).collect();
        }
        let outline = record.outline(assembly.dialect);
        let outline = outline.as_ref();
        if self.cut_only && outline.is_some_and(|outline| !outline.role.is_system()) {
            assembly.place_summary(record.line_end());
        }
        let short = match (verdict, assembly.dialect) {
            (Verdict::Shorten { tokens, arguments }, Some(dialect)) => {
                let tokens = u64::from(tokens);
                let limits = Limits { tokens, arguments };
                let short = shortener(assembly.plan, dialect).shorten(record, limits, &calls);
                short.map(|short| (short, limits))
            }
            _ => None,
        };
        let Some((short, limits)) = short else {
            self.count(record);
            return self.assembly.stay(record, outline, record.bytes);
        };
        let before = self.used;
        self.count(&record.origin.clone().record(&short));
        let now = self.used - before;
        self.assembly.old.shortened += tokens.saturating_sub(now);
        let kept = &self.assembly.kept;
        let place = (kept.before + kept.behind, short.len());
        self.cuts.push(Cut { index, place, limits, calls, tokens: (tokens, now) });
        self.assembly.stay(record, outline, &short)
    }

    /// Counts the tokens in a record that stays and marks its message as kept in the ledger.
    fn count(&mut self, record: &Record<'_>) {
        if let Some(message) = record.message(self.assembly.dialect) {
            self.used += self.assembly.plan.counter.message(&message).total();
            self.assembly.old.stays(&message);
        }
    }

    /// Checks the whole output and writes the summary. `decision` contains the verdicts with which
    /// the records were added.
    pub(super) fn sum_up(
        self,
        decision: Decision,
        given: Option<&ReusedSummary>,
        mut notes: Notes,
    ) -> Result<SummedUp<'p>> {
        let dialect = self.assembly.dialect;
        let material = self.assembly.finish(&mut notes)?;
        let room =
            SummaryBudget { writer: self.writer, budget: self.budget, used: self.used, given };
        let draft = room.draft(&material, self.cut_only, &mut notes)?;
        let (draft, summary) = draft.map_or((None, 0), |(draft, tokens)| (Some(draft), tokens));
        Ok(SummedUp {
            decision,
            notes,
            summary,
            free: self.budget.saturating_sub(self.used + summary),
            dialect,
            material,
            draft,
            cuts: self.cuts,
        })
    }
}

/// An output with its summary, before the unused tokens are spent on longer versions of shortened
/// records.
pub(super) struct SummedUp<'p> {
    pub(super) decision: Decision,
    pub(super) notes: Notes,
    /// The number of tokens in the summary's message.
    pub(super) summary: u64,
    /// The number of unused tokens in the budget.
    pub(super) free: u64,
    dialect: Option<&'static dyn Dialect>,
    pub(super) material: Material<'p>,
    draft: Option<Draft>,
    cuts: Vec<Cut>,
}

impl SummedUp<'_> {
    /// Returns the summary for reuse in another output.
    pub(super) fn given(&mut self) -> Option<ReusedSummary> {
        Some(ReusedSummary {
            summary: self.draft.as_ref()?.summary.clone(),
            input: self.material.old.input.take(),
            list: 0,
        })
    }

    /// Returns how many tokens of the budget would still be unused if all shortened records were
    /// restored.
    pub(super) fn unused(&self) -> u64 {
        self.free.saturating_sub(self.cuts.iter().map(Cut::lost).sum())
    }

    /// Uses up the budget by making shortened records longer again. Returns the session. `records`
    /// are the original records.
    pub(super) fn finish(
        self,
        records: &mut WaitingRecords,
        notes: &mut Notes,
    ) -> Result<NewSession> {
        let plan = self.material.plan;
        let mut material = self.material;
        let mut cuts = self.cuts.len();
        if let Some(dialect) = self.dialect {
            let by = shortener(plan, dialect);
            let (given, restored) = refill(&self.cuts, records, &mut material.kept, by, self.free)?;
            let shortened = &mut material.old.shortened;
            *shortened = shortened.saturating_sub(given);
            cuts -= restored;
        }
        if let Some(draft) = &self.draft {
            tell(plan, &material.old, &draft.summary, notes);
        }
        Ok(NewSession { cuts, ..material.with(self.draft) })
    }
}

fn shortener<'p>(plan: &'p Plan, dialect: &'p dyn Dialect) -> Shortener<'p> {
    Shortener { dialect, counter: &plan.counter, saved: plan.saved }
}

/// The space that is left for a summary in the budget.
struct SummaryBudget<'p> {
    writer: &'p Writer,
    budget: u64,
    used: u64,
    /// A summary to reuse, from another output for the same session.
    given: Option<&'p ReusedSummary>,
}

impl SummaryBudget<'_> {
    /// Returns a summary and its token count, or `None` if no summary is needed or if, with
    /// `cut_only`, there is too little space for one.
    fn draft(
        &self,
        material: &Material<'_>,
        cut_only: bool,
        notes: &mut Notes,
    ) -> Result<Option<(Draft, u64)>> {
        let Some(place) = &material.place else { return Ok(None) };
        // The token count of a summary without text.
        let frame = place.tokens(&around(material.plan), &material.plan.counter);
        if cut_only && self.used + frame + LEAST_OF_CUT > self.budget {
            return Ok(None);
        }
        let draft = self.fitted(material, place, frame, notes)?;
        let says_nothing = cut_only && draft.0.summary.text.trim() == RECORD_HEADING;
        Ok((!says_nothing).then_some(draft))
    }

    /// Returns a summary that fits into the space left in the budget, along with its token count.
    fn fitted(
        &self,
        material: &Material<'_>,
        place: &SummaryPlacement,
        frame: u64,
        notes: &mut Notes,
    ) -> Result<(Draft, u64)> {
        let (plan, old) = (material.plan, &material.old);
        let mut room = self.budget.saturating_sub(self.used + frame);
        let too_small = || {
            PassError::from(ErrorKind::TooSmall(TooSmall {
                needed: self.used + frame + LEAST_SUMMARY,
                budget: self.budget,
            }))
        };
        let summary = match self.given {
            Some(given) => self.writer.again(given, old, room).ok_or_else(too_small)?,
            None => self.writer.write(old, Some(room), notes)?,
        };
        let mut summary = clean(plan, summary);
        loop {
            let tokens = place.tokens(&summary.text, &plan.counter);
            let over = (self.used + tokens).saturating_sub(self.budget);
            if over == 0 {
                return Ok((place.draft(summary), tokens));
            }
            if room == 0 {
                return Err(too_small());
            }
            // If the summary is too long, the model is not asked again: either the model's answer
            // is reused with a shorter list of values, or the summary is written without a model.
            room = room.saturating_sub(over);
            let given = ReusedSummary {
                summary,
                input: None,
                list: self.given.map_or(0, |given| given.list),
            };
            let shorter = match self.writer.again(&given, old, room) {
                None if self.writer.model.as_ref().is_some_and(|model| model.must_answer) => {
                    let why = "no summary: the model's answer is too long for the budget";
                    return Err(ErrorKind::NoAnswer(why.to_owned()).into());
                }
                shorter => shorter.unwrap_or_else(|| self.writer.by_code(old, Some(room))),
            };
            summary = clean(plan, shorter);
        }
    }
}

/// Returns the fixed text around a summary, without the line that marks the summary as a record. An
/// extractive summary already contains this line in its text.
fn around(plan: &Plan) -> String {
    let summary = format!("{RECORD_HEADING}\n");
    plan.recognizer.compose(&summary).replace(RECORD_HEADING, "").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use crate::allocate::{Decision, Verdict};
    use ctx_format::dialect::Chat;
    use ctx_policy::Method;
    use ctx_summary::RECORD_HEADING;

    use super::super::super::assembly::Assembly;
    use super::super::super::fixtures::{ASK, DONE, THANKS, each, lines, plan};
    use super::super::super::old::OldZone;
    use super::super::super::{NewSession, Plan, Writer};
    use super::{Output, around};
    use crate::calls::CallNames;
    use crate::ledger::LedgerReader;
    use crate::waiting::WaitingRecords;
    use crate::{ErrorKind, Notes, Result};
    use ctx_format::Zone;

    /// Returns the output for these records, given the verdicts on them.
    fn output(
        plan: &Plan,
        budget: u64,
        cut_only: bool,
        session: &[(&str, Verdict)],
    ) -> Result<NewSession> {
        let writer = Writer::offline(Method::Extractive, None);
        let texts: Vec<&str> = session.iter().map(|(line, _)| *line).collect();
        let mut records = WaitingRecords::new(&plan.temp);
        let mut reader = LedgerReader::default();
        each(&texts, |record| {
            records.push(record, record.bytes).expect("in memory");
            if let Some(message) = record.message(Some(&Chat)) {
                reader.push(record.line, &message, record.bytes.len(), Zone::Old);
            }
        });
        let ledger = reader.finish();
        let zone = OldZone::new(plan, writer.needs(), Some(ledger));
        let mut output = Output {
            assembly: Assembly::new(plan, Some(&Chat), zone),
            writer: &writer,
            budget,
            cut_only,
            used: crate::message_counter::PRIMING,
            cuts: Vec::new(),
            calls: CallNames::default(),
        };
        let mut verdicts = session.iter().map(|(_, verdict)| *verdict).enumerate();
        each(&texts, |record| {
            let message = record.message(Some(&Chat)).expect("a message");
            let tokens = plan.counter.message(&message).total();
            let (index, verdict) = verdicts.next().expect("one a record");
            output.record(index, record, tokens, verdict).expect("there is room");
        });
        let mut notes = Notes::default();
        let verdicts = session.iter().map(|(_, verdict)| *verdict).collect();
        let decision = Decision { verdicts, latest_request_is_old: false };
        let made = output.sum_up(decision, None, Notes::default())?;
        made.finish(&mut records, &mut notes)
    }

    /// Repeats the text and replaces `#` in each copy with the copy's number.
    fn names(count: u32, text: &str) -> String {
        let names = (0..count).map(|n| text.replace('#', &n.to_string()));
        names.collect()
    }

    fn result(content: &str) -> String {
        format!(r#"{{"role":"tool","tool_call_id":"c","content":"{content}"}}"#)
    }

    #[test]
    fn the_summary_has_the_room_that_is_left() {
        let plan = plan();
        let long = format!(r#"{{"role":"user","content":"{}"}}"#, names(200, "see file_#.rs. "));
        let session = [(long.as_str(), Verdict::Old), (ASK, Verdict::Keep), (DONE, Verdict::Keep)];
        for budget in [90, 150, 400] {
            let mut new = output(&plan, budget, false, &session).expect("it fits");
            let mut used = crate::message_counter::PRIMING;
            let written = lines(&mut new);
            let written: Vec<&str> = written.iter().map(String::as_str).collect();
            each(&written, |record| {
                let message = record.message(Some(&Chat)).expect("a message");
                used += plan.counter.message(&message).total();
            });
            assert!(used <= budget && used + 40 > budget, "{budget}: {used}");
            assert_eq!(written[1..], [ASK, DONE]);
        }
        let error = output(&plan, 25, false, &session).err().expect("no room");
        assert!(matches!(error.kind, ErrorKind::TooSmall(_)), "{error}");
    }

    #[test]
    fn a_summary_tells_what_results_lose_if_there_is_room() {
        let plan = plan();
        let call = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"ls","arguments":"{}"}}]}"#;
        let content = names(300, "row user_# ");
        let long = result(&content);
        let short = Verdict::Shorten { tokens: 60, arguments: false };
        let session = [(THANKS, Verdict::Keep), (call, Verdict::Keep), (&long, short)];
        let with = lines(&mut output(&plan, 300, true, &session).expect("it fits"));
        assert!(with[0].contains("ctx_summary"), "{with:?}");
        assert_eq!(with[1..3], [THANKS, call]);
        assert!(with[3].len() < long.len() / 4);
        let without = lines(&mut output(&plan, 130, true, &session).expect("it fits"));
        assert_eq!(without[..2], with[1..3]);
        // Omitting the summary leaves more room for the result.
        assert!(without[2].len() > with[3].len());
    }

    #[test]
    fn around_the_shortest_summary_stands_its_header() {
        let mut plan = plan();
        assert_eq!(around(&plan), "");
        plan.recognizer = ctx_summary::Recognizer::new(Some("[Before]"), &[]);
        assert_eq!(around(&plan), "[Before]");
        assert!(!around(&plan).contains(RECORD_HEADING));
    }
}
