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
use crate::find::{Mark, SessionFile, id_of_name};

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
    /// The shortest beginning of the session's id that stands for no other session.
    #[serde(skip)]
    pub short_id: Option<String>,
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
            let written = if matches!(*agent, "oh-my-pi" | "openclaw") { "pi" } else { *agent };
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
            short_id: None,
            mark: found.mark,
        }
    }
}

/// The minimum length of a short id, which stays unique while a few thousand sessions are added. A
/// word that begins all ids of an agent, such as `session_`, does not count.
const SHORTEST_ID: usize = 8;

/// Sets the short id of each row that has an id.
pub(crate) fn shorten_ids(rows: &mut [Row]) {
    // The id of a packed session is only in its name.
    let id_of = |row: &Row| match &row.content {
        Some(content) => content.session.clone(),
        None => id_of_name(&row.path).filter(|id| !id.starts_with("rollout")).map(Into::into),
    };
    let mut ids: Vec<String> = rows.iter().filter_map(id_of).collect();
    ids.sort();
    ids.dedup();
    let same = |a: &str, b: &str| a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    for row in rows {
        let Some(id) = id_of(row) else { continue };
        let at = ids.partition_point(|it| *it < id);
        let neighbours = [at.checked_sub(1), Some(at + 1)].into_iter().flatten();
        let shared = neighbours.filter_map(|at| Some(same(ids.get(at)?, &id))).max();
        let shortest = id.find('_').map_or(0, |end| end + 1) + SHORTEST_ID;
        let length = shared.map_or(shortest, |shared| shortest.max(shared + 1));
        row.short_id = Some(id.chars().take(length).collect());
    }
}

/// Sorts the rows by time, newest first. Rows with the same time are sorted by path.
pub(crate) fn sort(rows: &mut [Row]) {
    rows.sort_by(|a, b| (b.mark.modified, &a.path).cmp(&(a.mark.modified, &b.path)));
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
#[derive(clap::Args, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListFormat {
    /// Show the size, the path and the full id of each session in a second line
    #[arg(short, long, alias = "long")]
    pub list: bool,
    /// Print one JSON object per session
    #[arg(long, conflicts_with = "list")]
    pub json: bool,
    /// Print only the paths, one per line
    #[arg(long, conflicts_with_all = ["list", "json"])]
    pub paths_only: bool,
    /// Print only the paths, separated by NUL, for xargs -0
    #[arg(short = '0', long, conflicts_with_all = ["list", "json", "paths_only"])]
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
const PROJECT_PART: usize = 6;

/// Returns a table with headings. The long form has a second line for each session.
fn table(rows: &[Row], is_long: bool, io: &Io) -> String {
    let mut listing = Listing::new("ID|AGENT|PROJECT|>AGE|>MESSAGES|>TOKENS|>WINDOW|DUE|TITLE");
    let width = io.columns();
    // A long name must leave space for the columns after it.
    let most_of_project = width.map_or(usize::MAX, |width| width / PROJECT_PART);
    for row in rows {
        listing.push(cells(row, most_of_project));
    }
    let table = listing.painted(width, io);
    if !is_long {
        return table;
    }
    let home = width.and_then(|_| std::env::home_dir());
    let places = rows.iter().map(|row| format!("\n  {}", file(row, home.as_deref())));
    let places = [String::new()].into_iter().chain(places);
    table.lines().zip(places).map(|(line, place)| [line, &place, "\n"].concat()).collect()
}

/// Returns the size and the path of a session's file. A path below `home` is shortened. The id is
/// added, unless the path contains it.
fn file(row: &Row, home: Option<&Path>) -> String {
    let below = home.and_then(|home| row.path.strip_prefix(home).ok());
    let path = below.map(|path| Path::new("~").join(path));
    let path = path_to_show(path.as_ref().unwrap_or(&row.path));
    let id = row.content.as_ref().and_then(|it| it.session.as_deref());
    let id = id.map(printable).filter(|id| !path.contains(id)).map(|id| id + "  ");
    format!("{:>4}  {}{path}", short_bytes(row.bytes), id.unwrap_or_default())
}

/// Returns the title of the session, or else its first request.
fn title(row: &Row) -> String {
    match row.content.as_ref().and_then(|it| it.title.as_deref().or(it.ask.as_deref())) {
        Some(title) => printable(title),
        None if row.packed => "(packed: unpack with zstd -d)".to_owned(),
        None => NOTHING.to_owned(),
    }
}

/// Returns the cells of a row of the table.
fn cells(row: &Row, most_of_project: usize) -> [String; 9] {
    let content = row.content.as_ref();
    let nothing = || NOTHING.to_owned();
    let project = content.and_then(|it| Path::new(it.folder.as_deref()?).file_name());
    let tokens = row.tokens.map(|tokens| {
        let mark = if content.is_some_and(|content| content.recorded.is_none()) { "~" } else { "" };
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
    [
        row.short_id.as_deref().map_or_else(nothing, printable),
        row.agent.clone(),
        project.map_or_else(nothing, |name| {
            cut_to_width(&printable(&name.to_string_lossy()), most_of_project)
        }),
        short_time(Duration::from_secs(row.age)),
        content.map_or_else(nothing, |it| it.messages.to_string()),
        tokens.unwrap_or_else(nothing),
        window,
        due.to_owned(),
        title(row),
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
