//! Moving results out and restoring them gives the same bytes.

use chrono::Utc;
use ctx_engine::Note;
use ctx_engine::PassError;
use ctx_engine::message_counter::MessageCounter;
use ctx_engine::offload::{Change, ChangePass, FileFacts, Reading, Substitute, Template};
use ctx_format::{Options, Problem, Records, Validator, dialect};
use ctx_store::{Actor, SessionId, Store};
use proptest::prelude::*;

use super::{OffloadedResult, Offloader, Plan, Reference, Restorer};

pub(super) fn session() -> SessionId {
    "demo".parse().expect("an id")
}

pub(super) fn store(dir: &tempfile::TempDir) -> Store {
    let actor = Actor { tool: "test".into(), flags: Vec::new() };
    Store::open(&dir.path().join("store"), actor, Box::new(Utc::now)).expect("a store")
}

fn template() -> Template {
    Template::DEFAULT.parse().expect("a template")
}

fn plan(min_tokens: u64) -> Plan {
    Plan {
        min_tokens,
        enough_tokens: None,
        template: template(),
        counter: MessageCounter::new(ctx_tokens::Encoding::O200kBase),
        dry_run: false,
    }
}

fn offloader(store: &Store, plan: Plan) -> Offloader<'_> {
    Offloader::new(store, &session(), plan).expect("a path")
}

fn restorer(store: &Store) -> Restorer<'_> {
    Restorer::new(store, &session(), template()).expect("a path")
}

fn reading(name: &str, batch: bool) -> Reading {
    Reading { dialect: dialect::by_name(name), batch, ..Reading::default() }
}

/// Returns the records after `change`, without tags.
fn pass(name: &str, bytes: &[u8], change: &mut dyn Change) -> Vec<u8> {
    let reading = reading(name, false);
    let mut records = Records::open(bytes, &options(name, false)).expect("from memory");
    let mut out = Vec::new();
    while let Some(record) = records.next().expect("from memory") {
        let changed = reading.changed(&record, change).expect("no failure");
        out.extend(changed.unwrap_or_else(|| record.untagged().into_owned()));
    }
    out
}

/// Returns the batch after `change`, and the notes.
fn batch(reading: Reading, bytes: &str, change: &mut dyn Change) -> (String, Vec<Note>) {
    let options = Options { dialect: reading.dialect, batch: true, ..Options::default() };
    let mut records = Records::open(bytes.as_bytes(), &options).expect("from memory");
    let mut pass = ChangePass::new(reading, change, Some(&std::env::temp_dir()));
    while let Some(record) = records.next().expect("from memory") {
        pass.push(&record).expect("no failure");
    }
    let mut notes = ctx_engine::Notes::default();
    let spool = pass.finish(0, &mut notes).expect("no failure").expect("an output");
    let mut out = Vec::new();
    spool.write_to(&mut out).expect("to memory");
    (String::from_utf8(out).expect("UTF-8"), notes.take())
}

fn options(name: &str, batch: bool) -> Options {
    Options { dialect: dialect::by_name(name), batch, ..Options::default() }
}

