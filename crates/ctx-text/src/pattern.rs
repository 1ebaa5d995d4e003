//! Regular expressions that are built into the program. Tests compile every pattern, so that none
//! can fail at run time.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{Mutex, OnceLock, PoisonError};

use foldhash::fast::RandomState;
use regex::Regex;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_automata::util::syntax;
use regex_automata::{Input, meta};

/// Compiles a constant pattern.
pub fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a constant pattern")
}

/// Returns a pattern in which `\w`, `\d` and `\s` match only ASCII. A compiled Unicode class takes
/// up a third of a megabyte, and even patterns for Chinese do not need one.
fn with_ascii_classes(pattern: &str) -> String {
    let pattern = pattern.replace(r"\w", "[0-9A-Za-z_]").replace(r"\d", "[0-9]");
    with_ascii_boundaries(&pattern.replace(r"\s", r"[ \t\r\n]"))
}

/// Returns a pattern in which `\b` is an ASCII word boundary. In Chinese text, an English word may
/// follow a Chinese word without a space, where Unicode defines no word boundary. Unicode word
/// boundaries also make a search several times slower.
pub fn with_ascii_boundaries(pattern: &str) -> String {
    pattern.replace(r"\b", r"(?-u:\b)")
}

/// A set of words. Its hash function is fast, because most words in a session are looked up in such
/// sets.
pub type WordSet = HashSet<String, RandomState>;

/// Lists of words and patterns from a text file that is built into the program. `[NAME]` begins a
/// list, and each line after it is an entry. A line that begins with `#` is a comment. `␣` denotes
/// a space, and `\#` denotes `#`.
pub struct Lists {
    file: &'static str,
    lists: OnceLock<HashMap<&'static str, Vec<&'static str>>>,
}

impl Lists {
    /// Creates the lists from a file's text, which is parsed on first use.
    pub const fn new(file: &'static str) -> Self {
        Self { file, lists: OnceLock::new() }
    }

    /// Returns the entries in the list. The list must be in the file.
    pub fn entries(&self, name: &str) -> Vec<String> {
        let lists = self.lists.get_or_init(|| read_lists(self.file));
        let entries = lists.get(name).unwrap_or_else(|| panic!("no list {name}"));
        entries.iter().map(|line| line.replace('␣', " ").replace("\\#", "#")).collect()
    }

    /// Returns a pattern with the entries in the list as alternatives.
    pub fn pattern(&self, name: &str) -> String {
        self.entries(name).join("|")
    }

    /// Returns a matcher for the entries in the list.
    pub fn matcher(&self, name: &str) -> Matcher {
        Matcher::new(&self.pattern(name))
    }

    /// Returns the phrases in the list.
    pub fn phrases(&self, name: &str) -> Phrases {
        Phrases::new(self.entries(name).iter().map(String::as_str))
    }

    /// Returns the pattern for a list, with hints from the list `NAME, hints`.
    pub fn hinted(&self, name: &str) -> LazyRegex {
        LazyRegex::hinted(self.pattern(name), self.phrases(&format!("{name}, hints")))
    }

    /// Returns the space-separated words in the list.
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

/// Converts a pattern to a byte pattern that matches the same ASCII texts. Building an automaton
/// for the byte pattern takes a fraction of the time needed for a Unicode automaton. Characters
/// outside ASCII become `0xFF`, a byte that no text contains.
///
/// A pattern that ignores case becomes a pattern for lower-case texts, because a single letter is
/// faster to compile than a class of two letters.
fn for_ascii_texts(pattern: &str) -> String {
    assert!(!pattern.contains("(?-i"), "a pattern must ignore case either everywhere or nowhere");
    let in_lower_case = pattern.strip_prefix(IGNORES_CASE);
    let mut ascii = String::with_capacity(pattern.len());
    let mut is_escaped = false;
    for c in in_lower_case.unwrap_or(pattern).chars() {
        match c {
            _ if !c.is_ascii() => ascii.push_str(r"\xFF"),
            _ if in_lower_case.is_some() && !is_escaped => ascii.push(c.to_ascii_lowercase()),
            _ => ascii.push(c),
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    ascii
}

/// The prefix of a pattern that ignores case.
const IGNORES_CASE: &str = "(?i)";

/// Returns ASCII text in the form expected by a pattern from [`for_ascii_texts`]: in lower case if
/// the pattern ignores case.
fn in_case_of<'t>(pattern: &str, text: &'t str) -> Cow<'t, str> {
    if pattern.starts_with(IGNORES_CASE) { text.to_ascii_lowercase().into() } else { text.into() }
}

/// Regexes that ignore case accept these characters in place of `s` and `k`.
const FOLDED_TO_S_AND_K: [char; 2] = ['\u{17f}', '\u{212a}'];

/// Returns the text as bytes, with a single byte for each character outside ASCII. A pattern that
/// contains only ASCII cannot tell characters outside ASCII apart.
fn as_ascii(text: &str, ignores_case: bool) -> Vec<u8> {
    let byte = |c| match FOLDED_TO_S_AND_K.iter().position(|letter| *letter == c) {
        Some(at) if ignores_case => b"sk"[at],
        _ => u8::try_from(c).ok().filter(u8::is_ascii).unwrap_or(0x80),
    };
    text.chars().map(byte).collect()
}

/// A pattern that reports whether it matches, but not where.
///
/// Building a [`Regex`] takes several times as long, because a `Regex` also reports where it
/// matches: it needs captures, a reverse automaton, and literals for a prefilter. In a short run,
/// building a `Regex` would take most of the time. The pattern is compiled on first use, separately
/// for ASCII texts and for other texts.
#[derive(Default)]
pub struct Matcher {
    pattern: String,
    hints: Option<Phrases>,
    for_ascii: OnceLock<Automaton>,
    for_others: OnceLock<Automaton>,
}

impl Matcher {
    /// Creates a matcher for a constant pattern in which `\w`, `\d` and `\s` match only ASCII.
    pub fn new(pattern: &str) -> Self {
        Self { pattern: pattern.to_owned(), ..Self::default() }
    }

