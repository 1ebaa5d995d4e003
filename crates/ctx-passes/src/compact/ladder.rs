//! The ladder of a compaction, from what the policy asks for down to the last resort. The
//! next rung is tried when a result is not small enough.

mod share;

use ctx_ledger::rules::MemoryKind;
use ctx_memory::{Extractor, Item, settle};
use ctx_policy::When;
use ctx_select::count::PRIMING;
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
use crate::summarize::{self, Draft, Edit, Material, Needs, Summary, Writer, ZonePass};
use crate::{Notes, PassError, Time};

/// A new content for the session, checked.
pub(super) struct Candidate {
    pub(super) content: Content,
    pub(super) size: Size,
    /// The zones of the records: the old ones were summarized or left out.
    pub(super) zones: Zones,
    /// What was summarized.
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
    /// What was offloaded and is to be summarized.
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

/// What a rung came to: what stays of the session that was read, with a summary if there is one.
struct Built {
    draft: Option<Draft>,
    size: Size,
    /// Already written if what stays was pruned.
    content: Option<Content>,
}

impl Ladder<'_, '_> {
    /// Tries one rung after the other until a result is smaller than the session
    /// and not above the target; where none is, as much of what the policy keeps is kept as
    /// the target leaves room for.
    pub(super) fn climb(
        &self,
        attempts: &mut Vec<Attempt>,
        notes: &mut Notes,
    ) -> Result<Ended<Candidate>, PassError> {
        let (plan, before) = (self.plan, self.before.size.tokens);
        // Less than the policy keeps is kept only if nothing else helps.
        let in_need = self.due || !plan.fits(before);
        let first = attempts.len();
        let mut failed_check = false;
        // Of those that are not small enough.
        let mut smallest: Option<Candidate> = None;
        let summary = plan.summary();
        let mut read: Option<Read<'_>> = None;
        for rung in plan.rungs() {
            if rung == Rung::LessKept && !failed_check {
                continue;
            }
            let Some((mut ready, built)) = self.rung(rung, read.take(), &summary, notes)? else {
                if !in_need {
                    break;
                }
                continue;
            };
            let (what, tokens) = (rung.as_str(), built.size.tokens);
            attempts.push(Attempt { what, tokens });
            if built.failed_check() {
                failed_check = true;
            } else if tokens < smallest.as_ref().map_or(before, Candidate::tokens)
                || tokens < before && plan.fits(tokens)
            {
                let candidate = self.write(&mut ready, built)?;
                if plan.fits(tokens) && self.is_clean(&candidate)? {
                    return Ok(Ok(candidate));
                }
                smallest = Some(candidate);
            }
            read = Some(ready);
        }
        let shared = match in_need {
            // It would be by code.
            true if plan.needs_model() => None,
            true if plan.sums_up() => self.share(attempts, notes)?,
            true => self.keep_fewer(attempts, &summary, notes)?,
            false => None,
        };
        let least = smallest.as_ref().map_or(u64::MAX, Candidate::tokens);
        let is_better = |shared: &Candidate| plan.fits(shared.tokens()) || shared.tokens() <= least;
        Ok(match shared.filter(is_better).or(smallest) {
            Some(best) if plan.fits(best.tokens()) || !plan.strict_target => Ok(best),
            None if attempts.len() == first && !in_need => Err(Outcome::NothingToDo),
            None if plan.fits(before) || !plan.strict_target => Err(Outcome::NoGain),
            Some(_) | None => Err(Outcome::Unreachable),
        })
    }

