//! How Anthropic records are repaired: results are blocks, and come first.

use super::Anthropic;
use crate::dialect::{blocks, kind_of, text_record, with_text};
use crate::repair::{MISSING_RESULT, NewResult, RecordChange, RepairDialect};
use crate::{Edits, Object, Role, Slot, json};

impl RepairDialect for Anthropic {
    fn changed(&self, object: &Object<'_>, change: &RecordChange, into: Vec<String>) -> String {
        let mut edits = Edits::new();
        if let Some(raw) = object.get("content") {
            if changes_results(change) || !into.is_empty() {
                edits.replace(object.place_of(raw), content(raw, change, into));
            } else {
                rename_calls(object, change, &mut edits);
            }
        }
        edits.of_object(object)
    }

    fn result(&self, result: &NewResult<'_>) -> Option<String> {
        if let Some(found) = &result.found {
            let mut results = blocks(&found.record).into_iter().filter(is_result);
            let block = results.nth(found.place)?;
            return Some(with_text(&block, "tool_use_id", result.id));
        }
        Some(format!(
            "{{\"type\":\"tool_result\",\"tool_use_id\":{},\"content\":{},\"is_error\":true}}",
            json::quoted(result.id),
            json::quoted(MISSING_RESULT)
        ))
    }

    fn records_of(&self, results: Vec<String>) -> Vec<String> {
        let blocks = results.join(",");
        vec![format!("{{\"role\":\"user\",\"content\":[{blocks}]}}")]
    }

    fn said_by_user(&self, text: &str) -> String {
        text_record(Role::User, text)
    }
}

fn is_result(block: &Object<'_>) -> bool {
    kind_of(block) == "tool_result"
}

/// Only a user message holds results, and only a reply holds calls.
fn changes_results(change: &RecordChange) -> bool {
    !change.without.is_empty() || !change.rename_results.is_empty() || change.results_first
}

fn rename_calls(object: &Object<'_>, change: &RecordChange, edits: &mut Edits) {
    let blocks = blocks(object);
    let calls = blocks.iter().filter(|block| kind_of(block) == "tool_use");
    for (place, call) in calls.enumerate() {
        let renamed = change.rename_calls.get(&place);
        if let Some((id, to)) = call.get("id").zip(renamed) {
            edits.put(&Slot::text(object, id), to);
        }
    }
}

/// The content of a user message: results that come into it, its own, the rest.
fn content(raw: &str, change: &RecordChange, into: Vec<String>) -> String {
    let (mut results, mut others) = (into, Vec::new());
    let mut own = 0;
    for raw in elements(raw) {
        let Some(block) = Object::parse(&raw).ok().filter(is_result) else {
            others.push(raw);
            continue;
        };
        if !change.without.contains(&own) {
            results.push(match change.rename_results.get(&own) {
                Some(to) => with_text(&block, "tool_use_id", to),
                None => raw.clone(),
            });
        }
        own += 1;
    }
    results.append(&mut others);
    format!("[{}]", results.join(","))
}

/// The elements of a content, raw; a text is one block, an empty one is none.
fn elements(content: &str) -> Vec<String> {
    if let Some(elements) = json::elements(content) {
        return elements.into_iter().map(str::to_owned).collect();
    }
    if matches!(content, "null" | "\"\"") {
        return Vec::new();
    }
    vec![format!("{{\"type\":\"text\",\"text\":{content}}}")]
}
