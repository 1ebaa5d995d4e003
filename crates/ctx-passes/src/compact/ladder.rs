//! The ladder of a compaction, from what the policy asks for down to the last resort. The
//! next rung is tried when a result is not small enough.

use ctx_ledger::rules::MemoryKind;
use ctx_memory::{Extractor, Item};
use ctx_policy::When;
use ctx_select::budget::{LEAST_SUMMARY, TooSmall};
use ctx_select::count::{MessageCounter, PER_MESSAGE, PRIMING};
use ctx_select::split::Keep;
use ctx_select::trigger::Size;
use ctx_transcript::{Object, Record, Zone};

use super::content::{Content, temporary};
use super::offloading::Originals;
use super::outcome::{Attempt, Outcome};
use super::plan::{Before, Plan, Rung};
use super::pruning::prune;
use super::survey::{Survey, Zones};
use crate::prune::decision::changed;
use crate::split::ZoneCounts;
use crate::summarize::{
    self, BudgetPass, BudgetRequest, Draft, Edit, Material, Needs, Summary, Writer, ZonePass,
};
use crate::{ErrorKind, Notes, PassError};

/// A new content for the session, checked.
pub(super) struct Candidate {
    pub(super) content: Content,
    pub(super) size: Size,
    /// The zones of the records: the old ones were summed up or left out.
    pub(super) zones: Zones,
    /// What was summed up.
    pub(super) summary: Option<Summary>,
}

/// The result, or how the compaction ended without one.
pub(super) type Ended<T> = Result<T, Outcome>;

/// The session that is to become smaller.
pub(super) struct Ladder<'a, 'p> {
    pub(super) plan: &'a Plan,
    pub(super) content: &'a Content,
    pub(super) survey: &'a Survey<'p>,
    /// What it was before anything changed.
    pub(super) before: &'a Before,
    /// Whether a trigger fired.
    pub(super) due: bool,
    /// What was offloaded and is to be summed up.
    pub(super) originals: Option<&'a Originals<'p>>,
}

/// The session, read with its zones. Rungs that keep equally much share it.
struct Read<'l> {
    keep: Keep,
    needs: Needs,
    zones: Zones,
    /// What stays, without any summary.
    kept: Size,
    material: Material<'l>,
}

/// What a rung came to.
enum Built {
    /// What stays of the session that was read, with a summary if there is one.
    Draft {
        draft: Option<Draft>,
        size: Size,
        /// Already written if what stays was pruned.
        content: Option<Content>,
    },
    /// A session with other zones than those that were read.
    Shared(Candidate),
}

impl Ladder<'_, '_> {
    /// Tries one rung after the other until a result is smaller than the session
    /// and not above the target.
    pub(super) fn climb(
        &self,
        attempts: &mut Vec<Attempt>,
        notes: &mut Notes,
    ) -> Result<Ended<Candidate>, PassError> {
        let (plan, before) = (self.plan, self.before.size.tokens);
        // Less than the policy keeps is kept only if nothing else helps.
        let in_need = self.due || !plan.fits(before);
        let first = attempts.len();
        let (mut smaller, mut failed_check) = (false, false);
        let summary = plan.summary();
        let mut read: Option<Read<'_>> = None;
        for rung in plan.rungs() {
            if rung.keeps_less() && !in_need {
                break;
            }
            if rung == Rung::LessKept && !failed_check {
                continue;
            }
            let keep = plan.keep(rung, self.before);
            let is_last = rung == Rung::LastTurnsAlone && plan.sums_up();
            let known = read.take().filter(|read| read.keep == keep);
            let zones = self.survey.zones(keep)?;
            // If nothing is old there is nothing to sum up, so no model is asked.
            let built = if zones.counts.old == 0 && known.is_none() && !is_last {
                None
            } else {
                let writer = plan.writer(rung, self.before, notes)?;
                let same = match known.filter(|read| read.needs.cover(writer.needs())) {
                    Some(same) => same,
                    None => self.read(keep, zones, writer.needs(), &summary, notes)?,
                };
                if is_last {
                    self.last_turns(read.insert(same), notes)?
                } else {
                    self.build(rung, read.insert(same), &writer, notes)?
                }
            };
            let Some(built) = built else {
                if !in_need {
                    break;
                }
                continue;
            };
            let (what, tokens) = (rung.as_str(), built.size().tokens);
            attempts.push(Attempt { what, tokens });
            if built.failed_check() {
                failed_check = true;
            } else if tokens < before {
                if let (true, Some(ready)) = (plan.fits(tokens), read.take()) {
                    return self.write(ready, built).map(Ok);
                }
                smaller = true;
            }
        }
        Ok(Err(if attempts.len() == first && !in_need {
            Outcome::NothingToDo
        } else if plan.fits(before) && !smaller {
            Outcome::NoGain
        } else {
            Outcome::Unreachable
        }))
    }

