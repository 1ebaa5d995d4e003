//! Lines with what they lack for the client to load them.

use super::header::{OF_HEADER, is_old_head};
use crate::dialect::made::NO_TIME;
use crate::{Edits, Object, json};

/// The line of that flaw with what it lacks.
pub(super) fn repaired(object: &Object<'_>, rule: &str, numbers: &[usize]) -> Edits {
    let mut edits = Edits::new();
    match rule {
        "no-ordinal" => {
            let number = numbers.first().copied().unwrap_or_default();
            edits.set(0, object, "ordinal", &number.to_string());
        }
        "no-timestamp" => edits.set(0, object, "timestamp", &json::quoted(NO_TIME)),
        "bare-items" => envelop(object, &mut edits),
        _ => {}
    }
    edits
}

/// Puts an envelope around a bare line.
fn envelop(object: &Object<'_>, edits: &mut Edits) {
    let text = object.text();
    let begin = object.inside() - 1;
    let end = text.len() - object.rest().len();
    let time = object.text_of("timestamp");
    let time = json::quoted(time.as_deref().unwrap_or(NO_TIME));
    let kind = if is_old_head(object) {
        for key in OF_HEADER {
            let value = match key {
                "cwd" => "/",
                "originator" => "codex_cli_rs",
                _ => "0.0.0",
            };
            if object.text_of(key).is_none() {
                edits.set(0, object, key, &json::quoted(value));
            }
        }
        "session_meta"
    } else {
        if object.text_of("type").is_none() {
            edits.set(0, object, "type", "\"message\"");
        }
        "response_item"
    };
    let before = format!(r#"{{"timestamp":{time},"type":"{kind}","payload":{{"#);
    edits.replace(begin..begin + 1, before);
    edits.replace(end..end, "}".to_owned());
}
