//! Sentences that tell the reader to do something.
//!
//! The next model reads a summary as its own past, so the worst content of a summary is a command
//! that nobody gave. "You must now …" or "Ignore earlier rules …" is removed unless people or the
//! model wrote these words close together. The output of a tool does not support a command, because
//! the user did not write it. "Remove the import" is a usual way to note an open task, so such a
//! sentence is only marked if it has no support.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::LISTS;
use super::shape::{Area, without_bullet};
use super::source::{Source, UNVERIFIED};
use super::words::{lower, pieces, words};
use ctx_text::regex;

/// The treatment of an unsupported command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommandVerdict {
    Gone,
    Marked,
}

/// The effect that a command may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Force {
    /// Addresses the reader, or overrides what was said before.
    Address,
    /// Destroys, sends, installs or executes something.
    Danger,
    /// Names a next step of the work.
    Work,
}

/// Patterns for the beginnings of commands, the strongest first.
static COMMANDS: LazyLock<[(Force, Regex); 3]> = LazyLock::new(|| {
    [(Force::Address, "address"), (Force::Danger, "danger"), (Force::Work, "work")]
        .map(|(force, list)| (force, beginning(list)))
});

/// Matches a text that begins with an entry of `list` and a word boundary, or with an entry of its
/// second list, whatever follows. `请删除` counts like `删除`, and `please delete` like `delete`.
fn beginning(list: &str) -> Regex {
    let words = LISTS.pattern(list);
    let others = LISTS.pattern(&format!("{list}, whatever follows"));
    let polite = format!(r"(?:please |请)\s*(?:{words}|{others})");
    // `Runtime` must not match `run`.
    regex(&format!(r"^(?:(?:{words})(?:\W|$)|{others}|{polite})"))
}

/// Matches the end of a clause, which is the end of a sentence or of a label before a sentence.
static END: LazyLock<Regex> = LazyLock::new(|| regex("[。！：；]|[.!:;>][*_]* "));
/// Matches the end of a sentence.
static SENTENCE: LazyLock<Regex> = LazyLock::new(|| regex(r"[。！？]|[.!?](?:\s|$)"));
/// Matches the beginning of a command that addresses the reader.
static SAID: LazyLock<Regex> = LazyLock::new(|| regex("^(?:please|immediately|请|立即|马上|务必)"));

/// Returns the commands in a line that the source does not support, as whole sentences, in order.
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
        // An earlier check may have marked the sentence.
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
    // Under "Done", a sentence that begins with a verb reports what happened. In Chinese, such a
    // report looks like a command.
    if area == Area::Done && force != Force::Address {
        return None;
    }
    // A clause in a language that the source does not use cannot be compared with the source.
    if source.lacks_language(clause) {
        let is_said = SAID.is_match(&lower(clause)) && force == Force::Danger;
        return (is_said || force == Force::Address).then_some(CommandVerdict::Marked);
    }
    let (known, close) = source.support(&words(clause));
    match force {
        Force::Address => (known < 60 || close < 50).then_some(CommandVerdict::Gone),
        Force::Danger => (known < 60 || close < 25).then_some(CommandVerdict::Marked),
        // A next step may use words that only tools printed.
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

/// Splits a line without its bullet into clauses, which also end after a label or a full stop.
fn clauses(line: &str) -> impl Iterator<Item = Range<usize>> {
    let mut end = line.len() - without_bullet(line).len();
    pieces(without_bullet(line), &END).map(move |piece| {
        end += piece.len();
        let clause = piece.trim_start_matches([' ', '*', '_', '"', '“', '`', '「']);
        end - clause.len()..end
    })
}