    /// Reads the session, whose zones are decided.
    fn read<'l>(
        &self,
        keep: Keep,
        zones: Zones,
        needs: Needs,
        plan: &'l summarize::Plan,
        notes: &mut Notes,
    ) -> Result<Read<'l>, PassError> {
        let mut pass = ZonePass::new(plan, needs, Some(self.content.dialect));
        self.each(&zones, |zone, record, edited| {
            if let Some(zone) = zone {
                return pass.push_in(zone, record, edited);
            }
            pass.drop(record);
            Ok(())
        })?;
        Ok(Read {
            keep,
            needs,
            kept: self.survey.kept(&zones)?,
            zones,
            material: pass.gather(notes)?,
        })
    }

    /// Hands on each record with its zone (`None` if pruning drops it) and with what pruning
    /// makes of it. Old records come with their offloaded results put back.
    fn each(
        &self,
        zones: &Zones,
        mut handle: impl FnMut(Option<Zone>, &Record<'_>, Option<Edit<'_>>) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        let verdicts = self.survey.pruned.as_ref();
        self.originals.into_iter().for_each(Originals::begin);
        let mut number = 0;
        self.content.each(|record| {
            let (at, zone) = (number, zones.of[number]);
            number += 1;
            if self.survey.is_dropped(at) {
                return handle(None, record, None);
            }
            let originals = self.originals.filter(|_| zone == Zone::Old);
            let restored = originals
                .map(|originals| originals.of(record))
                .transpose()?;
            if let Some(bytes) = restored.flatten() {
                return handle(Some(zone), &record.origin().record(&bytes), None);
            }
            let edited = verdicts
                .and_then(|verdicts| changed(verdicts, at, record, self.content.dialect))
                .map(|(bytes, message)| Edit { bytes, message });
            handle(Some(zone), record, edited)
        })
    }

    /// One rung; `None` when nothing is old but an earlier summary.
    fn build(
        &self,
        rung: Rung,
        read: &mut Read<'_>,
        writer: &Writer,
        notes: &mut Notes,
    ) -> Result<Option<Built>, PassError> {
        if !self.plan.sums_up() {
            return self.sized(rung, read, None, notes).map(Some);
        }
        match read.material.draft(writer, notes)? {
            Some(draft) if !draft.summary.is_only_earlier() => {
                self.sized(rung, read, Some(draft), notes).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The last turns, with as long a summary as the target leaves room for. If it leaves
    /// none, their tool results are shortened to make room. An earlier summary is all that
    /// is left of the turns before: it is shortened only for the target, and never dropped.
    fn last_turns(
        &self,
        read: &mut Read<'_>,
        notes: &mut Notes,
    ) -> Result<Option<Built>, PassError> {
        let (plan, before) = (self.plan, self.before.size.tokens);
        let rung = Rung::LastTurnsAlone;
        let most = plan.target.unwrap_or(before).min(before.saturating_sub(1));
        let fits = |size: &Size| size.tokens <= most;
        let alone = self.sized(rung, read, None, notes)?;
        let room = most.saturating_sub(alone.size().tokens + PER_MESSAGE);
        let code = plan.by_code(Some(room.max(LEAST_SUMMARY)));
        let draft = read.material.draft(&code, notes)?;
        let draft = draft.filter(|draft| !draft.summary.is_only_earlier());
        let only_earlier = draft.is_none();
        if draft.is_some() {
            let with_summary = self.sized(rung, read, draft, notes)?;
            if fits(with_summary.size()) {
                return Ok(Some(with_summary));
            }
        }
        if fits(alone.size()) && !(only_earlier && plan.fits(before)) {
            // The target is taken for a budget.
            let request = BudgetRequest {
                tokens: most,
                keep: Keep::default(),
                pins: plan.pins.clone(),
            };
            let shared = self.within(&request, &plan.by_code(Some(most)), notes)?;
            if let Some(shared) = shared.ok().filter(|shared| fits(&shared.size)) {
                return Ok(Some(Built::Shared(shared)));
            }
        }
        Ok((!only_earlier).then_some(alone))
    }

    /// The size of what stays with a summary, on a rung that may prune what stays.
    fn sized(
        &self,
        rung: Rung,
        read: &mut Read<'_>,
        draft: Option<Draft>,
        notes: &mut Notes,
    ) -> Result<Built, PassError> {
        let mut size = read.kept;
        size.tokens = size.tokens.max(PRIMING);
        if let Some(draft) = &draft {
            self.add_summary(draft, &mut size);
        }
        let times = [When::Fallback, When::Before].into_iter();
        let mut times = times.filter(|when| rung.prunes() && self.plan.prunes(*when));
        let mut content = None;
        if let Some(when) = times.next() {
            let unpruned = self.content_of(read, draft.as_ref())?;
            content = Some(match prune(self.plan, when, &unpruned, &size, notes)? {
                Some(pruned) => {
                    size = pruned.size;
                    pruned.content
                }
                None => unpruned,
            });
        }
        Ok(Built::Draft {
            draft,
            size,
            content,
        })
    }

    fn add_summary(&self, draft: &Draft, size: &mut Size) {
        let dialect = self.content.dialect;
        let text = std::str::from_utf8(&draft.record).unwrap_or_default();
        let object = Object::parse(text.trim_end()).ok();
        let message = object.as_ref().and_then(|object| dialect.message(object));
        if let Some(message) = message {
            size.tokens += self.plan.counter.message(&message).total();
            size.messages += u64::from(!message.role.is_system());
        }
    }

    /// What stays, with a summary if there is one.
    fn content_of(&self, read: &mut Read<'_>, draft: Option<&Draft>) -> Result<Content, PassError> {
        let file = temporary(|output| read.material.write(draft, output))?;
        Ok(self.content.with(file))
    }

    /// What a rung came to, in a file.
    fn write(&self, mut read: Read<'_>, built: Built) -> Result<Candidate, PassError> {
        match built {
            Built::Shared(candidate) => Ok(candidate),
            Built::Draft {
                draft,
                size,
                content,
            } => Ok(Candidate {
                content: match content {
                    Some(content) => content,
                    None => self.content_of(&mut read, draft.as_ref())?,
                },
                size,
                zones: read.zones,
                summary: draft.map(|draft| draft.summary),
            }),
        }
    }

    /// What is in the old records that belongs into the memory.
    pub(super) fn items(&self, zones: &Zones, session: &str) -> Result<Vec<Item>, PassError> {
        let mut extractor = Extractor::new(session, &MemoryKind::ALL);
        let mut items = Vec::new();
        let dialect = self.content.dialect;
        self.each(zones, |zone, record, edited| {
            let Some(object) = record.whole_object().filter(|_| zone == Some(Zone::Old)) else {
                return Ok(());
            };
            // What an earlier summary says was extracted from its messages when they left.
            if dialect.summary_text(object).is_some() {
                return Ok(());
            }
            let message = edited.map(|edited| edited.message);
            if let Some(message) = message.or_else(|| record.message(Some(dialect))) {
                let message = self.plan.recognizer.as_said(&message);
                items.extend(extractor.read(&message, record.line));
            }
            Ok(())
        })?;
        Ok(items)
    }

    /// One number for the whole context, instead of the ladder. What stays and how long the
    /// summary may be are decided together, so there is nothing else to try.
    pub(super) fn budget(
        &self,
        request: &BudgetRequest,
        attempts: &mut Vec<Attempt>,
        notes: &mut Notes,
    ) -> Result<Ended<Candidate>, PassError> {
        let writer = self.plan.writer_within(notes)?;
        let shared = self.within(request, &writer, notes)?;
        let tokens = match &shared {
            Ok(candidate) => candidate.size.tokens,
            Err(error) => error.needed,
        };
        let what = "budget";
        attempts.push(Attempt { what, tokens });
        let shared = shared.map_err(|_| Outcome::Unreachable);
        Ok(shared.and_then(|candidate| self.judged(candidate)))
    }

    fn judged(&self, candidate: Candidate) -> Ended<Candidate> {
        let after = candidate.size.tokens;
        let summary = candidate.summary.as_ref();
        if !self.plan.fits(after) {
            Err(Outcome::Unreachable)
        } else if after < self.before.size.tokens {
            Ok(candidate)
        } else if summary.is_none_or(Summary::is_only_earlier) {
            Err(Outcome::NothingToDo)
        } else {
            Err(Outcome::NoGain)
        }
    }

    /// The session within a budget; the inner error if what has to stay exceeds it.
    fn within(
        &self,
        request: &BudgetRequest,
        writer: &Writer,
        notes: &mut Notes,
    ) -> Result<Result<Candidate, TooSmall>, PassError> {
        let plan = self.plan.summary();
        let mut pass = BudgetPass::new(&plan, writer, request, Some(self.content.dialect));
        let all = Zones {
            of: vec![Zone::Keep; self.survey.records()],
            counts: ZoneCounts::default(),
        };
        self.each(&all, |zone, record, edited| match (zone, edited) {
            (None, _) => Ok(()),
            (Some(_), None) => pass.push(record),
            (Some(_), Some(edited)) => pass.push(&record.origin().record(&edited.bytes)),
        })?;
        let (mut session, zones) = match pass.finish(notes) {
            Err(PassError {
                kind: ErrorKind::TooSmall(error),
                ..
            }) => return Ok(Err(error)),
            finished => finished?,
        };
        let file = temporary(|output| session.write(output))?;
        let content = self.content.with(file);
        Ok(Ok(Candidate {
            size: measure(&content, &self.plan.counter)?,
            content,
            zones: self.spread(&zones),
            summary: session.draft.map(|draft| draft.summary),
        }))
    }

    /// The zones of all records, given those of the records that pruning did not drop.
    fn spread(&self, zones: &[Zone]) -> Zones {
        let mut zones = zones.iter();
        let mut counts = ZoneCounts::default();
        let of = (0..self.survey.records()).map(|record| {
            if self.survey.is_dropped(record) {
                return Zone::Keep;
            }
            let zone = zones.next().copied().unwrap_or(Zone::Keep);
            counts.add(zone);
            zone
        });
        let of = of.collect();
        Zones { of, counts }
    }
}

impl Candidate {
    /// Whether anything leaves: a budget may only shorten.
    pub(super) fn leaves(&self) -> bool {
        self.summary.is_some() || self.zones.counts.old > 0
    }
}

impl Built {
    fn size(&self) -> &Size {
        match self {
            Self::Draft { size, .. } => size,
            Self::Shared(candidate) => &candidate.size,
        }
    }

    /// Whether a model's summary was not good enough.
    fn failed_check(&self) -> bool {
        matches!(self, Self::Draft { draft: Some(draft), .. } if draft.summary.failed_check)
    }
}

/// Counts a session.
fn measure(content: &Content, counter: &MessageCounter) -> Result<Size, PassError> {
    let mut size = Size::default();
    content.each(|record| {
        let dialect = Some(content.dialect);
        if let Some((outline, message)) = record.outline(dialect).zip(record.message(dialect)) {
            size.add(&outline, &message, counter);
        }
        Ok(())
    })?;
    Ok(size)
}

#[cfg(test)]
mod tests {
    use ctx_policy::{Fallback, Method, When};
    use ctx_transcript::Zone;

    use super::super::job::tests::{content, plan, session, text, turn};
    use super::super::plan::{Before, Plan};
    use super::super::survey::Survey;
    use super::{Attempt, Candidate, Ended, Ladder, measure};
    use crate::summarize::BudgetRequest;
    use crate::{Notes, compact::Outcome};

    /// Climbs the ladder, or asks for a budget; gives what was tried, too.
    fn climb(plan: &Plan, session: &str, due: bool) -> (Ended<Candidate>, Vec<&'static str>) {
        let content = content(session);
        let survey = Survey::of(plan, &content, None, false).expect("from a file");
        let before = Before {
            size: survey.size,
            system_tokens: survey.system_tokens,
        };
        let ladder = Ladder {
            plan,
            content: &content,
            survey: &survey,
            before: &before,
            due,
            originals: None,
        };
        let (mut attempts, mut notes) = (Vec::new(), Notes::new());
        let ended = match &plan.budget {
            Some(request) => ladder.budget(request, &mut attempts, &mut notes),
            None => ladder.climb(&mut attempts, &mut notes),
        };
        let ended = ended.expect("no failure");
        if let Ok(candidate) = &ended {
            let measured = measure(&candidate.content, &plan.counter).expect("from a file");
            assert_eq!(candidate.size.tokens, measured.tokens);
            assert_eq!(candidate.size.messages, measured.messages);
        }
        let tried = attempts.iter().map(|attempt: &Attempt| attempt.what);
        (ended, tried.collect())
    }

    #[test]
    fn the_first_rung_that_helps_is_taken() {
        let (ended, tried) = climb(&plan(2), &session(6, 100), false);
        let candidate = ended.expect("it is smaller");
        assert_eq!(tried, ["policy"]);
        assert!(candidate.leaves());
        assert_eq!(
            candidate
                .zones
                .of
                .iter()
                .filter(|zone| **zone == Zone::Old)
                .count(),
            16
        );
        assert_eq!(candidate.summary.expect("a summary").messages, 16);
    }

    #[test]
    fn without_a_summary_what_is_old_only_leaves() {
        let mut plan = plan(2);
        plan.policy.summary.method = Method::None;
        let candidate = climb(&plan, &session(6, 100), false)
            .0
            .expect("it is smaller");
        assert!(candidate.leaves() && candidate.summary.is_none());
        assert_eq!(text(&candidate.content).lines().count(), 1 + 8);
    }

    #[test]
    fn less_is_kept_only_in_need() {
        let mut plan = plan(9);
        plan.policy.summary.fallback = vec![Fallback::LastTurns];
        let session = session(3, 100);
        let (ended, tried) = climb(&plan, &session, false);
        assert_eq!(ended.err(), Some(Outcome::NothingToDo));
        assert!(tried.is_empty());
        let (ended, tried) = climb(&plan, &session, true);
        assert_eq!(tried, ["last-turns"]);
        assert!(text(&ended.expect("it is smaller").content).ends_with(&turn(3, 100)));
    }

    #[test]
    fn a_summary_that_is_longer_is_no_gain() {
        let session =
            "{\"role\":\"user\",\"content\":\"Never use the port 8443 for it\"}\n".to_owned();
        let (ended, tried) = climb(&plan(1), &(session + &turn(1, 2)), false);
        assert_eq!(ended.err(), Some(Outcome::NoGain));
        assert_eq!(tried, ["policy"]);
    }

    #[test]
    fn a_target_below_the_last_turn_is_out_of_reach() {
        let mut plan = plan(2);
        plan.target = Some(20);
        plan.policy.summary.fallback = vec![Fallback::Smaller, Fallback::LastTurns];
        let (ended, tried) = climb(&plan, &session(4, 100), false);
        assert_eq!(ended.err(), Some(Outcome::Unreachable));
        let all = [
            "policy",
            "smaller-summary",
            "last-turns",
            "last-turns-alone",
        ];
        assert_eq!(tried, all);
    }

    #[test]
    fn what_is_kept_is_pruned_on_the_rung_that_says_so() {
        let mut plan = plan(2);
        plan.target = Some(450);
        plan.policy.prune.when = When::Fallback;
        plan.policy.prune.max_chars = Some(200);
        plan.policy.prune.protect_last = 0;
        plan.policy.summary.fallback = vec![Fallback::Prune];
        let (ended, tried) = climb(&plan, &session(4, 200), false);
        assert_eq!(tried, ["policy", "pruned"]);
        let written = text(&ended.expect("it is smaller").content);
        assert_eq!(written.matches("chars truncated").count(), 2);
    }

    #[test]
    fn a_budget_has_one_attempt() {
        let mut plan = plan(2);
        let mut budget = |tokens| {
            plan.target = Some(tokens);
            plan.budget = Some(BudgetRequest {
                tokens,
                ..BudgetRequest::default()
            });
            climb(&plan, &session(4, 100), false)
        };
        let (ended, tried) = budget(400);
        assert_eq!(tried, ["budget"]);
        assert!(ended.expect("there is room").size.tokens <= 400);
        assert_eq!(budget(9).0.err(), Some(Outcome::Unreachable));
        // All of it fits: there is nothing to sum up.
        assert_eq!(budget(100_000).0.err(), Some(Outcome::NothingToDo));
    }

    #[test]
    fn memory_gets_the_items_of_what_leaves() {
        let plan = plan(1);
        let content = content(&session(3, 10));
        let survey = Survey::of(&plan, &content, None, false).expect("from a file");
        let before = Before::default();
        let ladder = Ladder {
            plan: &plan,
            content: &content,
            survey: &survey,
            before: &before,
            due: false,
            originals: None,
        };
        let zones = survey
            .zones(plan.keep(super::Rung::Policy, &before))
            .expect("from memory");
        let items = ladder.items(&zones, "s").expect("from a file");
        assert!(items.iter().any(|item| item.text.contains("file_2")));
        assert!(
            items
                .iter()
                .all(|item| item.line < 10 && item.session == "s")
        );
    }
}
