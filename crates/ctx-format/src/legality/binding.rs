//! The models that bind signed reasoning to all messages before it.

use std::borrow::Cow;
use std::sync::LazyLock;

use serde_json::Value;

use crate::dialect::anthropic::is_reasoning;
use crate::dialect::blocks::{MARK, is_extra};
use crate::scan::elements;
use crate::{Dialect, Edits, InvalidReasoning, Object, Record, Role};

/// For each model family, the first version that binds reasoning to the messages before it. After a
/// change, Claude rejects the block
/// (platform.claude.com/docs/en/build-with-claude/preserved-thinking); GPT drops the block
/// (developers.openai.com/api/docs/guides/keep-prefix-unchanged).
static BINDING_SINCE: LazyLock<Vec<(&str, [u64; 2])>> =
    LazyLock::new(|| serde_json::from_str(include_str!("binding.json")).expect("it is valid"));

/// Returns true if a model binds its reasoning to the messages before it.
pub fn binds_reasoning(model: &str) -> bool {
    BINDING_SINCE.iter().any(|(family, since)| {
        let Some((_, version)) = model.split_once(family) else { return false };
        let numbers = version.split(|c: char| !c.is_ascii_alphanumeric());
        let numbers = numbers.map_while(|number| number.parse().ok());
        // A number this large is a release date rather than part of a version.
        let mut numbers = numbers.filter(|number: &u64| *number < 1000);
        let mut next = || numbers.next().unwrap_or(0);
        [next(), next()] >= *since
    })
}

/// Returns what becomes of signed reasoning by `model`, or by an unknown model, after a change to
/// an earlier message in a session of `dialect`; `None` if the reasoning stays valid.
pub fn fate(dialect: &dyn Dialect, model: Option<&str>) -> Option<InvalidReasoning> {
    if !model.is_none_or(binds_reasoning) {
        return None;
    }
    let is_ignored = model.is_some_and(|model| model.contains("gpt-"));
    Some(if is_ignored { InvalidReasoning::Ignored } else { dialect.invalid_reasoning() })
}

/// Returns the new bytes of a message without its reasoning: none if it has no other content.
/// `None` if it is no message.
pub fn without_reasoning(record: &Record<'_>, dialect: &dyn Dialect) -> Option<Vec<u8>> {
    let object = record.whole_object()?;
    let message = dialect.message(object)?;
    let is_cut = |part| message.is_cut_as_reasoning(part, object);
    // A line that other lines refer to stays.
    if !dialect.is_linked() && message.parts.iter().all(is_cut) {
        return Some(Vec::new());
    }
    let mut edits = Edits::default();
    edits.cut(message.reasoning);
    Some(record.edited(&edits))
}

/// Returns the blocks that a record sends to the API, in a form in which they can be compared, each
/// with the role of its message. A string is returned like a block of text, and a message without
/// content as `null`.
pub(crate) fn sent_blocks(dialect: &dyn Dialect, record: &str) -> Vec<(Role, Value)> {
    let Ok(object) = Object::parse(record) else { return Vec::new() };
    let role = dialect.exchange(&object).map_or(Role::Other, |outline| outline.role);
    let sent = dialect.wrapped(&object).sent.into_iter().flat_map(|raw| {
        let content = Object::within(raw).and_then(|it| it.get("content")).unwrap_or(raw);
        if content.starts_with('"') {
            return vec![format!("{{\"type\":\"text\",\"text\":{content}}}").into()];
        }
        let blocks = elements(content).filter(|blocks| !blocks.is_empty());
        blocks.unwrap_or_else(|| vec!["null"]).into_iter().map(Cow::Borrowed).collect()
    });
    let blocks = sent.map(|raw: Cow<'_, str>| {
        let mut block = serde_json::from_str(&raw).unwrap_or_default();
        remove_marks(&mut block);
        (role, block)
    });
    blocks.collect()
}

/// Removes the members that are no part of what the model receives.
fn remove_marks(block: &mut Value) {
    if let Some(block) = block.as_object_mut() {
        block.retain(|key, _| key != MARK && !is_extra("", key));
        let content = block.get_mut("content").and_then(Value::as_array_mut);
        content.into_iter().flatten().for_each(remove_marks);
    }
}

/// Returns true if one of the blocks is signed reasoning.
pub(crate) fn has_reasoning(blocks: &[(Role, Value)]) -> bool {
    blocks.iter().any(|(_, block)| block["type"].as_str().is_some_and(is_reasoning))
}

#[cfg(test)]
mod tests {
    use super::binds_reasoning;

    #[test]
    fn reasoning_is_bound_since_a_version_of_each_family() {
        for (model, expected) in [
            ("claude-fable-5-1", true),
            ("claude-fable-5", false),
            ("claude-fable-5-20260301", false),
            ("claude-opus-5-5-20260831", true),
            ("anthropic/claude-opus-6", true),
            ("claude-opus-5-5@20260831", true),
            ("anthropic/claude-opus-5.5:thinking", true),
            ("claude-opus-5-5[1m]", true),
            ("us.anthropic.claude-opus-5-5-v1:0", true),
            ("claude-opus-4-5-20251101", false),
            ("claude-3-5-sonnet-20241022", false),
            ("gpt-6.2-codex", true),
            ("gpt-6.1", false),
            ("gpt-5-mini", false),
            ("gemini-3-pro", false),
            ("", false),
        ] {
            assert_eq!(binds_reasoning(model), expected, "{model}");
        }
    }
}
