use super::Responses;
use crate::dialect::{ALL, Dialect, Sniff};
use crate::{Edits, Object, Options, Part, Records, Role, Rule, Validator};

const CALL: &str = r#"{"type":"function_call","call_id":"c","name":"ls","arguments":"{\"p\": 1}","id":"fc_1","status":"completed"}"#;
const OUTPUT: &str = r#"{"type":"function_call_output","call_id":"c","output":"a.txt"}"#;
const REASONING: &str = r#"{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"gAAA"}"#;

fn object(text: &str) -> Object<'_> {
    Object::parse(text).expect("an object")
}

/// The kind and the content of each part.
fn parts(text: &str) -> Vec<(&'static str, String)> {
    let object = object(text);
    let message = Responses.message(&object).expect("a message");
    let parts = message.parts.into_iter().map(|part| match part {
        Part::Text(text) => ("text", text.into_owned()),
        Part::Refusal(text) => ("refusal", text.into_owned()),
        Part::Reasoning(text) => ("reasoning", text.into_owned()),
        Part::Call(call) => ("call", format!("{}({})", call.name, call.arguments)),
        Part::Result(result) => ("result", result.text().unwrap_or_default().into_owned()),
        Part::Media(media) => ("media", media.kind.to_owned()),
        Part::Opaque(raw) => ("opaque", raw.into_owned()),
    });
    parts.collect()
}

#[test]
fn items_are_told_from_records_of_other_formats() {
    let own = [
        CALL,
        OUTPUT,
        REASONING,
        r#"{"type":"message","role":"developer","content":[{"type":"input_text","text":"x"}]}"#,
        r#"{"role":"user","content":[{"type":"input_image","image_url":"data:"}]}"#,
        r#"{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"no"}]}"#,
        r#"{"type":"web_search_call","id":"ws_1"}"#,
        r#"{"type":"compaction","encrypted_content":"gAAA"}"#,
        r#"{"type":"mcp_approval_request","id":"a","name":"n","arguments":"{}"}"#,
    ];
    for text in own {
        let sure = |dialect: &dyn Dialect| dialect.sniff(&object(text));
        for dialect in ALL {
            let is_own = dialect.name() == Responses.name();
            assert_eq!(sure(dialect) == Sniff::Yes, is_own, "{text}");
        }
    }
    for text in [
        r#"{"role":"user","content":"hi"}"#,
        r#"{"role":"assistant","content":[{"type":"refusal","refusal":"no"}]}"#,
        r#"{"role":"tool","tool_call_id":"c","content":"x"}"#,
        r#"{"type":"message","id":"1","message":{"role":"user","content":"hi"}}"#,
        r#"{"type":"compaction","id":"1","summary":"s","firstKeptEntryId":"2"}"#,
        r#"{"type":"reasoning"}"#,
    ] {
        assert_eq!(Responses.sniff(&object(text)), Sniff::No, "{text}");
    }
    // The texts that precede the call do not reveal the dialect.
    let session = format!("{{\"role\":\"user\",\"content\":\"hi\"}}\n{CALL}\n");
    let records = Records::open(session.as_bytes(), &Options::default()).expect("from memory");
    assert_eq!(records.dialect().map(Dialect::name), Some("responses"));
}

#[test]
fn each_item_has_its_role_and_its_parts() {
    let role = |text: &str| Responses.outline(&object(text)).map(|outline| outline.role);
    assert_eq!(role(CALL), Some(Role::Assistant));
    assert_eq!(parts(CALL), [("call", "ls({\"p\": 1})".to_owned())]);
    assert_eq!(role(OUTPUT), Some(Role::Tool));
    assert_eq!(parts(OUTPUT), [("result", "a.txt".to_owned())]);
    assert_eq!(role(REASONING), Some(Role::Assistant));
    assert_eq!(
        parts(REASONING),
        [("reasoning", "hm".to_owned()), ("opaque", "\"gAAA\"".to_owned())]
    );
    let open = r#"{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"so"}],"encrypted_content":null}"#;
    assert_eq!(parts(open), [("reasoning", "so".to_owned())]);
    let search = r#"{"type":"web_search_call","id":"ws_1","action":{"query":"q"}}"#;
    assert_eq!(parts(search), [("opaque", search.to_owned())]);
    let image = r#"{"type":"image_generation_call","id":"ig_1","result":"aGk="}"#;
    assert_eq!(parts(image), [("media", "image_generation_call".to_owned())]);
    let shell = r#"{"type":"local_shell_call","call_id":"s","action":{"command":["ls"]}}"#;
    assert_eq!(parts(shell), [("call", r#"local_shell({"command":["ls"]})"#.to_owned())]);
    let said = r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"see"},{"type":"input_image","image_url":"data:"},{"type":"new"}]}"#;
    assert_eq!(
        parts(said),
        [
            ("text", "see".to_owned()),
            ("media", "input_image".to_owned()),
            ("opaque", "{\"type\":\"new\"}".to_owned())
        ]
    );
    for none in [
        r#"{"type":"brand_new","id":"x"}"#,
        r#"{"role":"tool","content":"x"}"#,
        r#"{"type":"message","message":{}}"#,
    ] {
        assert_eq!(Responses.outline(&object(none)), None, "{none}");
        assert_eq!(Responses.message(&object(none)), None, "{none}");
    }
}

