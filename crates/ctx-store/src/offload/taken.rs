//! `taken.jsonl`: what was taken out of the results of a session, and how often. Anybody who
//! writes into a session can write what looks like a reference to a file of ours; what was
//! never taken out of that result is not put into it, or a few lines would become gigabytes.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::folder::Folder;
use super::{OffloadName, OffloadedFile};
use crate::error::{Naming, StoreError};
use crate::files::if_there;
use crate::{SessionId, Store};

const NAME: &str = "taken.jsonl";

/// A line of the file.
#[derive(Serialize, Deserialize)]
struct Line {
    /// The name of the file that holds it.
    file: String,
    /// The id of the call whose result it was, where the format has one.
    call: Option<String>,
    /// How often, in one run.
    times: u64,
}

/// What one run took out.
pub(super) type Takings = BTreeMap<(OffloadName, Option<String>), u64>;

/// How often each content was taken out of which results, and how much of that was put back.
#[derive(Debug, Default)]
pub struct Taken {
    calls: HashMap<String, HashMap<Option<String>, Times>>,
    /// What was put back although nothing tells that it was taken out.
    unknown: HashSet<String>,
}

#[derive(Debug, Default)]
struct Times {
    taken: u64,
    put_back: u64,
}

/// Adds what a run took out.
pub(super) fn add(folder: &Folder, takings: &Takings) -> Result<(), StoreError> {
    let path = folder.path().join(NAME);
    let mut file = folder.open(NAME, OFlags::RDWR | OFlags::CREATE | OFlags::APPEND)?;
    let mut new = String::new();
    if is_torn(&file).naming("read", &path)? {
        new.push('\n');
    }
    for ((name, call), times) in takings {
        let line = Line {
            file: name.to_string(),
            call: call.clone(),
            times: *times,
        };
        // Of texts and a number: it is always JSON.
        new.push_str(&serde_json::to_string(&line).unwrap_or_default());
        new.push('\n');
    }
    file.write_all(new.as_bytes())
        .and_then(|()| file.sync_all())
        .naming("write", &path)
}

/// Whether the last line has no end.
fn is_torn(file: &File) -> io::Result<bool> {
    let Some(last) = file.metadata()?.len().checked_sub(1) else {
        return Ok(false);
    };
    let mut byte = [0];
    file.read_exact_at(&mut byte, last)?;
    Ok(byte != *b"\n")
}

impl Store {
    /// What was taken out of the results of a session.
    pub fn taken(&self, session: &SessionId) -> Result<Taken, StoreError> {
        let mut taken = Taken::default();
        let Some(folder) = if_there(Folder::of_session(self, session))? else {
            return Ok(taken);
        };
        let mut text = String::new();
        if let Some(mut file) = if_there(folder.open(NAME, OFlags::RDONLY))? {
            file.read_to_string(&mut text)
                .naming("read", &folder.path().join(NAME))?;
        }
        // A line that is none was torn, and what it was to tell was never put into a session.
        let lines = text.lines().map(serde_json::from_str::<Line>);
        for line in lines.filter_map(Result::ok) {
            let calls = taken.calls.entry(line.file).or_default();
            calls.entry(line.call).or_default().taken += line.times;
        }
        Ok(taken)
    }
}

impl Taken {
    /// Something more is taken out, though nothing is written: this is a preview.
    pub fn take(&mut self, file: &OffloadedFile, call: Option<&str>) {
        let calls = self.calls.entry(file.name.to_string()).or_default();
        calls.entry(call.map(str::to_owned)).or_default().taken += 1;
    }

    /// The session is read from its beginning: nothing is put back yet.
    pub fn begin(&mut self) {
        self.unknown.clear();
        let times = self.calls.values_mut().flat_map(HashMap::values_mut);
        times.for_each(|times| times.put_back = 0);
    }

    /// Whether what the file holds may be put into one more result of that call: it is as
    /// often as it was taken out of such results, and where nothing tells of it, once.
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
