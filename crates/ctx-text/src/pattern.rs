//! Regular expressions that are part of the program. A test compiles each of them, so that none
//! fails when it is used.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use foldhash::fast::RandomState;
use regex::{Regex, RegexBuilder};
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_automata::util::pool::Pool;
use regex_automata::util::syntax;
use regex_automata::{Input, meta};

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

/// A set of words, which is asked for most words of a session.
pub type WordSet = HashSet<String, RandomState>;

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

    /// Returns the phrases of a list.
    pub fn phrases(&self, name: &str) -> Phrases {
        Phrases::new(&self.entries(name))
    }

    /// Returns the words of a list, in which spaces separate them.
    pub fn words(&self, name: &str) -> WordSet {
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

/// Returns a pattern that matches the same ASCII texts, for automata over bytes. They take a fraction
/// of the time to build that those of Unicode take. `0xFF` is in no text.
fn for_ascii_texts(pattern: &str) -> String {
    let mut ascii = String::with_capacity(pattern.len());
    for c in pattern.chars() {
        if c.is_ascii() { ascii.push(c) } else { ascii.push_str(r"\xFF") }
    }
    ascii
}

/// Returns a text in which each character that is not ASCII is one byte. A pattern that names no
/// such character cannot tell them apart. Regexes that ignore case accept two of them as letters.
fn as_ascii(text: &str) -> Vec<u8> {
    let byte = |c| match c {
        '\u{17f}' => b's',
        '\u{212a}' => b'k',
        c => u8::try_from(c).ok().filter(u8::is_ascii).unwrap_or(0x80),
    };
    text.chars().map(byte).collect()
}

/// A pattern that can only say whether it matches.
///
/// Building a [`Regex`] takes several times as long, because it can also say where it matches: it
/// has captures, an automaton that searches backwards, and literals to search for first. In a short
/// run that is most of the work. The pattern is compiled on first use: once for ASCII texts, which
/// are most, and if it must be, once for all others.
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
        Self { pattern: pattern.to_owned(), ..Self::default() }
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
        if text.is_ascii() {
            self.for_ascii().is_match(text.as_bytes())
        } else if self.is_ascii() {
            self.for_ascii().is_match(&as_ascii(text))
        } else {
            self.for_others().is_match(text.as_bytes())
        }
    }

    /// Returns true if the pattern names and distinguishes no characters that are not ASCII.
    fn is_ascii(&self) -> bool {
        let has_class = || ["\\w", "\\W", "\\d", "\\D", "\\s", "\\S"].iter();
        self.pattern.is_ascii()
            && !(self.is_unicode && has_class().any(|class| self.pattern.contains(class)))
    }

    fn for_ascii(&self) -> &Automaton {
        self.for_ascii.get_or_init(|| Automaton::new(&for_ascii_texts(&self.pattern), false))
    }

    fn for_others(&self) -> &Automaton {
        let pattern = if self.is_unicode {
            with_ascii_boundaries(&self.pattern)
        } else {
            with_ascii_classes(&self.pattern)
        };
        self.for_others.get_or_init(|| Automaton::new(&pattern, true))
    }
}

/// An automaton whose states are built while it searches.
struct Automaton {
    dfa: DFA,
    caches: Pool<Cache, Box<dyn Fn() -> Cache + Send + Sync>>,
}

thread_local! {
    /// A compiler takes as long to create its tables as to compile several patterns.
    static COMPILER: RefCell<thompson::Compiler> = RefCell::new(thompson::Compiler::new());
}

impl Automaton {
    fn new(pattern: &str, is_unicode: bool) -> Self {
        let nfa = COMPILER.with_borrow_mut(|compiler| {
            let config = thompson::Config::new().which_captures(WhichCaptures::None);
            let syntax = syntax::Config::new().unicode(is_unicode).utf8(is_unicode);
            let nfa = compiler.configure(config).syntax(syntax).build(pattern);
            nfa.expect("a constant pattern")
        });
        let dfa = DFA::builder().build_from_nfa(nfa).expect("a constant pattern");
        let of = dfa.clone();
        Self { dfa, caches: Pool::new(Box::new(move || of.create_cache())) }
    }

