//! Finds sentences that state decisions, facts and preferences, using tables of patterns.
//!
//! The tables are text files. Each pattern is compiled when it is first used, because most sessions
//! are in one language and most sentences match nothing. A small session therefore compiles only
//! the patterns that it needs.
//!
//! A file may contain the tables `== named` and `== kept`. A table begins with regexes that apply
//! to all of its patterns, in the form `KEY: REGEX`. The patterns follow, each under a `[NAME]`
//! that is unique in the table. A pattern with a Chinese name applies only to Chinese sentences.
//! Lines that begin with `#` are comments, and consecutive lines with the same key form one regex.
//! `veto hints` and `passing hints` are hints for the regexes `veto` and `passing`, and `states` is
//! a list of words. A pattern may have these keys:
//!
//! - `says`: the regex that finds the statement.
//! - `not`: a regex for similar phrases, which are blanked out before `says` is tried.
//! - `hints`: lower-case words, separated by `|`, at least one of which occurs in every sentence
//!   that the pattern matches. `␣` stands for a blank. A pattern without hints is tried on every
//!   sentence.
//! - `speaker: user`: the pattern applies only to the user's sentences. "Always run the tests" is a
//!   wish if the user writes it, but a description if the model writes it.
//! - `why`: the reason for the pattern.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use ctx_format::Role;
use ctx_text::{LazyRegex, Matcher, Phrases, plain_line, shorten};
use serde::Serialize;
use strum::IntoStaticStr;

use crate::ledger::LISTS;

/// The kinds of statements worth remembering. Each kind has its own memory file.
#[derive(Serialize, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MemoryKind {
    /// Settled questions
    #[default]
    Decision,
    /// Statements that name a project, a path or a setting
    Fact,
    /// How the user wants things to be done
    Preference,
    /// Tool calls in short form, and their errors
    Runtime,
}

impl MemoryKind {
    /// All kinds, in the order in which sentences are tested for them.
    pub const ALL: [Self; 4] = [Self::Decision, Self::Fact, Self::Preference, Self::Runtime];
}

/// The maximum length of a quote, in characters. The rest of a longer sentence is ignored.
pub const QUOTE_MAX: usize = 300;

/// Returns the part of a sentence that is judged and quoted: at most [`QUOTE_MAX`] characters, on
/// one line.
pub fn quote(sentence: &str) -> String {
    shorten(plain_line(sentence), QUOTE_MAX)
}

/// The tables for all kinds, and the hints for all patterns.
struct Tables {
    /// Two tables for each kind of statement. The first table is for sentences that name the kind,
    /// and the second table is for other sentences that memory files keep.
    of_kinds: [[Table; 2]; 3],
    /// Statements of any kind that no memory file keeps.
    passing: Matcher,
    hints: Phrases,
    /// For each hint, the kind, the table and the pattern to which it belongs.
    hinted: Vec<(usize, usize, PatternSet)>,
    unhinted: Hinted,
}

/// A set of patterns for each table of each kind.
type Hinted = [[PatternSet; 2]; 3];

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let of_kinds = [
        Table::read(include_str!("decision.txt")),
        Table::read(include_str!("fact.txt")),
        Table::read(include_str!("preference.txt")),
    ];
    let [_, any] = Table::read(include_str!("any.txt"));
    let (mut hints, mut hinted) = (Vec::new(), Vec::new());
    let mut unhinted = Hinted::default();
    for (kind, tables) in of_kinds.iter().enumerate() {
        for (number, table) in tables.iter().enumerate() {
            for (at, pattern) in table.patterns.iter().enumerate() {
                if pattern.hints.is_empty() {
                    unhinted[kind][number] |= 1 << at;
                }
                for hint in &pattern.hints {
                    hints.push(hint.replace('␣', " "));
                    hinted.push((kind, number, 1 << at));
                }
            }
        }
    }
    let hints = Phrases::new(hints.iter().map(String::as_str));
    Tables { of_kinds, passing: any.passing, hints, hinted, unhinted }
});

