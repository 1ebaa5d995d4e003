use ctx_format::{
    Call, Dialect, Message, Object, Outline, Part, Role, Saved, Slot, ToolResult, dialect,
};
use ctx_tokens::Encoding;

use crate::message_counter::MessageCounter;
use crate::placeholder::ReferencePattern;
use crate::prune::{Freed, Options, Pruner, Trim, Verdicts, shorten_arguments};
use ctx_policy::trigger::Size;
use ctx_policy::{Rule, ToolFilter};

/// A session of chat messages, built line by line.
#[derive(Default)]
struct Session(Vec<String>);

impl Session {
    fn said(mut self, role: &str, text: &str) -> Self {
        self.0.push(format!("{{\"role\":\"{role}\",\"content\":{text:?}}}"));
        self
    }

    /// Adds a call and its result.
    fn tool(mut self, name: &str, arguments: &str, result: &str) -> Self {
        let id = self.0.len();
        self.0.push(format!(
            "{{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{{\"id\":\"c{id}\",\"type\":\"function\",\"function\":{{\"name\":\"{name}\",\"arguments\":{arguments:?}}}}}]}}"
        ));
        self.0.push(format!(
            "{{\"role\":\"tool\",\"tool_call_id\":\"c{id}\",\"content\":{result:?}}}"
        ));
        self
    }

    fn line(mut self, line: &str) -> Self {
        self.0.push(line.to_owned());
        self
    }
}

fn chat() -> &'static dyn Dialect {
    dialect::by_name("chat").expect("chat")
}

fn anthropic() -> &'static dyn Dialect {
    dialect::by_name("anthropic").expect("anthropic")
}

/// Returns the new text of each line, and the rules that changed it. Lines in `fixed` must stay.
fn prune_with(
    dialect: &dyn Dialect,
    options: &Options,
    lines: &[String],
    fixed: &[usize],
) -> (Vec<Option<String>>, Vec<Rule>) {
    let (left, freed) = pruned(dialect, options, lines, fixed);
    assert!(freed.iter().all(|freed| freed.after < freed.before), "{freed:?}");
    (left, freed.iter().map(|freed| freed.rule).collect())
}

/// Returns the new text of each line, and what the changes free. Checks all predicted numbers.
pub(super) fn pruned(
    dialect: &dyn Dialect,
    options: &Options,
    lines: &[String],
    fixed: &[usize],
) -> (Vec<Option<String>>, Vec<Freed>) {
    let counter = MessageCounter::new(Encoding::O200kBase);
    let verdicts = decided(dialect, options, true, lines, fixed);
    let in_part = decided(dialect, options, false, lines, fixed);
    let mut changes = Vec::new();
    let mut all_freed = Vec::new();
    let mut size = Size::default();
    assert_eq!(verdicts.facts.records.len(), lines.len());
    let mut left = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let freed = verdicts.freed(index);
        all_freed.extend(&freed);
        let line = if verdicts.is_dropped(index) {
            None
        } else if verdicts.is_changed(index) {
            changes.extend(&freed);
            Some(changed(dialect, &verdicts, index, line))
        } else {
            Some(line.clone())
        };
        let object = line.as_deref().map(Object::parse);
        let object = object.map(|object| object.expect("an object"));
        let message = object.as_ref().and_then(|object| dialect.message(object));
        let outline = object.as_ref().and_then(|object| dialect.outline(object));
        if let (Some(message), Some(outline)) = (&message, &outline) {
            crate::message_counter::add_to_size(&mut size, outline, message, &counter);
        }
        let tokens = message.map_or(0, |message| counter.message(&message).total());
        assert_eq!(verdicts.tokens(index), tokens, "{line:?}");
        counts_as_it_came(dialect, &[&verdicts, &in_part], index, &lines[index]);
        left.push(line);
    }
    assert_eq!(verdicts.sums(), all_freed.into_iter().collect());
    assert_eq!(verdicts.size(), size);
    (left, changes)
}

