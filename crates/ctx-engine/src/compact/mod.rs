//! Compacts a session: replaces old messages with a summary, and keeps the latest messages.
//!
//! A survey first reads the session and gathers the facts on which all decisions are based. The
//! attempts then read the session again, and each applies its own decisions. If the result of an
//! attempt is not small enough, the next attempt cuts more.

mod attempts;
mod batch;
mod compaction;
mod content;
mod entries;
mod fallbacks;
mod forecast;
mod log;
mod options;
mod pruning;
mod reading;
mod report;
mod survey;
#[cfg(test)]
mod tests;
mod within_budget;

use std::collections::BTreeMap;

use ctx_format::{InvalidReasoning, Record};
use ctx_policy::When;
use ctx_policy::trigger::{Size, Step};
use options::Plan;
use pruning::{Rules, prune};

use crate::message_counter::PRIMING;
use crate::{Invalid, Level, Notes, Result};

pub use batch::{BatchLine, BatchPass, TakeLine};
pub use compaction::{Compacted, Compaction};
pub use content::{Content, temporary};
pub use forecast::{Forecast, Leaving, ZoneCount};
pub use options::{Environment, MakeWriter, Options};
pub use report::{Attempt, Attention, Outcome, PRUNED_FIRST, Report, Survivors};
pub use survey::MessageReader;

/// A session whose large tool results have been offloaded to files.
#[derive(Clone, Copy)]
pub struct Offloaded<'a> {
    /// The session after offloading, and whether it is now small enough. `None` if no result was
    /// large enough to offload.
    pub left: Option<(&'a Content, bool)>,
    /// Restores offloaded results, including those from earlier runs, before they are summarized;
    /// `None` unless the policy sets `offload.restore_before_summary`.
    pub originals: Option<&'a dyn Originals>,
    /// The paths of the files to which results were offloaded.
    pub paths: &'a [String],
}

/// Restores offloaded results.
pub trait Originals {
    /// Called whenever the session is about to be read from its beginning.
    fn begin(&self);

    /// Returns a record with its offloaded results restored, or `None` if the record has none.
    fn of(&self, record: &Record<'_>) -> Result<Option<Vec<u8>>>;

    /// Returns the reasons why files could not be read, keyed by the result's line and the file's
    /// path.
    fn unreadable(&self) -> BTreeMap<(u64, String), String>;
}

/// A session that has been opened for a compaction, with its limits.
pub struct Source<'a> {
    plan: Plan<'a>,
    /// The session to compact. For a log, this is its context as a plain session.
    pub content: Content,
    /// The log from which `content` was lowered, or `None` for a plain session.
    log: Option<Content>,
    /// The pruning rules to apply before anything is summarized.
    prune_first: Rules,
}

/// The change that a compaction makes to a session's file.
pub enum NewFile {
    /// Lines to append to the file. If the run is killed, a part of them may be there.
    Appended(Vec<u8>),
    /// The new content of the file.
    Whole(Content),
}

impl<'a> Source<'a> {
    /// Opens a session for compaction. If the session is a log, its context is first written to a
    /// temporary file.
    pub fn open(
        options: &'a Options,
        environment: &'a Environment,
        mut content: Content,
        notes: &mut Notes,
    ) -> Result<Self> {
        content.model = environment.model_name.clone().or(content.model);
        let mut plan = Plan::new(options, environment);
        plan.limits.model.clone_from(&content.model);
        let (content, log) = if content.dialect.is_linked() {
            let (temp, counter) = (&environment.temp, environment.counter);
            // Only then is the API's count needed to apply the limits.
            let has_limit = options.only_if_due || plan.limits.target.is_some();
            let calibrates = has_limit && !options.ignore_usage;
            let (lowered, calibration) = log::lower(&content, temp, counter, calibrates, notes)?;
            if let Some(calibration) = &calibration {
                plan.limits = plan.limits.calibrated(calibration, options, notes);
            }
            (lowered, Some(content))
        } else {
            (content, None)
        };
        let prune_first = Rules::at(&plan, When::Before, &content);
        Ok(Self { plan, content, log, prune_first })
    }

    /// Returns true if the file is read in the default way: line by line, in the detected dialect,
    /// and with bad lines kept.
    fn reads_lines(&self) -> bool {
        let Content { dialect, is_detected, is_document, invalid, .. } = self.content;
        let is_own = self.log.is_none() && is_detected && dialect.is_certain();
        is_own && !is_document && invalid == Invalid::Keep
    }

