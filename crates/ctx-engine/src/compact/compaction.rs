//! Compacts one session, from the survey to the new content.

use ctx_format::{Tally, Zone};
use ctx_llm::Usage;
use ctx_policy::Keep;
use ctx_policy::trigger::{Size, Step};
use ctx_summary::ledger::Ledger;

use super::attempts::{Attempts, Candidate, Ended};
use super::content::Content;
use super::forecast::Forecast;
use super::options::SizeBefore;
use super::reading::Reading;
use super::report::{Attempt, Outcome, PRUNED_FIRST, Report, ratio};
use super::survey::{Flush, MessageReader, Survey};
use super::{Offloaded, Originals, Source, pruning};
use crate::score::{self, MOST_SCORED_BYTES};
use crate::summarize::{Summary, Summing};
use crate::{Notes, PassError, Result};

/// The compaction of one session.
pub struct Compaction<'c> {
    source: &'c Source<'c>,
    /// The session to compact, after large tool results were offloaded from it.
    content: &'c Content,
    survey: Survey<'c>,
    /// The size of the session, and how it was found.
    pub before: SizeBefore,
    /// The large tool results that were offloaded to files before the compaction.
    offloaded: Option<Offloaded<'c>>,
    /// Whether a trigger fired, or the budget is exceeded.
    is_due: bool,
    scores: bool,
    /// The ledger of the original session, if it was built for the score.
    ledger: Option<Ledger>,
    /// The line counts of the file, if it is a plain session whose dialect was detected and whose
    /// bad lines were kept.
    pub tally: Option<Tally>,
    /// The report on the compaction.
    pub report: Report,
}

/// The new content of a session.
pub struct Compacted {
    /// The messages of the new session.
    pub content: Content,
    /// The summary that `content` contains, if there is one.
    pub summary: Option<Summary>,
}

/// A step, offloading or pruning, that made the session smaller before any summary was written.
struct FirstStep {
    what: &'static str,
    size: Size,
    /// Whether this step is enough, so that nothing needs to be summarized.
    is_enough: bool,
}

impl<'c> Compaction<'c> {
    /// Surveys a session. If `may_score` is set, the compaction may score how much of the session
    /// survives. If the session is large enough for its items to be flushed to the memory files,
    /// its messages are passed to `flush`.
    pub fn survey(
        source: &'c Source<'c>,
        name: Option<&str>,
        may_score: bool,
        flush: Option<&mut dyn MessageReader>,
    ) -> Result<Self> {
        let (plan, content) = (&source.plan, &source.content);
        let begun = (plan.environment.now)();
        let scores = may_score
            && match plan.options.score {
                Some(scores) => scores,
                None => content.length()? <= MOST_SCORED_BYTES,
            };
        // If the session may turn out not to be due, the ledger is not built until it is needed.
        let reads_ledger = scores && !plan.options.only_if_due;
        let questions = source.prune_first.questions(plan);
        let flush = flush.filter(|_| plan.limits.triggers.flush_share.is_some());
        let mut flush = flush.map(|reader| Flush::new(reader, plan));
        let mut survey = Survey::of(plan, content, questions, reads_ledger, flush.as_mut())?;
        let usage = plan.limits.usage.as_ref();
        let size = plan.measured(survey.size);
        let policy = &plan.options.policy;
        let report = Report {
            name: name.map(str::to_owned),
            preset: policy.name.clone(),
            known_preset: policy.preset(),
            begun,
            success: true,
            dry_run: plan.options.dry_run,
            strict_target: plan.options.strict_target,
            tokens_before: size.tokens,
            calibrated_tokens: size.calibrated,
            tokens_after: size.tokens,
            ratio: ratio(size.tokens, size.tokens),
            target_tokens: plan.limits.target,
            limit_tokens: usage.and_then(|usage| usage.target),
            window: plan.limits.triggers.with_model(plan.limits.window).window(),
            messages_before: size.messages,
            messages_after: size.messages,
            ..Report::default()
        };
        let mut compaction = Self {
            source,
            content,
            before: SizeBefore { size, system_tokens: survey.system_tokens },
            ledger: survey.ledger.take(),
            tally: source.reads_lines().then(|| std::mem::take(&mut survey.tally)),
            survey,
            offloaded: None,
            is_due: false,
            scores,
            report,
        };
        if let Some(reader) = flush.and_then(Flush::missed)
            && compaction.missed_flush()
        {
            compaction.read_all(reader)?;
        }
        Ok(compaction)
    }

