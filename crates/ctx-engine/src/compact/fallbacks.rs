//! Tries several ways to compact a session, from what the policy asks for to the last resort, until
//! a result is small enough.

use ctx_policy::Fallback;

use super::attempts::{AttemptKind, Attempts, Candidate, Ended, Read};
use super::report::{Attempt, Outcome};
use crate::allocate::LEAST_SUMMARY;
use crate::{Notes, Result};

impl Attempts<'_> {
    /// Makes attempts until a result is smaller than the session and within the target. If no
    /// attempt succeeds, keeps less than the policy's amount, so that the result fits into the
    /// target.
    pub(super) fn try_in_turn(&mut self, notes: &mut Notes) -> Result<Ended<Candidate>> {
        let (plan, before) = (self.session.plan, self.before.size.tokens);
        // Less than the policy's amount may be kept only if the session is due or above its target.
        let in_need = self.due || !plan.limits.fits(before);
        // Attempts that cannot reach the target even at their minimum sizes are skipped.
        let can_share =
            in_need && plan.summarizes() && !plan.needs_model() && !plan.options.strict_target;
        let is_hopeless = !plan.limits.fits(self.before.system_tokens + LEAST_SUMMARY);
        let first = self.made.len();
        let mut failed_check = false;
        // The smallest of the results that were too large.
        let mut smallest: Option<Candidate> = None;
        let summary = plan.summary();
        let mut read: Option<Read<'_>> = None;
        for kind in self.kinds() {
            if kind == AttemptKind::LessKept && !failed_check {
                continue;
            }
            // A shorter summary does not help if the messages that stay exceed the target on their
            // own.
            let kept = read.as_ref().map(|read| read.kept.tokens);
            let is_above = kept.is_some_and(|kept| !plan.limits.fits(kept));
            if can_share
                && (kind == AttemptKind::Smaller && is_above
                    || kind != AttemptKind::Policy && is_hopeless)
            {
                continue;
            }
            let Some((mut ready, built)) = self.attempt(kind, read.take(), &summary, notes)? else {
                if !in_need {
                    break;
                }
                continue;
            };
            let tokens = built.size.tokens;
            self.made.push(Attempt { what: kind.into(), tokens });
            if built.draft.as_ref().is_some_and(|draft| draft.summary.failed_check) {
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
            // If a model must write the summary, it is not asked again.
            true if plan.needs_model() && smallest.is_some() => None,
            true if plan.summarizes() => self.share(notes)?,
            true => self.keep_fewer(&summary, notes)?,
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
            None if self.made.len() == first && !in_need => Err(Outcome::NothingToDo),
            None if plan.limits.fits(before) || !plan.options.strict_target => Err(Outcome::NoGain),
            Some(_) | None => Err(Outcome::Unreachable),
        })
    }

    /// Returns false if the trigger for large tool results fired and the new content still exceeds
    /// the trigger's limit.
    fn is_clean(&self, candidate: &Candidate) -> Result<bool> {
        let limit = self.session.plan.limits.triggers.tool_bytes;
        let fired = limit.filter(|limit| self.before.size.tool_bytes > *limit);
        let Some(limit) = fired.filter(|_| self.due) else { return Ok(true) };
        let size = candidate.content.size(&self.session.plan.environment.counter)?;
        Ok(size.tool_bytes <= limit)
    }

    /// Returns the kinds of attempts to make, in order.
    fn kinds(&self) -> Vec<AttemptKind> {
        let summary = &self.session.plan.options.policy.summary;
        let fallbacks = summary.fallback.iter().filter_map(|fallback| match fallback {
            Fallback::Smaller => Some(AttemptKind::Smaller),
            Fallback::Prune => Some(AttemptKind::Pruned),
            // Fallbacks that change only who writes the summary do not need attempts of their own.
            Fallback::Rule | Fallback::Extractive | Fallback::Fail => None,
        });
        let less = summary.safeguard.then_some(AttemptKind::LessKept);
        std::iter::once(AttemptKind::Policy).chain(less).chain(fallbacks).collect()
    }
}

#[cfg(test)]
mod tests {
    use ctx_format::Zone;
    use ctx_policy::{Fallback, Method, When};

    use super::super::options::SizeBefore;
    use super::super::reading::Reading;
    use super::super::survey::Survey;
    use super::super::tests::{Setup, Texts, content, plan, session, text, turn};
    use super::{Attempt, AttemptKind, Attempts, Candidate, Ended};
    use crate::{Notes, compact::Outcome};

    /// Makes the attempts that the policy or a budget calls for, and returns the result with the
    /// attempts' names.
    fn attempted(setup: &Setup, session: &str, due: bool) -> (Ended<Candidate>, Vec<&'static str>) {
        let content = content(session);
        let plan = &setup.plan();
        let survey = Survey::of(plan, &content, None, false, None).expect("from a file");
        let before = SizeBefore { size: survey.size, system_tokens: survey.system_tokens };
        let session = Reading { plan, content: &content, survey: &survey, originals: None };
        let mut possible = Attempts { session, before: &before, due, made: Vec::new() };
        let mut notes = Notes::default();
        let ended = match plan.budget() {
            Some(tokens) => possible.budget(tokens, &mut notes),
            None => possible.try_in_turn(&mut notes),
        };
        let ended = ended.expect("no failure");
        if let Ok(candidate) = &ended {
            let measured = candidate.content.size(&plan.environment.counter).expect("from a file");
            assert_eq!(candidate.size.tokens, measured.tokens);
            assert_eq!(candidate.size.messages, measured.messages);
        }
        let tried = possible.made.iter().map(|attempt: &Attempt| attempt.what);
        (ended, tried.collect())
    }