/// Checks that an unchanged message has the same token count, whether all messages were counted or
/// only those that may change.
fn counts_as_it_came(dialect: &dyn Dialect, verdicts: &[&Verdicts<'_>], index: usize, line: &str) {
    let object = Object::parse(line).expect("an object");
    let Some(message) = dialect.message(&object) else { return };
    let counter = MessageCounter::new(Encoding::O200kBase);
    let tokens = counter.message(&message).total();
    for verdicts in verdicts {
        assert_eq!(verdicts.tokens_before(index, &message), Some(tokens), "{line:?}");
    }
}

fn decided<'p>(
    dialect: &dyn Dialect,
    options: &'p Options,
    count_all: bool,
    lines: &[String],
    fixed: &[usize],
) -> Verdicts<'p> {
    let mut pruner = Pruner::new(options, MessageCounter::new(Encoding::O200kBase), count_all);
    for (index, line) in lines.iter().enumerate() {
        let object = Object::parse(line).expect("an object");
        match (dialect.outline(&object), dialect.message(&object)) {
            (Some(outline), Some(message)) => {
                let fixed = fixed.contains(&index);
                pruner.message(&outline, &message, &object, fixed);
            }
            _ => pruner.line(false),
        }
    }
    pruner.finish()
}

/// Returns the changed line, and checks that reading it gives the changed message.
fn changed(dialect: &dyn Dialect, verdicts: &Verdicts<'_>, index: usize, line: &str) -> String {
    let object = Object::parse(line).expect("an object");
    let message = dialect.message(&object).expect("a message");
    let (edits, message) = verdicts.message_edits(index, message, &object, dialect);
    assert!(!edits.is_empty(), "nothing changes");
    let line = edits.of_object(&object);
    let object = Object::parse(&line).expect("still an object");
    let read = dialect.message(&object).expect("still a message");
    assert_eq!(message, without_places(read));
    line
}

