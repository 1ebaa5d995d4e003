//! What stands in the place of a text: a note or the text shortened, and the
//! handle of the original behind it. Nothing is replaced by what is not smaller,
//! in bytes and in tokens.

use std::borrow::Cow;

use ctx_transcript::{Handle, map_strings};

use super::noise::without_noise;
use super::policy::{Policy, Trim};
use super::verdict::{Action, Reason, Rule};
use crate::count::MessageCounter;

/// A new text and its gain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// The new text.
    pub text: String,
    /// Tokens of the old one.
    pub before: u64,
    /// Tokens of the new one.
    pub after: u64,
}

/// The longest placeholder.
pub const MAX_NOTE: usize = 500;

/// What is shown of a path or of a tool's name.
const MAX_NAME: usize = 80;

impl Policy {
    /// What an action makes of a result's text, and by which rule.
    pub fn result(
        &self,
        text: &str,
        action: &Action,
        counter: &MessageCounter,
    ) -> Option<(Rule, Replacement)> {
        let (body, earlier) = parted(text);
        let reduced = || self.reduced(body, earlier.is_some());
        let notes = action
            .clear
            .iter()
            .map(|reason| (reason.rule(), self.note(reason)));
        let mut texts = notes.chain(action.reduce.then(reduced).flatten());
        texts.find_map(|(rule, short)| {
            Some((rule, smaller(text, earlier.as_ref(), &short, counter)?))
        })
    }

    /// Call arguments with their long strings shortened: JSON as they were.
    pub fn arguments(&self, arguments: &str, counter: &MessageCounter) -> Option<Replacement> {
        let trim = Trim {
            max_chars: self.argument_chars?,
            rescue_lines: 0,
            ..Trim::default()
        };
        // Free text is no JSON, and a bare string is no arguments.
        if !arguments.trim_start().starts_with(['{', '[']) {
            return None;
        }
        let text = map_strings(arguments, |string| {
            let (body, earlier) = parted(string);
            let short = trim.apply(body, earlier.is_some())?;
            smaller(string, earlier.as_ref(), &short, counter).map(|replacement| replacement.text)
        })?;
        Some(Replacement {
            before: counter.text(arguments),
            after: counter.text(&text),
            text,
        })
    }

    fn note(&self, reason: &Reason) -> String {
        match reason {
            Reason::Old => self.clear.clone().unwrap_or_default(),
            Reason::ReadAgain { path } => {
                format!("[Superseded: {} was read again later]", shown(path))
            }
            Reason::Written { path } => {
                format!("[Superseded: {} was written later]", shown(path))
            }
            Reason::Repeated { tool: Some(tool) } => {
                format!("[Repeated: a later result of {} is the same]", shown(tool))
            }
            Reason::Repeated { tool: None } => "[Repeated: a later result is the same]".to_owned(),
        }
    }

    /// The text with less noise, or trimmed too.
    fn reduced(&self, body: &str, again: bool) -> Option<(Rule, String)> {
        let quiet = if self.drops(Rule::Noise) {
            without_noise(body)
        } else {
            Cow::Borrowed(body)
        };
        let trimmed = self.trim.and_then(|trim| trim.apply(&quiet, again));
        match (trimmed, quiet) {
            (Some(trimmed), _) => Some((Rule::Trim, trimmed)),
            (None, Cow::Owned(quiet)) if quiet != body => Some((Rule::Noise, quiet)),
            (None, _) => None,
        }
    }
}

/// Whether only a note with a handle is left of a result, or a reference to the
/// file that it was written to.
pub(super) fn is_taken_out(text: &str) -> bool {
    const ELSEWHERE: [&str; 2] = ["Tool result is at: ", "[Content unavailable: "];
    let is_note = |text: &str| !text.contains('\n') && text.len() <= MAX_NOTE;
    let is_reference = |text: &str| is_note(text) && ELSEWHERE.iter().any(|r| text.starts_with(r));
    match parted(text) {
        (body, Some(_)) => is_note(body),
        (body, None) => is_reference(body),
    }
}

/// A text, and the handle it got when it was shortened before: one that names
/// less than stands here was left by nobody.
pub(super) fn parted(text: &str) -> (&str, Option<Handle>) {
    match Handle::split(text) {
        Some((body, handle)) if handle.bytes > text.len() as u64 => (body, Some(handle)),
        _ => (text, None),
    }
}

fn smaller(
    text: &str,
    earlier: Option<&Handle>,
    short: &str,
    counter: &MessageCounter,
) -> Option<Replacement> {
    let before = counter.text(text);
    let handle = earlier.map_or_else(|| Handle::of(text, before), |handle| *handle);
    let new = handle.behind(short);
    let after = counter.text(&new);
    (new.len() < text.len() && after < before).then_some(Replacement {
        text: new,
        before,
        after,
    })
}

/// The end of a name, on one line: it is what tells paths apart.
fn shown(name: &str) -> String {
    let plain = name.replace(char::is_control, " ");
    let more = plain.chars().count().saturating_sub(MAX_NAME);
    if more == 0 {
        return plain;
    }
    let end: String = plain.chars().skip(more + 1).collect();
    format!("…{end}")
}
