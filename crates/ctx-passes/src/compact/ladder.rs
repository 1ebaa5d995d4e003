//! From what the policy wants to what still helps: the next rung is taken where
//! a result is not small enough.

use ctx_ledger::rules::MemoryKind;
use ctx_memory::{Extractor, Item};
use ctx_policy::When;
use ctx_select::budget::LEAST_SUMMARY;
use ctx_select::count::{MessageCounter, PER_MESSAGE, PRIMING};
use ctx_select::split::Keep;
use ctx_select::trigger::Size;
use ctx_transcript::{Object, Record, Zone};

use super::content::{Content, temporary};
use super::outcome::{Attempt, Outcome};
use super::plan::{Before, Plan, Rung};
use super::pruning::prune;
use super::survey::{Survey, Zones};
use crate::prune::decision::changed;
use crate::split::ZoneCounts;
use crate::summarize::{
    self, BudgetPass, BudgetRequest, Draft, Edited, Material, Needs, Summary, Writer, ZonePass,
};
use crate::{ErrorKind, Notes, PassError};

/// A new content for the session, checked.
pub(super) struct Candidate {
    pub(super) content: Content,
    pub(super) size: Size,
    /// The zones of the records, where something was summed up or left out.
    pub(super) zones: Option<Zones>,
    /// Whether the zones say what leaves: where a budget only shortens, nothing does.
    pub(super) leaves: bool,
    /// What was summed up.
    pub(super) summary: Option<Summary>,
}

/// What came of it, and what was tried.
pub(super) struct Climbed {
    pub(super) result: Result<Candidate, Outcome>,
    pub(super) attempts: Vec<Attempt>,
}

/// The session that is to become smaller.
pub(super) struct Ladder<'a, 'p> {
    pub(super) plan: &'a Plan,
    pub(super) content: &'a Content,
    pub(super) survey: &'a Survey<'p>,
    /// What it was before anything changed.
    pub(super) before: &'a Before,
    /// Whether records are pruned as their survey says.
    pub(super) prunes: bool,
    /// Whether a trigger fired.
    pub(super) due: bool,
    /// Puts offloaded results back before they are summed up.
    pub(super) restore: Option<&'a Restore<'a>>,
}

/// Gives a record with its offloaded results put back; `None` where it has none.
pub(super) type Restore<'a> = dyn Fn(&Record<'_>) -> Result<Option<Vec<u8>>, PassError> + 'a;

/// A session read with its zones: the same for all rungs that keep as much.
struct Read<'l> {
    keep: Keep,
    needs: Needs,
    zones: Zones,
    /// What stays, without any summary.
    kept: Size,
    material: Material<'l>,
}

/// What a rung came to.
struct Built {
    draft: Option<Draft>,
    size: Size,
    /// What was written already, with other zones than those that were read.
    written: Option<Candidate>,
}

