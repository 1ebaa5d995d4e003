//! Builds the rows of the session list, and formats them as a table, as JSON, or as bare paths.
//! Each row of the list says whether the session needs a compaction. The JSON keys are a contract:
//! keys may be added but are never removed.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use chrono::{DateTime, SecondsFormat};
use ctx_cli::{
    Io, Listing, cut_to_width, json_line, percent, printable, short_bytes, short_count, short_time,
};
use ctx_policy::trigger::{Step, Triggers};
use serde::Serialize;

use crate::content::Content;
use crate::find::{Mark, SessionFile};

/// The options that apply to every row.
pub(crate) struct RowOptions {
    /// The triggers that determine whether a session needs a compaction.
    pub triggers: Triggers,
    /// The current time.
    pub now: SystemTime,
}

/// A row of the list: a session, or a packed file whose content is unknown.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The agent whose folder contains the file, such as `openclaw`, or else the dialect.
    pub agent: String,
    /// The path, which is not necessarily valid UTF-8.
    #[serde(serialize_with = "shown")]
    pub path: PathBuf,
    /// The content of the file, or `None` if the file is packed.
    #[serde(flatten)]
    pub content: Option<Content>,
    /// The context's token count. The JSON output contains the `tokens` from `content` instead, or
    /// null if the content is unknown.
    #[serde(skip_serializing_if = "Option::is_some")]
    pub tokens: Option<u64>,
    /// The size of the window in tokens, or null if it is unknown.
    pub window: Option<u64>,
    /// The context's token count, divided by the size of the window in tokens.
    pub share: Option<f64>,
    /// The size of the file in bytes.
    pub bytes: u64,
    /// When the file last changed.
    pub modified: Option<String>,
    /// The number of seconds since the file last changed, or 0 if that time is in the future.
    pub age: u64,
    /// True if the session needs a compaction, or null if that is unknown.
    pub due: Option<bool>,
    /// What the policy requires: `none`, `flush` or `compact`.
    pub step: Option<&'static str>,
    /// True if the file is compressed with zstd.
    pub packed: bool,
    #[serde(skip)]
    mark: Mark,
}

impl Row {
    /// Creates the row of a session file.
    pub(crate) fn of(found: &SessionFile, content: Option<&Content>, options: &RowOptions) -> Self {
        let state = content.map(|content| due_step(content, &options.triggers));
        let (window, step) = state.unwrap_or_default();
        let tokens = content.map(|content| content.context_tokens);
        let (seconds, nanoseconds) = found.mark.modified;
        let modified = DateTime::from_timestamp(seconds, u32::try_from(nanoseconds).unwrap_or(0));
        let dialect = content.map(|content| content.dialect.as_str());
        // The file may be in the folder of an agent that did not write it.
        let is_own = |agent: &&str| {
            let written = if *agent == "openclaw" { "pi" } else { *agent };
            dialect.is_none_or(|dialect| dialect == written)
        };
        let agent = found.agent.filter(is_own);
        Self {
            agent: agent.or(dialect).unwrap_or("codex").to_owned(),
            path: found.path.clone(),
            content: content.cloned(),
            tokens,
            window,
            share: tokens
                .zip(window.filter(|window| *window > 0))
                .map(|(tokens, window)| tokens as f64 / window as f64),
            bytes: found.mark.size,
            modified: modified.map(|time| time.to_rfc3339_opts(SecondsFormat::Millis, true)),
            age: found.mark.age(options.now).map_or(0, |age| age.as_secs()),
            due: step.map(|step| step == Step::Compact),
            step: step.map(Step::into),
            packed: found.is_packed,
            mark: found.mark,
        }
    }
}

/// Sorts the rows by time, newest first. Rows with the same time are sorted by path.
pub(crate) fn sort(rows: &mut [Row]) {
    rows.sort_by(|a, b| {
        let by_time = b.mark.modified.cmp(&a.mark.modified);
        by_time.then_with(|| a.path.cmp(&b.path))
    });
}

fn shown<S: serde::Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

/// Returns the size of the window and the action that `triggers` require. An unknown size is
/// `None`, and so is an action that depends on it. A window set in the triggers takes precedence
/// over the session's own.
fn due_step(content: &Content, triggers: &Triggers) -> (Option<u64>, Option<Step>) {
    let window = triggers.window.or(content.recorded_window);
    let mut triggers = Triggers { window, ..*triggers };
    let needs_window = triggers.share.is_some() || triggers.reserve.is_some();
    let is_open = needs_window && window.is_none();
    if is_open {
        (triggers.share, triggers.reserve) = (None, None);
    }
    let due = triggers.check(&content.size());
    let is_answered = !is_open || due.step == Step::Compact || due.held_back.is_some();
    (window, is_answered.then_some(due.step))
}

/// The format of the list. By default, the list is a table.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct ListFormat {
    /// List the id and the path instead of the title
    #[cfg_attr(feature = "clap", arg(short, long, alias = "long"))]
    pub list: bool,
    /// Print one JSON object per session
    #[cfg_attr(feature = "clap", arg(long, conflicts_with = "list"))]
    pub json: bool,
    /// Print only the paths, one per line
    #[cfg_attr(feature = "clap", arg(long, conflicts_with_all = ["list", "json"]))]
    pub paths_only: bool,
    /// Print only the paths, separated by NUL, for xargs -0
    #[cfg_attr(feature = "clap", arg(short = '0', long, conflicts_with_all = ["list", "json", "paths_only"]))]
    pub null: bool,
}

