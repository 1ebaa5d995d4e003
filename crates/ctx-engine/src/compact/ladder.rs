//! Tries ways to compact a session in turn, from the one that the policy asks for to the last
//! resort. The next attempt follows if a result is not small enough.

use std::cell::RefCell;

use crate::allocate::LEAST_SUMMARY;
use crate::message_counter::PRIMING;
use ctx_format::{Message, Object, Record, Zone};
use ctx_policy::keep::Keep;
use ctx_policy::trigger::Size;
use ctx_policy::{Fallback, When};
use ctx_summary::Recognizer;

use super::compaction::{Flush, MessageReader, ReadMessage};
use super::content::{Content, temporary};
use super::options::{Plan, SizeBefore, scaled};
use super::pruning::prune;
use super::report::{Attempt, Outcome};
use super::survey::{Survey, Zones};
use super::{Originals, within};
use crate::prune::changed_record;
use crate::summarize::{self, Draft, Material, Needs, ReadRecord, Summary, Writer, ZonePass};
use crate::{Notes, Result, Time};

/// A new content for the session that has passed its checks.
pub(super) struct Candidate {
    pub(super) content: Content,
    pub(super) size: Size,
    /// The zones of the records. Old records were summarized or left out.
    pub(super) zones: Zones,
    /// The summary.
    pub(super) summary: Option<Summary>,
}

/// The result, or how the compaction ended without one.
pub(super) type Ended<T> = Result<T, Outcome>;

/// The session to make smaller.
pub(super) struct Ladder<'a, 'p> {
    pub(super) plan: &'a Plan<'a>,
    pub(super) content: &'a Content,
    pub(super) survey: &'a Survey<'p>,
    /// The size before any change.
    pub(super) before: &'a SizeBefore,
    /// Whether a trigger fired.
    pub(super) due: bool,
    /// The offloaded results, if they are summarized.
    pub(super) originals: Option<&'a dyn Originals>,
    /// Reads all messages during the first reading of the session.
    pub(super) flush: Option<Flush<'a>>,
}

/// The session, read with its zones. Attempts that keep the same amount share it.
pub(super) struct Read<'l> {
    keep: Keep,
    needs: Needs,
    zones: Zones,
    /// The kept part without a summary.
    kept: Size,
    material: Material<'l>,
}

/// The result of an attempt: the kept records, with a summary if there is one.
pub(super) struct Built {
    draft: Option<Draft>,
    pub(super) size: Size,
    /// Set if the kept part was pruned, because then it is already written.
    content: Option<Content>,
}

impl Ladder<'_, '_> {
    /// Makes attempts until a result is smaller than the session and not above the target. If none
    /// is, keeps as much of what the policy keeps as fits the target.
    pub(super) fn climb(
        &self,
        attempts: &mut Vec<Attempt>,
        notes: &mut Notes,
    ) -> Result<Ended<Candidate>> {
        let (plan, before) = (self.plan, self.before.size.tokens);
        // Keeps less than the policy only if nothing else helps.
        let in_need = self.due || !plan.limits.fits(before);
        // Compares with the minimum sizes first, to avoid attempts that cannot succeed.
        let can_share =
            in_need && plan.summarizes() && !plan.needs_model() && !plan.options.strict_target;
        let is_hopeless = !plan.limits.fits(self.before.system_tokens + LEAST_SUMMARY);
        let first = attempts.len();
        let mut failed_check = false;
        // The smallest of the results that are too large.
        let mut smallest: Option<Candidate> = None;
        let summary = plan.summary();
        let mut read: Option<Read<'_>> = None;
        for rung in self.rungs() {
            if rung == AttemptKind::LessKept && !failed_check {
                continue;
            }
            // A shorter summary does not help if the messages that stay are above the target.
            let kept = read.as_ref().map(|read| read.kept.tokens);
            let is_above = kept.is_some_and(|kept| !plan.limits.fits(kept));
            if can_share
                && (rung == AttemptKind::Smaller && is_above
                    || rung != AttemptKind::Policy && is_hopeless)
            {
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
            } else if tokens < smallest.as_ref().map_or(before, |it| it.size.tokens)
                || tokens < before && plan.limits.fits(tokens)
            {
                let candidate = self.write(&mut ready, built)?;
                if plan.limits.fits(tokens) && self.is_clean(&candidate)? {
                    return Ok(Ok(candidate));
                }
                smallest = Some(candidate);
            }
            read = Some(ready);
        }
        let shared = match in_need {
            // That summary would be written by code.
            true if plan.needs_model() => None,
            true if plan.summarizes() => self.share(attempts, notes)?,
            true => self.keep_fewer(attempts, &summary, notes)?,
            false => None,
        };
        let least = smallest.as_ref().map_or(u64::MAX, |it| it.size.tokens);
        let is_better = |shared: &Candidate| {
            plan.limits.fits(shared.size.tokens) || shared.size.tokens <= least
        };
        Ok(match shared.filter(is_better).or(smallest) {
            Some(best) if plan.limits.fits(best.size.tokens) || !plan.options.strict_target => {
                Ok(best)
            }
            None if attempts.len() == first && !in_need => Err(Outcome::NothingToDo),
            None if plan.limits.fits(before) || !plan.options.strict_target => Err(Outcome::NoGain),
            Some(_) | None => Err(Outcome::Unreachable),
        })
    }

