//! How chat records are repaired: a result is a record of its own.

use super::Chat;
use crate::dialect::{text_record, with_text};
use crate::repair::{MISSING_RESULT, NewResult, RecordChange, RepairDialect};
use crate::{Edits, Object, Role, Slot, json};

impl RepairDialect for Chat {
    fn changed(&self, object: &Object<'_>, change: &RecordChange, _into: Vec<String>) -> String {
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

    fn result(&self, result: &NewResult<'_>) -> Option<String> {
        if let Some(found) = &result.found {
            return Some(with_text(&found.record, "tool_call_id", result.id));
        }
        let content = json::quoted(MISSING_RESULT);
        // A function that was called in the deprecated way has no id.
        let function = result.call.object_of("function_call");
        let head = if let Some(function) = function.filter(|_| result.id.is_empty()) {
            let name = json::quoted(&function.text_of("name").unwrap_or_default());
            format!("\"role\":\"function\",\"name\":{name}")
        } else {
            let id = json::quoted(result.id);
            format!("\"role\":\"tool\",\"tool_call_id\":{id}")
        };
        Some(format!("{{{head},\"content\":{content}}}"))
    }

    fn records_of(&self, results: Vec<String>) -> Vec<String> {
        results
    }

    fn said_by_user(&self, text: &str) -> String {
        text_record(Role::User, text)
    }
}