    /// Creates a matcher for a constant pattern with hints. Each text that the pattern matches must
    /// contain one of the hints.
    pub fn hinted(pattern: &str, hints: Phrases) -> Self {
        Self { hints: Some(hints), ..Self::new(pattern) }
    }

    /// The original pattern, before any conversion.
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// Extends the pattern of a matcher that has not been used yet.
    pub fn append(&mut self, pattern: &str) {
        self.pattern.push_str(pattern);
    }

    /// Returns true if the pattern matches somewhere in the text.
    pub fn is_match(&self, text: &str) -> bool {
        self.is_match_if(text, |text| self.has_hint(text))
    }

    /// Returns true if the pattern matches somewhere in the text. `has_hint` must return true for
    /// each text that matches. `has_hint` is called only until the pattern is compiled, because
    /// from then on, matching is as fast as looking for hints.
    pub fn is_match_if(&self, text: &str, has_hint: impl FnOnce(&str) -> bool) -> bool {
        let is_ascii = text.is_ascii();
        let is_for_others = !is_ascii && !self.pattern.is_ascii();
        let automaton = if is_for_others { &self.for_others } else { &self.for_ascii };
        if automaton.get().is_none() && !has_hint(text) {
            return false;
        }
        if is_for_others {
            let build = || Automaton::new(&with_ascii_classes(&self.pattern), true);
            return automaton.get_or_init(build).is_match(text.as_bytes());
        }
        let build = || Automaton::new(&for_ascii_texts(&self.pattern), false);
        let automaton = automaton.get_or_init(build);
        let searched = in_case_of(&self.pattern, text);
        if is_ascii {
            return automaton.is_match(searched.as_bytes());
        }
        automaton.is_match(&as_ascii(&searched, self.pattern.starts_with(IGNORES_CASE)))
    }

    /// Returns true if the text contains one of the hints, or if the matcher has no hints.
    pub fn has_hint(&self, text: &str) -> bool {
        self.hints.as_ref().is_none_or(|hints| hints.occur_in(text))
    }
}

/// An automaton whose states are built while it searches.
struct Automaton {
    dfa: DFA,
    /// The states built so far, which threads share unless they search at the same time.
    #[expect(clippy::vec_box, reason = "each search pops a cache, and caches are large")]
    caches: Mutex<Vec<Box<Cache>>>,
}

thread_local! {
    /// One compiler is used for all patterns, because creating its tables takes as long as
    /// compiling several patterns.
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
        Self { dfa, caches: Mutex::default() }
    }

    fn is_match(&self, text: &[u8]) -> bool {
        let caches = || self.caches.lock().unwrap_or_else(PoisonError::into_inner);
        let mut cache = caches().pop().unwrap_or_else(|| Box::new(self.dfa.create_cache()));
        let found = self.dfa.try_search_fwd(&mut cache, &Input::new(text).earliest(true));
        caches().push(cache);
        // The automaton gives up only on request, or at a byte where it would have to check a
        // Unicode word boundary.
        found.expect("no limits").is_some()
    }
}

/// A constant pattern that reports where it matches, for use on single short texts. The pattern is
/// compiled on first use, separately for ASCII texts and for other texts, and without some of the
/// automata that make a [`Regex`] fast but slow to build.
#[derive(Default)]
pub struct LazyRegex {
    pattern: String,
    hints: Option<Phrases>,
    for_ascii: OnceLock<meta::Regex>,
    for_others: OnceLock<meta::Regex>,
}

