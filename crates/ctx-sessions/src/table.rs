//! The tables for people.

use std::path::Path;

use ctx_cli::{
    Align, Io, Listing, cut_to_width, percent, printable, short_bytes, short_count, short_time,
};

use crate::form::path_to_show;
use crate::row::Row;

/// Shown for a value that does not exist.
const NOTHING: &str = "-";
/// Shown for a value that is unknown.
const UNKNOWN: &str = "?";
/// Which part of a terminal the name of a project may take.
const PROJECT: usize = 5;

/// The rows under a heading, no wider than the terminal; long ones are whole.
pub(crate) fn of(rows: &[Row], is_long: bool, io: &Io) -> String {
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
    let most_of_project = width.map_or(usize::MAX, |width| width / PROJECT);
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
