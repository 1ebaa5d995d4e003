//! OpenAI chat messages, one per record, in the format described in the Chat Completions API
//! reference.

use crate::compaction::LineText;
use crate::dialect::content::{
    SUMMARY_NAME, bad_images, blocks, kind_of, parts, role_of, summary_text, text_or_json,
};
use crate::dialect::interface::{Dialect, Sniff};
use crate::dialect::items;
use crate::dialect::sign::Sign;
use crate::dialect::unread::has_text;
use crate::legality::content::{ANY_NAME, Mend, NO_CONTENT, Names, Naming};
use crate::record::edit::cut_members;
use crate::repair::{MISSING_RESULT, RecordChange};
use crate::{
    Call, Member, Message, Object, Outline, Part, Role, Rule, Slot, ToolResult, Unread, json, scan,
};
use std::borrow::Cow;
use std::sync::LazyLock;

/// The dialect `chat`.
pub struct Chat;

/// Returns the role of a message that is to have only content. Such a message cannot have a tool's
/// role, or a role that this API does not define.
pub(crate) fn role_in_text(role: Role) -> Role {
    if matches!(role, Role::Tool | Role::Function | Role::Other) { Role::User } else { role }
}

/// What the API accepts as the id of a call (github.com/vercel/ai/issues/8132).
const CALL_ID: Naming = Naming { max: 40, ..ANY_NAME };
/// What the API accepts as the name of a function.
const FUNCTION: Naming = Naming { max: 64, is_word: true, ..ANY_NAME };

/// The members in which `DeepSeek` and API routers return a model's reasoning.
const REASONING: [&str; 2] = ["reasoning_content", "reasoning"];

/// The types of media parts, apart from `file`. Video and audio URLs are supported only by servers
/// that offer this API for other vendors' models.
const MEDIA: [&str; 4] = ["image_url", "input_audio", "video_url", "audio_url"];

/// The members that can hold a message's content. Every message has at least one of these members.
const SAID: [&str; 7] =
    ["content", "tool_calls", "function_call", "refusal", "audio", REASONING[0], REASONING[1]];

