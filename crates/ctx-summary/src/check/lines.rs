//! Decides for each line of an answer what is removed, corrected or marked.

use std::collections::BTreeSet;
use std::ops::Range;

use super::commands::{self, Fate};
use super::quotes::{self, Quoted};
use super::source::{Source, UNVERIFIED};
use super::spans::Spans;
use super::{Area, Repairs, identifiers, names, says_something};

/// The line as it may stay; `None` when nothing is left of it. It may name other sections by
/// their `headings`.
pub(super) fn repaired(
    line: &str,
    area: Area,
    source: &Source,
    headings: &[String],
    repairs: &mut Repairs,
) -> Option<String> {
    let line = without_commands(line, area, source, repairs)?;
    let spans = Spans::of(&line);
    let quoted = quotes::check(&line, &spans, area, source);
    let mut places = BTreeSet::new();
    for (range, fate) in commands::unsupported(&line, area, source) {
        if fate == Fate::Marked && !is_quoted(range.start, &quoted) {
            places.insert(range.start + line[range].trim_end().len());
        }
    }
    let names = names::invented(&line, &spans, source.phrases(), headings);
    let identifiers = identifiers::invented(&line, source.identifiers(), source.phrases());
    for range in names.into_iter().chain(identifiers) {
        // A quote is known as a whole, or unknown as a whole.
        if !is_quoted(range.start, &quoted) {
            places.insert(end_of(&range, &line, &spans));
        }
    }
    let unknown = quoted.iter().filter(|(_, quoted)| *quoted == Quoted::Unknown);
    places.extend(unknown.map(|(span, _)| span.end));
    places.retain(|at| !line[*at..].trim_start().starts_with(UNVERIFIED));
    repairs.unverified += places.len();

    let mut text = line.clone();
    let mark = format!(" {UNVERIFIED}");
    let marks = places.into_iter().map(|at| (at..at, mark.as_str()));
    let exact = quoted.iter().filter_map(|(span, quoted)| match quoted {
        Quoted::Near(exact) => Some((inside(span, &line), *exact)),
        _ => None,
    });
    let mut edits: Vec<(Range<usize>, &str)> = exact.collect();
    repairs.quotes_repaired += edits.len();
    edits.extend(marks);
    edits.sort_by_key(|(range, _)| range.start);
    // From the last, so that the places before it stay true.
    for (range, new) in edits.into_iter().rev() {
        text.replace_range(range, new);
    }
    Some(text)
}

/// The line without the sentences that command the reader; quotes of the record stay.
fn without_commands(
    line: &str,
    area: Area,
    source: &Source,
    repairs: &mut Repairs,
) -> Option<String> {
    let mut gone = commands::unsupported(line, area, source);
    gone.retain(|(_, fate)| *fate == Fate::Gone);
    if gone.is_empty() {
        return Some(line.to_owned());
    }
    let mut quoted = quotes::check(line, &Spans::of(line), area, source);
    quoted.retain(|(_, quoted)| *quoted == Quoted::Exact);
    let mut text = line.to_owned();
    for (range, _) in gone.into_iter().rev() {
        if !is_quoted(range.start, &quoted) {
            text.replace_range(range, "");
            repairs.commands += 1;
        }
    }
    let left = text.trim_end();
    // A label alone says nothing.
    let is_label = left.len() < line.len() && left.trim_end_matches('*').ends_with([':', '：']);
    (says_something(left) && !is_label).then(|| left.to_owned())
}

fn is_quoted(at: usize, quoted: &[(Range<usize>, Quoted<'_>)]) -> bool {
    quoted.iter().any(|(span, _)| span.contains(&at))
}

/// Between the marks of a quote.
fn inside(span: &Range<usize>, line: &str) -> Range<usize> {
    let inner = quotes::inner(line, span);
    let start =
        span.end - inner.len() - line[span.clone()].chars().next_back().map_or(0, char::len_utf8);
    start..start + inner.len()
}

/// The position of a mark: after the code around the word, and after closing punctuation.
fn end_of(word: &Range<usize>, line: &str, spans: &Spans) -> usize {
    let end = spans.code_around(word.start).map_or(word.end, |code| code.end);
    let rest = &line[end..];
    line.len() - rest.trim_start_matches(['`', '"', '”', '*', ')', '」']).len()
}
