//! Reads and edits the content of messages: texts, lists of blocks, and calls.

use std::borrow::Cow;
use std::ops::Range;

use crate::convert::media::Data;
use crate::record::edit;
use crate::{Call, Edits, Object, Part, Role, Slot, json, scan};

/// The role of a message; `None` if the member `role` is missing or is not a string.
pub(crate) fn role_of(object: &Object<'_>) -> Option<Role> {
    object.text_of("role").map(|word| Role::from_word(&word))
}

/// The objects in the list `content`; empty if the content is not a list.
pub(crate) fn blocks<'a>(object: &Object<'a>) -> Vec<Object<'a>> {
    object.objects_of("content").into_iter().flatten().flatten().collect()
}

/// The type of a part that is given as raw JSON; empty if the part has no type.
pub(crate) fn kind_of_raw(raw: &str) -> Cow<'_, str> {
    Object::parse(raw).map_or(Cow::Borrowed(""), |object| kind_of(&object))
}

pub(crate) fn kind_of<'a>(block: &Object<'a>) -> Cow<'a, str> {
    block.text_of("type").unwrap_or_default()
}

/// Reads the parts of a message's content, which is a text or a list of texts and blocks. `part`
/// reads a single block. A block for which `part` returns `None` becomes an opaque part.
pub(crate) fn parts<'a>(
    content: Option<&'a str>,
    part: &dyn Fn(&Object<'a>) -> Option<Part<'a>>,
) -> Vec<Part<'a>> {
    let Some(content) = content.filter(|raw| *raw != "null") else { return Vec::new() };
    let of_element = |raw| match Object::within(raw) {
        Some(block) => part(&block).unwrap_or(Part::Opaque(raw.into())),
        None => json::text(raw).map_or(Part::Opaque(raw.into()), Part::Text),
    };
    match scan::elements(content) {
        Some(elements) => elements.into_iter().map(of_element).collect(),
        None => vec![of_element(content)],
    }
}

/// Returns the images among these parts that OpenAI's APIs do not accept.
pub(crate) fn bad_images<'a>(parts: impl IntoIterator<Item = Object<'a>>) -> Vec<Object<'a>> {
    let is_bad = |part: &Object<'_>| {
        let inner = ["image_url", "imageUrl"].into_iter().find_map(|key| part.object_of(key));
        let url = inner.and_then(|it| it.text_of("url"));
        let url = url.or_else(|| part.text_of("image_url"));
        // Kimi Code keeps large images in files of their own.
        let is_refused =
            |url: &str| !url.starts_with("blobref:") && !Data::of_url(url).is_accepted();
        matches!(&*kind_of(part), "image_url" | "input_image")
            && url.as_deref().is_some_and(is_refused)
    };
    parts.into_iter().filter(is_bad).collect()
}

