//! A query: its words, what it is confined to, and what is found.

use std::collections::HashSet;
use std::ops::Bound;

use tantivy::collector::TopDocs;
use tantivy::collector::sort_key::{SortBySimilarityScore, SortByStaticFastValue};
use tantivy::query::{
    BooleanQuery, ConstScoreQuery, Occur, Query, RangeQuery, TermQuery, TermSetQuery,
};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocAddress, Order, Searcher, Term};

use crate::source::{number_of, role_of};
use crate::words::each_word;
use crate::{Kind, SearchError, SearchIndex, Source};

/// How many different words of a query count, the first ones: each is looked up.
const MOST_WORDS: usize = 1024;

/// How many more than asked for are ranked, so that those that are equal as far as they are
/// shown come in their order.
const SPARE: usize = 64;

/// What is searched; empty lists are all.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Of this session only.
    pub session: Option<String>,
    /// Of these kinds.
    pub kinds: Vec<Kind>,
    /// Said by one of these.
    pub roles: Vec<&'static str>,
    /// Not before, in milliseconds since 1970.
    pub since: Option<i64>,
    /// Before that.
    pub before: Option<i64>,
}

/// A document that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Where it is.
    pub source: Source,
    /// Its line there.
    pub line: u64,
    /// Who said it.
    pub role: Option<&'static str>,
    /// When, in milliseconds since 1970.
    pub time: i64,
    /// How well it answers the query (BM25), to three digits.
    pub score: f64,
}

impl SearchIndex {
    /// The `limit` best documents for `query`, the best one first, the newer of two that are
    /// equal.
    pub fn search(
        &self,
        query: &str,
        filter: &Filter,
        limit: usize,
    ) -> Result<Vec<Hit>, SearchError> {
        let words = self.words(query);
        let sources = self.sources(filter);
        if words.is_empty() || sources.as_ref().is_some_and(Vec::is_empty) || limit == 0 {
            return Ok(Vec::new());
        }
        let query = self.query(words, sources, filter);
        let newest = (SortByStaticFastValue::<i64>::for_field("time"), Order::Desc);
        let order = ((SortBySimilarityScore, Order::Desc), newest);
        let collector = TopDocs::with_limit(limit.saturating_add(SPARE)).order_by(order);
        let searcher = self.index.reader()?.searcher();
        let found = searcher.search(&query, &collector)?;
        let mut hits = Vec::new();
        for ((score, _), address) in found {
            hits.extend(self.hit(&searcher, score, address)?);
        }
        hits.sort_by(|one, other| {
            let by_score = other.score.total_cmp(&one.score);
            let by_time = by_score.then(other.time.cmp(&one.time));
            by_time
                .then_with(|| one.source.name.cmp(&other.source.name))
                .then(other.line.cmp(&one.line))
        });
        hits.truncate(limit);
        Ok(hits)
    }

    /// How many documents are indexed.
    pub fn documents(&self) -> Result<u64, SearchError> {
        Ok(self.index.reader()?.searcher().num_docs())
    }

    fn words(&self, query: &str) -> Vec<Term> {
        let mut seen = HashSet::new();
        let mut terms = Vec::new();
        each_word(query, |_, word| {
            if terms.len() < MOST_WORDS && seen.insert(word.to_owned()) {
                terms.push(Term::from_field_text(self.fields.words, word));
            }
        });
        terms
    }

    /// The numbers of the sources that may be searched; `None` for all.
    fn sources(&self, filter: &Filter) -> Option<Vec<u64>> {
        if filter.session.is_none() && filter.kinds.is_empty() {
            return None;
        }
        let fits = |source: &Source| {
            let kinds = &filter.kinds;
            (kinds.is_empty() || kinds.contains(&source.kind))
                && (filter.session.is_none() || source.session == filter.session)
        };
        let known = self.known.sources.iter();
        let known = known.filter(|known| fits(&known.source));
        Some(known.map(|known| known.number).collect())
    }

    fn query(&self, words: Vec<Term>, sources: Option<Vec<u64>>, filter: &Filter) -> BooleanQuery {
        let fields = self.fields;
        let word = |term| -> (Occur, Box<dyn Query>) {
            let query = TermQuery::new(term, IndexRecordOption::WithFreqs);
            (Occur::Should, Box::new(query))
        };
        let words = BooleanQuery::new(words.into_iter().map(word).collect());
        let mut all: Vec<Box<dyn Query>> = Vec::new();
        if let Some(sources) = sources {
            let terms = sources.into_iter();
            let terms = terms.map(|number| Term::from_field_u64(fields.source, number));
            all.push(Box::new(TermSetQuery::new(terms)));
        }
        if !filter.roles.is_empty() {
            let roles = filter.roles.iter();
            let terms = roles.map(|role| Term::from_field_u64(fields.role, number_of(Some(role))));
            all.push(Box::new(TermSetQuery::new(terms)));
        }
        if filter.since.is_some() || filter.before.is_some() {
            let time = |time| Term::from_field_i64(fields.time, time);
            let from = filter
                .since
                .map_or(Bound::Unbounded, |it| Bound::Included(time(it)));
            let to = filter
                .before
                .map_or(Bound::Unbounded, |it| Bound::Excluded(time(it)));
            all.push(Box::new(RangeQuery::new(from, to)));
        }
        let mut clauses: Vec<(Occur, Box<dyn Query>)> = all
            .into_iter()
            // What only confines does not count in the score.
            .map(|query| -> (Occur, Box<dyn Query>) {
                (Occur::Must, Box::new(ConstScoreQuery::new(query, 0.0)))
            })
            .collect();
        if clauses.is_empty() {
            return words;
        }
        clauses.push((Occur::Must, Box::new(words)));
        BooleanQuery::new(clauses)
    }

    fn hit(
        &self,
        searcher: &Searcher,
        score: f32,
        address: DocAddress,
    ) -> Result<Option<Hit>, SearchError> {
        let fields = searcher.segment_reader(address.segment_ord).fast_fields();
        let number = |name| -> Result<u64, SearchError> {
            Ok(fields.u64(name)?.first(address.doc_id).unwrap_or_default())
        };
        let Some(source) = self.known.source(number("source")?) else {
            return Ok(None);
        };
        Ok(Some(Hit {
            source: source.clone(),
            line: number("line")?,
            role: role_of(number("role")?),
            time: fields
                .i64("time")?
                .first(address.doc_id)
                .unwrap_or_default(),
            score: (f64::from(score) * 1000.0).round() / 1000.0,
        }))
    }
}
