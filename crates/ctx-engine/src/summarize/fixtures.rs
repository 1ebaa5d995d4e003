//! Sessions, plans and models for the tests in this folder.

use std::time::Duration;

use crate::message_counter::MessageCounter;
use ctx_format::dialect::Chat;
use ctx_format::{Dialect, Object, Options, Record, Records, Role};
use ctx_llm::{Client, Endpoint, RetryPolicy, Settings, Tape};
use ctx_policy::{Method, SignedReasoning};
use ctx_summary::{Recognizer, USUAL_PERCENT};
use ctx_testkit::{Act, Server};
use ctx_tokens::Encoding;

use super::old::OldZone;
use super::{Model, ModelSource, Needs, NewSession, Plan, TellSizes, Window, Writer};
use crate::Notes;

pub(super) const SYSTEM: &str = r#"{"role":"system","content":"You ship orders."}"#;
pub(super) const ASK: &str = r#"{"role":"user","content":"Please ship order W8123 today."}"#;
pub(super) const CALL: &str = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"ship","arguments":"{}"}}]}"#;
pub(super) const RESULT: &str =
    r#"{"role":"tool","tool_call_id":"c","content":"W8123 is shipped"}"#;
pub(super) const DONE: &str = r#"{"role":"assistant","content":"It is shipped."}"#;
pub(super) const THANKS: &str = r#"{"role":"user","content":"谢谢"}"#;

pub(super) const LEDGER: Needs = Needs { ledger: true, model: false };

pub(super) fn plan() -> Plan {
    Plan {
        recognizer: Recognizer::default(),
        role: Role::User,
        counter: MessageCounter::new(Encoding::Chars4),
        strict: false,
        drop_bad: false,
        tell_sizes: TellSizes::Never,
        saved: ctx_format::Saved::Perhaps,
        signed_reasoning: SignedReasoning::Auto,
        temp: std::env::temp_dir(),
    }
}

pub(super) fn by_rule() -> Writer {
    Writer::offline(Method::Rule, None)
}

/// Passes each line of a session to `handle` as a record.
pub(super) fn each(lines: &[&str], mut handle: impl FnMut(&Record<'_>)) {
    let text = lines.join("\n") + "\n";
    let mut records = Records::open(text.as_bytes(), &Options::default()).expect("from memory");
    while let Some(record) = records.next().expect("from memory") {
        handle(&record);
    }
}

/// Adds a tag with the given members to a line.
pub(super) fn tagged(tag: &str, line: &str) -> String {
    format!("{{\"_ctx\":{{{tag}}},{}", &line[1..])
}

/// Creates an old zone with these messages.
pub(super) fn old(plan: &Plan, needs: Needs, lines: &[&str]) -> OldZone {
    let mut old = OldZone::new(plan, needs, None);
    for (line, text) in (1..).zip(lines) {
        let object = Object::parse(text).expect("an object");
        let message = Chat.message(&object).expect("a message");
        let earlier = plan.recognizer.summary_in(&Chat, &object, &message);
        old.push(line, &plan.recognizer.as_said(&message), text.len(), earlier);
    }
    old.finish_reading();
    old
}

/// Returns the lines of a new session.
pub(super) fn lines(session: &mut NewSession) -> Vec<String> {
    let mut bytes = Vec::new();
    session.write(&mut bytes).expect("to memory");
    let text = String::from_utf8(bytes).expect("text");
    text.lines().map(str::to_owned).collect()
}

/// Returns the texts of the notes.
pub(super) fn texts(notes: &mut Notes) -> Vec<String> {
    notes.take().into_iter().map(|note| note.text).collect()
}

fn model(source: ModelSource) -> Model {
    Model {
        source,
        template: "## Goal\n\n{{earlier}}\n\n{{transcript}}".parse().expect("a template"),
        is_default: false,
        instructions: String::new(),
        target: Some(100),
        most_percent: USUAL_PERCENT,
        accepts_longer: false,
        window: Window::of_model(Some(8_000), None),
        must_answer: false,
        headings: None,
        now: chrono::Utc::now,
    }
}

/// Creates a model without recorded answers.
pub(super) fn silent_model() -> Model {
    let tape = Tape::new(std::env::temp_dir().join("no-such-folder"), None);
    model(ModelSource::Replayed(tape))
}

/// Creates a model that gives these answers, along with its server.
pub(super) fn answering_model(answers: &[&str]) -> (Model, Server) {
    let answer = |text: &&str| {
        let choice = serde_json::json!({"message": {"content": text}, "finish_reason": "stop"});
        Act::ok(&serde_json::json!({"choices": [choice]}).to_string())
    };
    acting_model(answers.iter().map(answer))
}

/// Creates a model whose server performs these actions.
pub(super) fn acting_model(acts: impl IntoIterator<Item = Act>) -> (Model, Server) {
    let server = Server::new(acts);
    let client = Client::new(Settings {
        endpoint: Endpoint::new(&server.url, None).expect("an endpoint"),
        model: None,
        key: None,
        key_in_clear: false,
        connect_timeout: Duration::from_secs(5),
        answer_timeout: Duration::from_secs(5),
        retry: RetryPolicy { attempts: 1, backoff: Duration::ZERO },
        proxy: None,
    })
    .expect("there is no key");
    (model(ModelSource::Server(client)), server)
}
