//! The items of the OpenAI Responses API: messages, calls, results and reasoning are separate
//! items. The formats are those in the API reference's list of input items, and those in the files
//! that Codex 0.169.0 writes.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::dialect::content::{bad_images, blocks, kind_of, role_of, text_or_json};
use crate::dialect::interface::{MISSING_RESULT, RecordChange, Sealed};
use crate::dialect::unread::has_text;
use crate::legality::content::{ANY_NAME, Mend, Naming};
use crate::log::compaction::LineText;
use crate::{
    Call, Edits, Member, Message, Object, Outline, Part, Role, Rule, Slot, ToolResult, Unread, json,
};

/// The kind of each item type other than `message`, and the members that the API knows.
static KINDS: LazyLock<HashMap<String, (ItemType, String), foldhash::fast::RandomState>> =
    LazyLock::new(|| serde_json::from_str(include_str!("items.json")).expect("it is valid"));

/// The kinds of items in the OpenAI Responses API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ItemType {
    /// A message from the user, the model or the operator.
    Message,
    /// A message from another agent.
    AgentMessage,
    /// The model's reasoning, which belongs to the reply that follows it.
    Reasoning,
    /// A call whose result is a separate item.
    Call,
    /// The result of a call.
    Result,
    /// Work that the server did itself, including its results, or content that only the server can
    /// read.
    Server,
    /// A change to the tools or the settings, for all later replies.
    Setting,
}

impl ItemType {
    /// Returns the kind of `item`; `None` if the type is unknown or `item` is not an item at all.
    pub(crate) fn of(item: &Object<'_>) -> Option<Self> {
        match &*kind_of(item) {
            "" if reference(item).is_some() => Some(Self::Server),
            // `{"role":…,"content":…}` is the short form of a message.
            "" if role_of(item).is_some_and(is_of_message) => {
                item.get("content").map(|_| Self::Message)
            }
            "" => None,
            "message" => role_of(item).map(|_| Self::Message),
            kind => KINDS.get(kind).map(|(kind, _)| *kind),
        }
    }

    /// The role for items of this kind.
    fn role(self, item: &Object<'_>) -> Role {
        match self {
            Self::Message => role_of(item).unwrap_or(Role::Other),
            Self::AgentMessage => Role::User,
            Self::Reasoning | Self::Call | Self::Server => Role::Assistant,
            Self::Result => Role::Tool,
            Self::Setting => Role::Developer,
        }
    }
}

/// Returns the id of the item of an earlier request that `item` stands for, if it does.
fn reference<'a>(item: &Object<'a>) -> Option<Cow<'a, str>> {
    let is_short = || {
        let id = item.text_of("id").unwrap_or_default();
        item.members().len() == 1 && ["msg_", "rs_", "fc_"].iter().any(|it| id.starts_with(it))
    };
    item.text_of("id").filter(|_| kind_of(item) == "item_reference" || is_short())
}

fn is_of_message(role: Role) -> bool {
    role.is_system() || matches!(role, Role::User | Role::Assistant)
}

/// Returns the members that the API knows in items of this type; `None` for messages.
pub(crate) fn members_of(kind: &str) -> Option<&'static str> {
    KINDS.get(kind).map(|(_, members)| members.as_str())
}

/// Returns true if `item` cannot occur in any other format.
pub(crate) fn is_own(item: &Object<'_>) -> bool {
    let has = |key| item.get(key).is_some();
    match ItemType::of(item) {
        None | Some(ItemType::AgentMessage) => false,
        Some(ItemType::Message) => {
            let is_typed = has("type");
            blocks(item).iter().any(|block| match kind_of(block).as_ref() {
                "input_text" | "output_text" | "input_image" | "input_file" => true,
                // `chat` also has parts of this type, but its messages have no member `type`.
                "refusal" => is_typed,
                _ => false,
            })
        }
        Some(ItemType::Reasoning) => has("summary") || has("encrypted_content"),
        Some(ItemType::Call | ItemType::Result) => pair_id(item).is_some(),
        // Agents also write records of the type `compaction` with readable content.
        Some(ItemType::Server) if kind_of(item).contains("compaction") => has("encrypted_content"),
        Some(ItemType::Server) => has("id"),
        Some(ItemType::Setting) => true,
    }
}

