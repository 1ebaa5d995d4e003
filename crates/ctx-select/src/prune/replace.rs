//! A text shortened, with the handle of the original behind it. Nothing is replaced by
//! what is not smaller, in bytes and in tokens.

use std::borrow::Cow;

use ctx_transcript::{Handle, map_strings};

use super::noise::without_noise;
use super::policy::{Policy, ReferencePattern, Trim};
use super::sparse::compact;
use super::verdict::Rule;
use crate::count::MessageCounter;

/// New arguments and their gain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// The new ones.
    pub text: String,
    /// Tokens of the old ones.
    pub before: u64,
    /// Tokens of the new ones.
    pub after: u64,
}

/// A text that a shorter one may take the place of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Replaceable {
    pub(super) bytes: u64,
    pub(super) tokens: u64,
    /// What will stand behind the shorter one: the handle of the original.
    pub(super) handle: Handle,
}

/// A text with its handle, and its tokens.
#[derive(Debug)]
pub(super) struct Shorter {
    pub(super) text: String,
    pub(super) tokens: u64,
}

impl Replaceable {
    fn of(text: &str, earlier: Option<Handle>, counter: &MessageCounter) -> Self {
        let tokens = counter.text(text);
        Self {
            bytes: text.len() as u64,
            tokens,
            handle: earlier.unwrap_or_else(|| Handle::of(text, tokens)),
        }
    }

    /// What takes its place when it is shortened to `short`; `None` when that would not
    /// be smaller.
    pub(super) fn by(&self, short: &str, counter: &MessageCounter) -> Option<Shorter> {
        let text = self.handle.behind(short);
        if text.len() as u64 >= self.bytes {
            return None;
        }
        let tokens = counter.text(&text);
        (tokens < self.tokens).then_some(Shorter { text, tokens })
    }
}

/// The longest placeholder.
pub const MAX_NOTE: usize = 500;

/// What shortening a call's arguments comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ShorterArguments {
    /// Tokens of the arguments.
    pub(super) before: u64,
    /// And when they are shortened.
    pub(super) after: u64,
    /// The strings in them that are shortened.
    strings: Vec<ShorterString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ShorterString {
    /// How many strings stand before it.
    number: u32,
    /// Its tokens, which its handle tells.
    tokens: u32,
}

/// A string inside arguments that is too long.
struct LongString<'a> {
    number: u32,
    text: &'a str,
    earlier: Option<Handle>,
    trimmed: String,
}

impl Policy {
    /// Call arguments with their long strings shortened: JSON as they were.
    pub fn arguments(&self, arguments: &str, counter: &MessageCounter) -> Option<Replacement> {
        self.with_shorter_strings(arguments, counter, |_| ())
    }

    /// What [`Self::arguments`] comes to.
    pub(super) fn shorter_arguments(
        &self,
        arguments: &str,
        counter: &MessageCounter,
    ) -> Option<ShorterArguments> {
        let mut strings = Vec::new();
        let new = self.with_shorter_strings(arguments, counter, |string| strings.push(string))?;
        Some(ShorterArguments {
            before: new.before,
            after: new.after,
            strings,
        })
    }

    /// The same as [`Self::arguments`], by what was counted then.
    pub(super) fn shorten_arguments(
        &self,
        arguments: &str,
        shorter: &ShorterArguments,
    ) -> Option<String> {
        let mut strings = shorter.strings.iter().peekable();
        self.map_long_strings(arguments, |long| {
            let counted = strings.next_if(|string| string.number == long.number)?;
            let handle = || Handle::of(long.text, u64::from(counted.tokens));
            let handle = long.earlier.unwrap_or_else(handle);
            Some(handle.behind(&long.trimmed))
        })
    }

    fn with_shorter_strings(
        &self,
        arguments: &str,
        counter: &MessageCounter,
        mut tell: impl FnMut(ShorterString),
    ) -> Option<Replacement> {
        let text = self.map_long_strings(arguments, |long| {
            let string = Replaceable::of(long.text, long.earlier, counter);
            let shorter = string.by(&long.trimmed, counter)?;
            tell(ShorterString {
                number: long.number,
                tokens: compact(string.tokens),
            });
            Some(shorter.text)
        })?;
        let (before, after) = (counter.text(arguments), counter.text(&text));
        // As JSON, line ends and the handle take more tokens than they do in the string.
        (after < before).then_some(Replacement {
            text,
            before,
            after,
        })
    }

    fn map_long_strings(
        &self,
        arguments: &str,
        mut change: impl FnMut(LongString<'_>) -> Option<String>,
    ) -> Option<String> {
        let trim = Trim {
            max_chars: self.argument_chars?,
            rescue_lines: 0,
            ..Trim::default()
        };
        // Free text is no JSON, and a bare string is no arguments.
        if !arguments.trim_start().starts_with(['{', '[']) {
            return None;
        }
        let mut strings: u32 = 0;
        map_strings(arguments, |text| {
            strings += 1;
            let (body, earlier) = parted(text);
            change(LongString {
                number: strings - 1,
                text,
                trimmed: trim.apply(body, earlier.is_some())?,
                earlier,
            })
        })
    }

    /// The text with less noise, or trimmed too.
    pub(super) fn reduced(&self, body: &str, again: bool) -> Option<(Rule, String)> {
        let quiet = if self.drops(Rule::Noise) {
            without_noise(body)
        } else {
            Cow::Borrowed(body)
        };
        let trimmed = self
            .trim
            .as_ref()
            .and_then(|trim| trim.apply(&quiet, again));
        match (trimmed, quiet) {
            (Some(trimmed), _) => Some((Rule::Trim, trimmed)),
            (None, Cow::Owned(quiet)) if quiet != body => Some((Rule::Noise, quiet)),
            (None, _) => None,
        }
    }
}

/// Whether only a note with a handle is left of a result, or a reference to the
/// file that it was written to.
pub(super) fn is_taken_out(text: &str, references: &[ReferencePattern]) -> bool {
    let (body, handle) = parted(text);
    let is_note = !body.contains('\n') && body.len() <= MAX_NOTE;
    is_note && (handle.is_some() || references.iter().any(|reference| reference.is(body)))
}

/// A text, and the handle it got when it was shortened before: one that names
/// less than stands here was left by nobody.
pub(super) fn parted(text: &str) -> (&str, Option<Handle>) {
    match Handle::split(text) {
        Some((body, handle)) if handle.bytes > text.len() as u64 => (body, Some(handle)),
        _ => (text, None),
    }
}
