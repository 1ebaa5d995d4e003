//! Finds the sessions to list, builds their rows, and collects warnings.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use chrono::{DateTime, Utc};
use clap::builder::{OsStringValueParser, TypedValueParser as _};
use ctx_cli::in_parallel;
use ctx_engine::message_counter::MessageCounter;
use ctx_format::dialect::Opencode;
use ctx_format::{Dialect, counted};
use ctx_policy::trigger::Triggers;
use ctx_store::Store;
use ctx_tokens::Encoding;

use crate::content::{Index, Reading, read};
use crate::find::{AgentFolder, Finds, SessionFile, find, id_of_name};
use crate::list::{Row, RowOptions, shorten_ids, sort};

/// Which sessions to list. If `project` is not an absolute path, it is a project name.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Query {
    /// Session files, folders or ids to list [default: the folders of all agents]
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// List only sessions of this agent or dialect (can be repeated)
    #[arg(long, value_name = "NAME", value_delimiter = ',',
        value_parser = clap::builder::PossibleValuesParser::new(agents()))]
    pub agent: Vec<String>,
    /// List only sessions of this project, given by name or folder (. is the current folder)
    ///
    /// The name of a project is the name of the folder in which the agent works. If the value
    /// contains a slash, or is . or .., it is a path, and sessions in the folders below it are also
    /// listed.
    #[arg(long, value_name = "NAME|DIR",
        value_hint = clap::ValueHint::DirPath, value_parser = OsStringValueParser::new().map(whole_project))]
    pub project: Option<PathBuf>,
    /// List only sessions that need a compaction
    #[arg(long)]
    pub due: bool,
    /// List only sessions that changed since TIME, such as 12h, 7d or yesterday
    #[arg(long, value_name = "TIME", value_parser = since)]
    pub since: Option<DateTime<Utc>>,
    /// List only the N newest of these sessions
    #[arg(long, value_name = "N")]
    pub limit: Option<NonZeroUsize>,
    /// Also list the files of subagents
    #[arg(long)]
    pub subagents: bool,
    /// Read N files at a time [default: one per core]
    #[arg(short, long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}

/// Makes the project absolute if it is a path.
fn whole_project(named: std::ffi::OsString) -> PathBuf {
    let text = named.as_encoded_bytes();
    let is_path = text.contains(&b'/') || text == b"." || text == b"..";
    let named = PathBuf::from(named);
    let whole = || std::fs::canonicalize(&named).or_else(|_| std::path::absolute(&named));
    is_path.then(whole).and_then(Result::ok).unwrap_or(named)
}

/// Parses a time, or a length of time before now, in which `m` stands for minutes.
fn since(text: &str) -> Result<DateTime<Utc>, ctx_store::WhenError> {
    let now = Utc::now();
    let span = text.parse::<ctx_policy::duration::FixedSpan>().ok();
    let time =
        span.and_then(|span| now.checked_sub_signed(chrono::TimeDelta::from_std(span.0).ok()?));
    time.map_or_else(|| ctx_store::When::parse(text, now).map(|when| when.start), Ok)
}

/// Returns the names that `--agent` accepts: the agents whose folders are known, and all dialects.
fn agents() -> Vec<&'static str> {
    let mut names: Vec<&str> = ctx_format::dialect::ALL.map(ctx_format::Dialect::name).into();
    names.extend(crate::find::AGENTS);
    names.sort_unstable();
    names.dedup();
    names
}

impl Query {
    /// Lists the sessions, and also returns the updated index. Reuses the results in the store's
    /// index that are still valid.
    pub fn list(&self, store: Option<&Store>, triggers: Triggers) -> (Listed, Index) {
        let index = store.and_then(Store::read_session_index);
        let index = Index::parse(&index.unwrap_or_default());
        let options = RowOptions { triggers, now: SystemTime::now() };
        let places = self.places();
        let finds = find(&self.paths, &places, self.subagents);
        let paths = unread(&finds, &index);
        let (counter, temp) = (MessageCounter::new(Encoding::default()), std::env::temp_dir());
        let readings: Vec<io::Result<_>> =
            in_parallel(&paths, self.jobs, |path| read(path, &temp, counter, options.now));
        let readings = paths.into_iter().zip(readings).collect();
        let (mut listed, index) = self.rows(finds, index, readings, &options);
        listed.rows.retain(|row| self.shows(row));
        listed.rows.truncate(self.limit.map_or(usize::MAX, NonZeroUsize::get));
        listed.looked_in = if self.paths.is_empty() {
            places.into_iter().map(|place| place.folder).collect()
        } else {
            self.paths.clone()
        };
        (listed, index)
    }

    /// Builds the list, and the index for the next run. `readings` holds the results for the files
    /// that are not in the index.
    fn rows(
        &self,
        finds: Finds,
        mut index: Index,
        readings: Vec<(PathBuf, io::Result<Reading>)>,
        options: &RowOptions,
    ) -> (Listed, Index) {
        let Finds { files, unreadable, failed, helpers } = finds;
        let mut listed = Listed { unreadable, failed, helpers, ..Listed::default() };
        let mut fresh = HashMap::new();
        for (path, reading) in readings {
            match reading {
                Ok(reading) => {
                    index.put(&path, &reading);
                    fresh.insert(path, reading);
                }
                Err(error) if self.paths.contains(&path) => listed.failed.push((path, error)),
                // Ignore a file that was deleted after it was found.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => listed.unreadable.push((path, error)),
            }
        }
        for mut found in files {
            if found.is_packed {
                listed.rows.push(Row::of(&found, None, options));
                continue;
            }
            let content = match fresh.get(&found.path) {
                Some(reading) => {
                    found.mark = reading.mark;
                    Some(reading.content.as_ref())
                }
                None => index.get(&found.path, &found.mark),
            };
            match content {
                Some(Some(content)) => listed.rows.push(Row::of(&found, Some(content), options)),
                Some(None) => listed.foreign.push(found.path),
                // Skip a file that could not be read.
                None => {}
            }
        }
        sort(&mut listed.rows);
        shorten_ids(&mut listed.rows);
        index.forget_vanished();
        (listed, index)
    }

