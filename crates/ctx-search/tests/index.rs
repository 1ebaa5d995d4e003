//! Tests of building, updating and rebuilding an index on disk.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use ctx_search::{Changes, Document, Filter, Hit, SearchError, SearchIndex, Source, SourceKind};

/// Sources, and the documents in each source, indexed by its name.
#[derive(Default)]
struct Field {
    sources: Vec<Source>,
    texts: BTreeMap<String, Vec<Document>>,
    /// The names of the sources that were read, in any order.
    read: Mutex<Vec<String>>,
}

impl Field {
    fn put(&mut self, name: &str, kind: SourceKind, session: Option<&str>, texts: &[&str]) {
        let documents = (0_u32..).zip(texts).map(|(at, text)| Document {
            line: u64::from(at) + 1,
            offset: 0,
            session: None,
            role: Some("user"),
            time: i64::from(at),
            text: (*text).to_owned(),
        });
        self.texts.insert(name.to_owned(), documents.collect());
        self.sources.retain(|source| source.name != name);
        self.sources.push(Source {
            name: name.to_owned(),
            kind,
            session: session.map(str::to_owned),
            mark: texts.join("\n"),
        });
    }

    fn snapshot(&mut self, name: &str, texts: &[&str]) {
        self.put(name, SourceKind::Snapshot, Some("demo"), texts);
    }

    fn remove(&mut self, name: &str) {
        self.sources.retain(|source| source.name != name);
    }

    fn update(&self, index: &mut SearchIndex) -> Changes<String> {
        let read = |source: &Source, take: &mut dyn FnMut(Document)| {
            let mut read = self.read.lock().expect("not poisoned");
            read.push(source.name.clone());
            for document in &self.texts[&source.name] {
                take(document.clone());
            }
            if source.mark.contains("damaged") {
                return Err(format!("{} is damaged", source.name));
            }
            Ok(())
        };
        index.update(&self.sources, read).expect("updated")
    }

    /// The sources that were read since the last call.
    fn read(&self) -> Vec<String> {
        let mut read = std::mem::take(&mut *self.read.lock().expect("not poisoned"));
        read.sort();
        read
    }
}

fn open(dir: &Path) -> SearchIndex {
    SearchIndex::open(&dir.join("search"), Duration::ZERO).expect("opened")
}

fn found(index: &SearchIndex, query: &str) -> Vec<String> {
    places(&search(index, query, &Filter::default(), 10))
}

/// Searches with a `read` function that never returns a text.
fn search(index: &SearchIndex, query: &str, filter: &Filter, limit: usize) -> Vec<Hit> {
    let hits = index.search(query, filter, limit, |_| None);
    hits.expect("searched")
}

fn places(hits: &[Hit]) -> Vec<String> {
    let place = |hit: &Hit| format!("{}:{}", hit.source.name, hit.line);
    hits.iter().map(place).collect()
}

/// Only new sources are read, and deleted sources are removed from the index.
#[test]
fn only_what_is_new_is_read() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut texts = Field::default();
    texts.put("a.md", SourceKind::Extracted, None, &["we keep SQLite"]);
    texts.put("b.md", SourceKind::Extracted, None, &["the port is 8443"]);
    texts.update(&mut open(dir.path()));
    assert_eq!(texts.read(), ["a.md", "b.md"]);

    texts.update(&mut open(dir.path()));
    assert!(texts.read().is_empty());

    texts.put("b.md", SourceKind::Extracted, None, &["the port is 9000"]);
    texts.remove("a.md");
    let mut index = open(dir.path());
    assert!(!index.was_damaged);
    texts.update(&mut index);
    assert_eq!(texts.read(), ["b.md"]);
    assert_eq!(found(&index, "port 9000"), ["b.md:1"]);
    assert!(found(&index, "8443 SQLite").is_empty());
}

/// A message in several snapshots of a session is found once: in the oldest snapshot, or in the
/// next one after the oldest is removed.
#[test]
fn equal_messages_of_a_session_are_found_once() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut texts = Field::default();
    let mut index = open(dir.path());
    texts.snapshot("demo-1", &["the port is 8443"]);
    texts.update(&mut index);
    texts.snapshot("demo-2", &["the port is 8443", "now it is 9000"]);
    texts.update(&mut index);
    assert_eq!(texts.read(), ["demo-1", "demo-2"], "the first one was read once");
    assert_eq!(found(&index, "8443"), ["demo-1:1"]);
    assert_eq!(found(&index, "9000"), ["demo-2:2"]);

    texts.remove("demo-1");
    texts.update(&mut index);
    assert_eq!(found(&index, "8443"), ["demo-2:1"]);
    assert_eq!(found(&index, "port 9000"), ["demo-2:2", "demo-2:1"]);
}

/// An index that was updated step by step returns the same hits as one built all at once.
#[test]
fn a_kept_index_ranks_as_a_new_one() {
    let (kept, new) = (tempfile::tempdir(), tempfile::tempdir());
    let (kept, new) = (kept.expect("a folder"), new.expect("a folder"));
    let mut texts = Field::default();
    for round in 0..20 {
        let name = format!("{round}.md");
        let text = format!("port port {round} of the server {}", round % 3);
        texts.put(&name, SourceKind::Daily, None, &[&text, "a server"]);
        if round == 10 {
            texts.remove("3.md");
        }
        texts.update(&mut open(kept.path()));
    }
    let mut at_once = open(new.path());
    texts.update(&mut at_once);
    let hits = |index: &SearchIndex| search(index, "server port 2", &Filter::default(), 100);
    let expected = hits(&at_once);
    assert_eq!(expected.len(), 38);
    assert_eq!(hits(&open(kept.path())), expected);
}