impl Tables {
    fn of(&self, kind: MemoryKind) -> Option<&[Table; 2]> {
        self.of_kinds.get(kind as usize)
    }

    #[cfg(test)]
    fn all(&self) -> impl Iterator<Item = &Table> {
        self.of_kinds.iter().flatten()
    }

    /// Returns the patterns with a hint that occurs in the sentence, and all patterns without
    /// hints.
    fn hinted(&self, sentence: &str) -> Hinted {
        // Remove the full stop at the end of the sentence, because a dot is a hint for file names.
        let sentence = sentence.trim_end_matches('.');
        // A few non-ASCII letters have an ASCII lower-case form.
        let lower: Cow<'_, str> =
            if sentence.is_ascii() { sentence.into() } else { sentence.to_lowercase().into() };
        let mut all = self.unhinted;
        self.hints.any(&lower, |hint, _| {
            let (kind, number, pattern) = self.hinted[hint];
            all[kind][number] |= pattern;
            false
        });
        all
    }
}

/// A sentence, prepared once so that it can be tested for all kinds.
pub struct Sentence<'s> {
    text: &'s str,
    role: Role,
    /// The statement in the sentence, without code. `with_code` is the same statement including
    /// code, which is needed for facts. Both are `None` for a question.
    plain: OnceCell<Option<Stated<'s>>>,
    with_code: OnceCell<Option<Stated<'s>>>,
}

/// A statement, and the patterns with a hint that occurs in it.
struct Stated<'s> {
    text: Cow<'s, str>,
    hinted: Hinted,
}

impl<'s> Sentence<'s> {
    /// Prepares a sentence. `role` is the speaker's role.
    pub fn new(text: &'s str, role: Role) -> Self {
        Self { text, role, plain: OnceCell::new(), with_code: OnceCell::new() }
    }

    /// Returns true if the sentence's wording marks it as a sentence of this kind.
    pub fn is_a(&self, kind: MemoryKind) -> bool {
        self.pattern(kind).is_some()
    }

    /// Returns true if memory files keep the sentence as a statement of this kind. In addition to
    /// the sentences that [`Self::is_a`] accepts, conclusions with a reason are kept as decisions,
    /// the user's constraints as preferences, and statements about people, causes and remedies as
    /// facts. A sentence that is true only for the moment is never kept.
    pub fn is_kept_as(&self, kind: MemoryKind) -> bool {
        let (Some([_, more]), Some(stated)) = (TABLES.of(kind), self.stated(kind)) else {
            return false;
        };
        let is_named = self.is_a(kind);
        let hinted = stated.hinted[kind as usize][1];
        if !is_named && more.find(&stated.text, self.role, hinted).is_none()
            || TABLES.passing.is_match(self.text)
        {
            return false;
        }
        // A sentence with a word for deciding is kept, whatever its form.
        is_named && kind == MemoryKind::Decision || !more.passing.is_match(self.text)
    }

    fn pattern(&self, kind: MemoryKind) -> Option<&'static Pattern> {
        let [named, _] = TABLES.of(kind)?;
        let stated = self.stated(kind)?;
        named.find(&stated.text, self.role, stated.hinted[kind as usize][0])
    }

    fn stated(&self, kind: MemoryKind) -> Option<&Stated<'s>> {
        let stated = if kind == MemoryKind::Fact && self.text.contains('`') {
            self.with_code.get_or_init(|| Stated::of(self.text.into()))
        } else {
            self.plain.get_or_init(|| Stated::of(without_code(self.text)))
        };
        stated.as_ref()
    }
}