    /// What a rung comes to; `None` where nothing is old, so that there is nothing to summarize.
    fn rung<'l>(
        &self,
        rung: Rung,
        known: Option<Read<'l>>,
        summary: &'l summarize::Plan,
        notes: &mut Notes,
    ) -> Result<Option<(Read<'l>, Built)>, PassError> {
        let keep = self.plan.keep(rung, self.before);
        let known = known.filter(|read| read.keep == keep);
        let zones = self.survey.zones(keep)?;
        // No model is asked.
        if zones.counts.old == 0 && known.is_none() && !rung.prunes() {
            return Ok(None);
        }
        let writer = self.plan.writer(rung, self.before, notes)?;
        let mut read = match known.filter(|read| read.needs.cover(writer.needs())) {
            Some(same) => same,
            None => self.read(keep, zones, writer.needs(), summary, notes)?,
        };
        let built = self.build(rung, &mut read, &writer, notes)?;
        Ok(built.map(|built| (read, built)))
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
            // What is kept may be too long by itself.
            _ if rung.prunes() && read.zones.counts.old == 0 => {
                self.sized(rung, read, None, notes).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Whether it has no more of tool results than the trigger allows that fired for them.
    fn is_clean(&self, candidate: &Candidate) -> Result<bool, PassError> {
        let limit = self.plan.triggers.tool_bytes;
        let fired = limit.filter(|limit| self.before.size.tool_bytes > *limit);
        let Some(limit) = fired.filter(|_| self.due) else {
            return Ok(true);
        };
        let size = share::measure(&candidate.content, &self.plan.counter)?;
        Ok(size.tool_bytes <= limit)
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
        Ok(Built {
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
    fn write(&self, read: &mut Read<'_>, built: Built) -> Result<Candidate, PassError> {
        Ok(Candidate {
            content: match built.content {
                Some(content) => content,
                None => self.content_of(read, built.draft.as_ref())?,
            },
            size: built.size,
            zones: read.zones.clone(),
            summary: built.draft.map(|draft| draft.summary),
        })
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
                let date = Time::of(object).map(Time::date);
                items.extend(extractor.read(&message, record.line, date));
            }
            Ok(())
        })?;
        Ok(settle(items))
    }
}

impl Candidate {
    fn tokens(&self) -> u64 {
        self.size.tokens
    }

    /// Whether anything leaves: a budget may only shorten.
    pub(super) fn leaves(&self) -> bool {
        self.summary.is_some() || self.zones.counts.old > 0
    }
}

impl Built {
    /// Whether a model's summary was not good enough.
    fn failed_check(&self) -> bool {
        let draft = self.draft.as_ref();
        draft.is_some_and(|draft| draft.summary.failed_check)
    }
}

#[cfg(test)]
mod tests {
    use ctx_policy::{Fallback, Method, When};
    use ctx_transcript::Zone;

    use super::super::job::tests::{content, plan, session, text, turn};
    use super::super::plan::{Before, Plan};
    use super::super::survey::Survey;
    use super::share::measure;
    use super::{Attempt, Candidate, Ended, Ladder};
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
        let plan = plan(9);
        let session = session(3, 100);
        let (ended, tried) = climb(&plan, &session, false);
        assert_eq!(ended.err(), Some(Outcome::NothingToDo));
        assert!(tried.is_empty());
        let (ended, tried) = climb(&plan, &session, true);
        assert_eq!(tried, ["budget"]);
        let written = text(&ended.expect("it is smaller").content);
        assert!(written.contains("Fixed the file number 3") && !written.contains(&turn(1, 100)));
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
    fn below_a_target_out_of_reach_the_least_is_written() {
        let mut plan = plan(2);
        plan.target = Some(20);
        plan.policy.summary.fallback = vec![Fallback::Smaller];
        let (ended, tried) = climb(&plan, &session(4, 100), false);
        let size = ended.expect("it is smaller").size;
        assert_eq!(tried, ["policy", "smaller-summary", "budget"]);
        assert!((20..150).contains(&size.tokens), "{}", size.tokens);
        plan.strict_target = true;
        let (ended, _) = climb(&plan, &session(4, 100), false);
        assert_eq!(ended.err(), Some(Outcome::Unreachable));
    }

    #[test]
    fn what_overflows_below_its_target_becomes_plainly_smaller() {
        let mut plan = plan(9);
        plan.target = Some(100_000);
        let session = session(6, 100);
        let before = {
            let content = content(&session);
            let survey = Survey::of(&plan, &content, None, false).expect("from a file");
            survey.size.tokens
        };
        let (ended, tried) = climb(&plan, &session, true);
        assert_eq!(tried, ["budget"]);
        let after = ended.expect("it is smaller").size.tokens;
        assert!(
            after <= before / 2 && after > before / 4,
            "{after} of {before}"
        );
    }

    #[test]
    fn without_a_summary_fewer_turns_are_kept_where_the_target_needs_it() {
        let mut plan = plan(4);
        plan.policy.summary.method = Method::None;
        plan.target = Some(400);
        let (ended, tried) = climb(&plan, &session(6, 100), false);
        let candidate = ended.expect("it is smaller");
        assert_eq!(tried, ["policy", "fewer-kept"]);
        assert!(candidate.summary.is_none() && candidate.size.tokens <= 400);
        assert!(text(&candidate.content).ends_with(&turn(6, 100)));
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
        let (ended, _) = budget(9);
        assert!(ended.expect("it is smaller").size.tokens > 9);
        // All of it fits: there is nothing to summarize.
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
