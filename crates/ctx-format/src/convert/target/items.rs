//! Writes items for the OpenAI Responses API.

use super::{Notes, Target};
use crate::compaction::{LineText, list, quoted};
use crate::convert::fields::place;
use crate::convert::media::{Data, DataLocation};
use crate::convert::turn::{Answer, Piece, TurnMessage};
use crate::dialect::content::{kind_of, kind_of_raw};
use crate::dialect::items::{
    accepts_id, is_extra, is_extra_in_part, members_of, message, parts_of, text,
};
use crate::dialect::responses::Responses;
use crate::record::edit::cut_members;
use crate::record::json::one_line;
use crate::{Dialect, Edits, Media, Member, Object, Part, Role, Slot};

/// The program that will read the written session. The program determines which items are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accepts {
    /// The OpenAI API, which accepts every type of item.
    All,
    /// Codex, which ignores items that it cannot load.
    Codex,
}

/// The types of items, apart from messages, that Codex 0.169.0 loads and sends to the API.
const OF_CODEX: &str = "agent_message reasoning function_call function_call_output \
    custom_tool_call custom_tool_call_output local_shell_call tool_search_call \
    tool_search_output web_search_call image_generation_call compaction compaction_summary \
    context_compaction";

/// The type of the item with a summary by the server, which Codex also gives other names.
const COMPACTION: &str = "compaction";

impl Target for Accepts {
    fn said(&mut self, said: &TurnMessage<'_>, notes: &mut Notes<'_>) -> Vec<String> {
        if !said.items.is_empty() {
            let mut calls = said.pieces.iter().filter(|it| it.call_id().is_some());
            return said.items.iter().flat_map(|raw| self.item(raw, &mut calls, notes)).collect();
        }
        let role = match said.role {
            Role::System if *self == Self::Codex => Role::Developer,
            Role::System | Role::Developer | Role::Assistant => said.role,
            _ => Role::User,
        };
        let (mut items, mut content) = (Vec::new(), Vec::new());
        for Piece { part, .. } in &said.pieces {
            if let Part::Call(call) = part {
                self.push_message(role, &mut content, &mut items);
                let arguments = notes.arguments(&call.arguments, call.slot.as_ref());
                let item = LineText::of_type("function_call")
                    .text("name", &call.name)
                    .text("arguments", &arguments)
                    .text("call_id", call.id.as_deref().unwrap_or_default());
                items.push(item.end());
            } else {
                content.extend(self.part(part, role == Role::Assistant));
            }
        }
        self.push_message(role, &mut content, &mut items);
        items
    }

    fn answer(&mut self, answer: &Answer<'_>, notes: &mut Notes<'_>) -> String {
        let own = answer.block.as_deref();
        if let Some(item) = own.and_then(|raw| self.kept(raw, Some(&answer.id), None, notes)) {
            return item;
        }
        notes.no_error_mark(answer);
        let output = match answer.result.parts.as_slice() {
            [] => quoted(""),
            [Part::Text(text)] => quoted(text),
            [Part::Opaque(raw)] => quoted(notes.as_text(raw, &answer.result)),
            _ => list(&notes.blocks(&answer.result, |part, _| self.part(part, false))),
        };
        let is_custom = own.is_some_and(|raw| kind_of_raw(raw) == "custom_tool_call_output");
        let kind = if is_custom { "custom_tool_call_output" } else { "function_call_output" };
        LineText::of_type(kind).text("call_id", &answer.id).json("output", &output).end()
    }
}

