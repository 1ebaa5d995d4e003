//! Queries and hits. This module also finds the part of a document's text that best matches a
//! query, and checks whether the text contains the query verbatim.

use std::collections::{HashMap, HashSet};
use std::ops::{Bound, Range};

use indexmap::IndexSet;
use serde::Serialize;
use tantivy::Term;
use tantivy::query::{
    BooleanQuery, BoostQuery, ConstScoreQuery, Occur, Query, RangeQuery, TermQuery, TermSetQuery,
};
use tantivy::schema::IndexRecordOption;

use crate::index::SearchIndex;
use crate::schema::{Fields, Source, SourceKind, number_of};
use crate::words::{each_word, fold, is_unspaced, names_first, plain};

/// The maximum number of query words that are looked up. Further words are ignored.
const MOST_WORDS: usize = 1024;

/// The weight of a part of a name relative to the whole name. A user who searches for `readConfig`
/// means the name rather than the two words in it.
const OF_A_PART: f32 = 0.5;

/// Restricts a search to certain documents. A field that is empty or `None` imposes no restriction.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Finds only documents from this session.
    pub session: Option<String>,
    /// Finds only documents in sources of these kinds.
    pub kinds: Vec<SourceKind>,
    /// Finds only messages with these roles.
    pub roles: Vec<&'static str>,
    /// Finds only documents from this time or later, in milliseconds since 1970.
    pub since: Option<i64>,
    /// Finds only documents from before this time, in milliseconds since 1970.
    pub before: Option<i64>,
}

/// A document that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// The source that contains the document.
    pub source: Source,
    /// The 1-based line in the source.
    pub line: u64,
    /// The offset of the document's first byte in the source.
    pub offset: u64,
    /// The role of the author; `None` if the document is not a message.
    pub role: Option<&'static str>,
    /// The time of the document, in milliseconds since 1970.
    pub time: i64,
    /// How much of the query the document contains.
    pub holds: Holds,
    /// How well the document matches the query, rounded to three decimal places.
    pub score: f64,
}

/// How much of a query a document contains. The variants are ordered from the weakest to the
/// strongest match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Holds {
    /// The document contains some or all of the words in the query, but not the query verbatim.
    Words,
    /// The document contains the whole query verbatim.
    Whole,
    /// The document is the earliest message that contains the whole query verbatim. That message
    /// counts as the origin of the query.
    First,
}

/// A query that is ready to run.
pub(crate) struct Lookup {
    fields: Fields,
    /// The filter's restrictions, which do not affect the score.
    confined: Vec<(Occur, Box<dyn Query>)>,
}

impl Lookup {
    pub(crate) fn new(index: &SearchIndex, filter: &Filter) -> Self {
        let fields = index.fields;
        let mut confined: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        let mut confine = |query: Box<dyn Query>| {
            confined.push((Occur::Must, Box::new(ConstScoreQuery::new(query, 0.0))));
        };
        if !filter.kinds.is_empty() {
            let of_kinds = index.sources(|source| filter.kinds.contains(&source.kind));
            confine(Box::new(TermSetQuery::new(of_kinds)));
        }
        if let Some(session) = &filter.session {
            let mut of_it = index.sources(|source| source.session.as_ref() == Some(session));
            of_it.push(Term::from_field_text(fields.session, session));
            confine(Box::new(TermSetQuery::new(of_it)));
        }
        if !filter.roles.is_empty() {
            let roles = filter.roles.iter();
            let terms = roles.map(|role| Term::from_field_u64(fields.role, number_of(Some(role))));
            confine(Box::new(TermSetQuery::new(terms)));
        }
        if filter.since.is_some() || filter.before.is_some() {
            let time = |time| Term::from_field_i64(fields.time, time);
            let from = filter.since.map_or(Bound::Unbounded, |it| Bound::Included(time(it)));
            let to = filter.before.map_or(Bound::Unbounded, |it| Bound::Excluded(time(it)));
            confine(Box::new(RangeQuery::new(from, to)));
        }
        Self { fields, confined }
    }

    /// Matches documents that contain any of the words in `query`. `None` if the query has no
    /// words.
    pub(crate) fn any_word(&self, query: &str) -> Option<BooleanQuery> {
        let mut seen = HashSet::new();
        let mut clauses = Vec::new();
        let mut name_end = 0;
        for (range, word) in names_first(query) {
            let is_part = range.end <= name_end;
            name_end = name_end.max(range.end);
            if clauses.len() < MOST_WORDS && seen.insert(word.clone()) {
                let mut word = self.word(&word);
                if is_part {
                    word = Box::new(BoostQuery::new(word, OF_A_PART));
                }
                clauses.push((Occur::Should, word));
            }
        }
        (!clauses.is_empty()).then(|| self.confine(BooleanQuery::new(clauses)))
    }

