//! `--html`: one page that shows where the window of each session goes.
//!
//! The page needs nothing but itself, and says so to the browser: its policy lets no other
//! style and no other script in than the two that are in it, by their hashes, and loads nothing.
//! All text that is not ours is escaped.

mod chart;
mod curve;
mod elements;
mod history;
mod report;
mod savings;
mod section;
mod subject;

use std::fmt::Write;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ctx_cli::Failure;
use ctx_engine::stats::profile::Kind;
use elements::text;
use sha2::{Digest, Sha256};
use subject::Subject;

pub(super) use subject::SubjectRequest;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// The page of all sessions that could be read, and the failures of the others.
pub(super) fn page<'p>(
    operands: impl Iterator<Item = &'p Path>,
    request: SubjectRequest<'_>,
) -> (Option<String>, Vec<Failure>) {
    let (mut subjects, mut failures) = (Vec::new(), Vec::new());
    for operand in operands {
        match request.subject(operand) {
            Ok(subject) => subjects.push(subject),
            Err(failure) => failures.push(failure),
        }
    }
    let page = (!subjects.is_empty()).then(|| of(&subjects));
    (page, failures)
}

fn of(subjects: &[Subject]) -> String {
    let (title, contents) = match subjects {
        [one] => {
            (format!("{}: where its window goes", text(&section::short_name(one))), String::new())
        }
        several => {
            let title = format!("Where the windows of {} sessions go", several.len());
            (title, contents(several))
        }
    };
    let sections: String =
        (1..).zip(subjects).map(|(number, subject)| section::of(number, subject)).collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#main\">Skip to the figures</a>\n{fills}\
         <header><h1>{title}</h1>{contents}</header>\n\
         <main id=\"main\" tabindex=\"-1\">\n{sections}</main>\n\
         <footer><p>Made by ctx-stats --html, which changes nothing. Tokens are counted as ctx-count does; docs/stats.md defines every figure.</p></footer>\n\
         <script>{SCRIPT}</script>\n</body>\n</html>\n",
        policy = policy(),
        fills = fills(),
    )
}

/// Nothing is loaded, and nothing runs but what is in the page and ours.
fn policy() -> String {
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text));
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        hash(STYLE),
        hash(SCRIPT)
    )
}

fn contents(subjects: &[Subject]) -> String {
    let mut entries = String::new();
    for (number, subject) in (1..).zip(subjects) {
        let (name, used) = (text(&subject.name), section::used(subject));
        let _ = write!(entries, "<li><a href=\"#s{number}\">{name}</a>: {used}</li>");
    }
    format!("<nav aria-label=\"Sessions\"><ol>{entries}</ol></nav>")
}

/// What each kind is filled with: a colour and a pattern, so that none is known by its colour
/// alone.
fn fills() -> String {
    let fill = |kind: Kind| {
        let word = kind.as_str();
        let pattern = match kind {
            Kind::System => "",
            Kind::Summary => "<path d=\"M0 4H8M4 0V8\"/>",
            Kind::User => "<path d=\"M0 2H8M0 6H8\"/>",
            Kind::Assistant => "<path d=\"M2 0V8M6 0V8\"/>",
            Kind::Reasoning => "<path d=\"M1 2H3M5 6H7\"/>",
            Kind::Calls => "<path d=\"M-2 2L2 -2M0 8L8 0M6 10L10 6\"/>",
            Kind::Results => "<path d=\"M-2 6L2 10M0 0L8 8M6 -2L10 2\"/>",
        };
        format!(
            "<pattern id=\"fill-{word}\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\"><rect class=\"{word}\" width=\"8\" height=\"8\"/>{pattern}</pattern>"
        )
    };
    let fills: String = Kind::ALL.into_iter().map(fill).collect();
    format!(
        "<svg class=\"fills\" width=\"0\" height=\"0\" aria-hidden=\"true\"><defs>{fills}</defs></svg>\n"
    )
}