    /// Returns true if the session is large enough for its items to be flushed to the memory files.
    pub fn missed_flush(&self) -> bool {
        let limits = &self.source.plan.limits;
        limits.triggers.flush_share.is_some() && limits.is_due(&self.before.size)
    }

    /// Returns the step that is due, and records the triggers in the report. Fails if a session
    /// that has to be compacted contains messages that are not understood.
    pub fn step(&mut self) -> Result<Step> {
        let step = self.due_step();
        if step == Step::Compact && self.source.plan.options.policy.enabled {
            self.content.unread.refuse("compacted")?;
            self.survey.unread.refuse("compacted")?;
        }
        Ok(step)
    }

    fn due_step(&mut self) -> Step {
        let plan = &self.source.plan;
        let options = plan.options;
        let due = plan.limits.triggers.check(&self.before.size);
        self.report.triggers = due.fired().map(|reading| reading.trigger.into()).collect();
        let over_budget = options.budget.is_some() && self.is_over_target();
        if over_budget {
            self.report.triggers.push("budget");
        }
        self.is_due = !self.report.triggers.is_empty();
        let step = match due.step {
            _ if over_budget => Step::Compact,
            step if options.only_if_due => step,
            _ if options.budget.is_none() || options.force => Step::Compact,
            _ => Step::None,
        };
        if step == Step::Compact && !self.is_due {
            self.report.triggers.push("manual");
        }
        if step == Step::None {
            self.report.target_tokens = options.budget.or(self.report.target_tokens);
        }
        self.report.measure(Usage::default(), (plan.environment.now)());
        self.report.due = options.budget.is_none().then_some(due);
        step
    }

    /// Returns true if the session is above its target. Uses the API's recorded count if there is
    /// one, because the target for our own count includes a margin.
    fn is_over_target(&self) -> bool {
        let limits = &self.source.plan.limits;
        match &limits.usage {
            Some(usage) => usage.target.is_some_and(|target| usage.tokens > target),
            // A session within its budget is left alone, although a result would be smaller.
            None => match self.source.plan.options.budget {
                Some(budget) => self.before.size.tokens > budget,
                None => !limits.fits(self.before.size.tokens),
            },
        }
    }

    /// Continues the compaction after tool results were offloaded from the session.
    pub fn offloaded(&mut self, offloaded: Option<Offloaded<'c>>) -> Result<()> {
        self.offloaded = offloaded;
        if let Some((left, _)) = offloaded.and_then(|offloaded| offloaded.left) {
            self.content = left;
            let mut survey = Survey::of(&self.source.plan, left, None, false, None)?;
            survey.size = self.survey.left(survey.size);
            self.survey = survey;
        }
        Ok(())
    }

    /// Passes all messages to `reader`, except system messages and earlier summaries.
    pub fn read_all(&mut self, reader: &mut dyn MessageReader) -> Result<()> {
        let mut zones = self.survey.zones(Keep::default())?;
        for zone in &mut zones.of {
            if *zone == Zone::Keep {
                *zone = Zone::Old;
            }
        }
        let pruned = self.survey.pruned.take();
        let read = self.reading().read_old(&zones, reader);
        self.survey.pruned = pruned;
        read
    }

