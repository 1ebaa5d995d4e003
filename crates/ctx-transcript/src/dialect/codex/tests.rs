//! Which lines of made-up sessions are in the context. What is expected is what the client
//! sends of such a file.

use super::Codex;
use crate::dialect::{ALL, Dialect, Sniff};
use crate::view::{Outside, Presence};
use crate::{Object, Options, Part, Records, Role};

/// The beginning of a summary that the client has made.
const SUMMARY: &str = "Another language model started to solve this problem: so far";

/// Lines of a session, each with the word by which the tests know it.
#[derive(Clone, Default)]
struct Lines(Vec<(String, String)>);

fn said(role: &str, text: &str) -> String {
    let kind = if role == "assistant" {
        "output_text"
    } else {
        "input_text"
    };
    format!(
        r#"{{"type":"message","role":"{role}","content":[{{"type":"{kind}","text":"{text}"}}]}}"#
    )
}

fn call(id: &str) -> String {
    format!(r#"{{"type":"function_call","name":"ls","arguments":"{{}}","call_id":"{id}"}}"#)
}

fn output(id: &str) -> String {
    format!(r#"{{"type":"function_call_output","call_id":"{id}","output":"x"}}"#)
}

impl Lines {
    fn line(mut self, word: &str, kind: &str, payload: &str) -> Self {
        let line = format!(
            r#"{{"timestamp":"2026-01-01T00:00:00.000Z","type":"{kind}","payload":{payload}}}"#
        );
        self.0.push((word.to_owned(), line));
        self
    }

    fn bare(mut self, word: &str, line: &str) -> Self {
        self.0.push((word.to_owned(), line.to_owned()));
        self
    }

    fn item(self, word: &str, payload: &str) -> Self {
        self.line(word, "response_item", payload)
    }

    fn event(self, word: &str, kind: &str, rest: &str) -> Self {
        let payload = format!(r#"{{"type":"{kind}"{rest}}}"#);
        self.line(word, "event_msg", &payload)
    }

    fn user(self, text: &str) -> Self {
        self.item(text, &said("user", text))
    }

    fn says(self, text: &str) -> Self {
        self.item(text, &said("assistant", text))
    }

    fn begins(self, turn: &str) -> Self {
        self.event("-", "task_started", &format!(r#","turn_id":"{turn}""#))
    }

    fn ends(self, turn: &str) -> Self {
        self.event("-", "task_complete", &format!(r#","turn_id":"{turn}""#))
    }

    /// A turn: what the user asks, and what the model says.
    fn turn(self, number: u32) -> Self {
        let id = format!("t{number}");
        let begun = self.begins(&id);
        let context = format!(r#"{{"turn_id":"{id}","model":"m"}}"#);
        let asked = begun
            .line("-", "turn_context", &context)
            .user(&format!("u{number}"));
        asked.says(&format!("a{number}")).ends(&id)
    }

    fn back(self, turns: &str) -> Self {
        self.event(
            "-",
            "thread_rolled_back",
            &format!(r#","num_turns":{turns}"#),
        )
    }

    /// A compaction with the items that it left.
    fn replaced(self, word: &str, items: &[String]) -> Self {
        let items = items.join(",");
        let payload = format!(r#"{{"message":"m","replacement_history":[{items}]}}"#);
        self.line(word, "compacted", &payload)
    }

    /// A compaction as in files of 2025.
    fn compacted(self, word: &str, summary: &str) -> Self {
        self.line(word, "compacted", &format!(r#"{{"message":"{summary}"}}"#))
    }

    fn presences(&self) -> Vec<Presence> {
        let lines: Vec<&str> = self.0.iter().map(|(_, line)| line.as_str()).collect();
        let text = lines.join("\n");
        let options = Options {
            dialect: Some(&Codex),
            ..Options::default()
        };
        let mut records = Records::open(text.as_bytes(), &options).expect("from memory");
        let mut presences = Vec::new();
        while let Some(record) = records.next().expect("from memory") {
            let presence = record.presence.expect("a log");
            let is_inside = matches!(presence, Presence::Inside(_));
            assert_eq!(record.message(Some(&Codex)).is_some(), is_inside);
            presences.push(presence);
        }
        presences
    }

    /// The messages of the context: the words of their lines.
    fn context(&self) -> String {
        let mut messages: Vec<Vec<&str>> = Vec::new();
        for ((word, _), presence) in self.0.iter().zip(self.presences()) {
            let Presence::Inside(fragment) = presence else {
                continue;
            };
            let at = usize::try_from(fragment.message).expect("a small number");
            messages.resize(messages.len().max(at + 1), Vec::new());
            messages[at].push(word);
        }
        let messages: Vec<String> = messages.iter().map(|words| words.join("+")).collect();
        messages.join(" ")
    }

    /// Why the line of that word is not in the context.
    fn outside(&self, word: &str) -> Option<Outside> {
        let place = self.0.iter().position(|(own, _)| own == word)?;
        match self.presences()[place] {
            Presence::Outside(why) => Some(why),
            Presence::Inside(_) => None,
        }
    }
}

/// The beginning of a session: what the client puts before the first request.
fn session() -> Lines {
    let meta = r#"{"id":"s","timestamp":"t","cwd":"/x","cli_version":"0.169.0"}"#;
    let environment = "<environment_context>/x</environment_context>";
    let begun = Lines::default().line("meta", "session_meta", meta);
    let begun = begun.item("dev", &said("developer", "<permissions instructions> x"));
    begun.item("env", &said("user", environment))
}

#[test]
fn its_lines_are_told_from_others() {
    let lines = session().turn(1).back("1").compacted("c", "s");
    let bare = lines
        .bare(
            "-",
            r#"{"id":"s","timestamp":"t","instructions":null,"git":{}}"#,
        )
        .bare("-", r#"{"record_type":"state"}"#);
    for (_, line) in &bare.0 {
        let object = Object::parse(line).expect("an object");
        for dialect in ALL {
            let is_own = dialect.name() == Codex.name();
            assert_eq!(dialect.sniff(&object) == Sniff::Yes, is_own, "{line}");
        }
    }
    for line in [
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}"#,
        r#"{"type":"compacted","summary":"x"}"#,
        r#"{"type":"event_msg"}"#,
        r#"{"id":"1","timestamp":"t"}"#,
    ] {
        let object = Object::parse(line).expect("an object");
        assert_eq!(Codex.sniff(&object), Sniff::No, "{line}");
    }
}

#[test]
fn items_are_sent_and_events_are_not() {
    let lines = session()
        .turn(1)
        .event("e", "agent_message", r#","message":"a1""#);
    let lines = lines
        .line("ws", "world_state", "{}")
        .line("new", "brand_new", "{}");
    assert_eq!(lines.context(), "dev env u1 a1");
    for word in ["meta", "e", "ws", "new"] {
        assert_eq!(lines.outside(word), Some(Outside::NeverSent), "{word}");
    }
}

#[test]
fn what_the_client_does_not_load_is_not_sent() {
    let lines = session()
        .item("unknown", r#"{"type":"brand_new"}"#)
        .item("trigger", r#"{"type":"compaction_trigger"}"#)
        .item("system", &said("system", "x"))
        .item(
            "untyped",
            r#"{"role":"user","content":[{"type":"input_text","text":"x"}]}"#,
        )
        .item("text", r#"{"type":"message","role":"user","content":"x"}"#)
        .item(
            "part",
            r#"{"type":"message","role":"user","content":[{"type":"text","text":"x"}]}"#,
        )
        .item(
            "object",
            r#"{"type":"function_call","name":"n","call_id":"c","arguments":{}}"#,
        )
        .item(
            "nameless",
            r#"{"type":"function_call","call_id":"c","arguments":"{}"}"#,
        )
        .item(
            "output",
            r#"{"type":"function_call_output","call_id":"c","output":{}}"#,
        )
        .item(
            "custom",
            r#"{"type":"custom_tool_call","call_id":"c","name":"n"}"#,
        )
        .item("reasoning", r#"{"type":"reasoning"}"#)
        .item(
            "summary",
            r#"{"type":"reasoning","summary":[{"type":"new","text":"x"}]}"#,
        )
        .item("id", r#"{"type":"reasoning","id":7,"summary":[]}"#)
        .item(
            "phase",
            r#"{"type":"message","role":"user","phase":"x","content":[]}"#,
        )
        .item(
            "image",
            r#"{"type":"message","role":"user","content":[{"type":"input_image"}]}"#,
        )
        .item(
            "shell",
            r#"{"type":"local_shell_call","call_id":"c","status":"x","action":{}}"#,
        )
        .item("search", r#"{"type":"tool_search_call","call_id":"c"}"#)
        .item("found", r#"{"type":"tool_search_output","call_id":"c"}"#)
        .item("drawn", r#"{"type":"image_generation_call","id":"c"}"#)
        .item("agent", r#"{"type":"agent_message"}"#)
        .item("sealed", r#"{"type":"compaction"}"#)
        .item("mcp", r#"{"type":"mcp_call","id":"m"}"#)
        .item(
            "part",
            r#"{"type":"function_call_output","call_id":"c","output":[{"type":"new"}]}"#,
        )
        .bare(
            "timeless",
            r#"{"type":"response_item","payload":{"type":"reasoning","summary":[]}}"#,
        )
        .bare("torn", r#"{"timestamp":"t","type":"respo"#)
        .user("u");
    assert_eq!(lines.context(), "dev env u");
}

#[test]
fn what_the_model_says_until_it_is_answered_is_one_reply() {
    let reasoning = r#"{"type":"reasoning","summary":[],"encrypted_content":"gA"}"#;
    let search = r#"{"type":"web_search_call","id":"w"}"#;
    let lines = Lines::default()
        .user("u")
        .item("r", reasoning)
        .item("w", search)
        .says("a")
        .item("c", &call("1"))
        .item("d", &call("2"))
        .event("-", "exec_command_end", "")
        .item("of_d", &output("2"))
        .item("of_c", &output("1"))
        .says("b");
    assert_eq!(lines.context(), "u r+w+a+c+d of_d of_c b");
}

#[test]
fn the_newest_turns_are_taken_back() {
    let three = || session().turn(1).turn(2).turn(3);
    assert_eq!(three().back("0").context(), "dev env u1 a1 u2 a2 u3 a3");
    let back = three().back("1").turn(4);
    assert_eq!(back.context(), "dev env u1 a1 u2 a2 u4 a4");
    assert_eq!(back.outside("u3"), Some(Outside::DeadBranch));
    assert_eq!(three().back("1").back("1").context(), "dev env u1 a1");
    // What stands before the first turn stays.
    assert_eq!(three().back("9").context(), "dev env");
    // A number that is none takes nothing back.
    for none in ["\"1\"", "-1", "null", "4294967296"] {
        let context = three().back(none).context();
        assert_eq!(context, "dev env u1 a1 u2 a2 u3 a3", "{none}");
    }
}

#[test]
fn what_the_client_put_before_a_turn_goes_with_it() {
    let shell = "<user_shell_command> ls </user_shell_command>";
    let before = session().turn(1).item("shell", &said("user", shell));
    let before = before.item("set", &said("developer", "<MODEL_SWITCH> x"));
    assert_eq!(before.turn(2).back("1").context(), "dev env u1 a1");
    let told = session()
        .turn(1)
        .item("told", &said("developer", "be quick"));
    assert_eq!(told.turn(2).back("1").context(), "dev env u1 a1 told");
    // It begins no turn itself, nor does a summary of the client.
    let only = session().turn(1).item("shell", &said("user", shell));
    assert_eq!(only.back("1").context(), "dev env");
    let summary = session().turn(1).item("sum", &said("user", SUMMARY));
    assert_eq!(summary.back("1").context(), "dev env");
}

#[test]
fn another_agent_begins_a_turn_that_can_be_taken_back() {
    let told = r#"{"author":"/root","recipient":"/root/w","content":"do","trigger_turn":true}"#;
    let json = said("assistant", &told.replace('"', "\\\""));
    let item = r#"{"type":"agent_message","author":"/root","recipient":"/w","content":[{"type":"input_text","text":"do"}]}"#;
    let first = session()
        .turn(1)
        .line("told", "inter_agent_communication", told);
    assert_eq!(first.context(), "dev env u1 a1 told");
    for told in [
        first,
        session().turn(1).item("told", &json),
        session().turn(1).item("told", item),
    ] {
        let (_, line) = told.0.last().expect("a line");
        let object = Object::parse(line).expect("an object");
        assert!(!Codex.outline(&object).expect("a message").begins_turn);
        assert_eq!(told.says("a").back("1").context(), "dev env u1 a1");
    }
}

#[test]
fn items_of_a_compaction_take_the_place_of_all_before() {
    let left = [said("user", "u1"), said("user", SUMMARY)];
    let lines = session().turn(1).replaced("B", &left).turn(2);
    assert_eq!(lines.context(), "B u2 a2");
    assert_eq!(lines.outside("a1"), Some(Outside::BeforeCompaction));
    let again = lines.replaced("C", &left).turn(3);
    assert_eq!(again.context(), "C u3 a3");
    assert_eq!(again.outside("B"), Some(Outside::BeforeCompaction));
    assert_eq!(session().replaced("B", &[]).turn(2).context(), "u2 a2");
    // A line of another shape is passed over.
    for bad in [
        "7",
        "{}",
        r#"{"type":"message","role":"user","content":"x"}"#,
    ] {
        let lines = session().replaced("B", &[bad.to_owned()]).turn(2);
        assert_eq!(lines.context(), "dev env u2 a2", "{bad}");
    }
    let lines = session().line("B", "compacted", r#"{"replacement_history":[]}"#);
    assert_eq!(lines.turn(2).context(), "dev env u2 a2");
}

#[test]
fn a_compaction_is_taken_back_with_its_turn() {
    let left = [said("user", "u1"), said("user", SUMMARY)];
    let before = || session().turn(1).turn(2).replaced("B", &left).turn(3);
    assert_eq!(before().back("1").context(), "B");
    let older = before().back("2").turn(4);
    assert_eq!(older.context(), "dev env u1 a1 u4 a4");
    assert_eq!(older.outside("B"), Some(Outside::DeadBranch));
    // In the middle of a turn it is of that turn.
    let within = || {
        let begun = session().turn(1).begins("t2").user("u2");
        begun.replaced("B", &left).says("a2").ends("t2")
    };
    assert_eq!(within().turn(3).context(), "B a2 u3 a3");
    assert_eq!(within().back("1").turn(3).context(), "dev env u1 a1 u3 a3");
    // A turn ends whatever its end is called; the settings of another are none of its.
    let strange = session().turn(1).replaced("B", &left).begins("t2");
    let strange = strange.user("u2").says("a2").ends("t8").turn(3).back("2");
    assert_eq!(strange.context(), "B");
    let mixed = session()
        .turn(1)
        .replaced("B", &left)
        .begins("t2")
        .user("u2");
    let mixed = mixed.line("-", "turn_context", r#"{"turn_id":"t8"}"#);
    assert_eq!(mixed.clone().turn(3).back("2").context(), "dev env u1 a1");
    assert_eq!(mixed.ends("t2").turn(3).back("2").context(), "B");
    // A turn without a request is not counted, and one that only the screen knows is.
    let quiet = || session().turn(1).replaced("B", &left).begins("q");
    let counted = quiet().says("a").ends("q").back("1").turn(3);
    assert_eq!(counted.context(), "dev env u3 a3");
    let shown = quiet().event("-", "user_message", r#","message":"x""#);
    let shown = shown.says("a").ends("q").turn(4).back("2").turn(3);
    assert_eq!(shown.outside("u1"), Some(Outside::BeforeCompaction));
    assert_eq!(shown.context(), "u3 a3");
    let empty = quiet().event("-", "user_message", "").says("a").ends("q");
    assert_eq!(empty.turn(4).back("2").turn(3).context(), "dev env u3 a3");
}

#[test]
fn a_compaction_without_items_keeps_what_the_user_said() {
    let lines = session().turn(1).turn(2).compacted("S", SUMMARY).turn(3);
    assert_eq!(lines.context(), "u1 u2 S u3 a3");
    for word in ["dev", "env", "a1"] {
        assert_eq!(lines.outside(word), Some(Outside::BeforeCompaction));
    }
    // The summary goes with the next one; one that is not the client's is the user's.
    let again = lines.compacted("T", "so far").turn(4);
    assert_eq!(again.context(), "u1 u2 u3 T u4 a4");
    assert_eq!(again.compacted("V", "on").context(), "u1 u2 u3 T u4 V");
    // It begins a turn then.
    let back = |summary| session().turn(1).compacted("S", summary).turn(3).back("2");
    assert_eq!(back("so far").context(), "u1");
    assert_eq!(back(SUMMARY).context(), "");
    let null = session().turn(1);
    let null = null.line(
        "S",
        "compacted",
        r#"{"message":"s","replacement_history":null}"#,
    );
    assert_eq!(null.context(), "u1 S");
}

#[test]
fn of_old_requests_only_the_newest_stay() {
    let big = "b".repeat(60_000);
    let item = |text: &str| said("user", text);
    let lines = |summaries: u32| {
        let old = session().user("old").item("big", &item(&big)).user("mid");
        let new = old.item("big2", &item(&big)).user("new");
        (0..summaries).fold(new, |lines, _| lines.compacted("S", SUMMARY))
    };
    assert_eq!(lines(1).context(), "big mid big2 new S");
    assert_eq!(lines(1).outside("old"), Some(Outside::BeforeCompaction));
    assert_eq!(lines(0).context(), "dev env old big mid big2 new");
}

#[test]
fn a_fork_has_the_head_of_its_origin_too() {
    let mut fork = session();
    fork.0.extend(session().turn(1).0);
    assert_eq!(fork.turn(2).context(), "dev env dev env u1 a1 u2 a2");
}

#[test]
fn bare_items_are_sent() {
    let lines = Lines::default()
        .bare("-", r#"{"id":"s","timestamp":"t","instructions":null}"#)
        .bare("u", &said("user", "u"))
        .bare("-", r#"{"record_type":"state"}"#)
        .bare("a", &said("assistant", "a"))
        .bare("c", &call("1"))
        .bare("o", &output("1"));
    assert_eq!(lines.context(), "u a+c o");
}

#[test]
fn only_what_the_user_asks_begins_a_turn() {
    let begins = |role: &str, text: &str| {
        let line = &Lines::default().item("-", &said(role, text)).0[0].1;
        let object = Object::parse(line).expect("an object");
        Codex.outline(&object).expect("a message").begins_turn
    };
    assert!(begins("user", "go on"));
    assert!(begins(
        "user",
        "what is <environment_context>x</environment_context>?"
    ));
    assert!(begins("user", "<environment_context> is not closed"));
    assert!(begins("user", "<external_page of=x>x</external_page>"));
    for text in [
        "<environment_context>x</environment_context>",
        " <ENVIRONMENT_CONTEXT>x</environment_context> ",
        "# AGENTS.md instructions for /x <INSTRUCTIONS>x</INSTRUCTIONS>",
        "<turn_aborted>x</turn_aborted>",
        "<external_page>x</external_page>",
        "Warning: apply_patch was requested via x.",
        "<user_instructions>x</user_instructions>",
        SUMMARY,
    ] {
        assert!(!begins("user", text), "{text}");
    }
    assert!(!begins("developer", "go on"));
}

#[test]
fn a_compaction_is_one_message_of_the_user_with_all_parts() {
    let reasoning = r#"{"type":"reasoning","summary":[],"encrypted_content":"gA"}"#;
    let sealed = r#"{"type":"compaction","encrypted_content":"gAAA"}"#;
    let items = [
        said("user", "u1"),
        reasoning.to_owned(),
        call("1"),
        output("1"),
        call("2"),
        sealed.to_owned(),
        r#"{"type":"brand_new"}"#.to_owned(),
        said("user", SUMMARY),
    ];
    let line = &Lines::default().replaced("B", &items).0[0].1;
    let object = Object::parse(line).expect("an object");
    let outline = Codex.outline(&object).expect("a message");
    assert_eq!((outline.role, outline.is_summary), (Role::User, true));
    assert!(!outline.begins_turn);
    // The first call has its result in it; that of the second may come.
    assert_eq!((outline.calls, outline.results), (vec!["2".into()], vec![]));
    let message = Codex.message(&object).expect("a message");
    let kinds: String = message.parts.iter().map(letter).collect();
    assert_eq!(kinds, "tocrcoot");
    let slots = message.results().filter_map(|result| result.slot.as_ref());
    let places: Vec<&str> = slots.map(|slot| &line[slot.range.clone()]).collect();
    assert_eq!(places, ["\"x\""]);
    let cut: Vec<&str> = message
        .reasoning
        .iter()
        .map(|cut| &line[cut.clone()])
        .collect();
    assert_eq!(cut, [format!("{reasoning},")]);
}

fn letter(part: &Part<'_>) -> char {
    match part {
        Part::Text(_) => 't',
        Part::Call(_) => 'c',
        Part::Result(_) => 'r',
        Part::Opaque(_) => 'o',
        _ => '?',
    }
}

#[test]
fn what_wraps_an_item_is_known() {
    let wrapped = |lines: &Lines| {
        let line = &lines.0[0].1;
        let object = Object::parse(line).expect("an object");
        let wrapped = Codex.wrapped(&object);
        (wrapped.sent.concat(), wrapped.copies.concat())
    };
    let item = said("user", "u");
    let lines = Lines::default().user("u");
    assert_eq!(wrapped(&lines), (item.clone(), String::new()));
    let lines = Lines::default().bare("u", &item);
    assert_eq!(wrapped(&lines), (item.clone(), String::new()));
    let lines = Lines::default().replaced("B", std::slice::from_ref(&item));
    assert_eq!(wrapped(&lines), (format!("[{item}]"), "\"m\"".to_owned()));
    let lines = Lines::default().compacted("S", "s");
    assert_eq!(wrapped(&lines), ("\"s\"".to_owned(), String::new()));
}

#[test]
fn the_summary_of_a_compaction_is_read() {
    let summary = |lines: &Lines| {
        let object = Object::parse(&lines.0[0].1).expect("an object");
        Codex
            .summary_text(&object)
            .map(std::borrow::Cow::into_owned)
    };
    let compacted = |payload: &str| Lines::default().line("S", "compacted", payload);
    assert_eq!(
        summary(&compacted(r#"{"message":"so far"}"#)).as_deref(),
        Some("so far")
    );
    let items = [said("user", SUMMARY), said("user", "u")].join(",");
    let within = format!(r#"{{"message":"","replacement_history":[{items}]}}"#);
    assert_eq!(summary(&compacted(&within)).as_deref(), Some(SUMMARY));
    assert_eq!(summary(&Lines::default().user("u")), None);
    let own = Codex.summary_record(Role::User, "what\nwas");
    let written = Lines::default().bare("S", &own).user("u");
    assert_eq!(summary(&written).as_deref(), Some("what\nwas"));
    assert_eq!(session().turn(1).bare("S", &own).user("u").context(), "S u");
}
