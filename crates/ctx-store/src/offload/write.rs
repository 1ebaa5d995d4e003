//! Moves results out of a session. Each becomes a file, and all files are on disk before a session
//! names them.
//!
//! `taken.jsonl` records which results were moved out, and how often. Anybody who can write to a
//! session can write something that looks like a reference. A result therefore gets back only what
//! was moved out of it; otherwise a few lines could become gigabytes.
//!
//! `sources.jsonl` lists the transcripts that name the files of a session, as far as they are
//! known.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::audit::{Facts, Operation};
use crate::error::{OrCannot, Result, StoreError};
use crate::fs::{ends_line, if_there};
use crate::id::SessionId;
use crate::offload::{Content, Folder, OffloadName, OffloadedFile};
use crate::os;
use crate::store::Store;

/// Writes offloaded files of one session. Before the first of them nothing is created and
/// nothing is recorded in the audit log.
pub struct OffloadWriter<'a> {
    store: &'a Store,
    session: SessionId,
    begun: Option<(Folder, Operation)>,
    taken: Takings,
    files: u64,
    bytes: u64,
}

impl Store {
    /// Begins to offload results of a session.
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

    /// What was moved out of the results of a session.
    pub fn taken(&self, session: &SessionId) -> Result<TakenResults> {
        let mut taken = TakenResults::default();
        let Some(folder) = if_there(Folder::of_session(self, session))? else {
            return Ok(taken);
        };
        let text = read_text(&folder, TAKEN)?;
        // A torn line describes results that never were in a session.
        let lines = text.lines().map(serde_json::from_str::<TakenLine>);
        for line in lines.filter_map(Result::ok) {
            let calls = taken.calls.entry(line.file).or_default();
            calls.entry(line.call).or_default().taken += line.times;
        }
        Ok(taken)
    }
}

impl OffloadWriter<'_> {
    /// Writes `content`, which the result of `call` has, into a file, unless there is one with
    /// it. That one is checked and counts as used now, so that garbage collection leaves it
    /// alone.
    pub fn put(&mut self, content: &Content, call: Option<&str>) -> Result<OffloadedFile> {
        // Even a failure after the rename counts for nothing: no transcript names the file yet.
        let file = self.write(content).map_err(StoreError::before)?;
        let from = (file.name.clone(), call.map(str::to_owned));
        *self.taken.entry(from).or_default() += 1;
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
        // Garbage collection takes the same lock. Either it removed the file before this, and
        // a new one is made, or it will see that the file was used just now.
        let there = {
            let _locked = self.store.lock()?;
            folder.freshen(&name)
        };
        if !there {
            let mut temp = self.store.temp("offloaded", 0o600)?;
            let written = temp.write_all(bytes).and_then(|()| os::sync(&temp.file));
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

    /// Makes the names of all files durable. `transcripts` are the sessions that name them; garbage
    /// collection searches these. `None` is a transcript without a path, because it goes to a pipe.
    pub fn finish(self, transcripts: &[Option<&Path>]) -> Result<()> {
        let Some((folder, operation)) = &self.begun else {
            return Ok(());
        };
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

/// A line of the file.
#[derive(Serialize, Deserialize)]
struct TakenLine {
    /// The name of the file that holds it.
    file: String,
    /// The id of the call whose result it was, where the format has one.
    call: Option<String>,
    /// How often, in one run.
    times: u64,
}

/// The results that one run moved out.
type Takings = BTreeMap<(OffloadName, Option<String>), u64>;

/// How often each content was moved out of which results, and how often it was put back.
#[derive(Debug, Default)]
pub struct TakenResults {
    calls: HashMap<String, HashMap<Option<String>, Times>>,
    /// Contents that were put back without a record.
    unknown: HashSet<String>,
}

#[derive(Debug, Default)]
struct Times {
    taken: u64,
    put_back: u64,
}

/// Adds what a run took out.
fn add_taken(folder: &Folder, takings: &Takings) -> Result<()> {
    let lines = takings.iter().map(|((name, call), times)| {
        let line = TakenLine { file: name.to_string(), call: call.clone(), times: *times };
        // Texts and a number are always JSON.
        serde_json::to_string(&line).unwrap_or_default()
    });
    add_lines(folder, TAKEN, lines)
}

/// Adds lines to a file of the folder.
fn add_lines(folder: &Folder, name: &str, lines: impl Iterator<Item = String>) -> Result<()> {
    let path = folder.path.join(name);
    let mut file = folder.open(name, OFlags::RDWR | OFlags::CREATE | OFlags::APPEND)?;
    // A killed run may have left half a line.
    let begin = if ends_line(&file).or_cannot("read", &path)? { "" } else { "\n" };
    let new: String = lines.map(|line| line + "\n").collect();
    let written = file.write_all((begin.to_owned() + &new).as_bytes());
    written.and_then(|()| os::sync(&file)).or_cannot("write", &path)
}

/// The text of a file of the folder; empty without one.
fn read_text(folder: &Folder, name: &str) -> Result<String> {
    let mut text = String::new();
    if let Some(mut file) = if_there(folder.open(name, OFlags::RDONLY))? {
        file.read_to_string(&mut text).or_cannot("read", &folder.path.join(name))?;
    }
    Ok(text)
}

impl TakenResults {
    /// Counts one more result, without writing anything: this is a preview.
    pub fn take(&mut self, file: &OffloadedFile, call: Option<&str>) {
        let calls = self.calls.entry(file.name.to_string()).or_default();
        calls.entry(call.map(str::to_owned)).or_default().taken += 1;
    }

    /// Starts over at the beginning of the session.
    pub fn begin(&mut self) {
        self.unknown.clear();
        let times = self.calls.values_mut().flat_map(HashMap::values_mut);
        times.for_each(|times| times.put_back = 0);
    }

    /// Whether the content may be put into one more result of that call: as often as it was moved
    /// out of such results, or once if there is no record.
    pub fn put_back(&mut self, file: &OffloadedFile, call: Option<&str>) -> bool {
        let name = file.name.to_string();
        let Some(calls) = self.calls.get_mut(&name) else {
            return self.unknown.insert(name);
        };
        let Some(times) = calls.get_mut(&call.map(str::to_owned)) else {
            return false;
        };
        times.put_back += 1;
        times.put_back <= times.taken
    }
}

const SOURCES: &str = "sources.jsonl";

/// Adds transcripts that are not listed yet. Each has a line: its path as a JSON string, or
/// `null` when that is not known.
fn add_sources(folder: &Folder, transcripts: &[Option<&Path>]) -> Result<()> {
    let text = read_text(folder, SOURCES)?;
    let mut known: HashSet<String> = text.lines().map(str::to_owned).collect();
    // A path that is not UTF-8 cannot be written down, so it counts as unknown.
    let paths = transcripts.iter().map(|path| path.and_then(Path::to_str));
    let lines = paths.map(|path| serde_json::Value::from(path).to_string());
    add_lines(folder, SOURCES, lines.filter(|line| known.insert(line.clone())))
}

/// The transcripts; `None` when the path of one is not known.
pub(super) fn read_sources(folder: &Folder) -> Result<Option<Vec<PathBuf>>> {
    let text = read_text(folder, SOURCES)?;
    Ok(text.lines().map(|line| serde_json::from_str(line).ok()).collect())
}
