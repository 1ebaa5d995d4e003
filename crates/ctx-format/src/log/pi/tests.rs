//! Tests how entries are recognized and read.

use crate::dialect::{ALL, Dialect, Pi, Sniff, Wrapped};
use crate::{Bond, Object, Part, Role};

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#;

/// A header in the format of the oldest files.
const OLD_HEADER: &str =
    r#"{"type":"session","id":"s","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/"}"#;

fn object(text: &str) -> Object<'_> {
    Object::parse(text).expect("an object")
}

#[test]
fn its_records_and_those_of_other_dialects_are_told_apart() {
    let entry = r#"{"type":"label","id":"a","parentId":null,"timestamp":"t","targetId":"b"}"#;
    let usage = entry.replace("label", "usage");
    let edit = entry.replace("label", "context_edit");
    for own in [HEADER, OLD_HEADER, entry, &usage, &edit] {
        for dialect in ALL {
            let is_own = dialect.name() == "pi";
            let expected = if is_own { Sniff::Yes } else { Sniff::No };
            assert_eq!(dialect.sniff(&object(own)), expected, "{own}");
        }
    }
    for other in [
        r#"{"type":"session","id":"s"}"#,
        r#"{"type":"message","role":"user","content":[]}"#,
        r#"{"type":"user.message","id":"a","parentId":null,"timestamp":"t","data":{}}"#,
    ] {
        assert_eq!(Pi.sniff(&object(other)), Sniff::No, "{other}");
    }
}

