//! A record with the changes that were made to its message in another form.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::{Edits, Message, Object, Part};

/// Texts of a message by the ids of their calls; where there is none, by their places.
type ById<'m> = HashMap<Cow<'m, str>, Cow<'m, str>>;

/// The text of `record`, which holds `message`, with what became of it elsewhere: `before` is
/// the same message, or the messages that hold it, in another dialect, and `after` are the same with other results,
/// other arguments of calls, or without reasoning. `None` where nothing of that is in the
/// record.
pub fn with_changes(
    record: &Object<'_>,
    message: &Message<'_>,
    before: &[Message<'_>],
    after: &[Message<'_>],
) -> Option<String> {
    let mut edits = Edits::new();
    let results = changed(&results(before), &results(after));
    for (at, result) in message.results().enumerate() {
        let new = results.get(&key(result.id.as_deref(), at));
        if let (Some(slot), Some(new)) = (&result.slot, new) {
            edits.put(slot, new);
        }
    }
    let arguments = changed(&arguments(before), &arguments(after));
    for (at, call) in message.calls().enumerate() {
        let new = arguments.get(&key(call.id.as_deref(), at));
        if let (Some(slot), Some(new)) = (&call.slot, new) {
            edits.put(slot, new);
        }
    }
    if has_reasoning(before) && !has_reasoning(after) {
        for place in &message.reasoning {
            edits.cut(place.clone());
        }
    }
    (!edits.is_empty()).then(|| edits.of_object(record))
}

fn key(id: Option<&str>, at: usize) -> Cow<'static, str> {
    match id {
        Some(id) if !id.is_empty() => Cow::Owned(id.to_owned()),
        _ => Cow::Owned(format!("\0{at}")),
    }
}

fn results<'m>(messages: &'m [Message<'_>]) -> ById<'m> {
    let results = messages.iter().flat_map(Message::results).enumerate();
    let texts = results.filter_map(|(at, result)| {
        let text = result.text()?;
        Some((key(result.id.as_deref(), at), text))
    });
    texts.collect()
}

fn arguments<'m>(messages: &'m [Message<'_>]) -> ById<'m> {
    let calls = messages.iter().flat_map(Message::calls).enumerate();
    let texts = calls.map(|(at, call)| {
        let id = call.id.as_deref();
        (key(id, at), Cow::Borrowed(call.arguments.as_ref()))
    });
    texts.collect()
}

/// Those of `after` that are not in `before` as they are. A result that was no text, and is
/// one now, has changed.
fn changed<'m>(before: &ById<'_>, after: &ById<'m>) -> ById<'m> {
    let is_new = |(id, text): &(&Cow<'_, str>, &Cow<'_, str>)| before.get(*id) != Some(*text);
    let new = after.iter().filter(is_new);
    new.map(|(id, text)| (id.clone(), text.clone())).collect()
}

fn has_reasoning(messages: &[Message<'_>]) -> bool {
    let mut parts = messages.iter().flat_map(|message| &message.parts);
    parts.any(|part| matches!(part, Part::Reasoning(_)))
}

#[cfg(test)]
mod tests {
    use super::with_changes;
    use crate::{Object, dialect};

    /// What becomes of a record of Claude Code when the other form changes.
    fn rewritten(record: &str, before: &str, after: &str) -> Option<String> {
        let [claude, anthropic] =
            ["claude-code", "anthropic"].map(|name| dialect::by_name(name).expect("known"));
        let record = Object::parse(record).expect("an object");
        let [before, after] = [before, after].map(|text| Object::parse(text).expect("an object"));
        let [before, after] = [&before, &after].map(|it| anthropic.message(it).expect("a message"));
        let message = claude.message(&record).expect("a message");
        with_changes(&record, &message, &[before], &[after])
    }

    #[test]
    fn a_result_that_was_shortened_is_shortened_in_the_record() {
        let form = |text: &str| {
            format!(
                r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"a","content":"{text}"}},{{"type":"tool_result","tool_use_id":"b","content":"same"}}]}}"#
            )
        };
        let record = |text: &str| {
            format!(
                r#"{{"type":"user","uuid":"u","x":1.0,"message":{}}}"#,
                form(text)
            )
        };
        let (long, short) = (form("long"), form("sh"));
        assert_eq!(
            rewritten(&record("long"), &long, &short),
            Some(record("sh"))
        );
        assert_eq!(rewritten(&record("long"), &long, &long), None);
    }

    #[test]
    fn arguments_and_reasoning_follow() {
        let form = |thought: &str, input: &str| {
            format!(
                r#"{{"role":"assistant","content":[{thought}{{"type":"tool_use","id":"a","name":"n","input":{input}}}]}}"#
            )
        };
        let thought = r#"{"type":"thinking","thinking":"hm","signature":"s"},"#;
        let record = |message: &str| format!(r#"{{"type":"assistant","message":{message}}}"#);
        let (before, after) = (form(thought, r#"{"a":[1,2]}"#), form("", "{}"));
        let new = rewritten(&record(&before), &before, &after);
        assert_eq!(new, Some(record(&after)));
    }
}