    /// Builds the new content, and describes it in the report. `has_store` is true if a snapshot of
    /// the old session will be saved. If the policy extracts items, the messages that are removed
    /// from the session are passed to `memory`.
    pub fn build(
        &mut self,
        has_store: bool,
        memory: Option<&mut dyn MessageReader>,
        notes: &mut Notes,
    ) -> Result<Option<Compacted>> {
        let ended = self.compacted(has_store, memory, notes)?;
        if let Err(outcome) = &ended {
            self.report.end(*outcome);
        }
        self.report_unreadable(notes);
        self.report.measure(notes.usage, (self.source.plan.environment.now)());
        let compacted = ended.ok();
        if let (true, Some(compacted)) = (self.scores, &compacted) {
            notes.watch.stage("scoring the new session");
            self.score(&compacted.content);
        }
        Ok(compacted)
    }

    fn compacted(
        &mut self,
        has_store: bool,
        memory: Option<&mut dyn MessageReader>,
        notes: &mut Notes,
    ) -> Result<Ended<Compacted>> {
        let plan = &self.source.plan;
        if let Some(step) = self.first_step(notes) {
            let (what, tokens) = (step.what, step.size.tokens);
            self.report.attempts.push(Attempt { what, tokens });
            if step.is_enough {
                return self.end_first(&step.size, notes);
            }
        }
        if !plan.drops_old() {
            return Ok(Err(Outcome::NothingToDo));
        }
        let made = std::mem::take(&mut self.report.attempts);
        let session = self.reading();
        let mut possible = Attempts { session, before: &self.before, due: self.is_due, made };
        let candidate = match plan.budget() {
            Some(tokens) => possible.budget_in_file(tokens, self.source, notes),
            None => possible.try_in_turn(notes),
        };
        self.report.attempts = possible.made;
        let candidate = match candidate {
            Err(error) if error.kind.is_of_the_model() => return self.without_summary(error),
            candidate => candidate?,
        };
        let candidate = match candidate {
            Ok(candidate) => candidate,
            Err(outcome) => return Ok(Err(outcome)),
        };
        let extracts =
            plan.options.policy.summary.extract && candidate.leaves() && !plan.options.dry_run;
        if let Some(memory) = memory
            && extracts
        {
            self.reading().read_old(&candidate.zones, memory)?;
        }
        self.describe(&candidate, has_store)?;
        Ok(Ok(Compacted { content: candidate.content, summary: candidate.summary }))
    }

    /// Scores how much of the session survives in `new`. If scoring fails, the compaction continues
    /// without a score.
    fn score(&mut self, new: &Content) {
        if !new.length().is_ok_and(|bytes| bytes <= MOST_SCORED_BYTES) {
            return;
        }
        let before = &self.source.content;
        let ledger = match self.ledger.take() {
            Some(ledger) => Ok(ledger),
            None => before
                .session()
                .and_then(|mut session| score::read_before(&mut session, None, None)),
        };
        let score = ledger
            .and_then(|ledger| score::score(&ledger, &mut new.session()?, || before.session()));
        if let Ok(score) = score {
            self.report.scored(&score);
        }
    }