    fn is_match(&self, text: &[u8]) -> bool {
        let mut cache = self.caches.get();
        let found = self.dfa.try_search_fwd(&mut cache, &Input::new(text).earliest(true));
        // The automaton gives up only on request, or at a byte that needs a Unicode word boundary.
        found.expect("no limits").is_some()
    }
}

/// A constant pattern that says where it matches. It is for single short texts: it is compiled on
/// first use, once for ASCII texts and once for others, and without some of the automata
/// that make a [`Regex`] fast and expensive to build.
#[derive(Default)]
pub struct LazyRegex {
    pattern: String,
    for_ascii: OnceLock<meta::Regex>,
    for_others: OnceLock<meta::Regex>,
}

impl LazyRegex {
    /// Keeps the pattern.
    pub fn new(pattern: impl Into<String>) -> Self {
        Self { pattern: pattern.into(), ..Self::default() }
    }

    /// Keeps the pattern with the classes of [`ascii_regex`].
    pub fn ascii(pattern: &str) -> Self {
        Self::new(with_ascii_classes(pattern))
    }

    /// Returns true if the pattern matches somewhere in a text.
    pub fn is_match(&self, text: &str) -> bool {
        self.regex(text).is_match(text)
    }

    /// Returns the place of the first match.
    pub fn find(&self, text: &str) -> Option<Range<usize>> {
        self.regex(text).find(text).map(|found| found.range())
    }

    /// Returns the groups of the first match: the match itself, and then each capture.
    pub fn groups<'t>(&self, text: &'t str) -> Option<Vec<Option<&'t str>>> {
        let regex = self.regex(text);
        let mut found = regex.create_captures();
        regex.captures(text, &mut found);
        found.is_match().then(|| found.iter().map(|group| Some(&text[group?.range()])).collect())
    }

    /// Replaces each match in a text.
    pub fn replace_all(&self, text: &str, with: &str) -> String {
        let mut replaced = String::with_capacity(text.len());
        let mut copied = 0;
        for found in self.regex(text).find_iter(text) {
            replaced.push_str(&text[copied..found.start()]);
            replaced.push_str(with);
            copied = found.end();
        }
        replaced + &text[copied..]
    }

    fn regex(&self, text: &str) -> &meta::Regex {
        let build = |pattern: &str, is_unicode: bool| {
            let syntax = syntax::Config::new().unicode(is_unicode).utf8(is_unicode);
            let config = meta::Config::new().auto_prefilter(false).onepass(false);
            let regex = meta::Regex::builder().syntax(syntax).configure(config).build(pattern);
            regex.expect("a constant pattern")
        };
        if text.is_ascii() {
            return self.for_ascii.get_or_init(|| build(&for_ascii_texts(&self.pattern), false));
        }
        self.for_others.get_or_init(|| build(&self.pattern, true))
    }
}

/// Words and phrases that a text contains as whole words, in any case. Unlike a regex, they need not
/// be compiled, which in a short run takes longer than all that is searched. Phrases in scripts
/// without spaces are found anywhere.
pub struct Phrases {
    phrases: Vec<String>,
    /// A bit for each pair of letters that begins a phrase, by five bits of each letter. Both cases
    /// of a letter have the same.
    pairs: [u32; 32],
}

impl Phrases {
    /// Takes the entries of a list. `|` separates phrases, and in an entry with groups, each phrase
    /// has one alternative of each group: `(do not|don't) (think|know)` is four phrases.
    pub fn new(entries: &[String]) -> Self {
        let mut phrases = Vec::new();
        for entry in entries {
            let mut all = vec![String::new()];
            for group in entry.split(['(', ')']) {
                let with = |begin: &String| {
                    let begin = begin.clone();
                    group.split('|').map(move |end| [begin.as_str(), end].concat())
                };
                all = all.iter().flat_map(with).collect();
            }
            phrases.append(&mut all);
        }
        let mut pairs = [0; 32];
        for phrase in &phrases {
            let (at, bit) = pair(phrase.as_bytes());
            pairs[at] |= bit;
        }
        Self { phrases, pairs }
    }

