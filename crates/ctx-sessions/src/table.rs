//! What people read.

use std::path::Path;

use ctx_cli::{Align, Listing, percent, printable, short_bytes, short_count, short_time};

use crate::row::Row;

/// What stands where nothing is known.
const NOTHING: &str = "-";
/// What stands where it could be known.
const UNKNOWN: &str = "?";

/// The rows under a heading, no wider than the terminal.
pub(crate) fn of(rows: &[Row], width: Option<usize>) -> String {
    let mut listing = Listing::new(&[
        ("AGENT", Align::Left),
        ("PROJECT", Align::Left),
        ("AGE", Align::Right),
        ("MESSAGES", Align::Right),
        ("TOKENS", Align::Right),
        ("WINDOW", Align::Right),
        ("SIZE", Align::Right),
        ("DUE", Align::Left),
        ("TITLE", Align::Left),
    ]);
    for row in rows {
        listing.push(cells(row));
    }
    listing.text(width)
}

fn cells(row: &Row) -> Vec<String> {
    let content = row.content.as_ref();
    let nothing = || NOTHING.to_owned();
    let project = content.and_then(|it| Path::new(it.folder.as_deref()?).file_name());
    let title = content.and_then(|it| it.title.as_deref().or(it.ask.as_deref()));
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
    let title = match title {
        Some(title) => printable(title),
        None if row.packed => "(packed: zstd -d shows more)".to_owned(),
        None => nothing(),
    };
    vec![
        row.agent.clone(),
        project.map_or_else(nothing, |name| printable(&name.to_string_lossy())),
        short_time(row.age()),
        content.map_or_else(nothing, |it| it.messages.to_string()),
        tokens.unwrap_or_else(nothing),
        window,
        short_bytes(row.bytes),
        due.to_owned(),
        title,
    ]
}
