//! Tables of patterns, read from text files and compiled piece by piece: most sessions are in
//! one language, most sentences match nothing, and a small session should not wait for what it
//! does not use.
//!
//! A file has the tables `== named` and `== kept`. A table begins with its own regexes, `KEY:
//! REGEX`; then comes each pattern under `[NAME]`, unique in its table. A pattern with a Chinese
//! name is for Chinese sentences only. Lines that begin with `#` are comments, and lines of one
//! key in a row are one regex. The keys of a pattern:
//!
//! - `says`: what it looks for.
//! - `not`: look-alikes, which are blanked out before.
//! - `hints`: words in lower case, separated by `|`, one of which is in every sentence that the
//!   pattern matches; `␣` is a blank. Without hints the pattern is tried on each sentence.
//! - `speaker: user`: only the user's sentences. "Always run the tests" is a wish of the user,
//!   and a description when the model says it.
//! - `why`: the reason for all this.

use std::sync::OnceLock;

use ctx_format::Role;
use ctx_text::{Matcher, ascii_regex};
use regex::Regex;

/// One pattern of a table.
#[derive(Default)]
pub struct Pattern {
    /// Its name, unique in its table.
    pub name: &'static str,
    pub(super) hints: Vec<String>,
    pub(super) says: LazyMatcher,
    not: LazyMatcher,
    /// The same as `not`, to blank out what it matches.
    look_alikes: OnceLock<Regex>,
    is_users: bool,
    #[cfg(test)]
    pub(super) why: &'static str,
}

/// Patterns of one kind of sentence, with the regexes that go with them.
#[derive(Default)]
pub(super) struct Table {
    pub(super) patterns: Vec<Pattern>,
    /// Sentences that are of no pattern, whatever they match.
    pub(super) veto: LazyMatcher,
    /// Statements that hold only for the moment.
    pub(super) passing: LazyMatcher,
    /// A pattern that every sentence must match.
    pub(super) states: LazyMatcher,
    /// Causes and remedies that name nothing.
    pub(super) unnamed: LazyMatcher,
}

/// A set of the patterns of a table, one bit for each.
pub(super) type PatternSet = u64;

impl Table {
    /// The tables `named` and `kept` of a file.
    pub(super) fn read(file: &'static str) -> [Self; 2] {
        let mut tables = [Self::default(), Self::default()];
        let mut table = &mut tables[0];
        for line in file.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if line == "== kept" {
                table = &mut tables[1];
            } else if let Some(name) = line.strip_prefix('[') {
                let name = name.trim_end_matches(']');
                table.patterns.push(Pattern { name, ..Pattern::default() });
            } else if let Some((key, value)) = line.split_once(": ") {
                table.add(key, value);
            }
        }
        tables
    }

    fn add(&mut self, key: &str, value: &'static str) {
        if let Some(pattern) = self.patterns.last_mut() {
            match key {
                "says" => pattern.says.pattern.push_str(value),
                "not" => pattern.not.pattern.push_str(value),
                "hints" => {
                    pattern.hints = value.split('|').map(|it| it.replace('␣', " ")).collect();
                }
                "speaker" => pattern.is_users = value == "user",
                #[cfg(test)]
                "why" => pattern.why = value,
                _ => {}
            }
            return;
        }
        let regex = match key {
            "veto" => &mut self.veto,
            "passing" => &mut self.passing,
            "states" => &mut self.states,
            _ => &mut self.unnamed,
        };
        regex.pattern.push_str(value);
    }

    /// The patterns that have no hints.
    pub(super) fn unhinted(&self) -> PatternSet {
        let patterns = self.patterns.iter().enumerate();
        let unhinted = patterns.filter(|(_, pattern)| pattern.hints.is_empty());
        unhinted.fold(0, |all, (at, _)| all | 1 << at)
    }

    /// The first pattern that a sentence of this role matches, of those whose hints it has.
    pub(super) fn find(&self, sentence: &str, role: Role, hinted: PatternSet) -> Option<&Pattern> {
        let is_chinese = !sentence.is_ascii();
        let found = self.patterns.iter().enumerate().find(|(at, pattern)| {
            hinted & 1 << at != 0
                && (!pattern.is_users || role == Role::User)
                && (is_chinese || pattern.name.is_ascii())
                && pattern.matches(sentence)
        })?;
        let is_stated = self.states.pattern.is_empty() || self.states.is_match(sentence);
        (is_stated && !self.veto.is_match(sentence)).then_some(found.1)
    }
}

impl Pattern {
    fn matches(&self, sentence: &str) -> bool {
        if !self.says.is_match(sentence) {
            return false;
        }
        if self.not.pattern.is_empty() || !self.not.is_match(sentence) {
            return true;
        }
        // "不确定用什么，但决定先做 A" is still a decision, and "不确定" alone is not.
        let look_alikes = self.look_alikes.get_or_init(|| ascii_regex(&self.not.pattern));
        self.says.is_match(&look_alikes.replace_all(sentence, "\u{1}"))
    }
}

/// A pattern that is compiled when it is used first.
#[derive(Default)]
pub(super) struct LazyMatcher {
    pattern: String,
    matcher: OnceLock<Matcher>,
}

impl LazyMatcher {
    pub(super) fn is_match(&self, sentence: &str) -> bool {
        self.matcher.get_or_init(|| Matcher::ascii(&self.pattern)).is_match(sentence)
    }
}

#[cfg(test)]
mod tests {
    use super::{PatternSet, Table};
    use crate::ledger::rules::TABLES;

    #[test]
    fn a_file_has_two_tables() {
        let file = "# a\n== named\nveto: a\n# b\nveto: b\n[x y]\nspeaker: user\nsays: \\bc\nhints: a␣|b\nwhy: it is\n\n== kept\npassing: d\n[z]\nsays: e\n";
        let [named, kept] = Table::read(file);
        assert_eq!((named.veto.pattern.as_str(), named.patterns.len()), ("ab", 1));
        let pattern = &named.patterns[0];
        assert_eq!((pattern.name, pattern.hints.join("|")), ("x y", "a |b".to_owned()));
        assert_eq!((pattern.says.pattern.as_str(), pattern.is_users), ("\\bc", true));
        assert_eq!((kept.passing.pattern.as_str(), kept.unhinted()), ("d", 1));
    }

    #[test]
    fn every_pattern_compiles_and_has_a_bit_and_a_reason() {
        for table in TABLES.all() {
            assert!(table.patterns.len() <= PatternSet::BITS as usize);
            for regex in [&table.veto, &table.passing, &table.states, &table.unnamed] {
                regex.is_match("");
            }
            for pattern in &table.patterns {
                assert!(!pattern.says.pattern.is_empty(), "{}", pattern.name);
                pattern.says.is_match("");
                pattern.not.is_match("");
                assert!(!pattern.why.is_empty(), "{}", pattern.name);
            }
        }
    }
}
