//! Tests which flaws are found in files with a single flaw, and what repairs them. The expected
//! values are taken from what the agents do with such files.

use crate::files::{self, File};
use crate::{flaws, in_context, repaired};

/// Changes a file and checks the flaws, the repairs, and the number of records in the context
/// before and after the repair.
#[track_caller]
fn check(
    file: &File,
    change: impl Fn(&mut Vec<String>),
    found: &[(u64, &'static str)],
    done: &[(u64, &'static str)],
    counts: (usize, usize),
) {
    let mut lines = file.lines.clone();
    change(&mut lines);
    let text = lines.join("\n") + "\n";
    let dialect = file.dialect();
    assert_eq!(flaws(dialect, text.as_bytes()), found);
    let (copy, actions) = repaired(dialect, text.as_bytes());
    assert_eq!(actions, done);
    let in_copy = in_context(dialect, copy.as_bytes());
    assert_eq!((in_context(dialect, text.as_bytes()), in_copy), counts);
    assert_eq!(repaired(dialect, copy.as_bytes()), (copy, Vec::new()), "twice");
}

#[test]
fn a_healthy_file_has_none_and_keeps_its_bytes() {
    for file in files::all() {
        let text = file.text();
        assert_eq!(flaws(file.dialect(), text.as_bytes()), [], "{}", file.name);
        let (copy, actions) = repaired(file.dialect(), text.as_bytes());
        assert!((copy, actions) == (text, Vec::new()), "{}", file.name);
    }
}

/// Kimi Code removes a line that is not JSON, and all lines after it.
#[test]
fn a_line_that_is_not_json_cuts_the_rest_off() {
    let file = files::kimi();
    let torn = |lines: &mut Vec<String>| lines.insert(4, "{\"type\":".to_owned());
    check(&file, torn, &[(5, "cut-off")], &[(5, "remove")], (2, 5));
    let blank = |lines: &mut Vec<String>| lines.insert(4, " ".to_owned());
    check(&file, blank, &[(5, "cut-off")], &[(5, "remove")], (2, 5));
    let empty = |lines: &mut Vec<String>| lines.insert(4, String::new());
    check(&file, empty, &[], &[], (5, 5));
    let header = |lines: &mut Vec<String>| lines[0] = lines[0].replace("1.5", "0.9");
    check(&file, header, &[(1, "bad-header")], &[(1, "change")], (5, 5));
}

#[test]
fn lines_that_hang_on_nothing_are_hung_on_the_one_before() {
    let file = files::claude_code();
    let drop_two = |lines: &mut Vec<String>| drop(lines.drain(1..3));
    check(&file, drop_two, &[(2, "missing-parent")], &[(2, "reparent")], (3, 4));
    let fragments = |lines: &mut Vec<String>| {
        lines[2] = lines[2].replace(r#""parentUuid":"u1""#, r#""parentUuid":"gone""#);
        lines[4] = lines[4].replace(r#""parentUuid":"u3""#, r#""parentUuid":"lost""#);
    };
    let found = [(3, "missing-parent"), (5, "missing-parent")];
    check(&file, fragments, &found, &[(3, "reparent"), (5, "reparent")], (2, 6));
    let in_a_loop = |lines: &mut Vec<String>| {
        lines[2] = lines[2].replace(r#""parentUuid":"u1""#, r#""parentUuid":"u4""#);
    };
    check(&file, in_a_loop, &[(3, "parent-loop")], &[(3, "reparent")], (4, 6));
    let to_no_id = |lines: &mut Vec<String>| {
        lines[4] = lines[4].replace(r#""parentUuid":"u3""#, r#""parentUuid":"""#);
    };
    check(&file, to_no_id, &[(5, "missing-parent")], &[(5, "reparent")], (2, 6));
    // Nothing can be linked to a line whose id is empty.
    let without_id = |lines: &mut Vec<String>| {
        to_no_id(lines);
        lines[3] = lines[3].replace(r#""uuid":"u3""#, r#""uuid":"""#);
    };
    check(&file, without_id, &[(5, "missing-parent")], &[], (2, 2));
    let file = files::pi();
    let drop_one = |lines: &mut Vec<String>| drop(lines.remove(3));
    let done = [(3, "answer"), (4, "reparent")];
    check(&file, drop_one, &[(4, "missing-parent")], &done, (3, 6));
    let in_a_loop = |lines: &mut Vec<String>| {
        lines[2] = lines[2].replace(r#""parentId":"e1""#, r#""parentId":"e5""#);
    };
    check(&file, in_a_loop, &[(3, "parent-loop")], &[(3, "reparent")], (5, 6));
}

/// A flaw on an abandoned branch does no harm, and neither does a missing parent that the client
/// replaces.
#[test]
fn only_the_path_that_the_session_goes_on_from_counts() {
    let file = files::claude_code();
    let beside = |lines: &mut Vec<String>| {
        let other = files::claude_user(9).replace("u8", "gone");
        lines.insert(2, other);
    };
    check(&file, beside, &[], &[], (6, 6));
    let near = |lines: &mut Vec<String>| {
        lines[3] = lines[3]
            .replace(r#""parentUuid":"u2""#, r#""parentUuid":"gone""#)
            .replace("00:03:00", "00:02:04");
    };
    check(&file, near, &[], &[(4, "reparent")][..0], (6, 6));
}

const BOUNDARY: &str =
    r#""type":"system","subtype":"compact_boundary","compactMetadata":{METADATA}"#;

fn compacted(lines: &mut Vec<String>, metadata: &str) {
    let boundary = BOUNDARY.replace("METADATA", metadata);
    lines.push(
        files::claude_line(6, &boundary).replace(r#""parentUuid":"u5""#, r#""parentUuid":null"#),
    );
    let summary =
        r#""type":"user","isCompactSummary":true,"message":{"role":"user","content":"so far"}"#;
    lines.push(files::claude_line(7, summary));
}

/// The agent was running when the compaction was appended, and continued from its own last line.
#[test]
fn a_compaction_off_the_path_is_named() {
    let off = |lines: &mut Vec<String>| {
        compacted(lines, "");
        lines.push(files::claude_user(8).replace(r#""parentUuid":"u7""#, r#""parentUuid":"u5""#));
    };
    check(&files::claude_code(), off, &[(7, "boundary-off-path")], &[], (7, 7));
    let on = |lines: &mut Vec<String>| {
        compacted(lines, "");
        lines.push(files::claude_user(8));
    };
    check(&files::claude_code(), on, &[], &[], (2, 2));
    let compaction = |parent: &'static str| {
        move |lines: &mut Vec<String>| {
            let rest = r#""type":"compaction","summary":"so far","firstKeptEntryId":"e5","tokensBefore":1"#;
            lines.push(files::pi_line(7, rest));
            let user = files::pi_message(8, r#""role":"user","content":"ask""#);
            lines.push(user.replace(r#""e7""#, parent));
        }
    };
    let file = files::pi();
    check(&file, compaction(r#""e6""#), &[(8, "boundary-off-path")], &[], (7, 7));
    check(&file, compaction(r#""e7""#), &[], &[], (4, 4));
}

#[test]
fn old_lines_that_a_compaction_names_have_to_be_there() {
    let kept = |lines: &mut Vec<String>| {
        let list = r#""preservedMessages":{"anchorUuid":"u7","uuids":["u4","gone","u5"]}"#;
        compacted(lines, list);
    };
    let found = [(7, "kept-lines-missing")];
    check(&files::claude_code(), kept, &found, &[(7, "change")], (1, 3));
    let segment = |lines: &mut Vec<String>| {
        let ends = r#""preservedSegment":{"anchorUuid":"u7","headUuid":"gone","tailUuid":"u5"}"#;
        compacted(lines, ends);
    };
    check(&files::claude_code(), segment, &found, &[], (1, 1));
    let entry = |lines: &mut Vec<String>| {
        let rest =
            r#""type":"compaction","summary":"so far","firstKeptEntryId":"gone","tokensBefore":1"#;
        lines.push(files::pi_line(7, rest));
    };
    check(&files::pi(), entry, &[(8, "kept-entry-missing")], &[], (1, 1));
    let none = |lines: &mut Vec<String>| {
        let rest =
            r#""type":"compaction","summary":"so far","firstKeptEntryId":"e7","tokensBefore":1"#;
        lines.push(files::pi_line(7, rest));
    };
    check(&files::pi(), none, &[], &[], (1, 1));
}

#[test]
fn a_session_without_a_header_gets_one() {
    for (file, counts) in [
        (files::codex(), (5, 5)),
        (files::copilot(), (6, 6)),
        (files::gemini(), (5, 5)),
        (files::pi(), (0, 6)),
    ] {
        let headless = |lines: &mut Vec<String>| drop(lines.remove(0));
        check(&file, headless, &[(1, "no-header")], &[(1, "header")], counts);
    }
    // Codex requires the header to be the first line of the file. pi requires it to be the first
    // line that can be parsed.
    let garbage = |lines: &mut Vec<String>| lines.insert(0, "garbage".to_owned());
    check(&files::codex(), garbage, &[(1, "no-header")], &[(1, "remove")], (5, 5));
    check(&files::pi(), garbage, &[], &[(1, "remove")], (6, 6));
    check(&files::copilot(), garbage, &[], &[(1, "remove")], (6, 6));
    check(&files::gemini(), garbage, &[], &[(1, "remove")], (5, 5));
}

#[test]
fn a_byte_order_mark_goes_where_the_agent_does_not_expect_it() {
    let mark = |lines: &mut Vec<String>| lines[0].insert(0, '\u{feff}');
    let found = [(1, "byte-order-mark")];
    check(&files::codex(), mark, &found, &[(1, "change")], (5, 5));
    check(&files::pi(), mark, &found, &[(1, "change")], (6, 6));
    check(&files::claude_code(), mark, &[], &[], (6, 6));
    check(&files::copilot(), mark, &[], &[], (6, 6));
}

#[test]
fn a_repeated_number_is_named() {
    let repeated = |lines: &mut Vec<String>| {
        lines[4] = lines[4].replace(r#""ordinal":4"#, r#""ordinal":3"#);
    };
    check(&files::codex(), repeated, &[(5, "repeated-ordinal")], &[], (5, 5));
}

/// The lines of a tree are linked around a line that goes, and to a line that is new.
#[test]
fn a_result_of_another_call_goes_and_its_call_gets_one() {
    for (file, call) in [(files::claude_code(), 2), (files::codex(), 3), (files::pi(), 3)] {
        let other = |lines: &mut Vec<String>| {
            let result = &mut lines[call];
            *result = result
                .replace(r#"_id":"t""#, r#"_id":"other""#)
                .replace(r#"Id":"t""#, r#"Id":"other""#);
        };
        let line = call as u64;
        let done = [(line, "answer"), (line + 1, "drop-orphan")];
        let messages = file.lines.len() - usize::from(file.name != "claude-code");
        check(&file, other, &[], &done, (messages, messages));
        let mut lines = file.lines.clone();
        other(&mut lines);
        let (copy, _) = repaired(file.dialect(), (lines.join("\n") + "\n").as_bytes());
        assert!(copy.contains("The result of this call is missing"), "{copy}");
        assert!(!copy.contains("other"), "{copy}");
    }
}

/// Kimi Code reads a result only after its call.
#[test]
fn a_call_that_is_repeated_after_its_result_gets_a_result_of_its_own() {
    let file = files::kimi();
    let again = |lines: &mut Vec<String>| lines.insert(5, lines[3].clone());
    check(&file, again, &[], &[(6, "rename"), (6, "answer")], (6, 7));
}

#[test]
fn a_call_without_an_id_gets_one() {
    let file = files::kimi();
    let without = |lines: &mut Vec<String>| {
        lines[3] = lines[3].replace(r#""toolCallId":"t","#, "");
    };
    let done = [(4, "change"), (4, "answer")];
    check(&file, without, &[(5, "orphan-result")], &done, (4, 5));
}

#[test]
fn the_last_line_of_a_paginated_file_gets_a_number() {
    let without = |at: usize| {
        move |lines: &mut Vec<String>| {
            lines[at] = lines[at].replace(&format!(r#""ordinal":{at},"#), "");
        }
    };
    check(&files::codex(), without(4), &[], &[], (5, 5));
    let found = [(6, "no-ordinal")];
    check(&files::codex(), without(5), &found, &[(6, "change")], (5, 5));
}

#[test]
fn a_session_that_begins_in_another_file_says_so() {
    let elsewhere = |lines: &mut Vec<String>| {
        lines[0] = lines[0].replacen(r#""payload":{"#, r#""payload":{"history_base":{},"#, 1);
    };
    check(&files::codex(), elsewhere, &[(1, "begins-elsewhere")], &[], (5, 5));
}

#[test]
fn items_without_an_envelope_get_one() {
    let mut file = files::codex();
    let head =
        r#"{"id":"x","timestamp":"2025-06-01T00:00:00.000Z","instructions":null}"#.to_owned();
    let items = file.lines[1..].iter().map(|line| {
        let (_, payload) = line.split_once(r#""payload":"#).expect("a payload");
        payload[..payload.len() - 1].to_owned()
    });
    file.lines = [head].into_iter().chain(items).collect();
    let done: Vec<_> = (1..7).map(|line| (line, "change")).collect();
    check(&file, |_| {}, &[(1, "bare-items")], &done, (5, 5));
}

#[test]
fn a_line_of_codex_that_is_not_loaded_is_named() {
    let no_time = |lines: &mut Vec<String>| {
        let (_, rest) = lines[4].split_once(',').expect("members");
        lines[4] = format!("{{{rest}");
    };
    let found = [(5, "no-timestamp")];
    check(&files::codex(), no_time, &found, &[(5, "change")], (4, 5));
    let shape = |lines: &mut Vec<String>| lines[4] = lines[4].replace("output_text", "speech");
    check(&files::codex(), shape, &[(5, "item-not-read")], &[], (4, 4));
    let compaction = |lines: &mut Vec<String>| {
        let payload = r#"{"message":"so far","replacement_history":[{"type":"message","role":"user","content":[{"type":"speech"}]}]}"#;
        lines.push(files::codex_line(6, "compacted", payload));
    };
    let found = [(7, "compaction-not-read")];
    check(&files::codex(), compaction, &found, &[], (5, 5));
}

#[test]
fn a_call_within_a_record_is_answered() {
    let unanswered = |lines: &mut Vec<String>| {
        let (call, _) = lines[2].split_once(r#","result""#).expect("a result");
        lines[2] = format!("{call}}}]}}");
    };
    let found = [(3, "unanswered-call")];
    check(&files::gemini(), unanswered, &found, &[(3, "answer")], (5, 5));
    // A call at the end may still get its result.
    let at_the_end = |lines: &mut Vec<String>| {
        unanswered(lines);
        lines.truncate(3);
    };
    check(&files::gemini(), at_the_end, &found, &[], (2, 2));
}

#[test]
fn an_event_of_copilot_that_lacks_a_member_gets_it() {
    let without = |member: &'static str| {
        move |lines: &mut Vec<String>| {
            assert!(lines[4].contains(member), "{}", lines[4]);
            lines[4] = lines[4].replace(member, "");
        }
    };
    let found = [(5, "bad-event")];
    for member in [
        r#","id":"00000000-0000-4000-8000-000000000004""#,
        r#","timestamp":"2026-01-01T00:04:00.000Z""#,
        r#","parentId":"00000000-0000-4000-8000-000000000003""#,
    ] {
        check(&files::copilot(), without(member), &found, &[(5, "change")], (6, 6));
    }
    check(&files::copilot(), without(r#""messageId":"m","#), &found, &[], (5, 5));
    let empty = |lines: &mut Vec<String>| {
        let data = r#"{"success":true,"summaryContent":""}"#;
        lines.push(files::copilot_line(7, "session.compaction_complete", data));
    };
    check(&files::copilot(), empty, &[(8, "compaction-not-read")], &[], (6, 6));
    let lone = |lines: &mut Vec<String>| lines[3] = lines[3].replace(r#""t""#, r#""other""#);
    check(&files::copilot(), lone, &[(4, "orphan-result")], &[(3, "answer")], (5, 6));
}

#[test]
fn a_rewind_to_nowhere_and_a_message_without_id_are_named() {
    let rewind = |lines: &mut Vec<String>| {
        lines.push(r#"{"$rewindTo":"gone"}"#.to_owned());
        lines.push(files::gemini_line("u9", "user", r#""content":[{"text":"ask"}]"#));
    };
    check(&files::gemini(), rewind, &[(7, "rewind-to-nowhere")], &[], (1, 1));
    let nameless = |lines: &mut Vec<String>| {
        lines.push(r#"{"type":"user","content":[{"text":"ask"}]}"#.to_owned());
    };
    let found = [(7, "message-without-id")];
    check(&files::gemini(), nameless, &found, &[(7, "change")], (5, 6));
    let known = |lines: &mut Vec<String>| lines.push(r#"{"$rewindTo":"u2"}"#.to_owned());
    check(&files::gemini(), known, &[], &[], (3, 3));
}

/// Qwen Code refuses a file with lines of two sessions, and one whose first line has no folder.
#[test]
fn what_qwen_code_does_not_load_is_repaired() {
    let file = files::qwen();
    let drop_two = |lines: &mut Vec<String>| drop(lines.drain(3..5));
    check(&file, drop_two, &[(4, "missing-parent")], &[(4, "reparent")], (1, 4));
    let in_a_loop = |lines: &mut Vec<String>| {
        lines[3] = lines[3].replace(r#""parentUuid":"u2""#, r#""parentUuid":"u5""#);
    };
    check(&file, in_a_loop, &[(4, "parent-loop")], &[(4, "reparent")], (3, 6));
    let of_another = |lines: &mut Vec<String>| {
        lines[4] = lines[4].replace(r#""sessionId":"s""#, r#""sessionId":"t""#);
    };
    check(&file, of_another, &[(5, "other-session")], &[(5, "change")], (6, 6));
    let without_folder = |lines: &mut Vec<String>| {
        lines[0] = lines[0].replace(r#","cwd":"/w""#, "");
    };
    check(&file, without_folder, &[(1, "no-header")], &[(1, "change")], (6, 6));
    let without_call = |lines: &mut Vec<String>| {
        lines[1] = lines[1]
            .replace("functionCall", "functionOther")
            .replace("{\"functionOther", "{\"text\":\"x\",\"functionOther");
    };
    check(&file, without_call, &[], &[(3, "drop-orphan")], (6, 5));
    let in_reply = |lines: &mut Vec<String>| {
        lines[2] = lines[2].replace(r#""uuid":"u2""#, r#""uuid":"u1""#);
    };
    let found = [(3, "repeated-id"), (4, "missing-parent")];
    check(&file, in_reply, &found, &[(3, "change"), (4, "reparent")], (3, 6));
}