impl Dialect for Chat {
    fn name(&self) -> &'static str {
        "chat"
    }

    fn sniff(&self, object: &Object<'_>) -> Sniff {
        let Some(role) = role_of(object) else { return Sniff::No };
        let own_member =
            ["tool_calls", "tool_call_id", "function_call", "refusal", "reasoning_content"]
                .into_iter()
                .any(|key| object.get(key).is_some());
        match role {
            Role::Other => Sniff::No,
            // Responses API items can have a role, too.
            _ if items::is_own(object) => Sniff::No,
            Role::Tool | Role::Function | Role::Developer => Sniff::Yes,
            _ if own_member => Sniff::Yes,
            _ if object.get("content").is_none() => Sniff::No,
            _ if blocks(object).iter().any(is_own) => Sniff::Yes,
            _ => Sniff::Maybe,
        }
    }

    fn outline<'a>(&self, object: &Object<'a>) -> Option<Outline<'a>> {
        let mut outline = self.exchange(object)?;
        check(outline.role, object, &mut outline);
        Some(outline)
    }

    fn exchange<'a>(&self, object: &Object<'a>) -> Option<Outline<'a>> {
        let role = role_of(object)?;
        let is_summary = summary_text(object).is_some();
        let mut outline = Outline {
            role,
            begins_turn: role == Role::User && !is_summary,
            // The whole content of a tool message is the result.
            has_content: !matches!(role, Role::Tool | Role::Function),
            is_summary,
            ..Outline::of_line()
        };
        match role {
            Role::Assistant => {
                let calls = object.objects_of("tool_calls").into_iter().flatten();
                let id = |call: Option<Object<'a>>| call?.id_of("id");
                outline.calls.extend(calls.map(|call| id(call).unwrap_or_default()));
                if is_there(object.get("function_call")) {
                    outline.calls.push(Cow::Borrowed(""));
                }
            }
            Role::Tool | Role::Function => {
                let id = object.id_of("tool_call_id");
                outline.answers_in_order = id.is_none() && object.get("tool_name").is_some();
                outline.results.push(id.unwrap_or_default());
            }
            _ => {}
        }
        Some(outline)
    }

    fn is_message(&self, object: &Object<'_>) -> bool {
        role_of(object).is_some()
    }

    fn message<'a>(&self, object: &Object<'a>) -> Option<Message<'a>> {
        let role = role_of(object)?;
        // Ollama has its own member for the tool of a result.
        let name = object.text_of("name").or_else(|| object.text_of("tool_name"));
        let reasoning = REASONING.iter().filter_map(|key| object.text_of(key));
        let reasoning = reasoning.filter(|text| !text.is_empty());
        let mut said: Vec<Part<'a>> = reasoning.map(Part::Reasoning).collect();
        let content = parts(object.get("content"), &part);
        if matches!(role, Role::Tool | Role::Function) {
            said.push(Part::Result(ToolResult {
                id: object.id_of("tool_call_id"),
                name: name.clone(),
                is_error: object.is_true("is_error"),
                parts: content,
                slot: object.get("content").map(|raw| Slot::text(object, raw)),
                ..ToolResult::default()
            }));
        } else {
            said.extend(content);
        }
        let audio = object.object_of("audio").filter(|_| !is_there(object.get("content")));
        said.extend(audio.map(|audio| match audio.text_of("transcript") {
            Some(transcript) => Part::Text(transcript),
            None => Part::media("audio", audio.text()),
        }));
        said.extend(object.text_of("refusal").map(Part::Refusal));
        said.extend(calls_of(object).into_iter().map(Part::Call));
        let mut message = Message { name, ..Message::new(role, said) };
        if role == Role::Assistant {
            let is_reasoning = |member: &Member<'_>| REASONING.contains(&&*member.key);
            message.reasoning = cut_members(object, object, is_reasoning);
        }
        Some(message)
    }

    fn unread(&self, object: &Object<'_>) -> Option<Unread> {
        let Some(role) = object.get("role") else { return Some(Unread::item(self.name(), object)) };
        if role_of(object).is_none_or(|role| role == Role::Other) {
            return Some(Unread::role(self.name(), role));
        }
        if !SAID.iter().any(|key| object.get(key).is_some()) {
            return Some(Unread::within_message("a message without content or calls"));
        }
        if object.get("toolInvocations").is_some() {
            return Some(Unread::within_message("a member \"toolInvocations\""));
        }
        unread_call(object).or_else(|| Unread::in_content(object.get("content"), is_read))
    }

    fn names(&self) -> Names {
        Names { calls: CALL_ID, tools: FUNCTION }
    }

    fn mend(&self, object: &Object<'_>, mend: &mut Mend<'_, '_>) {
        if mend.has(Rule::EmptyMessage) {
            let content = object.get("content").unwrap_or_default();
            if texts_in_list(content).next().is_none() {
                mend.set(object, "content", &json::quoted(NO_CONTENT));
            }
            for text in texts_in_list(content) {
                mend.put(text, format!("{{\"type\":\"text\",\"text\":{text}}}"));
            }
        }
        mend.bad_images(blocks(object));
        if mend.has(Rule::EmptyCalls) {
            mend.cut_members(object, &["tool_calls"]);
        }
        // An image that is bad as well has become a text.
        let is_unofficial = mend.has(Rule::UnofficialPart) && !mend.has(Rule::BadImage);
        for part in unofficial_parts(object).filter(|_| is_unofficial) {
            match part.get("image_url").filter(|raw| raw.starts_with('"') && is_of_user(object)) {
                Some(url) => mend.put(url, format!("{{\"url\":{url}}}")),
                None => mend.replace_with_text(&part),
            }
        }
        if mend.has(Rule::LateSystem) {
            mend.put(object.get("role").unwrap_or_default(), "\"user\"".to_owned());
        }
        if mend.has(Rule::MissingReasoning) {
            mend.set(object, REASONING[0], "\" \"");
        }
        mend_names(object, mend);
    }

    fn summary_role(&self, wanted: Role) -> Role {
        role_in_text(wanted)
    }

    fn summary_record(&self, role: Role, text: &str) -> String {
        let (role, text) = (role.as_str(), json::quoted(text));
        format!(r#"{{"role":"{role}","name":"{SUMMARY_NAME}","content":{text}}}"#)
    }

    fn changed(&self, object: &Object<'_>, change: &RecordChange, _into: Vec<String>) -> String {
        let calls = object.objects_of("tool_calls").into_iter().flatten();
        let ids: Vec<_> = calls.map(|call| call?.get("id")).collect();
        change.renames(object, &ids, object.get("tool_call_id")).of_object(object)
    }

    fn missing_result(&self, call: &Object<'_>, id: &str) -> Option<String> {
        let line = match call.object_of("function_call") {
            // Calls in the deprecated format have no id.
            Some(function) if id.is_empty() => LineText::default()
                .text("role", "function")
                .text("name", &function.text_of("name").unwrap_or_default()),
            // Ollama's calls have no ids either.
            _ => LineText::default().text("role", "tool").some_text("tool_call_id", Some(id)),
        };
        Some(line.text("content", MISSING_RESULT).end())
    }
}

