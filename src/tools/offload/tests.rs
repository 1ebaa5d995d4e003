//! Taking out and putting back is the identity on bytes.

use chrono::Utc;
use ctx_select::count::MessageCounter;
use ctx_store::{Actor, SessionId, Store};
use ctx_transcript::{Offence, Options, Records, Validator, dialect};
use proptest::prelude::*;

use super::change::{Change, Reading};
use super::restore::Restorer;
use super::take::{Limits, Taker};
use super::template::Template;

fn session() -> SessionId {
    "demo".parse().expect("an id")
}

fn store(dir: &tempfile::TempDir) -> Store {
    let actor = Actor {
        tool: "test".into(),
        flags: Vec::new(),
    };
    Store::open(&dir.path().join("store"), actor, Box::new(Utc::now)).expect("a store")
}

fn template() -> Template {
    Template::DEFAULT.parse().expect("a template")
}

fn taker(store: &Store, min_tokens: u64, enough: Option<u64>) -> Taker<'_> {
    let limits = Limits { min_tokens, enough };
    let counter = MessageCounter::new(ctx_tokens::Encoding::O200kBase);
    Taker::new(store, &session(), template(), counter, limits, false).expect("a taker")
}

/// The records after `change`, without tags.
fn pass(name: &str, batch: bool, bytes: &[u8], change: &mut dyn Change) -> Vec<u8> {
    let reading = Reading {
        dialect: dialect::by_name(name),
        batch,
        protect_last: 0,
    };
    let mut records = Records::open(bytes, &options(name, batch)).expect("from memory");
    let mut out = Vec::new();
    while let Some(record) = records.next().expect("from memory") {
        let changed = reading.changed(&record, change).expect("no failure");
        out.extend(changed.unwrap_or_else(|| record.untagged().into_owned()));
    }
    out
}

fn options(name: &str, batch: bool) -> Options {
    Options {
        dialect: dialect::by_name(name),
        batch,
        raw: false,
    }
}

fn offences(name: &str, bytes: &[u8]) -> Vec<Offence> {
    let mut records = Records::open(bytes, &options(name, false)).expect("from memory");
    let dialect = dialect::by_name(name).expect("a dialect");
    let mut validator = Validator::new(dialect.rules());
    while let Some(record) = records.next().expect("from memory") {
        if let Some(outline) = record.outline(Some(dialect)) {
            validator.push(record.line, &outline);
        }
    }
    validator.finish()
}

/// Contents of results, in many spellings: small, and too large to stay.
fn content() -> impl Strategy<Value = String> {
    let text = ("[a-z ,.é中😀\n\t\"\\\\\u{7f}\u{1b}/]{1,12}", 1_usize..200)
        .prop_map(|(word, times)| word.repeat(times));
    let json = |text: &str| serde_json::Value::from(text).to_string();
    (text, 0..9).prop_map(move |(text, spelling)| {
        let string = json(&text);
        match spelling {
            0..=2 => string,
            3 => string.replace('中', "\\u4e2d").replace('é', "\\u00E9"),
            4 => string.replace('/', "\\/"),
            5 => format!("[{{\"type\":\"text\",\"text\":{string}}}]"),
            6 => format!("[{{\"type\": \"text\", \"text\": {string}}}]"),
            7 => format!(
                "[ {{\"text\":{string},\"type\":\"text\"}} , {{\"type\":\"text\",\"text\":\"2\"}}]"
            ),
            _ => format!(
                "[{{\"type\":\"text\",\"text\":{string}}},{{\"type\":\"image\",\"source\":{{}}}}]"
            ),
        }
    })
}

fn tag() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        3 => Just(""),
        1 => Just("\"_ctx\":{\"zone\":\"old\",\"bytes\":5,\"tokens\":7},"),
    ]
}