fn without_places(mut message: Message<'_>) -> Message<'_> {
    message.reasoning = Vec::new();
    for part in &mut message.parts {
        match part {
            Part::Result(result) => result.slot = None,
            Part::Call(call) => call.slot = None,
            _ => {}
        }
    }
    message
}

/// Returns the content of each remaining line. Checks that pruning twice gives the same result as
/// pruning once.
fn prune(options: &Options, session: &Session) -> Vec<String> {
    let (left, _) = prune_with(chat(), options, &session.0, &[]);
    let left: Vec<String> = left.into_iter().flatten().collect();
    let (twice, rules) = prune_with(chat(), options, &left, &[]);
    assert_eq!(twice.into_iter().flatten().collect::<Vec<_>>(), left);
    assert_eq!(rules, []);
    let content = |line: &String| {
        let object = Object::parse(line).expect("an object");
        object.text_of("content").unwrap_or_default().into_owned()
    };
    left.iter().map(content).collect()
}

fn long(text: &str) -> String {
    format!("{text} {}", "some words of it ".repeat(20))
}

fn clear() -> Options {
    Options { clear: Some("[gone]".to_owned()), ..Options::default() }
}

fn is_cleared(text: &str) -> bool {
    text.starts_with("[gone]\n⟦ctx:")
}

#[test]
fn results_are_cleared_and_nothing_else() {
    let session = Session::default()
        .said("system", &long("sys"))
        .said("user", &long("ask"))
        .tool("ls", "{}", &long("result"))
        .tool("ls", "{}", "short")
        .said("assistant", &long("reply"));
    let left = prune(&clear(), &session);
    assert_eq!(left[0], long("sys"));
    assert_eq!(left[1], long("ask"));
    assert!(is_cleared(&left[3]), "{}", left[3]);
    let handle = "\n⟦ctx: ls, all 347 bytes, if saved: ctx-offload --show ";
    assert!(left[3].contains(handle), "{}", left[3]);
    // A note would be longer than this text.
    assert_eq!(left[5], "short");
    assert_eq!(left[6], long("reply"));
}

#[test]
fn without_a_rule_nothing_changes() {
    let session = Session::default().said("user", "a").tool("ls", "{}", &long("r"));
    let (left, rules) = prune_with(chat(), &Options::default(), &session.0, &[]);
    assert_eq!(left, session.0.into_iter().map(Some).collect::<Vec<_>>());
    assert_eq!(rules, []);
    assert!(!Options::default().has_rules());
    assert!(clear().has_rules());
}

#[test]
fn the_last_assistant_messages_protect_what_is_behind_them() {
    let session = || {
        let text = |n: usize| long(&n.to_string());
        Session::default()
            .said("user", "a")
            .tool("ls", "{}", &text(1))
            .tool("ls", "{}", &text(2))
            .tool("ls", "{}", &text(3))
    };
    let cleared = |protect_last| {
        let policy = Options { protect_last, ..clear() };
        let left = prune(&policy, &session());
        [2, 4, 6].map(|index| is_cleared(&left[index]))
    };
    assert_eq!(cleared(0), [true, true, true]);
    assert_eq!(cleared(1), [true, true, false]);
    assert_eq!(cleared(2), [true, false, false]);
    assert_eq!(cleared(3), [false, false, false]);
    // If there are fewer replies than should be protected, all of them are protected.
    assert_eq!(cleared(4), [false, false, false]);
}

#[test]
fn fixed_records_keep_their_results_and_those_of_their_calls() {
    let session = Session::default()
        .tool("ls", "{}", &long("1"))
        .tool("ls", "{}", &long("2"))
        .tool("ls", "{}", &long("3"));
    let (left, rules) = prune_with(chat(), &clear(), &session.0, &[0, 3]);
    assert_eq!(rules, [Rule::Clear]);
    let changed: Vec<_> = (0..6).filter(|i| left[*i].as_ref() != Some(&session.0[*i])).collect();
    assert_eq!(changed, [5]);
}

#[test]
fn tools_are_allowed_and_denied_by_the_name_of_the_call() {
    let session =
        Session::default().tool("exec", "{}", &long("1")).tool("view_image", "{}", &long("2"));
    let mut policy = clear();
    policy.tools.deny.push("*image*".parse().expect("a pattern"));
    let left = prune(&policy, &session);
    assert_eq!([is_cleared(&left[1]), is_cleared(&left[3])], [true, false]);
    policy.tools.allow.push("read".parse().expect("a pattern"));
    let left = prune(&policy, &session);
    assert_eq!([is_cleared(&left[1]), is_cleared(&left[3])], [false, false]);
}

#[test]
fn reads_are_superseded_by_later_reads_and_writes() {
    let read = |path: &str| format!("{{\"path\":\"{path}\"}}");
    let policy = Options { drop: vec![Rule::Superseded], ..Options::default() };
    let note = |text: &String| text.lines().next().unwrap_or_default().to_owned();
    let session = Session::default()
        .tool("read", &read("a"), &long("1"))
        .tool("read", &read("b"), &long("2"))
        .tool("read", &read("c"), &long("3"))
        .tool("read", "{\"path\":\"a\",\"offset\":5}", &long("4"))
        .tool("edit_file", &read("b"), "done")
        .tool("read", &read("./a"), &long("5"));
    let left = prune(&policy, &session);
    assert_eq!(note(&left[1]), "[Superseded: file read again later]");
    assert_eq!(note(&left[3]), "[Superseded: file written later]");
    assert_eq!(left[5], long("3"));
    assert_eq!(note(&left[7]), "[Superseded: file read again later]");
    assert_eq!(left[11], long("5"));
}

#[test]
fn a_part_an_error_or_a_stub_supersedes_nothing() {
    let policy = Options { drop: vec![Rule::Superseded], ..Options::default() };
    for (tool, arguments, result) in [
        ("read", "{\"path\":\"a\",\"limit\":5}", long("part")),
        ("read", "{\"path\":\"a\"}", "unchanged since it was read".to_owned()),
        ("read", "{\"path\":\"a\"}", format!("Error: {}", long("x"))),
        ("write", "{\"path\":\"a\"}", "Permission denied".to_owned()),
        ("grep", "{\"path\":\"a\"}", long("found")),
    ] {
        let session = Session::default()
            .tool("read", "{\"path\":\"a\"}", &long("1"))
            .tool(tool, arguments, &result);
        assert_eq!(prune(&policy, &session)[1], long("1"), "{tool} {result}");
    }
    // The call was never answered.
    let session = Session::default().tool("read", "{\"path\":\"a\"}", &long("1")).tool(
        "write",
        "{\"path\":\"a\"}",
        "ok",
    );
    let lines = &session.0[..3];
    let (left, _) = prune_with(chat(), &policy, lines, &[]);
    assert_eq!(left[1].as_ref(), Some(&lines[1]));
}

#[test]
fn a_note_that_would_be_longer_gives_way_to_a_shorter_one() {
    let policy = Options { drop: vec![Rule::Superseded], ..clear() };
    let path = "{\"path\":\"a/rather/long/path/to/some_file_with_a_long_name.extension\"}";
    let note = |words: usize| {
        let text = "some words ".repeat(words);
        let session = Session::default().tool("read", path, &text).tool("write", path, "ok");
        let left = prune(&policy, &session);
        left[1].lines().next().unwrap_or_default().to_owned()
    };
    let mut notes: Vec<String> = (10..40).map(note).collect();
    notes.retain(|note| !note.starts_with("some words"));
    notes.dedup();
    assert_eq!(notes, ["[gone]", "[Superseded: file written later]"]);
}

#[test]
fn the_latest_of_identical_results_stays() {
    let policy = Options { drop: vec![Rule::Duplicates], ..Options::default() };
    let session = Session::default()
        .tool("ls", "{}", &long("same"))
        .tool("cat", "{}", &long("same"))
        .tool("ls", "{\"a\":1}", &long("same"))
        .tool("ls", "{}", &long("other"));
    let left = prune(&policy, &session);
    assert!(left[1].starts_with("[Repeated: a later result is the same]\n⟦ctx:"));
    assert_eq!([&left[3], &left[5]], [&long("same"), &long("same")]);
    assert_eq!(left[7], long("other"));
}

#[test]
fn a_reference_to_a_file_is_never_cleared() {
    let path = "long/".repeat(40);
    for (template, text, stays) in [
        ("Tool result is at: {path}", format!("Tool result is at: /{path}"), true),
        ("<{tokens} in {path}>", format!("<9 in /{path}>"), true),
        ("<{path}>", format!("</{path}> and more of it"), false),
        ("{path}", format!("/{path}"), false),
        ("see {path}", format!("see /{path}\nand what it says"), false),
    ] {
        let policy = Options {
            references: ReferencePattern::new(template).into_iter().collect(),
            ..clear()
        };
        let session = Session::default().tool("ls", "{}", &text);
        assert_eq!(prune(&policy, &session)[1] == text, stays, "{template}");
    }
}

#[test]
fn a_trimmed_result_keeps_its_first_handle_when_it_is_cleared() {
    let text = "word ".repeat(3_000);
    let session = Session::default().tool("ls", "{}", &text);
    let trim = Options { trim: Some(Trim::default()), ..Options::default() };
    let (trimmed, rules) = prune_with(chat(), &trim, &session.0, &[]);
    assert_eq!(rules, [Rule::Trim]);
    let trimmed: Vec<String> = trimmed.into_iter().flatten().collect();
    let (once, _) = prune_with(chat(), &clear(), &session.0, &[]);
    let (later, rules) = prune_with(chat(), &clear(), &trimmed, &[]);
    assert_eq!(rules, [Rule::Clear]);
    assert_eq!(once, later);
}

#[test]
fn trimming_begins_above_the_limit() {
    let policy = Options { trim: Some(Trim::default()), ..Options::default() };
    let after = |chars: usize| {
        let text = "é a ".repeat(chars.div_ceil(4)).chars().take(chars).collect::<String>();
        let left = prune(&policy, &Session::default().tool("ls", "{}", &text));
        (left[1] != text).then(|| left[1].chars().count())
    };
    assert_eq!(after(9_999), None);
    assert_eq!(after(10_000), None);
    let trimmed = after(10_001).expect("trimmed");
    assert!((6_000..6_100).contains(&trimmed), "{trimmed}");
}

#[test]
fn reasoning_goes_before_the_latest_turn_only() {
    let policy = Options { drop: vec![Rule::Reasoning], ..Options::default() };
    let thought = "{\"role\":\"assistant\",\"reasoning_content\":\"hm\",\"content\":\"so\"}";
    let only = "{\"role\":\"assistant\",\"reasoning_content\":\"hm\",\"content\":\"\"}";
    let session = Session::default()
        .line(only)
        .said("user", "a")
        .line(thought)
        .line(only)
        .said("user", "b")
        .line(thought)
        .line(only);
    let (left, rules) = prune_with(chat(), &policy, &session.0, &[]);
    assert_eq!(rules, [Rule::Reasoning]);
    let left: Vec<_> = left.iter().map(Option::as_deref).collect();
    let plain = "{\"role\":\"assistant\",\"content\":\"so\"}";
    let user = |at: usize| Some(session.0[at].as_str());
    // The first message stays, because otherwise the second would become the first.
    let expected = [Some(only), user(1), Some(plain), None, user(4), Some(thought), Some(only)];
    assert_eq!(left, expected);
}

#[test]
fn empty_replies_go_and_nothing_else_that_is_empty() {
    let policy = Options { drop: vec![Rule::Empty], ..Options::default() };
    let empty = "{\"role\":\"assistant\",\"content\":\" \\n\"}";
    let session = Session::default()
        .line(empty)
        .said("user", "")
        .line(empty)
        .line("{\"role\":\"assistant\",\"content\":null}")
        .tool("ls", "{}", "")
        .line("{\"role\":\"assistant\",\"content\":\"\",\"refusal\":\"no\"}");
    let (left, _) = prune_with(chat(), &policy, &session.0, &[]);
    let gone: Vec<usize> = (0..left.len()).filter(|at| left[*at].is_none()).collect();
    assert_eq!(gone, [2, 3]);
}

#[test]
fn arguments_stay_json() {
    let policy = Options { argument_chars: Some(1_000), ..Options::default() };
    let content = |chars: usize| "many words ".repeat(200)[..chars].to_owned();
    let after = |chars: usize| {
        let arguments = format!("{{\"path\":\"a\",\"content\":\"{}\",\"n\":1E2}}", content(chars));
        let session = Session::default().tool("write", &arguments, "ok");
        let (left, _) = prune_with(chat(), &policy, &session.0, &[]);
        let line = left[0].clone().expect("a line");
        let object = Object::parse(&line).expect("an object");
        let message = chat().message(&object).expect("a message");
        let new = message.calls().next().expect("a call").arguments.clone().into_owned();
        (new != arguments).then_some(new)
    };
    assert_eq!(after(1_000), None);
    let shorter = after(1_001).expect("shorter");
    let object = Object::parse(&shorter).expect("JSON");
    assert_eq!([object.get("path"), object.get("n")], [Some("\"a\""), Some("1E2")]);
    let string = object.text_of("content").expect("a string");
    assert!(string.contains("\n... (401 chars truncated) ...\n"), "{string}");
    assert!(string.contains("\n⟦ctx: all "), "{string}");
}

#[test]
fn arguments_are_never_replaced_by_what_has_more_tokens() {
    let counter = MessageCounter::new(Encoding::default());
    let mut shortened = 0;
    for words in 15..40 {
        let arguments = format!("{{\"content\":\"{}\"}}", "ein Wort ".repeat(words));
        if let Some(new) = shorten_arguments(&arguments, 40, Saved::Perhaps, &counter) {
            assert!(new.freed.after < new.freed.before, "{words}: {new:?}");
            assert_eq!(new.freed.after, counter.text(&new.text));
            shortened += 1;
        }
    }
    assert!(shortened > 10, "{shortened}");
}

#[test]
fn the_window_keeps_system_messages_summaries_and_whole_exchanges() {
    let session = Session::default()
        .said("system", "s")
        .line("{\"role\":\"user\",\"name\":\"ctx_summary\",\"content\":\"before\"}")
        .said("user", "1")
        .said("assistant", "2")
        .tool("ls", "{}", "3")
        .said("user", "4");
    let kept = |window_messages| {
        let policy = Options { window_messages: Some(window_messages), ..Options::default() };
        prune(&policy, &session).join(",")
    };
    assert_eq!(kept(1), "s,before,4");
    assert_eq!(kept(2), "s,before,,3,4");
    assert_eq!(kept(3), "s,before,,3,4");
    assert_eq!(kept(4), "s,before,2,,3,4");
    assert_eq!(kept(99), "s,before,1,2,,3,4");
}

#[test]
fn a_result_may_be_in_the_record_of_its_call() {
    let policy = Options {
        trim: Some(Trim::default()),
        tools: ToolFilter {
            deny: vec!["read".parse().expect("a pattern")],
            ..ToolFilter::default()
        },
        ..Options::default()
    };
    let record = format!("{{\"result\":{:?}}}", "word ".repeat(3_000));
    let object = Object::parse(&record).expect("an object");
    let text = object.text_of("result").expect("a text");
    let raw = object.get("result").expect("a member");
    let mut pruner = Pruner::new(&policy, MessageCounter::new(Encoding::O200kBase), true);
    for tool in ["read", "ls"] {
        let call = Part::Call(Call {
            id: Some("c".into()),
            name: tool.into(),
            arguments: "{}".into(),
            slot: None,
        });
        let result = Part::Result(ToolResult {
            id: Some("c".into()),
            parts: vec![Part::Text(text.clone())],
            slot: Some(Slot::text(&object, raw)),

            ..ToolResult::default()
        });
        let message = Message::new(Role::Assistant, vec![call, result]);
        pruner.message(&Outline::of_line(), &message, &object, false);
    }
    let verdicts = pruner.finish();
    assert_eq!([0, 1].map(|record| verdicts.is_changed(record)), [false, true]);
}

#[test]
fn where_the_user_must_be_first_more_is_kept() {
    let lines: Vec<String> = [
        r#"{"role":"user","content":"1"}"#,
        r#"{"role":"assistant","content":"2"}"#,
        r#"{"role":"user","content":"3"}"#,
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]}"#,
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"r"}]}"#,
        r#"{"role":"assistant","content":"4"}"#,
        r#"{"role":"user","content":"5"}"#,
    ]
    .map(str::to_owned)
    .to_vec();
    let kept = |user_first, messages| {
        let policy = Options { window_messages: Some(messages), user_first, ..Options::default() };
        let (left, _) = prune_with(anthropic(), &policy, &lines, &[]);
        (0..lines.len()).filter(|index| left[*index].is_some()).collect::<Vec<_>>()
    };
    assert_eq!(kept(true, 1), [6]);
    assert_eq!(kept(false, 2), [5, 6]);
    assert_eq!(kept(true, 2), [2, 3, 4, 5, 6]);
    assert_eq!(kept(true, 4), [2, 3, 4, 5, 6]);
    assert_eq!(kept(true, 6), [0, 1, 2, 3, 4, 5, 6]);
}

