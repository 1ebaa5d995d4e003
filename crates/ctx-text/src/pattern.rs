//! Regular expressions that are part of the program: each is compiled by a test, so none fails
//! when it is used.

use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::{Regex, RegexBuilder, bytes};

/// A constant pattern.
pub fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a constant pattern")
}

/// A constant pattern whose classes are ASCII. A class of Unicode takes a third of a megabyte
/// to compile, which is a tenth of the whole start of a tool.
pub fn ascii_regex(pattern: &str) -> Regex {
    let regex = RegexBuilder::new(pattern).unicode(false).build();
    regex.expect("a constant pattern")
}

/// Like [`ascii_regex`], but over bytes. A negated class matches any single byte.
pub fn bytes_regex(pattern: &str) -> bytes::Regex {
    let regex = bytes::RegexBuilder::new(pattern).unicode(false).build();
    regex.expect("a constant pattern")
}

/// A constant pattern with hints: strings, one of which is in each text that matches, in any
/// case. A text without them needs no regex, which is compiled for the first text with one.
pub struct HintedRegex {
    hints: AhoCorasick,
    pattern: &'static str,
    build: fn(&str) -> Regex,
    regex: OnceLock<Regex>,
}

impl HintedRegex {
    /// `hints` are separated by `|`.
    pub fn new(hints: &str, pattern: &'static str, build: fn(&str) -> Regex) -> Self {
        // Regexes that ignore case take these two for `s` and `k`.
        let hints = hints.split('|').chain(["\u{17f}", "\u{212a}"]);
        let hints = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(hints);
        Self { hints: hints.expect("few short hints"), pattern, build, regex: OnceLock::new() }
    }

    /// Whether the pattern matches somewhere in a text.
    pub fn is_match(&self, text: &str) -> bool {
        self.hints.is_match(text)
            && self.regex.get_or_init(|| (self.build)(self.pattern)).is_match(text)
    }
}

#[cfg(test)]
mod tests {
    use super::{HintedRegex, regex};

    #[test]
    fn a_text_without_a_hint_needs_no_regex() {
        let order = HintedRegex::new("must|必须", r"(?i)\bmust\b|必须", regex);
        assert!(!order.is_match("it may be") && order.regex.get().is_none());
        assert!(
            order.is_match("You MUST") && order.is_match("必须") && order.is_match("mu\u{17f}t")
        );
        assert!(!order.is_match("mustard"));
    }
}
