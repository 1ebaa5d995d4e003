//! Parts of JSON objects that several tools print. Keys are never removed.

use ctx_cli::{json_name, json_object};
use ctx_format::convert::Loss;
use ctx_policy::trigger::{Due, Size, Step};
use serde::Serialize;

/// Returns the report on whether the session `name` is due for compaction.
pub fn due(name: &str, size: &Size, due: &Due) -> impl Serialize {
    json_object! {
        name: json_name(name),
        due: due.step == Step::Compact,
        step: <&str>::from(due.step),
        /// The minimum number of messages for a compaction, given only if the session has fewer.
        held_back: due.held_back,
        #[serde(flatten)]
        size,
        triggers: &due.readings,
    }
}

/// Returns what a conversion or a repair changed, and whether it is lost.
pub fn losses<'a>(losses: impl IntoIterator<Item = &'a Loss>) -> Vec<impl Serialize> {
    let json = |loss: &'a Loss| json_object! { #[serde(flatten)] loss, lost: loss.kind.is_loss() };
    losses.into_iter().map(json).collect()
}

#[cfg(test)]
mod tests {
    use ctx_cli::json_line;
    use ctx_policy::trigger::{Size, Triggers};

    use super::due;

    #[test]
    fn a_compaction_is_due_where_a_trigger_fired() {
        let triggers = Triggers { messages: Some(2), turns: Some(0), ..Triggers::default() };
        let json = |messages| {
            let size = Size { messages, ..Size::default() };
            json_line(&due("a", &size, &triggers.check(&size)))
        };
        let size = r#""messages":3,"turns":0,"tokens":0,"tool_bytes":0"#;
        let reading = r#"{"trigger":"messages","value":3,"limit":2,"reached":1.5,"fired":true,"step":"compact"}"#;
        let turns =
            r#"{"trigger":"turns","value":0,"limit":0,"reached":null,"fired":false,"step":"none"}"#;
        assert_eq!(
            json(3),
            format!(
                "{{\"name\":\"a\",\"due\":true,\"step\":\"compact\",\"held_back\":null,{size},\"triggers\":[{reading},{turns}]}}\n"
            )
        );
        assert!(json(2).starts_with(r#"{"name":"a","due":false,"step":"none","#));
    }
}
