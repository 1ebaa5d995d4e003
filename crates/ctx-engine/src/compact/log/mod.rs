//! Compacts a session whose lines depend on each other: an agent's own log, or the items in a
//! reply.
//!
//! The log's context is *lowered*: it is converted to a plain session whose messages name the log
//! records that they come from. The plain session is compacted like any other session. The messages
//! that stay in the plain session determine which log records stay. The summary replaces all other
//! log records. If the agent's format has a compaction record, lines are appended to the log, or to
//! a copy of the log if the agent could not cope with a part of them; otherwise, the log is rewritten.

mod kept;

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use ctx_format::binding::without_reasoning;
use ctx_format::compaction::{Compaction, CompactionWriter, Kept};
use ctx_format::convert::{Converter, Lowered, Reading, SourceId};
use ctx_format::dialect::Anthropic;
use ctx_format::{Class, Message, Object, Part, Record, Role, Spool};
use ctx_policy::trigger::Size;
use ring::digest::{SHA256, digest};

use self::kept::{KeptRecords, LogRecords};
use super::NewFile;
use super::content::{Content, LogMessage, temporary};
use super::options::Plan;
use super::report::Report;
use crate::bound_reasoning::BoundReasoning;
use crate::estimate::{Calibration, CalibrationPass};
use crate::message_counter::{MessageCounter, add_to_size};
use crate::output_check::warn_of_input;
use crate::session::FirstUnread;
use crate::{BadLineOutcome, BadLines, ErrorKind, Notes, PassError, Result, Session};

/// The log records that stay, and the summary that replaces the others.
struct Decision {
    kept: KeptRecords,
    /// The new text of each kept record, and whether the text has changed. `None` if nothing is
    /// left of the record.
    texts: Vec<Option<(String, bool)>>,
    summary: Option<String>,
    /// The log records from which the context was built before the compaction.
    context: Vec<SourceId>,
    records: LogRecords,
}

/// The text that takes the place of a summary if no message was summarized.
const NOTHING_LEFT: &str =
    "No message was summed up: only results of tools, or reasoning, were shortened or left out.";

/// Lowers a log to the messages that the agent would send, one per record. If `calibrates` is set,
/// also calibrates the token count against the usage recorded in the log.
pub(super) fn lower(
    log: &Content,
    temp: &Path,
    counter: MessageCounter,
    calibrates: bool,
    notes: &mut Notes,
) -> Result<(Content, Option<Calibration>)> {
    let session = log.session()?;
    // Lines cannot be appended to a JSON document.
    session.refuse_document("compacted", false)?;
    let calibration = || CalibrationPass::new(counter, Some(log.dialect));
    let mut calibration = calibrates.then(calibration);
    let flaws = session.records.flaws().iter();
    let problems: Vec<_> = flaws.filter(|(_, flaw)| flaw.effect.is_problem()).collect();
    if let Some((line, first)) = problems.first() {
        warn_of_input(problems.len(), *line, &first.message, notes);
    }
    let mut bad = BadLines::default();
    let content = lower_session(log, session, (counter, temp), |record, tokens| {
        bad.add(record, BadLineOutcome::Kept);
        if record.class == Class::Tail {
            let what =
                "the last line is incomplete, so the agent skips it, and a compaction cuts it off";
            notes.warn_at(record.line, what);
        }
        if let Some(calibration) = &mut calibration {
            calibration.push(record, tokens);
        }
    })?;
    bad.report(notes);
    Ok((content, calibration.map(CalibrationPass::finish)))
}

