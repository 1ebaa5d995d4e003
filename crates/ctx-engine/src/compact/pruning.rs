//! Prunes according to the policy: trims long tool results and, if that is not enough, clears old
//! ones.

use crate::message_counter::MessageCounter;
use crate::prune::{
    self, Options, Verdicts, changes_context, record_edits, report_small_gain, report_sums,
};
use ctx_policy::trigger::Size;
use ctx_policy::{Clear, When};

use super::content::{Content, temporary};
use super::options::Plan;
use super::survey::Survey;
use crate::bound_reasoning::BoundReasoning;
use crate::outlet::Outlet;
use crate::output_check::OutputCheck;
use crate::{Notes, Result};

/// A session after pruning.
pub(super) struct Pruned {
    pub(super) content: Content,
    pub(super) size: Size,
}

/// A policy's pruning rules, with and without the rule that clears old results.
pub(super) struct Rules {
    trims: Option<Options>,
    clears: Option<Options>,
}

impl Rules {
    /// Returns the rules that the policy applies at this stage.
    pub(super) fn at(plan: &Plan<'_>, when: When, content: &Content) -> Self {
        let rules = |clears, never| {
            let wanted = plan.options.policy.prune.clear != never && plan.prunes(when);
            let rules = || {
                Options::of_policy(
                    &plan.options.policy,
                    clears,
                    Some(content.dialect),
                    plan.environment.saved,
                )
            };
            wanted.then(rules).filter(Options::has_rules)
        };
        Self { trims: rules(false, Clear::Always), clears: rules(true, Clear::Never) }
    }

    /// Returns what a survey needs in order to gather facts for the rules, or `None` if there are
    /// no rules.
    pub(super) fn questions(&self, plan: &Plan) -> Option<(&Options, MessageCounter)> {
        Some((self.clears.as_ref().or(self.trims.as_ref())?, plan.environment.counter))
    }
}

/// Decides what to prune in a surveyed session, and returns the size after pruning. The verdicts
/// stay in the survey only if they are to be applied.
pub(super) fn decide<'p>(
    plan: &Plan<'_>,
    content: &Content,
    rules: &'p Rules,
    survey: &mut Survey<'p>,
    notes: &mut Notes,
) -> Option<Size> {
    let cache = plan.cache(content.last_change);
    let may = prune::is_cold(cache.as_ref(), survey.last_call).unwrap_or_else(|| {
        notes.warn(
            "nothing was pruned, because the time of the last call is unknown; set it with --last-call TIME",
        );
        false
    });
    let mut verdicts = survey.pruned.take()?;
    let mut judged = None;
    if let Some(trims) = &rules.trims {
        if rules.clears.is_some() {
            verdicts = verdicts.under(trims);
        }
        judged = judge(plan, survey, &verdicts, may, notes);
    }
    let size = judged.unwrap_or(survey.size);
    if let Some(clears) = &rules.clears
        && plan.clears(&size)
    {
        // Clearing starts again from the original results, so that each handle describes the
        // original text.
        verdicts = verdicts.under(clears);
        judged = judge(plan, survey, &verdicts, may, notes);
    }
    survey.pruned = judged.is_some().then_some(verdicts);
    judged
}

/// Returns the size after pruning, or `None` if pruning is not allowed or frees too little.
fn judge(
    plan: &Plan<'_>,
    survey: &Survey<'_>,
    verdicts: &Verdicts<'_>,
    may: bool,
    notes: &mut Notes,
) -> Option<Size> {
    if !may {
        return None;
    }
    let sums = verdicts.sums();
    if !sums.is_empty() {
        report_sums(&sums, notes);
    }
    if sums.total().gain() < plan.options.policy.prune.min_gain.unwrap_or(0) {
        report_small_gain(&sums, notes);
        return None;
    }
    Some(survey.left(verdicts.size()))
}

/// Writes a copy of the session with the verdicts from a survey applied.
pub(super) fn carry_out(
    plan: &Plan<'_>,
    content: &Content,
    survey: &Survey<'_>,
    notes: &mut Notes,
) -> Result<Content> {
    let dialect = content.dialect;
    let mut checks = OutputCheck::new(dialect, false);
    let mut bound = BoundReasoning::new(plan.options.signed_reasoning);
    let file = temporary(|output| {
        let mut outlet = Outlet::new(output, survey.announced, &plan.environment.temp);
        let mut next = 0;
        content.each(|record| {
            let number = next;
            next += 1;
            let outline = record.outline(Some(dialect));
            if let Some(outline) = &outline {
                checks.input(record, outline);
            }
            let verdicts = survey.pruned.as_ref();
            let changes = verdicts.is_some_and(|it| changes_context(it, number));
            if survey.is_dropped(number) {
                bound.skip(changes);
                outlet.skip(record.piece);
                return Ok(());
            }
            let new = verdicts.and_then(|it| record_edits(it, number, record, dialect));
            let new = new.map(|(edits, _)| record.edited(&edits));
            let new = bound.write(record, new, dialect, changes);
            if let Some(outline) = outline.filter(|_| new.as_ref().is_none_or(|it| !it.is_empty()))
            {
                checks.output(record.line, &outline);
            }
            outlet.write(record, new)
        })?;
        outlet.finish(0).map(|_| ())
    })?;
    checks.finish(None, false, notes)?;
    bound.finish(notes)?;
    Ok(content.with(file))
}

