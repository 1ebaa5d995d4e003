//! The mended records. In a record that is changed only the values change that
//! must: an id, or the list of blocks, whose blocks keep their bytes.

use std::ops::Range;

use super::{Answer, Edit, MISSING_BEGINNING, MISSING_RESULT, Repair};
use crate::record::line_end;
use crate::{Line, Object, Piece, Record, Rules, json};

impl Repair {
    /// What stands in the place of record `at` of `records`, line ends included:
    /// nothing, or one or more records.
    pub fn mended<B: AsRef<[u8]>>(&self, records: &[B], at: usize, rules: Rules) -> Vec<u8> {
        let bytes = records[at].as_ref();
        let Some(edit) = self.edits.get(&at) else {
            return bytes.to_vec();
        };
        Writer { records, rules }.edited(bytes, edit)
    }
}

struct Writer<'a, B> {
    records: &'a [B],
    rules: Rules,
}

impl<B: AsRef<[u8]>> Writer<'_, B> {
    fn edited(&self, bytes: &[u8], edit: &Edit) -> Vec<u8> {
        let end = line_end(bytes);
        let mut lines: Vec<Vec<u8>> = Vec::new();
        if edit.begin {
            let text = json::quoted(MISSING_BEGINNING);
            lines.push(format!("{{\"role\":\"user\",\"content\":{text}}}").into_bytes());
        }
        if !edit.drop {
            lines.push(self.changed(&bytes[..bytes.len() - end.len()], edit));
        }
        if self.rules.results_are_messages() {
            lines.extend(edit.behind.iter().map(|answer| self.message(answer)));
        } else if !edit.behind.is_empty() {
            let blocks: Vec<String> = edit.behind.iter().map(|a| self.block(a)).collect();
            let blocks = blocks.join(",");
            lines.push(format!("{{\"role\":\"user\",\"content\":[{blocks}]}}").into_bytes());
        }
        if lines.is_empty() {
            return Vec::new();
        }
        // A last line without its end keeps that.
        let between: &[u8] = if end.is_empty() { b"\n" } else { end };
        let mut out = lines.join(between);
        out.extend_from_slice(end);
        out
    }

    /// The record itself, without its line end.
    fn changed(&self, bytes: &[u8], edit: &Edit) -> Vec<u8> {
        let record = whole(bytes);
        let Some(object) = record.object() else {
            return bytes.to_vec();
        };
        let mut values = self.renamed_calls(object, edit);
        if self.rules.results_are_messages() {
            let to = edit.rename_results.get(&0);
            let id = object.get("tool_call_id").zip(to);
            values.extend(id.map(|(raw, to)| (raw, json::quoted(to))));
        } else if !edit.without.is_empty()
            || !edit.into.is_empty()
            || !edit.rename_results.is_empty()
            || edit.results_first
        {
            let content = object.get("content");
            values.extend(content.map(|raw| (raw, self.content(raw, edit))));
        }
        let mut text = object.text().to_owned();
        let mut places: Vec<(Range<usize>, String)> = values
            .into_iter()
            .map(|(raw, new)| (place(object, raw), new))
            .collect();
        places.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
        for (range, new) in places {
            text.replace_range(range, &new);
        }
        // What stands before the text is a byte order mark.
        let mark = &bytes[..bytes.len() - object.text().len()];
        [mark, text.as_bytes()].concat()
    }

    /// The ids of calls that change, raw, and what they become.
    fn renamed_calls<'a>(&self, object: &Object<'a>, edit: &Edit) -> Vec<(&'a str, String)> {
        if edit.rename_calls.is_empty() {
            return Vec::new();
        }
        let as_messages = self.rules.results_are_messages();
        let key = if as_messages { "tool_calls" } else { "content" };
        let elements = object.elements_of(key).unwrap_or_default();
        let calls = elements
            .into_iter()
            .filter(|raw| as_messages || kind(raw).as_deref() == Some("tool_use"));
        let calls = calls.enumerate().filter_map(|(at, raw)| {
            let to = edit.rename_calls.get(&at)?;
            Some((Object::parse(raw).ok()?.get("id")?, json::quoted(to)))
        });
        calls.collect()
    }

    /// The blocks of a user message: results that come into it, its own, the rest.
    fn content(&self, raw: &str, edit: &Edit) -> String {
        let mut results: Vec<String> = edit.into.iter().map(|answer| self.block(answer)).collect();
        let mut others: Vec<String> = Vec::new();
        let mut own = 0;
        for block in blocks(raw) {
            if kind(&block).as_deref() != Some("tool_result") {
                others.push(block);
                continue;
            }
            if !edit.without.contains(&own) {
                let block = match edit.rename_results.get(&own) {
                    Some(to) => with_id(&block, "tool_use_id", to),
                    None => block,
                };
                results.push(block);
            }
            own += 1;
        }
        results.append(&mut others);
        format!("[{}]", results.join(","))
    }

    /// A result as a record.
    fn message(&self, answer: &Answer) -> Vec<u8> {
        if let Some((record, _)) = answer.from {
            let bytes = self.records[record].as_ref();
            let line = &bytes[..bytes.len() - line_end(bytes).len()];
            let text = whole(line).object().map(|object| object.text().to_owned());
            let text = text.unwrap_or_default();
            return with_id(&text, "tool_call_id", &answer.id).into_bytes();
        }
        let content = json::quoted(MISSING_RESULT);
        let function = self.function_of(answer).map(|name| json::quoted(&name));
        let head = if let Some(name) = function {
            format!("\"role\":\"function\",\"name\":{name}")
        } else {
            let id = json::quoted(&answer.id);
            format!("\"role\":\"tool\",\"tool_call_id\":{id}")
        };
        format!("{{{head},\"content\":{content}}}").into_bytes()
    }

    /// The name of the function that was called in the deprecated way, without id.
    fn function_of(&self, answer: &Answer) -> Option<String> {
        let record = whole(self.records[answer.call].as_ref());
        let call = record.object()?.object_of("function_call")?;
        let name = call.text_of("name").unwrap_or_default();
        answer.id.is_empty().then(|| name.into_owned())
    }

    /// A result as a block.
    fn block(&self, answer: &Answer) -> String {
        if let Some((record, place)) = answer.from {
            let record = whole(self.records[record].as_ref());
            let content = record.object().and_then(|object| object.get("content"));
            let mut results = blocks(content.unwrap_or_default()).into_iter();
            let mut results = results
                .by_ref()
                .filter(|block| kind(block).as_deref() == Some("tool_result"));
            let block = results.nth(place).unwrap_or_default();
            return with_id(&block, "tool_use_id", &answer.id);
        }
        format!(
            "{{\"type\":\"tool_result\",\"tool_use_id\":{},\"content\":{},\"is_error\":true}}",
            json::quoted(&answer.id),
            json::quoted(MISSING_RESULT)
        )
    }
}

fn whole(bytes: &[u8]) -> Record<'_> {
    Record::classify(Line {
        bytes,
        number: 1,
        offset: 0,
        piece: Piece::Whole,
    })
}

/// Where a value of the object, or within one, stands in its text.
fn place(object: &Object<'_>, raw: &str) -> Range<usize> {
    let start = json::offset_in(object.text(), raw);
    start..start + raw.len()
}

/// `text`, an object, with the id at `key` set to `to`; as it is when it says so already.
fn with_id(text: &str, key: &str, to: &str) -> String {
    let id = Object::parse(text).ok().and_then(|object| {
        let raw = object.get(key)?;
        (json::text(raw)? != to).then(|| place(&object, raw))
    });
    let mut text = text.to_owned();
    if let Some(place) = id {
        text.replace_range(place, &json::quoted(to));
    }
    text
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

fn kind(block: &str) -> Option<String> {
    let kind = Object::parse(block).ok()?.text_of("type")?;
    Some(kind.into_owned())
}
