//! Problems of a session as the Gemini CLI 0.61.0 loads it, each tried with its own loader and with
//! what it sends.

use std::collections::HashSet;

use super::log::Place;
use super::message::SentMessage;
use super::part;
use super::turn::{Turn, Unanswered};
use crate::log::flaw::{Effect, Flaw, NO_TIME, Remedy, session_id};
use crate::log::tree::LineId;
use crate::repair::MISSING_RESULT;
use crate::{Edits, Object, counted, json};

/// Calls without a result, which the client sends so. Those at the end may still get theirs.
pub(super) fn unanswered(turns: &[(Place, &Turn)]) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    let (mut waiting, mut answered) = (Vec::new(), HashSet::new());
    for (place, turn) in turns {
        if let Turn::Results(ids) = turn {
            answered.extend(ids);
            continue;
        }
        flaws.extend(missing(&waiting, &answered, Effect::Refused));
        (waiting, answered) = (Vec::new(), HashSet::new());
        if let Turn::Reply { unanswered, .. } = turn {
            waiting.extend(unanswered.iter().map(|it| (place.record, it)));
        }
    }
    flaws.extend(missing(&waiting, &answered, Effect::Waits));
    flaws
}

/// The calls that wait and were not answered, by their records.
fn missing(
    waiting: &[(usize, &Unanswered)],
    answered: &HashSet<&LineId>,
    effect: Effect,
) -> Vec<Flaw> {
    let missing = waiting.iter().filter(|(_, it)| !answered.contains(&it.call));
    missing.map(|(record, it)| unanswered_call(*record, it, effect)).collect()
}

fn unanswered_call(record: usize, Unanswered { id, .. }: &Unanswered, effect: Effect) -> Flaw {
    let what = format!(
        "tool call {id} has no result: the Gemini CLI sends it without one, which its API refuses"
    );
    let flaw = Flaw::new(record, "unanswered-call", effect, what);
    Flaw { id: Some(id.clone()), ..flaw.repaired_by(Remedy::Change(Vec::new())) }
}

/// A rewind to a message that is not there, and how many messages it took back.
pub(super) fn rewound(record: usize, gone: usize) -> Flaw {
    let gone = counted(gone, "message");
    let what = format!(
        "no message has the id of this rewind: the Gemini CLI removes all {gone} before it"
    );
    Flaw::new(record, "rewind-to-nowhere", Effect::Lost, what)
}

pub(super) fn no_header(record: usize, first: &Object<'_>) -> Flaw {
    let what = "no line of the file is a header: the Gemini CLI does not take it for a session";
    let time = first.text_of("timestamp");
    let time = time.as_deref().unwrap_or(NO_TIME);
    let (id, time) = (json::quoted(&session_id(time)), json::quoted(time));
    // No line names the project; the client takes any hash but an empty one.
    let header = format!(
        r#"{{"sessionId":{id},"projectHash":"0","startTime":{time},"lastUpdated":{time},"kind":"main"}}"#
    );
    Flaw::new(record, "no-header", Effect::Refused, what.to_owned())
        .repaired_by(Remedy::Before(header))
}

/// Gives the call `id` a result, in a record with these messages.
pub(super) fn answered(object: &Object<'_>, messages: &[Object<'_>], id: &str) -> Edits {
    let mut edits = Edits::new();
    let sent = messages.iter().filter_map(SentMessage::of);
    for call in sent.flat_map(|message| message.listed_calls()) {
        if part::name_of(&call) != id || !part::list(call.get("result")).is_empty() {
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
