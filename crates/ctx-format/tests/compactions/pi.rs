use super::{Session, changed, same};
use ctx_format::compaction::CompactionError;

const ENTRIES: [&str; 5] = [
    r#"{"type":"message","id":"a1","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"ask","timestamp":1}}"#,
    r#"{"type":"message","id":"a2","parentId":"a1","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"ls","arguments":{}}],"usage":{"input":9,"totalTokens":9},"stopReason":"toolUse"}}"#,
    r#"{"type":"message","id":"a3","parentId":"a2","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"toolResult","toolCallId":"c","toolName":"ls","content":[{"type":"text","text":"out"}],"isError":false}}"#,
    r#"{"type":"message","id":"a4","parentId":"a3","timestamp":"2026-01-01T00:00:03.000Z","message":{"role":"assistant","content":[{"type":"text","text":"done"}],"stopReason":"stop"}}"#,
    r#"{"type":"label","id":"a5","parentId":"a4","timestamp":"2026-01-01T00:00:04.000Z","targetId":"a1","label":"x"}"#,
];

/// A session of version 3, or of version 1, which has no ids.
fn session(version: u32) -> Session {
    let header = format!(
        r#"{{"type":"session","version":{version},"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}}"#
    );
    let entries = ENTRIES.iter().map(|entry| {
        let (begin, rest) = entry.split_once(r#""id":"a"#).expect("an id");
        let (_, end) = rest.split_once(r#""timestamp""#).expect("a time");
        if version == 1 { format!("{begin}\"timestamp\"{end}") } else { (*entry).to_owned() }
    });
    let lines: Vec<String> = [header].into_iter().chain(entries).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    Session::new("pi", &lines)
}

#[test]
fn the_first_entry_that_stays_is_named() {
    let after = session(3).compact_to_last(3);
    assert_eq!(after.said(), ["what\nwas", "ls|{}", "out", "done"]);
    let [line] = &after.lines[6..] else {
        panic!("one line");
    };
    assert!(line.contains(r#""parentId":"a5","timestamp":"2026-06-01T00:00:00.000Z""#));
    assert!(line.contains(r#""firstKeptEntryId":"a2","tokensBefore":1000"#));
}

#[test]
fn in_version_1_lines_are_counted() {
    let after = session(1).compact_to_last(3);
    assert_eq!(after.said(), ["what\nwas", "ls|{}", "out", "done"]);
    let line = after.lines.last().expect("a line");
    assert!(!line.contains(r#""id""#), "{line}");
    assert!(line.contains(r#""firstKeptEntryIndex":2"#), "{line}");
}

#[test]
fn a_middle_that_leaves_and_what_has_changed_are_written_again() {
    for version in [1, 3] {
        let before = session(version);
        let context = before.context();
        let kept = [same(&context[0]), same(&context[3])];
        let after = before.compact(&kept, false).expect("compacted");
        assert_eq!(after.said(), ["what\nwas", "ask", "done"]);
        let shorter: Vec<String> = context.iter().map(|it| it.replace("out", "o")).collect();
        let kept: Vec<_> = shorter.iter().map(|it| changed(it)).collect();
        let after = before.compact(&kept[1..], true).expect("compacted");
        assert_eq!(after.said(), ["what\nwas", "ls|{}", "o", "done"]);
        let copies = after.lines[7..].concat();
        assert!(copies.contains(r#""totalTokens":0"#) && !copies.contains(":9"));
    }
}

#[test]
fn nothing_may_stay_and_a_second_one_follows() {
    for version in [1, 3] {
        let after = session(version).compact_to_last(0);
        assert_eq!(after.said(), ["what\nwas"]);
        let twice = session(version).compact_to_last(3).compact_to_last(1);
        assert_eq!(twice.said(), ["what\nwas", "done"]);
    }
}

/// `OpenClaw` does not continue from entries that are off the path or marked as abandoned.
#[test]
fn it_hangs_on_what_the_session_goes_on_from() {
    let beside = r#"{"type":"message","id":"a6","parentId":"a5","appendMode":"side","timestamp":"2026-01-01T00:00:05.000Z","message":{"role":"user","content":"beside"}}"#;
    let nowhere = r#"{"type":"leaf","id":"a6","parentId":"a1","timestamp":"2026-01-01T00:00:05.000Z","targetId":"?"}"#;
    let back = r#"{"type":"leaf","id":"a6","parentId":"a5","timestamp":"2026-01-01T00:00:05.000Z","targetId":"a1"}"#;
    let all = ["what\nwas", "ls|{}", "out", "done"];
    for (last, parent, stay, said) in [
        (beside, "a5", 3, &all[..]),
        (nowhere, "a5", 3, &all),
        (back, "a6", 1, &["what\nwas", "ask"]),
    ] {
        let mut before = session(3);
        before.lines.push(last.to_owned());
        let after = before.compact_to_last(stay);
        assert_eq!(after.said(), said, "{last}");
        let line = after.lines.last().expect("a line");
        assert!(line.contains(&format!(r#""parentId":"{parent}""#)), "{line}");
    }
}

#[test]
fn a_file_without_a_header_is_refused() {
    let none = Session::new("pi", &ENTRIES[..1]);
    let error = none.compact(&[], true).map(|it| it.lines);
    assert_eq!(error, Err(CompactionError::NoHeader));
}

/// The loader accepts a version that is a number in a string. A version that is not a number counts
/// as newer than 1.
#[test]
fn a_version_is_what_the_loader_takes_it_for() {
    for (version, has_ids) in [(r#""3""#, true), (r#""x""#, true), (r#""1""#, false)] {
        let mut before = session(3);
        before.lines[0] =
            before.lines[0].replace(r#""version":3"#, &format!(r#""version":{version}"#));
        assert!(before.lines[0].contains(version), "{}", before.lines[0]);
        let after = before.compact_to_last(0);
        let line = after.lines.last().expect("a line");
        assert_eq!(line.contains(r#""parentId""#), has_ids, "{version}: {line}");
        assert_eq!(after.said(), ["what\nwas"], "{version}");
    }
}

/// An entry with a system message; `parent` is the id of its parent.
fn system(id: &str, parent: &str, said: &str) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":"{parent}","timestamp":"2026-01-01T00:00:05.000Z","message":{{"role":"system",{said},"timestamp":7}}}}"#
    )
}

/// In its own compactions, pi 1.5.2 combines system messages in the same way.
#[test]
fn the_prompt_and_the_tools_go_along() {
    let mut before = session(3);
    before.lines.extend([
        system("b1", "a5", r#""content":"Be kind.","sections":{"cwd":"/","skills":"a","rules":"r"},"toolsAdded":[{"name":"read","x":1},{"name":"edit"}]"#),
        system("b2", "b1", r#""content":[{"type":"text","text":"Be"},{"type":"text","text":"brief."}],"sections":{"skills":null,"cwd":"/w"},"toolsRemoved":[{"name":"edit"}],"toolsAdded":[{"name":"read","x":2},{"name":"bash"}]"#),
        system("b3", "b1", r#""content":"On another branch.""#),
        r#"{"type":"label","id":"b4","parentId":"b2","timestamp":"2026-01-01T00:00:06.000Z","targetId":"a1","label":"x"}"#.to_owned(),
    ]);
    let after = before.compact_to_last(3);
    assert_eq!(after.said(), ["what\nwas", "ls|{}", "out", "done"]);
    let declared = r#""systemMessage":{"role":"system","content":"Be kind.\n\nBe\nbrief.","sections":{"cwd":"/w","rules":"r"},"toolsAdded":[{"name":"read","x":2},{"name":"bash"}],"timestamp":1780272000000}}"#;
    let line = after.lines.last().expect("a line");
    assert!(line.ends_with(declared), "{line}");
    // The next compaction begins with the system message of this one.
    let mut next = after.clone();
    next.lines.push(system("c1", "b4", r#""content":"Beside it.""#));
    let id = line.split('"').nth(7).expect("an id");
    next.lines.push(system("c2", id, r#""content":"And now.""#));
    let last = next.compact_to_last(0).lines.pop().expect("a line");
    let declared = declared.replace("brief.", "brief.\\n\\nAnd now.");
    assert!(last.ends_with(&declared), "{last}");
    // If a session has no system message, the compaction has none either.
    let none = session(3).compact_to_last(3);
    assert!(!none.lines.concat().contains("systemMessage"));
}

#[test]
fn what_is_written_again_says_what_an_edit_made_of_it() {
    let mut before = session(3);
    let edit = |id: &str, parent: &str, target: &str, replacement: &str| {
        format!(
            r#"{{"type":"context_edit","id":"{id}","parentId":"{parent}","timestamp":"2026-01-01T00:00:05.000Z","targetId":"{target}","replacement":{replacement}}}"#
        )
    };
    before.lines.extend([
        edit("b1", "a5", "a3", r#"{"content":"edited"}"#),
        edit("b2", "b1", "a1", "null"),
    ]);
    let context = before.context();
    assert_eq!(context.len(), 3);
    let kept = [same(&context[0]), same(&context[1])];
    let after = before.compact(&kept, false).expect("compacted");
    assert_eq!(after.said(), ["what\nwas", "ls|{}", "edited"]);
}
