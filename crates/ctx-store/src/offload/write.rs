//! Moves tool results out of a session and into separate files. All files reach the disk before the
//! session refers to them, because a session must never refer to a missing file.
//!
//! `taken.jsonl` records which results were moved out, and how often. Anyone who can write to a
//! session can write text that looks like a reference. A result is therefore replaced only by
//! content that was moved out of it. Without this check, a session of a few lines could grow to
//! gigabytes when its results are restored.
//!
//! `sources.jsonl` lists the known transcripts that refer to a session's offloaded files, so that
//! garbage collection can search them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::error::{OrCannot, Result, StoreError};
use crate::fs::{ends_line, if_there};
use crate::offload::{Content, Folder, OffloadName, OffloadedFile};
use crate::{Facts, Operation, SessionId, Store};

/// Writes one session's offloaded files. Nothing is created or recorded until the first file is
/// written.
pub struct OffloadWriter<'a> {
    store: &'a Store,
    session: SessionId,
    begun: Option<(Folder, Operation)>,
    taken: Takings,
    files: u64,
    bytes: u64,
}

impl Store {
    /// Begins to offload tool results from a session.
    pub fn offload(&self, session: &SessionId) -> OffloadWriter<'_> {
        OffloadWriter {
            store: self,
            session: session.clone(),
            begun: None,
            taken: Takings::new(),
            files: 0,
            bytes: 0,
        }
    }

    /// Returns the record of which results were moved out of a session.
    pub fn taken(&self, session: &SessionId) -> Result<TakenResults> {
        let mut taken = TakenResults::default();
        let Some(folder) = if_there(Folder::of_session(self, session))? else { return Ok(taken) };
        let text = read_text(&folder, TAKEN)?;
        // Skip incomplete lines, because no session refers to the results that such lines describe.
        for line in text.lines().map(serde_json::from_str::<TakenLine>).filter_map(Result::ok) {
            let calls = taken.calls.entry(line.file).or_default();
            calls.entry(line.call).or_default().taken += line.times;
        }
        Ok(taken)
    }
}

impl OffloadWriter<'_> {
    /// Writes `content`, the result of `call`, to a file. If the file already exists, it is checked
    /// and marked as used now, so that garbage collection leaves it alone.
    pub fn put(&mut self, content: &Content, call: Option<&str>) -> Result<OffloadedFile> {
        // Even if a step after the rename failed, report that nothing was changed, because no
        // transcript refers to the file yet.
        let file = self.write(content).map_err(StoreError::before)?;
        *self.taken.entry((file.name.clone(), call.map(str::to_owned))).or_default() += 1;
        Ok(file)
    }

    fn write(&mut self, content: &Content) -> Result<OffloadedFile> {
        let (folder, _) = match &mut self.begun {
            Some(begun) => begun,
            empty => {
                let operation = self.store.begin("offload", &Facts::of(&self.session))?;
                empty.insert((Folder::create(self.store, &self.session)?, operation))
            }
        };
        let bytes = content.text.as_bytes();
        let name = OffloadName::of(bytes, content.form);
        // Garbage collection takes the same lock. Either garbage collection has already removed the
        // file, so a new one is written below, or it will see that the file has just been used.
        let there = {
            let _locked = self.store.lock()?;
            folder.freshen(&name)
        };
        if !there {
            let mut temp = self.store.temp("offloaded", 0o600)?;
            let written = temp.write_all(bytes).and_then(|()| temp.file.sync_all());
            written.or_not_written(&self.store.offloaded())?;
            let _locked = self.store.lock()?;
            let path = folder.path.join(name.to_string());
            folder.adopt(temp.path(), &name).or_not_written(&path)?;
            temp.keep();
        }
        self.files += 1;
        self.bytes += bytes.len() as u64;
        Ok(OffloadedFile { session: self.session.clone(), name })
    }

    /// Flushes the names of all files to disk, and records the transcripts that refer to the files,
    /// so that garbage collection can search them. `None` means a transcript without a path, such
    /// as one written to a pipe.
    pub fn finish(self, transcripts: &[Option<&Path>]) -> Result<()> {
        let Some((folder, operation)) = &self.begun else { return Ok(()) };
        {
            let _locked = self.store.lock()?;
            add_sources(folder, transcripts)?;
            add_taken(folder, &self.taken)?;
        }
        folder.sync()?;
        let facts =
            Facts { count: Some(self.files), bytes: Some(self.bytes), ..Facts::of(&self.session) };
        self.store.done(operation, &facts)
    }
}

const TAKEN: &str = "taken.jsonl";

