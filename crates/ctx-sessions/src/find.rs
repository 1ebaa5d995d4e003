//! Finds the session files on a machine without reading them, and recognizes unchanged files by
//! their size and times.
//!
//! The folders were determined from the source code of these versions of the agents: Claude Code
//! 2.1.197, Codex 0.169.0, Copilot CLI 1.0.102, pi 0.73.1 and 1.5.2, `OpenClaw` 2026.9.6, Gemini
//! CLI 0.61.0, Kimi Code 2.1.0, Qwen Code 0.24.4, oh-my-pi 18.3.4.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ctx_store::is_store;
use serde::{Deserialize, Serialize};
use walkdir::{DirEntry, WalkDir};

/// A file that may be a session, judging by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SessionFile {
    /// The path of the file.
    pub path: PathBuf,
    /// The agent whose folder contains the file, or `None` if no agent's folder contains it.
    pub agent: Option<&'static str>,
    /// The size and times of the file.
    pub mark: Mark,
    /// True if the file is compressed. The content of a compressed file is unknown.
    pub is_packed: bool,
}

/// The session files found, and the paths that could not be read.
#[derive(Debug, Default)]
pub(crate) struct Finds {
    /// The files, each listed once, in the order of the folders and sorted by name within each
    /// folder.
    pub files: Vec<SessionFile>,
    /// Folders, files and links below the searched folders that could not be read.
    pub unreadable: Vec<(PathBuf, io::Error)>,
    /// Paths that the user named but that could not be read, each with its error.
    pub failed: Vec<(PathBuf, io::Error)>,
    /// The number of subagents' files that were skipped.
    pub helpers: usize,
}

/// Finds session files in the `named` files and folders. If `named` is empty, searches the folders
/// in `places` that exist. `places` also determines which agent each file belongs to. Subagents'
/// files are included only if `with_helpers` is set or the user named them.
///
/// Follows links, but returns each file only once. Skips sockets, devices, snapshots in a store,
/// and dot files inside folders.
pub(crate) fn find(named: &[PathBuf], places: &[AgentFolder], with_helpers: bool) -> Finds {
    let mut finder = Finder { with_helpers, seen: HashSet::new(), finds: Finds::default() };
    for path in named {
        finder.named(path, places);
    }
    for place in places.iter().filter(|_| named.is_empty()) {
        finder.place(place);
    }
    finder.without_packed_twins();
    finder.finds
}

struct Finder {
    with_helpers: bool,
    seen: HashSet<(u64, u64)>,
    finds: Finds,
}

impl Finder {
    fn place(&mut self, place: &AgentFolder) {
        match fs::metadata(&place.folder) {
            Ok(_) => self.walk(&place.folder, &|_| Some(place)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => self.finds.unreadable.push((place.folder.clone(), error)),
        }
    }

    fn named(&mut self, path: &Path, places: &[AgentFolder]) {
        let of = |path: &Path| {
            let path = std::path::absolute(path).ok()?;
            places.iter().find(|place| path.starts_with(&place.folder))
        };
        let found = fs::metadata(path).and_then(|meta| {
            if meta.is_dir() {
                fs::read_dir(path)?;
                self.walk(path, &of);
            } else if meta.is_file() {
                self.add(path, of(path), &meta);
            } else {
                return Err(io::Error::other("neither a file nor a folder"));
            }
            Ok(())
        });
        self.finds.failed.extend(found.err().map(|error| (path.to_owned(), error)));
    }

    fn walk<'p>(&mut self, folder: &Path, place_of: &impl Fn(&Path) -> Option<&'p AgentFolder>) {
        let is_shown = |entry: &DirEntry| {
            let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            let is_store = || entry.file_type().is_dir() && is_store(entry.path());
            entry.depth() == 0 || !is_hidden && !is_store()
        };
        let entries = WalkDir::new(folder).follow_links(true).sort_by_file_name();
        for entry in entries.into_iter().filter_entry(is_shown) {
            if let Err(error) = entry.and_then(|entry| self.entry(&entry, place_of)) {
                self.unreadable(folder, error);
            }
        }
    }

