//! Anthropic messages, one a record. Shapes: the content blocks of the Messages
//! API reference.

mod mend;

use std::borrow::Cow;
use std::ops::Range;

use super::{Dialect, SUMMARY_LINE, Sniff, role_of};
use crate::repair::Mend;
use crate::rules::{PairBy, Results};
use crate::{
    Call, Media, Message, Object, Outline, Part, Role, Rules, Slot, ToolResult, cut, json,
};

/// The dialect `anthropic`.
pub struct Anthropic;

impl Dialect for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn sniff(&self, object: &Object<'_>) -> Sniff {
        let Some(role) = role_of(object) else {
            return Sniff::No;
        };
        if !matches!(role, Role::System | Role::User | Role::Assistant)
            || object.get("content").is_none()
        {
            return Sniff::No;
        }
        let whole_response =
            object.get("type") == Some("\"message\"") && object.get("stop_reason").is_some();
        if whole_response || blocks(object).iter().any(|block| is_own(&kind_of(block))) {
            return Sniff::Yes;
        }
        if object.get("tool_calls").is_some() {
            Sniff::No
        } else {
            Sniff::Maybe
        }
    }

    fn outline<'a>(&self, object: &Object<'a>) -> Option<Outline<'a>> {
        let role = role_of(object)?;
        let content = object.get("content")?;
        let mut outline = Outline {
            role,
            has_content: !content.starts_with('['),
            is_summary: self.summary_text(object).is_some(),
            ..Outline::of_line()
        };
        for block in blocks(object) {
            match (role, kind_of(&block).as_ref()) {
                (Role::Assistant, "tool_use") => {
                    outline.calls.push(block.text_of("id").unwrap_or_default());
                }
                (Role::User, "tool_result") => {
                    outline.results_late |= outline.has_content;
                    outline
                        .results
                        .push(block.text_of("tool_use_id").unwrap_or_default());
                }
                _ => outline.has_content = true,
            }
        }
        outline.begins_turn = role == Role::User && outline.has_content && !outline.is_summary;
        Some(outline)
    }

    fn message<'a>(&self, object: &Object<'a>) -> Option<Message<'a>> {
        let role = role_of(object)?;
        let parts = parts(object, object.get("content")?);
        Some(Message {
            reasoning: reasoning(object, role, &parts),
            ..Message::new(role, parts)
        })
    }

    fn rules(&self) -> Rules {
        Rules {
            results: Results::NextUserMessage,
            pair_by: PairBy::Id,
            merges_roles: true,
            system_apart: true,
            user_first: true,
        }
    }

    fn mend(&self) -> Option<&dyn Mend> {
        Some(self)
    }

    fn summary_role(&self, wanted: Role) -> Role {
        match wanted {
            Role::Assistant => Role::Assistant,
            _ => Role::User,
        }
    }

    fn summary_record(&self, role: Role, text: &str) -> String {
        let text = format!("{SUMMARY_LINE}\n\n{text}");
        format!(
            "{{\"role\":\"{}\",\"content\":{}}}",
            role.as_str(),
            json::quoted(&text)
        )
    }

    fn summary_text<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        // Looked at raw first: the content of most messages need not be decoded.
        let content = object.get("content")?;
        if !content.get(1..)?.starts_with(SUMMARY_LINE) {
            return None;
        }
        let text = json::text(content)?;
        let body = text.strip_prefix(SUMMARY_LINE)?.trim_start_matches('\n');
        Some(Cow::Owned(body.to_owned()))
    }
}

/// The content blocks; none when the content is a string.
fn blocks<'a>(object: &Object<'a>) -> Vec<Object<'a>> {
    let raw = object.elements_of("content").unwrap_or_default();
    raw.into_iter()
        .filter_map(|block| Object::parse(block).ok())
        .collect()
}

fn kind_of<'a>(block: &Object<'a>) -> Cow<'a, str> {
    block.text_of("type").unwrap_or_default()
}

fn is_call(kind: &str) -> bool {
    matches!(kind, "tool_use" | "server_tool_use")
}

fn is_reasoning(kind: &str) -> bool {
    matches!(kind, "thinking" | "redacted_thinking")
}

/// Block types that no other dialect of messages has.
fn is_own(kind: &str) -> bool {
    matches!(
        kind,
        "tool_use"
            | "tool_result"
            | "thinking"
            | "redacted_thinking"
            | "server_tool_use"
            | "search_result"
    ) || kind.ends_with("_tool_result")
}

/// What to cut so that a reply is without its reasoning. Its blocks are only looked at
/// again when one of `parts` could have been reasoning.
fn reasoning(object: &Object<'_>, role: Role, parts: &[Part<'_>]) -> Vec<Range<usize>> {
    let may_be = |part: &Part<'_>| matches!(part, Part::Reasoning(_) | Part::Opaque(_));
    if role != Role::Assistant || !parts.iter().any(may_be) {
        return Vec::new();
    }
    let raw = object.elements_of("content").unwrap_or_default();
    cut::places(&cut::elements(object, &raw), |index| {
        Object::parse(raw[index]).is_ok_and(|block| is_reasoning(&kind_of(&block)))
    })
}