impl LazyRegex {
    /// Stores the pattern, which is compiled on first use.
    pub fn new(pattern: impl Into<String>) -> Self {
        Self { pattern: pattern.into(), ..Self::default() }
    }

    /// Stores a pattern in which `\w`, `\d` and `\s` match only ASCII.
    pub fn ascii(pattern: &str) -> Self {
        Self::new(with_ascii_classes(pattern))
    }

    /// Stores a pattern with hints. Each text that the pattern matches must contain one of the
    /// hints.
    pub fn hinted(pattern: impl Into<String>, hints: Phrases) -> Self {
        Self { hints: Some(hints), ..Self::new(pattern) }
    }

    /// Returns true if the pattern matches somewhere in the text.
    pub fn is_match(&self, text: &str) -> bool {
        self.search(text).is_some_and(|(regex, text)| regex.is_match(text.as_ref()))
    }

    /// Returns the byte range of the first match.
    pub fn find(&self, text: &str) -> Option<Range<usize>> {
        let (regex, text) = self.search(text)?;
        regex.find(text.as_ref()).map(|found| found.range())
    }

    /// Returns the byte ranges of all matches.
    pub fn find_all(&self, text: &str) -> Vec<Range<usize>> {
        let Some((regex, text)) = self.search(text) else { return Vec::new() };
        regex.find_iter(text.as_ref()).map(|found| found.range()).collect()
    }

    /// Returns the groups of the first match: the match itself, and then each capture.
    pub fn groups<'t>(&self, text: &'t str) -> Option<Vec<Option<&'t str>>> {
        let (regex, searched) = self.search(text)?;
        let mut found = regex.create_captures();
        regex.captures(searched.as_ref(), &mut found);
        found.is_match().then(|| found.iter().map(|group| Some(&text[group?.range()])).collect())
    }

    /// Replaces each match in the text.
    pub fn replace_all(&self, text: &str, with: &str) -> String {
        let mut replaced = text.to_owned();
        for found in self.find_all(text).into_iter().rev() {
            replaced.replace_range(found, with);
        }
        replaced
    }

    /// Returns the regex for a text, and the form of the text to search. `None` if the text
    /// contains none of the hints.
    fn search<'t>(&self, text: &'t str) -> Option<(&meta::Regex, Cow<'t, str>)> {
        self.hints.as_ref().is_none_or(|hints| hints.occur_in(text)).then_some(())?;
        let build = |pattern: &str, is_unicode: bool| {
            let syntax = syntax::Config::new().unicode(is_unicode).utf8(is_unicode);
            let config = meta::Config::new().auto_prefilter(false).onepass(false);
            let regex = meta::Regex::builder().syntax(syntax).configure(config).build(pattern);
            regex.expect("a constant pattern")
        };
        if text.is_ascii() {
            let build = || build(&for_ascii_texts(&self.pattern), false);
            return Some((self.for_ascii.get_or_init(build), in_case_of(&self.pattern, text)));
        }
        Some((self.for_others.get_or_init(|| build(&self.pattern, true)), text.into()))
    }
}

/// Words and phrases that are searched for all at once, ignoring ASCII case. Unlike an automaton,
/// this structure is built in almost no time.
pub struct Phrases {
    /// The phrases, sorted by their first two bytes.
    entries: Vec<Phrase>,
    /// For each pair of first bytes, the index of its first phrase in `entries`.
    firsts: Vec<usize>,
    /// For each pair of first bytes, a bit for each third byte that occurs in its phrases. Only a
    /// few places in the text pass a test against these bits.
    thirds: Vec<u32>,
}

struct Phrase {
    /// The first two bytes of the phrase: see [`pair`].
    pair: usize,
    /// A bit for each byte that may come third, indexed by the lower five bits of the byte.
    thirds: u32,
    number: usize,
    text: String,
}

