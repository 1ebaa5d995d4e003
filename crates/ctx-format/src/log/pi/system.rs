//! The prompt and the tools of pi, as its log declares them: each `system` message adds to the text,
//! changes sections of the prompt by name, and adds or removes tools.

use std::borrow::Cow;

use super::tree::Node;
use crate::dialect::{kind_of, parts};
use crate::log::compaction::LineText;
use crate::{Message, Object, Part, Role};

/// The role of such messages, raw.
pub(super) const ROLE: &str = r#""system""#;

/// The system message that an entry or a compaction holds, raw.
pub(super) fn message<'a>(object: &Object<'a>) -> Option<&'a str> {
    let key = match &*kind_of(object) {
        "compaction" => "systemMessage",
        "message" => "message",
        _ => return None,
    };
    let message = object.object_of(key)?;
    (message.get("role") == Some(ROLE)).then(|| message.text())
}

/// Replays all system messages of the context into one, as pi does when it compacts. pi honours a
/// compaction without one, but then repeats its whole prompt and loses texts that were added to it.
pub(super) fn replayed<'n>(nodes: &[&'n Node], milliseconds: i64) -> Option<String> {
    let message = |node: &&'n Node| Object::within(node.system.as_deref()?);
    let (mut texts, mut sections, mut tools) = (Vec::new(), Vec::new(), Vec::new());
    for message in nodes.iter().filter_map(message) {
        let content = parts(message.get("content"), &|block| block.text_of("text").map(Part::Text));
        let text = Message::new(Role::System, content).texts().join("\n");
        if !text.is_empty() {
            texts.push(text);
        }
        let patch = message.object_of("sections");
        for section in patch.iter().flat_map(Object::members) {
            let text = Some(section.value).filter(|text| *text != "null");
            set(&mut sections, section.key.clone(), text);
        }
        for (key, is_added) in [("toolsRemoved", false), ("toolsAdded", true)] {
            for tool in message.elements_of(key).unwrap_or_default() {
                let name = Object::within(tool).and_then(|tool| tool.text_of("name"));
                set(&mut tools, name?, is_added.then_some(tool));
            }
        }
    }
    if texts.is_empty() && sections.is_empty() && tools.is_empty() {
        return None;
    }
    let patch = sections.iter().fold(LineText::new(), |patch, (name, text)| patch.json(name, text));
    let tools: Vec<String> = tools.iter().map(|(_, tool)| (*tool).to_owned()).collect();
    let line = LineText::new()
        .json("role", ROLE)
        .text("content", &texts.join("\n\n"))
        .json("sections", &patch.end())
        .list("toolsAdded", &tools)
        .json("timestamp", &milliseconds.to_string());
    Some(line.end())
}

/// Replaces the value of `name`, or adds it at the end; `None` removes it.
fn set<'a>(all: &mut Vec<(Cow<'a, str>, &'a str)>, name: Cow<'a, str>, value: Option<&'a str>) {
    let at = all.iter().position(|(own, _)| *own == name);
    match (at, value) {
        (Some(at), Some(value)) => all[at].1 = value,
        (Some(at), None) => drop(all.remove(at)),
        (None, Some(value)) => all.push((name, value)),
        (None, None) => {}
    }
}
