//! How chat records are mended: a result is a record of its own.

use crate::dialect::with_text;
use crate::repair::{MISSING_RESULT, Mend, NewResult, RecordChange};
use crate::{Edits, Object, Slot, json};

use super::Chat;

impl Mend for Chat {
    fn changed(
        &self,
        object: &Object<'_>,
        change: &RecordChange,
        _into: &[NewResult<'_>],
    ) -> String {
        let mut edits = Edits::new();
        let calls = object.elements_of("tool_calls").unwrap_or_default();
        for (place, to) in &change.rename_calls {
            let call = calls.get(*place).and_then(|raw| Object::parse(raw).ok());
            if let Some(id) = call.and_then(|call| call.get("id")) {
                edits.put(&Slot::text(object, id), to);
            }
        }
        let renamed = change.rename_results.get(&0);
        if let Some((id, to)) = object.get("tool_call_id").zip(renamed) {
            edits.put(&Slot::text(object, id), to);
        }
        edits.of_object(object)
    }

    fn records_of(&self, results: &[NewResult<'_>]) -> Vec<String> {
        results.iter().map(record_of).collect()
    }

    fn said_by_user(&self, text: &str) -> String {
        format!("{{\"role\":\"user\",\"content\":{}}}", json::quoted(text))
    }
}

fn record_of(answer: &NewResult<'_>) -> String {
    if let Some(found) = &answer.found {
        return with_text(&found.record, "tool_call_id", answer.id);
    }
    let content = json::quoted(MISSING_RESULT);
    // A function that was called in the deprecated way has no id.
    let function = answer.call.object_of("function_call");
    let head = if let Some(function) = function.filter(|_| answer.id.is_empty()) {
        let name = json::quoted(&function.text_of("name").unwrap_or_default());
        format!("\"role\":\"function\",\"name\":{name}")
    } else {
        let id = json::quoted(answer.id);
        format!("\"role\":\"tool\",\"tool_call_id\":{id}")
    };
    format!("{{{head},\"content\":{content}}}")
}
