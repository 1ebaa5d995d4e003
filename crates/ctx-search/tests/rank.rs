//! Tests of the order of search results.

use std::time::Duration;

use ctx_search::{Document, Filter, Hit, Holds, SearchIndex, Source, SourceKind};

/// An index of messages, each with its own time and text.
struct Field {
    _dir: tempfile::TempDir,
    index: SearchIndex,
    texts: Vec<String>,
}

impl Field {
    /// The messages of one snapshot, earliest first.
    fn new(kind: SourceKind, texts: &[&str]) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let index = SearchIndex::open(&dir.path().join("search"), Duration::ZERO);
        let mut index = index.expect("opened");
        let source = Source {
            name: "demo-1".into(),
            kind,
            session: Some("demo".into()),
            mark: String::new(),
        };
        let read = |_: &Source, take: &mut dyn FnMut(Document)| {
            for (at, text) in (0_u32..).zip(texts) {
                take(Document {
                    line: u64::from(at) + 1,
                    offset: u64::from(at),
                    session: None,
                    role: Some("user"),
                    time: i64::from(at),
                    text: (*text).to_owned(),
                });
            }
            Ok::<(), String>(())
        };
        index.update(&[source], read).expect("updated");
        let texts = texts.iter().map(|text| (*text).to_owned()).collect();
        Self { _dir: dir, index, texts }
    }

    fn search(&self, query: &str, limit: usize) -> Vec<Hit> {
        let read = |hit: &Hit| {
            let at = usize::try_from(hit.offset).expect("a place");
            Some(self.texts[at].clone())
        };
        let hits = self.index.search(query, &Filter::default(), limit, read);
        hits.expect("searched")
    }

    fn lines(&self, query: &str, limit: usize) -> Vec<u64> {
        let hits = self.search(query, limit);
        hits.iter().map(|hit| hit.line).collect()
    }
}

/// The first message that contains a name comes first, even if it is long and many short messages
/// contain the name later.
#[test]
fn the_message_that_said_it_first_comes_first() {
    let long = format!("files: {} src/kiosk/feed.rs", "more of it ".repeat(500));
    let later: Vec<String> = (0..100).map(|n| format!("src/kiosk/feed.rs {n}")).collect();
    let mut texts = vec!["feed and kiosk", &long];
    texts.extend(later.iter().map(String::as_str));
    let field = Field::new(SourceKind::Snapshot, &texts);
    for query in ["src/kiosk/feed.rs", "kiosk/feed", "  kiosk/feed.rs"] {
        let hits = field.search(query, 10);
        assert_eq!((hits[0].line, hits[0].holds), (2, Holds::First), "{query}");
        assert!(hits[1..].iter().all(|hit| hit.holds == Holds::Whole));
    }
    assert_eq!(field.lines("src/kiosk/feed.rs", 1), [2]);
    assert_ne!(field.lines("SRC/kiosk/feed.rs", 1), [2], "no message says it in capitals");
}

/// A document that contains the query literally comes before one that contains only its words.
#[test]
fn as_it_is_written_comes_before_its_words() {
    let field = Field::new(
        SourceKind::Extracted,
        &[
            "error: the port is closed, in a long line of other things that were said",
            "closed port the is port closed port the is",
            "the port is open",
        ],
    );
    let hits = field.search("the port is closed", 10);
    let held: Vec<_> = hits.iter().map(|hit| (hit.line, hit.holds)).collect();
    assert_eq!(held, [(1, Holds::Whole), (2, Holds::Words), (3, Holds::Words)]);
    assert!(hits.is_sorted_by(|one, other| one.score >= other.score));
}

/// A name does not count several times because of its parts.
#[test]
fn the_parts_of_a_name_do_not_outweigh_another_word() {
    let texts = [
        "we read the config file of the harbour",
        "we repair the windlass of the harbour",
        "the tide",
        "the rope",
    ];
    let field = Field::new(SourceKind::Extracted, &texts);
    assert_eq!(field.lines("readConfigFile windlass repair", 1), [2]);
    assert_eq!(field.lines("readConfigFile", 10), [1], "its parts are found");
}

/// Only a message in a snapshot can count as the first occurrence. Equal results are ordered newest
/// first.
#[test]
fn a_memory_file_is_no_origin() {
    let texts = ["the gate code", "the gate code.", "the gate code!"];
    let field = Field::new(SourceKind::Extracted, &texts);
    assert_eq!(field.lines("gate code", 10), [3, 2, 1]);
    let field = Field::new(SourceKind::Snapshot, &texts);
    assert_eq!(field.lines("gate code", 10), [1, 3, 2]);
}

/// A text that can no longer be read is ranked by its words.
#[test]
fn what_cannot_be_read_is_found_by_its_words() {
    let field = Field::new(SourceKind::Snapshot, &["the gate code"]);
    let hits = field.index.search("gate code", &Filter::default(), 10, |_| None);
    assert_eq!(hits.expect("searched")[0].holds, Holds::Words);
}
