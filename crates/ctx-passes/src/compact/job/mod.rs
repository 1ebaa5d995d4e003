//! The compaction of one session, from its survey to its new content.

#[cfg(test)]
pub(super) mod tests;

use ctx_ledger::Ledger;
use ctx_llm::Usage;
use ctx_memory::Item;
use ctx_select::split::Keep;
use ctx_select::trigger::{Size, Step};
use ctx_transcript::Zone;

use super::content::Content;
use super::forecast::Forecast;
use super::ladder::{Candidate, Ended, Ladder};
use super::offloading::{Offloading, Originals};
use super::outcome::{Attempt, Outcome, PRUNED_FIRST, Report, ratio};
use super::plan::{Before, Plan};
use super::pruning::{self, Rules};
use super::survey::Survey;
use crate::summarize::{Summary, summing};
use crate::{Notes, PassError};

/// The compaction of one session.
pub(super) struct Job<'j> {
    plan: &'j Plan,
    content: &'j Content,
    first: &'j Rules,
    survey: Survey<'j>,
    before: Before,
    /// The large results that were put into files first.
    offloading: Option<&'j Offloading<'j>>,
    /// Whether anything but a person says that it is to be smaller.
    is_due: bool,
    /// How it ends.
    pub(super) report: Report,
}

/// The new content of a session.
pub(super) struct Compacted {
    /// Its bytes.
    pub(super) content: Content,
    /// What was summarized.
    pub(super) summary: Option<Summary>,
    /// What is in the old part that belongs into the memory, if the policy asks for it.
    pub(super) items: Vec<Item>,
}

/// What makes a session smaller without a summary, and is done first.
struct FirstStep {
    what: &'static str,
    size: Size,
    /// Whether this is enough, so that nothing has to be summarized.
    is_enough: bool,
}

impl<'j> Job<'j> {
    /// Surveys a session; with its ledger where that is `scored`. `first` is what is
    /// pruned before all else.
    pub(super) fn of(
        plan: &'j Plan,
        content: &'j Content,
        first: &'j Rules,
        name: Option<&str>,
        scored: bool,
    ) -> Result<Self, PassError> {
        let begun = (plan.now)();
        let survey = Survey::of(plan, content, first.questions(plan), scored)?;
        let size = Size {
            overflow: plan.overflow,
            calibrated: plan.calibrated,
            window: plan.window,
            ..survey.size
        };
        let report = Report {
            name: name.map(str::to_owned),
            preset: plan.policy.name.clone(),
            known_preset: plan.policy.preset(),
            begun,
            success: true,
            dry_run: plan.dry_run,
            tokens_before: size.tokens,
            calibrated_tokens: plan.calibrated,
            tokens_after: size.tokens,
            ratio: ratio(size.tokens, size.tokens),
            target_tokens: plan.target,
            limit_tokens: plan.limit,
            messages_before: size.messages,
            messages_after: size.messages,
            ..Report::default()
        };
        let before = Before {
            size,
            system_tokens: survey.system_tokens,
        };
        Ok(Self {
            plan,
            content,
            first,
            survey,
            before,
            offloading: None,
            is_due: false,
            report,
        })
    }

    /// The size of the session.
    pub(super) fn size(&self) -> &Size {
        &self.before.size
    }

    /// The ledger of the session as it came, if it was asked for.
    pub(super) fn take_ledger(&mut self) -> Option<Ledger> {
        self.survey.ledger.take()
    }

    /// What is to be done, and why. What would be compacted has to be understood.
    pub(super) fn step(&mut self) -> Result<Step, PassError> {
        let step = self.due_step();
        if step == Step::Compact && self.plan.policy.enabled {
            self.content.unread.refuse("compacted")?;
            self.survey.unread.refuse("compacted")?;
        }
        Ok(step)
    }

    fn due_step(&mut self) -> Step {
        let due = self.plan.triggers.check(&self.before.size);
        let fired = due.fired().map(|reading| reading.trigger.as_str());
        self.report.triggers = fired.collect();
        let over_budget = self.budget_is_exceeded();
        if over_budget {
            self.report.triggers.push("budget");
        }
        self.is_due = !self.report.triggers.is_empty();
        let asked = self.plan.budget.is_none() || self.plan.force;
        let step = match due.step {
            _ if over_budget => Step::Compact,
            step if self.plan.only_if_due => step,
            _ if asked => Step::Compact,
            _ => Step::None,
        };
        if step == Step::Compact && !self.is_due {
            self.report.triggers.push("manual");
        }
        self.report.measure(Usage::default(), (self.plan.now)());
        step
    }

