//! Regular expressions that are part of the program. A test compiles each of them, so that none
//! fails when it is used.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::{Regex, RegexBuilder, bytes};
use regex_automata::Input;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_automata::util::pool::Pool;
use regex_automata::util::syntax;

/// Compiles a constant pattern.
pub fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a constant pattern")
}

/// Compiles a constant pattern whose words, digits and spaces are those of ASCII. A Unicode class
/// takes a third of a megabyte to compile, which is a tenth of the whole start of a tool, and
/// Chinese does not need it.
pub fn ascii_regex(pattern: &str) -> Regex {
    let regex = RegexBuilder::new(pattern).unicode(false).build();
    // A pattern that could match half a character needs Unicode.
    let regex = regex.or_else(|_| Regex::new(&with_ascii_classes(pattern)));
    regex.expect("a constant pattern")
}

fn with_ascii_classes(pattern: &str) -> String {
    let pattern = pattern.replace(r"\w", "[0-9A-Za-z_]").replace(r"\d", "[0-9]");
    with_ascii_boundaries(&pattern.replace(r"\s", r"[ \t\r\n]"))
}

/// Returns a pattern with the word boundaries of ASCII. In Chinese no space precedes an English
/// word, and Unicode's word boundaries make a search several times slower.
pub fn with_ascii_boundaries(pattern: &str) -> String {
    pattern.replace(r"\b", r"(?-u:\b)")
}

/// Compiles a constant pattern like [`ascii_regex`], but over bytes. A negated class matches any
/// single byte.
pub fn bytes_regex(pattern: &str) -> bytes::Regex {
    let regex = bytes::RegexBuilder::new(pattern).unicode(false).build();
    regex.expect("a constant pattern")
}

/// Lists of words and patterns, in a text file that is part of the program. `[NAME]` begins a list,
/// and each line of it is an entry. A line that begins with `#` is a comment. `␣` is a space and
/// `\#` is `#`.
pub struct Lists {
    file: &'static str,
    lists: OnceLock<HashMap<&'static str, Vec<&'static str>>>,
}

impl Lists {
    /// Reads the lists of a file.
    pub const fn new(file: &'static str) -> Self {
        Self { file, lists: OnceLock::new() }
    }

    /// Returns the entries of a list, which must be in the file.
    pub fn entries(&self, name: &str) -> Vec<String> {
        let lists = self.lists.get_or_init(|| read_lists(self.file));
        let entries = lists.get(name).unwrap_or_else(|| panic!("no list {name}"));
        entries.iter().map(|line| line.replace('␣', " ").replace("\\#", "#")).collect()
    }

    /// Returns a pattern with the entries of a list as alternatives.
    pub fn pattern(&self, name: &str) -> String {
        self.entries(name).join("|")
    }

    /// Returns a pattern whose hints are in the list `NAME, hints`.
    pub fn hinted(&self, name: &str, build: fn(&str) -> Matcher) -> HintedMatcher {
        let hints = self.pattern(&format!("{name}, hints"));
        HintedMatcher::new(&hints, self.pattern(name), build)
    }

    /// Returns the words of a list, in which spaces separate them.
    pub fn words(&self, name: &str) -> HashSet<String> {
        let entries = self.entries(name);
        entries.iter().flat_map(|line| line.split(' ')).map(str::to_owned).collect()
    }
}

fn read_lists(file: &'static str) -> HashMap<&'static str, Vec<&'static str>> {
    let mut lists: HashMap<&str, Vec<&str>> = HashMap::new();
    let mut name = "";
    for line in file.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            Some(heading) => name = heading,
            None => lists.entry(name).or_default().push(line),
        }
    }
    lists
}

/// A pattern that can only say whether it matches.
///
/// Building a [`Regex`] takes several times as long, because it can also say where it matches: it
/// has captures, an automaton that searches backwards, and literals to search for first. In a short
/// run that is most of the work.
pub struct Matcher {
    dfa: DFA,
    caches: Pool<Cache, Box<dyn Fn() -> Cache + Send + Sync>>,
}

impl Matcher {
    /// Compiles a constant pattern with the classes of Unicode and [`with_ascii_boundaries`].
    pub fn new(pattern: &str) -> Self {
        Self::build(&with_ascii_boundaries(pattern), true).expect("a constant pattern")
    }

    /// Compiles a constant pattern with the classes of [`ascii_regex`].
    pub fn ascii(pattern: &str) -> Self {
        let matcher = Self::build(pattern, false);
        let matcher = matcher.or_else(|| Self::build(&with_ascii_classes(pattern), true));
        matcher.expect("a constant pattern")
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

    /// Returns true if the pattern matches somewhere in a text.
    pub fn is_match(&self, text: &str) -> bool {
        let mut cache = self.caches.get();
        let found = self.dfa.try_search_fwd(&mut cache, &Input::new(text).earliest(true));
        // The automaton gives up only on request, or at a byte that needs a Unicode word boundary.
        found.expect("no limits").is_some()
    }
}

/// A constant pattern with hints: strings, one of which is in each text that matches, in any case.
/// The pattern is compiled when the first text has a hint.
pub struct HintedMatcher {
    hints: AhoCorasick,
    pattern: String,
    build: fn(&str) -> Matcher,
    matcher: OnceLock<Matcher>,
}

impl HintedMatcher {
    /// Creates the matcher. `hints` are separated by `|`.
    pub fn new(hints: &str, pattern: impl Into<String>, build: fn(&str) -> Matcher) -> Self {
        // Regexes that ignore case accept these two characters for `s` and `k`.
        let hints = hints.split('|').chain(["\u{17f}", "\u{212a}"]);
        let hints = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(hints);
        Self {
            hints: hints.expect("few short hints"),
            pattern: pattern.into(),
            build,
            matcher: OnceLock::new(),
        }
    }

    /// Returns true if the pattern matches somewhere in a text.
    pub fn is_match(&self, text: &str) -> bool {
        self.hints.is_match(text)
            && self.matcher.get_or_init(|| (self.build)(&self.pattern)).is_match(text)
    }
}

#[cfg(test)]
mod tests {
    use super::{HintedMatcher, Lists, Matcher, ascii_regex};

    #[test]
    fn lists_have_entries_words_and_patterns() {
        let lists = Lists::new("# why\n[a]\nshall i␣\n\\# x\n\n[b]\n[^c]d|e\n# more\nf g");
        assert_eq!(lists.entries("a"), ["shall i ", "# x"]);
        assert_eq!(lists.pattern("b"), "[^c]d|e|f g");
        assert_eq!(lists.words("b"), ["[^c]d|e", "f", "g"].map(str::to_owned).into());
    }

    #[test]
    fn a_text_without_a_hint_needs_no_pattern() {
        let order = HintedMatcher::new("must|必须", r"(?i)\bmust\b|必须", Matcher::new);
        assert!(!order.is_match("it may be") && order.matcher.get().is_none());
        assert!(
            order.is_match("You MUST") && order.is_match("必须") && order.is_match("mu\u{17f}t")
        );
        assert!(!order.is_match("mustard"));
    }

    #[test]
    fn classes_are_those_of_ascii_also_next_to_chinese() {
        for pattern in [r"决定\b\w\d\s", r"决.\b\w\d\s"] {
            let (matcher, regex) = (Matcher::ascii(pattern), ascii_regex(pattern));
            for (text, matches) in [("决定a1\n", true), ("决定a１\n", false)] {
                assert_eq!((matcher.is_match(text), regex.is_match(text)), (matches, matches));
            }
        }
        assert!(!Matcher::ascii(r"^\w$").is_match("é"));
    }
}