/// Returns the type of a call that states another type than its members have.
fn other_type(call: &Object<'_>) -> Option<&'static str> {
    let kind = kind_of(call);
    if kind.is_empty() || call.get(&kind).is_some() {
        return None;
    }
    ["function", "custom"].into_iter().find(|it| call.get(it).is_some())
}

/// Repairs the types and the ids of calls and, as some models demand, the names of functions.
fn mend_names(object: &Object<'_>, mend: &mut Mend<'_, '_>) {
    let calls: Vec<_> = object.objects_of("tool_calls").into_iter().flatten().flatten().collect();
    for (call, own) in calls.iter().filter_map(|call| Some((call, other_type(call)?))) {
        mend.set(call, "type", &json::quoted(own));
    }
    let ids = calls.iter().map(|call| call.get("id")).chain([object.get("tool_call_id")]);
    for raw in ids.flatten() {
        let id = json::text(raw).unwrap_or_default();
        if mend.has_id(Rule::BadCallId, &id) {
            let legal = Naming { min: 9, max: 9, ..FUNCTION }.legal(&id);
            mend.put(raw, json::quoted(&legal.replace(['_', '-'], "0")));
        }
    }
    let is_bad = mend.has(Rule::BadToolName) || mend.has(Rule::EmptyToolName);
    let lacks_input = mend.has(Rule::BadInput);
    for function in calls.iter().filter_map(|call| call.object_of("function")) {
        if lacks_input && lacks_arguments(&function) {
            mend.set(&function, "arguments", "\"{}\"");
        }
        if is_bad {
            mend.name(&function, "name", FUNCTION);
        }
    }
}

fn lacks_arguments(function: &Object<'_>) -> bool {
    !is_there(function.get("arguments"))
}

/// Returns the texts in a list of parts that are no parts themselves.
fn texts_in_list(content: &str) -> impl Iterator<Item = &str> {
    let parts = if content.starts_with('[') { scan::elements(content) } else { None };
    parts.into_iter().flatten().filter(|raw| raw.starts_with('"'))
}

fn is_of_user(message: &Object<'_>) -> bool {
    role_of(message) == Some(Role::User)
}

/// Returns the parts of a message that OpenAI's own API does not accept.
fn unofficial_parts<'a>(message: &Object<'a>) -> impl Iterator<Item = Object<'a>> {
    let sign = &UNOFFICIAL[usize::from(is_of_user(message))];
    blocks(message).into_iter().filter(|part| sign.is_of(part))
}

/// The signs of these parts, in messages that are not from the user and in those that are.
static UNOFFICIAL: LazyLock<[Sign; 2]> =
    LazyLock::new(|| serde_json::from_str(include_str!("unofficial.json")).expect("it is valid"));

/// The maximum number of calls in a reply.
const CALLS: usize = 128;