impl Accepts {
    /// Writes an item unchanged if the target accepts it; otherwise writes only the parts that the
    /// target can represent. If the item is a call, the next of `calls` has its new id and name.
    fn item<'p>(
        mut self,
        raw: &str,
        calls: &mut impl Iterator<Item = &'p Piece<'p>>,
        notes: &mut Notes<'_>,
    ) -> Vec<String> {
        let object = Object::parse(raw).ok();
        let message = object.as_ref().and_then(|object| Responses.message(object));
        let Some((object, mut message)) = object.as_ref().zip(message) else { return Vec::new() };
        for part in message.parts.iter_mut().filter(|part| matches!(part, Part::Call(_))) {
            if let Some(call) = calls.next() {
                *part = call.part.clone();
            }
        }
        let call = message.calls().next();
        let id = call.and_then(|call| call.id.as_deref());
        if let Some(item) = self.kept(raw, id, call.map(|call| &*call.name), notes) {
            return vec![item];
        }
        let said = TurnMessage {
            role: message.role,
            pieces: message.parts.into_iter().map(Piece::bare).collect(),
            ..TurnMessage::of_user(Vec::new(), [].into())
        };
        let items = self.said(&said, notes).into_iter();
        let Some(phase) = object.get("phase") else { return items.collect() };
        items.map(|item| LineText::of_object(item).json("phase", phase).end()).collect()
    }

    /// Returns the item on one line, with `id` as the id of its call and `name` as the name of its
    /// tool; `None` if the target does not take the item as it is.
    fn kept(
        self,
        raw: &str,
        id: Option<&str>,
        name: Option<&str>,
        notes: &mut Notes<'_>,
    ) -> Option<String> {
        let item = Object::parse(raw).ok().filter(|item| self.takes(item))?;
        let kind = kind_of(&item);
        let mut edits = Edits::default();
        let has_id = item.text_of("call_id").is_some()
            || kind.starts_with("function_call")
            || kind.starts_with("custom_tool_call");
        if let Some(id) = id.filter(|id| has_id && item.text_of("call_id").as_deref() != Some(id)) {
            edits.set(0, &item, "call_id", &quoted(id));
        }
        if let Some(name) = name.filter(|name| item.text_of("name").is_some_and(|own| own != *name))
        {
            edits.set(0, &item, "name", &quoted(name));
        }
        if kind.contains("compaction") && kind != COMPACTION {
            edits.set(0, &item, "type", &quoted(COMPACTION));
        }
        if let Some((raw, own)) = item.get("arguments").zip(item.text_of("arguments")) {
            let mut slot = Slot::text(&item, raw);
            let within = std::mem::replace(&mut slot.range, place(raw));
            let arguments = notes.arguments(&own, Some(&slot));
            if arguments != own {
                edits.replace(within, quoted(&arguments));
            }
        }
        // Codex stores absent members as `null`, which the API rejects except in these. It rejects
        // ids that do not look like its own, too.
        let has_own_id = item.text_of("id").is_some_and(|id| accepts_id(&kind, &id));
        let is_taken = |it: &Member<'_>| match &*it.key {
            _ if is_extra(&item, it) => false,
            "call_id" => members_of(&kind).is_none_or(|known| known.contains("call_id")),
            "type" | "code" | "outputs" | "result" => true,
            "id" => has_own_id,
            _ => it.value != "null",
        };
        let goes = |it: &Member<'_>| self == Self::All && !is_taken(it);
        let parts = parts_of(&item).filter(|_| self == Self::All);
        let of_parts = parts.flat_map(|part| cut_members(&item, &part, is_extra_in_part));
        edits.cut(cut_members(&item, &item, goes).into_iter().chain(of_parts));
        Some(one_line(&edits.of_object(&item)).into_owned())
    }

    /// Returns true if the target accepts the item unchanged.
    fn takes(self, item: &Object<'_>) -> bool {
        let kind = kind_of(item);
        let is_message = matches!(&*kind, "" | "message");
        let is_result = matches!(&*kind, "function_call_output" | "custom_tool_call_output");
        let key = if is_message { "content" } else { "output" };
        let parts = item.elements_of(key).filter(|_| is_message || is_result);
        let takes_parts = parts.iter().flatten().all(|raw| self.takes_part(raw));
        if self == Self::All {
            // A reply is a text, or a list of parts in an item that the API has returned.
            let has_id = item.text_of("id").is_some_and(|id| accepts_id(&kind, &id));
            let is_returned = has_id && item.get("status").is_some();
            let is_reply = item.get("role") == Some("\"assistant\"");
            let is_known = members_of(&kind).is_none_or(|it| !it.is_empty())
                && (!kind.contains("compaction") || item.get("encrypted_content").is_some());
            return is_known && takes_parts && (is_returned || parts.is_none() || !is_reply);
        }
        takes_parts
            && match &*kind {
                "message" => item.get("role") != Some("\"system\"") && parts.is_some(),
                _ if is_result => parts.is_some() || item.text_of(key).is_some(),
                kind => OF_CODEX.split_ascii_whitespace().any(|taken| taken == kind),
            }
    }

    /// Returns true if the target accepts a part of a message or of a result unchanged.
    fn takes_part(self, raw: &str) -> bool {
        let Some(part) = Object::within(raw) else { return false };
        match &*kind_of(&part) {
            "input_image" => {
                let data = Data::of(&Media { kind: "input_image", raw: raw.into() });
                let url = part.text_of("image_url");
                let is_image = url.zip(data).is_some_and(|(url, data)| data.is_image_at(&url));
                let is_file = self == Self::All && part.get("file_id").is_some();
                (is_image || is_file) && (self == Self::Codex || part.get("detail").is_some())
            }
            "input_text" | "output_text" => true,
            _ => self == Self::All,
        }
    }

    /// Writes a part of a message; `None` if the target cannot represent the part.
    fn part(self, part: &Part<'_>, is_reply: bool) -> Option<String> {
        let text_kind = if is_reply { "output_text" } else { "input_text" };
        match part {
            Part::Media(media) if !is_reply => self.media(media),
            // The API takes a reply that it has not returned itself only as a text.
            part if is_reply && self == Self::All => part.said().map(quoted),
            part => part.said().map(|said| text(text_kind, said)),
        }
    }

    /// Moves the content collected since the last item, if any, into new message items.
    fn push_message(self, role: Role, content: &mut Vec<String>, items: &mut Vec<String>) {
        if self == Self::All && role == Role::Assistant {
            let item = LineText::of_type("message").text("role", role.as_str());
            items.extend(content.drain(..).map(|text| item.clone().json("content", &text).end()));
        } else if !content.is_empty() {
            items.push(message(role, content));
            content.clear();
        }
    }

    fn media(self, media: &Media<'_>) -> Option<String> {
        if matches!(media.kind, "input_image" | "input_file") && self.takes_part(&media.raw) {
            return Some(one_line(&media.raw).into_owned());
        }
        let takes_files = self == Self::All;
        let data =
            Data::of(media).filter(|data| data.is_image() || data.is_pdf() && takes_files)?;
        if data.is_image() {
            let part = LineText::of_type("input_image");
            let part = part.text("image_url", &data.url());
            let is_codex = self == Self::Codex;
            return Some(if is_codex { part.end() } else { part.text("detail", "auto").end() });
        }
        let part = LineText::of_type("input_file");
        let part = match &data.place {
            DataLocation::Here(_) => {
                let name = data.name.as_deref().unwrap_or("document.pdf");
                part.text("filename", name).text("file_data", &data.url())
            }
            DataLocation::At(url) => part.text("file_url", url),
        };
        Some(part.end())
    }
}