/// Counts the `items` that only the server can read.
pub(crate) fn sealed_in(items: &[Object<'_>]) -> Sealed {
    let mut sealed = Sealed::default();
    for item in items {
        if item.text_of("encrypted_content").is_some() {
            sealed.reasoning += usize::from(ItemType::of(item) == Some(ItemType::Reasoning));
            sealed.has_summary |= kind_of(item).contains("compaction");
        }
    }
    sealed
}

/// Returns the outline of an item; see [`super::Dialect::outline`]. Every user message begins a
/// turn in this outline, so dialects must exclude user messages that the agent wrote itself.
pub(crate) fn outline<'a>(item: &Object<'a>) -> Option<Outline<'a>> {
    let kind = ItemType::of(item)?;
    let role = kind.role(item);
    let mut outline = Outline {
        role,
        begins_turn: kind == ItemType::Message && role == Role::User,
        has_content: kind != ItemType::Result,
        ..Outline::of_line()
    };
    match kind {
        ItemType::Call => outline.calls.extend(pair_id(item)),
        ItemType::Result => outline.results.extend(pair_id(item)),
        _ => {}
    }
    if outline.calls.len() + outline.results.len() > 0 {
        outline.content_mut().result_type = result_type(&kind_of(item));
    }
    // The server's own searches for tools have no id.
    let has_id = matches!(kind, ItemType::Call | ItemType::Result)
        && !kind_of(item).starts_with("tool_search");
    let own = item.text_of("call_id").or_else(|| pair_id(item));
    let id = own.as_deref().unwrap_or_default();
    let is_bad = (has_id || own.is_some()) && !CALL_ID.accepts(id);
    outline.fault_if(is_bad, Rule::BadCallId, id);
    if kind_of(item) == "function_call" {
        outline.check_tool_name(item, NAME, id);
    }
    outline.fault_if(!bad_images(parts_of(item)).is_empty(), Rule::BadImage, "");
    Some(outline)
}

/// Returns the type of result that a call of this type needs, or the type of a result; the types
/// `function`, `custom_tool` and so on are those of the tools. `None` if the API compares no types.
fn result_type(kind: &str) -> Option<&'static str> {
    let (kind, _) = KINDS.get_key_value(kind)?;
    match kind.trim_end_matches("_output").trim_end_matches("_call") {
        "mcp_approval_request" | "mcp_approval_response" => None,
        // Codex answers the calls of its shell like those of functions.
        "local_shell" => Some("function"),
        kind => Some(kind),
    }
}

/// What the API accepts as the id of a call.
pub(crate) const CALL_ID: Naming = Naming { min: 1, max: 64, ..ANY_NAME };
/// What the API accepts as the name of a tool in a call.
pub(crate) const NAME: Naming = Naming { min: 1, ..ANY_NAME };
/// What it accepts as the name of a tool in a request.
pub(crate) const TOOL: Naming = Naming { max: 64, is_word: true, ..ANY_NAME };
/// Adds to the outline of `item` its lone surrogates, and what only the API itself demands: agents
/// send items without ids.
pub(crate) fn check(item: &Object<'_>, outline: &mut Outline<'_>) {
    outline.check_surrogates(item.text());
    let kind = ItemType::of(item);
    outline.content_mut().is_reasoning = kind == Some(ItemType::Reasoning);
    outline.fault_if(is_empty_summary(item), Rule::EmptyMessage, "");
    if bad_arguments(item).is_some() {
        outline.fault(Rule::BadInput, &item.text_of("call_id").unwrap_or_default());
    }
    outline.fault_if(!misplaced_texts(item).is_empty(), Rule::MisplacedBlock, "");
    let has_extra_part = || parts_of(item).any(|part| part.members().iter().any(is_extra_in_part));
    let has_extra = item.members().iter().any(|member| is_extra(item, member));
    outline.fault_if(has_extra || lacks_summary(item) || has_extra_part(), Rule::ExtraMember, "");
    let is_link = item.get("call_id").is_none() && pair_id(item).is_some();
    let Some(id) = item.text_of("id").filter(|_| !is_link) else { return };
    if reference(item).is_some() {
        outline.content_mut().may_be_call = !id.starts_with("msg") && !id.starts_with("rs");
        return;
    }
    outline.fault_if(!accepts_id(&kind_of(item), &id), Rule::BadItemId, &id);
    outline.content_mut().item_id = (kind != Some(ItemType::Result)).then(|| id.into_owned());
}

/// Returns true if the API accepts `id` as the id of an item of this type.
pub(crate) fn accepts_id(item_type: &str, id: &str) -> bool {
    let begin = match item_type {
        "" | "message" => "msg",
        "function_call" => "fc",
        "reasoning" => "rs",
        _ => "",
    };
    id.starts_with(begin) && TOOL.accepts(id)
}