impl<'s> Stated<'s> {
    fn of(mut text: Cow<'s, str>) -> Option<Self> {
        if !text.is_ascii() {
            text = simplified(&text).replace('’', "'").into();
        }
        if is_question(&text) {
            // In the Chinese "我喜欢欢乐谷，它周边有什么酒店吗？", only the last clause is a question. In English,
            // the whole sentence is a question.
            if text.is_ascii() {
                return None;
            }
            let clause = text.rfind(['，', '；', '。'])?;
            text.to_mut().truncate(clause);
        }
        let hinted = TABLES.hinted(&text);
        Some(Self { text, hinted })
    }
}

fn is_question(sentence: &str) -> bool {
    let end =
        sentence.trim_end_matches(['"', '”', ')', '）', '*', '_', '。', '.', '!', '！', ' ', '」']);
    end.ends_with(['?', '？', '吗', '呢'])
}

/// Removes code in backticks, which says nothing about the writer's intentions. An unpaired
/// backtick at the end does not begin code.
fn without_code(sentence: &str) -> Cow<'_, str> {
    let mut plain = Cow::Borrowed("");
    let mut rest = sentence;
    while let Some((before, behind)) = rest.split_once('`') {
        plain += before;
        rest = behind;
        if let Some((_, behind)) = rest.split_once('`') {
            plain += "``";
            rest = behind;
        }
    }
    plain + rest
}

/// Converts Chinese text to simplified characters, because the patterns are written in them. The
/// number of characters does not change.
pub(crate) fn simplified(text: &str) -> Cow<'_, str> {
    static SIMPLIFIED: LazyLock<HashMap<char, char>> = LazyLock::new(|| {
        let pairs: Vec<char> = LISTS.entries("simplified").concat().chars().collect();
        pairs.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
    });
    if !text.chars().any(|c| !c.is_ascii() && SIMPLIFIED.contains_key(&c)) {
        return text.into();
    }
    let simple = |c: char| SIMPLIFIED.get(&c).copied().unwrap_or(c);
    text.chars().map(simple).collect::<String>().into()
}

/// A pattern that recognizes one kind of statement.
#[derive(Default)]
pub struct Pattern {
    /// The name of the pattern, which is unique in its table.
    pub name: &'static str,
    hints: Vec<&'static str>,
    says: Matcher,
    not: Matcher,
    /// The regex `not` as a [`LazyRegex`], which can replace its matches.
    look_alikes: OnceLock<LazyRegex>,
    is_users: bool,
    #[cfg(test)]
    why: &'static str,
}

/// Patterns for one kind of sentence, with the regexes that apply to all of these patterns.
#[derive(Default)]
struct Table {
    patterns: Vec<Pattern>,
    /// Sentences that no pattern may match.
    veto: Matcher,
    /// Statements that are true only for the moment.
    passing: Matcher,
    /// Every matching sentence must contain at least one of these words.
    states: Option<Phrases>,
}

/// A set of patterns from one table, with one bit per pattern.
type PatternSet = u64;

impl Table {
    /// Parses the tables `named` and `kept` in a file.
    fn read(file: &'static str) -> [Self; 2] {
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
                "says" => pattern.says.append(value),
                "not" => pattern.not.append(value),
                "hints" => pattern.hints = value.split('|').collect(),
                "speaker" => pattern.is_users = value == "user",
                #[cfg(test)]
                "why" => pattern.why = value,
                _ => {}
            }
            return;
        }
        match key {
            "states" => self.states = Some(Phrases::new([value])),
            "veto hints" => self.veto = Matcher::hinted("", Phrases::new([value])),
            "passing hints" => self.passing = Matcher::hinted("", Phrases::new([value])),
            "veto" => self.veto.append(value),
            _ => self.passing.append(value),
        }
    }

    /// Returns the first pattern in `hinted` that matches `sentence`. `role` is the speaker's role.
    fn find(&self, sentence: &str, role: Role, hinted: PatternSet) -> Option<&Pattern> {
        if hinted == 0 || !self.states.as_ref().is_none_or(|states| states.are_in(sentence)) {
            return None;
        }
        let is_chinese = !sentence.is_ascii();
        let found = self.patterns.iter().enumerate().find(|(at, pattern)| {
            hinted & 1 << at != 0
                && (!pattern.is_users || role == Role::User)
                && (is_chinese || pattern.name.is_ascii())
                && pattern.matches(sentence)
        })?;
        (!self.veto.is_match(sentence)).then_some(found.1)
    }
}

