//! A result, for programs.

use chrono::{DateTime, SecondsFormat};
use ctx_cli::json_line;
use ctx_search::{Hit, Holds, snippet};
use serde::Serialize;

use crate::again::Again;
use crate::place::Place;
use crate::stored::{Stored, entry_of};

/// How many characters of a text are shown.
const SHOWN: usize = 240;

#[derive(Serialize)]
struct Found<'a> {
    #[serde(rename = "ref")]
    reference: String,
    kind: &'static str,
    session: Option<&'a str>,
    path: String,
    line: u64,
    role: Option<&'static str>,
    time: Option<String>,
    holds: &'static str,
    score: f64,
    snippet: Option<String>,
}

/// A result as a line of JSON. A snippet is null where the text cannot be read any more.
pub(crate) fn line(hit: &Hit, query: &str, stored: &Stored<'_>, again: &mut Again<'_>) -> String {
    let source = &hit.source;
    let place = Place::from_number(hit.line);
    let text = again.text(hit);
    let time = DateTime::from_timestamp_millis(hit.time);
    let entry = text.as_deref().and_then(entry_of);
    let of_entry = entry.map(|entry| entry.citation.session);
    json_line(&Found {
        reference: format!("{}:{place}", source.name),
        kind: source.kind.as_str(),
        session: source.session.as_deref().or(of_entry.as_deref()),
        path: stored.path(source).to_string_lossy().into_owned(),
        line: place.line,
        role: hit.role,
        time: time.map(|time| time.to_rfc3339_opts(SecondsFormat::Millis, true)),
        holds: word_for(hit.holds),
        score: hit.score,
        snippet: text.as_deref().map(|text| snippet(text, query, SHOWN)),
    })
}

fn word_for(holds: Holds) -> &'static str {
    match holds {
        Holds::Words => "words",
        Holds::Whole => "whole",
        Holds::First => "first",
    }
}