/// Returns true for a summary by the server that has lost its content.
fn is_empty_summary(item: &Object<'_>) -> bool {
    kind_of(item) == "compaction" && item.text_of("encrypted_content").is_none()
}

/// Returns true for reasoning without a list of summaries, which may be empty.
fn lacks_summary(item: &Object<'_>) -> bool {
    kind_of(item) == "reasoning" && !item.get("summary").is_some_and(|raw| raw.starts_with('['))
}

/// Returns the arguments of a function call if they are not a string.
fn bad_arguments<'a>(item: &Object<'a>) -> Option<&'a str> {
    let raw = item.get("arguments").filter(|_| kind_of(item) == "function_call")?;
    (!raw.starts_with('"')).then_some(raw)
}

/// Returns the texts of a message or a result that do not have the type that the API demands:
/// `output_text` in replies, and `input_text` elsewhere.
fn misplaced_texts<'a>(item: &Object<'a>) -> Vec<Object<'a>> {
    let own = type_of_text(item);
    let is_other = |part: &Object<'_>| {
        ["input_text", "output_text", "text"].contains(&&*kind_of(part)) && kind_of(part) != own
    };
    parts_of(item).filter(is_other).collect()
}

fn type_of_text(item: &Object<'_>) -> &'static str {
    if role_of(item) == Some(Role::Assistant) { "output_text" } else { "input_text" }
}

/// Returns the parts of a message or a result, if they are a list.
pub(crate) fn parts_of<'a>(item: &Object<'a>) -> impl Iterator<Item = Object<'a>> {
    let key = match ItemType::of(item) {
        Some(ItemType::Message) => "content",
        _ if is_of_text(&kind_of(item)) => "output",
        _ => "",
    };
    item.objects_of(key).into_iter().flatten().flatten()
}

/// Returns true for a member of an item that the API does not accept. Its SDKs return such members,
/// and `null` for a status that there is not.
pub(crate) fn is_extra(item: &Object<'_>, member: &Member<'_>) -> bool {
    let known = members_of(&kind_of(item)).filter(|known| !known.is_empty());
    // Some programs pair the output of a local shell with its call by the id of the call.
    let others = ["type", "call_id"];
    let is_known = |known: &str| known.split(' ').chain(others).any(|it| it == member.key);
    known.is_some_and(|known| !is_known(known)) || member.key == "status" && member.value == "null"
}

/// Like [`is_extra`], for a part of an item.
pub(crate) fn is_extra_in_part(member: &Member<'_>) -> bool {
    member.key == "parsed" || member.value == "null"
}

/// Repairs `item`, a value within the record of `mend`.
pub(crate) fn mend(item: &Object<'_>, mend: &mut Mend<'_, '_>) {
    if item.get("call_id").is_some() {
        mend.name(item, "call_id", CALL_ID);
    }
    if mend.has(Rule::EmptyToolName) {
        mend.name(item, "name", TOOL);
    }
    if let Some(raw) = bad_arguments(item).filter(|_| mend.has(Rule::BadInput)) {
        mend.put(raw, json::quoted(raw));
    }
    mend.bad_images(parts_of(item));
    let is_misplaced = mend.has(Rule::MisplacedBlock);
    for part in misplaced_texts(item).into_iter().filter(|_| is_misplaced) {
        mend.put(part.get("type").unwrap_or_default(), json::quoted(type_of_text(item)));
        mend.cut_members(&part, &["annotations", "logprobs"]);
    }
    if lacks_summary(item) && mend.has(Rule::ExtraMember) {
        mend.set(item, "summary", "[]");
    }
    // A part is changed only once.
    if mend.has(Rule::ExtraMember) && !is_misplaced {
        mend.cut(item, |member| is_extra(item, member));
        parts_of(item).for_each(|part| mend.cut(&part, is_extra_in_part));
    }
    if mend.has(Rule::WrongResultType)
        && let Some(raw) = item.get("type")
    {
        // Results of other types are not texts.
        let is_custom = kind_of(item) == "custom_tool_call_output";
        let kind = if is_custom { "function_call_output" } else { "custom_tool_call_output" };
        if is_of_text(&kind_of(item)) {
            mend.put(raw, json::quoted(kind));
            mend.cut_members(item, &["name", "namespace", "status"]);
        }
    }
    let kind = ItemType::of(item);
    let has_id = !mend.has(Rule::BadItemId) && !mend.has(Rule::RepeatedItemId);
    // Without its id, the API finds reasoning only by its encrypted content.
    let needs_id = match kind {
        Some(ItemType::Reasoning) => item.text_of("encrypted_content").is_none(),
        kind => kind == Some(ItemType::Server),
    };
    if mend.has(Rule::LoneReasoning) || is_empty_summary(item) || !has_id && needs_id {
        mend.is_dropped = true;
    } else if !has_id {
        mend.cut_members(item, &["id"]);
    }
}

