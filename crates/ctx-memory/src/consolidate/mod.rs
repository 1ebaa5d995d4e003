//! Consolidates the memory of all sessions: adds entries from the daily logs (L0) to the memory
//! files (L1), and lists their statements in the master file (L2).
//!
//! The result of `consolidate` depends only on the files: identical files produce identical bytes,
//! and a second run changes nothing. [`Consolidation`](run::Consolidation) reads and writes the
//! files.
//!
//! - Log entries that no earlier run has seen are added to L1. The only other change to L1 is a
//!   mark on each superseded statement (`retract`).
//! - L2 has a generated part (`master`), which lists each topic once, the most important first
//!   (`topic`). The generated part does not repeat what people wrote above and below it.

mod choice;
mod daily;
mod master;
mod retract;
pub(crate) mod run;
mod statement;
#[cfg(test)]
mod tests;
mod topic;

use std::collections::{BTreeSet, HashSet};

use chrono::NaiveDate;
use ctx_summary::ledger::patterns::MemoryKind;
use ctx_summary::ledger::sentence::{sentences, without_marker};
use ctx_text::{bisected, plain_line};
use serde::{Deserialize, Serialize};

use crate::entry::{Citation, Entry};
use crate::files::DailyLog;
use crate::memory_file::file_name;
use crate::similarity::Fingerprint;
use daily::log_dates;
pub use master::is_mark;
use master::{Master, Refused, without_citations};
use statement::{Author, Statement, is_lasting, statements, statements_in_master};
use topic::{Topic, topics};

/// The kinds of items that are consolidated, in the same order as their sections in the master.
/// Tool runs are not copied from L1 to L2.
pub(crate) const KINDS: [MemoryKind; 3] =
    [MemoryKind::Preference, MemoryKind::Decision, MemoryKind::Fact];

/// The index of a kind in [`KINDS`].
fn place_of(kind: MemoryKind) -> usize {
    KINDS.iter().position(|known| *known == kind).expect("other kinds are not read")
}

/// The path of a memory file within the store.
fn extracted_path(kind: MemoryKind) -> String {
    format!("memory/extracted/{}", file_name(kind))
}

/// The SHA-256 of `bytes` in hexadecimal digits.
fn hash(bytes: &[u8]) -> String {
    ctx_store::hash(&mut &bytes[..]).expect("reading from memory does not fail")
}

/// The first 16 hexadecimal digits of the SHA-256 of `text`.
fn short_hash(text: &str) -> String {
    hash(text.as_bytes())[..16].to_owned()
}

/// The number of files that a consolidation writes: the memory files, in the order of [`KINDS`],
/// and the master.
pub(crate) const FILES: usize = KINDS.len() + 1;
/// The index of the master in [`MemoryFiles::files`].
pub(crate) const MASTER: usize = KINDS.len();

/// A store's memory before a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemoryFiles {
    pub(crate) files: [Vec<u8>; FILES],
    /// The daily logs, oldest first.
    pub(crate) daily: Vec<DailyLog>,
    pub(crate) extractions: Extractions,
    pub(crate) state: State,
}

/// The sessions whose items were merged into L1, each with the day of the merge. The session is
/// `None` if items from several sessions were merged at once.
pub(crate) type Extractions = HashSet<(Option<String>, NaiveDate)>;

/// A record of what earlier runs read and wrote. If the record is lost, no text is lost or
/// repeated, but entries that people deleted may come back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct State {
    /// Hashes of the keys of all log entries seen so far.
    seen: BTreeSet<String>,
    /// The marks on superseded statements in the memory files.
    marks: BTreeSet<String>,
    /// The statements that people deleted from the master.
    refused: BTreeSet<Refused>,
    /// The master's generated part, as the last run wrote it.
    part: Option<String>,
}

impl State {
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("strings and numbers") + "\n"
    }
}

/// The parameters of a consolidation.
pub(crate) struct Rules<'a> {
    /// The maximum number of tokens in the master, unless people's own text is longer.
    pub(crate) max_tokens: u64,
    /// The function that counts tokens.
    pub(crate) count: &'a dyn Fn(&str) -> u64,
}

/// A store's memory after a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct NewMemory {
    pub(crate) files: [Vec<u8>; FILES],
    pub(crate) state: State,
    pub(crate) report: Report,
}

/// Statistics about a run. The field names are the JSON keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The number of log entries that were added to L1.
    pub imported: usize,
    /// The number of statements in L1 that were newly marked as superseded.
    pub taken_back: usize,
    /// The number of statements in L1.
    pub statements: usize,
    /// The number of topics in L1.
    pub topics: usize,
    /// The number of topics that a later statement superseded.
    pub history: usize,
    /// The number of topics that people added to the master or deleted from it.
    pub own: usize,
    /// The number of topics in the generated part of the master.
    pub shown: usize,
    /// The number of topics that did not fit into the master.
    pub left_out: usize,
    /// The total number of tokens in the master.
    pub tokens: u64,
    /// True if the text that people wrote into the master exceeds the token limit by itself.
    #[serde(skip)]
    pub is_full: bool,
    /// True if people edited the generated part before this run.
    #[serde(rename = "edited")]
    pub was_edited: bool,
}