    #[test]
    fn the_first_attempt_that_helps_is_taken() {
        let (ended, tried) = attempted(&plan(2), &session(6, 100), false);
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
        let candidate = attempted(&plan, &session(6, 100), false).0.expect("it is smaller");
        assert!(candidate.leaves() && candidate.summary.is_none());
        assert_eq!(text(&candidate.content).lines().count(), 1 + 8);
    }

    #[test]
    fn less_is_kept_only_in_need() {
        let plan = plan(9);
        let session = session(3, 100);
        let (ended, tried) = attempted(&plan, &session, false);
        assert_eq!(ended.err(), Some(Outcome::NothingToDo));
        assert!(tried.is_empty());
        let (ended, tried) = attempted(&plan, &session, true);
        assert_eq!(tried, ["budget"]);
        let written = text(&ended.expect("it is smaller").content);
        assert!(written.contains("Fixed the file number 3") && !written.contains(&turn(1, 100)));
    }

    #[test]
    fn a_summary_that_is_longer_is_no_gain() {
        let session =
            "{\"role\":\"user\",\"content\":\"Never use the port 8443 for it\"}\n".to_owned();
        let (ended, tried) = attempted(&plan(1), &(session + &turn(1, 2)), false);
        assert_eq!(ended.err(), Some(Outcome::NoGain));
        assert_eq!(tried, ["policy"]);
    }

    #[test]
    fn below_a_target_out_of_reach_the_least_is_written() {
        let mut plan = plan(2);
        plan.policy.target.tokens = Some(20);
        plan.policy.summary.fallback = vec![Fallback::Smaller];
        let (ended, tried) = attempted(&plan, &session(4, 100), false);
        let size = ended.expect("it is smaller").size;
        assert_eq!(tried, ["policy", "budget"]);
        assert!((20..150).contains(&size.tokens), "{}", size.tokens);
        plan.strict_target = true;
        let (ended, _) = attempted(&plan, &session(4, 100), false);
        assert_eq!(ended.err(), Some(Outcome::Unreachable));
    }

    #[test]
    fn what_overflows_below_its_target_becomes_plainly_smaller() {
        let mut plan = plan(9);
        plan.policy.target.tokens = Some(100_000);
        let session = session(6, 100);
        let before = {
            let content = content(&session);
            let survey =
                Survey::of(&plan.plan(), &content, None, false, None).expect("from a file");
            survey.size.tokens
        };
        let (ended, tried) = attempted(&plan, &session, true);
        assert_eq!(tried, ["budget"]);
        let after = ended.expect("it is smaller").size.tokens;
        assert!(after <= before / 2 && after > before / 4, "{after} of {before}");
    }

    #[test]
    fn without_a_summary_fewer_turns_are_kept_where_the_target_needs_it() {
        let mut plan = plan(4);
        plan.policy.summary.method = Method::None;
        plan.policy.target.tokens = Some(400);
        let (ended, tried) = attempted(&plan, &session(6, 100), false);
        let candidate = ended.expect("it is smaller");
        assert_eq!(tried, ["policy", "fewer-kept"]);
        assert!(candidate.summary.is_none() && candidate.size.tokens <= 400);
        assert!(text(&candidate.content).ends_with(&turn(6, 100)));
    }

    #[test]
    fn what_is_kept_is_pruned_in_the_attempt_that_says_so() {
        let mut plan = plan(2);
        plan.policy.target.tokens = Some(450);
        plan.policy.prune.when = When::Fallback;
        plan.policy.prune.max_chars = Some(200);
        plan.policy.prune.protect_last = 0;
        plan.policy.summary.fallback = vec![Fallback::Prune];
        let (ended, tried) = attempted(&plan, &session(4, 200), false);
        assert_eq!(tried, ["policy", "pruned"]);
        let written = text(&ended.expect("it is smaller").content);
        assert_eq!(written.matches("chars truncated").count(), 2);
    }

    #[test]
    fn a_budget_has_one_attempt() {
        let mut plan = plan(2);
        let mut budget = |tokens| {
            plan.budget = Some(tokens);
            attempted(&plan, &session(4, 100), false)
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
        let survey = Survey::of(plan, &content, None, false, None).expect("from a file");
        let before = SizeBefore::default();
        let session = Reading { plan, content: &content, survey: &survey, originals: None };
        let possible = Attempts { session, before: &before, due: false, made: Vec::new() };
        let zones = survey.zones(possible.keep(AttemptKind::Policy)).expect("from memory");
        let mut texts = Texts::default();
        possible.session.read_old(&zones, &mut texts).expect("from a file");
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
        let session = Reading { plan, content, survey, originals: None };
        let possible = Attempts { session, before, due: false, made: Vec::new() };
        let kinds =
            [AttemptKind::Policy, AttemptKind::LessKept, AttemptKind::Pruned, AttemptKind::Smaller];
        assert_eq!(possible.kinds(), kinds);
        let keep = |kind| {
            let keep = possible.keep(kind);
            (keep.messages, keep.turns, keep.tokens)
        };
        assert_eq!(keep(AttemptKind::Policy), (Some(9), Some(5), Some(1_000)));
        assert_eq!(keep(AttemptKind::Pruned), keep(AttemptKind::Policy));
        assert_eq!(keep(AttemptKind::LessKept), (Some(5), Some(3), Some(500)));
    }
}