#[test]
fn one_gathering_serves_a_policy_with_fewer_rules() {
    let session = Session::default().tool("ls", "{}", &"word ".repeat(3_000)).tool(
        "ls",
        "{}",
        &long("short"),
    );
    let both = Options { trim: Some(Trim::default()), ..clear() };
    let trims = Options { clear: None, ..both.clone() };
    let rules = |verdicts: &Verdicts<'_>| {
        let rules = verdicts.sums();
        rules.by_rule().map(|(rule, sum)| (rule, sum.changes)).collect::<Vec<_>>()
    };
    let verdicts = decided(chat(), &both, true, &session.0, &[]);
    let tokens = verdicts.size().tokens;
    assert_eq!(rules(&verdicts), [(Rule::Clear, 2)]);
    let verdicts = verdicts.under(&trims);
    assert_eq!(rules(&verdicts), [(Rule::Trim, 1)]);
    assert!(verdicts.size().tokens > tokens);
    let verdicts = verdicts.under(&both);
    assert_eq!(verdicts.size().tokens, tokens);
}

#[test]
fn reasoning_that_says_nothing_goes_too() {
    let policy = Options { drop: vec![Rule::Reasoning], ..Options::default() };
    let lines = [
        r#"{"role":"user","content":"a"}"#,
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"s"},{"type":"text","text":"b"}]}"#,
        r#"{"role":"user","content":"c"}"#,
    ]
    .map(str::to_owned);
    let (left, freed) = pruned(anthropic(), &policy, &lines, &[]);
    let expected = Freed { rule: Rule::Reasoning, before: 0, after: 0 };
    assert_eq!(freed, [expected]);
    let without = r#"{"role":"assistant","content":[{"type":"text","text":"b"}]}"#;
    assert_eq!(left[1].as_deref(), Some(without));
}