    /// Returns the target of the compaction, in tokens as we count them.
    pub fn target(&self) -> Option<u64> {
        self.plan.limits.target
    }

    /// Returns the change to the session's file when the session is compacted to `new`, or `None` if
    /// the change would free too little. Corrects the size in the report to that of the session as
    /// it will be read again.
    pub fn new_file(
        &self,
        new: Content,
        report: &mut Report,
        notes: &mut Notes,
    ) -> Result<Option<NewFile>> {
        let Some(log) = &self.log else {
            self.count_again(&new, report)?;
            return Ok(self.frees_enough(report).then_some(NewFile::Whole(new)));
        };
        let file = log::write((log, &self.content), new, &self.plan, report, notes)?;
        let usage = self.plan.limits.usage.as_ref();
        let messages = report.tokens_after.saturating_sub(PRIMING);
        let left = usage.and_then(|it| it.after.estimate(messages));
        report.calibrated_after = left.map(|left| left.tokens);
        let is_enough = self.frees_enough(report);
        if is_enough
            && log.is_document
            && let Some(import) = log.dialect.format().import
        {
            notes.add(Level::Advice, &[], import.added);
        }
        Ok(is_enough.then_some(file))
    }

    /// Returns by how many tokens the session's file would exceed a strict target. The agent's
    /// format may need more tokens than the plain session `new`, because each result is a message
    /// there.
    fn over_target(&self, new: &Content, before: &Size, after: &Size) -> Result<u64> {
        let Some(log) = self.log.as_ref().filter(|_| self.plan.options.strict_target) else {
            return Ok(0);
        };
        let (tokens_before, tokens_after) = (before.tokens, after.tokens);
        let mut report = Report { tokens_before, tokens_after, ..Report::default() };
        log::write_once((log, &self.content), new, &self.plan, &mut report)?;
        Ok(report.tokens_after.saturating_sub(self.plan.limits.target.unwrap_or(u64::MAX)))
    }

    /// Returns true if a compacted session is smaller and, if the session was neither due nor above
    /// its target, smaller by the policy's minimum. Otherwise, ends the report without a gain.
    fn frees_enough(&self, report: &mut Report) -> bool {
        let before = report.tokens_before;
        let min_gain = self.plan.options.policy.target.min_gain;
        let is_in_need = report.triggers != ["manual"] || !self.plan.limits.fits(before);
        let least = min_gain.filter(|_| !is_in_need).map_or(1, |share| share.of(before).max(1));
        // What agents send along with a summary may be more than what a small compaction frees.
        let sizes = report.calibrated_tokens.zip(report.calibrated_after);
        let grows = sizes.is_some_and(|(before, after)| after >= before);
        let is_enough = !report.outcome.is_compacted() || report.freed_tokens >= least && !grows;
        if report.strict_target && is_enough && !self.plan.limits.fits(report.tokens_after) {
            report.give_up(Outcome::Unreachable);
            return false;
        }
        let after = report.calibrated_after.unwrap_or(report.tokens_after);
        if !is_enough {
            report.give_up(Outcome::NoGain);
        } else if report.outcome == Outcome::Compacted && after > report.window {
            report.end(Outcome::OverTarget);
        }
        is_enough
    }

    /// Corrects the size in the report if signed reasoning may have been removed from `new`.
    fn count_again(&self, new: &Content, report: &mut Report) -> Result<()> {
        if self.content.dialect.invalid_reasoning() != InvalidReasoning::Rejected {
            return Ok(());
        }
        report.resize(&new.size(&self.plan.environment.counter)?);
        Ok(())
    }

    /// Returns the session's JSON document with the new content, or `None` if the session is not a
    /// document, or if the new content is already the document.
    pub fn as_document(&self, new: &Content) -> Result<Option<Content>> {
        let original = self.log.as_ref().unwrap_or(&self.content);
        if !original.is_document || new.is_document {
            return Ok(None);
        }
        original.document_with(new).map(Some)
    }

    /// Returns the unchanged session.
    fn into_original(self) -> Content {
        self.log.unwrap_or(self.content)
    }
}

