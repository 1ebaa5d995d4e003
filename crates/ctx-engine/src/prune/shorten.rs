//! Shorter texts: results without noise, trimmed results, trimmed call arguments. A text is only
//! replaced by one that is smaller in bytes and in tokens.

use std::borrow::Cow;
use std::fmt::Write;

use ctx_format::{Handle, Saved, map_strings};
use ctx_policy::Rule;
use ctx_policy::share::Share;

use super::facts::TextSize;
use super::tool_output::{error_lines, first_chars, without_noise};
use super::{Freed, Options, Trim};
use crate::counter::MessageCounter;
use crate::placeholder::split_handle;

/// Limits the length of the note about rescued lines, and of the numbers in a trimmed text.
const NOTES_CHARS: usize = 127;

/// New arguments of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShorterArguments {
    pub(crate) text: String,
    pub(super) freed: Freed,
}

impl TextSize {
    /// `text` with `handle` and its size, if that is smaller.
    pub(super) fn replaced_by(
        self,
        text: &str,
        handle: &Handle,
        counter: &MessageCounter,
    ) -> Option<(String, Self)> {
        let text = handle.behind(text);
        if text.len() >= self.bytes as usize {
            return None;
        }
        let size = Self::new(counter.text(&text), text.len() as u64);
        (size.tokens < self.tokens).then_some((text, size))
    }
}

/// The text of a result without noise, and trimmed if it is still too long. `was_shortened` says
/// that an earlier run left a handle.
pub(super) fn shorten(
    options: &Options,
    text: &str,
    was_shortened: bool,
) -> Option<(Rule, String)> {
    let quiet = if options.drops(Rule::Noise) { without_noise(text) } else { Cow::Borrowed(text) };
    if let Some(trim) = &options.trim
        && let Some(trimmed) = trim.apply(&quiet, was_shortened)
    {
        return Some((Rule::Trim, trimmed));
    }
    match quiet {
        Cow::Owned(quiet) if quiet != text => Some((Rule::Noise, quiet)),
        _ => None,
    }
}

/// Call arguments whose long strings are trimmed; still JSON.
pub(crate) fn shorten_arguments(
    arguments: &str,
    max_chars: usize,
    saved: Saved,
    counter: &MessageCounter,
) -> Option<ShorterArguments> {
    let trim = Trim { max_chars, rescue_lines: 0, ..Trim::default() };
    // Arguments may be free text or a bare string, which stay.
    if !arguments.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let text = map_strings(arguments, |text| {
        let (body, earlier) = split_handle(text);
        let trimmed = trim.apply(body, earlier.is_some())?;
        let size = TextSize::new(counter.text(text), text.len() as u64);
        // The handle need not name the call that it is part of.
        let handle = earlier.unwrap_or_else(|| Handle::of(text, "", saved));
        size.replaced_by(&trimmed, &handle, counter).map(|(text, _)| text)
    })?;
    let (before, after) = (counter.text(arguments), counter.text(&text));
    // Escaped line ends and the handle take more tokens in JSON than in the string.
    let freed = Freed { rule: Rule::Arguments, before, after };
    (after < before).then_some(ShorterArguments { text, freed })
}

impl Trim {
    /// Trims a text that is longer than the limit. A text that `was_shortened` is only trimmed if
    /// it is longer than any trimmed text: trimming twice is trimming once.
    fn apply(&self, text: &str, was_shortened: bool) -> Option<String> {
        let limit = if was_shortened { self.max_chars.max(self.longest()) } else { self.max_chars };
        // A text of so few bytes cannot have more characters.
        if text.len() <= limit {
            return None;
        }
        let chars = text.chars().count();
        if chars <= limit {
            return None;
        }
        let head = self.head();
        let tail = self.tail().min(chars - head);
        let missing = chars - head - tail;
        let start = first_chars(text, head).len();
        let end = start + first_chars(&text[start..], missing).len();
        let cut = self.cut.replace("{chars}", &missing.to_string());
        let mut trimmed = format!("{}\n{cut}\n", &text[..start]);
        let errors = error_lines(&text[start..end], self.rescue_lines, self.rescue_chars());
        if !errors.is_empty() {
            let note = match errors.len() {
                1 => "a line of them looks like an error".to_owned(),
                count => format!("{count} lines of them look like errors"),
            };
            let _ = write!(trimmed, "... ({note}) ...\n{}\n...\n", errors.join("\n"));
        }
        trimmed.push_str(&text[end..]);
        Some(trimmed)
    }

    fn head(&self) -> usize {
        share_of(self.max_chars, self.head_share)
    }

    fn tail(&self) -> usize {
        share_of(self.max_chars, self.tail_share).min(self.max_chars - self.head())
    }