fn problems(name: &str, bytes: &[u8]) -> Vec<Problem> {
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

/// Contents of results in many spellings, some of them large enough to be moved out.
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

/// Whole sessions: the dialect, and the bytes with and without tags.
fn any_session() -> impl Strategy<Value = (&'static str, Vec<u8>)> {
    let lines = |record: BoxedStrategy<String>| {
        (proptest::collection::vec(record, 1..6), ctx_testkit::any_jsonl())
            .prop_map(|(records, others)| [records.concat().into_bytes(), others].concat())
    };
    prop_oneof![
        lines(chat().boxed()).prop_map(|bytes| ("chat", bytes)),
        lines(anthropic().boxed()).prop_map(|bytes| ("anthropic", bytes)),
    ]
}

/// Returns the records unchanged.
struct Nothing;

impl Change for Nothing {
    fn result(
        &mut self,
        _: u64,
        _: &ctx_format::ToolResult<'_>,
        _: &str,
    ) -> Result<Option<Substitute>, PassError> {
        Ok(None)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_is_taken_out_comes_back(
        (name, bytes) in any_session(),
        min_tokens in 0_u64..400,
        enough_tokens in proptest::option::of(0_u64..2_000),
    ) {
        let dir = tempfile::tempdir().expect("a folder");
        let store = store(&dir);
        let before = pass(name, &bytes, &mut Nothing);
        let mut offloader = offloader(&store, Plan { enough_tokens, ..plan(min_tokens) });
        let out = pass(name, &bytes, &mut offloader);
        offloader.finish(&[None]).expect("durable");
        let results = offloader.results;
        prop_assert_eq!(out == before, results.is_empty());
        prop_assert!(results.iter().all(|result| result.tokens >= min_tokens));
        // A result that is moved out takes along the content that an API rejects.
        let (old, new) = (problems(name, &before), problems(name, &out));
        prop_assert!(new.iter().all(|problem| old.contains(problem)));
        let left = old.iter().filter(|problem| !new.contains(problem));
        prop_assert!(left.clone().all(|problem| problem.rule.is_of_content()));

        let mut restorer = restorer(&store);
        let back = pass(name, &out, &mut restorer);
        prop_assert_eq!(restorer.restored.len(), results.len());
        prop_assert_eq!(restorer.missing.len() + restorer.elsewhere.len(), 0);
        prop_assert_eq!(String::from_utf8_lossy(&back), String::from_utf8_lossy(&before));
    }
}

/// Returns a record with a result whose content is this JSON.
pub(super) fn result(id: &str, content: &str) -> String {
    format!("{{\"role\":\"tool\",\"tool_call_id\":\"{id}\",\"content\":\"{content}\"}}\n")
}

const REPLY: &str = "{\"role\":\"assistant\",\"content\":\"I look.\"}";

/// Returns a text of 200 tokens or more.
fn long(word: &str) -> String {
    format!("some {word} ").repeat(100)
}

fn reference(path: &str, bytes: u64) -> String {
    template().fill(&FileFacts { path, call: "", sha256: "", tokens: 0, bytes })
}

#[test]
fn conversations_of_a_batch_are_changed_too() {
    let dir = tempfile::tempdir().expect("a folder");
    let store = store(&dir);
    let result = |text: &str| result("c", text).trim_end().to_owned();
    let large = long("words");
    let line = |one: &str, two: &str| {
        format!("{{\"id\":1, \"messages\" : [ {} ,{}],\"n\":1E2}}\n", result(one), result(two))
    };
    let bytes = line(&large, "small");
    let mut offloader = offloader(&store, plan(100));
    let reading = reading("chat", true);
    let (out, _) = batch(reading, &bytes, &mut offloader);
    offloader.finish(&[None]).expect("durable");
    let file = &offloader.results[0];
    let reference = reference(&file.path, file.bytes);
    assert_eq!(out, line(&reference, "small"));
    let (back, _) = batch(reading, &out, &mut restorer(&store));
    assert_eq!(back, bytes);
}

#[test]
fn the_last_replies_of_each_conversation_of_a_batch_are_protected() {
    let dir = tempfile::tempdir().expect("a folder");
    let store = store(&dir);
    let (old, new) = (result("a", &long("old")), result("b", &long("new")));
    let system = "{\"role\":\"system\",\"content\":\"x\"}";
    let bytes = format!(
        "{{\"messages\":[{REPLY},{},{REPLY},{},{system}]}}\n",
        old.trim_end(),
        new.trim_end()
    );
    for (protect_last, count) in [(0, 2), (1, 1), (2, 0), (9, 0)] {
        let mut offloader = offloader(&store, plan(100));
        batch(Reading { protect_last, ..reading("chat", true) }, &bytes, &mut offloader);
        assert_eq!(offloader.results.len(), count, "{protect_last}");
    }
}

/// A moved result invalidates the signed reasoning after it, but only in its own conversation.
#[test]
fn reasoning_after_a_moved_result_leaves_its_conversation() {
    let dir = tempfile::tempdir().expect("a folder");
    let store = store(&dir);
    let line = |text: &str, thinking: &str| {
        format!(
            r#"{{"messages":[{{"role":"user","content":"a"}},{{"role":"assistant","content":[{{"type":"tool_use","id":"t","name":"ls","input":{{}}}}]}},{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t","content":"{text}"}}]}},{{"role":"assistant","model":"claude-opus-5-5","content":[{thinking}{{"type":"text","text":"b"}}]}}]}}"#
        ) + "\n"
    };
    let thinking = r#"{"type":"thinking","thinking":"hm","signature":"Eq"},"#;
    let (small, large) = (line("few", thinking), line(&long("words"), thinking));
    let mut offloader = offloader(&store, plan(100));
    let bytes = small.clone() + &large;
    let (out, notes) = batch(reading("anthropic", true), &bytes, &mut offloader);
    let file = &offloader.results[0];
    let reference = format!("Tool result (ls, {} bytes) is at: {}", file.bytes, file.path);
    assert_eq!(out, small + &line(&reference, ""));
    assert_eq!(notes[0].lines, [2]);
    assert!(notes[0].text.starts_with("removed 1 signed block of reasoning"), "{notes:?}");
}

#[test]
fn the_oldest_results_go_until_enough_is_freed() {
    let dir = tempfile::tempdir().expect("a folder");
    let store = store(&dir);
    let session = [result("a", &long("a")), result("b", "b"), result("c", &long("c"))].concat();
    let lines = |plan: Plan| {
        let mut offloader = offloader(&store, plan);
        pass("chat", session.as_bytes(), &mut offloader);
        let lines = offloader.results.iter().map(|result| result.line);
        (lines.collect::<Vec<_>>(), offloader.freed)
    };
    let (all, freed) = lines(plan(100));
    assert_eq!(all, [1, 3]);
    let enough = |tokens| Plan { enough_tokens: Some(tokens), ..plan(100) };
    assert_eq!(lines(enough(freed)).0, [1, 3]);
    assert_eq!(lines(enough(1)).0, [1]);
    assert!(lines(enough(0)).0.is_empty());
}

#[test]
fn a_dry_run_tells_the_same_and_writes_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    let store = store(&dir);
    let session = result("a", &long("a"));
    let run = |dry_run| {
        let mut offloader = offloader(&store, Plan { dry_run, ..plan(100) });
        pass("chat", session.as_bytes(), &mut offloader);
        offloader.finish(&[None]).expect("durable");
        offloader.results
    };
    let dry = run(true);
    assert!(!store.root.exists());
    assert_eq!(run(false), dry);
    let OffloadedResult { line, bytes, path, .. } = &dry[0];
    assert_eq!((*line, *bytes), (1, long("a").len() as u64));
    assert_eq!(std::fs::read_to_string(path).expect("a file"), long("a"));
}

#[test]
fn what_is_taken_out_stays_out() {
    let dir = tempfile::tempdir().expect("a folder");
    let store = store(&dir);
    let plan = plan(2);
    let mut first = offloader(&store, plan.clone());
    let out = pass("chat", result("a", &long("a")).as_bytes(), &mut first);
    let mut second = offloader(&store, plan);
    assert_eq!(pass("chat", &out, &mut second), out);
    assert!(second.results.is_empty());
}

/// A text replaces an unreadable result only if the output goes into a summary.
#[test]
fn a_file_that_is_gone_is_told_and_another_folder_is_left_alone() {
    let dir = tempfile::tempdir().expect("a folder");
    let store = store(&dir);
    let mut offloader = offloader(&store, plan(100));
    let out = pass("chat", result("a", &long("a")).as_bytes(), &mut offloader);
    offloader.finish(&[None]).expect("durable");
    let path = &offloader.results[0].path;
    std::fs::remove_file(path).expect("removed");
    let elsewhere = result("b", &reference("/etc/passwd", 9));
    let session = [out, elsewhere.clone().into_bytes()].concat();
    let mut summed_up = restorer(&store);
    summed_up.unavailable = Some("[gone: {path}]".to_owned());
    let back = pass("chat", &session, &mut summed_up);
    let told = result("a", &format!("[gone: {path}]"));
    assert_eq!(String::from_utf8_lossy(&back), told + &elsewhere);
    let mut restorer = restorer(&store);
    let back = pass("chat", &session, &mut restorer);
    assert_eq!(back, session);
    let (missing, error) = &restorer.missing[0];
    assert_eq!((missing.line, &missing.path), (1, path));
    assert!(error.to_string().contains("No such file"), "{error}");
    let elsewhere = Reference { line: 2, path: "/etc/passwd".to_owned() };
    assert_eq!(restorer.elsewhere, [elsewhere]);
    assert!(restorer.restored.is_empty());
}

/// Returns the new session, if there is one.
fn stream(
    reading: Reading,
    store: &Store,
    bytes: &str,
    left_out: u64,
    temp: bool,
) -> Option<String> {
    let mut records =
        Records::open(bytes.as_bytes(), &options("chat", false)).expect("from memory");
    let temp = temp.then(std::env::temp_dir);
    let mut offloader = offloader(store, plan(100));
    let mut pass = ChangePass::new(reading, &mut offloader, temp.as_deref());
    while let Some(record) = records.next().expect("from memory") {
        pass.push(&record).expect("no failure");
    }
    let spool = pass.finish(left_out, &mut ctx_engine::Notes::default()).expect("no failure");
    spool.map(|spool| {
        let mut written = Vec::new();
        spool.write_to(&mut written).expect("to memory");
        String::from_utf8(written).expect("UTF-8")
    })
}

#[test]
fn protected_messages_wait_and_leave_as_they_came() {
    let dir = tempfile::tempdir().expect("a folder");
    let store = store(&dir);
    let (old, new) = (result("a", &long("old")), result("b", &long("new")));
    let system = "{\"role\":\"system\",\"content\":\"x\"}\nbroken\n";
    let session = [REPLY, "\n", &old, REPLY, "\n", &new, system].concat();
    let mut reading = reading("chat", false);
    for (protect_last, stays) in
        [(0, [false, false]), (1, [false, true]), (2, [true, true]), (9, [true, true])]
    {
        reading.protect_last = protect_last;
        let written = stream(reading, &store, &session, 0, true).expect("an output");
        assert_eq!([written.contains(&old), written.contains(&new)], stays);
        assert!(written.ends_with(system));
    }
    assert_eq!(stream(reading, &store, &session, 0, false), None);
}

#[test]
fn tags_keep_what_is_still_true() {
    let dir = tempfile::tempdir().expect("a folder");
    let store = store(&dir);
    let tagged = |tag: &str, content: &str| {
        let record = result("a", content);
        record.replacen('{', &format!("{{\"_ctx\":{{{tag}}},"), 1)
    };
    let small = |end: &str| tagged(&format!("\"zone\":\"keep\",\"tokens\":3{end}"), "small");
    let large = "\"zone\":\"old\",\"bytes\":9,\"tokens\":7,\"encoding\":\"o200k_base\"";
    let write = |session: &str, left_out| {
        stream(reading("chat", false), &store, session, left_out, true).expect("an output")
    };
    let written = write(&(tagged(large, &long("a")) + &small(",\"end\":2")), 0);
    let (first, last) = written.split_once('\n').expect("two lines");
    assert!(first.starts_with("{\"_ctx\":{\"zone\":\"old\",\"bytes\":"), "{first}");
    let untagged = first.len() - first.find("},").expect("a tag") - 2 + 1;
    assert!(first.contains(&format!("\"bytes\":{untagged}}}")), "{first}");
    assert_eq!(last, small(",\"end\":2"));
    // One record was left out before, so the stream is still complete.
    assert_eq!(write(&small(",\"end\":2"), 1), small(",\"end\":1"));
    // A stream that was cut stays cut.
    assert_eq!(write(&small(",\"end\":3"), 0), small(""));
    assert_eq!(write(&small(""), 0), small(""));
}