/// An index is rebuilt if any of its files is damaged.
#[test]
fn a_damaged_index_is_made_anew() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut texts = Field::default();
    texts.put("a.md", SourceKind::Extracted, None, &["we keep SQLite"]);
    texts.update(&mut open(dir.path()));
    let files: Vec<_> = fs::read_dir(dir.path().join("search"))
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| fs::metadata(path).expect("stat").len() > 0)
        .filter(|path| !path.ends_with(".managed.json"))
        .collect();
    assert!(files.len() > 5, "{files:?}");
    for file in files.iter().map(|file| file.file_name().expect("a name")) {
        for damage in [0, 1, 2] {
            let path = dir.path().join("search").join(file);
            let Ok(mut bytes) = fs::read(&path) else {
                // After a rebuild, the index files have different names.
                continue;
            };
            match damage {
                0 => bytes.truncate(bytes.len() / 2),
                1 => {
                    let middle = bytes.len() / 3;
                    bytes[middle] ^= 0x15;
                }
                _ => bytes.clear(),
            }
            fs::write(&path, bytes).expect("damaged");
            let mut index = open(dir.path());
            assert!(index.was_damaged, "{}", path.display());
            texts.update(&mut index);
            assert_eq!(found(&index, "sqlite"), ["a.md:1"]);
        }
    }
}

/// While another run has locked the index, its old content is searched. If there is no old content,
/// the search fails.
#[test]
fn a_second_run_searches_what_is_there() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut first = open(dir.path());
    let mut texts = Field::default();
    texts.put("a.md", SourceKind::Extracted, None, &["we keep SQLite"]);
    texts.update(&mut first);
    let mut second = open(dir.path());
    assert!(second.is_locked_by_another() && !first.is_locked_by_another());
    texts.put("b.md", SourceKind::Extracted, None, &["SQLite it is"]);
    texts.read();
    texts.update(&mut second);
    assert!(texts.read().is_empty(), "only the holder of the lock writes");
    assert_eq!(found(&second, "sqlite"), ["a.md:1"]);

    fs::remove_file(dir.path().join("search/meta.json")).expect("removed");
    let third = SearchIndex::open(&dir.path().join("search"), Duration::ZERO);
    assert!(matches!(third, Err(SearchError::Busy)));
}

/// Unreadable sources are reported, all other sources are searched, and the next run tries again to
/// read the unreadable ones.
#[test]
fn a_source_that_fails_is_told_each_time() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut texts = Field::default();
    let mut index = open(dir.path());
    texts.snapshot("demo-1", &["the port is 8443"]);
    texts.snapshot("demo-2", &["the port is 9000", "damaged"]);
    texts.snapshot("demo-3", &["the port is 9999"]);
    for expected in [vec!["demo-1", "demo-2", "demo-3"], vec!["demo-2"]] {
        let changes = texts.update(&mut index);
        assert_eq!(texts.read(), expected);
        assert_eq!(changes.failed.len(), 1);
        assert_eq!(changes.failed[0].1, "demo-2 is damaged");
        assert_eq!(found(&index, "port").len(), 2, "nothing of what failed");
    }
}

/// A search is restricted by session, kind, role and time; equal results are ordered newest first.
#[test]
fn filters_confine_and_the_newest_comes_first() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut texts = Field::default();
    texts.snapshot("demo-1", &["port 8443", "port 8444", "8445 port"]);
    texts.put("a.md", SourceKind::Extracted, None, &["port 8446"]);
    let mut index = open(dir.path());
    texts.update(&mut index);
    let with = |filter: Filter| places(&search(&index, "port", &filter, 10));
    let all = with(Filter::default());
    // The document in which the query occurs first is ranked highest.
    assert_eq!(all, ["demo-1:1", "demo-1:3", "demo-1:2", "a.md:1"]);
    let one = |change: fn(&mut Filter)| {
        let mut filter = Filter::default();
        change(&mut filter);
        with(filter)
    };
    assert_eq!(one(|it| it.kinds = vec![SourceKind::Extracted]), ["a.md:1"]);
    assert_eq!(one(|it| it.session = Some("demo".into())).len(), 3);
    assert!(one(|it| it.session = Some("other".into())).is_empty());
    assert!(one(|it| it.roles = vec!["tool"]).is_empty());
    assert_eq!(one(|it| it.roles = vec!["tool", "user"]).len(), 4);
    assert_eq!(one(|it| it.since = Some(1)), ["demo-1:2", "demo-1:3"]);
    assert_eq!(one(|it| it.before = Some(1)), ["demo-1:1", "a.md:1"]);
    let both = |it: &mut Filter| (it.since, it.before) = (Some(1), Some(2));
    assert_eq!(one(both), ["demo-1:2"]);
    let hits = search(&index, "port", &Filter::default(), 2);
    assert_eq!(places(&hits), all[..2]);
}

/// Only the owner can read the index.
#[test]
fn the_index_is_private() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut texts = Field::default();
    texts.put("a.md", SourceKind::Extracted, None, &["we keep SQLite"]);
    texts.update(&mut open(dir.path()));
    let mode = |path: &Path| fs::metadata(path).expect("stat").permissions().mode() & 0o777;
    assert_eq!(mode(&dir.path().join("search")), 0o700);
    assert_eq!(mode(&dir.path().join("search.lock")), 0o600);
    for entry in fs::read_dir(dir.path().join("search")).expect("the folder") {
        let path = entry.expect("an entry").path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}
