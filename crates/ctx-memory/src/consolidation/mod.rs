//! A consolidation of the memory of a store: the files are read, what is to be is made of them, and
//! it is written, never over somebody's edit.
//!
//! The memory files come first, then the master, then the log of the day, then what the next run
//! has to know. A run that is killed in between loses nothing: what it replaces is kept before
//! ([`Store::keep_version`]), and the next one goes on from what it finds.

mod run;
#[cfg(test)]
mod tests;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashSet;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use chrono::{Days, NaiveDate};
use ctx_store::{Store, StoreError, open_plain};

use crate::consolidate::{After, Answer, Before, Daily, KINDS, Report, Rules, State, consolidate};
use crate::file_name;

/// The consolidation of a store.
pub struct Consolidation<'a> {
    store: &'a Store,
    max_tokens: u64,
    count: &'a dyn Fn(&str) -> u64,
    /// Which sessions were extracted on which days; read when it is asked for.
    extracted: OnceCell<HashSet<(Option<String>, NaiveDate)>>,
    /// Why that could not be read.
    unread: Cell<Option<StoreError>>,
    /// What a model made of the topics.
    answer: RefCell<Option<Answer>>,
}

/// A file that is to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its name below the store.
    pub name: String,
    /// What it holds; nothing where there is none.
    pub old: Vec<u8>,
    /// What it is to hold.
    pub new: Vec<u8>,
}

/// What is to be done, or was.
#[derive(Clone, Debug, Default)]
pub struct Consolidated {
    /// The files that change.
    pub changes: Vec<Change>,
    /// What was counted.
    pub report: Report,
    /// Files that hold what people wrote and killed runs took out: [`ctx_store::SharedFile::edits`].
    pub edits: Vec<PathBuf>,
}

/// What the master is called.
const MASTER: &str = "master.md";

impl<'a> Consolidation<'a> {
    /// Of this store; the master has at most so many tokens.
    pub fn new(store: &'a Store, max_tokens: u64, count: &'a dyn Fn(&str) -> u64) -> Self {
        Self {
            store,
            max_tokens,
            count,
            extracted: OnceCell::new(),
            unread: Cell::new(None),
            answer: RefCell::new(None),
        }
    }

    /// What is to be done. Nothing is written.
    pub fn plan(&self) -> Result<Consolidated, StoreError> {
        let (before, after) = self.look()?;
        Ok(Consolidated {
            changes: changes(&before, &after),
            report: after.report,
            edits: Vec::new(),
        })
    }

    fn look(&self) -> Result<(Before, After), StoreError> {
        let read = |name: &str| read(&self.store.memory().join(name));
        let [one, two, three] = KINDS.map(|kind| read(&format!("extracted/{}", file_name(kind))));
        let before = self.before([one?, two?, three?], read("summary/master.md")?)?;
        let after = self.after(&before)?;
        Ok((before, after))
    }

    fn before(&self, files: [Vec<u8>; 3], master: Vec<u8>) -> Result<Before, StoreError> {
        Ok(Before {
            files,
            daily: self.logs()?,
            master,
            state: self.state()?,
        })
    }

    /// A damaged one is as good as none.
    fn state(&self) -> Result<State, StoreError> {
        let text = self.store.read_consolidated()?;
        let mut state = text
            .and_then(|text| State::parse(&text))
            .unwrap_or_default();
        if let Some(answer) = &*self.answer.borrow() {
            state.take_answer(answer);
        }
        Ok(state)
    }

    fn after(&self, before: &Before) -> Result<After, StoreError> {
        let rules = Rules {
            max_tokens: self.max_tokens,
            count: self.count,
            extracted: &|session, day| self.was_extracted(session, day),
        };
        let after = consolidate(before, &rules);
        self.unread.take().map_or(Ok(after), Err)
    }

    fn logs(&self) -> Result<Vec<Daily>, StoreError> {
        let logs = self.store.logs()?.into_iter();
        Ok(logs.map(|(name, bytes)| Daily { name, bytes }).collect())
    }

    /// Whether items of a session were merged on a day; of a merge at midnight the day before.
    fn was_extracted(&self, session: &str, day: NaiveDate) -> bool {
        let all = self.extracted.get_or_init(|| {
            let mut all = HashSet::new();
            let read = self.store.each_event(|event| {
                if event.op == "extract" {
                    all.insert((event.session, event.time.date_naive()));
                }
            });
            self.unread.set(read.err());
            all
        });
        let days = [Some(day), day.checked_sub_days(Days::new(1))];
        days.into_iter()
            .flatten()
            .any(|day| all.contains(&(Some(session.to_owned()), day)) || all.contains(&(None, day)))
    }
}

/// The files that differ.
fn changes(before: &Before, after: &After) -> Vec<Change> {
    let names = KINDS.map(|kind| format!("memory/extracted/{}", file_name(kind)));
    let files = names.into_iter().zip(before.files.iter().zip(&after.files));
    let master = (
        format!("memory/summary/{MASTER}"),
        (&before.master, &after.master),
    );
    let all = files.chain([master]);
    let changed = all.filter(|(_, (old, new))| old != new);
    changed
        .map(|(name, (old, new))| Change {
            name,
            old: old.clone(),
            new: new.clone(),
        })
        .collect()
}

/// The bytes of a file of the store; none where there is no file.
fn read(path: &Path) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::new();
    match open_plain(path).and_then(|mut file| file.read_to_end(&mut bytes)) {
        Ok(_) => Ok(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(cannot_read(path, error)),
    }
}

fn cannot_read(path: &Path, source: io::Error) -> StoreError {
    StoreError::Io {
        action: "read",
        path: path.to_owned(),
        source,
    }
}