    /// Returns the folders of the agents whose sessions are to be listed. If the user named paths,
    /// returns the folders of all agents, because these folders show which agent each path belongs
    /// to.
    fn places(&self) -> Vec<AgentFolder> {
        let mut places = AgentFolder::usual(|name| std::env::var_os(name));
        if self.paths.is_empty() && !self.agent.is_empty() {
            places.retain(|place| self.agent.iter().any(|agent| agent == place.agent));
        }
        places
    }

    fn is_of_project(&self, row: &Row) -> bool {
        let Some(project) = &self.project else { return true };
        let content = row.content.as_ref();
        let folder = content.and_then(|content| content.folder.as_deref());
        folder.map(Path::new).is_some_and(|folder| {
            if project.is_absolute() {
                folder.starts_with(project)
            } else {
                folder.file_name() == Some(project.as_os_str())
            }
        })
    }

    fn shows(&self, row: &Row) -> bool {
        let is_asked = self.agent.is_empty() || self.agent.contains(&row.agent);
        let is_new =
            self.since.is_none_or(|since| Utc::now() - Duration::from_secs(row.age) >= since);
        is_asked && is_new && self.is_of_project(row) && (!self.due || row.due == Some(true))
    }
}

/// Returns the sessions of all agents on this machine whose id is `id` or begins with it. The id is
/// the one in the list or in the name of the file.
pub fn sessions_of_id(id: &str, store: Option<&Store>) -> Vec<PathBuf> {
    let query = Query { subagents: true, ..Query::default() };
    let rows = query.list(store, Triggers::default()).0.rows.into_iter();
    let is_of = |row: &Row| {
        let listed = row.content.as_ref().and_then(|content| content.session.as_deref());
        [listed, id_of_name(&row.path)].into_iter().flatten().any(|known| known.starts_with(id))
    };
    rows.filter(is_of).map(|row| row.path).collect()
}

/// The result of a query.
#[derive(Debug, Default)]
pub struct Listed {
    /// The rows, newest first.
    pub rows: Vec<Row>,
    /// Files that are not sessions.
    pub foreign: Vec<PathBuf>,
    /// Paths that could not be read, except those that the user named.
    pub unreadable: Vec<(PathBuf, io::Error)>,
    /// Paths that the user named but that could not be read.
    pub failed: Vec<(PathBuf, io::Error)>,
    /// The number of subagents' files that were skipped.
    pub helpers: usize,
    /// The files and folders that were searched.
    pub looked_in: Vec<PathBuf>,
}

/// Where opencode keeps its sessions.
const IN_DATABASE: &str = "files: opencode keeps its sessions in a database; `opencode session list` shows them, and `opencode export ID > ID.json` writes one to a file";

impl Listed {
    /// Returns warnings about skipped files and about an empty list.
    pub fn warnings(&self, query: &Query) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some(first) = self.foreign.first() {
            let files = counted(self.foreign.len() as u64, "file");
            warnings.push(format!("no session in {files}; the first: {}", first.display()));
        }
        if let Some((first, error)) = self.unreadable.first() {
            let paths = counted(self.unreadable.len() as u64, "path");
            warnings.push(format!("cannot read {paths}: {}: {error}", first.display()));
        }
        if self.rows.is_empty() && self.failed.is_empty() {
            let looked_in = self.looked_in.iter();
            let places: Vec<String> = looked_in.map(|it| it.display().to_string()).collect();
            let asked = [
                query.project.as_ref().map(|it| format!(" of project {}", it.display())),
                query.since.map(|it| it.format(" changed since %Y-%m-%d %H:%M UTC").to_string()),
                query.due.then(|| " due for a compaction".to_owned()),
            ];
            let asked: String = asked.into_iter().flatten().collect();
            let elsewhere = query.agent.iter().any(|agent| agent == Opencode.name());
            let places =
                if places.is_empty() && elsewhere { IN_DATABASE } else { &places.join(", ") };
            warnings.push(format!("no sessions{asked} in {places}"));
        }
        warnings
    }

    /// Returns a note about files that were skipped by default.
    pub fn note(&self) -> Option<String> {
        let files = counted(self.helpers as u64, "file");
        (self.helpers > 0).then(|| format!("{files} of subagents skipped; --subagents lists them"))
    }
}

/// Returns the files to read, largest first, so that all threads finish at about the same time.
fn unread(finds: &Finds, index: &Index) -> Vec<PathBuf> {
    let new = |it: &&SessionFile| !it.is_packed && index.get(&it.path, &it.mark).is_none();
    let mut files: Vec<&SessionFile> = finds.files.iter().filter(new).collect();
    files.sort_by_key(|found| Reverse(found.mark.size));
    files.iter().map(|found| found.path.clone()).collect()
}