/// The parts of a content, which is a value within `object`.
fn parts<'a>(object: &Object<'a>, content: &'a str) -> Vec<Part<'a>> {
    if let Some(text) = json::text(content) {
        return vec![Part::Text(text)];
    }
    match json::elements(content) {
        Some(elements) => elements.into_iter().map(|raw| part(object, raw)).collect(),
        None if content == "null" => Vec::new(),
        None => vec![Part::Opaque(content)],
    }
}

fn part<'a>(object: &Object<'a>, raw: &'a str) -> Part<'a> {
    let Ok(block) = Object::parse(raw) else {
        return json::text(raw).map_or(Part::Opaque(raw), Part::Text);
    };
    let found = match kind_of(&block).as_ref() {
        "text" => block.text_of("text").map(Part::Text),
        "thinking" => block.text_of("thinking").map(Part::Reasoning),
        "image" => Some(Part::Media(Media { kind: "image", raw })),
        "document" => Some(Part::Media(Media {
            kind: "document",
            raw,
        })),
        kind if is_call(kind) => Some(Part::Call(call(object, &block))),
        "tool_result" => {
            let content = block.get("content");
            let slot = content.map(|raw| Slot::text(object, raw));
            Some(Part::Result(result(object, &block, slot)))
        }
        // What a server's tool found has a form of its own, which no text can replace.
        kind if kind.ends_with("_tool_result") => Some(Part::Result(result(object, &block, None))),
        _ => None,
    };
    found.unwrap_or(Part::Opaque(raw))
}

fn call<'a>(object: &Object<'a>, block: &Object<'a>) -> Call<'a> {
    let input = block.get("input");
    Call {
        id: Some(block.text_of("id").unwrap_or_default()),
        name: block.text_of("name").unwrap_or_default(),
        arguments: Cow::Borrowed(input.unwrap_or_default()),
        slot: input.map(|raw| Slot::json(object, raw)),
    }
}

/// Content absent means an empty result.
fn result<'a>(object: &Object<'a>, block: &Object<'a>, slot: Option<Slot>) -> ToolResult<'a> {
    let content = block.get("content");
    ToolResult {
        id: block.text_of("tool_use_id"),
        name: None,
        is_error: block.is_true("is_error"),
        parts: content.map_or_else(Vec::new, |raw| parts(object, raw)),
        slot,
    }
}

#[cfg(test)]
mod tests {
    use super::Anthropic;
    use crate::dialect::Dialect;
    use crate::{Object, Part, Role};

    fn object(text: &str) -> Object<'_> {
        Object::parse(text).expect("an object")
    }

    #[test]
    fn a_user_message_of_results_begins_no_turn() {
        let only = object(
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"x"}]}"#,
        );
        let outline = Anthropic.outline(&only).expect("a message");
        assert_eq!((outline.begins_turn, outline.results_late), (false, false));
        assert_eq!(outline.results, ["t1"]);
        let mixed = object(
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1"},{"type":"text","text":"go on"}]}"#,
        );
        let outline = Anthropic.outline(&mixed).expect("a message");
        assert_eq!((outline.begins_turn, outline.results_late), (true, false));
        let late = object(
            r#"{"role":"user","content":[{"type":"text","text":"go on"},{"type":"tool_result","tool_use_id":"t1"}]}"#,
        );
        assert!(Anthropic.outline(&late).expect("a message").results_late);
    }

    #[test]
    fn blocks_become_parts() {
        let reply = object(
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"Eq"},
            {"type":"redacted_thinking","data":"zz"},{"type":"text","text":"so"},
            {"type":"tool_use","id":"t1","name":"ls","input":{"p": 1}},
            {"type":"server_tool_use","id":"s1","name":"web_search","input":{}},
            {"type":"web_search_tool_result","tool_use_id":"s1","content":[]}]}"#,
        );
        // The API answers its own tools inside the reply: only `tool_use` waits for a result.
        assert_eq!(Anthropic.outline(&reply).expect("a message").calls, ["t1"]);
        let message = Anthropic.message(&reply).expect("a message");
        assert_eq!(message.parts[0], Part::Reasoning("hm".into()));
        assert!(matches!(message.parts[1], Part::Opaque(_)));
        assert_eq!(
            message.calls().next().map(|call| call.arguments.as_ref()),
            Some("{\"p\": 1}")
        );
        assert_eq!(message.results().count(), 1);
        // What the server found cannot be another text.
        assert_eq!(message.results().next().and_then(|r| r.slot.as_ref()), None);
        let cut = message.parts.iter();
        let cut: Vec<bool> = cut
            .map(|part| message.is_cut_as_reasoning(part, &reply))
            .collect();
        assert_eq!(cut, [true, true, false, false, false, false]);
    }

    #[test]
    fn what_is_no_reply_has_no_reasoning() {
        let user = object(
            r#"{"role":"user","content":[{"type":"thinking","thinking":"hm"},{"type":"new"}]}"#,
        );
        let message = Anthropic.message(&user).expect("a message");
        assert_eq!(message.reasoning, []);
        assert!(!message.is_cut_as_reasoning(&message.parts[0], &user));
    }

    #[test]
    fn a_summary_is_recognised_and_begins_no_turn() {
        let text = Anthropic.summary_record(Anthropic.summary_role(Role::System), "what \"was\"");
        let record = object(&text);
        assert_eq!(
            Anthropic.summary_text(&record).as_deref(),
            Some("what \"was\"")
        );
        let outline = Anthropic.outline(&record).expect("a message");
        assert_eq!((outline.role, outline.begins_turn), (Role::User, false));
    }
}