/// Returns the byte ranges to cut from the text of `record` to remove the blocks for which `goes`
/// returns true. The blocks are in the list `content` of `object`, a value within the record.
pub(crate) fn cut_blocks(
    record: &Object<'_>,
    object: &Object<'_>,
    goes: impl Fn(&Object<'_>) -> bool,
) -> Vec<Range<usize>> {
    cut_elements(record, object.elements_of("content").unwrap_or_default(), goes)
}

/// Returns the byte ranges to cut from the text of `record` to remove those elements of a list
/// within the record for which `goes` returns true.
pub(crate) fn cut_elements(
    record: &Object<'_>,
    elements: Vec<&str>,
    goes: impl Fn(&Object<'_>) -> bool,
) -> Vec<Range<usize>> {
    let items = elements.into_iter().map(|raw| {
        let gone = Object::within(raw).is_some_and(|block| goes(&block));
        (record.place_of(raw), gone)
    });
    edit::cuts(record.text(), items)
}

/// Reads a call whose arguments are JSON rather than a string. `block` is a value within `record`.
pub(crate) fn call_of<'a>(record: &Object<'a>, block: &Object<'a>, arguments: &str) -> Call<'a> {
    let arguments = block.get(arguments);
    Call {
        id: Some(block.id_of("id").unwrap_or_default()),
        name: block.text_of("name").unwrap_or_default(),
        arguments: Cow::Borrowed(arguments.unwrap_or_default()),
        slot: arguments.map(|raw| Slot::json(record, raw)),
    }
}

/// Returns a call's arguments (a string or other JSON) and the slot where they can be replaced.
/// `raw` is the raw value of the arguments, as a slice of `record`.
pub(crate) fn text_or_json<'a>(
    record: &Object<'a>,
    raw: Option<&'a str>,
) -> (Cow<'a, str>, Option<Slot>) {
    let Some(raw) = raw else { return (Cow::Borrowed(""), None) };
    match json::text(raw) {
        Some(text) => (text, Some(Slot::text(record, raw))),
        None => (Cow::Borrowed(raw), Some(Slot::json(record, raw))),
    }
}

/// Returns the text of a record in which the content that the agent sends replaces `content`, a
/// value within the record; `None` if the agent sends the record as it is.
pub(crate) fn with_sent_content(object: &Object<'_>, content: &str) -> Option<String> {
    let new = object.portion.as_ref()?.content.as_deref()?;
    let mut edits = Edits::default();
    edits.replace(object.place_of(content), new.to_owned());
    Some(edits.of_object(object))
}

/// Writes a message with a single text as a record.
pub(crate) fn text_record(role: Role, text: &str) -> String {
    let (role, text) = (role.as_str(), json::quoted(text));
    format!("{{\"role\":\"{role}\",\"content\":{text}}}")
}

/// Returns the text of `object` with the string value of `key` replaced with `to`. A value that is
/// not a string is left unchanged.
pub(crate) fn with_text(object: &Object<'_>, key: &str, to: &str) -> String {
    let mut edits = Edits::default();
    if let Some(raw) = object.get(key)
        && json::text(raw).is_some_and(|text| text != to)
    {
        edits.put(&Slot::text(object, raw), to);
    }
    edits.of_object(object)
}

/// The beginning of a summary in a dialect that cannot mark a message in any other way.
pub const SUMMARY_MARK: &str = "[ctx_summary]";

/// What followed the mark in summaries written before December 2026.
const OLD_SUMMARY_LINE: &str = " Summary of earlier messages of this session:";

/// The `name` of messages that contain a summary, in dialects whose messages have a `name`.
pub(crate) const SUMMARY_NAME: &str = "ctx_summary";

/// Returns the text of a summary that is marked by its `name` or by its first line. Both the `name`
/// and the first line are recognized in every dialect, because a plain session marks summaries by
/// their first line, and may later turn out to be in the dialect `chat`.
///
/// A marked message is a summary only if its role allows this. A tool can have any name, and a
/// model can be tricked into writing that first line, so tool results and unnamed replies are never
/// summaries.
pub(crate) fn summary_text<'a>(object: &Object<'a>) -> Option<Cow<'a, str>> {
    // The raw text is checked first, so that the content of most messages need not be decoded.
    let content = object.get("content")?;
    let has_line = content.get(1..)?.starts_with(SUMMARY_MARK);
    let is_named = object.text_of("name").is_some_and(|name| name == SUMMARY_NAME);
    let may_be = || match role_of(object) {
        Some(Role::User) => true,
        Some(Role::System | Role::Assistant) => is_named,
        _ => false,
    };
    let is_summary = (has_line || is_named) && may_be();
    let text = is_summary.then(|| json::text(content)).flatten()?;
    Some(match text.strip_prefix(SUMMARY_MARK) {
        // The summary itself may also begin with this mark, so only the first occurrence is
        // removed.
        Some(body) if !is_named => {
            let body = body.strip_prefix(OLD_SUMMARY_LINE).unwrap_or(body);
            Cow::Owned(body.trim_start_matches('\n').to_owned())
        }
        _ => text,
    })
}
