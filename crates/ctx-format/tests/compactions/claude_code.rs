use super::{Session, changed, same};
use ctx_format::compaction::CompactionError;

/// A question, a reply that calls two tools at once, their results, and a final reply.
fn session(version: &str) -> Session {
    let line = |id: &str, parent: &str, rest: &str| {
        let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
        format!(
            r#"{{"parentUuid":{parent},"isSidechain":false,"cwd":"/w","sessionId":"s","version":"{version}","uuid":"{id}","timestamp":"2026-01-01T00:00:00.000Z",{rest}}}"#
        )
    };
    let user = |id: &str, parent: &str| {
        let rest = format!(r#""type":"user","message":{{"role":"user","content":"{id}"}}"#);
        line(id, parent, &rest)
    };
    let block = |id: &str, parent: &str, reply: &str, block: &str| {
        let rest = format!(
            r#""type":"assistant","message":{{"id":"{reply}","role":"assistant","content":[{block}],"usage":{{"input_tokens":190000,"output_tokens":3}}}}"#
        );
        line(id, parent, &rest)
    };
    let call = |id: &str, parent: &str| {
        let tool = format!(r#"{{"type":"tool_use","id":"{id}","name":"ls","input":{{}}}}"#);
        block(id, parent, "r1", &tool)
    };
    let result = |id: &str, of: &str| {
        let rest = format!(
            r#""type":"user","sourceToolAssistantUUID":"{of}","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{of}","content":"out {of}"}}]}}"#
        );
        line(id, of, &rest)
    };
    let lines = [
        user("ask", ""),
        block("yes", "ask", "r0", r#"{"type":"text","text":"yes"}"#),
        user("more", "yes"),
        call("c1", "more"),
        call("c2", "c1"),
        result("o1", "c1"),
        result("o2", "c2"),
        block("done", "o2", "r2", r#"{"type":"text","text":"done"}"#),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    Session::new("claude-code", &lines)
}

const SUMMARY: &str = "What came before in this session was compacted. Its summary:\n\nwhat\nwas";

#[test]
fn lines_that_stay_are_named_where_the_client_reads_a_list() {
    let before = session("2.1.197");
    assert_eq!(before.said().len(), 8);
    let after = before.compact_to_last(5);
    assert_eq!(after.lines.len(), 10);
    assert_eq!(after.said(), [SUMMARY, "ls|{}", "ls|{}", "out c1", "out c2", "done"]);
    let boundary = &after.lines[8];
    assert!(boundary.contains(r#""logicalParentUuid":"done""#));
    assert!(boundary.contains(r#""cwd":"/w","sessionId":"s","version":"2.1.197""#));
    assert!(boundary.contains(r#""trigger":"manual","preTokens":1000,"postTokens":100"#));
    assert!(boundary.contains(r#""uuids":["c1","c2","o1","o2","done"]"#));
    assert!(boundary.contains(r#""headUuid":"c1""#) && boundary.contains(r#""tailUuid":"done""#));
}

#[test]
fn a_middle_that_leaves_is_not_in_a_segment() {
    let before = session("2.1.197");
    let context = before.context();
    let kept = [same(&context[0]), same(&context[7])];
    let after = before.compact(&kept, false).expect("compacted");
    assert_eq!(after.said(), [SUMMARY, "ask", "done"]);
    assert!(!after.lines[8].contains("preservedSegment"));
}

#[test]
fn results_beside_the_chain_are_written_again_for_clients_that_follow_parents() {
    let after = session("2.1.100").compact_to_last(5);
    assert_eq!(after.said(), [SUMMARY, "ls|{}", "ls|{}", "out c1", "out c2", "done"]);
    assert_eq!(after.lines.len(), 15);
    assert!(!after.lines[8].contains("preserved"));
    let copy = &after.lines[10];
    assert!(copy.contains(r#""usage":{"input_tokens":0,"#), "{copy}");
    // A copied result refers to the new line that contains its call.
    let id = copy.split(r#""uuid":""#).nth(1).expect("an id");
    let id = id.split('"').next().expect("an id");
    assert!(after.lines[12].contains(&format!(r#""sourceToolAssistantUUID":"{id}""#)));
}

#[test]
fn a_chain_is_named_by_its_ends() {
    let after = session("2.1.100").compact_to_last(1);
    assert_eq!(after.said(), [SUMMARY, "done"]);
    assert_eq!(after.lines.len(), 10);
    assert!(after.lines[8].contains(r#""preservedSegment":{"headUuid":"done""#));
}

#[test]
fn old_clients_get_everything_again() {
    let after = session("2.1.42").compact_to_last(1);
    assert_eq!(after.said(), [SUMMARY, "done"]);
    assert_eq!(after.lines.len(), 11);
}

#[test]
fn what_has_changed_is_written_again() {
    let before = session("2.1.197");
    let context = before.context();
    let shorter: Vec<String> = context[3..].iter().map(|it| it.replace("out ", "")).collect();
    let kept: Vec<_> = shorter.iter().map(|it| changed(it)).collect();
    let after = before.compact(&kept, true).expect("compacted");
    assert_eq!(after.said(), [SUMMARY, "ls|{}", "ls|{}", "c1", "c2", "done"]);
}

#[test]
fn a_second_compaction_follows_the_first() {
    let twice = session("2.1.197").compact_to_last(5).compact_to_last(1);
    assert_eq!(twice.said(), [SUMMARY, "done"]);
}

#[test]
fn a_session_without_lines_of_the_tree_is_refused() {
    let none = Session::new("claude-code", &[r#"{"type":"summary","leafUuid":"x"}"#]);
    let error = none.compact(&[], true).map(|it| it.lines);
    assert_eq!(error, Err(CompactionError::Missing("uuid and sessionId")));
}