/// Lowers a session in the dialect of `log`. Calls `look` with each record of the session and, if
/// the record is a message in the context, its number of tokens.
fn lower_session(
    log: &Content,
    mut session: Session,
    (counter, temp): (MessageCounter, &Path),
    mut look: impl FnMut(&Record<'_>, Option<u64>),
) -> Result<Content> {
    let mut converter = Converter::new(&Anthropic);
    converter.mark = Some(MARK);
    let mut reading = Reading::new(converter, log.dialect, Spool::new(temp));
    let mut unread = FirstUnread::default();
    let mut size = Size::default();
    let mut messages = Vec::new();
    session.each(|record| {
        unread.look_at(record, Some(log.dialect));
        let message = record.outline(Some(log.dialect)).zip(record.message(Some(log.dialect)));
        let tokens = message.map(|(outline, it)| {
            let begins = outline.begins_message();
            messages.push(LogMessage { line: record.line, begins, record: 0 });
            add_to_size(&mut size, &outline, &it, &counter)
        });
        look(record, tokens);
        reading.push(record).map_err(PassError::temporary)
    })?;
    drop(session);
    let mut lines = Vec::new();
    let file = temporary(|output| {
        let report = reading.write(output).map_err(PassError::temporary)?;
        lines = report.sources.iter().map(|it| it.first_line).collect();
        Ok(())
    })?;
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by_key(|record| lines[*record]);
    for message in &mut messages {
        let next = order.partition_point(|record| lines[*record] <= message.line);
        message.record = next.checked_sub(1).map_or(0, |at| order[at]);
    }
    Ok(Content {
        dialect: &Lowered,
        messages: Some(Arc::from(messages)),
        is_detected: false,
        lines: Some(Arc::from(lines)),
        counted: Some(Box::new(size)),
        unread,
        ..log.with(file)
    })
}

/// Returns the change to a log's file when the log's context is compacted from `lowered` to `new`.
/// First checks that the agent would read the context `new` from the changed file, and reports its
/// size there. If the API would reject the signed reasoning that is kept, all reasoning is removed.
pub(super) fn write(
    (log, lowered): (&Content, &Content),
    mut new: Content,
    plan: &Plan<'_>,
    report: &mut Report,
    notes: &mut Notes,
) -> Result<NewFile> {
    let (file, bound) = match write_once((log, lowered), &new, plan, report) {
        Err(error) if matches!(error.kind, ErrorKind::OtherContext) => {
            // What is unusual in the log may be the reason.
            let session = log.session()?;
            let mut flaws = session.records.flaws().iter();
            if let Some((line, flaw)) = flaws.find(|(_, flaw)| !flaw.effect.is_problem()) {
                notes.warn_at(*line, &flaw.message);
            }
            return Err(error);
        }
        written => written?,
    };
    bound.finish(notes)?;
    if !bound.removes() {
        return Ok(file);
    }
    new = without_any_reasoning(&new)?;
    Ok(write_once((log, lowered), &new, plan, report)?.0)
}

/// Returns the session without its reasoning.
fn without_any_reasoning(lowered: &Content) -> Result<Content> {
    let file = temporary(|output| {
        lowered.each(|record| {
            let left = without_reasoning(record, lowered.dialect);
            output.write_all(left.as_deref().unwrap_or(record.bytes)).map_err(PassError::temporary)
        })
    })?;
    Ok(lowered.with(file))
}

pub(super) fn write_once(
    (log, lowered): (&Content, &Content),
    new: &Content,
    plan: &Plan<'_>,
    report: &mut Report,
) -> Result<(NewFile, BoundReasoning)> {
    let is_of_lines = log.dialect.is_log() && !log.is_document;
    let cut = if is_of_lines { log.without_torn_line()? } else { None };
    let log = cut.as_ref().unwrap_or(log);
    let mut marked = Marked::all(new, |_| true)?;
    let restates = log.dialect.log().is_some();
    Marked::choose_summary(&mut marked, restates);
    let mut decision = decide(log, lowered, &marked)?;
    let mut bound = BoundReasoning::new(plan.options.signed_reasoning);
    bound.changed = true;
    let with = (plan.environment.counter, plan.environment.temp.as_path());
    let look = |record: &Record<'_>, _| {
        bound.write(record, None, log.dialect, false);
    };
    let (file, read) = if let Some(writer) = decision.records.writer.take() {
        let lines = decision.compaction_lines(writer, plan, report)?;
        if log.is_document {
            let document = log.document_with_lines(&lines)?;
            let read = lower_session(log, document.session()?, with, look)?;
            same_context(new, &read)?;
            report.resize(&read.counted.unwrap_or_default());
            return Ok((NewFile::Whole(document), bound));
        }
        let session = log.session_with(&behind(log, &lines)?)?;
        let read = lower_session(log, session, with, look)?;
        let all_at_once = log.dialect.format().all_at_once;
        let new = if all_at_once || cut.is_some() {
            NewFile::Whole(with_lines(log, &lines)?)
        } else {
            NewFile::Appended(lines)
        };
        (new, read)
    } else {
        let session = rewritten(log, &decision)?;
        let read = lower_session(log, session.session()?, with, look)?;
        (NewFile::Whole(session), read)
    };
    same_context(new, &read)?;
    report.resize(&read.counted.unwrap_or_default());
    Ok((file, bound))
}

