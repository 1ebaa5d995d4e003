//! Tests that the members which opencode needs to import a session are written.

use ctx_format::convert::Converter;
use ctx_format::dialect;
use serde_json::{Value, json};

use crate::support::{bytes_of, losses};

const SESSION: &str = r#"{"role":"user","content":"earlier","timestamp":"2026-01-01T00:00:00.000Z"}
{"role":"user","name":"ctx_summary","content":"what was"}
{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}],"timestamp":"2026-01-01T00:00:01.000Z"}
{"role":"assistant","content":"yes","tool_calls":[{"id":"a","type":"function","function":{"name":"ls","arguments":"{\"x\":1}"}},{"id":"b","type":"function","function":{"name":"cat","arguments":"{}"}}]}
{"role":"tool","tool_call_id":"b","content":"no such file","is_error":true}
{"role":"tool","tool_call_id":"a","content":"out"}
{"role":"assistant","content":"done"}
"#;

fn document(session: &str) -> Value {
    let to = dialect::by_name("opencode").expect("a dialect");
    let (bytes, report) =
        bytes_of(session.as_bytes(), Converter { times: true, ..Converter::new(to) });
    assert_eq!(losses(&report), ["BeforeSummary  1"]);
    serde_json::from_slice(&bytes).expect("a document")
}

#[test]
fn a_session_is_one_document() {
    let document = document(SESSION);
    let id = &document["info"]["id"];
    assert!(id.as_str().is_some_and(|id| id.starts_with("ses_")), "{id}");
    let messages = document["messages"].as_array().expect("a list");
    let roles: Vec<&Value> = messages.iter().map(|message| &message["info"]["role"]).collect();
    assert_eq!(roles, ["user", "user", "assistant", "user", "assistant", "assistant"]);
    let mut ids: Vec<(i64, &str)> = Vec::new();
    for message in messages {
        let info = &message["info"];
        assert_eq!(&info["sessionID"], id);
        let created = info["time"]["created"].as_i64().expect("a time");
        ids.push((created, info["id"].as_str().expect("an id")));
        for part in message["parts"].as_array().expect("parts") {
            assert_eq!((&part["sessionID"], &part["messageID"]), (id, &info["id"]));
        }
    }
    assert!(ids.is_sorted(), "{ids:?}");
}

#[test]
fn a_call_and_its_result_are_one_part() {
    let document = document(SESSION);
    let reply = &document["messages"][4];
    let parts = reply["parts"].as_array().expect("parts");
    assert_eq!(parts[0]["text"], "yes");
    assert_eq!(parts[1]["callID"], "a");
    assert_eq!(parts[1]["state"]["input"], json!({"x": 1}));
    assert_eq!(parts[1]["state"]["output"], "out");
    assert_eq!(parts[2]["state"]["status"], "error");
    assert_eq!(parts[2]["state"]["error"], "no such file");
    let url = &document["messages"][3]["parts"][1]["url"];
    assert_eq!(url, "data:image/png;base64,iVBORw0KGgo=");
}

/// opencode sends the summary before the messages that precede it.
#[test]
fn a_summary_keeps_the_messages_before_it() {
    let document = document(SESSION);
    let [first, request, summary] = [0, 1, 2].map(|at| &document["messages"][at]);
    assert_eq!(request["parts"][0]["tail_start_id"], first["info"]["id"]);
    assert_eq!(summary["info"]["parentID"], request["info"]["id"]);
    assert_eq!(summary["info"]["summary"], true);
    assert_eq!(summary["parts"][0]["text"], "what was");
}