#[test]
fn each_kind_of_entry_has_its_role() {
    let message = |said: &str| format!(r#"{{"type":"message","message":{{{said}}}}}"#);
    let lines = [
        message(r#""role":"user","content":"x""#),
        message(r#""role":"assistant","content":[{"type":"text","text":"x"}]"#),
        message(r#""role":"toolResult","toolCallId":"1","content":[]"#),
        message(r#""role":"bashExecution","command":"ls""#),
        message(r#""role":"custom","content":"x""#),
        message(r#""role":"hookMessage","content":"x""#),
        message(r#""role":"branchSummary","summary":"x""#),
        r#"{"type":"branch_summary","summary":"x"}"#.to_owned(),
        r#"{"type":"custom_message","content":[{"type":"text","text":"x"}]}"#.to_owned(),
        r#"{"type":"compaction","summary":"x"}"#.to_owned(),
    ];
    let outlines = lines.iter().map(|line| {
        let outline = Pi.outline(&object(line)).expect("a message");
        (outline.role, outline.begins_turn, outline.is_summary)
    });
    let beside = (Role::User, false, false);
    let mut expected = vec![beside; 10];
    expected[0] = (Role::User, true, false);
    expected[1] = (Role::Assistant, false, false);
    expected[2] = (Role::Tool, false, false);
    expected[9] = (Role::User, false, true);
    assert_eq!(outlines.collect::<Vec<_>>(), expected);
    for line in &lines {
        let message = Pi.message(&object(line)).expect("a message");
        assert_eq!(message.parts.len(), 1, "{line}");
        // Only the user's own message and the model's contain nothing that a program wrote.
        let is_added = message.role == Role::User && line != &lines[0];
        assert_eq!(message.added, 0..usize::from(is_added), "{line}");
    }
    assert_eq!(Pi.outline(&object(HEADER)), None);
    assert_eq!(Pi.message(&object(HEADER)), None);
}

#[test]
fn blocks_become_parts() {
    let line = r#"{"type":"message","message":{"role":"assistant","content":[
        {"type":"thinking","thinking":"hm","thinkingSignature":"z"},{"type":"text","text":"so"},
        {"type":"thinking","thinking":"","redacted":true},{"type":"image","data":""},
        {"type":"toolCall","id":"1","name":"ls","arguments":{"p": 1}},{"type":"new"}]}}"#;
    let record = object(line);
    assert_eq!(Pi.outline(&record).expect("a message").calls, ["1"]);
    let message = Pi.message(&record).expect("a message");
    assert_eq!(message.parts[0], Part::Reasoning("hm".into()));
    assert_eq!(message.parts[1], Part::Text("so".into()));
    assert!(matches!(message.parts[2], Part::Opaque(_)));
    assert!(matches!(&message.parts[3], Part::Media(media) if media.kind == "image"));
    assert!(matches!(message.parts[5], Part::Opaque(_)));
    let call = message.calls().next().expect("a call");
    assert_eq!((&*call.name, &*call.arguments), ("ls", "{\"p\": 1}"));
    let slot = call.slot.clone().expect("arguments");
    assert_eq!(&line[slot.range], "{\"p\": 1}");
    let cut = message.parts.iter();
    let cut: Vec<bool> = cut.map(|part| message.is_cut_as_reasoning(part, &record)).collect();
    assert_eq!(cut, [true, false, true, false, false, false]);
    let user = line.replace("assistant", "user");
    assert!(Pi.message(&object(&user)).expect("a message").reasoning.is_empty());
}

#[test]
fn a_text_replaces_the_only_text_of_a_result_or_its_whole_list() {
    let slot = |content: &str| {
        let line = format!(
            r#"{{"type":"message","message":{{"role":"toolResult","toolCallId":"1","toolName":"ls","isError":true,"content":{content},"details":{{}}}}}}"#
        );
        let record = object(&line);
        let outline = Pi.outline(&record).expect("a message");
        assert_eq!((outline.results, outline.has_content), (vec!["1".into()], false));
        let message = Pi.message(&record).expect("a message");
        let result = message.results().next().expect("a result");
        assert!(result.is_error && result.name.as_deref() == Some("ls"));
        assert_eq!(result.name, message.name);
        let slot = result.slot.clone();
        slot.map(|slot| line[slot.range].to_owned())
    };
    let text = r#"{"type":"text","text":"a\n"}"#;
    assert_eq!(slot(&format!("[{text}]")).as_deref(), Some(r#""a\n""#));
    assert_eq!(slot("\"b\"").as_deref(), Some("\"b\""));
    for whole in [format!("[{text},{text}]"), r#"[{"type":"image","text":"x"}]"#.to_owned()] {
        assert_eq!(slot(&whole), Some(whole));
    }
}

#[test]
fn a_command_of_the_user_is_told_with_its_end() {
    let text = |rest: &str| {
        let line = format!(
            r#"{{"type":"message","message":{{"role":"bashExecution","command":"ls","output":"x\n"{rest}}}}}"#
        );
        let message = Pi.message(&object(&line)).expect("a message").into_owned();
        message.texts().concat()
    };
    let begin = "Ran `ls`\n```\nx\n\n```";
    assert_eq!(text(r#","exitCode":0"#), begin);
    assert_eq!(text(r#","exitCode":null,"truncated":true"#), begin);
    assert_eq!(text(r#","exitCode":0,"fullOutputPath":"/t""#), begin);
    assert_eq!(text(r#","output":"""#), "Ran `ls`\n(no output)");
    let failed = text(r#","exitCode":-2"#);
    assert_eq!(failed, format!("{begin}\n\nCommand exited with code -2"));
    let cancelled = text(r#","exitCode":1,"cancelled":true"#);
    assert_eq!(cancelled, format!("{begin}\n\n(command cancelled)"));
    let cut = text(r#","truncated":true,"fullOutputPath":"/t""#);
    let end = "\n\n[Output truncated. Full output: /t]";
    assert_eq!(cut, format!("{begin}{end}"));
}

#[test]
fn what_is_sent_of_a_record_is_what_is_said() {
    let wrapped = |line: &str| {
        let Wrapped { sent, copies } = Pi.wrapped(&object(line));
        (sent.join(" "), copies.join(" "))
    };
    let result =
        r#"{"type":"message","message":{"role":"toolResult","content":[1],"details":{"a":1}}}"#;
    assert_eq!(wrapped(result), ("[1]".to_owned(), "{\"a\":1}".to_owned()));
    for (line, sent) in [
        (result.replace("toolResult", "assistant"), "[1]"),
        (r#"{"type":"compaction","summary":"s","details":2}"#.to_owned(), "\"s\""),
        (
            r#"{"type":"message","message":{"role":"bashExecution","command":1,"output":2}}"#
                .to_owned(),
            "1 2",
        ),
        (HEADER.to_owned(), ""),
    ] {
        assert_eq!(wrapped(&line), (sent.to_owned(), String::new()), "{line}");
    }
}

#[test]
fn a_summary_is_recognized() {
    let line = Pi.summary_record(Role::System, "what \"was\"");
    let record = object(&line);
    let read = Pi.summary_text(&record);
    assert_eq!(read.as_deref(), Some("what \"was\""));
    let message = Pi.message(&record).expect("a message");
    assert_eq!(message.texts(), ["what \"was\""]);
    let built = r#"{"type":"message","message":{"role":"compactionSummary","summary":"x"}}"#;
    assert_eq!(Pi.summary_text(&object(built)).as_deref(), Some("x"));
    let other = object(r#"{"type":"branch_summary","summary":"x"}"#);
    assert_eq!(Pi.summary_text(&other), None);
}

/// A system message is accepted, but an edit whose content cannot be read is reported.
#[test]
fn what_is_not_read_of_an_entry_is_named() {
    let why = |line: &str| Pi.unread(&object(line)).map(|unread| unread.why);
    let system = r#"{"type":"message","message":{"role":"system","content":"","sections":{"cwd":"/"},"toolsAdded":[]}}"#;
    assert_eq!(why(system), None);
    assert_eq!(Pi.outline(&object(system)), None);
    let role = system.replace("system", "critic");
    let unknown = r#"the dialect pi has no role "critic""#;
    assert_eq!(why(&role).as_deref(), Some(unknown));
    let edit = |replacement: &str| {
        why(&format!(r#"{{"type":"context_edit","targetId":"a"{replacement}}}"#))
    };
    for read in ["null", r#"{"content":"x"}"#, r#"{"content":[{"type":"text","text":"x"}]}"#] {
        assert_eq!(edit(&format!(r#","replacement":{read}"#)), None, "{read}");
    }
    for unread in ["", r#","replacement":{}"#, r#","replacement":"x""#] {
        let what = "content that is neither text nor a list cannot be read";
        assert_eq!(edit(unread).as_deref(), Some(what), "{unread}");
    }
    let part = edit(r#","replacement":{"content":[{"type":"smell"}]}"#);
    assert_eq!(part.as_deref(), Some(r#"a part of the type "smell" cannot be read"#));
}

#[test]
fn an_edit_cannot_do_without_the_entry_that_it_edits() {
    let bonds = |kind: &str| {
        let line = format!(r#"{{"type":"{kind}","id":"b","parentId":"a","targetId":"a"}}"#);
        let links = Pi.links(&object(&line));
        links.names.iter().map(|link| link.bond).collect::<Vec<_>>()
    };
    assert_eq!(bonds("context_edit"), [Bond::Parent, Bond::Needs]);
    assert_eq!(bonds("label"), [Bond::Parent, Bond::Mention]);
}