/// Consolidates a store's memory.
pub(crate) fn consolidate(old: &MemoryFiles, rules: &Rules<'_>) -> NewMemory {
    let mut new =
        NewMemory { files: old.files.clone(), state: old.state.clone(), report: Report::default() };
    daily::import(old, &mut new);
    let master = Master::parse(&old.files[MASTER], old.state.part.as_deref());
    let dates = log_dates(&old.daily);
    let mut all = Vec::new();
    for (kind, file) in KINDS.into_iter().zip(&new.files) {
        all.extend(statements(&String::from_utf8_lossy(file), kind, &dates));
    }
    let count = all.len();
    new.report.statements = count;
    all.extend(statements_in_master(&master.own_text()));
    retract::retract(&mut all, &new.state.marks);
    new.report.taken_back = mark(&all, &mut new);
    write_master(topics(&all[..count], &all), &master, rules, &mut new);
    new
}

/// Marks superseded statements in L1. Returns the number of new marks.
fn mark(all: &[Statement], new: &mut NewMemory) -> usize {
    let mut marked = 0;
    for statement in all {
        let Some(by) = statement.taken_back.as_ref().filter(|by| is_lasting(by)) else { continue };
        if statement.can_be_marked() {
            if !add_mark(&mut new.files[place_of(statement.kind)], statement, by) {
                continue;
            }
            marked += 1;
        }
        if statement.author != Author::Editor {
            new.state.marks.insert(statement.mark(by));
        }
    }
    marked
}

/// Marks an entry as superseded and cites the statement that supersedes it. Changes nothing and
/// returns `false` if the entry is no longer on its line.
fn add_mark(file: &mut Vec<u8>, statement: &Statement, by: &Citation) -> bool {
    let mut lines = file.split_inclusive(|byte| *byte == b'\n');
    let before: usize = lines.by_ref().take(statement.order.1).map(<[u8]>::len).sum();
    let Some(line) = lines.next().and_then(|line| std::str::from_utf8(line).ok()) else {
        return false;
    };
    let line = line.trim_end();
    let entry = Entry::parse(without_marker(line.trim_start()).1);
    if entry.is_none_or(|it| it.taken_back.is_some() || it.citation != statement.citation) {
        return false;
    }
    let end = before + line.len() - 1;
    file.splice(end..end, format!(", taken back in {by}").into_bytes());
    true
}

fn write_master(mut topics: Vec<Topic>, master: &Master, rules: &Rules<'_>, new: &mut NewMemory) {
    let own_text = master.own_text();
    let (state, report) = (&mut new.state, &mut new.report);
    state.refused.extend(master.refused.iter().cloned());
    report.topics = topics.len();
    report.history = topics.iter().filter(|topic| topic.retraction.is_some()).count();
    report.was_edited = master.is_edited;
    if topics.is_empty() && !master.has_part {
        new.files[MASTER].clone_from(&master.above);
        report.tokens = (rules.count)(&own_text);
        return;
    }
    remove_own(&mut topics, &own_text, &state.refused);
    report.own = report.topics - topics.len();
    let lines = topic::lines(&topics);
    let tokens = |part: &str| (rules.count)(&String::from_utf8_lossy(&master.with_part(part)));
    let own_tokens = tokens("");
    report.is_full = own_tokens > rules.max_tokens;
    let order = topic::by_share(&lines, rules.max_tokens.saturating_sub(own_tokens), rules.count);
    let part = |count: usize| topic::part(&lines, &order[..count]);
    let fits = |count: usize| tokens(&part(count)) <= rules.max_tokens;
    let mut shown = lines.len();
    if !fits(shown) {
        (shown, _) = bisected(shown, |count| !fits(count));
    }
    // Count the whole text again, because adding a line does not always add tokens: tokens may
    // merge across line ends.
    while shown > 0 && !fits(shown) {
        shown -= 1;
    }
    let part = part(shown);
    report.shown = shown;
    report.left_out = lines.len() - shown;
    report.tokens = tokens(&part);
    new.files[MASTER] = master.with_part(&part);
    state.part = Some(part);
}

/// Removes topics that people added to the master or deleted from it.
fn remove_own(topics: &mut Vec<Topic>, own_text: &str, refused: &BTreeSet<Refused>) {
    let mut own = Vec::new();
    for line in own_text.lines() {
        let plain = plain_line(&line.replace("~~", ""));
        let entry = without_citations(without_marker(&plain).1);
        own.push(Fingerprint::of(entry));
        own.extend(sentences(entry).iter().map(|sentence| Fingerprint::of(sentence)));
    }
    let refused: Vec<(Fingerprint, bool)> =
        refused.iter().map(|it| (Fingerprint::of(&it.text), it.history)).collect();
    topics.retain(|topic| {
        let is_own = own.iter().any(|it| it.is_similar(&topic.fingerprint));
        let is_refused = refused.iter().any(|(fingerprint, history)| {
            (!history || topic.retraction.is_some()) && fingerprint.is_similar(&topic.fingerprint)
        });
        !is_own && !is_refused
    });
}
