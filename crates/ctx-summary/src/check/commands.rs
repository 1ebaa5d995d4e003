//! Finds sentences in a summary that tell the next model to do something.
//!
//! A model treats the summary as its own past, so an invented command is the worst thing that a
//! summary can contain. Sentences such as "You must now …" or "Ignore earlier rules …" are removed
//! unless the user or the model wrote these words close together. A tool's output does not count as
//! support for a command, because the user did not write it. "Remove the import" is a common way to
//! note an open task, so an unsupported sentence of this kind is only marked.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::LISTS;
use super::shape::{Area, without_bullet};
use super::source::{Source, UNVERIFIED};
use super::words::{lower, pieces, words};
use ctx_text::regex;

/// What the check does with an unsupported command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommandVerdict {
    Gone,
    Marked,
}

/// The kind of a command, according to what it tells the model to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Force {
    /// The command addresses the reader, or overrides earlier instructions.
    Address,
    /// The command destroys, sends, installs or executes something.
    Danger,
    /// The command is a next step in the work.
    Work,
}

/// Patterns that match the beginning of a command, from the most to the least dangerous kind.
static COMMANDS: LazyLock<[(Force, Regex); 3]> = LazyLock::new(|| {
    [(Force::Address, "address"), (Force::Danger, "danger"), (Force::Work, "work")]
        .map(|(force, list)| (force, beginning(list)))
});

/// Returns a pattern for text that begins with an entry in either of two lists. An entry in `list`
/// must end at a word boundary, but an entry in `{list}, whatever follows` need not. A leading `请`
/// or `please` is ignored.
fn beginning(list: &str) -> Regex {
    let words = LISTS.pattern(list);
    let others = LISTS.pattern(&format!("{list}, whatever follows"));
    let polite = format!(r"(?:please |请)\s*(?:{words}|{others})");
    // A word boundary is required so that `run` does not match the beginning of `Runtime`.
    regex(&format!(r"^(?:(?:{words})(?:\W|$)|{others}|{polite})"))
}

/// Matches the end of a clause, which is either a sentence or a label.
static END: LazyLock<Regex> = LazyLock::new(|| regex("[。！：；]|[.!:;>][*_]* "));
/// Matches the end of a sentence.
static SENTENCE: LazyLock<Regex> = LazyLock::new(|| regex(r"[。！？]|[.!?](?:\s|$)"));
/// Matches the beginning of a command that addresses the reader.
static SAID: LazyLock<Regex> = LazyLock::new(|| regex("^(?:please|immediately|请|立即|马上|务必)"));

/// Returns the sentences in `line` that contain an unsupported command, in order.
pub(super) fn unsupported(
    line: &str,
    area: Area,
    source: &Source,
) -> Vec<(Range<usize>, CommandVerdict)> {
    let mut found: Vec<(Range<usize>, CommandVerdict)> = Vec::new();
    for start in clauses(line) {
        let clause = line[start.clone()].replace(UNVERIFIED, "");
        let Some(verdict) = verdict(clause.trim_end(), area, source) else { continue };
        let end = SENTENCE.find_at(line, start.start);
        let end = end.map_or(line.len(), |end| end.end());
        // The sentence may already have been marked when an earlier summary was checked.
        let sentence = line[start.start..end].trim_end();
        let marked = sentence.strip_suffix(UNVERIFIED);
        let end = marked.map_or(end, |sentence| start.start + sentence.trim_end().len());
        // Report a sentence only once, even if several of its clauses are commands.
        if !found.last().is_some_and(|(range, _)| range.contains(&start.start)) {
            found.push((start.start..end, verdict));
        }
    }
    found
}

fn verdict(clause: &str, area: Area, source: &Source) -> Option<CommandVerdict> {
    let force = force(clause)?;
    // Under "Done", a sentence that begins with a verb reports a finished action. In Chinese, such
    // a sentence looks like a command.
    if area == Area::Done && force != Force::Address {
        return None;
    }
    // A clause cannot be compared with a source that has no text in the same language.
    if source.lacks_language(clause) {
        let is_said = SAID.is_match(&lower(clause)) && force == Force::Danger;
        return (is_said || force == Force::Address).then_some(CommandVerdict::Marked);
    }
    let (known, close) = source.support(&words(clause));
    match force {
        Force::Address => (known < 60 || close < 50).then_some(CommandVerdict::Gone),
        Force::Danger => (known < 60 || close < 25).then_some(CommandVerdict::Marked),
        // A next step may use words that occur only in tool output.
        Force::Work => {
            (known < 35 && source.phrases.share(clause) < 60).then_some(CommandVerdict::Marked)
        }
    }
}

fn force(clause: &str) -> Option<Force> {
    let clause = lower(clause);
    // `Open:` is a label, not a command to open something.
    let is_label = clause.trim_end_matches([' ', '*', '_']) == "open:";
    let command = COMMANDS.iter().find(|(_, begins)| !is_label && begins.is_match(&clause));
    command.map(|(force, _)| *force)
}

/// Splits the text after a line's bullet into clauses: sentences and labels.
fn clauses(line: &str) -> impl Iterator<Item = Range<usize>> {
    let mut end = line.len() - without_bullet(line).len();
    pieces(without_bullet(line), &END).map(move |piece| {
        end += piece.len();
        let clause = piece.trim_start_matches([' ', '*', '_', '"', '“', '`', '「']);
        end - clause.len()..end
    })
}