    /// As the API counts, where that is recorded: what a compaction may leave is less than what
    /// may stand.
    fn budget_is_exceeded(&self) -> bool {
        let plan = self.plan;
        let Some(request) = &plan.budget else {
            return false;
        };
        match (plan.calibrated, plan.limit) {
            (Some(tokens), Some(limit)) => tokens > limit,
            _ => self.before.size.tokens > request.tokens,
        }
    }

    /// Large results were put into files: what is left is compacted further.
    pub(super) fn offloaded(
        &mut self,
        offloading: Option<&'j Offloading<'j>>,
    ) -> Result<(), PassError> {
        self.offloading = offloading;
        let Some((left, _)) = offloading.and_then(|offloading| offloading.left.as_ref()) else {
            return Ok(());
        };
        self.content = left;
        self.survey = Survey::of(self.plan, left, None, false)?;
        Ok(())
    }

    /// What is in all of the session that belongs into the memory: decisions stand in its recent
    /// part, too.
    pub(super) fn flushed(&mut self, session: &str) -> Result<Vec<Item>, PassError> {
        let mut zones = self.survey.zones(Keep::default())?;
        for zone in &mut zones.of {
            if *zone == Zone::Keep {
                *zone = Zone::Old;
            }
        }
        let pruned = self.survey.pruned.take();
        let items = self.ladder().items(&zones, session);
        self.survey.pruned = pruned;
        items
    }

    /// Makes the new content and describes it in the report. `session` is its id in the
    /// store, if it has one.
    pub(super) fn build(
        &mut self,
        session: Option<&str>,
        notes: &mut Notes,
    ) -> Result<Option<Compacted>, PassError> {
        let mut attempts = Vec::new();
        let ended = self.compacted(session, &mut attempts, notes)?;
        self.report.attempts = attempts;
        if let Err(outcome) = &ended {
            self.report.end(*outcome);
        }
        self.tell_unreadable(notes);
        self.report.measure(notes.usage(), (self.plan.now)());
        Ok(ended.ok())
    }

    fn compacted(
        &mut self,
        session: Option<&str>,
        attempts: &mut Vec<Attempt>,
        notes: &mut Notes,
    ) -> Result<Ended<Compacted>, PassError> {
        let plan = self.plan;
        if let Some(step) = self.first_step(notes) {
            let (what, tokens) = (step.what, step.size.tokens);
            attempts.push(Attempt { what, tokens });
            if step.is_enough {
                return self.end_first(&step.size, notes);
            }
        }
        if !plan.sums_up_or_drops() {
            return Ok(Err(Outcome::NothingToDo));
        }
        let ladder = self.ladder();
        let candidate = match &plan.budget {
            Some(request) => ladder.budget(request, attempts, notes),
            None => ladder.climb(attempts, notes),
        };
        let candidate = match candidate {
            Err(error) if error.kind.is_of_the_model() => return self.without_summary(error),
            candidate => candidate?,
        };
        let candidate = match candidate {
            Ok(candidate) => candidate,
            Err(outcome) => return Ok(Err(outcome)),
        };
        let extracts = plan.policy.summary.extract && candidate.leaves() && !plan.dry_run;
        let items = match session.filter(|_| extracts) {
            Some(session) => ladder.items(&candidate.zones, session)?,
            None => Vec::new(),
        };
        self.tell(&candidate, session.is_some())?;
        Ok(Ok(Compacted {
            content: candidate.content,
            summary: candidate.summary,
            items,
        }))
    }

    fn originals(&self) -> Option<&'j Originals<'j>> {
        self.offloading.and_then(|it| it.originals.as_ref())
    }

    fn ladder(&self) -> Ladder<'_, 'j> {
        Ladder {
            plan: self.plan,
            content: self.content,
            survey: &self.survey,
            before: &self.before,
            due: self.is_due,
            originals: self.originals(),
        }
    }

