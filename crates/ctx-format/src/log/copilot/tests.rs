//! Tests which events are sent, and as what. The expected values are what version 1.0.102 sends.

use super::Copilot;
use crate::log::{Effect, Log, Remedy};
use crate::view::{Outside, Presence};
use crate::{Dialect, Message, Object, Options, Part, Records, Role, UsageOf};

/// Writes one event per line. The first is the header.
fn session(events: &[(&str, &str)]) -> String {
    let header = r#"{"sessionId":"s","version":1,"producer":"copilot-agent","copilotVersion":"1.0.102","startTime":"2026-01-01T00:00:00.000Z","selectedModel":"gpt-5","context":{"cwd":"/work"}}"#;
    let all = [("session.start", header)].into_iter().chain(events.iter().copied());
    let lines = all.enumerate().map(|(number, (kind, data))| event(number, kind, data));
    lines.map(|line| line + "\n").collect()
}

fn event(number: usize, kind: &str, data: &str) -> String {
    let id = format!("00000000-0000-4000-8000-{number:012}");
    format!(
        r#"{{"type":"{kind}","data":{data},"id":"{id}","timestamp":"2026-01-01T00:00:00.000Z","parentId":null}}"#
    )
}

fn user(text: &str) -> (&'static str, String) {
    ("user.message", format!(r#"{{"content":"{text}"}}"#))
}

fn reply(text: &str, calls: &[&str]) -> (&'static str, String) {
    let call = |id: &&str| format!(r#"{{"toolCallId":"{id}","name":"ls","arguments":{{}}}}"#);
    let calls: Vec<String> = calls.iter().map(call).collect();
    let calls = calls.join(",");
    (
        "assistant.message",
        format!(r#"{{"messageId":"m","content":"{text}","toolRequests":[{calls}]}}"#),
    )
}

fn result(id: &str, text: &str) -> (&'static str, String) {
    (
        "tool.execution_complete",
        format!(r#"{{"toolCallId":"{id}","success":true,"result":{{"content":"{text}"}}}}"#),
    )
}

fn compaction(summary: &str) -> (&'static str, String) {
    ("session.compaction_complete", format!(r#"{{"success":true,"summaryContent":"{summary}"}}"#))
}

fn cleared() -> (&'static str, String) {
    ("session.context_cleared", r#"{"messagesCleared":1}"#.to_owned())
}

fn of(events: &[(&'static str, String)]) -> String {
    let events: Vec<(&str, &str)> = events.iter().map(|(kind, data)| (*kind, &**data)).collect();
    session(&events)
}

/// The messages in the context, in the order in which they are sent, and the flaws: the rule, the
/// effect, and whether there is a remedy.
fn read(text: &str) -> (Vec<Message<'static>>, Vec<(&'static str, Effect, bool)>) {
    let options = Options { dialect: Some(&Copilot), ..Options::default() };
    let mut records = Records::open(text.as_bytes(), &options).expect("from memory");
    let flaws = records.flaws().iter();
    let flaws = flaws.map(|(_, it)| (it.rule, it.effect, it.remedy.is_some())).collect();
    let mut sent = Vec::new();
    while let Some(record) = records.next().expect("from memory") {
        if let Some(Presence::Inside(fragment)) = record.presence {
            let message = record.message(Some(&Copilot)).expect("a message").into_owned();
            sent.push((fragment.message, message));
        }
    }
    sent.sort_by_key(|(place, _)| *place);
    (sent.into_iter().map(|(_, message)| message).collect(), flaws)
}

fn said(events: &[(&'static str, String)]) -> Vec<String> {
    read(&of(events)).0.iter().map(|message| message.texts().join("|")).collect()
}

#[test]
fn results_follow_their_reply_in_the_order_of_its_calls() {
    let events = [
        user("a"),
        reply("x", &["1", "2"]),
        user("b"),
        result("2", "two"),
        result("1", "one"),
        result("1", "again"),
        result("3", "of no call"),
        reply("y", &[]),
    ];
    assert_eq!(said(&events), ["a", "x|ls|{}|ls|{}", "one", "two", "b", "y"]);
    let flaws = read(&of(&events)).1;
    assert_eq!(flaws, [("orphan-result", Effect::Ignored, false); 2]);
}

#[test]
fn with_a_summary_the_users_words_and_the_last_skill_are_sent_again() {
    let skill = |name: &str| {
        ("skill.invoked", format!(r#"{{"name":"{name}","path":"","content":"do {name}"}}"#))
    };
    let typed = ("user.message", r#"{"content":"a","transformedContent":"now: a"}"#.to_owned());
    let program = ("user.message", r#"{"content":"p","source":"schedule-1"}"#.to_owned());
    let agent = ("user.message", r#"{"content":"g","source":"agent-1"}"#.to_owned());
    let begin = [typed, skill("b"), skill("c"), program, agent, reply("x", &[])];
    let sent = [begin.to_vec(), vec![compaction("so far"), reply("y", &[])]].concat();
    assert_eq!(said(&sent), ["a", "g", "so far", "do c", "y"]);
    // A second compaction repeats the messages from before the first one, too.
    let twice = [sent, vec![user("d"), compaction("and on"), reply("z", &[])]].concat();
    assert_eq!(said(&twice), ["a", "g", "d", "and on", "do c", "z"]);
    let none = [twice, vec![cleared(), compaction("only this"), user("e")]].concat();
    assert_eq!(said(&none), ["only this", "e"]);
    // A compaction that failed, or that has no summary, changes nothing.
    let failed = ("session.compaction_complete", r#"{"success":false,"summaryContent":"s"}"#);
    let failed = [user("a"), (failed.0, failed.1.to_owned()), compaction(""), user("b")];
    assert_eq!(said(&failed), ["a", "b"]);
    assert_eq!(read(&of(&failed)).1, [("compaction-not-read", Effect::Ignored, false)]);
}

/// A tool clears the context while it runs. What the model says to the tool's result is omitted.
#[test]
fn after_a_clear_by_a_tool_the_session_begins_with_the_next_message() {
    let skill =
        || ("skill.context_delivered", r#"{"content":"how","source":"skill-x"}"#.to_owned());
    let by_tool = [reply("x", &["1"]), cleared(), reply("y", &[]), skill(), user("b"), skill()];
    assert_eq!(said(&by_tool), ["b", "how"]);
    let after_result = [reply("x", &["1"]), cleared(), result("1", "r"), reply("y", &[])];
    assert_eq!(said(&after_result), ["y"]);
    let aborted = ("abort", r#"{"reason":"user_initiated"}"#.to_owned());
    assert_eq!(said(&[reply("x", &["1"]), aborted, cleared(), reply("y", &[])]), ["y"]);
    // A call that waited when the context was cleared still waits when it is cleared again.
    let twice = [reply("x", &["1"]), cleared(), cleared(), reply("y", &[]), user("b")];
    assert_eq!(said(&twice), ["b"]);
}

#[test]
fn what_programs_add_is_not_the_users() {
    let shell = [
        (
            "tool.user_requested",
            r#"{"toolCallId":"u","toolName":"local_shell","arguments":{"command":"pwd"}}"#,
        ),
        (
            "tool.execution_complete",
            r#"{"toolCallId":"u","success":false,"isUserRequested":true,"error":{"message":"no"}}"#,
        ),
        ("system.notification", r#"{"content":"n","kind":{"type":"agent_idle"}}"#),
        ("system.notification", r#"{"content":"not sent","kind":{"type":"new"}}"#),
        ("session.mode_notice_delivered", r#"{"mode":"plan","content":"plan"}"#),
        ("user.message", r#"{"content":"go on","isAutopilotContinuation":true}"#),
        ("skill.invoked", r#"{"name":"s","path":"","content":"how"}"#),
        (
            "skill.context_delivered_ref",
            r#"{"contentId":"SKILL","prefix":"<","suffix":">","source":"skill-s"}"#,
        ),
        ("user.message", r#"{"content":"mine"}"#),
    ];
    let text = session(&shell).replace("SKILL", &super::view::content_id("how"));
    let (messages, flaws) = read(&text);
    assert_eq!(flaws, []);
    let all: Vec<_> = messages.iter().map(|it| (it.texts().join("|"), it.added.len())).collect();
    let shell = "<user_shell_command_output>\nThe user executed a shell command directly in their terminal (non-zero exit code).\n\nCommand:\npwd\n\nOutput:\nno\n</user_shell_command_output>";
    let expected = [(shell, 1), ("n", 1), ("plan", 1), ("go on", 1), ("<how>", 1), ("mine", 0)];
    assert_eq!(all, expected.map(|(text, added)| (text.to_owned(), added)));
    assert!(messages.iter().all(|it| it.role == Role::User));
}

#[test]
fn attached_files_are_named_and_images_sent() {
    let events = [(
        "user.message",
        r#"{"content":"a","transformedContent":"now: a","attachments":[{"type":"file","path":"/x","taggedFilesEntry":"* /x (3 lines)"},{"type":"selection","text":"no"},{"type":"blob","data":"aaaa","mimeType":"image/png","displayName":"b.png"},{"type":"file","path":"/c.png","assetId":"sha256:1","mimeType":"image/png"}]}"#.to_owned(),
    )];
    let (messages, _) = read(&of(&events));
    let [first, name, blob, path, file] = &*messages[0].parts else { panic!("five parts") };
    let tagged = "now: a\n\n\n\n<tagged_files>\n* /x (3 lines)\n</tagged_files>";
    let texts = [first, name, path].map(|part| part.text().expect("a text"));
    assert_eq!(texts, [tagged, "b.png", "Image file at path /c.png"]);
    assert!(matches!((blob, file), (Part::Media(_), Part::Media(_))));
}

#[test]
fn subagents_and_lines_that_cannot_be_read_are_passed_over() {
    let mut text = of(&[user("a"), user("b"), user("c")]);
    text = text.replace(r#""content":"b"}"#, r#""content":"b"},"agentId":"x""#);
    let two = [event(9, "user.message", r#"{"content":"d"}"#), "{}".to_owned()].concat();
    text = format!("\u{feff}{text}broken\n[1]\n{two}\n{{\"type\":\"user.mess");
    let (messages, flaws) = read(&text);
    let said: Vec<_> = messages.iter().map(|it| it.texts().join("|")).collect();
    assert_eq!((said, flaws), (vec!["a".to_owned(), "c".to_owned()], vec![]));
}

#[test]
fn an_event_that_the_agent_cannot_read_makes_it_refuse_the_file() {
    let text = of(&[user("a"), reply("x", &[])]);
    for (old, new, has_remedy) in [
        (r#""id":"00000000-0000-4000-8000-000000000001","#, "", true),
        (r#""id":"00000000-0000-4000-8000-000000000001","#, r#""id":"1","#, true),
        (r#""timestamp":"2026-01-01T00:00:00.000Z","#, r#""timestamp":"today","#, true),
        (r#","parentId":null"#, "", true),
        (r#""content":"a""#, r#""content":7"#, false),
        (r#""messageId":"m","#, "", false),
        (r#""version":1,"#, "", false),
    ] {
        let bad = text.replacen(old, new, 1);
        let flaws = read(&bad).1;
        assert!(flaws.contains(&("bad-event", Effect::Refused, has_remedy)), "{new}: {flaws:?}");
    }
    let (_, flaws) = read(text.split_once('\n').expect("lines").1);
    assert_eq!(flaws, [("no-header", Effect::Refused, true)]);
}

#[test]
fn missing_members_and_a_missing_header_are_supplied() {
    let text = of(&[user("a")]).replace(r#","parentId":null"#, "");
    let line = text.lines().nth(1).expect("a line").replace(r#""id":"0"#, r#""id":"x"#);
    let object = Object::parse(&line).expect("an object");
    let flaw = crate::Flaw::new(1, "bad-event", Effect::Refused, "");
    let repaired = Copilot.repaired(&object, &flaw, &[]).of_object(&object);
    let repaired = Object::parse(&repaired).expect("an object");
    assert_eq!(super::view::bad_members(&repaired), Vec::<&str>::new());
    assert!(repaired.text().contains(r#""content":"a""#));
    let headless = of(&[user("a")]);
    let headless = headless.split_once('\n').expect("lines").1;
    let options = Options { dialect: Some(&Copilot), ..Options::default() };
    let records = Records::open(headless.as_bytes(), &options).expect("from memory");
    let Some(Remedy::Before(header)) = &records.flaws()[0].1.remedy else { panic!("a header") };
    assert_eq!(read(&format!("{header}\n{headless}")).1, []);
}

/// Events that only describe what the agent did can be removed together with old messages.
#[test]
fn what_a_compaction_replaces_is_named() {
    let trace = ("tool.execution_start", r#"{"toolCallId":"1","toolName":"ls"}"#.to_owned());
    let mode = ("session.mode_changed", r#"{"mode":"plan"}"#.to_owned());
    let events = [user("a"), reply("x", &["1"]), trace.clone(), mode, compaction("s"), trace];
    let text = of(&events);
    let mut records = Records::open(text.as_bytes(), &Options::default()).expect("from memory");
    let mut outside = Vec::new();
    while let Some(record) = records.next().expect("from memory") {
        outside.push(match record.presence {
            Some(Presence::Outside(why)) => Some(why),
            _ => None,
        });
    }
    let (before, never) = (Some(Outside::BeforeCompaction), Some(Outside::NeverSent));
    assert_eq!(outside, [never, None, before, before, never, None, never]);
}

#[test]
fn the_user_denies_a_call_in_a_field_of_the_agent() {
    let denied = r#"{"toolCallId":"1","success":false,"error":{"message":"no","code":"denied"}}"#;
    let events = [user("a"), reply("", &["1"]), ("tool.execution_complete", denied.to_owned())];
    let (messages, _) = read(&of(&events));
    let result = messages[2].results().next().expect("a result");
    assert_eq!(
        (result.denial, result.is_error, result.text().as_deref()),
        (crate::Denial::Marked, true, Some("no"))
    );
}

#[test]
fn usage_precedes_its_reply_and_a_setting_names_the_model() {
    let usage = r#"{"usage":{"inputTokens":120,"outputTokens":3,"cacheReadTokens":100,"maxPromptTokens":168000}}"#;
    let line = event(1, "session.usage_record", usage);
    let usage = Copilot.usage(&Object::parse(&line).expect("an object")).expect("usage");
    assert_eq!(
        (usage.prompt, usage.output, usage.window, usage.of),
        (120, 3, Some(168_000), UsageOf::Next)
    );
    for (kind, data) in [
        ("session.model_change", r#"{"newModel":"gpt-5"}"#),
        ("session.start", r#"{"selectedModel":"gpt-5"}"#),
        ("assistant.message", r#"{"model":"gpt-5"}"#),
    ] {
        let line = event(1, kind, data);
        let object = Object::parse(&line).expect("an object");
        assert_eq!(Copilot.model(&object).as_deref(), Some("gpt-5"), "{kind}");
    }
    let text = of(&[]);
    let header = Object::parse(&text).expect("an object");
    let about = Copilot.about(&header);
    assert_eq!((about.session.as_deref(), about.folder.as_deref()), (Some("s"), Some("/work")));
}

#[test]
fn the_copy_for_the_screen_can_be_cut() {
    let data =
        r#"{"toolCallId":"1","success":true,"result":{"content":"x","detailedContent":"xx"}}"#;
    let line = event(1, "tool.execution_complete", data);
    let object = Object::parse(&line).expect("an object");
    let [copy] = &*Copilot.second_copies(&object) else { panic!("one copy") };
    assert_eq!(&line[copy.of.clone()], r#""x""#);
    assert!(line[copy.cut.clone()].contains("detailedContent"));
    assert_eq!(Copilot.wrapped(&object).copies, [r#""xx""#]);
}
