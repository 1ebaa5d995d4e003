//! Edits to a record, which replace some of its JSON values and leave all other bytes unchanged.

use crate::{Media, Member, Object, Part, json};
use std::ops::Range;

/// A replaceable JSON value in a record: the content of a tool result or the arguments of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The byte range of the value in [`Object::text`].
    pub range: Range<usize>,
    /// Whether a replacement is inserted as raw JSON rather than quoted as a string.
    is_json: bool,
    /// Whether a replacement becomes a list with one text block.
    is_list: bool,
}

impl Slot {
    /// Creates a slot for the value `raw` of `object`. Replacements are quoted as JSON strings.
    pub fn text(object: &Object<'_>, raw: &str) -> Self {
        Self { range: object.place_of(raw), is_json: false, is_list: false }
    }

    /// Creates a slot for the value `raw` of `object`. Replacements are inserted as raw JSON.
    pub fn json(object: &Object<'_>, raw: &str) -> Self {
        Self { range: object.place_of(raw), is_json: true, is_list: false }
    }

    /// Creates a slot for the value `raw` of `object`. Replacements become a list of one text block.
    pub fn blocks(object: &Object<'_>, raw: &str) -> Self {
        Self { is_list: true, ..Self::text(object, raw) }
    }
}

/// Replacements in the JSON object of a single record.
#[derive(Clone, Debug, Default)]
pub struct Edits {
    /// The replacements, sorted by range. The ranges do not overlap.
    replaced: Vec<(Range<usize>, String)>,
}

impl Edits {
    /// Returns true if there is nothing to replace.
    pub fn is_empty(&self) -> bool {
        self.replaced.is_empty()
    }

    /// Replaces the JSON at `place` in [`Object::text`] with `json`.
    ///
    /// # Panics
    ///
    /// Panics if `place` overlaps a range that has already been replaced.
    pub fn replace(&mut self, place: Range<usize>, json: String) {
        let at = self.replaced.partition_point(|(other, _)| other.start < place.start);
        let free = |other: &(Range<usize>, String)| {
            other.0.end <= place.start || place.end <= other.0.start
        };
        let neighbours = at.saturating_sub(1)..(at + 1).min(self.replaced.len());
        assert!(self.replaced[neighbours].iter().all(free), "edits do not overlap");
        self.replaced.insert(at, (place, json));
    }

    /// Sets the member `key` of `object`, which begins at byte `start`, to the raw value `json`. An
    /// existing member is replaced; a new member is inserted before all others.
    ///
    /// # Panics
    ///
    /// Panics if the text to replace overlaps a range that has already been replaced.
    pub fn set(&mut self, start: usize, object: &Object<'_>, key: &str, json: &str) {
        if let Some(raw) = object.get(key) {
            let place = object.place_of(raw);
            return self.replace(start + place.start..start + place.end, json.to_owned());
        }
        let inside = start + object.inside();
        let is_only = object.members().is_empty()
            && !self.replaced.iter().any(|(place, _)| *place == (inside..inside));
        let comma = if is_only { "" } else { "," };
        self.replace(inside..inside, format!("\"{key}\":{json}{comma}"));
    }

