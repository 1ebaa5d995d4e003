//! A dialect that exists only for these tests and resembles the file of an agent. A call and its
//! result are separate items, and the result may be anywhere after the call.

use std::borrow::Cow;

use ctx_format::dialect::{Dialect, Sniff};
use ctx_format::repair::{MISSING_RESULT, NewResult};
use ctx_format::rules::{Results, Rules};
use ctx_format::{Call, Message, Object, Outline, Part, Role, Slot, ToolResult, Unread};

pub(crate) struct Items;

fn kind_of<'a>(object: &Object<'a>) -> Cow<'a, str> {
    object.text_of("type").unwrap_or_default()
}

impl Dialect for Items {
    fn name(&self) -> &'static str {
        "items"
    }

    fn sniff(&self, object: &Object<'_>) -> Sniff {
        match kind_of(object).as_ref() {
            "call" | "output" => Sniff::Yes,
            "message" => Sniff::Maybe,
            _ => Sniff::No,
        }
    }

    fn outline<'a>(&self, object: &Object<'a>) -> Option<Outline<'a>> {
        let mut outline = Outline::of_line();
        let id = || object.text_of("call_id").unwrap_or_default();
        match kind_of(object).as_ref() {
            "message" => {
                outline.role = Role::from_word(&object.text_of("role")?);
                outline.begins_turn = outline.role == Role::User;
            }
            "call" => {
                outline.role = Role::Assistant;
                outline.calls.push(id());
            }
            "output" => {
                outline.role = Role::Tool;
                outline.has_content = false;
                outline.results.push(id());
            }
            _ => return None,
        }
        Some(outline)
    }

    fn unread(&self, _: &Object<'_>) -> Option<Unread> {
        None
    }

    fn message<'a>(&self, object: &Object<'a>) -> Option<Message<'a>> {
        let role = self.outline(object)?.role;
        let text = |key| object.text_of(key).map(Part::Text).into_iter().collect();
        let slot = |key: &str| object.get(key).map(|raw| Slot::text(object, raw));
        let id = object.text_of("call_id");
        let parts = match kind_of(object).as_ref() {
            "call" => vec![Part::Call(Call {
                id,
                name: object.text_of("name").unwrap_or_default(),
                arguments: object.text_of("arguments").unwrap_or_default(),
                slot: slot("arguments"),
            })],
            "output" => vec![Part::Result(ToolResult {
                id,
                parts: text("output"),
                slot: slot("output"),
                ..ToolResult::default()
            })],
            _ => text("text"),
        };
        Some(Message::new(role, parts))
    }

    fn rules(&self) -> Rules {
        Rules {
            results: Results::Later,
            merges_roles: false,
            system_apart: true,
            user_first: false,
            ..Rules::default()
        }
    }

    fn summary_role(&self, wanted: Role) -> Role {
        wanted
    }

    fn summary_record(&self, role: Role, text: &str) -> String {
        let role = role.as_str();
        let text = serde_json::Value::from(text);
        format!(r#"{{"type":"message","role":"{role}","summary":true,"text":{text}}}"#)
    }

    fn summary_text<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        object.text_of("text").filter(|_| object.is_true("summary"))
    }

    // Each record has only one call or one result, so no change has to move anything inside a record.
    fn new_result(&self, result: &NewResult<'_>) -> Option<String> {
        if let Some((record, _)) = &result.found {
            return Some(record.text().to_owned());
        }
        let id = serde_json::Value::from(result.id);
        let text = serde_json::Value::from(MISSING_RESULT);
        Some(format!(r#"{{"type":"output","call_id":{id},"output":{text}}}"#))
    }

    fn said_by_user(&self, text: &str, _: &Object<'_>) -> String {
        let text = serde_json::Value::from(text);
        format!(r#"{{"type":"message","role":"user","text":{text}}}"#)
    }
}