impl Pattern {
    fn matches(&self, sentence: &str) -> bool {
        if !self.says.is_match(sentence) {
            return false;
        }
        if self.not.pattern().is_empty() || !self.not.is_match(sentence) {
            return true;
        }
        // "不确定用什么，但决定先做 A" is still a decision, but "不确定" alone is not.
        let look_alikes = self.look_alikes.get_or_init(|| LazyRegex::ascii(self.not.pattern()));
        self.says.is_match(&look_alikes.replace_all(sentence, "\u{1}"))
    }
}

#[cfg(test)]
mod table_tests {
    use ctx_testkit::texts_of;
    use ctx_text::Matcher;

    use super::{PatternSet, Table};
    use crate::ledger::patterns::TABLES;

    #[test]
    fn a_file_has_two_tables() {
        let file = "# a\n== named\nveto: a\n# b\nveto: b\n[x y]\nspeaker: user\nsays: \\bc\nhints: a␣|b\nwhy: it is\n\n== kept\npassing: d\n[z]\nsays: e\n";
        let [named, kept] = Table::read(file);
        assert_eq!((named.veto.pattern(), named.patterns.len()), ("ab", 1));
        let pattern = &named.patterns[0];
        assert_eq!((pattern.name, pattern.hints.join("|")), ("x y", "a␣|b".to_owned()));
        assert_eq!((pattern.says.pattern(), pattern.is_users), ("\\bc", true));
        assert!(kept.passing.pattern() == "d" && kept.patterns[0].hints.is_empty());
    }

    /// Checks that a pattern compiles, both for ASCII text and for other text.
    fn compiles(pattern: &Matcher) {
        pattern.is_match("");
        pattern.is_match("é");
    }

    #[test]
    fn every_pattern_compiles_and_has_a_bit_and_a_reason() {
        for table in TABLES.all() {
            assert!(table.patterns.len() <= PatternSet::BITS as usize);
            for regex in [&table.veto, &table.passing] {
                compiles(regex);
            }
            for pattern in &table.patterns {
                assert!(!pattern.says.pattern().is_empty(), "{}", pattern.name);
                compiles(&pattern.says);
                compiles(&pattern.not);
                assert!(!pattern.why.is_empty(), "{}", pattern.name);
            }
        }
    }

    #[test]
    fn every_sentence_that_a_pattern_matches_has_a_hint() {
        let of_kinds = TABLES.of_kinds.iter().enumerate();
        let tables = of_kinds.flat_map(|(kind, tables)| {
            tables.iter().enumerate().map(move |(number, table)| (kind, number, table))
        });
        let mut without = Vec::new();
        let mut hints = |matcher: &Matcher, has_hint: &dyn Fn(&str) -> bool| {
            let unhinted = Matcher::new(matcher.pattern());
            let mut texts = texts_of(matcher.pattern());
            let text = texts.find(|text| !has_hint(text) && unhinted.is_match(text));
            without.extend(text.map(|text| (text, matcher.pattern().to_owned())));
        };
        hints(&TABLES.passing, &|text| TABLES.passing.has_hint(text));
        for (kind, number, table) in tables {
            for regex in [&table.veto, &table.passing] {
                hints(regex, &|text| regex.has_hint(text));
            }
            for (at, pattern) in table.patterns.iter().enumerate() {
                let has_hint = |text: &str| TABLES.hinted(text)[kind][number] & 1 << at != 0;
                hints(&pattern.says, &has_hint);
            }
        }
        assert!(without.is_empty(), "{without:#?}");
    }
}
