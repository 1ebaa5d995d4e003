//! Tests which lines of generated sessions are in the context. The expected values are taken from
//! what the client sends.

use crate::dialect::{ClaudeCode, Dialect};
use crate::view::{Outside, Presence};
use crate::{Denial, Object, Options, Part, Records};

#[test]
fn a_denial_is_what_the_record_says_and_not_the_text_of_a_result() {
    let denied = "The user doesn't want to proceed with this tool use.";
    for (fields, expected) in [
        (r#""toolDenialKind":"user-rejected""#, Denial::Marked),
        (r#""toolDenialKind":"permission-rule""#, Denial::None),
        (
            r#""toolUseResult":"Error: The user doesn't want to proceed with this tool use.""#,
            Denial::Reported,
        ),
        (r#""toolUseResult":{"stdout":"The user doesn't want to proceed"}"#, Denial::None),
        (r#""toolUseResult":"Error: no such file""#, Denial::None),
        (r#""isMeta":false"#, Denial::None),
    ] {
        let line = format!(
            r#"{{"type":"user",{fields},"message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"c","content":"{denied}","is_error":true}}]}}}}"#
        );
        let object = Object::parse(&line).expect("an object");
        let message = ClaudeCode.message(&object).expect("a message");
        let found = message.results().next().expect("a result").denial;
        assert_eq!(found, expected, "{fields}");
    }
}

#[test]
fn only_what_no_field_marks_as_added_is_the_users() {
    let queued = |fields: &str| {
        format!(
            r#""type":"attachment","attachment":{{"type":"queued_command","prompt":"x"{fields}}}"#
        )
    };
    let user = r#""type":"user","message":{"role":"user","content":"x"}"#;
    for (line, is_users) in [
        (user.to_owned(), true),
        (format!(r#"{user},"isMeta":true"#), false),
        (format!(r#"{user},"origin":{{"kind":"human"}}"#), true),
        (format!(r#"{user},"origin":{{"kind":"peer"}}"#), false),
        (queued(""), true),
        (queued(r#","commandMode":"prompt","origin":{"kind":"human"}"#), true),
        (queued(r#","commandMode":"task-notification""#), false),
        (queued(r#","isMeta":true"#), false),
        (
            r#""type":"attachment","attachment":{"type":"hook_success","content":"x"}"#.to_owned(),
            false,
        ),
    ] {
        let line = format!("{{{line}}}");
        let object = Object::parse(&line).expect("an object");
        let message = ClaudeCode.message(&object).expect("a message");
        assert_eq!(message.added.is_empty(), is_users, "{line}");
    }
}

#[test]
fn a_list_of_skills_says_nothing_about_the_work() {
    for (kind, is_read) in [("skill_listing", false), ("hook_success", true)] {
        let line = format!(
            r#"{{"type":"attachment","attachment":{{"type":"{kind}","content":"- review: x"}}}}"#
        );
        let object = Object::parse(&line).expect("an object");
        let message = ClaudeCode.message(&object).expect("a message");
        assert_eq!(matches!(message.parts[..], [Part::Text(_)]), is_read, "{kind}");
    }
}

/// The user wrote the message while the model was still answering the one before.
#[test]
fn a_queued_message_has_its_texts_and_images() {
    let prompt = |prompt: &str| {
        let line = format!(
            r#"{{"type":"attachment","attachment":{{"type":"queued_command","prompt":{prompt}}}}}"#
        );
        let object = Object::parse(&line).expect("an object");
        let message = ClaudeCode.message(&object).expect("a message");
        let texts = message.texts().join(" ");
        (texts, message.parts.len())
    };
    assert_eq!(prompt(r#""go""#), ("go".to_owned(), 1));
    let image = r#"{"type":"image","source":{"type":"url","url":"u"}}"#;
    let blocks = format!(r#"[{{"type":"text","text":"look"}},{image}]"#);
    assert_eq!(prompt(&blocks), ("look".to_owned(), 2));
}

/// The lines of a session, whose times are one second apart.
#[derive(Default)]
struct Lines(Vec<String>);

impl Lines {
    /// Adds a line. `ids` is `id>parent`, and `rest` follows `"isSidechain":false` in the line.
    fn add(mut self, ids: &str, rest: &str) -> Self {
        let (id, parent) = ids.split_once('>').expect("an id and a parent");
        let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
        let second = self.0.len();
        self.0.push(format!(
            r#"{{"parentUuid":{parent},"isSidechain":false,"sessionId":"s","uuid":"{id}","timestamp":"2026-01-01T00:{:02}:{:02}.000Z",{rest}}}"#,
            second / 60,
            second % 60
        ));
        self
    }

    /// Adds a user message whose text is its id.
    fn user(self, ids: &str) -> Self {
        let text = ids.split('>').next().unwrap_or_default().to_owned();
        self.add(ids, &format!(r#""type":"user","message":{{"role":"user","content":"{text}"}}"#))
    }

    fn block(self, ids: &str, reply: &str, block: &str) -> Self {
        self.add(
            ids,
            &format!(
                r#""type":"assistant","message":{{"id":"{reply}","role":"assistant","content":[{block}]}}"#
            ),
        )
    }

    /// Adds a block of text to a reply. The text is the id of the line.
    fn says(self, ids: &str, reply: &str) -> Self {
        let text = ids.split('>').next().unwrap_or_default().to_owned();
        self.block(ids, reply, &format!(r#"{{"type":"text","text":"{text}"}}"#))
    }

    fn calls(self, ids: &str, reply: &str, call: &str) -> Self {
        let block = format!(r#"{{"type":"tool_use","id":"{call}","name":"n","input":{{}}}}"#);
        self.block(ids, reply, &block)
    }

    fn result(self, ids: &str, call: &str) -> Self {
        let rest = r#""type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"CALL","content":"x"}]}"#;
        self.add(ids, &rest.replace("CALL", call))
    }

    fn progress(self, ids: &str) -> Self {
        self.add(ids, r#""type":"progress","data":{"type":"hook_progress"}"#)
    }

    /// Adds a boundary with this metadata.
    fn boundary(self, id: &str, before: &str, metadata: &str) -> Self {
        let rest = format!(
            r#""type":"system","subtype":"compact_boundary","logicalParentUuid":"{before}","compactMetadata":{{{metadata}}}"#
        );
        self.add(&format!("{id}>"), &rest)
    }

    fn summary(self, ids: &str) -> Self {
        self.add(
            ids,
            r#""type":"user","isCompactSummary":true,"message":{"role":"user","content":"sum"}"#,
        )
    }

    fn bare(mut self, line: &str) -> Self {
        self.0.push(line.to_owned());
        self
    }

    /// For each record, the message in the context that it belongs to, or why it is not in the
    /// context.
    fn presences(&self) -> Vec<Presence> {
        let text = self.0.join("\n");
        let mut records = Records::open(text.as_bytes(), &Options::default()).expect("from memory");
        let name = records.dialect().map(crate::Dialect::name);
        assert_eq!(name, Some("claude-code"));
        let mut presences = Vec::new();
        while let Some(record) = records.next().expect("from memory") {
            presences.push(record.presence.expect("a tree"));
        }
        presences
    }

    /// The messages in the context, each as the ids of its lines.
    fn context(&self) -> Vec<String> {
        let mut messages: Vec<Vec<&str>> = Vec::new();
        for (line, presence) in self.0.iter().zip(self.presences()) {
            let Presence::Inside(fragment) = presence else { continue };
            let at = usize::try_from(fragment.message).expect("a small number");
            messages.resize(messages.len().max(at + 1), Vec::new());
            messages[at].push(id_of(line));
        }
        messages.into_iter().map(|ids| ids.join("+")).collect()
    }

    /// The ids of the lines that are not in the context, and why they are not.
    fn outside(&self) -> Vec<(&str, Outside)> {
        let lines = self.0.iter().zip(self.presences());
        let outside = lines.filter_map(|(line, presence)| match presence {
            Presence::Outside(why) => Some((id_of(line), why)),
            Presence::Inside(_) => None,
        });
        outside.collect()
    }
}

fn id_of(line: &str) -> &str {
    let id = line.split("\"uuid\":\"").nth(1);
    id.and_then(|rest| rest.split('"').next()).unwrap_or("-")
}

/// A session of two turns.
fn two_turns() -> Lines {
    let first = Lines::default().user("a>").says("b>a", "r1");
    first.user("c>b").says("d>c", "r2")
}

#[test]
fn the_path_to_the_newest_line_is_sent_and_a_left_branch_is_not() {
    let rewound = two_turns().user("e>b").says("f>e", "r3");
    assert_eq!(rewound.context(), ["a", "b", "e", "f"]);
    let dead = Outside::DeadBranch;
    assert_eq!(rewound.outside(), [("c", dead), ("d", dead)]);
}

#[test]
fn what_shows_progress_is_passed_over() {
    let lines = Lines::default()
        .progress("p>")
        .user("a>p")
        .progress("q>a")
        .says("b>q", "r1")
        .bare(r#"{"type":"ai-title","sessionId":"s","aiTitle":"t"}"#);
    assert_eq!(lines.context(), ["a", "b"]);
    let never = Outside::NeverSent;
    assert_eq!(lines.outside(), [("p", never), ("q", never), ("-", never)]);
}

#[test]
fn blocks_of_a_reply_are_one_message_and_parallel_results_are_found() {
    let lines = Lines::default()
        .user("a>")
        .says("b>a", "r")
        .calls("c>b", "r", "1")
        .calls("d>c", "r", "2")
        .result("e>c", "1")
        .result("f>d", "2")
        .says("g>f", "next");
    assert_eq!(lines.context(), ["a", "b+c+d", "e", "f", "g"]);
    // In this session, the line with the other call is not on the path either.
    let lines = Lines::default()
        .user("a>")
        .calls("b>a", "r", "1")
        .calls("c>a", "r", "2")
        .result("d>b", "1")
        .result("e>c", "2")
        .says("f>e", "next");
    assert_eq!(lines.context(), ["a", "b+c", "d", "e", "f"]);
}

#[test]
fn behind_a_boundary_nothing_older_is_sent() {
    let lines =
        two_turns().boundary("B", "d", r#""trigger":"auto""#).summary("s>B").says("e>s", "r3");
    assert_eq!(lines.context(), ["s", "e"]);
    let old = Outside::BeforeCompaction;
    let expected = ["a", "b", "c", "d"].map(|id| (id, old));
    assert_eq!(lines.outside()[..4], expected);
    assert_eq!(lines.outside()[4], ("B", Outside::NeverSent));
    // The line that the boundary names may be missing, and the session may be compacted again.
    let again = lines.boundary("C", "?", "").summary("t>C");
    assert_eq!(again.context(), ["t"]);
    let old: Vec<_> = again.outside().into_iter().filter(|(_, why)| *why == old).collect();
    // The older boundary is one of the seven lines.
    assert_eq!(old.len(), 7);
}

#[test]
fn lines_that_a_boundary_keeps_follow_its_summary() {
    for kept in [
        r#""preservedSegment":{"headUuid":"c","anchorUuid":"s","tailUuid":"d"}"#,
        r#""preservedMessages":{"anchorUuid":"s","uuids":["c","d"]}"#,
    ] {
        let lines = two_turns().boundary("B", "d", kept).summary("s>B");
        assert_eq!(lines.context(), ["s", "c", "d"], "{kept}");
        let on = lines.user("e>d").says("f>e", "r3");
        assert_eq!(on.context(), ["s", "c", "d", "e", "f"], "{kept}");
        let old = Outside::BeforeCompaction;
        assert_eq!(on.outside()[..2], [("a", old), ("b", old)]);
    }
}

#[test]
fn where_a_kept_line_is_missing_none_is_kept() {
    for kept in [
        r#""preservedSegment":{"headUuid":"?","anchorUuid":"s","tailUuid":"d"}"#,
        r#""preservedMessages":{"anchorUuid":"s","uuids":["c","?"]}"#,
    ] {
        let lines = two_turns().boundary("B", "d", kept).summary("s>B");
        assert_eq!(lines.context(), ["s"], "{kept}");
    }
}

#[test]
fn the_user_may_have_gone_back() {
    let prompt = |rest: &str| {
        format!(r#"{{"type":"last-prompt","sessionId":"s","lastPrompt":"x","leafUuid":{rest}}}"#)
    };
    let back = two_turns().bare(&prompt(r#""b","explicit":true"#));
    assert_eq!(back.context(), ["a", "b"]);
    // If the prompt names an ancestor of the newest line, the context does not change.
    assert_eq!(two_turns().bare(&prompt("\"b\"")).context().len(), 4);
    let went_on = two_turns().bare(&prompt(r#""b","explicit":true"#)).user("e>b");
    assert_eq!(went_on.context(), ["a", "b", "e"]);
    let emptied = two_turns().bare(&prompt(r#"null,"explicit":true"#));
    assert!(emptied.context().is_empty());
}

#[test]
fn a_helper_agent_has_a_context_of_its_own() {
    let mut lines = two_turns().user("x>").says("y>x", "r9");
    for line in &mut lines.0[4..] {
        *line = line.replace("\"isSidechain\":false", "\"isSidechain\":true");
    }
    assert_eq!(lines.context(), ["a", "b", "c", "d"]);
    let other = Outside::OtherAgent;
    assert_eq!(lines.outside(), [("x", other), ("y", other)]);
}

#[test]
fn a_missing_parent_is_the_nearest_line_before_and_a_circle_ends() {
    let near = two_turns().user("e>lost");
    assert_eq!(near.context(), ["a", "b", "c", "d", "e"]);
    let mut far = two_turns().user("e>lost");
    far.0[4] = far.0[4].replace("2026-01-01", "2026-01-02");
    assert_eq!(far.context(), ["e"]);
    let circle = Lines::default().user("a>b").says("b>a", "r");
    assert_eq!(circle.context(), ["a", "b"]);
}

#[test]
fn what_the_client_said_itself_is_not_sent() {
    let failed = two_turns().add(
        "e>d",
        r#""type":"assistant","isApiErrorMessage":true,"message":{"id":"z","role":"assistant","content":[{"type":"text","text":"no"}]}"#,
    );
    assert_eq!(failed.context(), ["a", "b", "c", "d"]);
}

#[test]
fn of_two_lines_with_one_id_the_later_one_counts() {
    let twice = two_turns().user("c>b").says("e>c", "r3");
    assert_eq!(twice.context(), ["a", "b", "c", "e"]);
    assert_eq!(twice.outside()[0], ("c", Outside::Superseded));
}

#[test]
fn places_of_results_are_those_in_the_line() {
    let lines = Lines::default().user("a>").calls("b>a", "r", "1").result("c>b", "1");
    let text = lines.0.join("\n");
    let mut records = Records::open(text.as_bytes(), &Options::default()).expect("from memory");
    let dialect = records.dialect();
    let mut found = Vec::new();
    while let Some(record) = records.next().expect("from memory") {
        for part in record.message(dialect).expect("a message").parts {
            let slot = match part {
                Part::Call(call) => call.slot,
                Part::Result(result) => result.slot,
                _ => None,
            };
            let line = std::str::from_utf8(record.bytes).expect("UTF-8");
            found.extend(slot.map(|slot| line[slot.range].to_owned()));
        }
    }
    assert_eq!(found, ["{}", "\"x\""]);
}
