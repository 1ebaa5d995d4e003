//! The formats of a list: tables for people, JSON, and bare paths.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ctx_cli::{
    Align, Io, Listing, cut_to_width, json_line, percent, printable, short_bytes, short_count,
    short_time,
};

use crate::row::Row;

/// How a list is printed; without a flag as a table.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[allow(clippy::struct_excessive_bools)] // Flags are bools.
pub struct Form {
    /// List the id and the file of each, instead of its title
    #[cfg_attr(feature = "clap", arg(short, long, alias = "long"))]
    pub list: bool,
    /// Print JSON: an object per session
    #[cfg_attr(feature = "clap", arg(long, conflicts_with = "list"))]
    pub json: bool,
    /// Print only the paths, one per line
    #[cfg_attr(feature = "clap", arg(long, conflicts_with_all = ["list", "json"]))]
    pub paths_only: bool,
    /// Print only the paths, separated by NUL, for xargs -0
    #[cfg_attr(feature = "clap", arg(short = '0', long, conflicts_with_all = ["list", "json", "paths_only"]))]
    pub null: bool,
}

impl Form {
    /// The list in this format, tables fitted to `io`.
    pub fn of(self, rows: &[Row], io: &Io) -> Vec<u8> {
        if self.null || self.paths_only {
            rows.iter().flat_map(|row| self.path(&row.path)).collect()
        } else if self.json {
            rows.iter().map(json_line).collect::<String>().into_bytes()
        } else if rows.is_empty() {
            Vec::new()
        } else {
            table(rows, self.list, io).into_bytes()
        }
    }

    fn path(self, path: &Path) -> Vec<u8> {
        if self.null {
            return [operand(path).as_os_str().as_bytes(), b"\0"].concat();
        }
        [path_to_show(path).as_bytes(), b"\n"].concat()
    }
}

/// The path as people read it, and type it.
fn path_to_show(path: &Path) -> String {
    printable(&operand(path).to_string_lossy())
}

/// The path as another tool takes it: none that looks like a flag.
fn operand(path: &Path) -> PathBuf {
    if path.as_os_str().as_bytes().starts_with(b"-") {
        Path::new(".").join(path)
    } else {
        path.to_owned()
    }
}

/// Shown for a value that does not exist.
const NOTHING: &str = "-";
/// Shown for a value that is unknown.
const UNKNOWN: &str = "?";
/// Which part of a terminal the name of a project may take.
const PROJECT_PART: usize = 5;

/// The rows under a heading, no wider than the terminal; long ones are whole.
fn table(rows: &[Row], is_long: bool, io: &Io) -> String {
    let mut columns = vec![
        ("AGENT", Align::Left),
        ("PROJECT", Align::Left),
        ("AGE", Align::Right),
        ("MESSAGES", Align::Right),
        ("TOKENS", Align::Right),
        ("WINDOW", Align::Right),
        ("SIZE", Align::Right),
        ("DUE", Align::Left),
    ];
    let last = if is_long { &["ID", "PATH"][..] } else { &["TITLE"] };
    columns.extend(last.iter().map(|name| (*name, Align::Left)));
    let mut listing = Listing::new(&columns);
    let width = io.columns().filter(|_| !is_long);
    // A long name must leave room for the columns after it.
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

/// The id by which the agent knows it.
fn id(row: &Row) -> String {
    let content = row.content.as_ref();
    let id = content.and_then(|it| it.session.as_deref());
    id.map_or_else(|| NOTHING.to_owned(), printable)
}

/// The title, or else the first request.
fn title(row: &Row) -> String {
    let content = row.content.as_ref();
    match content.and_then(|it| it.title.as_deref().or(it.ask.as_deref())) {
        Some(title) => printable(title),
        None if row.packed => "(packed: zstd -d shows more)".to_owned(),
        None => NOTHING.to_owned(),
    }
}

/// The columns of both tables.
fn cells(row: &Row, most_of_project: usize) -> Vec<String> {
    let content = row.content.as_ref();
    let nothing = || NOTHING.to_owned();
    let project = content.and_then(|it| Path::new(it.folder.as_deref()?).file_name());
    let tokens = row.tokens.map(|tokens| {
        let mark = if row.is_estimate() { "~" } else { "" };
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
        short_time(row.age()),
        content.map_or_else(nothing, |it| it.messages.to_string()),
        tokens.unwrap_or_else(nothing),
        window,
        short_bytes(row.bytes),
        due.to_owned(),
    ]
}