impl ListFormat {
    /// Formats the rows as a list. The short table is cut to the width of the terminal.
    pub fn of(self, rows: &[Row], io: &Io) -> Vec<u8> {
        let paths = rows.iter().map(|row| &row.path);
        if self.null {
            paths.flat_map(|it| [operand(it).as_os_str().as_bytes(), b"\0"].concat()).collect()
        } else if self.paths_only {
            paths.flat_map(|it| [path_to_show(it).as_bytes(), b"\n"].concat()).collect()
        } else if self.json {
            rows.iter().map(json_line).collect::<String>().into_bytes()
        } else if rows.is_empty() {
            Vec::new()
        } else {
            table(rows, self.list, io).into_bytes()
        }
    }
}

/// Returns the path to print, as a user would type it.
fn path_to_show(path: &Path) -> String {
    printable(&operand(path).to_string_lossy())
}

/// Returns the path as an operand for another tool. The operand is never mistaken for a flag.
fn operand(path: &Path) -> PathBuf {
    if path.as_os_str().as_bytes().starts_with(b"-") {
        Path::new(".").join(path)
    } else {
        path.to_owned()
    }
}

/// The text of a table cell that has no value.
const NOTHING: &str = "-";
/// The text of a table cell whose value is unknown.
const UNKNOWN: &str = "?";
/// The terminal's width is divided by this number to get the maximum width of a project name.
const PROJECT_PART: usize = 5;

/// Returns a table with headings. The long form is not cut to the width of the terminal.
fn table(rows: &[Row], is_long: bool, io: &Io) -> String {
    let last = if is_long { "ID|PATH" } else { "TITLE" };
    let mut listing =
        Listing::new(&format!("AGENT|PROJECT|>AGE|>MESSAGES|>TOKENS|>WINDOW|>SIZE|DUE|{last}"));
    let width = io.columns().filter(|_| !is_long);
    // A long name must leave space for the columns after it.
    let most_of_project = width.map_or(usize::MAX, |width| width / PROJECT_PART);
    for row in rows {
        let mut cells = cells(row, most_of_project);
        if is_long {
            cells.extend([id(row), path_to_show(&row.path)]);
        } else {
            cells.push(title(row));
        }
        listing.push(cells);
    }
    listing.painted(width, io)
}

/// Returns the session's id, as assigned by the agent.
fn id(row: &Row) -> String {
    let content = row.content.as_ref();
    let id = content.and_then(|it| it.session.as_deref());
    id.map_or_else(|| NOTHING.to_owned(), printable)
}

/// Returns the title of the session, or else its first request.
fn title(row: &Row) -> String {
    let content = row.content.as_ref();
    match content.and_then(|it| it.title.as_deref().or(it.ask.as_deref())) {
        Some(title) => printable(title),
        None if row.packed => "(packed: unpack with zstd -d)".to_owned(),
        None => NOTHING.to_owned(),
    }
}

/// Returns the cells that appear in both the short and the long form of the table.
fn cells(row: &Row, most_of_project: usize) -> Vec<String> {
    let content = row.content.as_ref();
    let nothing = || NOTHING.to_owned();
    let project = content.and_then(|it| Path::new(it.folder.as_deref()?).file_name());
    let tokens = row.tokens.map(|tokens| {
        let is_estimate = content.is_some_and(|content| content.recorded.is_none());
        let mark = if is_estimate { "~" } else { "" };
        format!("{mark}{}", short_count(tokens))
    });
    let window = match (row.tokens, row.window) {
        (Some(tokens), Some(window)) => percent(tokens, window),
        (Some(_), None) => UNKNOWN.to_owned(),
        (None, _) => nothing(),
    };
    let due = match row.step {
        Some("compact") => "due",
        Some("flush") => "flush",
        Some(_) => "",
        None if row.packed => NOTHING,
        None => UNKNOWN,
    };
    vec![
        row.agent.clone(),
        project.map_or_else(nothing, |name| {
            cut_to_width(&printable(&name.to_string_lossy()), most_of_project)
        }),
        short_time(Duration::from_secs(row.age)),
        content.map_or_else(nothing, |it| it.messages.to_string()),
        tokens.unwrap_or_else(nothing),
        window,
        short_bytes(row.bytes),
        due.to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use ctx_policy::share::Share;
    use ctx_policy::trigger::{Step, Triggers};

    use super::due_step;
    use crate::Content;

    #[test]
    fn without_a_window_a_share_decides_nothing() {
        let of = |triggers: &Triggers, recorded_window| {
            let content =
                Content { messages: 90, context_tokens: 86, recorded_window, ..Content::default() };
            due_step(&content, triggers)
        };
        let share = Triggers { share: Some(Share::of_percent(80)), ..Triggers::default() };
        assert_eq!(of(&share, Some(100)).1, Some(Step::Compact));
        assert_eq!(of(&share, Some(200)).1, Some(Step::None));
        assert_eq!(of(&share, None).1, None);
        let messages = Triggers { messages: Some(80), ..share };
        assert_eq!(of(&messages, None).1, Some(Step::Compact));
        let window = Triggers { window: Some(100), ..share };
        assert_eq!(of(&window, Some(200)).0, Some(100));
    }
}
