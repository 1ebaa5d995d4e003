//! Updates the index: reads new sources and removes deleted ones.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;
use std::thread::Builder;

use ctx_cli::{jobs_of, with_threads};
use indexmap::IndexMap;
use tantivy::indexer::NoMergePolicy;
use tantivy::{IndexWriter, TantivyDocument};

use crate::index::{KnownSource, SearchError, SearchIndex};
use crate::schema::{Document, Source, number_of};

/// The memory in bytes that each engine thread may use before it writes to disk.
const MEMORY: usize = 24 << 20;

/// The maximum number of threads. Four threads index as fast as the sources can be read.
const MOST_THREADS: NonZeroUsize = NonZeroUsize::new(4).expect("not zero");

/// The maximum number of segments in the index. More segments would make queries slow, so they are
/// merged into one.
const MOST_SEGMENTS: usize = 12;

/// The result of an update.
#[derive(Debug)]
pub struct Changes<E> {
    /// The number of sources that were read.
    pub read: usize,
    /// The number of removed sources, including sources that were then read again.
    pub forgotten: usize,
    /// Sources that could not be read, each with the error. Unread sources are not searched, and
    /// the next update tries to read them again.
    pub failed: Vec<(Source, E)>,
}

/// The sources that an update has to remove, and those that it has to read.
#[derive(Debug, Default)]
struct Plan {
    /// The numbers of sources to remove.
    gone: HashSet<u64>,
    /// The sources to read, by group. The first list in a group contains the numbers of those
    /// sources that stay in the index.
    groups: Vec<(Vec<u64>, Vec<KnownSource>)>,
}

/// A source, and the error that occurred if the source could not be read.
type ReadSource<E> = (KnownSource, Result<(), E>);

impl SearchIndex {
    /// Makes the index match `sources`, which must be sorted within each group, oldest first.
    /// `read` is called from several threads; it passes each document in a source to its second
    /// argument. Does nothing if another run is writing to the index.
    pub fn update<E: Send + Sync>(
        &mut self,
        sources: &[Source],
        read: impl Fn(&Source, &mut dyn FnMut(Document)) -> Result<(), E> + Sync,
    ) -> Result<Changes<E>, SearchError> {
        let mut changes = Changes { read: 0, forgotten: 0, failed: Vec::new() };
        if self.is_locked_by_another() {
            return Ok(changes);
        }
        let plan = self.plan(sources);
        if plan.gone.is_empty() && plan.groups.is_empty() {
            return Ok(changes);
        }
        changes.forgotten = plan.gone.len();
        let threads = jobs_of(None).min(MOST_THREADS);
        let (count, memory) = (threads.get(), threads.get() * MEMORY);
        let mut writer = self.index.writer_with_num_threads(count, memory)?;
        writer.set_merge_policy(Box::new(NoMergePolicy));
        for number in &plan.gone {
            writer.delete_term(self.source_term(*number));
        }
        self.known.sources.retain(|known| !plan.gone.contains(&known.number));
        for (known, result) in self.read_all(&writer, &plan, threads, &read)? {
            match result {
                Ok(()) => {
                    changes.read += 1;
                    self.known.sources.push(known);
                }
                Err(error) => changes.failed.push((known.source, error)),
            }
        }
        changes.failed.sort_by(|(one, _), (other, _)| one.name.cmp(&other.name));
        self.known.sources.sort_by_key(|known| known.number);
        let mut commit = writer.prepare_commit()?;
        commit.set_payload(&serde_json::to_string(&self.known).unwrap_or_default());
        commit.commit()?;
        self.merge(&mut writer)?;
        writer.wait_merging_threads()?;
        self.make_private()?;
        Ok(changes)
    }

    /// Decides which sources are removed and which are read. If sources were only added to a group,
    /// only the new sources are read. If any source was removed or changed, the whole group is read
    /// again, because its other sources may contain the same documents.
    fn plan(&mut self, sources: &[Source]) -> Plan {
        let mut groups: IndexMap<&str, Vec<&Source>> = IndexMap::new();
        for source in sources {
            groups.entry(source.group()).or_default().push(source);
        }
        let mut known: HashMap<&str, Vec<&KnownSource>> = HashMap::new();
        for source in &self.known.sources {
            known.entry(source.source.group()).or_default().push(source);
        }
        let mut plan = Plan::default();
        for (group, mut new) in groups {
            let known = known.remove(group).unwrap_or_default();
            let numbers = known.iter().map(|known| known.number);
            let mut stay = Vec::new();
            if known.iter().all(|known| new.contains(&&known.source)) {
                stay.extend(numbers);
                new.retain(|source| known.iter().all(|known| known.source != **source));
            } else {
                plan.gone.extend(numbers);
            }
            let new = new.into_iter().map(|source| {
                self.known.next += 1;
                KnownSource { number: self.known.next, source: source.clone() }
            });
            let new: Vec<KnownSource> = new.collect();
            if !new.is_empty() {
                plan.groups.push((stay, new));
            }
        }
        let rest = known.into_values().flatten();
        plan.gone.extend(rest.map(|known| known.number));
        plan
    }

