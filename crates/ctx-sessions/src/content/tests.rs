use std::io::Write;
use std::path::Path;
use std::time::{Duration, SystemTime};

use tempfile::NamedTempFile;

use ctx_engine::message_counter::MessageCounter;
use ctx_tokens::Encoding;

use super::{HEAD, Index, Reading, one_line, read};
use crate::{Content, Mark};

fn reading(text: &str) -> Reading {
    let mut file = NamedTempFile::new().expect("a file");
    file.write_all(text.as_bytes()).expect("written");
    let later = SystemTime::now() + Duration::from_secs(60);
    read_at(&file, later)
}

fn read_at(file: &NamedTempFile, now: SystemTime) -> Reading {
    let counter = MessageCounter::new(Encoding::Chars4);
    read(file.path(), &std::env::temp_dir(), counter, now).expect("read")
}

fn content(lines: &[String]) -> Content {
    reading(&(lines.join("\n") + "\n")).content.expect("a session")
}

/// A line as written by Claude Code, with an id, its parent's id, a type and more members.
fn line(id: &str, parent: &str, kind: &str, rest: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
    format!(
        r#"{{"uuid":"{id}","parentUuid":{parent},"sessionId":"s","cwd":"/w/shop","type":"{kind}",{rest}}}"#
    )
}