    fn first_step(&mut self, notes: &mut Notes) -> Option<FirstStep> {
        let plan = self.plan;
        let left = self
            .offloading
            .and_then(|offloading| offloading.left.as_ref());
        if let Some((_, freed_enough)) = left {
            let size = self.survey.size;
            return Some(FirstStep {
                what: "offloaded",
                size,
                is_enough: plan.only_if_due && (*freed_enough || !plan.is_due(&size)),
            });
        }
        self.first.questions(plan)?;
        let left = pruning::decide(plan, self.content, self.first, &mut self.survey, notes);
        let size = left.unwrap_or(self.survey.size);
        if size.tokens == self.before.size.tokens && plan.sums_up_or_drops() {
            self.survey.pruned = None;
            return None;
        }
        let fits = plan.fits(size.tokens) && !plan.is_due(&size);
        Some(FirstStep {
            what: PRUNED_FIRST,
            size,
            is_enough: !plan.sums_up_or_drops() || (plan.only_if_due && fits),
        })
    }

    /// The first step is all that is to be done.
    fn end_first(&mut self, size: &Size, notes: &mut Notes) -> Result<Ended<Compacted>, PassError> {
        let plan = self.plan;
        if plan.budget.is_some() && !plan.fits(size.tokens) {
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
        Ok(Ok(Compacted {
            content,
            summary: None,
            items: Vec::new(),
        }))
    }

    /// No model gave a summary: what was put into files stays there.
    fn without_summary(&mut self, error: PassError) -> Result<Ended<Compacted>, PassError> {
        self.report.no_summary = Some(error);
        let left = self.offloading.and_then(|it| it.left.as_ref());
        let size = self.survey.size;
        let Some((content, _)) = left.filter(|_| size.tokens < self.before.size.tokens) else {
            return Ok(Err(Outcome::SummaryFailed));
        };
        self.report.end_at(Outcome::SummaryFailed, &size);
        Ok(Ok(Compacted {
            content: content.with(content.file()?),
            summary: None,
            items: Vec::new(),
        }))
    }

    /// Which results the summary was made without. Their files stay, and so do their
    /// references, in the snapshot.
    fn tell_unreadable(&mut self, notes: &mut Notes) {
        if !self.report.outcome.is_compacted() {
            return;
        }
        let unreadable = self.originals().map(Originals::unreadable);
        for ((line, path), why) in unreadable.into_iter().flatten() {
            // A preview has not written the files that it would make.
            let ours = self.offloading.is_some_and(|it| it.paths.contains(&path));
            if self.plan.dry_run && ours {
                continue;
            }
            notes.warn(
                &[line],
                format_args!("summarized without the result: {why}"),
            );
            self.report.unreadable.push(path);
        }
    }

    fn tell(&mut self, candidate: &Candidate, saved: bool) -> Result<(), PassError> {
        let Candidate { zones, summary, .. } = candidate;
        let report = &mut self.report;
        let outcome = if self.plan.fits(candidate.size.tokens) {
            Outcome::Compacted
        } else {
            Outcome::OverTarget
        };
        report.end_at(outcome, &candidate.size);
        let behind = self.plan.behind.as_ref();
        let left = behind.and_then(|behind| behind.estimate(candidate.size.tokens));
        report.calibrated_after = left.map(|left| left.tokens);
        report.kept_records = Some(zones.counts.keep);
        report.first_kept_index = zones.counts.first_keep;
        if self.plan.dry_run && candidate.leaves() {
            let earlier = summary.as_ref().map_or(0, |summary| summary.earlier);
            let forecast = Forecast::of(&self.survey, zones, earlier, saved)?;
            report.plan = Some(forecast);
        }
        if let Some(summary) = summary {
            let policy = &self.plan.policy.summary;
            // A preview asks no model.
            let asked = Some(policy.method).filter(|_| !self.plan.dry_run);
            let asked = asked.unwrap_or(summary.method);
            report.summing = summing(asked, Some(summary), Usage::default());
            report.summary = policy.in_report.then(|| summary.text.clone());
            report.summary_tokens = Some(self.plan.counter.text(&summary.text));
            report.summary_repairs = (summary.repairs > 0).then_some(summary.repairs);
        }
        Ok(())
    }
}