/// Rewrites a session whose format has no compaction record. The result consists of the kept
/// records and the summary, which comes before the first kept record that follows it, or in place
/// of the first removed record if that is earlier. A line without a message is kept or removed
/// together with the record before it.
fn rewritten(log: &Content, decision: &Decision) -> Result<Content> {
    let groups = decision.kept.groups.iter().zip(&decision.texts);
    let kept = groups.filter_map(|(group, text)| Some((group.record, text.as_ref()?)));
    let kept: HashMap<u64, &(String, bool)> = kept.collect();
    let context: HashSet<u64> = decision.context.iter().map(|it| it.record).collect();
    let behind = decision.kept.groups.get(decision.kept.before_summary).map(|group| group.record);
    let summary = decision.summary.as_deref();
    let mut summary = summary.map(|text| log.dialect.summary_record(Role::User, text) + "\n");
    let file = temporary(|output| {
        let (mut number, mut stays, mut is_ended) = (0, true, true);
        log.lines()?.each(|record| {
            let mut text = record.bytes;
            let changed;
            if record.piece.begins() {
                if context.contains(&number) {
                    let new = kept.get(&number);
                    stays = new.is_some();
                    if (!stays || behind == Some(number))
                        && let Some(summary) = summary.take()
                    {
                        let mark = record.byte_order_mark();
                        output.write_all(mark).map_err(PassError::temporary)?;
                        text = &text[mark.len()..];
                        output.write_all(summary.as_bytes()).map_err(PassError::temporary)?;
                    }
                    if let Some((new, true)) = new {
                        changed = [new.as_bytes(), b"\n"].concat();
                        text = &changed;
                    }
                }
                number += 1;
            }
            if stays {
                output.write_all(text).map_err(PassError::temporary)?;
                is_ended = text.ends_with(b"\n");
            }
            Ok(())
        })?;
        let newline: &[u8] = if is_ended { b"" } else { b"\n" };
        let rest = summary.map_or_else(Vec::new, |summary| [newline, summary.as_bytes()].concat());
        output.write_all(&rest).map_err(PassError::temporary)
    })?;
    Ok(log.with(file))
}

/// Returns a copy of the log with `lines` appended.
pub(super) fn with_lines(log: &Content, lines: &[u8]) -> Result<Content> {
    let mut old = log.file()?;
    let behind = behind(log, lines)?;
    let file = temporary(|output| {
        std::io::copy(&mut old, output).map_err(PassError::temporary)?;
        output.write_all(&behind).map_err(PassError::temporary)
    })?;
    Ok(log.with(file))
}

/// Returns `lines`, preceded by a newline if the log does not end with one.
fn behind(log: &Content, lines: &[u8]) -> Result<Vec<u8>> {
    let newline: &[u8] = if log.ends_line()? { b"" } else { b"\n" };
    Ok([newline, lines].concat())
}

/// Decides which log records stay, given that the context is compacted to `new`.
fn decide(log: &Content, lowered: &Content, new: &[Marked]) -> Result<Decision> {
    let wanted: HashSet<SourceId> = new.iter().flat_map(|it| it.sources.clone()).collect();
    let before = Marked::all(lowered, |it| it.iter().any(|source| wanted.contains(source)))?;
    let context: Vec<SourceId> = before.iter().flat_map(|it| it.sources.clone()).collect();
    let kept = KeptRecords::of(new);
    let records = LogRecords::read(log, &kept, &context)?;
    let (was, is) = (Marked::by_record(&before), Marked::by_record(new));
    Ok(Decision {
        texts: records.texts((log, lowered), &kept, &was, &is),
        summary: new.iter().find_map(|it| it.summary.clone()),
        context,
        kept,
        records,
    })
}

impl Decision {
    /// Returns the lines that the agent itself would append if it performed this compaction.
    fn compaction_lines(
        &self,
        mut writer: Box<dyn CompactionWriter>,
        plan: &Plan<'_>,
        report: &Report,
    ) -> Result<Vec<u8>> {
        let kept = self.texts.iter().zip(&self.kept.groups).filter_map(|(text, group)| {
            let (text, is_changed) = text.as_ref()?;
            Some(Kept { text, messages: group.messages(), is_changed: *is_changed })
        });
        let last = self.records.last();
        let summary = self.summary.as_deref().unwrap_or(NOTHING_LEFT);
        let compaction = Compaction {
            summary,
            kept: kept.collect(),
            kept_before: self.kept.before_summary,
            is_end: self.context.ends_with(&self.kept.sources()),
            last,
            tokens: (report.tokens_before, report.tokens_after),
            is_automatic: plan.options.only_if_due,
            now: (plan.environment.now)(),
            newest: self.records.newest,
            seed: seed(self.records.count, last, summary),
        };
        let lines = writer.finish(&compaction)?;
        Ok((lines.join("\n") + "\n").into_bytes())
    }
}

/// Returns the seed for the ids of new records. The seed changes with the length of the log, its
/// last record, and the summary.
fn seed(records: u64, last: &str, summary: &str) -> Vec<u8> {
    digest(&SHA256, format!("{records}\n{last}\n{summary}").as_bytes()).as_ref().to_vec()
}

