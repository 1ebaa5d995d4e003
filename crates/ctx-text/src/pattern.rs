//! Regular expressions that are part of the program. A test compiles each of them, so that none
//! fails when it is used.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
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
        HintedMatcher::new(&hints, build(&self.pattern(name)))
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

/// Returns a pattern that matches the same ASCII texts, for automata over bytes without Unicode. They
/// take a tenth of the time and the memory to build. `0xFF` is in no text.
fn for_ascii_texts(pattern: &str) -> String {
    let mut ascii = String::with_capacity(pattern.len());
    for c in pattern.chars() {
        if c.is_ascii() { ascii.push(c) } else { ascii.push_str(r"\xFF") }
    }
    ascii
}

/// A pattern that can only say whether it matches.
///
/// Building a [`Regex`] takes several times as long, because it can also say where it matches: it
/// has captures, an automaton that searches backwards, and literals to search for first. In a short
/// run that is most of the work. The pattern is compiled on first use: once for ASCII texts, which
/// are most, and once for all others.
#[derive(Default)]
pub struct Matcher {
    pattern: String,
    is_unicode: bool,
    for_ascii: OnceLock<Automaton>,
    for_others: OnceLock<Automaton>,
}

impl Matcher {
    /// A constant pattern with the classes of Unicode and [`with_ascii_boundaries`].
    pub fn new(pattern: &str) -> Self {
        Self { is_unicode: true, ..Self::ascii(pattern) }
    }

    /// A constant pattern with the classes of [`ascii_regex`].
    pub fn ascii(pattern: &str) -> Self {
        let (for_ascii, for_others) = (OnceLock::new(), OnceLock::new());
        Self { pattern: pattern.to_owned(), is_unicode: false, for_ascii, for_others }
    }

    /// The pattern as it was written.
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// Adds to the end of the pattern, which has not been used yet.
    pub fn append(&mut self, pattern: &str) {
        self.pattern.push_str(pattern);
    }

    /// Returns true if the pattern matches somewhere in a text.
    pub fn is_match(&self, text: &str) -> bool {
        let automaton = if text.is_ascii() {
            let ascii = || Automaton::new(&for_ascii_texts(&self.pattern), false, false);
            self.for_ascii.get_or_init(|| ascii().expect("a constant pattern"))
        } else {
            self.for_others.get_or_init(|| self.automaton().expect("a constant pattern"))
        };
        automaton.is_match(text)
    }

    fn automaton(&self) -> Option<Automaton> {
        if self.is_unicode {
            return Automaton::new(&with_ascii_boundaries(&self.pattern), true, true);
        }
        let automaton = Automaton::new(&self.pattern, false, true);
        automaton.or_else(|| Automaton::new(&with_ascii_classes(&self.pattern), true, true))
    }
}

/// An automaton whose states are built while it searches.
struct Automaton {
    dfa: DFA,
    caches: Pool<Cache, Box<dyn Fn() -> Cache + Send + Sync>>,
}

impl Automaton {
    fn new(pattern: &str, is_unicode: bool, is_utf8: bool) -> Option<Self> {
        let dfa = DFA::builder()
            .syntax(syntax::Config::new().unicode(is_unicode).utf8(is_utf8))
            .thompson(thompson::Config::new().which_captures(WhichCaptures::None))
            .build(pattern)
            .ok()?;
        let of = dfa.clone();
        Some(Self { dfa, caches: Pool::new(Box::new(move || of.create_cache())) })
    }

    fn is_match(&self, text: &str) -> bool {
        let mut cache = self.caches.get();
        let found = self.dfa.try_search_fwd(&mut cache, &Input::new(text).earliest(true));
        // The automaton gives up only on request, or at a byte that needs a Unicode word boundary.
        found.expect("no limits").is_some()
    }
}

/// A constant pattern that says where it matches. Like a [`Matcher`], it is compiled on first use,
/// once for ASCII texts and once for others.
pub struct LazyRegex {
    pattern: String,
    build: fn(&str) -> Regex,
    for_ascii: OnceLock<bytes::Regex>,
    for_others: OnceLock<Regex>,
}

impl LazyRegex {
    /// Keeps the pattern. `build` compiles it for texts that are not ASCII.
    pub fn new(pattern: impl Into<String>, build: fn(&str) -> Regex) -> Self {
        let (for_ascii, for_others) = (OnceLock::new(), OnceLock::new());
        Self { pattern: pattern.into(), build, for_ascii, for_others }
    }

