//! Makes one attempt to shrink a session: decides what to keep and who writes the summary, and
//! builds the result.

use ctx_format::Object;
use ctx_policy::trigger::Size;
use ctx_policy::{Keep, When};

use super::content::{Content, temporary};
use super::options::{SizeBefore, scaled};
use super::pruning::prune;
use super::reading::Reading;
use super::report::{Attempt, Outcome};
use super::survey::Zones;
use crate::message_counter::PRIMING;
use crate::summarize::{self, Draft, Material, Needs, Summary, Writer, ZonePass};
use crate::{Notes, Result};

/// The result of an attempt, written to a file and checked.
pub(super) struct Candidate {
    pub(super) content: Content,
    pub(super) size: Size,
    /// The zone of each record. The records in the old zone were summarized or left out.
    pub(super) zones: Zones,
    /// The summary, or `None` if the old records were only left out.
    pub(super) summary: Option<Summary>,
    /// Whether kept messages were shortened to fit into a budget.
    pub(super) cuts: bool,
}

/// The result of a compaction step or, if there is no result, the outcome of the compaction.
pub(super) type Ended<T> = Result<T, Outcome>;

/// The session to shrink, and the attempts made so far.
pub(super) struct Attempts<'a> {
    pub(super) session: Reading<'a>,
    /// The size of the session before anything was changed.
    pub(super) before: &'a SizeBefore,
    /// Whether a trigger fired, or the budget is exceeded.
    pub(super) due: bool,
    /// The attempts so far, in order.
    pub(super) made: Vec<Attempt>,
}

/// The session, read with one choice of zones; shared by attempts that keep the same amount.
pub(super) struct Read<'l> {
    keep: Keep,
    needs: Needs,
    zones: Zones,
    /// The size of the kept part, without a summary.
    pub(super) kept: Size,
    material: Material<'l>,
}

/// The result of an attempt: the kept records, with a summary if the attempt wrote one.
pub(super) struct Built {
    pub(super) draft: Option<Draft>,
    pub(super) size: Size,
    /// The result, if pruning has already written it to a file.
    content: Option<Content>,
}

