//! The ranking of hits.
//!
//! If a user searches for a name, a path or a line of code, the earliest message that contains it
//! verbatim should come first, followed by other verbatim matches and then by messages that contain
//! only its words. The index records only which words a document contains, so the text of each
//! candidate is read again.

use std::collections::HashSet;

use tantivy::collector::sort_key::{SortBySimilarityScore, SortByStaticFastValue};
use tantivy::collector::{DocSetCollector, TopDocs};
use tantivy::query::Query;
use tantivy::{DocAddress, Order, Searcher};

use crate::index::{IndexedSources, SearchError, SearchIndex};
use crate::query::{Filter, Hit, Holds, Lookup, Written};
use crate::schema::{SourceKind, role_of};

/// How many more hits to rank than were requested. The additional hits keep the order of equal
/// scores stable, and allow literal matches to move up.
const SPARE: usize = 64;

/// The maximum number of texts that are read to find the earliest literal match.
const MOST_READ: usize = 256;

/// How many texts to sort by source and read at a time.
const AT_A_TIME: usize = 16;

/// A document and its address in the index.
struct RankedDocument {
    hit: Hit,
    address: DocAddress,
}

impl SearchIndex {
    /// Returns the `limit` best documents for `query`, best first.
    ///
    /// The score is BM25 over the words in the query. The highest BM25 score of the search is added
    /// to the score of each document that contains the query verbatim. It is added twice for the
    /// earliest of these documents that is a message in a snapshot. If two scores are equal, the
    /// newer document comes first. `read` returns the text of a document, or `None` if the document
    /// cannot be read.
    pub fn search(
        &self,
        query: &str,
        filter: &Filter,
        limit: usize,
        mut read: impl FnMut(&Hit) -> Option<String>,
    ) -> Result<Vec<Hit>, SearchError> {
        let lookup = Lookup::new(self, filter);
        let Some(words) = lookup.any_word(query).filter(|_| limit > 0) else {
            return Ok(Vec::new());
        };
        let searcher = self.index.reader()?.searcher();
        let written = Written::of(query);
        let holders = searcher.search(&lookup.each_word(&written.words), &DocSetCollector)?;
        let mut ranking =
            Ranking { known: &self.known, searcher, written, holders, read: &mut read };
        let mut found = ranking.best(&words, limit.saturating_add(SPARE))?;
        let best = found.iter().map(|it| it.hit.score).fold(0.0, f64::max);
        ranking.mark_whole(&mut found);
        if let Some(mut first) = ranking.first()? {
            let score = words.explain(&ranking.searcher, first.address)?.value();
            first.hit.score = f64::from(score);
            found.retain(|it| it.address != first.address);
            found.push(first);
        }
        Ok(sorted(found, best, limit))
    }
}

/// A search in progress.
struct Ranking<'a> {
    known: &'a IndexedSources,
    searcher: Searcher,
    written: Written,
    /// The documents that contain every word in `written.words`. Only these documents can contain
    /// the query verbatim.
    holders: HashSet<DocAddress>,
    read: &'a mut dyn FnMut(&Hit) -> Option<String>,
}

