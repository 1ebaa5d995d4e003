//! A table of patterns, compiled piece by piece when a sentence comes that needs it:
//! most sessions are in one language, most sentences match nothing, and a small
//! session should not wait for what it does not use.

use std::sync::OnceLock;

use aho_corasick::AhoCorasick;
use ctx_transcript::Role;
use regex::{Regex, RegexBuilder};

use super::{Pattern, Speaker};

pub(super) struct Table {
    /// Each pattern with what it looks for and its look-alikes.
    patterns: Vec<(&'static Pattern, Lazy, Lazy)>,
    /// The hints of all patterns, looked for at once.
    hints: AhoCorasick,
    /// Of each hint the pattern that it belongs to.
    of_hint: Vec<PatternSet>,
    without_hints: PatternSet,
    veto: Lazy,
}

/// A set of patterns, a bit for each.
type PatternSet = u64;

/// A pattern that is compiled when it is needed first.
struct Lazy {
    pattern: &'static str,
    regex: OnceLock<Regex>,
}

impl Table {
    pub(super) fn new(patterns: &'static [Pattern], veto: &'static str) -> Self {
        let bits = || {
            patterns
                .iter()
                .enumerate()
                .map(|(at, pattern)| (1 << at, pattern))
        };
        let hints = patterns.iter().flat_map(|pattern| pattern.hints);
        Self {
            patterns: (patterns.iter())
                .map(|pattern| (pattern, Lazy::new(pattern.says), Lazy::new(pattern.not)))
                .collect(),
            hints: AhoCorasick::new(hints).expect("the tables hold few words"),
            of_hint: (bits())
                .flat_map(|(bit, pattern)| vec![bit; pattern.hints.len()])
                .collect(),
            without_hints: (bits())
                .filter(|(_, pattern)| pattern.hints.is_empty())
                .fold(0, |all, (bit, _)| all | bit),
            veto: Lazy::new(veto),
        }
    }

    /// The first pattern that a sentence of this role's holds.
    pub(super) fn find(&self, sentence: &str, role: Role) -> Option<&'static Pattern> {
        let hinted = self.hinted(sentence);
        let found = self
            .patterns
            .iter()
            .enumerate()
            .find(|(at, (pattern, says, not))| {
                hinted & 1 << at != 0
                && (pattern.speaker == Speaker::Anyone || role == Role::User)
                // A pattern with a Chinese name is for Chinese only.
                && (pattern.name.is_ascii() || !sentence.is_ascii())
                && says.is_match(sentence)
                && (pattern.not.is_empty()
                    || says.is_match(&not.get().replace_all(sentence, "\u{1}")))
            });
        found.map(|(_, (pattern, ..))| *pattern)
    }

    /// The patterns one of whose hints stands in the sentence, and those without any.
    fn hinted(&self, sentence: &str) -> PatternSet {
        // A full stop at the end is no sign of a file name.
        let lower = sentence.trim_end_matches('.').to_lowercase();
        let hints = self.hints.find_overlapping_iter(&lower);
        hints.fold(self.without_hints, |all, hint| {
            all | self.of_hint[hint.pattern()]
        })
    }

    pub(super) fn vetoes(&self, sentence: &str) -> bool {
        self.veto.is_match(sentence)
    }
}

impl Lazy {
    fn new(pattern: &'static str) -> Self {
        let regex = OnceLock::new();
        Self { pattern, regex }
    }

    fn get(&self) -> &Regex {
        self.regex.get_or_init(|| compile(self.pattern))
    }

    fn is_match(&self, sentence: &str) -> bool {
        self.get().is_match(sentence)
    }
}

/// The tables are part of the program: every pattern of them is compiled by a test.
///
/// Words, digits and blanks are those of ASCII: Unicode's tables of them take
/// most of the time of a compilation, and Chinese has no use for them.
pub(super) fn compile(pattern: &str) -> Regex {
    let plain = RegexBuilder::new(pattern).unicode(false).build();
    plain
        .or_else(|_| Regex::new(&in_ascii_classes(pattern)))
        .expect("the tables hold valid patterns")
}

fn in_ascii_classes(pattern: &str) -> String {
    pattern
        .replace(r"\w", "[0-9A-Za-z_]")
        .replace(r"\d", "[0-9]")
        .replace(r"\s", r"[ \t\r\n]")
        .replace(r"\b", r"(?-u:\b)")
}

#[cfg(test)]
mod tests {
    use super::{PatternSet, Table, compile};
    use crate::rules::{MemoryKind, Pattern, Speaker, patterns};

    const fn with_hints(hints: &'static [&'static str]) -> Pattern {
        Pattern {
            name: "a",
            speaker: Speaker::Anyone,
            hints,
            says: "a",
            not: "",
            why: "a test",
        }
    }

    static PATTERNS: [Pattern; 5] = [
        with_hints(&["go", "going to"]),
        with_hints(&[]),
        with_hints(&["ing"]),
        with_hints(&["决定"]),
        with_hints(&["ok"]),
    ];

    #[test]
    fn hints_overlap_and_have_no_case() {
        let table = Table::new(&PATTERNS, "a");
        assert_eq!(table.hinted(""), 0b00010);
        assert_eq!(table.hinted("GOING to"), 0b00111);
        assert_eq!(table.hinted("我决定了"), 0b01010);
        // The sign of kelvin is a k in lower case.
        assert_eq!(table.hinted("O\u{212a}"), 0b10010);
    }

    #[test]
    fn every_table_has_a_bit_for_each_pattern() {
        for kind in MemoryKind::ALL {
            assert!(patterns(kind).len() <= PatternSet::BITS as usize);
        }
    }

    #[test]
    fn classes_are_those_of_ascii_also_beside_chinese() {
        let regex = compile(r"决定\b\w\d\s");
        assert!(regex.is_match("决定a1\n"));
        assert!(!regex.is_match("决定a１\n"));
        assert!(!compile(r"^\w$").is_match("é"));
    }
}