/// A line of `taken.jsonl`.
#[derive(Serialize, Deserialize)]
struct TakenLine {
    /// The name of the offloaded file.
    file: String,
    /// The id of the tool call that returned the result, if the session format has call ids.
    call: Option<String>,
    /// How many of the call's results had this content and were moved out in a single run.
    times: u64,
}

/// How many times a single run moved each piece of content out of each call's results.
type Takings = BTreeMap<(OffloadName, Option<String>), u64>;

/// How many times each piece of content was moved out of each call's results, and how many times it
/// was restored.
#[derive(Debug, Default)]
pub struct TakenResults {
    calls: HashMap<String, HashMap<Option<String>, Times>>,
    /// The names of restored files that are not recorded in `taken.jsonl`.
    unknown: HashSet<String>,
}

#[derive(Debug, Default)]
struct Times {
    taken: u64,
    put_back: u64,
}

/// Records in `taken.jsonl` which results a run moved out.
fn add_taken(folder: &Folder, takings: &Takings) -> Result<()> {
    let lines = takings.iter().map(|((name, call), times)| {
        let line = TakenLine { file: name.to_string(), call: call.clone(), times: *times };
        // Converting the line to JSON never fails, so the default is never used.
        serde_json::to_string(&line).unwrap_or_default()
    });
    add_lines(folder, TAKEN, lines)
}

/// Appends lines to a file in the folder.
fn add_lines(folder: &Folder, name: &str, lines: impl Iterator<Item = String>) -> Result<()> {
    let path = folder.path.join(name);
    let mut file = folder.open(name, OFlags::RDWR | OFlags::CREATE | OFlags::APPEND)?;
    // If a run was killed while it was writing to the file, the last line has no newline.
    let begin = if ends_line(&file).or_cannot("read", &path)? { "" } else { "\n" };
    let new: String = lines.map(|line| line + "\n").collect();
    let written = file.write_all((begin.to_owned() + &new).as_bytes());
    written.and_then(|()| file.sync_all()).or_cannot("write", &path)
}

/// Returns the text of a file in the folder, or an empty string if the file does not exist.
fn read_text(folder: &Folder, name: &str) -> Result<String> {
    let mut text = String::new();
    if let Some(mut file) = if_there(folder.open(name, OFlags::RDONLY))? {
        file.read_to_string(&mut text).or_cannot("read", &folder.path.join(name))?;
    }
    Ok(text)
}

impl TakenResults {
    /// For a dry run, counts one more result as moved out, but writes nothing.
    pub fn take(&mut self, file: &OffloadedFile, call: Option<&str>) {
        let calls = self.calls.entry(file.name.to_string()).or_default();
        calls.entry(call.map(str::to_owned)).or_default().taken += 1;
    }

    /// Resets the counts of restored results. Called before a new pass over the session.
    pub fn begin(&mut self) {
        self.unknown.clear();
        let times = self.calls.values_mut().flat_map(HashMap::values_mut);
        times.for_each(|times| times.put_back = 0);
    }

    /// Counts one more restored result for this call, and returns whether the content may be
    /// restored in that result. Content may be restored as many times as it was moved out of the
    /// call's results, or once if there is no record of it.
    pub fn put_back(&mut self, file: &OffloadedFile, call: Option<&str>) -> bool {
        let name = file.name.to_string();
        let Some(calls) = self.calls.get_mut(&name) else { return self.unknown.insert(name) };
        let Some(times) = calls.get_mut(&call.map(str::to_owned)) else { return false };
        times.put_back += 1;
        times.put_back <= times.taken
    }
}

const SOURCES: &str = "sources.jsonl";

/// Adds the transcripts that are not yet listed in `sources.jsonl`. Each line contains a path as a
/// JSON string, or `null` if the path is unknown.
fn add_sources(folder: &Folder, transcripts: &[Option<&Path>]) -> Result<()> {
    let text = read_text(folder, SOURCES)?;
    let mut known: HashSet<String> = text.lines().map(str::to_owned).collect();
    // Treat a path that is not UTF-8 as unknown, because it cannot be written as JSON.
    let paths = transcripts.iter().map(|path| path.and_then(Path::to_str));
    let lines = paths.map(|path| serde_json::Value::from(path).to_string());
    add_lines(folder, SOURCES, lines.filter(|line| known.insert(line.clone())))
}

/// Returns the transcripts listed in `sources.jsonl`, or `None` if the path of any of them is
/// unknown.
pub(super) fn read_sources(folder: &Folder) -> Result<Option<Vec<PathBuf>>> {
    Ok(read_text(folder, SOURCES)?.lines().map(|line| serde_json::from_str(line).ok()).collect())
}