    fn entry<'p>(
        &mut self,
        entry: &DirEntry,
        place_of: &impl Fn(&Path) -> Option<&'p AgentFolder>,
    ) -> walkdir::Result<()> {
        let path = entry.path();
        if !entry.file_type().is_file() || !is_session_name(path) {
            return Ok(());
        }
        let place = place_of(path);
        if place.is_some_and(|place| !place.may_hold(path)) {
            return Ok(());
        }
        if is_of_helper(path) && !self.with_helpers {
            self.finds.helpers += 1;
            return Ok(());
        }
        self.add(path, place, &entry.metadata()?);
        Ok(())
    }

    fn add(&mut self, path: &Path, place: Option<&AgentFolder>, meta: &Metadata) {
        // The same file may be found under several names.
        if self.seen.insert((meta.dev(), meta.ino())) {
            self.finds.files.push(SessionFile {
                path: path.to_owned(),
                agent: place.map(|it| it.agent),
                mark: Mark::of(meta),
                is_packed: is_packed(path),
            });
        }
    }

    fn unreadable(&mut self, folder: &Path, error: walkdir::Error) {
        let path = error.path().unwrap_or(folder).to_owned();
        let error = match error.into_io_error() {
            // Ignore a file that was deleted after the folder was read, but report a broken link.
            Some(error)
                if error.kind() == io::ErrorKind::NotFound
                    && fs::symlink_metadata(&path).is_err() =>
            {
                return;
            }
            Some(error) => error,
            None => io::Error::other("a link to a folder that contains it"),
        };
        self.finds.unreadable.push((path, error));
    }

    /// Drops a packed file if the same session also exists unpacked, because Codex then reads the
    /// unpacked file.
    fn without_packed_twins(&mut self) {
        let all: HashSet<PathBuf> = self.finds.files.iter().map(|it| it.path.clone()).collect();
        let is_twin = |it: &SessionFile| it.is_packed && all.contains(&it.path.with_extension(""));
        self.finds.files.retain(|it| !is_twin(it));
    }
}

/// The coarsest resolution of file times on any common file system (FAT). A file that changed more
/// recently than this may change again without a change to its times.
const TIME_STEP: Duration = Duration::from_secs(2);

/// The size, times and inode number of a file. If a file's mark has not changed, neither has its
/// content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Mark {
    /// The size in bytes.
    pub size: u64,
    /// When the content last changed, as seconds and nanoseconds since 1970.
    pub modified: (i64, i64),
    /// When the content or the metadata of the file last changed.
    pub(crate) changed: (i64, i64),
    pub(crate) device: u64,
    pub(crate) number: u64,
}

impl Mark {
    /// Returns the mark for a file with this metadata.
    pub(crate) fn of(meta: &Metadata) -> Self {
        Self {
            size: meta.len(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
            device: meta.dev(),
            number: meta.ino(),
        }
    }

    /// Returns true if the file last changed long enough before `now` for the mark to be reliable.
    pub(crate) fn is_settled(&self, now: SystemTime) -> bool {
        self.age(now).is_some_and(|age| age > TIME_STEP)
    }

    /// Returns how long before `now` the content last changed, or `None` if the modification time
    /// is in the future.
    pub(crate) fn age(&self, now: SystemTime) -> Option<Duration> {
        let now = now.duration_since(UNIX_EPOCH).ok()?;
        let seconds = u64::try_from(self.modified.0).unwrap_or(0);
        let nanoseconds = u32::try_from(self.modified.1).unwrap_or(0);
        now.checked_sub(Duration::new(seconds, nanoseconds))
    }
}

/// The names of the agents whose folders are known, as shown in the list.
pub(crate) const AGENTS: [&str; 9] =
    ["claude-code", "codex", "copilot", "gemini", "kimi", "oh-my-pi", "openclaw", "pi", "qwen"];

/// A folder in which an agent stores its sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AgentFolder {
    /// The name of the agent, as shown in the list.
    pub agent: &'static str,
    /// The folder that contains the sessions.
    pub folder: PathBuf,
}