/// Returns the id that links a call to its result; `None` if the server itself produced the result.
/// The member `id` links calls to results only in a few types of items; in all other types, it
/// identifies the item itself.
pub(crate) fn pair_id<'a>(item: &Object<'a>) -> Option<Cow<'a, str>> {
    let key = match kind_of(item).as_ref() {
        "mcp_approval_request" => "id",
        "mcp_approval_response" => "approval_request_id",
        "local_shell_call_output" if item.get("call_id").is_none() => "id",
        _ => "call_id",
    };
    item.text_of(key)
}

/// Returns the edits to `record` that apply `change` to `item`, a call or a result within it.
pub(crate) fn changed(record: &Object<'_>, item: &Object<'_>, change: &RecordChange) -> Edits {
    let id = item.get("call_id");
    change.renames(record, &[id], id)
}

/// Writes a result that says that the result of `call` is missing; `None` if a text cannot be the
/// result of such a call.
pub(crate) fn missing_result(call: &Object<'_>, id: &str) -> Option<String> {
    let kind = match &*kind_of(call) {
        "function_call" | "local_shell_call" => "function_call_output",
        "custom_tool_call" => "custom_tool_call_output",
        _ => return None,
    };
    Some(LineText::of_type(kind).text("call_id", id).text("output", MISSING_RESULT).end())
}

/// The types of media parts.
const MEDIA: [&str; 4] = ["input_image", "input_file", "input_audio", "computer_screenshot"];

/// The members that can hold the arguments of a call. A call has only one of these members.
const ARGUMENTS: [&str; 6] = ["arguments", "input", "action", "actions", "operation", "code"];

/// Reads the parts of `item`, a value within `record`. An item of an unknown type becomes a single
/// opaque part.
pub(crate) fn parts<'a>(record: &Object<'a>, item: &Object<'a>) -> Vec<Part<'a>> {
    let whole = || vec![Part::Opaque(item.text().trim_ascii().into())];
    match ItemType::of(item) {
        Some(ItemType::Message | ItemType::AgentMessage) => content(item.get("content")),
        Some(ItemType::Reasoning) => reasoning(item),
        Some(ItemType::Call) => vec![Part::Call(call(record, item))],
        Some(ItemType::Result) => vec![Part::Result(result(record, item))],
        // The result of this call is an image.
        Some(ItemType::Server) if kind_of(item) == "image_generation_call" => {
            vec![Part::media("image_generation_call", item.text().trim())]
        }
        Some(ItemType::Server | ItemType::Setting) | None => whole(),
    }
}

/// Reads `item`, a value within `record`, as a message; `None` if the type of `item` is unknown.
pub(crate) fn message_of<'a>(record: &Object<'a>, item: &Object<'a>) -> Option<Message<'a>> {
    let kind = ItemType::of(item)?;
    let message = Message::new(kind.role(item), parts(record, item));
    Some(message.added_if(kind == ItemType::AgentMessage))
}

fn content(raw: Option<&str>) -> Vec<Part<'_>> {
    crate::dialect::content::parts(raw, &|block| {
        Some(match kind_of(block).as_ref() {
            "input_text" | "output_text" | "text" => Part::Text(block.text_of("text")?),
            "refusal" => Part::Refusal(block.text_of("refusal")?),
            _ => Part::media_of(block, &MEDIA)?,
        })
    })
}

/// Reads the parts of a reasoning item: its readable texts, and its encrypted content, which only
/// the server can read.
fn reasoning<'a>(item: &Object<'a>) -> Vec<Part<'a>> {
    let lists = ["summary", "content"].into_iter();
    let elements = lists.flat_map(|key| item.elements_of(key).unwrap_or_default());
    let texts = elements.filter_map(|raw| Object::within(raw)?.text_of("text"));
    let sealed = item.get("encrypted_content").filter(|raw| *raw != "null");
    let sealed = sealed.map(|raw| Part::Opaque(raw.into()));
    texts.map(Part::Reasoning).chain(sealed).collect()
}