    /// Matches documents that contain all of `words`.
    pub(crate) fn each_word(&self, words: &[String]) -> BooleanQuery {
        let words = words.iter().take(MOST_WORDS);
        let clauses = words.map(|word| (Occur::Must, self.word(word)));
        self.confine(BooleanQuery::new(clauses.collect()))
    }

    fn word(&self, word: &str) -> Box<dyn Query> {
        let term = Term::from_field_text(self.fields.words, word);
        Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs))
    }

    fn confine(&self, words: BooleanQuery) -> BooleanQuery {
        if self.confined.is_empty() {
            return words;
        }
        let mut clauses: Vec<(Occur, Box<dyn Query>)> = vec![(Occur::Must, Box::new(words))];
        clauses.extend(self.confined.iter().map(|(occur, query)| (*occur, query.box_clone())));
        BooleanQuery::new(clauses)
    }
}

impl SearchIndex {
    /// The terms for the sources that satisfy `fits`.
    fn sources(&self, fits: impl Fn(&Source) -> bool) -> Vec<Term> {
        let known = self.known.sources.iter().filter(|known| fits(&known.source));
        known.map(|known| self.source_term(known.number)).collect()
    }

    /// The term that all documents in a source contain.
    pub(crate) fn source_term(&self, number: u64) -> Term {
        Term::from_field_u64(self.fields.source, number)
    }
}

/// A query that is matched verbatim: its characters in order, rather than its words in any order.
/// All runs of white space count as equal. Case is ignored only if the query has no capitals, so
/// `baseCommit` does not match `BaseCommit`.
pub(crate) struct Written {
    text: String,
    keeps_case: bool,
    /// The words that occur in every text that contains the query verbatim.
    pub(crate) words: Vec<String>,
}

impl Written {
    pub(crate) fn of(query: &str) -> Self {
        let keeps_case = query.chars().any(char::is_uppercase);
        Self { text: compared(query.trim(), keeps_case), keeps_case, words: certain_words(query) }
    }

    /// Whether the query is a single word, so that every document with this word contains the
    /// query.
    pub(crate) fn is_word(&self) -> bool {
        matches!(self.words.as_slice(), [word] if *word == self.text)
    }

    pub(crate) fn stands_in(&self, text: &str) -> bool {
        compared(text, self.keeps_case).contains(&self.text)
    }
}

/// The words in a query that are also words in every text that contains the query. In
/// `src/pre_check.rs`, for example, the query `check.rs` is not a word, but its parts `check` and
/// `rs` are.
fn certain_words(query: &str) -> Vec<String> {
    let all = names_first(query);
    let mut found = IndexSet::new();
    for (at, (range, word)) in all.iter().enumerate() {
        // Each word in the list is followed by its parts.
        let next = all.get(at + 1);
        let holds_another = next.is_some_and(|(next, _)| next.start < range.end);
        let is_certain = !holds_another || word.chars().next().is_some_and(is_unspaced);
        if is_certain {
            found.insert(word.clone());
        }
    }
    found.into_iter().collect()
}

/// Normalizes the text for comparison.
fn compared(text: &str, keeps_case: bool) -> String {
    let mut compared = String::with_capacity(text.len());
    let mut was_blank = false;
    for c in text.chars() {
        if c.is_whitespace() {
            if !was_blank {
                compared.push(' ');
            }
        } else if keeps_case {
            compared.push(plain(c));
        } else {
            fold(c, &mut compared);
        }
        was_blank = c.is_whitespace();
    }
    compared
}

/// Returns about `length` characters of `text`, from the place with the largest number of different
/// words from `query`. Longer words carry more weight. Omissions are marked with `…`, and each run
/// of white space becomes a single space.
pub fn snippet(text: &str, query: &str, length: usize) -> String {
    let wanted: HashSet<String> = names_first(query).into_iter().map(|(_, word)| word).collect();
    let mut found: Vec<(Range<usize>, String)> = Vec::new();
    each_word(text, |range, word| {
        if wanted.contains(word) {
            found.push((range, word.to_owned()));
        }
    });
    let around = best(&found, length);
    let start = back(text, around.start, length.saturating_sub(around.len()) / 3);
    let end = text[start..].char_indices().nth(length).map_or(text.len(), |(at, _)| start + at);
    let shown: Vec<&str> = text[start..end].split_whitespace().collect();
    let before = if start > 0 { "…" } else { "" };
    let after = if end < text.len() { "…" } else { "" };
    format!("{before}{}{after}", shown.join(" "))
}