impl AgentFolder {
    /// Returns the folders of all agents on this machine. `variable` looks up an environment
    /// variable.
    pub(crate) fn usual(variable: impl Fn(&str) -> Option<OsString>) -> Vec<Self> {
        let set = |name: &str| {
            let value = variable(name).filter(|value| !value.is_empty());
            value.map(|value| with_home(&PathBuf::from(value), variable("HOME").as_deref()))
        };
        let home = || set("HOME");
        // Returns the folder named in the environment variable `name`, or the default folder below
        // the home folder.
        let of = |name: &str, usual: &str| set(name).or_else(|| Some(home()?.join(usual)));
        let below_home_of = |name: &str, usual: &str| Some(set(name).or_else(home)?.join(usual));
        let codex = of("CODEX_HOME", ".codex");
        let openclaw =
            set("OPENCLAW_STATE_DIR").or_else(|| below_home_of("OPENCLAW_HOME", ".openclaw"));
        let of_pi = || of("PI_CODING_AGENT_DIR", ".pi/agent").map(|dir| dir.join("sessions"));
        let of_qwen = || of("QWEN_HOME", ".qwen");
        let folders = [
            ("claude-code", of("CLAUDE_CONFIG_DIR", ".claude").map(|dir| dir.join("projects"))),
            ("codex", codex.as_ref().map(|dir| dir.join("sessions"))),
            ("codex", codex.map(|dir| dir.join("archived_sessions"))),
            ("copilot", of("COPILOT_HOME", ".copilot").map(|dir| dir.join("session-state"))),
            ("gemini", below_home_of("GEMINI_CLI_HOME", ".gemini").map(|dir| dir.join("tmp"))),
            ("kimi", of("KIMI_CODE_HOME", ".kimi-code").map(|dir| dir.join("sessions"))),
            ("oh-my-pi", home().map(|home| home.join(".omp/agent/sessions"))),
            ("openclaw", openclaw.map(|dir| dir.join("agents"))),
            ("pi", set("PI_CODING_AGENT_SESSION_DIR").or_else(of_pi)),
            ("qwen", set("QWEN_RUNTIME_DIR").or_else(of_qwen).map(|dir| dir.join("projects"))),
        ];
        let places = folders.into_iter();
        places.filter_map(|(agent, folder)| Some(Self { agent, folder: folder? })).collect()
    }

    /// Returns true if a file below the folder may be one of the agent's sessions.
    pub(crate) fn may_hold(&self, path: &Path) -> bool {
        let parent = path.parent().and_then(Path::file_name);
        match self.agent {
            "copilot" => path.file_name() == Some(OsStr::new(COPILOT_FILE)),
            "gemini" => {
                let inside = path.strip_prefix(&self.folder).unwrap_or(path);
                inside.components().any(|it| it.as_os_str() == "chats")
            }
            "kimi" => kimi_session(path).is_some(),
            // There are also subagents' sessions, and lists of prompts next to the sessions.
            "qwen" => {
                let name = path.file_name().unwrap_or_default().as_encoded_bytes();
                let mut above = path.ancestors().skip(1);
                above.find(|dir| !dir.ends_with(ARCHIVE)).is_some_and(|dir| dir.ends_with("chats"))
                    && !name.ends_with(b".ledger.jsonl")
            }
            "openclaw" => parent == Some(OsStr::new("sessions")),
            _ => true,
        }
    }
}

/// Returns the folder of a session of Kimi Code, whose name is the session's id. Each agent of the
/// session has the file `agents/NAME/wire.jsonl` there.
pub(crate) fn kimi_session(path: &Path) -> Option<&Path> {
    let mut above = path.ancestors().skip(2);
    let is_agents = path.ends_with("wire.jsonl") && above.next()?.ends_with("agents");
    above.next().filter(|_| is_agents)
}

/// The name of the file in which the Copilot CLI keeps a session.
const COPILOT_FILE: &str = "events.jsonl";

/// Returns the id in the name of a session's file. Most agents use a UUID, which may follow the
/// time or another name. The Gemini CLI uses the first digits of a UUID, and the Copilot CLI names
/// the folder that contains the file after the session.
pub(crate) fn id_of_name(path: &Path) -> Option<&str> {
    const UUID: usize = 36;
    if let Some(folder) = kimi_session(path) {
        // A subagent has the same folder, and cannot be resumed.
        return folder.file_name()?.to_str().filter(|_| !is_of_helper(path));
    }
    let name = path.file_name()?.to_str()?;
    if let Some(id) = folder_id(path) {
        return Some(id);
    }
    let stem = name.split_once(".json").map_or(name, |(stem, _)| stem);
    let begin = match stem.strip_prefix("session-") {
        Some(rest) => stem.len() - rest.rsplit('-').next()?.len(),
        None => stem.len().saturating_sub(UUID),
    };
    let id = stem.get(begin..)?;
    Some(if id.chars().all(|c| c.is_ascii_hexdigit() || c == '-') { id } else { stem })
}

