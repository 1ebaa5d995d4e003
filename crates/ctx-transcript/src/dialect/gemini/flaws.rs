//! What is wrong with a session as the Gemini CLI 0.61.0 loads it, each tried with its own
//! loader and with what it sends.

use super::message::Said;
use super::part;
use super::turn::{Place, Turn, Unanswered};
use crate::counted;
use crate::dialect::made::{NO_TIME, id_of};
use crate::flaw::{Effect, Flaw, Remedy};
use crate::repair::MISSING_RESULT;
use crate::{Edits, Object, json};

/// Calls without a result: the client sends them so. Those at the end may still get theirs.
pub(super) fn unanswered(turns: &[(Place, &Turn)]) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    let mut waiting: Vec<(usize, &Unanswered)> = Vec::new();
    for (place, turn) in turns {
        match turn {
            Turn::Results(keys) => waiting.retain(|(_, call)| !keys.contains(&call.key)),
            Turn::User | Turn::Reply { .. } => {
                let left = waiting.drain(..);
                flaws.extend(left.map(|(record, call)| of_call(record, call, Effect::Refused)));
            }
        }
        if let Turn::Reply { unanswered, .. } = turn {
            waiting.extend(unanswered.iter().map(|call| (place.record, call)));
        }
    }
    let left = waiting.into_iter();
    flaws.extend(left.map(|(record, call)| of_call(record, call, Effect::Waits)));
    flaws
}

fn of_call(record: usize, call: &Unanswered, effect: Effect) -> Flaw {
    let id = &call.id;
    let what = format!(
        "tool call {id} has no result: the Gemini CLI sends it without one, which its API refuses"
    );
    Flaw {
        id: Some(id.clone()),
        ..Flaw::new(record, "unanswered-call", effect, what)
    }
    .repaired_by(Remedy::Change(Vec::new()))
}

/// A rewind to a message that is not there, and how many it took back.
pub(super) fn rewound(record: usize, gone: usize) -> Flaw {
    let gone = counted(gone, "message");
    let what = format!(
        "no message has the id that is gone back to: the Gemini CLI takes back all {gone} before it"
    );
    Flaw::new(record, "rewind-to-nowhere", Effect::Lost, what)
}

/// The log has no header.
pub(super) fn headless(record: usize, first: &Object<'_>) -> Flaw {
    let what = "no line of the file is a header: the Gemini CLI does not take it for a session";
    let time = first.text_of("timestamp");
    let time = time.as_deref().unwrap_or(NO_TIME);
    let (id, time) = (json::quoted(&id_of(time)), json::quoted(time));
    // No line tells the project; the client takes any hash but an empty one.
    let header = format!(
        r#"{{"sessionId":{id},"projectHash":"0","startTime":{time},"lastUpdated":{time},"kind":"main"}}"#
    );
    Flaw::new(record, "no-header", Effect::Refused, what.to_owned())
        .repaired_by(Remedy::Before(header))
}

/// The record of messages with a result for the call `id` beside it.
pub(super) fn answered(object: &Object<'_>, messages: &[Object<'_>], id: &str) -> Edits {
    let mut edits = Edits::new();
    let said = messages.iter().filter_map(Said::of);
    let calls = said.flat_map(|said| said.listed_calls());
    for call in calls.filter(|call| part::name_of(call) == id) {
        if !part::list(call.get("result")).is_empty() {
            continue;
        }
        let text = |key| json::quoted(&call.text_of(key).unwrap_or_default());
        let (id, name, missing) = (text("id"), text("name"), json::quoted(MISSING_RESULT));
        let result = format!(
            r#"[{{"functionResponse":{{"id":{id},"name":{name},"response":{{"error":{missing}}}}}}}]"#
        );
        let start = object.place_of(call.text()).start;
        edits.set(start, &call, "result", &result);
    }
    edits
}
