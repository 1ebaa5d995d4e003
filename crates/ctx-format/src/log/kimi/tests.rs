//! Tests how lines are recognized and read, and which of them are in the context.

use std::io::Cursor;

use crate::dialect::{ALL, Dialect, Kimi, Sniff};
use crate::view::{Outside, Presence};
use crate::{Denial, Edits, Log, Object, Options, Part, Records, Role};

const HEADER: &str = r#"{"type":"metadata","protocol_version":"1.5","created_at":1}"#;

fn object(text: &str) -> Object<'_> {
    Object::parse(text).expect("an object")
}

/// A line of the main agent.
fn line(kind: &str, rest: &str) -> String {
    format!(r#"{{"type":"{kind}","agentId":"main",{rest},"time":1}}"#)
}

fn event(kind: &str, rest: &str) -> String {
    line("context.append_loop_event", &format!(r#""event":{{"type":"{kind}",{rest}}}"#))
}

fn message(role: &str, text: &str, rest: &str) -> String {
    let content = format!(r#""content":[{{"type":"text","text":"{text}"}}]"#);
    line(
        "context.append_message",
        &format!(r#""message":{{"role":"{role}",{content},"toolCalls":[]{rest}}}"#),
    )
}

fn user(text: &str) -> String {
    message("user", text, r#","origin":{"kind":"user"}"#)
}

/// The lines of a reply with the text `text` and calls with these ids, which has not ended yet.
fn reply(text: &str, calls: &[&str]) -> Vec<String> {
    let begin = event("step.begin", &format!(r#""uuid":"{text}""#));
    let part = format!(r#""stepUuid":"{text}","part":{{"type":"text","text":"{text}"}}"#);
    let calls = calls.iter().map(|id| {
        event(
            "tool.call",
            &format!(r#""stepUuid":"{text}","toolCallId":"{id}","name":"ls","args":{{"p":1}}"#),
        )
    });
    [begin, event("content.part", &part)].into_iter().chain(calls).collect()
}

fn result(id: &str, output: &str) -> String {
    event("tool.result", &format!(r#""toolCallId":"{id}","result":{{"output":"{output}"}}"#))
}

fn end(text: &str) -> String {
    event("step.end", &format!(r#""uuid":"{text}","finishReason":"end_turn""#))
}

fn open(lines: &[String]) -> Records<Cursor<String>> {
    let text = [&[HEADER.to_owned()], lines].concat().join("\n") + "\n";
    let options = Options { dialect: Some(&Kimi), ..Options::default() };
    Records::open(Cursor::new(text), &options).expect("from memory")
}

/// The texts of each message in the context, with a bar between them.
fn said(lines: &[String]) -> Vec<String> {
    let mut records = open(lines);
    let mut messages: Vec<(u64, Vec<String>)> = Vec::new();
    while let Some(record) = records.next().expect("from memory") {
        let Some(Presence::Inside(fragment)) = record.presence else { continue };
        let message = record.message(Some(&Kimi)).expect("a message");
        let texts = message.texts().into_iter().map(str::to_owned);
        match messages.iter_mut().find(|(number, _)| *number == fragment.message) {
            Some((_, all)) => all.extend(texts),
            None => messages.push((fragment.message, texts.collect())),
        }
    }
    messages.sort_by_key(|(number, _)| *number);
    messages.into_iter().map(|(_, texts)| texts.join("|")).collect()
}

/// The reason why each record is outside the context; `None` if it is inside.
fn outside(lines: &[String]) -> Vec<Option<Outside>> {
    let mut records = open(lines);
    let mut all = Vec::new();
    while let Some(record) = records.next().expect("from memory") {
        all.push(match record.presence.expect("a log") {
            Presence::Inside(_) => None,
            Presence::Outside(why) => Some(why),
        });
    }
    all.split_off(1)
}

fn flaws(lines: &[String]) -> Vec<(u64, &'static str)> {
    open(lines).flaws().iter().map(|(line, flaw)| (*line, flaw.rule)).collect()
}

#[test]
fn its_lines_and_those_of_other_dialects_are_told_apart() {
    let own = [HEADER.to_owned(), user("a"), result("c", "x"), line("context.clear", r#""x":1"#)];
    for own in &own {
        for dialect in ALL {
            let is_own = dialect.name() == "kimi";
            let expected = if is_own { Sniff::Yes } else { Sniff::No };
            assert_eq!(dialect.sniff(&object(own)), expected, "{own}");
        }
    }
    // Kimi CLI, the predecessor, has another header.
    let other = r#"{"type":"metadata","protocol_version":"1.2"}"#;
    assert_eq!(Kimi.sniff(&object(other)), Sniff::No);
}

#[test]
fn each_line_has_a_role_and_says_who_wrote_it() {
    let origin = |kind: &str| message("user", "x", &format!(r#","origin":{kind}"#));
    for (line, role, begins_turn, is_summary, is_added) in [
        (user("x"), Role::User, true, false, false),
        (message("user", "x", ""), Role::User, true, false, false),
        (origin(r#"{"kind":"user","inTurn":true}"#), Role::User, false, false, false),
        (
            origin(r#"{"kind":"plugin_command","trigger":"user-slash"}"#),
            Role::User,
            true,
            false,
            false,
        ),
        (
            origin(r#"{"kind":"skill_activation","trigger":"model"}"#),
            Role::User,
            false,
            false,
            true,
        ),
        (origin(r#"{"kind":"injection"}"#), Role::User, false, false, true),
        (origin(r#"{"kind":"compaction_summary"}"#), Role::User, false, true, true),
        (message("assistant", "x", ""), Role::Assistant, false, false, false),
        (reply("x", &[]).remove(1), Role::Assistant, false, false, false),
    ] {
        let object = object(&line);
        let outline = Kimi.outline(&object).expect("a message");
        let flags = (outline.role, outline.begins_turn, outline.is_summary);
        assert_eq!(flags, (role, begins_turn, is_summary), "{line}");
        let message = Kimi.message(&object).expect("a message");
        assert_eq!((message.texts(), message.added.len()), (vec!["x"], is_added.into()), "{line}");
    }
    assert!(Kimi.outline(&object(HEADER)).is_none());
    assert!(Kimi.outline(&object(&end("x"))).is_none());
}

#[test]
fn calls_and_results_are_read_in_both_forms() {
    let whole = r#""message":{"role":"assistant","content":[],"toolCalls":[{"id":"c","name":"ls","arguments":"{}"},{"id":"d","function":{"name":"cat","arguments":null}}]}"#;
    let whole = line("context.append_message", whole);
    let message = Kimi.message(&object(&whole)).expect("a message").into_owned();
    let calls = message.calls().map(|it| (it.id.as_deref(), &*it.name, &*it.arguments));
    assert_eq!(calls.collect::<Vec<_>>(), [(Some("c"), "ls", "{}"), (Some("d"), "cat", "")]);
    let part = reply("x", &["c"]).remove(2);
    let outline = Kimi.outline(&object(&part)).expect("a message");
    assert_eq!(outline.calls, ["c"]);
    let tool = self::message("tool", "out", r#","toolCallId":"c","isError":true"#);
    for (line, is_error) in [(tool, true), (result("c", "out"), false)] {
        let object = object(&line);
        assert_eq!(Kimi.outline(&object).expect("a message").results, ["c"]);
        let message = Kimi.message(&object).expect("a message");
        let result = message.results().next().expect("a result");
        assert_eq!((result.text().as_deref(), result.is_error), (Some("out"), is_error));
        let mut edits = Edits::default();
        edits.put(result.slot.as_ref().expect("a slot"), "new");
        let new = edits.of_object(&object);
        let new = Kimi.message(&self::object(&new)).expect("a message").into_owned();
        assert_eq!(new.texts(), ["new"], "{line}");
    }
}

/// The agent sends the note of a result in a line of its own.
#[test]
fn a_note_is_part_of_its_result() {
    let text =
        |rest: &str| event("tool.result", &format!(r#""toolCallId":"c","result":{{{rest}}}"#));
    let line = text(r#""output":"out", "note":"of 9","durationMs":3"#);
    let object = object(&line);
    let message = Kimi.message(&object).expect("a message");
    let result = message.results().next().expect("a result");
    assert_eq!(result.text().as_deref(), Some("out\nof 9"));
    let mut edits = Edits::default();
    edits.put(result.slot.as_ref().expect("a slot"), "new");
    assert_eq!(edits.of_object(&object), text(r#""output":"new","durationMs":3"#));
    let failed = text(r#""output":"out","isError":true,"note":"of 9""#);
    let message = Kimi.message(&self::object(&failed)).expect("a message").into_owned();
    assert_eq!(message.texts(), ["out", "of 9"]);
    let denied = text(
        r#""output":"Tool \"ls\" was not run because the user rejected the approval request. Reason: no","isError":true"#,
    );
    let message = Kimi.message(&self::object(&denied)).expect("a message").into_owned();
    assert_eq!(message.results().next().map(|it| it.denial), Some(Denial::Reported));
}

#[test]
fn reasoning_can_be_removed() {
    let part = |part: &str| event("content.part", &format!(r#""stepUuid":"s","part":{part}"#));
    let line = part(r#"{"type":"think","think":"hm","encrypted":"z"}"#);
    let object = object(&line);
    let message = Kimi.message(&object).expect("a message");
    assert_eq!((message.parts.len(), message.sealed), (1, 1));
    assert_eq!(Kimi.sealed(&object).reasoning, 1);
    let mut edits = Edits::default();
    edits.cut(message.reasoning.iter().cloned());
    let new = edits.of_object(&object);
    assert_eq!(new, part(r#"{"type":"think","think":""}"#));
    assert_eq!(Kimi.message(&self::object(&new)).expect("a message").parts, []);
    assert!(Kimi.unread(&self::object(&part(r#"{"type":"smell"}"#))).is_some());
}

#[test]
fn the_parts_of_a_reply_are_one_message_and_results_follow_their_calls() {
    let lines = [
        vec![user("ask")],
        reply("so", &["c", "d"]),
        vec![user("while it works"), result("d", "two"), result("c", "one"), end("so")],
        reply("done", &[]),
    ]
    .concat();
    assert_eq!(
        said(&lines),
        ["ask", "so|ls|{\"p\":1}|ls|{\"p\":1}", "one", "two", "while it works", "done"]
    );
    assert_eq!(flaws(&lines), []);
}

/// The agent ends a reply only when the next one begins, and answers the calls without a result
/// itself. Parts and results that come later are lost.
#[test]
fn an_interrupted_reply_is_sent_and_what_comes_too_late_is_not() {
    let late = reply("half", &[]).remove(1);
    let lines = [
        reply("half", &["c"]),
        vec![user("and now?")],
        reply("", &[]),
        vec![result("c", "late"), late],
        reply("done", &[]),
    ]
    .concat();
    assert_eq!(said(&lines), ["half|ls|{\"p\":1}", "and now?", "done"]);
    assert_eq!(flaws(&lines), [(8, "orphan-result"), (9, "stray-part")]);
}

/// The agent reads only its own lines, and those that name no agent.
#[test]
fn the_lines_of_another_agent_are_not_sent() {
    let other = |lines: Vec<String>| -> Vec<String> {
        lines.iter().map(|line| line.replace("\"main\"", "\"agent-1\"")).collect()
    };
    let compaction = line("context.apply_compaction", r#""summary":"s","compactedCount":9"#);
    let nameless = user("b").replace(r#""agentId":"main","#, "");
    let lines =
        [vec![user("a")], other([reply("no", &["c"]), vec![compaction]].concat()), vec![nameless]];
    assert_eq!(said(&lines.concat()), ["a", "b"]);
    // In a file of its own, the other agent reads them.
    assert_eq!(said(&other(lines.concat())), ["s", "b"]);
}

#[test]
fn an_undo_takes_requests_back_but_not_those_before_a_compaction() {
    let undo = |count: u32| line("context.undo", &format!(r#""count":{count}"#));
    let turns = [vec![user("a")], reply("b", &[]), vec![end("b"), user("c")], reply("d", &[])];
    let turns = turns.concat();
    let after = |more: &[String]| said(&[&turns[..], more].concat());
    assert_eq!(after(&[undo(1)]), ["a", "b"]);
    assert_eq!(after(&[undo(2)]), [""; 0]);
    assert_eq!(after(&[undo(3)]).len(), 4, "there are not three");
    let compaction = line("context.apply_compaction", r#""summary":"s","compactedCount":9"#);
    assert_eq!(after(&[compaction.clone(), user("e"), undo(1)]), ["s"]);
    assert_eq!(after(&[compaction, user("e"), undo(2)]), ["s", "e"]);
    let gone = outside(&[&turns[..], &[undo(1)]].concat());
    assert_eq!((gone[4], gone[6]), (Some(Outside::DeadBranch), Some(Outside::DeadBranch)));
    assert_eq!(after(&[line("context.clear", r#""x":1"#), user("new")]), ["new"]);
}

/// A newer undo begins a branch. What the agent added about the session as a whole stays.
#[test]
fn a_branch_continues_where_the_user_went_back_to() {
    let shared = message("user", "today", r#","origin":{"kind":"injection"}"#);
    let owned = message("user", "for c", r#","origin":{"kind":"injection","ownerPromptId":"c"}"#);
    let switch = |base: &str, at: u32| {
        line(
            "agent.switched",
            &format!(
                r#""branch":"b1","base":{{"branch":"{base}","line":{at}}},"legacyUndoLine":8"#
            ),
        )
    };
    let asked = message("user", "c", r#","id":"c""#);
    let lines = |switch: String| {
        let undo = line("context.undo", r#""count":1"#);
        let undone = line("context.undone", r#""turns":1"#);
        let first = vec![user("a"), owned.clone(), asked.clone(), shared.clone(), user("d")];
        [first, vec![switch, undo, undone, user("e")]].concat()
    };
    assert_eq!(said(&lines(switch("main", 2))), ["a", "today", "e"]);
    assert_eq!(said(&lines(switch("main", 4))), ["a", "for c", "c", "today", "e"]);
    assert_eq!(flaws(&lines(switch("?", 2))), [(7, "missing-parent")]);
    assert_eq!(flaws(&lines(switch("b1", 2))), [(7, "missing-parent")]);
    // No line has such a number, so the undo of older versions counts, too.
    let nowhere = switch("main", 4).replace(r#"Line":8"#, r#"Line":-1e300"#);
    assert_eq!(said(&lines(nowhere)), ["a", "e"]);
}

#[test]
fn a_compaction_keeps_messages_by_number_or_the_requests() {
    let turns = [vec![user("a")], reply("b", &["x"]), vec![result("x", "y"), end("b"), user("c")]];
    let turns = turns.concat();
    let after = |rest: &str| {
        let line = line(
            "context.apply_compaction",
            &format!(r#""summary":"s","contextSummary":"all s",{rest}"#),
        );
        said(&[&turns[..], &[line, user("new")]].concat())
    };
    let tail = ["all s", "b|ls|{\"p\":1}", "y", "c", "new"];
    assert_eq!(after(r#""compactedCount":1"#), tail);
    assert_eq!(after(r#""compactedCount":1,"keptUserMessageCount":2,"legacyTail":true"#), tail);
    assert_eq!(after(r#""count":4"#), ["all s", "new"]);
    assert_eq!(after(r#""compactedCount":-1"#), ["all s", "c", "new"]);
    assert_eq!(after(r#""compactedCount":1,"keptUserMessageCount":2"#), ["a", "c", "all s", "new"]);
    assert_eq!(after(r#""compactedCount":1,"legacyTail":false"#), ["a", "c", "all s", "new"]);
    // The agent skips a line in which a number is not a number.
    assert_eq!(after(r#""compactedCount":1,"tokensBefore":null"#).len(), 5);
    let text = line("context.apply_compaction", r#""summary":"s","contextSummary":"all s""#);
    assert_eq!(Kimi.summary_text(&object(&text)).as_deref(), Some("s"));
}

/// The agent's own compaction keeps at most 20,000 tokens of the user's words.
#[test]
fn very_long_requests_are_kept_in_part() {
    let compaction = line(
        "context.apply_compaction",
        r#""summary":"s","compactedCount":1,"keptUserMessageCount":1"#,
    );
    let long = "x".repeat(4 * 30_000);
    let lines = [user("first"), user(&long), user("last"), compaction.clone()];
    let lengths: Vec<usize> = said(&lines).iter().map(String::len).collect();
    // The role counts as a token, and so does each short message.
    let (head, tail) = (4 * (2_000 - 3), 4 * (18_000 - 2));
    assert_eq!(lengths, [5, tail + 1 + head, 4, 1]);
    // Of a non-ASCII text, each character counts as a token.
    let lines = [user(&"é".repeat(30_000)), user("last"), compaction];
    assert_eq!(said(&lines)[0].chars().count(), 1 + 18_000 - 2 + 2_000);
}

#[test]
fn what_the_agent_does_not_read_is_told() {
    let broken = [user("a"), "{".to_owned(), user("b")];
    assert_eq!(flaws(&broken), [(3, "cut-off")]);
    assert_eq!(said(&broken), ["a"]);
    let none = line("context.apply_compaction", r#""compactedCount":1"#);
    assert_eq!(flaws(&[none]), [(2, "compaction-not-read")]);
    for header in [r#"{"type":"metadata","protocol_version":"1.5"}"#, &HEADER.replace("1.5", "0.9")]
    {
        let object = object(header);
        let mut view = Kimi.view_builder();
        view.push(0, &object);
        let flaws = view.view().flaws;
        let edits = Kimi.repaired(&object, &flaws[0], &[]).of_object(&object);
        assert_eq!(flaws[0].rule, "bad-header");
        assert!(edits.contains(r#""protocol_version":"1.5""#) && edits.contains("created_at"));
    }
}

#[test]
fn the_counts_that_the_agent_relies_on_get_smaller() {
    let usage = end("s").replace(
        r#""end_turn""#,
        r#""end_turn","usage":{"inputOther":3,"inputCacheRead":400,"inputCacheCreation":50,"output":7}"#,
    );
    let read = Kimi.usage(&object(&usage)).expect("recorded");
    assert_eq!((read.prompt, read.output), (453, 7));
    let less = Kimi.lessened(&object(&usage), 100).of_object(&object(&usage));
    let less = Kimi.usage(&object(&less)).expect("recorded");
    assert_eq!((less.prompt, less.output), (100, 7));
    let count =
        |tokens: u32| line("token_counting.measured", &format!(r#""length":3,"tokens":{tokens}"#));
    let line = count(460);
    let object = object(&line);
    assert_eq!(Kimi.lessened(&object, 100).of_object(&object), count(100));
    assert!(Kimi.lessened(&object, 1000).is_empty());
    let request = r#"{"type":"llm.request","model":"kimi-k3"}"#;
    assert_eq!(Kimi.model(&self::object(request)).as_deref(), Some("kimi-k3"));
}

#[test]
fn media_are_read_and_bad_ones_are_told() {
    let image = |url: &str| {
        user("x").replace(
            r#"{"type":"text","text":"x"}"#,
            &format!(r#"{{"type":"image_url","imageUrl":{{"url":"{url}"}}}}"#),
        )
    };
    for (url, is_bad) in [
        ("data:image/png;base64,iVBORw0KGgo=", false),
        ("blobref:image/png;0a1b", false),
        ("/tmp/a.png", true),
    ] {
        let line = image(url);
        let outline = Kimi.outline(&object(&line)).expect("a message");
        assert_eq!(outline.content.is_some(), is_bad, "{url}");
        let message = Kimi.message(&object(&line)).expect("a message").into_owned();
        assert!(matches!(&message.parts[..], [Part::Media(media)] if media.kind == "image_url"));
    }
}
