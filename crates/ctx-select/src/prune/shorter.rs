//! A text shortened, with the handle of the original behind it. Nothing is replaced by
//! what is not smaller, in bytes and in tokens.

use ctx_transcript::{Handle, map_strings};

use super::policy::{Policy, ReferencePattern, Trim};
use super::rule::Rule;
use super::sums::Freed;
use crate::count::MessageCounter;

/// The longest placeholder.
pub const MAX_NOTE: usize = 500;

/// New arguments of a call, and what they free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewArguments {
    /// The new ones.
    pub text: String,
    /// What they free.
    pub freed: Freed,
}

/// A text that a shorter one may take the place of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Replaceable {
    pub(super) bytes: u64,
    pub(super) tokens: u64,
}

/// A text with its handle, and its tokens.
#[derive(Debug)]
pub(super) struct Shorter {
    pub(super) text: String,
    pub(super) tokens: u64,
}

impl Replaceable {
    /// What takes its place when it is shortened to `short`, with the handle of the original
    /// behind it; `None` when that would not be smaller.
    pub(super) fn by(
        self,
        short: &str,
        handle: &Handle,
        counter: &MessageCounter,
    ) -> Option<Shorter> {
        let text = handle.behind(short);
        if text.len() as u64 >= self.bytes {
            return None;
        }
        let tokens = counter.text(&text);
        (tokens < self.tokens).then_some(Shorter { text, tokens })
    }
}

impl Policy {
    /// Call arguments with their long strings shortened: JSON as they were.
    pub fn shorter_arguments(
        &self,
        arguments: &str,
        counter: &MessageCounter,
    ) -> Option<NewArguments> {
        let trim = Trim {
            max_chars: self.argument_chars?,
            rescue_lines: 0,
            ..Trim::default()
        };
        // Free text is no JSON, and a bare string is no arguments.
        if !arguments.trim_start().starts_with(['{', '[']) {
            return None;
        }
        let text = map_strings(arguments, |text| {
            let (body, earlier) = parted(text);
            let trimmed = trim.apply(body, earlier.is_some())?;
            let tokens = counter.text(text);
            let string = Replaceable {
                bytes: text.len() as u64,
                tokens,
            };
            // The call that it names stands around it.
            let handle = earlier.unwrap_or_else(|| Handle::of(text, "", self.saved));
            Some(string.by(&trimmed, &handle, counter)?.text)
        })?;
        let freed = Freed {
            rule: Rule::Arguments,
            before: counter.text(arguments),
            after: counter.text(&text),
        };
        // As JSON, line ends and the handle take more tokens than they do in the string.
        (freed.after < freed.before).then_some(NewArguments { text, freed })
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
pub fn parted(text: &str) -> (&str, Option<Handle>) {
    match Handle::split(text) {
        Some((body, handle)) if handle.bytes > text.len() as u64 => (body, Some(handle)),
        _ => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use ctx_tokens::Encoding;
    use ctx_transcript::{Handle, Saved};

    use super::{MAX_NOTE, Replaceable, is_taken_out, parted};
    use crate::count::MessageCounter;
    use crate::prune::ReferencePattern;

    #[test]
    fn only_fewer_bytes_and_fewer_tokens_take_a_place() {
        let counter = MessageCounter::new(Encoding::default());
        let text = "some words ".repeat(20);
        let tokens = counter.text(&text);
        let handle = Handle::of(&text, "ls", Saved::Yes);
        let by = |bytes, tokens| {
            let text = Replaceable { bytes, tokens };
            text.by("[gone]", &handle, &counter)
        };
        let bytes = text.len() as u64;
        let new = by(bytes, tokens).expect("it is shorter");
        assert_eq!(new.text, handle.behind("[gone]"));
        assert_eq!(new.tokens, counter.text(&new.text));
        assert!(by(new.text.len() as u64, tokens).is_none());
        assert!(by(bytes, new.tokens).is_none());
    }

    #[test]
    fn a_handle_that_names_less_than_stands_there_is_text() {
        let handle = |bytes| format!("a\n⟦ctx:ba7816bf8f01 {bytes} bytes 3 tokens⟧");
        let (body, earlier) = (handle(900), handle(20));
        assert_eq!(parted(&body).0, "a");
        assert_eq!(parted(&body).1.map(|handle| handle.bytes), Some(900));
        assert_eq!(parted(&earlier), (earlier.as_str(), None));
        assert_eq!(parted("a"), ("a", None));
    }

    #[test]
    fn a_note_is_one_short_line_with_a_handle_or_a_reference() {
        let references: Vec<_> = ReferencePattern::of("at {path}").into_iter().collect();
        let is = |text: &str| is_taken_out(text, &references);
        let behind = |body: &str| format!("{body}\n⟦ctx:ba7816bf8f01 9999 bytes 3 tokens⟧");
        assert!(is("at /a") && is(&behind("[gone]")) && is(&behind(&"x".repeat(MAX_NOTE))));
        assert!(!is("[gone]") && !is("at /a\nmore"));
        assert!(!is(&behind("two\nlines")) && !is(&behind(&"x".repeat(MAX_NOTE + 1))));
    }
}