    /// Rescued lines get half of the room between head and tail.
    fn rescue_chars(&self) -> usize {
        (self.max_chars - self.head() - self.tail()) / 2
    }

    /// The length of the longest trimmed text.
    fn longest(&self) -> usize {
        self.head() + self.tail() + self.rescue_chars() + self.cut.len() + NOTES_CHARS
    }
}

fn share_of(limit: usize, share: Share) -> usize {
    usize::try_from(share.of(limit as u64)).unwrap_or(limit)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use ctx_policy::Rule;
    use ctx_policy::share::Share;

    use super::shorten;
    use crate::prune::{Options, Trim};

    const TEN: Trim = Trim {
        max_chars: 10,
        head_share: Share::of_percent(30),
        tail_share: Share::of_percent(30),
        rescue_lines: 10,
        cut: Cow::Borrowed("... ({chars} chars truncated) ..."),
    };

    #[test]
    fn at_the_limit_nothing_happens() {
        assert_eq!(TEN.apply("", false), None);
        assert_eq!(TEN.apply("012345678", false), None);
        assert_eq!(TEN.apply("0123456789", false), None);
        assert_eq!(TEN.apply("日本語日本語日本語日", false), None);
    }

    #[test]
    fn above_it_head_and_tail_stay() {
        assert_eq!(
            TEN.apply("0123456789a", false).as_deref(),
            Some("012\n... (5 chars truncated) ...\n89a")
        );
        assert_eq!(
            TEN.apply("日本語日本語日本語日本", false).as_deref(),
            Some("日本語\n... (5 chars truncated) ...\n語日本")
        );
    }

    #[test]
    fn the_cut_is_configurable() {
        let trimmed = |cut: &'static str| {
            let cut = Cow::Borrowed(cut);
            Trim { cut, ..TEN }.apply("0123456789a", false)
        };
        assert_eq!(trimmed("[…]").as_deref(), Some("012\n[…]\n89a"));
        assert_eq!(trimmed("<{chars}/{chars}>").as_deref(), Some("012\n<5/5>\n89a"));
    }

    #[test]
    fn shares_of_little_and_of_all() {
        let shares = |head, tail| {
            let trim = Trim {
                head_share: Share::of_percent(head),
                tail_share: Share::of_percent(tail),
                ..TEN
            };
            trim.apply("0123456789ab", false).expect("too long")
        };
        assert_eq!(shares(1, 9), "\n... (12 chars truncated) ...\n");
        assert_eq!(shares(100, 1), "0123456789\n... (2 chars truncated) ...\n");
        assert_eq!(shares(70, 70), "0123456\n... (2 chars truncated) ...\n9ab");
    }

    #[test]
    fn errors_are_rescued_from_the_middle_only() {
        let trim = Trim { max_chars: 100, ..TEN };
        let text = format!(
            "error: one{}\nerror: two\n{}\nfatal: x\n{}error: three",
            "a".repeat(40),
            "b".repeat(40),
            "c".repeat(40)
        );
        let expected = "error: oneaaaaaaaaaaaaaaaaaaaa\n... (104 chars truncated) ...\n... (2 lines of them look like errors) ...\nerror: two\nfatal: x\n...\nccccccccccccccccccerror: three";
        assert_eq!(trim.apply(&text, false).as_deref(), Some(expected));
        let none = Trim { rescue_lines: 0, ..trim.clone() };
        assert!(!none.apply(&text, false).expect("too long").contains("two"));
    }

    #[test]
    fn a_trimmed_text_is_not_trimmed_again() {
        for size in [11, 100, 5_000, 100_000] {
            let text = "an error\n".repeat(size);
            let once = TEN.apply(&text, false).expect("too long");
            assert_eq!(TEN.apply(&once, true), None);
        }
    }

    #[test]
    fn noise_goes_before_the_length_is_measured() {
        let text = format!("\x1b[31m{}\x1b[0m", "word ".repeat(20));
        let rule = |max_chars: Option<usize>, drop: &[Rule]| {
            let trim = max_chars.map(|max_chars| Trim { max_chars, ..Trim::default() });
            let options = Options { trim, drop: drop.to_vec(), ..Options::default() };
            shorten(&options, &text, false).map(|(rule, _)| rule)
        };
        assert_eq!(rule(None, &[]), None);
        assert_eq!(rule(None, &[Rule::Noise]), Some(Rule::Noise));
        assert_eq!(rule(Some(100), &[]), Some(Rule::Trim));
        assert_eq!(rule(Some(100), &[Rule::Noise]), Some(Rule::Noise));
        assert_eq!(rule(Some(50), &[Rule::Noise]), Some(Rule::Trim));
    }
}