impl Ladder<'_, '_> {
    /// Tries one rung after the other until a result is smaller than the session
    /// and not above the target.
    pub(super) fn climb(
        &self,
        mut attempts: Vec<Attempt>,
        notes: &mut Notes,
    ) -> Result<Climbed, PassError> {
        let (plan, before) = (self.plan, self.before.size.tokens);
        // Less than the policy keeps is kept only where more does not help.
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
            let zones = self.survey.zones(keep, self.prunes);
            // Where nothing is old there is nothing to write, and nobody is asked to.
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
            let (what, tokens) = (rung.as_str(), built.size.tokens);
            attempts.push(Attempt { what, tokens });
            if built.failed_check() {
                failed_check = true;
            } else if tokens < before {
                if let (true, Some(ready)) = (plan.fits(tokens), read.take()) {
                    let result = Ok(self.write(ready, built)?);
                    return Ok(Climbed { result, attempts });
                }
                smaller = true;
            }
        }
        let result = Err(if attempts.len() == first && !in_need {
            Outcome::NothingToDo
        } else if plan.fits(before) && !smaller {
            Outcome::NoGain
        } else {
            Outcome::Unreachable
        });
        Ok(Climbed { result, attempts })
    }

    /// Reads the session with what is old decided.
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
            kept: self.survey.kept(&zones, self.prunes),
            zones,
            material: pass.gather(notes)?,
        })
    }

    /// Each record with its zone, none where pruning leaves it out, and as pruning
    /// changes it. An old one comes with its offloaded results.
    fn each(
        &self,
        zones: &Zones,
        mut handle: impl FnMut(Option<Zone>, &Record<'_>, Option<Edited<'_>>) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        let verdicts = self.survey.pruned.as_ref().filter(|_| self.prunes);
        let mut number = 0;
        self.content.each(|record| {
            let (at, zone) = (number, zones.of[number]);
            number += 1;
            if self.survey.is_dropped(at, self.prunes) {
                return handle(None, record, None);
            }
            let restore = self.restore.filter(|_| zone == Zone::Old);
            let restored = restore.map(|restore| restore(record)).transpose()?;
            if let Some(bytes) = restored.flatten() {
                return handle(Some(zone), &record.origin().record(&bytes), None);
            }
            let edited = verdicts
                .and_then(|verdicts| changed(verdicts, at, record, self.content.dialect))
                .map(|(bytes, message)| Edited { bytes, message });
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

    /// The last turns, with as much of a summary as the target still has room for;
    /// where it has none, their results make room if they can. An earlier summary, which
    /// is all that there is of the rest, gets shorter only for the target, and never goes.
    fn last_turns(
        &self,
        read: &mut Read<'_>,
        notes: &mut Notes,
    ) -> Result<Option<Built>, PassError> {
        let (plan, before) = (self.plan, self.before.size.tokens);
        let rung = Rung::LastTurnsAlone;
        let most = plan.target.unwrap_or(before).min(before.saturating_sub(1));
        let fits = |built: &Built| built.size.tokens <= most;
        let alone = self.sized(rung, read, None, notes)?;
        let room = most.saturating_sub(alone.size.tokens + PER_MESSAGE);
        let code = plan.by_code(Some(room.max(LEAST_SUMMARY)));
        let draft = read.material.draft(&code, notes)?;
        let draft = draft.filter(|draft| !draft.summary.is_only_earlier());
        let only_earlier = draft.is_none();
        if draft.is_some() {
            let with_summary = self.sized(rung, read, draft, notes)?;
            if fits(&with_summary) {
                return Ok(Some(with_summary));
            }
        }
        let shared = if fits(&alone) && !(only_earlier && plan.fits(before)) {
            self.shared_out(most, notes)?.filter(fits)
        } else {
            None
        };
        Ok(shared.or_else(|| (!only_earlier).then_some(alone)))
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
        let mut built = Built {
            size,
            draft,
            written: None,
        };
        let times = [When::Fallback, When::Before].into_iter();
        for when in times.filter(|when| rung.prunes() && self.plan.prunes(*when)) {
            let candidate = match built.written.take() {
                Some(candidate) => candidate,
                None => self.candidate(read, &built)?,
            };
            let content = &candidate.content;
            built.written = Some(match prune(self.plan, when, content, &built.size, notes)? {
                Some(pruned) => Candidate {
                    content: pruned.content,
                    size: pruned.size,
                    ..candidate
                },
                None => candidate,
            });
            built.size = built.written.as_ref().map_or(built.size, |c| c.size);
        }
        Ok(built)
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

    /// What a rung came to, in a file.
    fn candidate(&self, read: &mut Read<'_>, built: &Built) -> Result<Candidate, PassError> {
        let file = temporary(|output| read.material.write(built.draft.as_ref(), output))?;
        Ok(Candidate {
            content: self.content.with(file),
            size: built.size,
            zones: None,
            leaves: true,
            summary: built.draft.as_ref().map(|draft| draft.summary.clone()),
        })
    }

    fn write(&self, mut read: Read<'_>, mut built: Built) -> Result<Candidate, PassError> {
        let candidate = match built.written.take() {
            Some(candidate) => candidate,
            None => self.candidate(&mut read, &built)?,
        };
        Ok(Candidate {
            zones: candidate.zones.or(Some(read.zones)),
            ..candidate
        })
    }

    /// What the old records hold for memory.
    pub(super) fn items(&self, zones: &Zones, session: &str) -> Result<Vec<Item>, PassError> {
        let mut extractor = Extractor::new(session, &MemoryKind::ALL);
        let mut items = Vec::new();
        let dialect = self.content.dialect;
        self.each(zones, |zone, record, edited| {
            let Some(object) = record.whole_object().filter(|_| zone == Some(Zone::Old)) else {
                return Ok(());
            };
            // What an earlier summary tells was extracted from the messages themselves.
            if dialect.summary_text(object).is_some() {
                return Ok(());
            }
            let message = edited.map(|edited| edited.message);
            if let Some(message) = message.or_else(|| record.message(Some(dialect))) {
                items.extend(extractor.read(&message, record.line));
            }
            Ok(())
        })?;
        Ok(items)
    }

    /// A target in the place of a budget, with a summary that is written by code: `None`
    /// where what has to stay exceeds it.
    fn shared_out(&self, tokens: u64, notes: &mut Notes) -> Result<Option<Built>, PassError> {
        let request = BudgetRequest {
            tokens,
            keep: Keep::default(),
            pins: self.plan.pins.clone(),
        };
        let writer = self.plan.by_code(Some(tokens));
        match self.within(&request, &writer, notes) {
            Ok(candidate) => Ok(Some(Built {
                draft: None,
                size: candidate.size,
                written: Some(candidate),
            })),
            Err(PassError {
                kind: ErrorKind::TooSmall(_),
                ..
            }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// One number for the whole context, in the place of the ladder: what stays and how
    /// long the summary is are decided together, so that no other would come out smaller.
    pub(super) fn budget(
        &self,
        request: &BudgetRequest,
        mut attempts: Vec<Attempt>,
        notes: &mut Notes,
    ) -> Result<Climbed, PassError> {
        let writer = self.plan.writer_within(self.before, notes)?;
        let (tokens, result) = match self.within(request, &writer, notes) {
            Err(PassError {
                kind: ErrorKind::TooSmall(error),
                ..
            }) => (error.needed, Err(Outcome::Unreachable)),
            Err(error) => return Err(error),
            Ok(candidate) => (candidate.size.tokens, self.judged(candidate)),
        };
        let what = "budget";
        attempts.push(Attempt { what, tokens });
        Ok(Climbed { result, attempts })
    }

    fn judged(&self, candidate: Candidate) -> Result<Candidate, Outcome> {
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

    fn within(
        &self,
        request: &BudgetRequest,
        writer: &Writer,
        notes: &mut Notes,
    ) -> Result<Candidate, PassError> {
        let plan = self.plan.summary();
        let mut pass = BudgetPass::new(&plan, writer, request, Some(self.content.dialect));
        let all = Zones {
            of: vec![Zone::Keep; self.survey.entries.len()],
            counts: ZoneCounts::default(),
        };
        self.each(&all, |zone, record, edited| match (zone, edited) {
            (None, _) => Ok(()),
            (Some(_), None) => pass.push(record),
            (Some(_), Some(edited)) => pass.push(&record.origin().record(&edited.bytes)),
        })?;
        let (mut session, zones) = pass.finish(notes)?;
        let file = temporary(|output| session.write(output))?;
        let content = self.content.with(file);
        let size = measure(&content, &self.plan.counter)?;
        let summary = session.draft.map(|draft| draft.summary);
        Ok(Candidate {
            content,
            size,
            zones: Some(self.spread(&zones)),
            leaves: summary.is_some(),
            summary,
        })
    }

    /// The zones of all records, out of those that pruning did not leave out.
    fn spread(&self, zones: &[Zone]) -> Zones {
        let mut zones = zones.iter();
        let mut counts = ZoneCounts::default();
        let entries = self.survey.entries.iter().enumerate();
        let of = entries.map(|(record, _)| {
            if self.survey.is_dropped(record, self.prunes) {
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

impl Built {
    /// Whether a model's summary was not good enough.
    fn failed_check(&self) -> bool {
        let draft = self.draft.as_ref();
        draft.is_some_and(|draft| draft.summary.failed_check)
    }
}

/// Counts a session.
pub(super) fn measure(content: &Content, counter: &MessageCounter) -> Result<Size, PassError> {
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