/// Adds the faults of a message's content to its outline.
fn check(role: Role, object: &Object<'_>, outline: &mut Outline<'_>) {
    let content = object.get("content");
    // Reasoning is not part of this API, so it does not count as content.
    let says = || SAID[1..5].iter().any(|key| is_there(object.get(key)));
    let is_empty = match content {
        None | Some("null") => !(role == Role::Assistant && says()),
        Some(raw) => is_empty_list(raw) || texts_in_list(raw).next().is_some(),
    };
    outline.fault_if(is_empty, Rule::EmptyMessage, "");
    let has_parts = content.is_some_and(|raw| raw.starts_with('['));
    outline.fault_if(has_parts && !bad_images(blocks(object)).is_empty(), Rule::BadImage, "");
    let calls = object.get("tool_calls");
    let is_list = |raw: &str| raw.starts_with('[') && !is_empty_list(raw);
    let is_misplaced = role != Role::Assistant && calls.is_some_and(is_list);
    outline.fault_if(is_misplaced, Rule::MisplacedBlock, "");
    // Whether these are faults depends on the model.
    let is_unofficial = has_parts && unofficial_parts(object).next().is_some();
    outline.fault_if(is_unofficial, Rule::UnofficialPart, "");
    outline.fault_if(outline.calls.len() > CALLS, Rule::TooManyCalls, "");
    let listed = calls.and_then(|_| object.objects_of("tool_calls")).into_iter().flatten();
    for (listed, id) in listed.zip(&outline.calls.clone()) {
        let is_short = id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        outline.fault_if(!is_short, Rule::BadCallId, id);
        let is_other = listed.as_ref().is_some_and(|call| other_type(call).is_some());
        outline.fault_if(is_other, Rule::MisplacedBlock, id);
        let function = listed.and_then(|call| call.object_of("function"));
        outline.fault_if(function.as_ref().is_some_and(lacks_arguments), Rule::BadInput, id);
        if let Some(function) = function {
            outline.check_tool_name(&function, FUNCTION, id);
        }
    }
    let reasoning = object.text_of(REASONING[0]).map(|text| !text.is_empty());
    if reasoning == Some(true) || !outline.calls.is_empty() {
        outline.content_mut().has_reasoning = Some(reasoning == Some(true));
    }
    let has_none = calls.is_some_and(|raw| raw == "null" || is_empty_list(raw));
    outline.fault_if(has_none, Rule::EmptyCalls, "");
    outline.check_surrogates(object.text());
}

fn is_empty_list(raw: &str) -> bool {
    raw.strip_prefix('[').is_some_and(|rest| rest.trim_ascii_start().starts_with(']'))
}

fn is_there(value: Option<&str>) -> bool {
    value.is_some_and(|raw| raw != "null")
}

/// Returns true if this content part cannot occur in any other dialect.
fn is_own(part: &Object<'_>) -> bool {
    let kind = kind_of(part);
    matches!(&*kind, "image_url" | "input_audio" | "refusal") || is_file(part)
}

/// Returns true for a file part in this API's format. Some programs use the type `file` for their
/// own parts.
fn is_file(part: &Object<'_>) -> bool {
    kind_of(part) == "file" && part.get("file").is_some_and(|raw| raw.starts_with('{'))
}

fn part<'a>(part: &Object<'a>) -> Option<Part<'a>> {
    match part.get("type")? {
        "\"text\"" => part.text_of("text").map(Part::Text),
        "\"refusal\"" => part.text_of("refusal").map(Part::Refusal),
        "\"file\"" => Some(Part::media("file", part.text().trim())),
        _ => Part::media_of(part, &MEDIA),
    }
}

/// Returns true if the whole content of the part can be read.
fn is_read(part: &Object<'_>) -> bool {
    match &*kind_of(part) {
        "text" => has_text(part, "text"),
        "refusal" => has_text(part, "refusal"),
        kind => MEDIA.contains(&kind) || is_file(part),
    }
}