/// Returns the range of at most `length` bytes whose distinct words have the greatest total length.
fn best(found: &[(Range<usize>, String)], length: usize) -> Range<usize> {
    let mut best = (0, 0..0);
    let mut inside: HashMap<&str, usize> = HashMap::new();
    let (mut first, mut weight) = (0, 0);
    for (range, word) in found {
        let count = inside.entry(word).or_default();
        *count += 1;
        if *count == 1 {
            weight += word.len();
        }
        while range.end.saturating_sub(found[first].0.start) > length && found[first].0 != *range {
            let gone = &found[first].1;
            let count = inside.entry(gone).or_default();
            *count -= 1;
            if *count == 0 {
                weight -= gone.len();
            }
            first += 1;
        }
        if weight > best.0 {
            best = (weight, found[first].0.start..range.end);
        }
    }
    best.1
}

/// Returns a position at most `count` characters before `at`, at the start of a word if possible.
fn back(text: &str, at: usize, count: usize) -> usize {
    let before = text[..at].char_indices().rev();
    let Some((start, _)) = before.take(count).last() else { return at };
    if start == 0 {
        return 0;
    }
    let blank = text[start..at].find(char::is_whitespace);
    blank.map_or(start, |blank| {
        let rest = &text[start + blank..at];
        start + blank + (rest.len() - rest.trim_start().len())
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Written;
    use crate::words::each_word;

    /// A verbatim match requires the query's characters in order, not just its words.
    #[test]
    fn order_and_joints_count() {
        let holds = |query, text| Written::of(query).stands_in(text);
        assert!(holds("fn  main()", "pub FN\tmain()\n{}"));
        assert!(holds("a.rs:12", "see src/a.rs:12"));
        assert!(!holds("a.rs:12", "12 lines of a.rs"));
        assert!(holds("候补名单", "問：候補名單"));
        assert!(!holds("候补名单", "名单候补"));
    }

    /// Capitals in a query must match.
    #[test]
    fn case_counts_where_the_query_has_capitals() {
        let holds = |query, text| Written::of(query).stands_in(text);
        assert!(holds("base commit", "Base  Commit"));
        assert!(holds("baseCommit", "the baseCommit"));
        assert!(!holds("baseCommit", "the BaseCommit"));
        assert!(holds("ＡＢ", "AB"));
    }

    /// A query that is a single word is matched without reading the text.
    #[test]
    fn a_word_is_known_as_one() {
        assert!(Written::of(" sqlite ").is_word());
        for query in ["check.rs", "SQLITE", "port 8443", "port?", "名单", ""] {
            assert!(!Written::of(query).is_word(), "{query}");
        }
    }

    #[test]
    fn the_parts_of_a_name_are_certain() {
        let words = |query| Written::of(query).words;
        assert_eq!(words("src/check.rs a"), ["src", "check", "rs", "a"]);
        assert_eq!(words("parseHeader"), ["parse", "header"]);
        assert_eq!(words("名单 名"), ["名单", "名", "单"]);
        assert_eq!(words("0a1b2c3d4e5f60718293"), ["0a1b2c3"]);
    }

    proptest! {
        /// Every word returned by `certain_words` is a word in each text that contains the query
        /// between separators.
        #[test]
        fn no_text_that_holds_it_lacks_a_certain_word(
            query in "[a-cA-C0-9._/ 名单-]{1,12}",
            before in "[a-cA-C._/ 名-]{0,6}[ ._/]",
            after in "[ ._/][a-cA-C._/ 名-]{0,6}",
        ) {
            let text = format!("{before}{query}{after}");
            let mut there = Vec::new();
            each_word(&text, |_, word| there.push(word.to_owned()));
            let written = Written::of(&query);
            prop_assert!(written.stands_in(&text));
            for word in written.words {
                prop_assert!(there.contains(&word), "{word} of {query:?} is a word in {text:?}");
            }
        }
    }
}

#[cfg(test)]
mod snippet_tests {
    use super::snippet;
    use proptest::prelude::*;

    /// The snippet contains the words from the query.
    #[test]
    fn it_shows_the_words_of_the_query() {
        let text = format!(
            "{}the port of\nthe server is 8443 here{}",
            "nothing to see. ".repeat(40),
            " and more of it".repeat(40)
        );
        let shown = snippet(&text, "server 8443", 60);
        assert!(shown.contains("the server is 8443 here"), "{shown}");
        assert!(shown.starts_with('…') && shown.ends_with('…'), "{shown}");
        assert_eq!(snippet("short\ttext\n", "text", 60), "short text");
        assert_eq!(snippet("no such word", "other", 60), "no such word");
    }

    proptest! {
        #[test]
        fn it_is_no_longer_than_asked(text in "\\PC{0,80}", query in "\\PC{0,10}") {
            assert!(snippet(&text, &query, 20).chars().count() <= 22);
        }
    }
}