    /// Makes an attempt and returns its result, or `None` if there is nothing to summarize.
    fn rung<'l>(
        &self,
        rung: AttemptKind,
        known: Option<Read<'l>>,
        summary: &'l summarize::Plan,
        notes: &mut Notes,
    ) -> Result<Option<(Read<'l>, Built)>> {
        let keep = self.keep(rung);
        let known = known.filter(|read| read.keep == keep);
        let zones = self.survey.zones(keep)?;
        // The model is not asked.
        if zones.counts.old == 0 && known.is_none() && !rung.prunes() {
            return Ok(None);
        }
        let writer = self.writer(rung, notes)?;
        let mut read = match known.filter(|read| read.needs.cover(writer.needs())) {
            Some(same) => same,
            None => self.read(keep, zones, writer.needs(), summary, notes)?,
        };
        let built = self.build(rung, &mut read, &writer, notes)?;
        Ok(built.map(|built| (read, built)))
    }

    /// Reads the session with zones that were decided before.
    pub(super) fn read<'l>(
        &self,
        keep: Keep,
        zones: Zones,
        needs: Needs,
        plan: &'l summarize::Plan,
        notes: &mut Notes,
    ) -> Result<Read<'l>> {
        let mut pass = ZonePass::new(plan, needs, Some(self.content.dialect));
        self.each(&zones, |zone, record, read| {
            if let Some(zone) = zone {
                return pass.push_in(zone, record, read);
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

    /// Passes each record to `handle` with its zone (`None` if pruning drops it) and its content
    /// after pruning. Offloaded results of old records are restored.
    pub(super) fn each(
        &self,
        zones: &Zones,
        mut handle: impl FnMut(Option<Zone>, &Record<'_>, Option<ReadRecord<'_>>) -> Result<()>,
    ) -> Result<()> {
        let verdicts = self.survey.pruned.as_ref();
        if let Some(originals) = self.originals {
            originals.begin();
        }
        let mut number = 0;
        let flush = self.flush.filter(|flush| !flush.is_done.replace(true));
        let recognizer = self.plan.recognizer();
        self.content.each_again(|record| {
            let (at, zone) = (number, zones.of[number]);
            number += 1;
            let mut message = None;
            if let Some(flush) = flush {
                message = record.message(Some(self.content.dialect));
                let said = message.as_ref().filter(|message| !message.role.is_system());
                self.hand_on(record, said, &recognizer, flush.read);
            }
            if self.survey.is_dropped(at) {
                return handle(None, record, None);
            }
            let originals = self.originals.filter(|_| zone == Zone::Old);
            let restored = originals.map(|originals| originals.of(record)).transpose()?;
            if let Some(bytes) = restored.flatten() {
                return handle(Some(zone), &record.origin().record(&bytes), None);
            }
            let changed = verdicts
                .and_then(|verdicts| changed_record(verdicts, at, record, self.content.dialect));
            let read = match changed {
                Some((bytes, message)) => Some(ReadRecord { bytes: Some(bytes), message }),
                None => message.map(|message| ReadRecord { bytes: None, message }),
            };
            handle(Some(zone), record, read)
        })
    }

    /// Builds the result of an attempt. Returns `None` if only an earlier summary would be
    /// summarized.
    fn build(
        &self,
        rung: AttemptKind,
        read: &mut Read<'_>,
        writer: &Writer,
        notes: &mut Notes,
    ) -> Result<Option<Built>> {
        if !self.plan.summarizes() {
            return self.sized(rung, read, None, notes).map(Some);
        }
        match read.material.draft(writer, notes)? {
            Some(draft) if !draft.summary.is_only_earlier() => {
                self.sized(rung, read, Some(draft), notes).map(Some)
            }
            // The kept part may be too long by itself.
            _ if rung.prunes() && read.zones.counts.old == 0 => {
                self.sized(rung, read, None, notes).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Returns true if tool results are within the limit of the trigger that fired for them.
    fn is_clean(&self, candidate: &Candidate) -> Result<bool> {
        let limit = self.plan.limits.triggers.tool_bytes;
        let fired = limit.filter(|limit| self.before.size.tool_bytes > *limit);
        let Some(limit) = fired.filter(|_| self.due) else {
            return Ok(true);
        };
        let size = within::measure(&candidate.content, &self.plan.environment.counter)?;
        Ok(size.tool_bytes <= limit)
    }

    /// Returns the kept part with a summary, and its size. The attempt may prune the kept part.
    pub(super) fn sized(
        &self,
        rung: AttemptKind,
        read: &mut Read<'_>,
        draft: Option<Draft>,
        notes: &mut Notes,
    ) -> Result<Built> {
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
        Ok(Built { draft, size, content })
    }

    fn add_summary(&self, draft: &Draft, size: &mut Size) {
        let dialect = self.content.dialect;
        let text = std::str::from_utf8(&draft.record).unwrap_or_default();
        let object = Object::parse(text.trim_end()).ok();
        let message = object.as_ref().and_then(|object| dialect.message(object));
        if let Some(message) = message {
            size.tokens += self.plan.environment.counter.message(&message).total();
            size.messages += u64::from(!message.role.is_system());
        }
    }

    /// The kept records, with a summary if there is one.
    fn content_of(&self, read: &mut Read<'_>, draft: Option<&Draft>) -> Result<Content> {
        let file = temporary(|output| read.material.write(draft, output))?;
        Ok(self.content.with(file))
    }

    /// Writes the result of an attempt to a file.
    pub(super) fn write(&self, read: &mut Read<'_>, built: Built) -> Result<Candidate> {
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

    /// Passes the messages of the old records to `reader`, after pruning.
    pub(super) fn read_old(&self, zones: &Zones, reader: &mut dyn MessageReader) -> Result<()> {
        let dialect = self.content.dialect;
        let recognizer = self.plan.recognizer();
        let reader = RefCell::new(reader);
        let read: &ReadMessage<'_> = &|message, line, date| {
            reader.borrow_mut().read(message, line, date);
        };
        self.each(zones, |zone, record, known| {
            if zone == Some(Zone::Old) {
                let message = known.map(|known| known.message);
                let message = message.or_else(|| record.message(Some(dialect)));
                self.hand_on(record, message.as_ref(), &recognizer, read);
            }
            Ok(())
        })
    }

    /// Passes a message to `read`, unless it is an earlier summary. Its items were read from the
    /// original messages when they were summarized.
    fn hand_on(
        &self,
        record: &Record<'_>,
        message: Option<&Message<'_>>,
        recognizer: &Recognizer,
        read: &ReadMessage<'_>,
    ) {
        let (Some(object), Some(message)) = (record.whole_object(), message) else {
            return;
        };
        if self.content.dialect.summary_text(object).is_none() {
            let message = recognizer.as_said(message);
            read(&message, record.line, Time::of(object).map(Time::date));
        }
    }

    /// Returns the attempts in order.
    fn rungs(&self) -> Vec<AttemptKind> {
        let summary = &self.plan.policy().summary;
        let fallbacks = summary.fallback.iter().filter_map(|fallback| match fallback {
            Fallback::Smaller => Some(AttemptKind::Smaller),
            Fallback::Prune => Some(AttemptKind::Pruned),
            // These name another writer, not another attempt.
            Fallback::Rule | Fallback::Extractive | Fallback::Fail => None,
        });
        let less = summary.safeguard.then_some(AttemptKind::LessKept);
        std::iter::once(AttemptKind::Policy).chain(less).chain(fallbacks).collect()
    }

    /// Returns how much an attempt keeps.
    fn keep(&self, rung: AttemptKind) -> Keep {
        let keep = self.plan.keep(self.before);
        if rung == AttemptKind::LessKept { scaled(keep, |n| n.div_ceil(2)) } else { keep }
    }

    /// Returns the writer of an attempt. A preview asks no model.
    fn writer(&self, rung: AttemptKind, notes: &mut Notes) -> Result<Writer> {
        let tokens = self.plan.summary_length(self.before);
        let by_model = match rung {
            AttemptKind::Policy => self.plan.by_model(Some(tokens), notes)?,
            _ => None,
        };
        let tokens = match rung {
            AttemptKind::Policy | AttemptKind::LessKept => tokens,
            AttemptKind::Smaller | AttemptKind::Pruned => (tokens / 2).max(1),
        };
        Ok(by_model.unwrap_or_else(|| self.plan.by_code(Some(tokens))))
    }
}

/// The kinds of attempts, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub(super) enum AttemptKind {
    /// As the policy says.
    Policy,
    /// Keeps half as much as the policy, after a model's summary failed its check.
    LessKept,
    /// Asks code for a summary of half the length.
    #[strum(serialize = "smaller-summary")]
    Smaller,
    /// Like `Smaller`, but also prunes the tool results that stay.
    Pruned,
}

impl AttemptKind {
    pub(super) fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns true if the attempt prunes the tool results that stay.
    fn prunes(self) -> bool {
        self == Self::Pruned
    }
}

impl Candidate {
    /// Returns true if messages leave. A compaction within a budget may only shorten them.
    pub(super) fn leaves(&self) -> bool {
        self.summary.is_some() || self.zones.counts.old > 0
    }
}

impl Built {
    /// Returns true if a model's summary failed its check.
    fn failed_check(&self) -> bool {
        let draft = self.draft.as_ref();
        draft.is_some_and(|draft| draft.summary.failed_check)
    }
}

#[cfg(test)]
mod tests {
    use ctx_format::Zone;
    use ctx_policy::{Fallback, Method, When};

    use super::super::options::SizeBefore;
    use super::super::survey::Survey;
    use super::super::tests::{Setup, Texts, content, plan, session, text, turn};
    use super::super::within::measure;
    use super::{Attempt, AttemptKind, Candidate, Ended, Ladder};
    use crate::{Notes, compact::Outcome};

    /// Makes the attempts of the policy or of a budget, and returns their names with the result.
    fn climb(setup: &Setup, session: &str, due: bool) -> (Ended<Candidate>, Vec<&'static str>) {
        let content = content(session);
        let plan = &setup.plan();
        let survey = Survey::of(plan, &content, None, false).expect("from a file");
        let before = SizeBefore { size: survey.size, system_tokens: survey.system_tokens };
        let ladder = Ladder {
            plan,
            content: &content,
            survey: &survey,
            before: &before,
            due,
            originals: None,
            flush: None,
        };
        let (mut attempts, mut notes) = (Vec::new(), Notes::new());
        let ended = match plan.budget() {
            Some(request) => ladder.budget(&request, &mut attempts, &mut notes),
            None => ladder.climb(&mut attempts, &mut notes),
        };
        let ended = ended.expect("no failure");
        if let Ok(candidate) = &ended {
            let measured =
                measure(&candidate.content, &plan.environment.counter).expect("from a file");
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
        assert_eq!(candidate.zones.of.iter().filter(|zone| **zone == Zone::Old).count(), 16);
        assert_eq!(candidate.summary.expect("a summary").messages, 16);
    }

    #[test]
    fn without_a_summary_what_is_old_only_leaves() {
        let mut plan = plan(2);
        plan.policy.summary.method = Method::None;
        let candidate = climb(&plan, &session(6, 100), false).0.expect("it is smaller");
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
        plan.policy.target.tokens = Some(20);
        plan.policy.summary.fallback = vec![Fallback::Smaller];
        let (ended, tried) = climb(&plan, &session(4, 100), false);
        let size = ended.expect("it is smaller").size;
        assert_eq!(tried, ["policy", "budget"]);
        assert!((20..150).contains(&size.tokens), "{}", size.tokens);
        plan.strict_target = true;
        let (ended, _) = climb(&plan, &session(4, 100), false);
        assert_eq!(ended.err(), Some(Outcome::Unreachable));
    }

    #[test]
    fn what_overflows_below_its_target_becomes_plainly_smaller() {
        let mut plan = plan(9);
        plan.policy.target.tokens = Some(100_000);
        let session = session(6, 100);
        let before = {
            let content = content(&session);
            let survey = Survey::of(&plan.plan(), &content, None, false).expect("from a file");
            survey.size.tokens
        };
        let (ended, tried) = climb(&plan, &session, true);
        assert_eq!(tried, ["budget"]);
        let after = ended.expect("it is smaller").size.tokens;
        assert!(after <= before / 2 && after > before / 4, "{after} of {before}");
    }

    #[test]
    fn without_a_summary_fewer_turns_are_kept_where_the_target_needs_it() {
        let mut plan = plan(4);
        plan.policy.summary.method = Method::None;
        plan.policy.target.tokens = Some(400);
        let (ended, tried) = climb(&plan, &session(6, 100), false);
        let candidate = ended.expect("it is smaller");
        assert_eq!(tried, ["policy", "fewer-kept"]);
        assert!(candidate.summary.is_none() && candidate.size.tokens <= 400);
        assert!(text(&candidate.content).ends_with(&turn(6, 100)));
    }

    #[test]
    fn what_is_kept_is_pruned_on_the_rung_that_says_so() {
        let mut plan = plan(2);
        plan.policy.target.tokens = Some(450);
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
            plan.budget = Some(tokens);
            climb(&plan, &session(4, 100), false)
        };
        let (ended, tried) = budget(400);
        assert_eq!(tried, ["budget"]);
        assert!(ended.expect("there is room").size.tokens <= 400);
        let (ended, _) = budget(9);
        assert!(ended.expect("it is smaller").size.tokens > 9);
        // Everything fits, so there is nothing to summarize.
        assert_eq!(budget(100_000).0.err(), Some(Outcome::NothingToDo));
    }

    #[test]
    fn the_messages_that_leave_are_read() {
        let setup = plan(1);
        let plan = &setup.plan();
        let content = content(&session(3, 10));
        let survey = Survey::of(plan, &content, None, false).expect("from a file");
        let before = SizeBefore::default();
        let ladder = Ladder {
            plan,
            content: &content,
            survey: &survey,
            before: &before,
            due: false,
            originals: None,
            flush: None,
        };
        let zones = survey.zones(ladder.keep(AttemptKind::Policy)).expect("from memory");
        let mut texts = Texts::default();
        ladder.read_old(&zones, &mut texts).expect("from a file");
        assert!(texts.0.iter().any(|(_, text)| text.contains("file_2")));
        assert!(texts.0.iter().all(|(line, _)| *line < 10));
    }

    #[test]
    fn fallbacks_are_tried_in_the_order_of_the_policy() {
        let mut setup = plan(5);
        setup.policy.keep.messages = Some(9);
        setup.policy.keep.tokens = Some(1_000);
        setup.policy.summary.safeguard = true;
        setup.policy.summary.fallback =
            vec![Fallback::Extractive, Fallback::Prune, Fallback::Smaller];
        let (plan, content) = (&setup.plan(), &content(&session(1, 3)));
        let survey = &Survey::default();
        let before = &SizeBefore::default();
        let ladder =
            Ladder { plan, content, survey, before, due: false, originals: None, flush: None };
        let rungs =
            [AttemptKind::Policy, AttemptKind::LessKept, AttemptKind::Pruned, AttemptKind::Smaller];
        assert_eq!(ladder.rungs(), rungs);
        let keep = |rung| {
            let keep = ladder.keep(rung);
            (keep.messages, keep.turns, keep.tokens)
        };
        assert_eq!(keep(AttemptKind::Policy), (Some(9), Some(5), Some(1_000)));
        assert_eq!(keep(AttemptKind::Pruned), keep(AttemptKind::Policy));
        assert_eq!(keep(AttemptKind::LessKept), (Some(5), Some(3), Some(500)));
    }
}