    fn originals(&self) -> Option<&'c dyn Originals> {
        self.offloaded.and_then(|it| it.originals)
    }

    fn reading(&self) -> Reading<'_> {
        Reading {
            plan: &self.source.plan,
            content: self.content,
            survey: &self.survey,
            originals: self.originals(),
        }
    }

    fn first_step(&mut self, notes: &mut Notes) -> Option<FirstStep> {
        let (plan, rules) = (&self.source.plan, &self.source.prune_first);
        let only_if_due = plan.options.only_if_due;
        let left = self.offloaded.and_then(|offloaded| offloaded.left);
        if let Some((_, freed_enough)) = left {
            let size = self.survey.size;
            return Some(FirstStep {
                what: "offloaded",
                size,
                is_enough: only_if_due && (freed_enough || !plan.limits.is_due(&size)),
            });
        }
        rules.questions(plan)?;
        let left = pruning::decide(plan, self.content, rules, &mut self.survey, notes);
        let size = left.unwrap_or(self.survey.size);
        if size.tokens == self.before.size.tokens && plan.drops_old() {
            self.survey.pruned = None;
            return None;
        }
        let fits = plan.limits.fits(size.tokens) && !plan.limits.is_due(&size);
        Some(FirstStep {
            what: PRUNED_FIRST,
            size,
            is_enough: !plan.drops_old() || (only_if_due && fits),
        })
    }

    /// Ends the compaction after its first step.
    fn end_first(&mut self, size: &Size, notes: &mut Notes) -> Result<Ended<Compacted>> {
        let plan = &self.source.plan;
        if plan.options.budget.is_some() && !plan.limits.fits(size.tokens) {
            return Ok(Err(Outcome::Unreachable));
        }
        if size.tokens >= self.before.size.tokens {
            return Ok(Err(Outcome::NoGain));
        }
        let content = if self.survey.pruned.is_some() {
            pruning::carry_out(plan, self.content, &self.survey, notes)?
        } else {
            self.content.with(self.content.file()?)
        };
        self.report.end_at(Outcome::Compacted, size);
        Ok(Ok(Compacted { content, summary: None }))
    }

    /// Ends the compaction if no model returned a summary. Results that have already been offloaded
    /// stay in their files.
    fn without_summary(&mut self, error: PassError) -> Result<Ended<Compacted>> {
        self.report.no_summary = Some(error);
        let size = self.survey.size;
        match self.offloaded.and_then(|it| it.left) {
            Some((left, _)) if size.tokens < self.before.size.tokens => {
                self.report.end_at(Outcome::SummaryFailed, &size);
                Ok(Ok(Compacted { content: left.with(left.file()?), summary: None }))
            }
            _ => Ok(Err(Outcome::SummaryFailed)),
        }
    }

    /// Reports the files of offloaded results that should have been summarized but could not be
    /// read.
    fn report_unreadable(&mut self, notes: &mut Notes) {
        if !self.report.outcome.is_compacted() {
            return;
        }
        let unreadable = self.originals().map(Originals::unreadable);
        for ((line, path), why) in unreadable.into_iter().flatten() {
            // In a preview, the files for newly offloaded results are not written, so they cannot
            // be read.
            let is_ours = self.offloaded.is_some_and(|it| it.paths.contains(&path));
            if self.source.plan.options.dry_run && is_ours {
                continue;
            }
            notes.warn_at(line, format_args!("summarized without this tool result: {why}"));
            self.report.unreadable.push(path);
        }
    }

    fn describe(&mut self, candidate: &Candidate, has_store: bool) -> Result<()> {
        let Candidate { zones, summary, size, cuts, .. } = candidate;
        let plan = &self.source.plan;
        let report = &mut self.report;
        let fits = plan.limits.fits(size.tokens);
        report.end_at(if fits { Outcome::Compacted } else { Outcome::OverTarget }, size);
        report.kept_records = Some(zones.counts.keep);
        report.first_kept_index = zones.counts.first_keep;
        if plan.options.dry_run && candidate.leaves() {
            let earlier = summary.as_ref().map_or(0, |summary| summary.earlier);
            let pruned = report.attempts.iter().find(|it| it.what == PRUNED_FIRST);
            let tokens = pruned.map_or(report.tokens_before, |pruned| pruned.tokens);
            let messages = self.content.messages.as_deref();
            let mut forecast =
                Forecast::of(&self.survey, zones, earlier, has_store, tokens, messages)?;
            forecast.shortens = *cuts;
            forecast.remains(size.tokens, candidate.content.summary_tokens(plan)?);
            report.plan = Some(forecast);
        }
        if let Some(summary) = summary {
            let policy = &plan.options.policy.summary;
            // A preview asks no model, so its method is not reported as a fallback.
            let wanted = if plan.options.dry_run { summary.method } else { policy.method };
            report.summing = Summing::new(wanted, Some(summary), Usage::default());
            report.summary = policy.in_report.then(|| summary.text.clone());
            report.summary_tokens = Some(plan.environment.counter.text(&summary.text));
            report.rules_found = (summary.rules.found > 0).then_some(summary.rules.found);
            report.rules_kept = report.rules_found.map(|_| summary.rules.kept);
            report.summary_repairs = (summary.repairs > 0).then_some(summary.repairs);
        }
        Ok(())
    }
}