    /// Returns the hashes of the indexed documents from each source that stays in a growing group.
    fn hashes(&self, plan: &Plan) -> Result<HashMap<u64, HashSet<u64>>, SearchError> {
        let stay = plan.groups.iter().flat_map(|(stay, _)| stay);
        let mut hashes: HashMap<u64, HashSet<u64>> =
            stay.map(|number| (*number, HashSet::new())).collect();
        if hashes.is_empty() {
            return Ok(hashes);
        }
        for segment in self.index.reader()?.searcher().segment_readers() {
            let source = segment.fast_fields().u64("source")?;
            let hash = segment.fast_fields().u64("hash")?;
            for document in segment.doc_ids_alive() {
                let of = source.first(document).and_then(|of| hashes.get_mut(&of));
                if let (Some(of), Some(hash)) = (of, hash.first(document)) {
                    of.insert(hash);
                }
            }
        }
        Ok(hashes)
    }

    /// Reads the groups in several threads, and returns for each source whether it was read.
    fn read_all<E: Send + Sync>(
        &self,
        writer: &IndexWriter,
        plan: &Plan,
        threads: NonZeroUsize,
        read: &(impl Fn(&Source, &mut dyn FnMut(Document)) -> Result<(), E> + Sync),
    ) -> Result<Vec<ReadSource<E>>, SearchError> {
        let hashes = self.hashes(plan)?;
        let results = with_threads(&plan.groups, threads, Builder::new, |(stay, sources)| {
            let known = stay.iter().filter_map(|number| hashes.get(number));
            let mut seen: HashSet<u64> = known.flatten().copied().collect();
            let mut results = Vec::new();
            for source in sources {
                let mut added = Ok(0);
                let result = read(&source.source, &mut |document| {
                    let hash = hash_of(&document);
                    // Index equal documents in a group only once.
                    if added.is_ok() && seen.insert(hash) {
                        let document = self.document(source.number, hash, document);
                        added = writer.add_document(document);
                    }
                });
                added?;
                if result.is_err() {
                    // Do not index a source that was only partly read.
                    writer.delete_term(self.source_term(source.number));
                }
                results.push((source.clone(), result));
            }
            Ok::<_, SearchError>(results)
        });
        let results: Result<Vec<_>, _> = results.into_iter().collect();
        Ok(results?.into_iter().flatten().collect())
    }

    fn document(&self, number: u64, hash: u64, document: Document) -> TantivyDocument {
        let fields = self.fields;
        let mut fresh = TantivyDocument::new();
        fresh.add_u64(fields.source, number);
        fresh.add_u64(fields.line, document.line);
        fresh.add_u64(fields.offset, document.offset);
        if let Some(session) = document.session {
            fresh.add_text(fields.session, session);
        }
        fresh.add_u64(fields.role, number_of(document.role));
        fresh.add_i64(fields.time, document.time);
        fresh.add_u64(fields.hash, hash);
        fresh.add_text(fields.words, document.text);
        fresh
    }

    /// Merges all segments into one if there are many, or if any has deleted documents, because
    /// deleted documents affect the scores.
    fn merge(&self, writer: &mut IndexWriter) -> Result<(), SearchError> {
        let segments = self.index.searchable_segment_metas()?;
        let holds_deleted = segments.iter().any(tantivy::SegmentMeta::has_deletes);
        if holds_deleted || segments.len() > MOST_SEGMENTS {
            let ids: Vec<_> = segments.iter().map(tantivy::SegmentMeta::id).collect();
            writer.merge(&ids).wait()?;
        }
        writer.garbage_collect_files().wait()?;
        Ok(())
    }
}

/// The hash of a document's role and text. The hash must be the same in every run, because it is
/// stored.
fn hash_of(document: &Document) -> u64 {
    use ring::digest::{Context, SHA256};
    let mut hash = Context::new(&SHA256);
    hash.update(&[u8::try_from(number_of(document.role)).unwrap_or(0)]);
    hash.update(document.text.as_bytes());
    u64::from_le_bytes(*hash.finish().as_ref().first_chunk().expect("32 bytes"))
}
