use super::{Compaction, Ids, LineText, NewLines, with_changes};
use crate::{Object, dialect};

#[test]
fn ids_follow_from_the_seed_and_look_as_they_should() {
    let mut ids = Ids::new(&[7; 32]);
    let (first, second, short) = (ids.uuid(), ids.uuid(), ids.short());
    assert_eq!(first, Ids::new(&[7; 32]).uuid());
    assert_ne!(first, second);
    assert_ne!(first, Ids::new(&[8; 32]).uuid());
    let lengths: Vec<usize> = first.split('-').map(str::len).collect();
    assert_eq!(lengths, [8, 4, 4, 4, 12]);
    assert_eq!(&first[14..15], "4");
    assert!("89ab".contains(&first[19..20]));
    assert_eq!(short.len(), 8);
}

#[test]
fn members_are_written_in_their_order() {
    let inner = LineText::default().end();
    let line = LineText::default()
        .text("a", "\"\n")
        .json("b", &inner)
        .list("c", &["1".to_owned(), "2".to_owned()])
        .is("d", true)
        .some_text("e", Some("f"));
    let line = line.is("no", false).some_list("no", &[]);
    let line = line.some_text("no", None).some_text("no", Some(""));
    let expected = r#"{"a":"\"\n","b":{},"c":[1,2],"d":true,"e":"f"}"#;
    assert_eq!(line.end(), expected);
}

/// A record of Claude Code after its message was changed in the dialect `anthropic`.
fn rewritten(record: &str, before: &str, after: &str) -> Option<String> {
    let [claude, anthropic] =
        ["claude-code", "anthropic"].map(|name| dialect::by_name(name).expect("known"));
    let record = Object::parse(record).expect("an object");
    let [before, after] = [before, after].map(|text| Object::parse(text).expect("an object"));
    let [before, after] = [&before, &after].map(|it| anthropic.message(it).expect("a message"));
    let message = claude.message(&record).expect("a message");
    with_changes(&record, &message, &[before], &[after])
}

#[test]
fn a_result_that_was_shortened_is_shortened_in_the_record() {
    let form = |text: &str| {
        format!(
            r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"a","content":"{text}"}},{{"type":"tool_result","tool_use_id":"b","content":"same"}}]}}"#
        )
    };
    let record =
        |text: &str| format!(r#"{{"type":"user","uuid":"u","x":1.0,"message":{}}}"#, form(text));
    let (long, short) = (form("long"), form("sh"));
    assert_eq!(rewritten(&record("long"), &long, &short), Some(record("sh")));
    assert_eq!(rewritten(&record("long"), &long, &long), None);
}

#[test]
fn arguments_and_reasoning_follow() {
    let form = |thought: &str, input: &str| {
        format!(
            r#"{{"role":"assistant","content":[{thought}{{"type":"tool_use","id":"a","name":"n","input":{input}}}]}}"#
        )
    };
    let thought = r#"{"type":"thinking","thinking":"hm","signature":"s"},"#;
    let record = |message: &str| format!(r#"{{"type":"assistant","message":{message}}}"#);
    let (before, after) = (form(thought, r#"{"a":[1,2]}"#), form("", "{}"));
    let new = rewritten(&record(&before), &before, &after);
    assert_eq!(new, Some(record(&after)));
}

#[test]
fn times_follow_each_other_and_the_session() {
    let times = |newest: Option<&str>| {
        let mut new = NewLines::of(&Compaction {
            summary: "",
            kept: Vec::new(),
            kept_before: 0,
            is_end: true,
            last: "",
            tokens: (0, 0),
            is_automatic: false,
            now: "2026-01-01T00:00:00.5Z".parse().expect("a time"),
            newest: newest.map(|time| time.parse().expect("a time")),
            seed: vec![7; 32],
        });
        [new.time(), new.time()]
    };
    let now = ["2026-01-01T00:00:00.500Z", "2026-01-01T00:00:00.501Z"];
    assert_eq!(times(None), now);
    assert_eq!(times(Some("2025-01-01T00:00:00Z")), now);
    let after = ["2026-02-01T00:00:00.001Z", "2026-02-01T00:00:00.002Z"];
    assert_eq!(times(Some("2026-02-01T01:00:00.000+01:00")), after);
}
