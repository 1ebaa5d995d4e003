//! The parts of a content of the Gemini API: texts, calls, results, media.

use std::borrow::Cow;

use crate::{Call, Denial, Object, Part, Slot, ToolResult, json, within};

/// What a part is, by the member that decides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Thought,
    Call,
    Result,
    Media(&'static str),
    Other,
}

/// The raw parts of a content, which may be a text, a part, or a list of both. None where it
/// is empty.
pub(super) fn list(content: Option<&str>) -> Vec<&str> {
    let Some(content) = content.filter(|raw| is_true(raw)) else {
        return Vec::new();
    };
    within::elements(content).unwrap_or_else(|| vec![content])
}

/// Whether the client, which is written in JavaScript, takes the value for something.
fn is_true(raw: &str) -> bool {
    let is_zero = || raw.parse().is_ok_and(|number: f64| number == 0.0);
    !matches!(raw, "null" | "false" | "\"\"") && !is_zero()
}

pub(super) fn kind(raw: &str) -> Kind {
    match Object::within(raw) {
        Some(part) => kind_of(&part),
        None if json::text(raw).is_some() => Kind::Text,
        None => Kind::Other,
    }
}

fn kind_of(part: &Object<'_>) -> Kind {
    let has = |key| part.get(key).is_some_and(is_true);
    if has("functionCall") {
        Kind::Call
    } else if has("functionResponse") {
        Kind::Result
    } else if has("inlineData") {
        Kind::Media("inlineData")
    } else if has("fileData") {
        Kind::Media("fileData")
    } else if part.text_of("text").is_none() {
        Kind::Other
    } else if has("thought") {
        Kind::Thought
    } else {
        Kind::Text
    }
}

/// Whether all of a part is read. The API has others: code that it has run itself, with what
/// came of it, and the signature of a thought.
pub(super) fn is_read(raw: &str) -> bool {
    const OTHERS: [&str; 4] = [
        "executableCode",
        "codeExecutionResult",
        "thoughtSignature",
        "thought",
    ];
    kind(raw) != Kind::Other
        || Object::within(raw).is_some_and(|part| {
            part.members().is_empty() || OTHERS.iter().any(|key| part.get(key).is_some())
        })
}

/// Whether it is what stands beside the content of a reply where the content has none of it.
pub(super) fn is_call_or_thought(raw: &str) -> bool {
    let has = |part: &Object<'_>, key| part.get(key).is_some_and(is_true);
    Object::within(raw).is_some_and(|part| has(&part, "functionCall") || has(&part, "thought"))
}

/// Whether it is nothing to the model: the client leaves out the replies about it.
pub(super) fn is_void(raw: &str) -> bool {
    let Some(part) = Object::within(raw) else {
        return raw == "\"\"";
    };
    let is_text_alone = |key: &str| matches!(key, "text" | "thought" | "callIndex");
    let mut keys = part.members().iter().map(|member| &*member.key);
    part.members().is_empty()
        || (part.get("text") == Some("\"\"") && kind_of(&part) == Kind::Text)
            && keys.all(is_text_alone)
}

/// The text of a part that is one.
pub(super) fn text(raw: &str) -> Option<Cow<'_, str>> {
    match Object::within(raw) {
        Some(part) if kind_of(&part) == Kind::Text => part.text_of("text"),
        Some(_) => None,
        None => json::text(raw),
    }
}

/// What pairs a call with its results: the id, or the name where there is none.
pub(super) fn name(raw: &str, key: &str) -> Option<String> {
    let function = Object::within(raw)?.object_of(key)?;
    Some(name_of(&function))
}

pub(super) fn name_of(function: &Object<'_>) -> String {
    let id = function.text_of("id").filter(|id| !id.is_empty());
    let name = id.or_else(|| function.text_of("name"));
    name.unwrap_or_default().into_owned()
}

/// The part that `raw`, a value within `record`, is.
pub(super) fn part<'a>(record: &Object<'a>, raw: &'a str) -> Part<'a> {
    let opaque = || Part::Opaque(raw.into());
    let Some(object) = Object::within(raw) else {
        return json::text(raw).map_or_else(opaque, Part::Text);
    };
    let text = || object.text_of("text").unwrap_or_default();
    let within = |key| object.object_of(key);
    match kind_of(&object) {
        Kind::Text => Part::Text(text()),
        Kind::Thought => Part::Reasoning(text()),
        Kind::Call => {
            within("functionCall").map_or_else(opaque, |it| Part::Call(call(record, &it)))
        }
        Kind::Result => {
            within("functionResponse").map_or_else(opaque, |it| Part::Result(result(record, &it)))
        }
        Kind::Media(kind) => Part::media(kind, raw),
        Kind::Other => opaque(),
    }
}

/// A call: `id`, `name` and `args` of `function`, which is a value within `record`.
pub(super) fn call<'a>(record: &Object<'a>, function: &Object<'a>) -> Call<'a> {
    let arguments = function.get("args");
    Call {
        id: function.text_of("id"),
        name: function.text_of("name").unwrap_or_default(),
        arguments: Cow::Borrowed(arguments.unwrap_or_default()),
        slot: arguments.map(|raw| Slot::json(record, raw)),
    }
}

fn result<'a>(record: &Object<'a>, function: &Object<'a>) -> ToolResult<'a> {
    let response = function.get("response");
    let object = function.object_of("response");
    let mut parts = Vec::new();
    let mut slot = None;
    match object.as_ref().and_then(only_text) {
        Some((raw, text)) => {
            parts.push(Part::Text(text));
            slot = Some(Slot::text(record, raw));
        }
        None => parts.extend(response.map(|raw| Part::Opaque(raw.into()))),
    }
    // What else a tool has brought stands beside the response, and no text replaces both.
    let media = list(function.get("parts"));
    if !media.is_empty() {
        slot = None;
    }
    parts.extend(media.into_iter().map(|raw| part(record, raw)));
    ToolResult {
        id: function.text_of("id"),
        name: function.text_of("name"),
        is_error: object.is_some_and(|object| object.get("error").is_some()),
        denial: Denial::None,
        parts,
        slot,
    }
}

/// The text of a response that is one: `{"output":"…"}`, `{"error":"…"}`. Of another one the
/// model is sent the object.
fn only_text<'a>(response: &Object<'a>) -> Option<(&'a str, Cow<'a, str>)> {
    let [member] = response.members() else {
        return None;
    };
    Some((member.value, json::text(member.value)?))
}