/// Prunes the result of an attempt or the messages to send, if the policy prunes at this stage.
/// Returns `None` if nothing is pruned.
pub(super) fn prune(
    plan: &Plan<'_>,
    when: When,
    content: &Content,
    size: &Size,
    notes: &mut Notes,
) -> Result<Option<Pruned>> {
    let rules = Rules::at(plan, when, content);
    let Some(questions) = rules.questions(plan) else { return Ok(None) };
    let mut survey = Survey::of(plan, content, Some(questions), false, None)?;
    survey.size = *size;
    let Some(size) = decide(plan, content, &rules, &mut survey, notes) else { return Ok(None) };
    let content = carry_out(plan, content, &survey, notes)?;
    Ok(Some(Pruned { content, size }))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ctx_policy::duration::FixedSpan;
    use ctx_policy::{Clear, When};

    use super::super::survey::Survey;
    use super::super::tests::{Setup, content, plan, session, text};
    use super::{Rules, carry_out, decide, prune};
    use crate::Notes;

    /// Trims results of more than 400 characters.
    fn trims() -> Setup {
        let mut plan = plan(1);
        plan.policy.prune.max_chars = Some(400);
        plan.policy.prune.protect_last = 0;
        plan
    }

    /// Returns the session after the first pruning, and the notes.
    fn first(setup: &Setup, session: &str) -> (Option<String>, Vec<String>) {
        let plan = &setup.plan();
        let content = content(session);
        let rules = Rules::at(plan, When::Before, &content);
        let survey = Survey::of(plan, &content, rules.questions(plan), false, None);
        let mut survey = survey.expect("from a file");
        let mut notes = Notes::default();
        let left = decide(plan, &content, &rules, &mut survey, &mut notes);
        let written = left.map(|size| {
            let new = carry_out(plan, &content, &survey, &mut notes).expect("legal");
            let measured = Survey::of(plan, &new, None, false, None).expect("from a file");
            assert_eq!(measured.size.tokens, size.tokens);
            text(&new)
        });
        (written, notes.take().into_iter().map(|note| note.text).collect())
    }

    #[test]
    fn a_policy_that_prunes_at_another_time_has_no_rules() {
        let mut plan = trims();
        let session = content(&session(1, 3));
        let has_rules = |setup: &Setup| {
            let plan = setup.plan();
            Rules::at(&plan, When::Before, &session).questions(&plan).is_some()
        };
        assert!(has_rules(&plan));
        plan.policy.prune.when = When::Sent;
        assert!(!has_rules(&plan));
    }

    #[test]
    fn results_are_trimmed_and_every_other_byte_stays() {
        let session = session(2, 200);
        let (new, notes) = first(&trims(), &session);
        let new = new.expect("something is long");
        for (old, new) in session.lines().zip(new.lines()) {
            assert_eq!(old == new, !old.contains("\"tool\""));
        }
        assert!(notes[0].starts_with("trim: 2 changes, "), "{notes:?}");
    }

    #[test]
    fn too_little_gain_changes_nothing() {
        let mut plan = trims();
        plan.policy.prune.min_gain = Some(1_000_000);
        let (new, notes) = first(&plan, &session(2, 200));
        assert_eq!(new, None);
        let last = notes.last().expect("it is told");
        assert!(last.ends_with("fewer than --min-gain: nothing was changed"), "{last}");
    }

    #[test]
    fn old_results_go_only_where_trimming_is_not_enough() {
        let mut plan = trims();
        plan.policy.prune.clear = Clear::IfNeeded;
        let cleared = |plan: &Setup| {
            let new = first(plan, &session(2, 200)).0.expect("something is long");
            new.matches("[Old tool result content cleared]").count()
        };
        assert_eq!(cleared(&plan), 0);
        plan.policy.target.tokens = Some(100);
        assert_eq!(cleared(&plan), 2);
        plan.policy.target.tokens = None;
        plan.policy.prune.clear = Clear::Always;
        assert_eq!(cleared(&plan), 2);
    }

    #[test]
    fn nothing_is_pruned_while_the_cache_may_be_warm() {
        let mut plan = trims();
        plan.policy.prune.cache_ttl = Some(FixedSpan(Duration::from_secs(300)));
        let (new, notes) = first(&plan, &session(2, 200));
        assert_eq!(new, None);
        assert!(notes[0].starts_with("nothing was pruned, because"), "{notes:?}");
        let said = session(2, 200).replace("\"Fixed", "\"x\",\"ts\":-900,\"y\":\"Fixed");
        assert!(first(&plan, &said).0.is_some());
    }

    #[test]
    fn what_was_made_of_a_session_is_pruned_in_the_same_way() {
        let mut plan = trims();
        let session = content(&session(2, 200));
        let size = Survey::of(&plan.plan(), &session, None, false, None).expect("read").size;
        let mut notes = Notes::default();
        let sent = prune(&plan.plan(), When::Sent, &session, &size, &mut notes);
        assert!(sent.expect("no failure").is_none());
        plan.policy.prune.when = When::Sent;
        let sent = prune(&plan.plan(), When::Sent, &session, &size, &mut notes);
        let sent = sent.expect("no failure").expect("pruned");
        assert!(sent.size.tokens < size.tokens);
        plan.policy.prune.when = When::Before;
        let first = first(&plan, &text(&session)).0.expect("pruned");
        assert_eq!(text(&sent.content), first);
    }
}