impl Attempts<'_> {
    /// Makes an attempt, and returns its result, or `None` if there is nothing to summarize except,
    /// perhaps, an earlier summary.
    pub(super) fn attempt<'l>(
        &self,
        kind: AttemptKind,
        known: Option<Read<'l>>,
        summary: &'l summarize::Plan,
        notes: &mut Notes,
    ) -> Result<Option<(Read<'l>, Built)>> {
        let keep = self.keep(kind);
        let known = known.filter(|read| read.keep == keep);
        let zones = self.session.survey.zones(keep)?;
        // If there are no old records, no model needs to be asked.
        if zones.counts.old == 0 && known.is_none() && !kind.prunes() {
            return Ok(None);
        }
        let writer = self.writer(kind, notes)?;
        let known = known.filter(|read| read.needs.cover(writer.needs()));
        let read = || self.read(keep, zones, writer.needs(), summary, notes);
        let mut read = known.map_or_else(read, Ok)?;
        let summarizes = self.session.plan.summarizes();
        let draft = if summarizes { read.material.draft(&writer, notes)? } else { None };
        let draft = draft.filter(|draft| !draft.summary.is_only_earlier());
        // Even if there are no old records, the kept part may have long results to prune.
        let only_prunes = kind.prunes() && read.zones.counts.old == 0;
        if summarizes && draft.is_none() && !only_prunes {
            return Ok(None);
        }
        let built = self.sized(kind, &mut read, draft, notes)?;
        Ok(Some((read, built)))
    }

    /// Reads the session with zones that have already been decided.
    pub(super) fn read<'l>(
        &self,
        keep: Keep,
        zones: Zones,
        needs: Needs,
        plan: &'l summarize::Plan,
        notes: &mut Notes,
    ) -> Result<Read<'l>> {
        let mut pass = ZonePass::new(plan, needs, Some(self.session.content.dialect));
        self.session.each(&zones, |zone, record, changed| {
            if let Some(zone) = zone {
                return pass.push_in(zone, record, changed);
            }
            pass.drop(record);
            Ok(())
        })?;
        Ok(Read {
            keep,
            needs,
            kept: self.session.survey.kept(&zones)?,
            zones,
            material: pass.gather(notes)?,
        })
    }

    /// Combines the kept part with the summary, and computes the size of the result. Also prunes
    /// the kept part if this kind of attempt calls for it.
    pub(super) fn sized(
        &self,
        kind: AttemptKind,
        read: &mut Read<'_>,
        draft: Option<Draft>,
        notes: &mut Notes,
    ) -> Result<Built> {
        let mut size = read.kept;
        size.tokens = size.tokens.max(PRIMING);
        if let Some(draft) = &draft {
            self.add_summary(draft, &mut size);
        }
        let mut times = [When::Fallback, When::Before].into_iter();
        let mut content = None;
        if let Some(when) = times.find(|when| kind.prunes() && self.session.plan.prunes(*when)) {
            let unpruned = self.content_of(read, draft.as_ref())?;
            content = Some(match prune(self.session.plan, when, &unpruned, &size, notes)? {
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
        let dialect = self.session.content.dialect;
        let text = std::str::from_utf8(&draft.record).unwrap_or_default();
        let object = Object::parse(text.trim_end()).ok();
        let message = object.as_ref().and_then(|object| dialect.message(object));
        if let Some(message) = message {
            size.tokens += self.session.plan.environment.counter.message(&message).total();
            size.messages += 1;
            size.system_messages += u64::from(message.role.is_system());
        }
    }

    /// Writes the kept records, with a summary if there is one, to a temporary file.
    fn content_of(&self, read: &mut Read<'_>, draft: Option<&Draft>) -> Result<Content> {
        let file = temporary(|output| read.material.write(draft, output))?;
        Ok(self.session.content.with(file))
    }

    /// Writes the result of an attempt to a file, unless pruning has already done so.
    pub(super) fn write(&self, read: &mut Read<'_>, built: Built) -> Result<Candidate> {
        Ok(Candidate {
            cuts: false,
            content: built
                .content
                .map_or_else(|| self.content_of(read, built.draft.as_ref()), Ok)?,
            size: built.size,
            zones: read.zones.clone(),
            summary: built.draft.map(|draft| draft.summary),
        })
    }

    /// Returns the amount of the session that this kind of attempt keeps.
    pub(super) fn keep(&self, kind: AttemptKind) -> Keep {
        let keep = self.session.plan.keep(self.before);
        if kind == AttemptKind::LessKept { scaled(keep, |n| n.div_ceil(2)) } else { keep }
    }

    /// Returns the summary writer for this kind of attempt. A preview asks no model.
    fn writer(&self, kind: AttemptKind, notes: &mut Notes) -> Result<Writer> {
        let tokens = self.session.plan.summary_length(self.before);
        let by_model = match kind {
            AttemptKind::Policy => self.session.plan.by_model(Some(tokens), notes)?,
            _ => None,
        };
        let tokens = match kind {
            AttemptKind::Policy | AttemptKind::LessKept => tokens,
            AttemptKind::Smaller | AttemptKind::Pruned => (tokens / 2).max(1),
        };
        Ok(by_model.unwrap_or_else(|| self.session.plan.by_code(Some(tokens))))
    }
}

/// The kinds of attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub(super) enum AttemptKind {
    /// Keeps the amount set in the policy, and summarizes all other records.
    Policy,
    /// Keeps half the amount set in the policy, after a model's summary has failed its check.
    LessKept,
    /// Writes a summary of half the length without a model.
    #[strum(serialize = "smaller-summary")]
    Smaller,
    /// Like `Smaller`, but also prunes the tool results that stay.
    Pruned,
}

impl AttemptKind {
    /// Returns true if the attempt prunes the tool results that stay.
    fn prunes(self) -> bool {
        self == Self::Pruned
    }
}

impl Candidate {
    /// Returns true if messages are removed from the session. A compaction within a budget may
    /// shorten messages without removing any.
    pub(super) fn leaves(&self) -> bool {
        self.summary.is_some() || self.zones.counts.old > 0
    }
}
