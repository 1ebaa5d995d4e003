//! The parts of a message in the Gemini API: texts, calls, results and media.

use std::borrow::Cow;

use crate::dialect::content::call_of;
use crate::{Call, MediaPlace, Object, Part, Slot, ToolResult, json, scan};

/// The kind of a part, as determined by its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartKind {
    Text,
    Thought,
    Call,
    Result,
    Media(&'static str),
    Other,
}

/// Lists the raw parts of a message's content, which is a text, a part, or a list of texts and
/// parts.
pub(crate) fn list(content: Option<&str>) -> Vec<&str> {
    let list = |content| scan::elements(content).unwrap_or_else(|| vec![content]);
    content.filter(|raw| is_truthy(raw)).map_or_else(Vec::new, list)
}

/// Returns true if the value is truthy in JavaScript, the client's language.
fn is_truthy(raw: &str) -> bool {
    let is_zero = || raw.parse().is_ok_and(|number: f64| number == 0.0);
    !matches!(raw, "null" | "false" | "\"\"") && !is_zero()
}

fn has(part: &Object<'_>, key: &str) -> bool {
    part.get(key).is_some_and(is_truthy)
}

pub(crate) fn kind(raw: &str) -> PartKind {
    match Object::within(raw) {
        Some(part) => kind_of(&part),
        None if json::text(raw).is_some() => PartKind::Text,
        None => PartKind::Other,
    }
}

pub(crate) fn kind_of(part: &Object<'_>) -> PartKind {
    match KINDS.iter().find(|(key, _)| has(part, key)) {
        Some((_, kind)) => *kind,
        None if part.text_of("text").is_none() => PartKind::Other,
        None if has(part, "thought") => PartKind::Thought,
        None => PartKind::Text,
    }
}

/// The members that decide the kind of a part, whatever else it holds; the first of them counts.
const KINDS: [(&str, PartKind); 4] = [
    ("functionCall", PartKind::Call),
    ("functionResponse", PartKind::Result),
    ("inlineData", PartKind::Media("inlineData")),
    ("fileData", PartKind::Media("fileData")),
];

/// Returns true if the whole content of the part can be read. Some parts are accepted although
/// their content is not read: code that the API ran, its output, and thought signatures.
pub(crate) fn is_read(raw: &str) -> bool {
    const OTHERS: [&str; 4] =
        ["executableCode", "codeExecutionResult", "thoughtSignature", "thought"];
    kind(raw) != PartKind::Other
        || Object::within(raw).is_some_and(|part| {
            part.members().is_empty() || OTHERS.iter().any(|key| part.get(key).is_some())
        })
}

/// Returns true for calls and thoughts, which the client usually stores outside a reply's content.
pub(crate) fn is_call_or_thought(raw: &str) -> bool {
    Object::within(raw).is_some_and(|part| has(&part, "functionCall") || has(&part, "thought"))
}

/// Returns true if the part is empty. If a reply has an empty part, the client omits the whole
/// series of adjacent replies to which the reply belongs.
pub(crate) fn is_void(raw: &str) -> bool {
    let Some(part) = Object::within(raw) else { return raw == "\"\"" };
    let mut keys = part.members().iter().map(|member| &*member.key);
    part.members().is_empty()
        || part.get("text") == Some("\"\"")
            && kind_of(&part) == PartKind::Text
            && keys.all(|key| matches!(key, "text" | "thought" | "callIndex"))
}

/// The text of a text part; `None` for a part that is not a text.
pub(crate) fn text(raw: &str) -> Option<Cow<'_, str>> {
    match Object::within(raw) {
        Some(part) if kind_of(&part) == PartKind::Text => part.text_of("text"),
        Some(_) => None,
        None => json::text(raw),
    }
}

/// Returns the id or name that pairs a call with its result. `key` is the member of the part that
/// holds the call or the result.
pub(crate) fn name(raw: &str, key: &str) -> Option<String> {
    Some(name_of(&Object::within(raw)?.object_of(key)?))
}

/// The key that pairs calls with results: the id, or the name of the function if there is no id.
pub(crate) fn name_of(function: &Object<'_>) -> String {
    let id = function.text_of("id").filter(|id| !id.is_empty());
    let name = id.or_else(|| function.text_of("name"));
    name.unwrap_or_default().into_owned()
}

/// Reads the part `raw`, which is a value within `record`.
pub(crate) fn part<'a>(record: &Object<'a>, raw: &'a str) -> Part<'a> {
    let Some(object) = Object::within(raw) else {
        return json::text(raw).map_or(Part::Opaque(raw.into()), Part::Text);
    };
    let text = || object.text_of("text").unwrap_or_default();
    let of = |key| object.object_of(key);
    let part = match kind_of(&object) {
        PartKind::Text => Some(Part::Text(text())),
        PartKind::Thought => Some(Part::Reasoning(text())),
        PartKind::Call => of("functionCall").map(|it| Part::Call(call(record, &it))),
        PartKind::Result => of("functionResponse").map(|it| Part::Result(result(record, &it))),
        PartKind::Media(kind) => Some(Part::media(kind, raw)),
        PartKind::Other => None,
    };
    part.unwrap_or(Part::Opaque(raw.into()))
}

/// Reads the members `id`, `name` and `args` of `function`, a value within `record`, as a call.
pub(crate) fn call<'a>(record: &Object<'a>, function: &Object<'a>) -> Call<'a> {
    Call { id: function.text_of("id"), ..call_of(record, function, "args") }
}

fn result<'a>(record: &Object<'a>, function: &Object<'a>) -> ToolResult<'a> {
    let response = function.object_of("response");
    let media = list(function.get("parts"));
    let (mut parts, mut text) = (Vec::new(), None);
    // The model receives a response as an object, unless its only member is a string, as in
    // `{"output":"…"}` or `{"error":"…"}`.
    if let Some([member]) = response.as_ref().map(Object::members)
        && let Some(output) = json::text(member.value)
    {
        parts.push(Part::Text(output));
        text = Some(Slot::text(record, member.value));
    } else if let Some(raw) = function.get("response") {
        parts.push(Part::Opaque(raw.into()));
    }
    // A single text could not replace both the response and the media.
    let slot = text.clone().filter(|_| media.is_empty());
    parts.extend(media.into_iter().map(|raw| part(record, raw)));
    ToolResult {
        id: function.text_of("id"),
        name: function.text_of("name"),
        is_error: response.is_some_and(|response| response.get("error").is_some()),
        parts,
        media: MediaPlace::Apart { text },
        slot,
        ..ToolResult::default()
    }
}