#[test]
fn calls_and_results_pair_by_their_own_id() {
    let ids = |text: &str| {
        let object = object(text);
        let outline = Responses.outline(&object).expect("a message");
        let own = |ids: Vec<std::borrow::Cow<'_, str>>| ids.concat();
        (own(outline.calls), own(outline.results))
    };
    let pair = |call: &str, result: &str| (call.to_owned(), result.to_owned());
    // `id` only names the item; `call_id` pairs it with its result.
    assert_eq!(ids(CALL), pair("c", ""));
    assert_eq!(ids(OUTPUT), pair("", "c"));
    let approval = r#"{"type":"mcp_approval_request","id":"a","name":"n","arguments":"{}"}"#;
    assert_eq!(ids(approval), pair("a", ""));
    let approved = r#"{"type":"mcp_approval_response","approval_request_id":"a","approve":true}"#;
    assert_eq!(ids(approved), pair("", "a"));
    let shell = r#"{"type":"local_shell_call_output","id":"s","output":"x"}"#;
    assert_eq!(ids(shell), pair("", "s"));
    // The server made and answered this call itself.
    let search = r#"{"type":"tool_search_call","call_id":null,"execution":"server"}"#;
    assert_eq!(ids(search), pair("", ""));
    let done = r#"{"type":"mcp_call","id":"m","name":"n","output":"x"}"#;
    assert_eq!(ids(done), pair("", ""));
}

#[test]
fn results_may_come_later() {
    let user = r#"{"role":"user","content":"hi"}"#;
    let problems = |records: &[&str]| {
        let mut validator = Validator::new(Responses.rules());
        for (line, text) in (1..).zip(records) {
            let object = object(text);
            validator.push(line, &Responses.outline(&object).expect("a message"));
        }
        let problems = validator.finish().into_iter();
        problems.map(|it| (it.line, it.rule)).collect::<Vec<_>>()
    };
    assert_eq!(problems(&[user, REASONING, CALL, user, OUTPUT]), []);
    assert_eq!(problems(&[OUTPUT, user]), [(1, Rule::OrphanResult)]);
    assert_eq!(problems(&[CALL, user]), [(1, Rule::UnansweredCall)]);
}

#[test]
fn only_texts_take_the_place_of_a_text() {
    let slot = |text: &str| {
        let object = object(text);
        let message = Responses.message(&object).expect("a message");
        let slots = message.results().filter_map(|result| result.slot.clone());
        let slot = slots.chain(message.calls().filter_map(|call| call.slot.clone()));
        let slot = slot.last()?;
        let mut edits = Edits::default();
        edits.put(&slot, "[]");
        Some(edits.of_object(&object))
    };
    assert_eq!(
        slot(OUTPUT).as_deref(),
        Some(r#"{"type":"function_call_output","call_id":"c","output":"[]"}"#)
    );
    let free = r#"{"type":"custom_tool_call","call_id":"c","name":"n","input":"x"}"#;
    assert_eq!(slot(free), Some(free.replace("\"x\"", "\"[]\"")));
    let shell = r#"{"type":"shell_call","call_id":"c","action":{}}"#;
    assert_eq!(slot(shell), Some(shell.replace("{}", "[]")));
    let screen = r#"{"type":"computer_call_output","call_id":"c","output":{"type":"x"}}"#;
    assert_eq!(slot(screen), None);
}

#[test]
fn a_summary_is_recognized_and_begins_no_turn() {
    let text = Responses.summary_record(Role::User, "all \"that\"\nwas");
    let record = object(&text);
    assert_eq!(Responses.summary_text(&record).as_deref(), Some("all \"that\"\nwas"));
    let outline = Responses.outline(&record).expect("a message");
    assert_eq!((outline.is_summary, outline.begins_turn), (true, false));
    let asked = object(r#"{"role":"user","content":"hi"}"#);
    assert!(Responses.outline(&asked).expect("a message").begins_turn);
}