    /// Returns true if the pattern matches somewhere in a text.
    pub fn is_match(&self, text: &str) -> bool {
        if text.is_ascii() {
            return self.for_ascii().is_match(text.as_bytes());
        }
        self.for_others().is_match(text)
    }

    /// Returns the place of the first match.
    pub fn find(&self, text: &str) -> Option<Range<usize>> {
        if text.is_ascii() {
            return self.for_ascii().find(text.as_bytes()).map(|found| found.range());
        }
        self.for_others().find(text).map(|found| found.range())
    }

    /// Returns the groups of the first match: the match itself, and then each capture.
    pub fn groups<'t>(&self, text: &'t str) -> Option<Vec<Option<&'t str>>> {
        if text.is_ascii() {
            let found = self.for_ascii().captures(text.as_bytes())?;
            return Some(found.iter().map(|group| Some(&text[group?.range()])).collect());
        }
        let found = self.for_others().captures(text)?;
        Some(found.iter().map(|group| Some(group?.as_str())).collect())
    }

    /// Replaces each match in a text.
    pub fn replace_all<'t>(&self, text: &'t str, with: &str) -> Cow<'t, str> {
        if text.is_ascii() {
            let replaced = self.for_ascii().replace_all(text.as_bytes(), with.as_bytes());
            return String::from_utf8_lossy(&replaced).into_owned().into();
        }
        self.for_others().replace_all(text, with)
    }

    fn for_ascii(&self) -> &bytes::Regex {
        self.for_ascii.get_or_init(|| bytes_regex(&for_ascii_texts(&self.pattern)))
    }

    fn for_others(&self) -> &Regex {
        self.for_others.get_or_init(|| (self.build)(&self.pattern))
    }
}

/// A constant pattern with hints: strings, one of which is in each text that matches, in any case.
pub struct HintedMatcher {
    hints: AhoCorasick,
    matcher: Matcher,
}

impl HintedMatcher {
    /// Creates the matcher. `hints` are separated by `|`.
    pub fn new(hints: &str, matcher: Matcher) -> Self {
        // Regexes that ignore case accept these two characters for `s` and `k`.
        let hints = hints.split('|').chain(["\u{17f}", "\u{212a}"]);
        let hints = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(hints);
        Self { hints: hints.expect("few short hints"), matcher }
    }

    /// Returns true if the pattern matches somewhere in a text.
    pub fn is_match(&self, text: &str) -> bool {
        self.hints.is_match(text) && self.matcher.is_match(text)
    }
}

#[cfg(test)]
mod tests {
    use super::{HintedMatcher, LazyRegex, Lists, Matcher, ascii_regex, regex};

    #[test]
    fn lists_have_entries_words_and_patterns() {
        let lists = Lists::new("# why\n[a]\nshall i␣\n\\# x\n\n[b]\n[^c]d|e\n# more\nf g");
        assert_eq!(lists.entries("a"), ["shall i ", "# x"]);
        assert_eq!(lists.pattern("b"), "[^c]d|e|f g");
        assert_eq!(lists.words("b"), ["[^c]d|e", "f", "g"].map(str::to_owned).into());
    }

    #[test]
    fn a_text_without_a_hint_needs_no_pattern() {
        let order = HintedMatcher::new("must|必须", Matcher::new(r"(?i)\bmust\b|必须"));
        assert!(!order.is_match("it may be") && order.matcher.for_ascii.get().is_none());
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

    #[test]
    fn a_pattern_means_the_same_for_ascii_and_other_texts() {
        let pattern = r"(?i)\b(use|用)\s[^，]{2,4}[:：]|决";
        let (matcher, lazy) = (Matcher::new(pattern), LazyRegex::new(pattern, regex));
        for (text, found) in [
            ("now Use abc: x", Some(4..12)),
            ("now Use abc： x", Some(4..14)),
            ("now use abcde:", None),
            ("now use a，b:", None),
            ("因为use ab:", None),
            ("", None),
        ] {
            assert_eq!(lazy.find(text), found);
            assert_eq!(lazy.is_match(text), found.is_some());
            assert_eq!(matcher.is_match(text), found.is_some() || text == "因为use ab:");
            let words = lazy.groups(text).map(|groups| groups[1].map(str::to_lowercase));
            assert_eq!(words, found.map(|_| Some("use".to_owned())));
        }
        assert_eq!(lazy.replace_all("a use bc: d", "-"), "a - d");
        assert_eq!(lazy.replace_all("a 决 d", "-"), "a - d");
    }
}