fn call<'a>(record: &Object<'a>, item: &Object<'a>) -> Call<'a> {
    // In some types of calls, the arguments are an object instead of a string.
    let raw = ARGUMENTS.into_iter().find_map(|key| item.get(key));
    let (arguments, slot) = text_or_json(record, raw);
    let kind = kind_of(item);
    let tool = || Cow::Owned(kind.trim_end_matches("_call").to_owned());
    let name = item.text_of("name").unwrap_or_else(tool);
    Call { id: pair_id(item), name, arguments, slot }
}

fn result<'a>(record: &Object<'a>, item: &Object<'a>) -> ToolResult<'a> {
    let kind = kind_of(item);
    let raw = ["output", "tools", "result"].into_iter().find_map(|key| item.get(key));
    ToolResult {
        id: pair_id(item),
        parts: content(raw),
        slot: raw.filter(|_| is_of_text(&kind)).map(|raw| Slot::text(record, raw)),
        ..ToolResult::default()
    }
}

/// Returns the first unreadable part of an item, if any. `dialect` is the dialect's name, for use
/// in the description.
pub(crate) fn unread(dialect: &str, item: &Object<'_>) -> Option<Unread> {
    let kind = ItemType::of(item);
    let is_message =
        matches!(kind, None | Some(ItemType::Message)) && matches!(&*kind_of(item), "" | "message");
    let is_known = || role_of(item).is_some_and(is_of_message);
    if let Some(role) = item.get("role").filter(|_| is_message && !is_known()) {
        return Some(Unread::role(dialect, role));
    }
    let in_list = |key| Unread::in_content(item.get(key), is_read);
    match kind {
        None => Some(Unread::item(dialect, item)),
        Some(ItemType::Message | ItemType::AgentMessage) => match item.get("content") {
            None | Some("null") => Some(Unread::within_message("a message without content")),
            Some(_) => in_list("content"),
        },
        Some(ItemType::Reasoning) => in_list("summary").or_else(|| in_list("content")),
        Some(ItemType::Result) if is_of_text(&kind_of(item)) => in_list("output"),
        // Call arguments and server tool results have many formats, which are not checked.
        Some(_) => None,
    }
}

/// Returns true if the whole content of the part can be read.
fn is_read(part: &Object<'_>) -> bool {
    match &*kind_of(part) {
        "input_text" | "output_text" | "text" | "summary_text" | "reasoning_text" => {
            has_text(part, "text")
        }
        "refusal" => has_text(part, "refusal"),
        kind => MEDIA.contains(&kind) || kind == "encrypted_content",
    }
}

/// Returns true if results of this type can be replaced with text. Every other result type has its
/// own format.
fn is_of_text(kind: &str) -> bool {
    matches!(kind, "function_call_output" | "custom_tool_call_output")
}

/// Writes a text part of the type `kind`.
pub(crate) fn text(kind: &str, text: &str) -> String {
    LineText::of_type(kind).text("text", text).end()
}

/// Writes a message item with the given parts as its content.
pub(crate) fn message(role: Role, content: &[String]) -> String {
    LineText::of_type("message").text("role", role.as_str()).list("content", content).end()
}

/// Writes a user message with a single text.
pub(crate) fn of_user(said: &str) -> String {
    message(Role::User, &[text("input_text", said)])
}

/// Returns the `agent_message` item that Codex creates from `line`, a stored message from another
/// agent (`to_model_input_item` in codex-rs/protocol). If only the API can read the message, Codex
/// adds text that describes the message.
pub(crate) fn of_agent(line: &Object<'_>) -> String {
    let text_of = |key| line.text_of(key).unwrap_or_default();
    let sealed = line.get("encrypted_content").filter(|raw| json::text(raw).is_some());
    let content = if let Some(raw) = sealed {
        // Codex puts a descriptive text before the encrypted content.
        let kind = if line.is_true("trigger_turn") { "NEW_TASK" } else { "MESSAGE" };
        let (task, sender) = (text_of("recipient"), text_of("author"));
        let head = format!("Message Type: {kind}\nTask name: {task}\nSender: {sender}\nPayload:\n");
        let sealed = LineText::of_type("encrypted_content").json("encrypted_content", raw);
        vec![text("input_text", &head), sealed.end()]
    } else {
        vec![text("input_text", &text_of("content"))]
    };
    let copy = |item: LineText, keys: &[&str]| {
        keys.iter().fold(item, |item, key| match line.get(key) {
            Some(raw) if raw != "null" => item.json(key, raw),
            _ => item,
        })
    };
    let item = copy(LineText::of_type("agent_message"), &["id", "author", "recipient"]);
    let item = item.list("content", &content);
    // Codex stores the API's metadata under one of two names.
    copy(item, &["metadata", "internal_chat_message_metadata_passthrough"]).end()
}
