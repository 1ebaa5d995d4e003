//! How Anthropic records are mended: results are blocks, and come first.

use crate::dialect::with_text;
use crate::repair::{MISSING_RESULT, Mend, NewResult, RecordChange};
use crate::{Edits, Object, Slot, json};

use super::{Anthropic, kind_of};

impl Mend for Anthropic {
    fn changed(
        &self,
        object: &Object<'_>,
        change: &RecordChange,
        into: &[NewResult<'_>],
    ) -> String {
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

    fn records_of(&self, results: &[NewResult<'_>]) -> Vec<String> {
        let blocks: Vec<String> = results.iter().map(block_of).collect();
        let blocks = blocks.join(",");
        vec![format!("{{\"role\":\"user\",\"content\":[{blocks}]}}")]
    }

    fn said_by_user(&self, text: &str) -> String {
        format!("{{\"role\":\"user\",\"content\":{}}}", json::quoted(text))
    }
}

/// Only a user message holds results, and only a reply holds calls.
fn changes_results(change: &RecordChange) -> bool {
    !change.without.is_empty() || !change.rename_results.is_empty() || change.results_first
}

fn rename_calls(object: &Object<'_>, change: &RecordChange, edits: &mut Edits) {
    let blocks = super::blocks(object);
    let mut calls = blocks.iter().filter(|block| kind_of(block) == "tool_use");
    let mut next = 0;
    for (place, to) in &change.rename_calls {
        let call = calls.nth(place - next);
        next = place + 1;
        if let Some(id) = call.and_then(|call| call.get("id")) {
            edits.put(&Slot::text(object, id), to);
        }
    }
}

/// The blocks of a user message: results that come into it, its own, the rest.
fn content(raw: &str, change: &RecordChange, into: &[NewResult<'_>]) -> String {
    let mut results: Vec<String> = into.iter().map(block_of).collect();
    let mut others: Vec<String> = Vec::new();
    let mut own = 0;
    for raw in blocks(raw) {
        let Some(block) = result(&raw) else {
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

/// A result as a block.
fn block_of(answer: &NewResult<'_>) -> String {
    if let Some(found) = &answer.found {
        let blocks = blocks(found.record.get("content").unwrap_or_default());
        let mut results = blocks.iter().filter_map(|raw| result(raw));
        let found = results.nth(found.place);
        return found.map_or_else(String::new, |block| {
            with_text(&block, "tool_use_id", answer.id)
        });
    }
    format!(
        "{{\"type\":\"tool_result\",\"tool_use_id\":{},\"content\":{},\"is_error\":true}}",
        json::quoted(answer.id),
        json::quoted(MISSING_RESULT)
    )
}

/// The blocks of a content, raw; a text is one block, an empty one is none.
fn blocks(content: &str) -> Vec<String> {
    if let Some(elements) = json::elements(content) {
        return elements.into_iter().map(str::to_owned).collect();
    }
    if matches!(content, "" | "null" | "\"\"") {
        return Vec::new();
    }
    vec![format!("{{\"type\":\"text\",\"text\":{content}}}")]
}

/// The block if it is a result.
fn result(block: &str) -> Option<Object<'_>> {
    let block = Object::parse(block).ok()?;
    (kind_of(&block) == "tool_result").then_some(block)
}