    /// Returns true if a text contains one of the phrases.
    pub fn are_in(&self, text: &str) -> bool {
        let bytes = text.as_bytes();
        let is_word =
            |byte: Option<&u8>| byte.is_some_and(|it| it.is_ascii_alphanumeric() || *it == b'_');
        let is_phrase = |at: usize, phrase: &[u8]| {
            let Some(found) = bytes.get(at..at + phrase.len()) else { return false };
            let before = at.checked_sub(1).and_then(|before| bytes.get(before));
            let after = bytes.get(at + phrase.len());
            found.eq_ignore_ascii_case(phrase)
                && !(is_word(phrase.first()) && is_word(before))
                && !(is_word(phrase.last()) && is_word(after))
        };
        bytes.windows(2).enumerate().any(|(at, two)| {
            let (pair, bit) = pair(two);
            self.pairs[pair] & bit != 0
                && self.phrases.iter().any(|phrase| is_phrase(at, phrase.as_bytes()))
        })
    }
}

/// The place of the first two bytes among the pairs of [`Phrases`].
fn pair(text: &[u8]) -> (usize, u32) {
    (usize::from(text[0] & 31), 1 << (text[1] & 31))
}

/// Returns an automaton that finds hints in any case.
pub fn hints_of<'h>(hints: impl IntoIterator<Item = &'h str>) -> AhoCorasick {
    let mut builder = AhoCorasick::builder();
    builder.ascii_case_insensitive(true).kind(Some(AhoCorasickKind::ContiguousNFA));
    builder.build(hints).expect("a few hundred short hints")
}

#[cfg(test)]
mod tests {
    use super::{LazyRegex, Lists, Matcher, Phrases, ascii_regex};

    #[test]
    fn lists_have_entries_words_and_patterns() {
        let lists = Lists::new("# why\n[a]\nshall i␣\n\\# x\n\n[b]\n[^c]d|e\n# more\nf g");
        assert_eq!(lists.entries("a"), ["shall i ", "# x"]);
        assert_eq!(lists.pattern("b"), "[^c]d|e|f g");
        let mut words: Vec<String> = lists.words("b").into_iter().collect();
        words.sort();
        assert_eq!(words, ["[^c]d|e", "f", "g"]);
    }

    #[test]
    fn a_phrase_is_found_as_whole_words_or_in_chinese_anywhere() {
        let entries = ["(do not|don't) (think|know)".to_owned(), "no|不要".to_owned()];
        let phrases = Phrases::new(&entries);
        for text in ["I DON'T know.", "do not think", "no", "a-no_ or no", "我不要它", "用no的"]
        {
            assert!(phrases.are_in(text), "{text}");
        }
        for text in ["", "n", "do not", "nobody", "know", "_no", "don't thinking", "不 要"] {
            assert!(!phrases.are_in(text), "{text}");
        }
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
    fn a_pattern_of_ascii_takes_other_characters_as_they_are() {
        let pattern = r"(?i)\bas[^a]{2}b\b.k";
        for (text, matches) in
            [("aſ决定B—\u{212a}", true), ("决as决定b，k", true), ("as决b，k", false)]
        {
            assert_eq!(Matcher::ascii(pattern).is_match(text), matches);
            assert_eq!(Matcher::new(pattern).is_match(text), matches);
        }
    }

    #[test]
    fn a_pattern_means_the_same_for_ascii_and_other_texts() {
        let pattern = r"(?i)\b(use|用)\s[^，]{2,4}[:：]|决";
        let (matcher, lazy) = (Matcher::new(pattern), LazyRegex::new(pattern));
        for (text, found) in [
            ("now Use abc: x", Some(4..12)),
            ("now Use abc： x", Some(4..14)),
            ("now use abcde:", None),
            ("now use a，b:", None),
            ("因为use ab:", None),
            ("— use ab:", Some(4..11)),
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
