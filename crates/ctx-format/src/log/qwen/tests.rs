//! Tests how lines are recognized, read and sent.

use crate::dialect::{ALL, Dialect, Qwen, Sniff, Wrapped};
use crate::repair::{NewResult, RecordChange};
use crate::{
    Bond, Effect, GoodFor, Log, Object, Options, Part, Records, Remedy, Role, Usage, json,
};

fn object(text: &str) -> Object<'_> {
    Object::parse(text).expect("an object")
}

/// A line with this uuid, the uuid of its parent (empty if it has none), and other members.
fn line(id: &str, parent: &str, rest: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { json::quoted(parent) };
    format!(r#"{{"uuid":"{id}","parentUuid":{parent},"sessionId":"s","cwd":"/w",{rest}}}"#)
}

fn said(id: &str, parent: &str, role: &str, parts: &str) -> String {
    let kind = if role == "model" { "assistant" } else { "user" };
    line(id, parent, &format!(r#""type":"{kind}","message":{{"role":"{role}","parts":[{parts}]}}"#))
}

fn user(id: &str, parent: &str, text: &str) -> String {
    said(id, parent, "user", &format!(r#"{{"text":"{text}"}}"#))
}

fn model(id: &str, parent: &str, text: &str) -> String {
    said(id, parent, "model", &format!(r#"{{"text":"{text}"}}"#))
}

fn system(id: &str, parent: &str, subtype: &str, payload: &str) -> String {
    line(id, parent, &format!(r#""type":"system","subtype":"{subtype}","systemPayload":{payload}"#))
}

fn compaction(id: &str, parent: &str, history: &str) -> String {
    system(id, parent, "chat_compression", &format!(r#"{{"compressedHistory":[{history}]}}"#))
}

const SUMMARY: &str = r#"{"role":"user","parts":[{"text":"<state_snapshot>\nwhat was\n</state_snapshot>\n\nResume the prior task, please."}]}"#;
const ANSWER: &str =
    r#"{"role":"model","parts":[{"text":"Got it. Thanks for the additional context!"}]}"#;

/// What the client sends of a session, and what is wrong with it.
struct Read {
    /// The texts, each with the number of its message.
    sent: Vec<(u64, String)>,
    /// The flaws, each as the number of its line and the name of a rule.
    flaws: Vec<(u64, &'static str)>,
}

fn read(lines: &[String]) -> Read {
    let text = lines.join("\n");
    let options = Options { dialect: Some(&Qwen), ..Options::default() };
    let mut records = Records::open(text.as_bytes(), &options).expect("from memory");
    let mut sent = Vec::new();
    while let Some(record) = records.next().expect("from memory") {
        let Some(message) = record.message(Some(&Qwen)) else { continue };
        let fragment = record.in_context().and_then(|(_, fragment)| fragment);
        let number = fragment.expect("a message").message;
        sent.push((number, message.texts().join("|")));
    }
    sent.sort();
    let flaws = records.flaws().iter().map(|(line, flaw)| (*line, flaw.rule));
    Read { sent, flaws: flaws.collect() }
}

fn sent(lines: &[String]) -> Vec<String> {
    read(lines).sent.into_iter().map(|(_, text)| text).collect()
}

fn flaws(lines: &[String]) -> Vec<(u64, &'static str)> {
    read(lines).flaws
}

#[test]
fn its_lines_and_those_of_other_agents_are_told_apart() {
    for own in [
        user("a", "", "x"),
        line("a", "b", r#""type":"tool_result","message":{"role":"user","parts":[]}"#),
        system("a", "b", "ui_telemetry", "{}"),
        line("a", "b", r#""type":"system","subtype":"rewind","provenance":"system""#),
    ] {
        for dialect in ALL {
            let expected = if dialect.name() == "qwen" { Sniff::Yes } else { Sniff::No };
            assert_eq!(dialect.sniff(&object(&own)), expected, "{} {own}", dialect.name());
        }
    }
    let claude = line("a", "b", r#""type":"user","message":{"role":"user","content":"x"}"#);
    assert_eq!(Qwen.sniff(&object(&claude)), Sniff::No);
}

#[test]
fn parts_become_texts_calls_and_results() {
    let reply = said(
        "a",
        "",
        "model",
        r#"{"text":"hm","thought":true},{"text":"so"},{"functionCall":{"id":"1","name":"ls","args":{"p": 1}}}"#,
    );
    let record = object(&reply);
    let outline = Qwen.outline(&record).expect("a message");
    assert_eq!((outline.role, outline.begins_turn), (Role::Assistant, false));
    assert_eq!(outline.calls, ["1"]);
    let message = Qwen.message(&record).expect("a message");
    assert_eq!(message.parts[0], Part::Reasoning("hm".into()));
    assert_eq!(message.parts[1], Part::Text("so".into()));
    let [cut] = &message.reasoning[..] else { panic!("one thought") };
    assert_eq!(&reply[cut.clone()], r#"{"text":"hm","thought":true},"#);
    let call = message.calls().next().expect("a call");
    assert_eq!((&*call.name, &*call.arguments), ("ls", "{\"p\": 1}"));
    let result = said(
        "b",
        "a",
        "user",
        r#"{"functionResponse":{"id":"1","name":"ls","response":{"error":"no"}}}"#,
    );
    let outline = Qwen.outline(&object(&result)).expect("a message");
    assert_eq!((outline.results, outline.has_content), (vec!["1".into()], false));
    assert!(!outline.begins_turn);
    let record = object(&result);
    let message = Qwen.message(&record).expect("a message");
    let result = message.results().next().expect("a result");
    assert!(result.is_error);
    assert_eq!(result.text().as_deref(), Some("no"));
}

#[test]
fn what_programs_write_is_not_the_users() {
    let added = |text: &str| {
        let record = object(text);
        let message = Qwen.message(&record).expect("a message");
        let begins = Qwen.outline(&record).expect("a message").begins_turn;
        let held = Qwen.held(&record);
        assert_eq!(
            (held[0].message.added.clone(), held[0].begins_turn),
            (message.added.clone(), begins)
        );
        (message.added, begins)
    };
    let of_program = |subtype: &str| {
        let kind = format!(r#""subtype":"{subtype}","type""#);
        added(&user("a", "", "x").replacen(r#""type""#, &kind, 1))
    };
    for subtype in ["notification", "cron", "goal_runtime"] {
        assert_eq!(of_program(subtype), (0..1, false), "{subtype}");
    }
    assert_eq!(of_program("mid_turn_user_message"), (0..0, true));
    let files = r#"{"text":"ask"},{"text":"\n--- Content from referenced files ---"},{"text":"x"},{"text":"\n--- End of content ---"}"#;
    assert_eq!(added(&said("a", "", "user", files)), (1..4, true));
    let hook =
        r#"{"text":"<qwen:user-prompt-submit-context>\nx\n</qwen:user-prompt-submit-context>"}"#;
    assert_eq!(added(&said("a", "", "user", &format!(r#"{{"text":"ask"}},{hook}"#))), (1..2, true));
    assert_eq!(added(&said("a", "", "user", &format!("{files},{hook}"))), (1..5, true));
}

#[test]
fn the_path_leads_from_the_last_line_to_the_root() {
    let mut lines = vec![
        user("a", "", "ask"),
        system("b", "a", "ui_telemetry", "{}"),
        model("c", "b", "gone"),
        user("d", "c", "gone"),
        system("e", "b", "rewind", "{}"),
        model("f", "e", "said"),
        system("g", "?", "session_artifact_event", "{}"),
    ];
    assert_eq!((sent(&lines), flaws(&lines)), (vec!["ask".to_owned(), "said".to_owned()], vec![]));
    lines.push(line("h", "f", r#""type":"user","subtype":"realtime_message","message":{"role":"user","parts":[{"text":"x"}]}"#));
    lines.push(line("", "f", r#""type":"user","message":{"role":"user","parts":[{"text":"x"}]}"#));
    lines.push(line(
        "i",
        "f",
        r#""type":"progress","message":{"role":"user","parts":[{"text":"x"}]}"#,
    ));
    assert_eq!(sent(&lines), ["ask", "said"]);
}

#[test]
fn lines_with_the_same_uuid_are_one_message() {
    let lines = [
        model("a", "", "one"),
        user("b", "a", "ask"),
        model("a", "?", "two"),
        user("c", "b", "end"),
    ];
    let read = read(&lines);
    let numbers: Vec<u64> = read.sent.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, [0, 0, 1, 2]);
    assert_eq!(read.sent[1].1, "two");
    assert_eq!(read.flaws, [(3, "repeated-id")]);
    // Together, these lines are not an empty message.
    let again =
        |id, parent, parts| [said(id, parent, "model", ""), said(id, parent, "model", parts)];
    let [empty, full] = again("b", "a", r#"{"text":"so"}"#);
    assert_eq!(sent(&[user("a", "", "ask"), empty.clone(), full]), ["ask", "", "so"]);
    assert_eq!(sent(&[user("a", "", "ask"), empty.clone(), empty]), ["ask"]);
}

#[test]
fn a_compaction_replaces_all_messages_above_it() {
    let user_said = r#"{"role":"user","parts":[{"text":"kept"}]}"#;
    let lines = [
        user("a", "", "ask"),
        compaction("b", "a", &format!("{SUMMARY},{ANSWER},{user_said}")),
        model("c", "b", "so"),
    ];
    let record = object(&lines[1]);
    let outline = Qwen.outline(&record).expect("a message");
    assert_eq!((outline.role, outline.is_summary, outline.begins_turn), (Role::Other, true, false));
    assert_eq!(Qwen.summary_text(&record), None, "a message follows the summary");
    let held = Qwen.held(&record);
    let held: Vec<_> =
        held.iter().map(|it| (it.message.role, it.summary.as_deref(), it.begins_turn)).collect();
    let expected = [
        (Role::User, Some("what was"), false),
        (Role::Assistant, None, false),
        (Role::User, None, true),
    ];
    assert_eq!(held, expected);
    let texts = sent(&lines);
    assert_eq!(texts.len(), 2);
    assert!(texts[0].ends_with("|kept"), "{texts:?}");
    let alone = compaction("b", "a", &format!("{SUMMARY},{ANSWER}"));
    let alone = object(&alone);
    assert_eq!(Qwen.summary_text(&alone).as_deref(), Some("what was"));
    assert_eq!(Qwen.outline(&alone).expect("a message").role, Role::User);
    // Such a compaction only removes old results.
    let shorter = compaction("b", "a", user_said);
    let outline = Qwen.outline(&object(&shorter)).expect("a message");
    assert_eq!((outline.is_summary, outline.begins_turn), (false, true));
    assert_eq!(sent(&[user("a", "", "ask"), compaction("b", "a", ""), user("c", "b", "x")]), ["x"]);
}

/// The client adds files to a summary, and keeps a call that still waits for its result.
#[test]
fn what_the_client_adds_to_a_summary_is_not_the_users() {
    let file = r#"{"role":"user","parts":[{"text":"Recently accessed file (full current content embedded):\n"},{"text":"x"}]}"#;
    let call = r#"{"role":"model","parts":[{"functionCall":{"id":"1","name":"ls","args":{}}},{"functionCall":{"id":"2","name":"ls","args":{}}}]}"#;
    let result = r#"{"role":"user","parts":[{"functionResponse":{"id":"1","name":"ls","response":{"output":"x"}}}]}"#;
    let text = compaction("b", "", &[SUMMARY, ANSWER, file, call, result].join(","));
    let record = object(&text);
    let held = Qwen.held(&record);
    assert_eq!((held[2].message.added.clone(), held[2].begins_turn), (0..2, false));
    let outline = Qwen.outline(&record).expect("a message");
    assert_eq!((outline.calls, outline.results), (vec!["2".into()], vec![]));
}

#[test]
fn a_command_of_the_client_takes_back_its_message() {
    let lines = |payload: &str| {
        let command = system("b", "a", "slash_command", payload);
        sent(&[user("z", "", "ask"), user("a", "z", "/about"), command, user("c", "b", "on")])
    };
    let shown = r#""outputHistoryItems":[{"type":"assistant"}]"#;
    let payload = format!(r#"{{"phase":"result","rawCommand":"/about",{shown}}}"#);
    assert_eq!(lines(&payload), ["ask", "on"]);
    for other in [
        payload.replace("result", "invocation"),
        payload.replace("/about", "/help"),
        payload.replace(r#""assistant""#, r#""info""#),
        payload.replace(r#"{"type":"assistant"}"#, ""),
        payload.replacen('{', r#"{"sentToModel":true,"#, 1),
    ] {
        assert_eq!(lines(&other), ["ask", "/about", "on"], "{other}");
    }
}

#[test]
fn a_series_of_replies_with_an_empty_part_is_not_sent() {
    let empty = said("c", "b", "model", r#"{"text":""}"#);
    let mut lines = vec![
        user("a", "", "ask"),
        model("b", "a", "so"),
        empty,
        user("d", "c", "on"),
        model("e", "d", "(request timeout)"),
        said("f", "e", "user", ""),
    ];
    assert_eq!(sent(&lines), ["ask", "on"]);
    lines[2] = said("c", "b", "model", r#"{"text":"","thoughtSignature":"x"}"#);
    assert_eq!(sent(&lines), ["ask", "so", "", "on"]);
    // The client adds a result, which ends the series.
    lines[1] = said("b", "a", "model", r#"{"functionCall":{"id":"1","name":"ls","args":{}}}"#);
    lines[2] = said("c", "b", "model", "");
    assert_eq!(sent(&lines), ["ask", "ls|{}", "on"]);
    // In a compaction, the other messages stay.
    let void = r#"{"role":"model","parts":[]}"#;
    let user_said = r#"{"role":"user","parts":[{"text":"kept"}]}"#;
    let lines = [compaction("a", "", &format!("{user_said},{void},{user_said}"))];
    assert_eq!(sent(&lines), ["kept|kept"]);
    let text = lines.join("\n");
    let mut records = Records::open(text.as_bytes(), &Options::default()).expect("from memory");
    let record = records.next().expect("from memory").expect("a record");
    let inside = record.portion.as_ref().expect("not all of it").inside();
    assert_eq!(inside, [(0, 0), (2, 0)]);
}

#[test]
fn what_the_client_loses_or_refuses_is_named() {
    let lines = [user("a", "", "ask"), model("b", "a", "so"), user("c", "b", "on")];
    let with = |at: usize, text: String| {
        let mut lines = lines.clone();
        lines[at] = text;
        flaws(&lines)
    };
    assert_eq!(flaws(&lines), []);
    assert_eq!(with(2, user("c", "?", "on")), [(3, "missing-parent")]);
    assert_eq!(with(1, model("b", "c", "so")), [(2, "parent-loop")]);
    assert_eq!(with(1, model("b", "a", "so").replace(r#""s""#, r#""t""#)), [(2, "other-session")]);
    assert_eq!(with(0, user("a", "", "ask").replace(r#""cwd":"/w","#, "")), [(1, "no-header")]);
    assert_eq!(with(0, r#"{"x":1}"#.to_owned()), [(1, "no-header")]);
    let off = [user("a", "", "ask"), compaction("b", "a", SUMMARY), user("c", "a", "on")];
    assert_eq!(flaws(&off), [(2, "boundary-off-path")]);
    let two = format!("{}{}", model("b", "a", "so"), user("c", "b", "on"));
    assert_eq!(sent(&[user("a", "", "ask"), two, user("d", "c", "end")]), ["ask", "so", "end"]);
}

#[test]
fn the_remedies_make_the_client_load_the_file() {
    let remedy = |lines: &[String]| {
        let text = lines.join("\n");
        let options = Options { dialect: Some(&Qwen), ..Options::default() };
        let mut records = Records::open(text.as_bytes(), &options).expect("from memory");
        while records.next().expect("from memory").is_some() {}
        let (_, flaw) = records.flaws()[0].clone();
        assert!(flaw.effect.is_problem() || flaw.effect == Effect::Harmless);
        flaw.remedy
    };
    let other = user("b", "a", "x").replace(r#""s""#, r#""t""#);
    let link = remedy(&[user("a", "", "x"), other]);
    assert_eq!(link, Some(Remedy::Link { key: "sessionId", to: 0, of: "sessionId" }));
    let bare = user("a", "", "x").replace(r#""cwd":"/w","#, "");
    let link = remedy(&[bare.clone(), user("b", "a", "x")]);
    assert_eq!(link, Some(Remedy::Link { key: "cwd", to: 1, of: "cwd" }));
    assert_eq!(remedy(&[bare]), None);
}

#[test]
fn what_cannot_be_read_is_named() {
    let why = |text: &str| Qwen.unread(&object(text)).map(|unread| unread.why);
    assert_eq!(why(&user("a", "", "x")), None);
    let system = said("a", "", "system", r#"{"text":"x"}"#);
    assert_eq!(why(&system).as_deref(), Some(r#"the dialect qwen has no role "system""#));
    for part in ["\"x\"", "null", r#"{"novel":1}"#] {
        assert!(why(&said("a", "", "user", part)).is_some(), "{part}");
    }
    for history in ["7", r#"{"role":"tool","parts":[]}"#] {
        assert!(why(&compaction("a", "", history)).is_some(), "{history}");
    }
    let list = compaction("a", "", "").replace("[]", r#"{"a":1}"#);
    assert!(why(&list).is_some());
    assert_eq!(why(&list.replace(r#"{"a":1}"#, "null")), None);
}

#[test]
fn counts_are_those_of_replies() {
    let text = line(
        "a",
        "",
        r#""type":"assistant","model":"m","message":{"role":"model","parts":[]},"usageMetadata":{"promptTokenCount":90,"candidatesTokenCount":2,"totalTokenCount":97,"cachedContentTokenCount":80},"contextWindowSize":1000"#,
    );
    let record = object(&text);
    let usage = Qwen.usage(&record).expect("counts");
    assert_eq!(usage, Usage { window: Some(1000), ..Usage::new(90, 7).expect("counts") });
    assert_eq!(Qwen.model(&record).as_deref(), Some("m"));
    let less = Qwen.lessened(&record, 30).of_object(&record);
    let expected = r#"{"promptTokenCount":30,"candidatesTokenCount":2,"totalTokenCount":37,"cachedContentTokenCount":20}"#;
    assert!(less.contains(expected), "{less}");
    assert!(Qwen.lessened(&record, 90).is_empty());
}

#[test]
fn lines_name_the_session_its_folder_and_its_title() {
    let about = |text: &str| {
        let text = text.to_owned();
        let record = object(&text);
        let about = Qwen.about(&record);
        [about.session, about.folder, about.name, about.title].map(|it| it.map(String::from))
    };
    let some = |text: &str| Some(text.to_owned());
    let titled = |source: &str| {
        system("a", "", "custom_title", &format!(r#"{{"customTitle":"T"{source}}}"#))
    };
    assert_eq!(about(&titled("")), [some("s"), some("/w"), some("T"), None]);
    assert_eq!(
        about(&titled(r#","titleSource":"auto""#)),
        [some("s"), some("/w"), None, some("T")]
    );
}

#[test]
fn lines_are_linked_by_their_parents() {
    let text = user("a", "b", "x");
    let record = object(&text);
    let links = Qwen.links(&record);
    assert_eq!((links.id.as_deref(), links.parent(), links.stays), (Some("a"), Some("b"), false));
    assert!(links.names.iter().all(|link| link.bond == Bond::Parent));
    let session = links.session.expect("a session");
    assert_eq!(&text[session], "\"s\"");
    let good_for = |subtype: &str| {
        let text = system("a", "b", subtype, "{}");
        let links = Qwen.links(&object(&text));
        (links.good_for, links.stays)
    };
    assert_eq!(good_for("ui_telemetry"), (Some(GoodFor::Progress), false));
    assert_eq!(good_for("file_history_snapshot"), (Some(GoodFor::FileHistory), false));
    assert_eq!(good_for("rewind"), (None, true), "it undoes messages");
}

#[test]
fn a_result_is_shown_in_a_copy() {
    let text = line(
        "a",
        "",
        r#""type":"tool_result","message":{"role":"user","parts":[]},"toolCallResult":{"callId":"1","resultDisplay":"x","status":"success"}"#,
    );
    let record = object(&text);
    let [copy] = &Qwen.second_copies(&record)[..] else { panic!("one copy") };
    assert_eq!(&text[copy.cut.clone()], r#""resultDisplay":"x","#);
    assert_eq!(&text[copy.of.clone()], r#"{"role":"user","parts":[]}"#);
    let wrapped = Wrapped {
        sent: vec!["[]"],
        copies: vec![r#"{"callId":"1","resultDisplay":"x","status":"success"}"#],
    };
    assert_eq!(Qwen.wrapped(&record), wrapped);
}

#[test]
fn results_are_made_moved_and_renamed() {
    let reply =
        said("a", "", "model", r#"{"text":"x"},{"functionCall":{"id":"1","name":"ls","args":{}}}"#);
    let new = NewResult { id: "1", call: object(&reply), found: None };
    let made = Qwen.new_result(&new).expect("a result");
    let outline = Qwen.outline(&object(&made)).expect("a message");
    assert_eq!((outline.role, outline.results), (Role::User, vec!["1".into()]));
    assert!(made.contains(r#""type":"tool_result""#) && made.contains(r#""name":"ls""#), "{made}");
    let both = said(
        "b",
        "a",
        "user",
        r#"{"functionResponse":{"id":"1","name":"ls","response":{"output":"one"}}},{"functionResponse":{"id":"2","name":"ls","response":{"output":"two"}}},{"text":"on"}"#,
    );
    let found = Some((object(&both), 1));
    let moved = Qwen.new_result(&NewResult { id: "3", call: object(&reply), found });
    let moved = moved.expect("a result");
    assert!(
        moved.contains(
            r#""parts":[{"functionResponse":{"id":"3","name":"ls","response":{"output":"two"}}}]"#
        ),
        "{moved}"
    );
    let change = RecordChange {
        without: vec![0],
        rename_results: [(1, "4".to_owned())].into(),
        ..RecordChange::default()
    };
    let changed = Qwen.changed(&object(&both), &change, Vec::new());
    assert!(changed.contains(r#""parts":[{"functionResponse":{"id":"4","name":"ls","response":{"output":"two"}}},{"text":"on"}]"#), "{changed}");
    let change =
        RecordChange { rename_calls: [(0, "5".to_owned())].into(), ..RecordChange::default() };
    assert!(
        Qwen.changed(&object(&reply), &change, Vec::new()).contains(r#"{"id":"5","name":"ls""#)
    );
    let asked = Qwen.said_by_user("hi", &object(&reply));
    assert_eq!(Qwen.outline(&object(&asked)).map(|it| it.begins_turn), Some(true));
}
