//! A compaction: a list of passes over one session, which is read twice.
//!
//! The first reading is a survey: it counts, finds the exchanges, gathers what pruning
//! and a score have to know. Everything is decided from that. The second reading carries
//! the decisions out: records stay, change, or leave for the summary.

mod content;
mod forecast;
mod in_place;
mod ladder;
mod offloading;
mod outcome;
mod plan;
mod pruning;
mod stream;
mod strikes;
mod survey;
#[cfg(test)]
mod tests;

use ctx_ledger::Ledger;
use ctx_ledger::score::Score;
use ctx_memory::Item;
use ctx_policy::When;
use ctx_select::trigger::{Size, Step};
use ctx_store::Survived;

pub use content::Content;
pub use forecast::{Forecast, Leaving, ZoneCount};
pub use in_place::SessionFile;
use ladder::{Candidate, Climbed, Ladder};
use offloading::Offloading;
pub use offloading::Stores;
pub use outcome::{Attempt, Outcome, Report};
use plan::Before;
pub use plan::{MakeWriter, Plan};
use pruning::Rules;
pub use stream::compact_stream;
use survey::{Inquiry, Survey};

use crate::summarize::Summary;
use crate::{Notes, PassError, score};

/// What pruning comes before the rest; made of a plan for one session.
struct First(Option<Rules>);

impl First {
    /// What the plan says of it.
    fn of(plan: &Plan, content: &Content) -> Self {
        Self(Rules::at(plan, When::Before, content))
    }
}

/// One session and what is to become of it.
struct Job<'j> {
    plan: &'j Plan,
    content: &'j Content,
    first: &'j First,
    survey: Survey<'j>,
    before: Before,
    /// What was put into files before anything else is decided.
    offloading: Option<&'j Offloading<'j>>,
    /// How it ends.
    report: Report,
}

/// The new content of a session.
struct Compacted {
    /// Its bytes.
    content: Content,
    /// What was summed up.
    summary: Option<Summary>,
    /// What the part that left holds for the memory, where the policy wants it.
    items: Vec<Item>,
}

/// What the first step came to.
#[derive(Clone, Copy)]
struct FirstStep {
    what: &'static str,
    size: Size,
    prunes: bool,
    /// Whether nothing need be summed up any more.
    is_enough: bool,
}

impl<'j> Job<'j> {
    /// Surveys a session; with its ledger where that is `scored`.
    fn of(
        plan: &'j Plan,
        content: &'j Content,
        first: &'j First,
        name: &str,
        scored: bool,
    ) -> Result<Self, PassError> {
        let rules = first.0.as_ref();
        let inquiry = Inquiry {
            counter: plan.counter,
            pins: &plan.pins,
            prune: rules.and_then(|rules| rules.questions(plan)),
            ledger: scored,
        };
        let survey = Survey::of(content, &inquiry)?;
        let before = Before {
            size: Size {
                overflow: plan.overflow,
                ..survey.size
            },
            system_tokens: survey.system_tokens,
        };
        Ok(Self {
            plan,
            content,
            first,
            report: report(plan, name, &before.size),
            survey,
            before,
            offloading: None,
        })
    }

    /// The size of the session.
    fn size(&self) -> &Size {
        &self.before.size
    }

    /// The ledger of the session as it was, where it was asked for.
    fn take_ledger(&mut self) -> Option<Ledger> {
        self.survey.ledger.take()
    }

    /// How it ends without a change.
    fn end(&mut self, outcome: Outcome) {
        self.report.end(outcome);
    }

    /// Whether anything is to be done, by the triggers.
    fn step(&mut self) -> Step {
        let due = self.plan.triggers.check(&self.before.size);
        self.report.due = due
            .fired()
            .map(|reading| reading.trigger.to_string())
            .collect();
        if let Some(request) = &self.plan.budget {
            if self.before.size.tokens > request.tokens {
                self.report.due.push("budget".to_owned());
                return Step::Compact;
            }
            if !self.plan.only_if_due && !self.plan.force {
                return Step::None;
            }
        }
        if self.plan.only_if_due {
            due.step
        } else {
            Step::Compact
        }
    }

    /// Large results were put into files: what is left is compacted further.
    fn offloaded(&mut self, offloading: Option<&'j Offloading<'j>>) -> Result<(), PassError> {
        self.offloading = offloading;
        let Some((left, _)) = offloading.and_then(|offloading| offloading.left.as_ref()) else {
            return Ok(());
        };
        let inquiry = Inquiry {
            counter: self.plan.counter,
            pins: &self.plan.pins,
            prune: None,
            ledger: false,
        };
        let ledger = self.survey.ledger.take();
        self.content = left;
        self.survey = Survey {
            ledger,
            ..Survey::of(left, &inquiry)?
        };
        Ok(())
    }

    /// What the part that a compaction would take away holds for the memory.
    fn flushed(&self, session: &str) -> Result<Vec<Item>, PassError> {
        let keep = self.plan.keep(plan::Rung::Policy, &self.before);
        let ladder = self.ladder(false);
        ladder.items(&self.survey.zones(keep, false), session)
    }