impl Phrases {
    /// Creates the phrases from the entries in a list. Within each entry, `|` separates phrases.
    /// The phrases are numbered in order, and none may be empty.
    pub fn new<'e>(entries: impl IntoIterator<Item = &'e str>) -> Self {
        let texts = entries.into_iter().flat_map(|entry| entry.split('|'));
        let mut phrases = Vec::new();
        let (mut firsts, mut thirds) = (vec![0; PAIRS + 1], vec![0; PAIRS]);
        for (number, text) in texts.enumerate() {
            let byte = |at| text.as_bytes().get(at).copied().unwrap_or(0);
            let first = pair(byte(0), byte(1));
            // Any byte may follow a phrase of one or two bytes.
            let seconds = if text.len() == 1 { 32 } else { 1 };
            let bits = text.as_bytes().get(2).map_or(u32::MAX, |byte| 1 << (byte & 31));
            for pair in first..first + seconds {
                phrases.push(Phrase { pair, thirds: bits, number, text: text.to_owned() });
                firsts[pair + 1] += 1;
                thirds[pair] |= bits;
            }
        }
        for pair in 1..=PAIRS {
            firsts[pair] += firsts[pair - 1];
        }
        phrases.sort_by_key(|phrase| phrase.pair);
        Self { entries: phrases, firsts, thirds }
    }

    /// Calls `found` with the number and the range of each phrase in the text, until a call returns
    /// true. Returns true if a call did.
    pub fn any(&self, text: &str, mut found: impl FnMut(usize, Range<usize>) -> bool) -> bool {
        let bytes = text.as_bytes();
        let mut is_at = |at: usize, pair: usize, third: u8| {
            let phrases = &self.entries[self.firsts[pair]..self.firsts[pair + 1]];
            phrases.iter().filter(|phrase| phrase.thirds >> third & 1 == 1).any(|phrase| {
                let place = at..at + phrase.text.len();
                let begins = bytes.get(place.clone()).unwrap_or_default();
                let is_here = begins.eq_ignore_ascii_case(phrase.text.as_bytes());
                is_here && found(phrase.number, place)
            })
        };
        for (at, three) in bytes.windows(3).enumerate() {
            let (pair, third) = (pair(three[0], three[1]), three[2] & 31);
            // Phrases begin at only a few places in the text.
            if self.thirds[pair] >> third & 1 == 1 && is_at(at, pair, third) {
                return true;
            }
        }
        let second = |at: usize| bytes.get(at + 1).copied().unwrap_or(0);
        let mut ends = bytes.len().saturating_sub(2)..bytes.len();
        ends.any(|at| is_at(at, pair(bytes[at], second(at)), 0))
    }

    /// Returns true if the text contains one of the phrases, even as part of a word. Also returns
    /// true if the text contains a character that a case-insensitive regex accepts in place of `s`
    /// or `k`.
    pub fn occur_in(&self, text: &str) -> bool {
        self.any(text, |_, _| true) || !text.is_ascii() && text.contains(FOLDED_TO_S_AND_K)
    }

    /// Returns true if the text contains one of the phrases as whole words. Phrases in scripts
    /// without spaces may occur anywhere.
    pub fn are_in(&self, text: &str) -> bool {
        self.any_words(text, |_, _| true)
    }

    /// Calls `found` like [`Self::any`], but only for phrases that are whole words.
    pub fn any_words(
        &self,
        text: &str,
        mut found: impl FnMut(usize, Range<usize>) -> bool,
    ) -> bool {
        let bytes = text.as_bytes();
        let is_word = |at: usize| {
            bytes.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        };
        let follows_word = |at: usize| at.checked_sub(1).is_some_and(is_word);
        let is_inside = |at: usize| is_word(at) && follows_word(at);
        self.any(text, |number, phrase| {
            // A phrase that is a word ending, such as `'s`, must directly follow a word.
            let is_torn = bytes[phrase.start] == b'\'' && !follows_word(phrase.start);
            let is_whole = !is_torn && !is_inside(phrase.start) && !is_inside(phrase.end);
            is_whole && found(number, phrase)
        })
    }
}

/// The number of values of [`pair`].
const PAIRS: usize = 0x60 << 5;

/// Returns a number for the first two bytes of the text. A letter has the same number in upper and
/// lower case. The first byte distinguishes punctuation from letters, because `.` is frequent in
/// lists of phrases: if `.` and `n` counted the same there, most places in a text would need a
/// closer look.
#[inline]
fn pair(first: u8, second: u8) -> usize {
    usize::from(first & 0x5F) << 5 | usize::from(second & 31)
}

#[cfg(test)]
mod tests {
    use super::{LazyRegex, Lists, Matcher, Phrases};

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
        let phrases = Phrases::new(["do not think|do not know|don't know", "no|不要"]);
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
            let (matcher, regex) = (Matcher::new(pattern), LazyRegex::ascii(pattern));
            for (text, matches) in [("决定a1\n", true), ("决定a１\n", false)] {
                assert_eq!((matcher.is_match(text), regex.is_match(text)), (matches, matches));
            }
        }
        assert!(!Matcher::new(r"^\w$").is_match("é"));
    }

    #[test]
    fn a_pattern_of_ascii_takes_other_characters_as_they_are() {
        let pattern = r"(?i)\bas[^a]{2}b\b.k";
        for (text, matches) in
            [("aſ决定B—\u{212a}", true), ("决as决定b，k", true), ("as决b，k", false)]
        {
            assert_eq!(Matcher::new(pattern).is_match(text), matches);
        }
        let hinted = Matcher::hinted("(?i)mask", Phrases::new(["mask"]));
        for text in ["ma\u{17f}\u{212a}", "é MASK"] {
            assert!(hinted.is_match(text));
        }
        assert!(!Matcher::new("mask").is_match("ma\u{17f}k"));
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