    /// Removes media from a result that keeps them apart from its text in `slot`, and adds a text
    /// for each to that text. For each part of the result, `texts` has the text that replaces it,
    /// if there is one.
    ///
    /// # Panics
    ///
    /// Panics if the text to replace overlaps a range that has already been replaced.
    pub fn detach(
        &mut self,
        object: &Object<'_>,
        slot: &Slot,
        parts: &[Part<'_>],
        texts: &[Option<String>],
    ) {
        let places = parts.iter().zip(texts).filter_map(|(part, text)| {
            let (Part::Media(Media { raw, .. }) | Part::Opaque(raw)) = part else { return None };
            Some((object.place_of(raw), text.is_some()))
        });
        self.cut(cuts(object.text(), places));
        let own = json::text(&object.text()[slot.range.clone()]).unwrap_or_default();
        let own = Some(&*own).filter(|own| !own.is_empty());
        let texts: Vec<&str> =
            own.into_iter().chain(texts.iter().flatten().map(|it| &**it)).collect();
        self.put(slot, &texts.join("\n"));
    }

    /// Returns true if any replacement lies completely within `place`.
    pub fn touch(&self, place: &Range<usize>) -> bool {
        let within =
            |(at, _): &(Range<usize>, String)| place.start <= at.start && at.end <= place.end;
        self.replaced.iter().any(within)
    }

    /// Removes the text at each of `places`.
    ///
    /// # Panics
    ///
    /// Panics if the text to replace overlaps a range that has already been replaced.
    pub fn cut(&mut self, places: impl IntoIterator<Item = Range<usize>>) {
        for place in places {
            self.replace(place, String::new());
        }
    }

    /// Replaces the value in `slot` with `text`, quoted as a string or inserted as raw JSON as the
    /// slot requires.
    ///
    /// # Panics
    ///
    /// Panics if the text to replace overlaps a range that has already been replaced.
    pub fn put(&mut self, slot: &Slot, text: &str) {
        let json = if slot.is_json { text.to_owned() } else { json::quoted(text) };
        let list = || format!(r#"[{{"type":"text","text":{json}}}]"#);
        let json = if slot.is_list { list() } else { json };
        self.replace(slot.range.clone(), json);
    }

    /// Returns the text of `object` with the edits applied.
    pub fn of_object(&self, object: &Object<'_>) -> String {
        let text = self.apply(object.text().as_bytes(), 0);
        // Edits replace whole JSON values, so they cannot split a character.
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Returns the bytes of a record with the edits applied. The text of the record's object begins
    /// at byte `skipped` of the record.
    pub(crate) fn apply(&self, bytes: &[u8], skipped: usize) -> Vec<u8> {
        let mut edited = Vec::with_capacity(bytes.len());
        let mut from = 0;
        for (place, json) in &self.replaced {
            edited.extend_from_slice(&bytes[from..skipped + place.start]);
            edited.extend_from_slice(json.as_bytes());
            from = skipped + place.end;
        }
        edited.extend_from_slice(&bytes[from..]);
        edited
    }
}

/// Returns the ranges to cut from `text` to remove items from an object or an array, along with the
/// commas that would be left over. The ranges are in order and do not overlap. For each member or
/// element, in order, `items` yields its range and whether to remove it.
pub(crate) fn cuts(
    text: &str,
    items: impl Iterator<Item = (Range<usize>, bool)>,
) -> Vec<Range<usize>> {
    let (mut cuts, mut trailing) = (Vec::new(), Vec::new());
    let mut kept_end = None;
    for (place, gone) in items {
        if gone {
            trailing.push(place);
            continue;
        }
        // If another item follows a removed one, the comma between them is also removed.
        cuts.extend(trailing.drain(..).map(|cut| {
            let comma = text[cut.end..].find(',');
            cut.start..cut.end + comma.map_or(0, |at| at + 1)
        }));
        kept_end = Some(place.end);
    }
    // If the last items are removed, so is the comma before them.
    if let (Some(first), Some(last)) = (trailing.first(), trailing.last()) {
        cuts.push(kept_end.unwrap_or(first.start)..last.end);
    }
    cuts
}

/// Returns the ranges to cut from the text of `record` to remove members of `within`, an object
/// inside the record.
pub(crate) fn cut_members(
    record: &Object<'_>,
    within: &Object<'_>,
    goes: impl Fn(&Member<'_>) -> bool,
) -> Vec<Range<usize>> {
    let start = record.place_of(within.text()).start;
    let members = within.members().iter();
    let place = |place: &Range<usize>| start + place.start..start + place.end;
    cuts(record.text(), members.map(|member| (place(&member.place), goes(member))))
}

#[cfg(test)]
mod tests {
    use super::{Edits, Slot};
    use crate::{Dialect, Object, Origin, Record, dialect};

    fn record(text: &str) -> Record<'_> {
        Origin::ALONE.record(text.as_bytes())
    }

    #[test]
    fn members_of_an_empty_object_are_separated() {
        for (text, expected) in
            [("{}", r#"{"b":2,"a":1}"#), (r#"{"c":3}"#, r#"{"b":2,"a":1,"c":3}"#)]
        {
            let object = Object::parse(text).expect("an object");
            let mut edits = Edits::default();
            edits.set(0, &object, "a", "1");
            edits.set(0, &object, "b", "2");
            assert_eq!(edits.of_object(&object), expected);
        }
    }

    /// Returns the record with the content of each tool result replaced with the result's number.
    fn numbered(dialect: &dyn Dialect, text: &str) -> String {
        let record = record(text);
        let object = record.whole_object().expect("an object");
        let message = dialect.message(object).expect("a message");
        let slots: Vec<_> = message.results().map(|result| &result.slot).collect();
        let mut edits = Edits::default();
        // The slots are filled in reverse to show that their order does not matter.
        for (number, slot) in slots.into_iter().enumerate().rev() {
            if let Some(slot) = slot {
                edits.put(slot, &format!("\"{number}\""));
            }
        }
        String::from_utf8(record.edited(&edits)).expect("UTF-8")
    }

    #[test]
    fn only_the_content_of_results_changes() {
        let chat = dialect::by_name("chat").expect("chat");
        let anthropic = dialect::by_name("anthropic").expect("anthropic");
        let cases: [(&dyn Dialect, &str, &str); 6] = [
            (
                chat,
                "\u{feff}{ \"role\":\"tool\" ,\"n\":1E2,\"content\" : [{\"type\":\"text\",\"text\":\"a\"}] ,\"tool_call_id\":\"c\"}\r\n",
                "\u{feff}{ \"role\":\"tool\" ,\"n\":1E2,\"content\" : \"\\\"0\\\"\" ,\"tool_call_id\":\"c\"}\r\n",
            ),
            (
                chat,
                "{\"_ctx\":{\"zone\":\"old\"},\"content\":\"x\",\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"last\"}",
                "{\"content\":\"x\",\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"\\\"0\\\"\"}",
            ),
            (
                chat,
                "{\"role\":\"user\",\"content\":\"stays\"}\n",
                "{\"role\":\"user\",\"content\":\"stays\"}\n",
            ),
            (
                anthropic,
                "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"content\":\"a\",\"tool_use_id\":\"1\"}, {\"type\":\"text\",\"text\":\"b\"},{\"type\":\"tool_result\",\"tool_use_id\":\"2\",\"content\":[{\"type\":\"text\",\"text\":\"c\"}]}]}\n",
                "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"content\":\"\\\"0\\\"\",\"tool_use_id\":\"1\"}, {\"type\":\"text\",\"text\":\"b\"},{\"type\":\"tool_result\",\"tool_use_id\":\"2\",\"content\":\"\\\"1\\\"\"}]}\n",
            ),
            (
                anthropic,
                "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"1\"}]}",
                "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"1\"}]}",
            ),
            (
                anthropic,
                "{\"role\":\"assistant\",\"content\":[{\"type\":\"web_search_tool_result\",\"tool_use_id\":\"1\",\"content\":[{\"encrypted_content\":\"x\"}]}]}",
                "{\"role\":\"assistant\",\"content\":[{\"type\":\"web_search_tool_result\",\"tool_use_id\":\"1\",\"content\":[{\"encrypted_content\":\"x\"}]}]}",
            ),
        ];
        for (dialect, before, after) in cases {
            assert_eq!(numbered(dialect, before), after);
        }
    }

    /// Returns the record's text without its reasoning.
    fn without_reasoning(name: &str, text: &str) -> String {
        let record = record(text);
        let dialect = dialect::by_name(name).expect("a dialect");
        let object = record.whole_object().expect("an object");
        let message = dialect.message(object).expect("a message");
        let mut edits = Edits::default();
        edits.cut(message.reasoning);
        String::from_utf8(record.edited(&edits)).expect("UTF-8")
    }

    #[test]
    fn reasoning_goes_with_its_comma() {
        let cases = [
            (
                "chat",
                r#"{"role":"assistant", "reasoning_content" : "a" , "content":"x","reasoning":"b"}"#,
                r#"{"role":"assistant",  "content":"x"}"#,
            ),
            (
                "chat",
                r#"{"reasoning":"b","role":"assistant","content":"x"}"#,
                r#"{"role":"assistant","content":"x"}"#,
            ),
            (
                "chat",
                r#"{"role":"user","reasoning":"b","content":"x"}"#,
                r#"{"role":"user","reasoning":"b","content":"x"}"#,
            ),
            (
                "anthropic",
                r#"{"role":"assistant","content":[ {"type":"thinking","thinking":"a, b"} , {"type":"text","text":"x"},{"type":"redacted_thinking","data":""}],"n":1}"#,
                r#"{"role":"assistant","content":[  {"type":"text","text":"x"}],"n":1}"#,
            ),
            (
                "anthropic",
                r#"{"role":"assistant","content":[{"type":"thinking","thinking":"a"}]}"#,
                r#"{"role":"assistant","content":[]}"#,
            ),
        ];
        for (dialect, before, after) in cases {
            assert_eq!(without_reasoning(dialect, before), after);
        }
    }

    #[test]
    fn arguments_have_their_places() {
        let cases = [
            (
                "chat",
                r#"{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}},{"id":"b","custom":{"name":"g","input":"x"}},{"id":"c","function":{"name":"h"}}],"function_call":{"name":"i","arguments":"[1]"}}"#,
                vec![Some("\"{}\""), Some("\"x\""), None, Some("\"[1]\"")],
            ),
            (
                "anthropic",
                r#"{"role":"assistant","content":[{"type":"text","text":"t"},{"type":"tool_use","id":"a","name":"f","input":{"p" : 1}},{"type":"tool_use","id":"b","name":"f"}]}"#,
                vec![Some(r#"{"p" : 1}"#), None],
            ),
        ];
        for (name, text, expected) in cases {
            let record = record(text);
            let object = record.whole_object().expect("an object");
            let dialect = dialect::by_name(name).expect("a dialect");
            let message = dialect.message(object).expect("a message");
            let slots = message.calls().map(|call| call.slot.as_ref());
            let found: Vec<_> =
                slots.map(|slot| slot.map(|slot| &text[slot.range.clone()])).collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn texts_are_written_as_the_format_has_them() {
        let object = Object::parse(r#"{"a":"x","b":{}}"#).expect("an object");
        let mut edits = Edits::default();
        edits.put(&Slot::json(&object, object.get("b").expect("b")), "[1]");
        edits.put(&Slot::text(&object, object.get("a").expect("a")), "[1]");
        assert_eq!(edits.of_object(&object), r#"{"a":"[1]","b":[1]}"#);
    }

    #[test]
    #[should_panic(expected = "edits do not overlap")]
    fn a_place_is_replaced_once() {
        let mut edits = Edits::default();
        edits.replace(5..9, String::new());
        edits.replace(0..5, String::new());
        edits.replace(8..10, String::new());
    }
}

#[cfg(test)]
mod cut_tests {
    use super::cuts;

    fn left(gone: &[usize]) -> String {
        let text = "[ 0 , 1,2 , 3]";
        let items = "0123".chars().enumerate().map(|(index, digit)| {
            let start = text.find(digit).expect("a digit of the text");
            (start..start + 1, gone.contains(&index))
        });
        let mut left = text.to_owned();
        for cut in cuts(text, items).into_iter().rev() {
            left.replace_range(cut, "");
        }
        left
    }

    #[test]
    fn each_goes_with_one_comma() {
        assert_eq!(left(&[]), "[ 0 , 1,2 , 3]");
        assert_eq!(left(&[0]), "[  1,2 , 3]");
        assert_eq!(left(&[1, 2]), "[ 0 ,  3]");
        assert_eq!(left(&[0, 3]), "[  1,2]");
        assert_eq!(left(&[2, 3]), "[ 0 , 1]");
        assert_eq!(left(&[0, 1, 2, 3]), "[ ]");
    }
}