/// A message's role and the hash of one of its parts, for comparing contexts.
type PartHash = (Role, u64);

/// Returns an error unless the context in `read` is the same as in `expected`.
fn same_context(expected: &Content, read: &Content) -> Result<()> {
    let (expected, read) = (parts_of(expected)?, parts_of(read)?);
    // Some agents insert a reply from the model after the summary.
    let extra = read.len().saturating_sub(expected.len());
    let is_same = extra <= 1 && {
        let begin = expected.iter().zip(&read).take_while(|(a, b)| a == b).count();
        expected[begin..] == read[begin + extra..]
            && (extra == 0 || read[begin].0 == Role::Assistant)
    };
    if is_same { Ok(()) } else { Err(ErrorKind::OtherContext.into()) }
}

/// Returns all parts of a plain session except those in summaries. Summaries are left out because
/// their position depends on the format.
fn parts_of(content: &Content) -> Result<Vec<PartHash>> {
    let mut parts = Vec::new();
    content.each(|record| {
        let Some(object) = record.whole_object() else { return Ok(()) };
        if content.dialect.summary_text(object).is_none()
            && let Some(message) = content.dialect.message(object)
        {
            parts.extend(message.parts.iter().map(|part| (message.role, hash(part))));
        }
        Ok(())
    })?;
    Ok(parts)
}

fn hash(part: &Part<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    std::mem::discriminant(part).hash(&mut hasher);
    match part {
        Part::Text(text) | Part::Refusal(text) | Part::Reasoning(text) | Part::Opaque(text) => {
            text.hash(&mut hasher);
        }
        Part::Call(call) => (&call.id, &call.name, &call.arguments).hash(&mut hasher),
        Part::Result(result) => {
            result.id.hash(&mut hasher);
            for part in &result.parts {
                hash(part).hash(&mut hasher);
            }
        }
        Part::Media { .. } => {}
    }
    hasher.finish()
}

/// The name of the member in which a lowered record lists the log records that it came from.
const MARK: &str = "_source";

/// Lowered records, grouped by the log record that they come from.
type ByRecord<'a> = HashMap<u64, Vec<&'a Marked>>;

/// A record in the lowered session.
#[derive(Clone, Debug)]
struct Marked {
    sources: Vec<SourceId>,
    /// The text of the record, or empty if the caller of [`Self::all`] did not ask for the text.
    text: String,
    /// The text of the summary, if this record is a summary. [`Self::choose_summary`] leaves only
    /// the summary of the compaction.
    summary: Option<String>,
}

impl Marked {
    /// Reads all records in a lowered session. The text is stored only for records whose sources
    /// are `wanted`.
    fn all(content: &Content, wanted: impl Fn(&[SourceId]) -> bool) -> Result<Vec<Self>> {
        let mut all = Vec::new();
        content.each(|record| {
            let Some(object) = record.whole_object() else { return Ok(()) };
            let sources = object.elements_of(MARK).unwrap_or_default();
            let sources: Vec<_> = sources.into_iter().filter_map(SourceId::parse).collect();
            let text = if wanted(&sources) { object.text().trim() } else { "" }.to_owned();
            let summary = content.dialect.summary_text(object).map(Cow::into_owned);
            all.push(Self { sources, text, summary });
            Ok(())
        })?;
        Ok(all)
    }

    /// Chooses the summary of the compaction: the new summary or, if there is none and the
    /// compaction record `restates` the old one, the first old summary, whose own record then does
    /// not stay. Every other record stays, even if it looks like a summary.
    fn choose_summary(all: &mut [Self], restates: bool) {
        let is = |it: &Self, is_new| it.summary.is_some() && it.sources.is_empty() == is_new;
        let new = all.iter().position(|it| is(it, true));
        let chosen = new.or_else(|| all.iter().position(|it| restates && is(it, false)));
        for (at, marked) in all.iter_mut().enumerate() {
            if Some(at) == chosen {
                marked.sources.clear();
            } else {
                marked.summary = None;
            }
        }
    }

    fn by_record(all: &[Self]) -> ByRecord<'_> {
        let mut by_record = ByRecord::new();
        for marked in all {
            let records = marked.sources.iter().map(|source| source.record);
            for record in records.collect::<BTreeSet<u64>>() {
                by_record.entry(record).or_default().push(marked);
            }
        }
        by_record
    }

    fn messages<'a>(lowered: &Content, objects: &[Object<'a>]) -> Vec<Message<'a>> {
        objects.iter().filter_map(|object| lowered.dialect.message(object)).collect()
    }
}