fn chat() -> impl Strategy<Value = String> {
    (content(), tag(), 0..2).prop_map(|(content, tag, shape)| match shape {
        0 => format!(
            "{{{tag}\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":{content},\"n\":1E2}}\n"
        ),
        _ => format!(
            "{{ {tag}\"content\" : {content} , \"role\":\"tool\",\"tool_call_id\":\"c\" }}\r\n"
        ),
    })
}

fn anthropic() -> impl Strategy<Value = String> {
    (content(), content(), tag()).prop_map(|(one, two, tag)| {
        format!(
            "{{{tag}\"role\":\"user\",\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"a\",\"content\":{one}}}, \
             {{\"type\":\"text\",\"text\":\"x\"}},{{\"content\" :{two},\"type\":\"tool_result\",\"is_error\":true,\"tool_use_id\":\"b\"}}]}}\n"
        )
    })
}

/// Whole sessions: their dialect, and their bytes without tags and with.
fn any_session() -> impl Strategy<Value = (&'static str, Vec<u8>)> {
    let lines = |record: BoxedStrategy<String>| {
        (
            proptest::collection::vec(record, 1..6),
            ctx_testkit::any_jsonl(),
        )
            .prop_map(|(records, others)| [records.concat().into_bytes(), others].concat())
    };
    prop_oneof![
        lines(chat().boxed()).prop_map(|bytes| ("chat", bytes)),
        lines(anthropic().boxed()).prop_map(|bytes| ("anthropic", bytes)),
    ]
}

/// Does nothing.
struct Nothing;

impl Change for Nothing {
    fn result(
        &mut self,
        _: u64,
        _: &ctx_transcript::ToolResult<'_>,
        _: &ctx_transcript::Slot,
        _: &str,
        _: &mut ctx_transcript::Edits,
    ) -> Result<(), ctx_cli::Failure> {
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_is_taken_out_comes_back(
        (name, bytes) in any_session(),
        min_tokens in 0_u64..400,
        enough in proptest::option::of(0_u64..2_000),
    ) {
        let dir = tempfile::tempdir().expect("a folder");
        let store = store(&dir);
        let before = pass(name, false, &bytes, &mut Nothing);
        let mut taker = taker(&store, min_tokens, enough);
        let out = pass(name, false, &bytes, &mut taker);
        taker.finish(&[None]).expect("durable");
        prop_assert_eq!(out == before, taker.taken.is_empty());
        prop_assert!(taker.taken.iter().all(|taken| taken.tokens >= min_tokens));
        prop_assert_eq!(offences(name, &out), offences(name, &before));

        let mut restorer = Restorer::new(&store, &session(), template()).expect("a restorer");
        let back = pass(name, false, &out, &mut restorer);
        prop_assert_eq!(restorer.restored.len(), taker.taken.len());
        prop_assert_eq!(restorer.missing.len() + restorer.elsewhere.len(), 0);
        prop_assert_eq!(String::from_utf8_lossy(&back), String::from_utf8_lossy(&before));
    }
}

#[test]
fn conversations_of_a_batch_are_changed_too() {
    let dir = tempfile::tempdir().expect("a folder");
    let store = store(&dir);
    let result =
        |text: &str| format!("{{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"{text}\"}}");
    let large = "some words ".repeat(200);
    let batch = |one: &str, two: &str| {
        format!(
            "{{\"id\":1, \"messages\" : [ {} ,{}],\"n\":1E2}}\n",
            result(one),
            result(two)
        )
    };
    let bytes = batch(&large, "small");
    let mut taker = taker(&store, 100, None);
    let out = pass("chat", true, bytes.as_bytes(), &mut taker);
    taker.finish(&[None]).expect("durable");
    let reference = template().fill(&super::template::Named {
        path: &taker.taken[0].path,
        sha256: "",
        tokens: 0,
        bytes: 0,
    });
    assert_eq!(String::from_utf8_lossy(&out), batch(&reference, "small"));
    let mut restorer = Restorer::new(&store, &session(), template()).expect("a restorer");
    let back = pass("chat", true, &out, &mut restorer);
    assert_eq!(back, bytes.as_bytes());
}