    /// Makes the new content and tells of it in the report. `session` is its id in the
    /// store, if it has one.
    fn build(
        &mut self,
        session: Option<&str>,
        notes: &mut Notes,
    ) -> Result<Option<Compacted>, PassError> {
        let mut attempts = Vec::new();
        let step = self.first_step(notes);
        if let Some(FirstStep { what, size, .. }) = step {
            let tokens = size.tokens;
            attempts.push(Attempt { what, tokens });
        }
        let prunes = step.is_some_and(|step| step.prunes);
        if let Some(step) = step.filter(|step| step.is_enough) {
            return self.end_first(step, attempts, notes);
        }
        if !self.plan.sums_up_or_drops() {
            self.report.attempts = attempts;
            self.report.end(Outcome::NothingToDo);
            return Ok(None);
        }
        let ladder = self.ladder(prunes);
        let Climbed { result, attempts } = match &self.plan.budget {
            Some(request) => ladder.budget(request, attempts, notes)?,
            None => ladder.climb(attempts, notes)?,
        };
        let candidate = match result {
            Ok(candidate) => candidate,
            Err(outcome) => {
                self.report.attempts = attempts;
                self.report.end(outcome);
                return Ok(None);
            }
        };
        let items = match (&candidate.zones, session) {
            (Some(zones), Some(session))
                if candidate.leaves && self.plan.policy.summary.extract && !self.plan.dry_run =>
            {
                ladder.items(zones, session)?
            }
            _ => Vec::new(),
        };
        self.report.attempts = attempts;
        self.tell(&candidate, prunes, session.is_some());
        Ok(Some(Compacted {
            content: candidate.content,
            summary: candidate.summary,
            items,
        }))
    }

    fn ladder(&self, prunes: bool) -> Ladder<'_, 'j> {
        Ladder {
            plan: self.plan,
            content: self.content,
            survey: &self.survey,
            before: &self.before,
            prunes,
            due: !self.report.due.is_empty(),
            restore: self
                .offloading
                .and_then(|offloading| offloading.restore.as_deref()),
        }
    }

    /// What makes the session smaller without a summary, and is done first.
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
                prunes: false,
                is_enough: plan.only_if_due && (*freed_enough || !plan.is_due(&size)),
            });
        }
        let rules = self.first.0.as_ref()?;
        let left = pruning::decide(plan, self.content, rules, &mut self.survey, notes);
        let size = left.unwrap_or(self.survey.size);
        if size.tokens == self.before.size.tokens && plan.sums_up_or_drops() {
            return None;
        }
        let fits = plan.fits(size.tokens) && !plan.is_due(&size);
        Some(FirstStep {
            what: "pruned-first",
            size,
            prunes: left.is_some(),
            is_enough: !plan.sums_up_or_drops() || (plan.only_if_due && fits),
        })
    }

    /// The first step is all that is to be done.
    fn end_first(
        &mut self,
        step: FirstStep,
        attempts: Vec<Attempt>,
        notes: &mut Notes,
    ) -> Result<Option<Compacted>, PassError> {
        self.report.attempts = attempts;
        let size = step.size;
        if self.plan.budget.is_some() && !self.plan.fits(size.tokens) {
            self.report.end(Outcome::Unreachable);
            return Ok(None);
        }
        if size.tokens >= self.before.size.tokens {
            self.report.end(Outcome::NoGain);
            return Ok(None);
        }
        let content = if step.prunes {
            pruning::carry_out(self.plan, self.content, &self.survey, notes)?
        } else {
            self.content.again()?
        };
        self.tell_size(&size);
        Ok(Some(Compacted {
            content,
            summary: None,
            items: Vec::new(),
        }))
    }

    fn tell_size(&mut self, size: &Size) {
        let report = &mut self.report;
        report.end(Outcome::Compacted);
        report.current_tokens = size.tokens;
        report.freed_tokens = report.previous_tokens - size.tokens;
        report.current_messages = size.messages;
    }

    fn tell(&mut self, candidate: &Candidate, prunes: bool, saved: bool) {
        self.tell_size(&candidate.size);
        let summary = candidate.summary.as_ref();
        if let Some(zones) = &candidate.zones {
            self.report.preserved_count = Some(zones.counts.keep);
            self.report.first_kept_index = zones.counts.first_keep;
            if self.plan.dry_run && candidate.leaves {
                let earlier = summary.map_or(0, |summary| summary.earlier);
                let survey = &self.survey;
                self.report.plan = Some(Forecast::of(survey, zones, prunes, earlier, saved));
            }
        }
        if let Some(summary) = summary {
            self.report.summary = Some(summary.text.clone());
            self.report.summary_mends = (summary.mends > 0).then_some(summary.mends);
        }
    }
}

fn report(plan: &Plan, name: &str, size: &Size) -> Report {
    Report {
        file: name.to_owned(),
        session: None,
        preset: plan.policy.name.clone(),
        outcome: Outcome::NothingToDo,
        success: true,
        dry_run: plan.dry_run,
        due: Vec::new(),
        previous_tokens: size.tokens,
        current_tokens: size.tokens,
        freed_tokens: 0,
        target_tokens: plan.target,
        previous_messages: size.messages,
        current_messages: size.messages,
        preserved_count: None,
        first_kept_index: None,
        summary: None,
        summary_mends: None,
        plan: None,
        attempts: Vec::new(),
        snapshot: None,
        fidelity: None,
        survived: Survived::new(),
        late_bytes: 0,
        deleted_files: None,
        retained: None,
        summary_error: None,
        not_deleted: Vec::new(),
    }
}

/// Scores `new` against the session that it was made of, whose ledger may be known.
fn score(before: &Content, ledger: Option<Ledger>, new: &Content) -> Result<Score, PassError> {
    let ledger = match ledger {
        Some(ledger) => ledger,
        None => score::read_before(&mut before.session()?, None, None)?,
    };
    score::score(&ledger, &mut new.session()?, || before.session())
}