/// Returns the compacted session. If nothing needs to be done or no attempt makes the session
/// smaller, returns the session unchanged.
pub fn compact_stream(
    options: &Options,
    environment: &Environment,
    mut content: Content,
    notes: &mut Notes,
) -> Result<(Report, Content)> {
    notes.watch.stage("compacting");
    content.watch = notes.watch.clone();
    let source = Source::open(options, environment, content, notes)?;
    let (mut report, new) = compact(&source, notes)?;
    if let Some(log) = &source.log {
        settle(options, &mut report);
        let file = new.map(|new| source.new_file(new, &mut report, notes)).transpose()?.flatten();
        let new = match file {
            None => source.into_original(),
            Some(NewFile::Appended(lines)) => log::with_lines(log, &lines)?,
            Some(NewFile::Whole(content)) => content,
        };
        return Ok((report, new));
    }
    let new = match new {
        Some(new) => {
            source.count_again(&new, &mut report)?;
            source.frees_enough(&mut report).then_some(new)
        }
        None => None,
    };
    let unpruned = new.as_ref().unwrap_or(&source.content);
    let pruned = prune_sent(&source.plan, unpruned, &mut report, notes)?;
    settle(options, &mut report);
    let Some(new) = pruned.or(new) else { return Ok((report, source.into_original())) };
    if source.content.is_document {
        source.content.session()?.tell_of_document(notes);
    }
    Ok((report, new))
}

/// If only due sessions are compacted, marks the report as not needing attention, unless a model
/// failed. Otherwise, a periodic job would report the same session every time, because failed
/// attempts on streams are not remembered.
fn settle(options: &Options, report: &mut Report) {
    if options.only_if_due && report.outcome != Outcome::SummaryFailed {
        report.attention = Attention::None;
    }
}

fn compact(source: &Source<'_>, notes: &mut Notes) -> Result<(Report, Option<Content>)> {
    let mut compaction = Compaction::survey(source, None, false, None)?;
    if !source.plan.options.policy.enabled {
        compaction.report.end(Outcome::Disabled);
    } else if compaction.step()? != Step::Compact {
        compaction.report.end(Outcome::NotDue);
    } else if let Some(new) = compaction.build(false, None, notes)? {
        return Ok((compaction.report, Some(new.content)));
    }
    Ok((compaction.report, None))
}

/// Prunes the messages to send without changing the stored session. Returns `None` if pruning frees
/// no tokens or does not reach the target.
fn prune_sent(
    plan: &Plan<'_>,
    content: &Content,
    report: &mut Report,
    notes: &mut Notes,
) -> Result<Option<Content>> {
    if !plan.options.policy.enabled {
        return Ok(None);
    }
    let size =
        Size { tokens: report.tokens_after, messages: report.messages_after, ..Size::default() };
    let Some(pruned) = prune(plan, When::Sent, content, &size, notes)? else { return Ok(None) };
    if pruned.size.tokens >= report.tokens_after || !plan.limits.fits(pruned.size.tokens) {
        return Ok(None);
    }
    let is_compacted = report.outcome.is_compacted();
    let outcome = if is_compacted { report.outcome } else { Outcome::Pruned };
    report.end_at(outcome, &pruned.size);
    Ok(Some(pruned.content))
}

#[cfg(test)]
mod stream_tests {
    use ctx_policy::When;

    use super::tests::{Setup, content, plan, session};
    use super::{Compaction, Outcome, prune_sent};
    use crate::Notes;

    #[test]
    fn what_is_sent_is_pruned_only_where_that_frees_something() {
        let mut plan = plan(1);
        plan.policy.prune.when = When::Sent;
        plan.policy.prune.max_chars = Some(400);
        plan.policy.prune.protect_last = 0;
        let sent = |plan: &Setup, words| {
            let mut notes = Notes::default();
            let source = plan.source(content(&session(3, words)), &mut notes);
            let compaction = Compaction::survey(&source, None, false, None).expect("a survey");
            let mut report = compaction.report;
            let pruned = prune_sent(&source.plan, &source.content, &mut report, &mut notes);
            (pruned.expect("no failure").is_some(), report)
        };
        let (pruned, report) = sent(&plan, 200);
        assert!(pruned && report.tokens_after < report.tokens_before);
        assert_eq!(report.outcome, Outcome::Pruned);
        assert!(!sent(&plan, 20).0);
        plan.policy.target.tokens = Some(10);
        assert!(!sent(&plan, 200).0);
        (plan.policy.target.tokens, plan.policy.enabled) = (None, false);
        assert!(!sent(&plan, 200).0);
    }
}
