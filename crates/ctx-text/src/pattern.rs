//! Regular expressions that are part of the program: each is compiled by a test, so none fails
//! when it is used.

use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::{Regex, RegexBuilder, bytes};
use regex_automata::Input;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_automata::util::pool::Pool;
use regex_automata::util::syntax;

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

/// A pattern that is only asked whether it matches.
///
/// To build a [`Regex`] takes several times as long, because it can also say where it matches:
/// it has captures, an automaton that searches backwards, and literals to search for first. In a
/// short run that is most of the work.
pub struct Matcher {
    dfa: DFA,
    caches: Pool<Cache, Box<dyn Fn() -> Cache + Send + Sync>>,
}

impl Matcher {
    /// A constant pattern, with the classes of Unicode.
    pub fn new(pattern: &str) -> Self {
        Self::build(pattern, true).expect("a constant pattern")
    }

    /// A constant pattern with the classes of ASCII; `None` if it could match half a character.
    pub fn ascii(pattern: &str) -> Option<Self> {
        Self::build(pattern, false)
    }

    fn build(pattern: &str, is_unicode: bool) -> Option<Self> {
        let dfa = DFA::builder()
            .syntax(syntax::Config::new().unicode(is_unicode))
            .thompson(thompson::Config::new().which_captures(WhichCaptures::None))
            .build(pattern)
            .ok()?;
        let of = dfa.clone();
        Some(Self { dfa, caches: Pool::new(Box::new(move || of.create_cache())) })
    }

    /// Whether the pattern matches somewhere in a text.
    pub fn is_match(&self, text: &str) -> bool {
        let mut cache = self.caches.get();
        let found = self.dfa.try_search_fwd(&mut cache, &Input::new(text).earliest(true));
        // It gives up only on request, or at a byte that a word boundary of Unicode needs.
        found.expect("no limits").is_some()
    }
}

/// A constant pattern with hints: strings, one of which is in each text that matches, in any
/// case. A text without them needs no regex, which is compiled for the first text with one.
pub struct HintedRegex {
    hints: AhoCorasick,
    pattern: &'static str,
    build: fn(&str) -> Matcher,
    matcher: OnceLock<Matcher>,
}

impl HintedRegex {
    /// `hints` are separated by `|`.
    pub fn new(hints: &str, pattern: &'static str, build: fn(&str) -> Matcher) -> Self {
        // Regexes that ignore case take these two for `s` and `k`.
        let hints = hints.split('|').chain(["\u{17f}", "\u{212a}"]);
        let hints = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(hints);
        Self { hints: hints.expect("few short hints"), pattern, build, matcher: OnceLock::new() }
    }

    /// Whether the pattern matches somewhere in a text.
    pub fn is_match(&self, text: &str) -> bool {
        self.hints.is_match(text)
            && self.matcher.get_or_init(|| (self.build)(self.pattern)).is_match(text)
    }
}

#[cfg(test)]
mod tests {
    use super::{HintedRegex, Matcher};

    #[test]
    fn a_text_without_a_hint_needs_no_regex() {
        let order = HintedRegex::new("must|必须", r"(?i)(?-u:\b)must(?-u:\b)|必须", Matcher::new);
        assert!(!order.is_match("it may be") && order.matcher.get().is_none());
        assert!(
            order.is_match("You MUST") && order.is_match("必须") && order.is_match("mu\u{17f}t")
        );
        assert!(!order.is_match("mustard"));
    }
}