/// Returns the name of the folder that contains a session of the Copilot CLI; `None` for the
/// session of another agent.
pub(crate) fn folder_id(path: &Path) -> Option<&str> {
    let is_copilot = path.file_name() == Some(OsStr::new(COPILOT_FILE));
    path.parent().filter(|_| is_copilot)?.file_name()?.to_str()
}

/// Expands `~` at the beginning of a path, as the shell does, and the agents do for their
/// environment variables.
pub fn with_home(path: &Path, home: Option<&OsStr>) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => Path::new(home).join(rest),
        _ => path.to_owned(),
    }
}

/// Returns true if the file name looks like the name of an agent's session. Older Gemini CLI
/// sessions are JSON documents, and so are opencode's if they are exported to files named by id.
pub(crate) fn is_session_name(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let is_document = [&b"session-"[..], b"ses_"].iter().any(|it| name.starts_with(it))
        && name.ends_with(b".json");
    name.ends_with(b".jsonl") || is_document || is_packed(path)
}

/// Returns true if the file is compressed with zstd, as old Codex sessions are.
pub(crate) fn is_packed(path: &Path) -> bool {
    path.file_name().unwrap_or_default().as_encoded_bytes().ends_with(b".jsonl.zst")
}

/// The folder for archived sessions of Qwen Code, within the folder of the other sessions.
const ARCHIVE: &str = "archive";

/// Returns true if the file belongs to a subagent: Claude Code names it `agent-*.jsonl` or puts it
/// in `<session>/subagents/`, the Gemini CLI puts it in `chats/<session>/`, and Kimi Code in a
/// folder next to `agents/main/`.
pub(crate) fn is_of_helper(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let mut above = path.ancestors().skip(1).filter_map(Path::file_name);
    let folder = above.next();
    let may_be_in_chat =
        ![Some("chats"), Some(ARCHIVE)].map(|it| it.map(OsStr::new)).contains(&folder);
    let is_in_chat = may_be_in_chat && above.next() == Some(OsStr::new("chats"));
    let is_of_kimi = folder != Some(OsStr::new("main")) && kimi_session(path).is_some();
    name.starts_with(b"agent-")
        || folder == Some(OsStr::new("subagents"))
        || is_in_chat
        || is_of_kimi
}

/// Returns the project's folder, whose path the Gemini CLI stores in a file next to `chats`.
pub(crate) fn project_root(path: &Path) -> Option<String> {
    let chats = path.ancestors().find(|dir| dir.ends_with("chats"))?;
    let text = short_text(&chats.parent()?.join(".project_root"))?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Returns the name of a session, which the Copilot CLI stores in a file next to the session.
pub(crate) fn workspace_name(path: &Path) -> Option<String> {
    let text = short_text(&path.with_file_name("workspace.yaml"))?;
    let name = text.lines().find_map(|line| line.strip_prefix("name: "))?;
    // A name in quotes has the escapes of JSON, or none.
    let quoted = serde_json::from_str(name).ok();
    Some(quoted.unwrap_or_else(|| name.trim_matches('\'').to_owned()))
}

/// Returns the text of a file that contains no more than a few lines.
fn short_text(path: &Path) -> Option<String> {
    let mut text = String::new();
    // Such a file is always shorter than this limit.
    File::open(path).ok()?.take(1 << 16).read_to_string(&mut text).ok()?;
    Some(text)
}

/// What Kimi Code states about a session in a file of its own.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct KimiState {
    /// The folder in which the agent works.
    pub cwd: Option<String>,
    /// The title of the session.
    pub title: Option<String>,
}

/// Reads what Kimi Code states about the session of this file.
pub(crate) fn kimi_state(path: &Path) -> Option<KimiState> {
    serde_json::from_str(&short_text(&kimi_session(path)?.join("state.json"))?).ok()
}

#[cfg(test)]
mod tests;