fn user(id: &str, parent: &str, text: &str) -> String {
    let rest = format!(r#""message":{{"role":"user","content":"{text}"}}"#);
    line(id, parent, "user", &rest)
}

fn reply(id: &str, parent: &str, used: u64, text: &str) -> String {
    let rest = format!(
        r#""message":{{"id":"m{id}","role":"assistant","model":"claude-opus-4-5","content":[{{"type":"text","text":"{text}"}}],"usage":{{"input_tokens":1,"cache_read_input_tokens":{used},"cache_creation_input_tokens":2,"output_tokens":3}}}}"#
    );
    line(id, parent, "assistant", &rest)
}

#[test]
fn the_newest_usage_counts_with_what_came_behind_it() {
    let long = "word ".repeat(2_000);
    let lines = [
        user("1", "", "<command-name>/clear</command-name>"),
        user("2", "1", "Please\\n repair it"),
        reply("3", "2", 100, &long),
        reply("4", "3", 900, "done"),
        user("5", "4", &long),
    ];
    let content = content(&lines);
    let expected = Content {
        dialect: "claude-code".to_owned(),
        session: Some("s".to_owned()),
        ask: Some("Please repair it".to_owned()),
        folder: Some("/w/shop".to_owned()),
        model: Some("claude-opus-4-5".to_owned()),
        messages: 5,
        turns: 3,
        recorded: Some(906),
        recorded_window: Some(200_000),
        estimated: 3_048,
        context_tokens: 3_954,
        ..Content::default()
    };
    assert_eq!(content, expected);
}

#[test]
fn what_was_recorded_before_a_compaction_counts_no_more() {
    let boundary =
        line("b", "", "system", r#""subtype":"compact_boundary","logicalParentUuid":"2""#);
    let summary = line(
        "s",
        "b",
        "user",
        r#""isCompactSummary":true,"message":{"role":"user","content":"It was so."}"#,
    );
    let mut lines = vec![user("1", "", "hi"), reply("2", "1", 900, "yes"), boundary, summary];
    let before = content(&lines);
    assert_eq!(
        (before.messages, before.recorded, before.estimated),
        (1, None, 1_035),
        "with the system prompt and the tools of the first request"
    );
    assert_eq!(before.model.as_deref(), Some("claude-opus-4-5"));
    assert_eq!(before.recorded_window, Some(200_000));
    assert_eq!(before.ask.as_deref(), Some("hi"), "of the whole file");
    lines.push(reply("3", "s", 40, "on"));
    let after = content(&lines);
    assert_eq!((after.messages, after.recorded, after.estimated), (2, Some(46), 43));
}

/// A file may start in the middle of a session, after more tokens than any system prompt has.
#[test]
fn what_is_beside_the_messages_is_the_least_of_the_beginnings() {
    let summary = |id: &str, last: &str| {
        let of = format!(r#""subtype":"compact_boundary","logicalParentUuid":"{last}""#);
        let rest = r#""isCompactSummary":true,"message":{"role":"user","content":"It was so."}"#;
        let boundary = format!("b{id}");
        [line(&boundary, "", "system", &of), line(id, &boundary, "user", rest)]
    };
    let behind = |lines: &[String]| {
        let content = content(lines);
        assert_eq!(content.recorded, None);
        content.estimated - (4 + 3)
    };
    let middle = [user("1", "", "hi"), reply("2", "1", 150_000, "yes")];
    let usual = [&middle[..], &summary("t", "2")].concat();
    assert_eq!(behind(&usual), 33_041);
    let reply = [reply("3", "s", 900, "yes")];
    let known = [&middle[..], &summary("s", "2"), &reply, &summary("t", "3")].concat();
    assert_eq!(behind(&known), 1_025);
}

/// Old lines that a compaction kept report usage that includes the removed messages, so their usage
/// is ignored.
#[test]
fn a_reply_that_a_compaction_keeps_tells_nothing_of_the_context() {
    let kept = r#""subtype":"compact_boundary","logicalParentUuid":"2","compactMetadata":{"preservedMessages":{"anchorUuid":"s","uuids":["1","2"]}}"#;
    let lines = [
        user("1", "", "hi"),
        reply("2", "1", 900, "yes"),
        line("b", "", "system", kept),
        line(
            "s",
            "b",
            "user",
            r#""isCompactSummary":true,"message":{"role":"user","content":"It was so."}"#,
        ),
    ];
    let content = content(&lines);
    assert_eq!((content.messages, content.recorded), (3, None));
}

#[test]
fn branches_and_helpers_have_no_say() {
    let mut lines =
        vec![user("1", "", "hi"), reply("2", "1", 10, "yes"), reply("3", "1", 700, "left")];
    let side = reply("4", "1", 800, "helper").replacen('{', r#"{"isSidechain":true,"#, 1);
    lines.extend([side, user("5", "2", "go on")]);
    let content = content(&lines);
    assert_eq!((content.messages, content.recorded), (3, Some(16)));
}

#[test]
fn titles_are_the_users_else_the_agents() {
    let mut lines = vec![
        user("1", "", "hi"),
        r#"{"type":"custom-title","customTitle":"Mine","sessionId":"s"}"#.to_owned(),
        r#"{"type":"ai-title","aiTitle":"Its","sessionId":"s"}"#.to_owned(),
    ];
    assert_eq!(content(&lines).title.as_deref(), Some("Mine"));
    lines.remove(1);
    assert_eq!(content(&lines).title.as_deref(), Some("Its"));
}

#[test]
fn codex_tells_its_window_and_an_old_compaction_is_read_in_full() {
    let at = r#""timestamp":"2026-01-01T00:00:00.000Z""#;
    let item = |role: &str, text: &str| {
        let kind = if role == "user" { "input_text" } else { "output_text" };
        format!(
            r#"{{{at},"type":"response_item","payload":{{"type":"message","role":"{role}","content":[{{"type":"{kind}","text":"{text}"}}]}}}}"#
        )
    };
    let mut lines = vec![
        format!(r#"{{{at},"type":"session_meta","payload":{{"id":"c","cwd":"/w"}}}}"#),
        format!(r#"{{{at},"type":"turn_context","payload":{{"model":"gpt-5-codex","cwd":"/w"}}}}"#),
        item("user", &"a".repeat(70_000)),
        item("user", &"b".repeat(70_000)),
        item("assistant", "yes"),
        format!(
            r#"{{{at},"type":"event_msg","payload":{{"type":"token_count","info":{{"last_token_usage":{{"input_tokens":4000,"output_tokens":321,"total_tokens":4321}},"model_context_window":258400}}}}}}"#
        ),
    ];
    let whole = content(&lines);
    assert_eq!((whole.messages, whole.recorded, whole.estimated), (3, Some(4321), 0));
    assert_eq!(whole.recorded_window, Some(258_400));
    assert_eq!(
        (whole.session.as_deref(), whole.model.as_deref()),
        (Some("c"), Some("gpt-5-codex"))
    );
    lines.push(format!(r#"{{{at},"type":"compacted","payload":{{"message":"It was so."}}}}"#));
    let compacted = content(&lines);
    assert_eq!(compacted.messages, 3, "of what was asked as much as the client keeps");
    assert_eq!(compacted.recorded, None);
    assert!(compacted.estimated > 30_000, "{}", compacted.estimated);
}

#[test]
fn pi_and_gemini_record_their_totals() {
    let pi = [
        r#"{"type":"session","version":3,"id":"p","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#,
        r#"{"type":"message","id":"1","parentId":null,"timestamp":"t","message":{"role":"user","content":"hi"}}"#,
        r#"{"type":"message","id":"2","parentId":"1","timestamp":"t","message":{"role":"assistant","model":"m","stopReason":"stop","content":[{"type":"text","text":"yes"}],"usage":{"input":5,"output":9,"cacheRead":1,"cacheWrite":2}}}"#,
        r#"{"type":"session_info","id":"3","parentId":"2","timestamp":"t","name":"Mine"}"#,
    ];
    let pi = content(&pi.map(str::to_owned));
    assert_eq!((pi.messages, pi.recorded, pi.title.as_deref()), (2, Some(17), Some("Mine")));
    let gemini = [
        r#"{"sessionId":"g","projectHash":"h"}"#,
        r#"{"id":"1","type":"user","content":"hi"}"#,
        r#"{"id":"2","type":"gemini","content":"yes","model":"gemini-2.5-pro","tokens":{"input":10,"output":2,"total":12}}"#,
        r#"{"$set":{"summary":"Greets"}}"#,
    ];
    let gemini = content(&gemini.map(str::to_owned));
    assert_eq!(
        (gemini.messages, gemini.recorded, gemini.title.as_deref()),
        (2, Some(12), Some("Greets"))
    );
}

#[test]
fn what_is_no_session_has_no_content_and_bad_lines_are_counted() {
    for text in ["", "hello\n", "{\"a\":1}\n", "\0\0\0"] {
        assert_eq!(reading(text).content, None, "{text:?}");
    }
    let lines = [user("1", "", "hi"), "{broken".to_owned(), "\0\0".to_owned(), "{}{}".to_owned()];
    assert_eq!(content(&lines).bad_lines, 3);
}

#[test]
fn a_file_that_has_just_changed_is_not_kept() {
    let file = NamedTempFile::new().expect("a file");
    let now = |seconds| SystemTime::now() + Duration::from_secs(seconds);
    let settled = |seconds| read_at(&file, now(seconds)).is_settled;
    assert!(!settled(0));
    assert!(settled(10));
}

#[test]
fn a_text_becomes_one_short_one_line() {
    assert_eq!(one_line(" a\n\tb  ").as_deref(), Some("a b"));
    assert_eq!(one_line(" \n"), None);
    let long = one_line(&"éa ".repeat(100)).expect("a line");
    assert_eq!(long.chars().count(), 161);
    assert!(long.ends_with('…'), "{long}");
    let one = one_line(&"x".repeat(200)).expect("a line");
    assert_eq!(one.chars().count(), 161);
}

fn sized(size: u64, is_settled: bool) -> Reading {
    Reading {
        mark: Mark { size, ..Mark::default() },
        is_settled,
        content: Some(Content { messages: size, ..Content::default() }),
    }
}

#[test]
fn what_was_put_is_found_while_the_file_is_the_same() {
    let mut index = Index::default();
    index.put(Path::new("/b"), &sized(7, true));
    index.put(Path::new("/a"), &Reading { content: None, ..sized(1, true) });
    index.put(Path::new("/c"), &sized(2, false));
    assert!(index.is_changed);
    let text = index.to_text();
    let index = Index::parse(&text);
    assert!(!index.is_changed);
    assert_eq!(index.to_text(), text);
    let of = |path, size| index.get(Path::new(path), &sized(size, true).mark);
    assert_eq!(of("/b", 7).flatten().map(|it| it.messages), Some(7));
    assert_eq!(of("/b", 8), None);
    assert_eq!(of("/a", 1), Some(None), "no session");
    assert_eq!(of("/c", 2), None, "a later change may leave the mark as it is");
}

#[test]
fn what_is_no_index_of_this_version_holds_nothing() {
    let mut index = Index::default();
    index.put(Path::new("/b"), &sized(7, true));
    let text = index.to_text();
    let other = text.replacen(HEAD, "{\"sessions\":\"0 0\"}", 1);
    assert_ne!(other, text);
    for bad in ["", "\0\0", "{", "[]\n", &other] {
        let index = Index::parse(bad);
        assert_eq!(index.get(Path::new("/b"), &sized(7, true).mark), None, "{bad:?}");
    }
    let torn = Index::parse(&text[..text.len() - 9]);
    assert_eq!(torn.to_text().lines().count(), 1, "only its head");
}

#[test]
fn vanished_files_are_forgotten() {
    let mut index = Index::default();
    index.put(Path::new("/no/such/file"), &sized(7, true));
    index.put(Path::new("/"), &sized(8, true));
    index.forget_vanished();
    let text = index.to_text();
    assert!(!text.contains("/no/such") && text.lines().count() == 2, "{text}");
}