/// Returns the first entry in the list of calls that cannot be read as a call, if any.
fn unread_call(object: &Object<'_>) -> Option<Unread> {
    object.get("tool_calls").filter(|raw| *raw != "null")?;
    let Some(mut calls) = object.objects_of("tool_calls") else {
        return Some(Unread::within_message("a tool_calls member that is not a list"));
    };
    let has = |call: &Object<'_>, key| call.get(key).is_some_and(|raw| raw.starts_with('{'));
    let is_call = |call: &Object<'_>| has(call, "custom") || has(call, "function");
    let unread = calls.find(|call| !call.as_ref().is_some_and(is_call))?;
    let kind = unread.map(|call| kind_of(&call).into_owned());
    Some(Unread::within_message(&match kind.as_deref() {
        None | Some("") => "a call without a function".to_owned(),
        Some(kind) => format!("a call of the type {kind:?}"),
    }))
}

/// Reads the calls of a reply. An entry of `tool_calls` is either
/// `{"id":…,"type":"function","function":{…}}` or a `custom` call, whose input is free text.
fn calls_of<'a>(object: &Object<'a>) -> Vec<Call<'a>> {
    let listed = object.objects_of("tool_calls").into_iter().flatten().flatten();
    let listed = listed.filter_map(|listed| {
        let id = Some(listed.id_of("id").unwrap_or_default());
        let custom = listed.object_of("custom").map(|custom| (custom, "input"));
        let call = custom.or_else(|| Some((listed.object_of("function")?, "arguments")));
        call.map(|(function, key)| (id, function, key))
    });
    let function = object.object_of("function_call").map(|it| (None, it, "arguments"));
    let calls = listed.chain(function).map(|(id, function, key)| {
        // Some servers return the arguments as an object instead of a string.
        let (arguments, slot) = text_or_json(object, function.get(key));
        Call { id, name: function.text_of("name").unwrap_or_default(), arguments, slot }
    });
    calls.collect()
}

#[cfg(test)]
mod tests {
    use super::Chat;
    use crate::dialect::Dialect;
    use crate::{Object, Part, Role};

    fn object(text: &str) -> Object<'_> {
        Object::parse(text).expect("an object")
    }

    #[test]
    fn calls_of_all_kinds_are_outlined() {
        let reply = object(
            r#"{"role":"assistant","content":null,"function_call":{"name":"old","arguments":"{}"},
            "tool_calls":[{"id":"a","type":"function","function":{"name":"ls","arguments":"{\"p\": 1}"}},
            {"id":"b","type":"custom","custom":{"name":"py","input":"print(1)"}}]}"#,
        );
        let outline = Chat.outline(&reply).expect("a message");
        assert_eq!(outline.calls, ["a", "b", ""]);
        let message = Chat.message(&reply).expect("a message");
        let calls: Vec<_> =
            message.calls().map(|call| (call.name.as_ref(), call.arguments.as_ref())).collect();
        assert_eq!(calls, [("ls", "{\"p\": 1}"), ("py", "print(1)"), ("old", "{}")]);
    }

    #[test]
    fn a_tool_message_is_a_result() {
        let result = object(
            r#"{"role":"tool","tool_call_id":"a","name":"ls","content":[{"type":"text","text":"x"}]}"#,
        );
        assert_eq!(Chat.outline(&result).expect("a message").results, ["a"]);
        let message = Chat.message(&result).expect("a message");
        assert_eq!(message.texts(), ["x"]);
        assert_eq!(message.results().next().and_then(|r| r.name.as_deref()), Some("ls"));
    }

    #[test]
    fn parts_are_told_apart() {
        let user = object(
            r#"{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:"}},{"type":"new"},"bare"]}"#,
        );
        let message = Chat.message(&user).expect("a message");
        assert!(matches!(&message.parts[1], Part::Media(media) if media.kind == "image_url"));
        assert_eq!(message.parts[2], Part::Opaque("{\"type\":\"new\"}".into()));
        assert_eq!(message.parts[3], Part::Text("bare".into()));
        let reply =
            object(r#"{"role":"assistant","content":"","reasoning_content":"hm","refusal":"no"}"#);
        let message = Chat.message(&reply).expect("a message");
        assert_eq!(message.parts.first(), Some(&Part::Reasoning("hm".into())));
        assert_eq!(message.parts.last(), Some(&Part::Refusal("no".into())));
    }

    #[test]
    fn a_summary_is_recognized_and_begins_no_turn() {
        let text = Chat.summary_record(Role::User, "all \"that\"\nwas");
        let record = object(&text);
        assert_eq!(Chat.summary_text(&record).as_deref(), Some("all \"that\"\nwas"));
        let outline = Chat.outline(&record).expect("a message");
        assert_eq!((outline.is_summary, outline.begins_turn), (true, false));
        assert_eq!(Chat.summary_text(&object(r#"{"role":"user","content":"hi"}"#)), None);
    }
}