impl Ranking<'_> {
    /// Returns the `limit` documents with the highest BM25 scores.
    fn best(&self, query: &dyn Query, limit: usize) -> Result<Vec<RankedDocument>, SearchError> {
        let newest = (SortByStaticFastValue::<i64>::for_field("time"), Order::Desc);
        let order = ((SortBySimilarityScore, Order::Desc), newest);
        // The collector reserves memory for as many documents as its limit.
        let documents = usize::try_from(self.searcher.num_docs()).unwrap_or(limit);
        let collector = TopDocs::with_limit(limit.min(documents).max(1)).order_by(order);
        let mut found = Vec::new();
        for ((score, _), address) in self.searcher.search(query, &collector)? {
            if let Some(mut document) = self.document(address)? {
                document.hit.score = f64::from(score);
                found.push(document);
            }
        }
        Ok(found)
    }

    /// Returns the document at an address, without a score, or `None` if its source is unknown.
    fn document(&self, address: DocAddress) -> Result<Option<RankedDocument>, SearchError> {
        let fields = self.searcher.segment_reader(address.segment_ord).fast_fields();
        let number = |name| -> Result<u64, SearchError> {
            Ok(fields.u64(name)?.first(address.doc_id).unwrap_or_default())
        };
        let Some(source) = self.known.source(number("source")?) else { return Ok(None) };
        let hit = Hit {
            source: source.clone(),
            line: number("line")?,
            offset: number("offset")?,
            role: role_of(number("role")?),
            time: fields.i64("time")?.first(address.doc_id).unwrap_or_default(),
            holds: Holds::Words,
            score: 0.0,
        };
        Ok(Some(RankedDocument { hit, address }))
    }

    /// Returns the earliest message that contains the query verbatim.
    fn first(&mut self) -> Result<Option<RankedDocument>, SearchError> {
        let mut earliest = self.messages()?;
        earliest.sort_unstable();
        for few in earliest[..earliest.len().min(MOST_READ)].chunks(AT_A_TIME) {
            let mut found = Vec::new();
            for (.., address) in few {
                found.extend(self.document(*address)?);
            }
            self.mark_whole(&mut found);
            if let Some(mut first) = found.into_iter().find(|it| it.hit.holds == Holds::Whole) {
                first.hit.holds = Holds::First;
                return Ok(Some(first));
            }
        }
        Ok(None)
    }

    /// Returns the time, source, line and address of each candidate that is a message.
    fn messages(&self) -> Result<Vec<(i64, u64, u64, DocAddress)>, SearchError> {
        let mut columns = Vec::new();
        for segment in self.searcher.segment_readers() {
            let fields = segment.fast_fields();
            columns.push((fields.i64("time")?, fields.u64("source")?, fields.u64("line")?));
        }
        let mut found = Vec::new();
        for address in &self.holders {
            let (time, source, line) = &columns[address.segment_ord as usize];
            let source = source.first(address.doc_id).unwrap_or_default();
            let is_message = self.known.source(source);
            if is_message.is_some_and(|source| source.kind == SourceKind::Snapshot) {
                let time = time.first(address.doc_id).unwrap_or_default();
                let line = line.first(address.doc_id).unwrap_or_default();
                found.push((time, source, line, *address));
            }
        }
        Ok(found)
    }

    /// Marks the documents that contain the query verbatim. Reads the texts in the order of their
    /// sources and offsets, without changing the order of `found`.
    fn mark_whole(&mut self, found: &mut [RankedDocument]) {
        let possible = found.iter_mut().filter(|it| self.holders.contains(&it.address));
        let mut possible: Vec<&mut Hit> = possible.map(|it| &mut it.hit).collect();
        possible.sort_by(|one, other| {
            (&one.source.name, one.offset).cmp(&(&other.source.name, other.offset))
        });
        for hit in possible {
            let stands_in = |text: String| self.written.stands_in(&text);
            if self.written.is_word() || (self.read)(hit).is_some_and(stands_in) {
                hit.holds = Holds::Whole;
            }
        }
    }
}

/// Adds the bonuses for verbatim matches, where `best` is the highest BM25 score, and returns the
/// `limit` best documents, best first.
fn sorted(found: Vec<RankedDocument>, best: f64, limit: usize) -> Vec<Hit> {
    let mut hits: Vec<Hit> = found.into_iter().map(|it| it.hit).collect();
    for hit in &mut hits {
        let more = match hit.holds {
            Holds::Words => 0.0,
            Holds::Whole => best,
            Holds::First => 2.0 * best,
        };
        hit.score = ((hit.score + more) * 1000.0).round() / 1000.0;
    }
    hits.sort_by(|one, other| {
        let by_place = || (&one.source.name, one.line).cmp(&(&other.source.name, other.line));
        other.score.total_cmp(&one.score).then(other.time.cmp(&one.time)).then_with(by_place)
    });
    hits.truncate(limit);
    hits
}
