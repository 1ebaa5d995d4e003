//! Writes messages for the Anthropic API.

use crate::binding::fate;
use crate::compaction::{LineText, list, quoted};
use crate::dialect::anthropic::{Anthropic, is_read, is_reasoning};
use crate::dialect::blocks::{MARK, check_block, is_extra, is_unsigned};
use crate::dialect::content::{blocks as blocks_of, kind_of};
use crate::legality::content::NO_CONTENT;
use crate::record::edit::cut_members;
use crate::{Edits, Media, Member, Object, Outline, Part, Role};

use super::{Line, Notes, Target, text_block};
use crate::convert::lowered::{ORIGINAL, ORIGINAL_TYPE};
use crate::convert::media::{Data, DataLocation};
use crate::convert::report::LossKind;
use crate::convert::turn::{Answer, Piece, Results, TurnMessage};
use crate::record::json::one_line;

/// Writes sessions in the dialect `anthropic`.
#[derive(Default)]
pub(crate) struct Writer {
    /// The role of the last message; `None` if there is none except system messages.
    last: Option<Role>,
}

impl Target for Writer {
    fn said(&mut self, said: &TurnMessage<'_>, notes: &mut Notes<'_>) -> Vec<String> {
        // In a session, the API takes a system message only between the user and a reply.
        let is_between = self.last.is_none_or(|last| last == Role::User)
            && (self.last.is_none() || notes.next.is_none_or(|next| next == Role::Assistant));
        let role = match said.role {
            Role::System | Role::Developer if is_between || notes.is_whole => "system",
            Role::Assistant => "assistant",
            _ => "user",
        };
        if said.role.is_system() && role == "user" {
            notes.count(LossKind::Role, "");
        }
        if role != "system" {
            self.last = Some(Role::from_word(role));
        }
        let is_valid = notes.is_same_api || fate(&Anthropic, said.model.as_deref()).is_none();
        let pieces = accepted(said, is_valid, notes.is_whole);
        let content = content(said.role, &pieces, notes).into_iter();
        content.map(|content| message(role, &content)).collect()
    }

    fn answer(&mut self, answer: &Answer<'_>, notes: &mut Notes<'_>) -> String {
        self::answer(answer, notes)
    }

    /// Writes all results, each as a block, into one user message.
    fn results(&mut self, results: &Results<'_>, notes: &mut Notes<'_>) -> Vec<Line> {
        self.last = Some(Role::User);
        let answers = results.answers.iter();
        let mut blocks: Vec<String> = answers.map(|it| answer(it, notes)).collect();
        blocks.extend(self::blocks(Role::User, &results.beside, notes));
        vec![Line::new(message("user", &list(&blocks)), results.origins.as_slice())]
    }
}

/// Returns the pieces that the API accepts in a message: there are no images in a reply, and
/// signed reasoning only if `takes_reasoning` is set.
pub(crate) fn accepted<'a>(
    said: &TurnMessage<'a>,
    takes_reasoning: bool,
    is_whole: bool,
) -> Vec<Piece<'a>> {
    let pieces = said.pieces.iter().filter(|piece| {
        let is_signed = piece.block.is_some_and(is_signed);
        let is_image = said.role == Role::Assistant && matches!(piece.part, Part::Media(_));
        is_whole || !(is_signed && !takes_reasoning || is_image)
    });
    pieces.cloned().collect()
}

pub(crate) fn message(role: &str, content: &str) -> String {
    LineText::default().text("role", role).json("content", content).end()
}

/// Writes the content of a message. A single text is written as a string instead of a list of
/// blocks.
pub(crate) fn content(role: Role, pieces: &[Piece<'_>], notes: &mut Notes<'_>) -> Option<String> {
    match pieces {
        [] if notes.is_whole => return Some("\"\"".to_owned()),
        [Piece { part: Part::Text(text), block: None }] => return Some(quoted(text)),
        _ => {}
    }
    let blocks = blocks(role, pieces, notes);
    // Nothing may be lost from a lowered session, so even a message without blocks is written.
    let is_there = !blocks.is_empty() || notes.is_whole;
    is_there.then(|| list(&blocks))
}

pub(crate) fn blocks(role: Role, pieces: &[Piece<'_>], notes: &mut Notes<'_>) -> Vec<String> {
    let is_reply = role == Role::Assistant;
    let blocks = pieces.iter().filter_map(|piece| match piece.block {
        Some(raw) if notes.is_whole || is_legal(role, raw) || is_reply && is_signed(raw) => {
            Some(own(raw, notes))
        }
        _ => block(&piece.part, notes),
    });
    blocks.collect()
}

/// Returns true for reasoning that the API has signed.
fn is_signed(raw: &str) -> bool {
    let signed = Object::within(raw).filter(|block| is_reasoning(&kind_of(block)));
    signed.is_some_and(|block| !is_unsigned(&block) || block.get("data").is_some())
}

/// Writes a block as it is, but without a cache mark if there are too many, and reasoning without
/// members that it cannot have.
fn own(raw: &str, notes: &mut Notes<'_>) -> String {
    let line = one_line(raw);
    let is_mark = |member: &Member<'_>| member.key == MARK && member.value != "null";
    let Some(block) = Object::within(&line) else { return line.into_owned() };
    let mut edits = Edits::default();
    for inner in blocks_of(&block).iter().chain([&block]) {
        let kind = kind_of(inner);
        let is_marked = inner.members().iter().any(is_mark) && !is_reasoning(&kind);
        notes.session.cache_marks += usize::from(is_marked);
        let limit = notes.to.rules().cache_marks.unwrap_or(usize::MAX);
        let is_over = is_marked && notes.session.cache_marks > limit;
        let goes = |it: &Member<'_>| {
            !notes.is_whole
                && (is_over && is_mark(it) || is_reasoning(&kind) && is_extra(&kind, &it.key))
        };
        edits.cut(cut_members(&block, inner, goes));
    }
    edits.of_object(&block)
}

/// Returns true if the API accepts the block as it is.
fn is_legal(role: Role, raw: &str) -> bool {
    let Some(block) = Object::within(raw) else { return false };
    let kind = kind_of(&block);
    let mut outline = Outline { has_content: false, ..Outline::of_line() };
    check_block(role, &kind, &block, &mut outline);
    is_read(&block) && outline.content.is_none_or(|content| content.faults.is_empty())
}

/// Returns true for a text that the API rejects. A lowered session keeps even blank texts.
fn is_blank(text: &str, is_whole: bool) -> bool {
    text.is_empty() || !is_whole && text.trim().is_empty()
}

/// Writes the block for `part`; `None` if the API has no such block.
fn block(part: &Part<'_>, notes: &mut Notes<'_>) -> Option<String> {
    Some(match part {
        Part::Text(text) | Part::Refusal(text) if is_blank(text, notes.is_whole) => return None,
        Part::Text(text) | Part::Refusal(text) => text_block(text),
        Part::Reasoning(text) if notes.is_whole => {
            LineText::of_type("thinking").text("thinking", text).end()
        }
        Part::Call(call) => notes.call(LineText::of_type("tool_use"), call, "input").end(),
        Part::Media(media) => return self::media(media, notes.is_whole),
        Part::Opaque(raw) if notes.is_whole => opaque(raw),
        Part::Reasoning(_) | Part::Opaque(_) => return None,
        // The API does not allow a result at this position, so the result is written as text.
        Part::Result(result) => {
            notes.count_at(LossKind::AsText, "", result.slot.as_ref());
            text_block(&result.text()?)
        }
    })
}

/// Wraps a part of an unknown kind in a block, so that its bytes are counted.
fn opaque(raw: &str) -> String {
    LineText::of_type("opaque").json(ORIGINAL, &one_line(raw)).end()
}

fn media(media: &Media<'_>, is_whole: bool) -> Option<String> {
    let data = Data::of(media).filter(|data| data.is_image() || data.is_pdf());
    let is_image = data.as_ref().is_some_and(|data| !data.is_pdf());
    let kind = if is_image { "image" } else { "document" };
    if is_whole {
        let line = LineText::of_type(kind).text(ORIGINAL_TYPE, media.kind);
        return Some(line.json(ORIGINAL, &one_line(&media.raw)).end());
    }
    let data = data?;
    let source = match &data.place {
        DataLocation::Here(base64) => {
            LineText::of_type("base64").text("media_type", &data.mime).text("data", base64)
        }
        DataLocation::At(url) => LineText::of_type("url").text("url", url),
    };
    Some(LineText::of_type(kind).json("source", &source.end()).end())
}

pub(crate) fn answer(answer: &Answer<'_>, notes: &mut Notes<'_>) -> String {
    let Answer { id, result, .. } = answer;
    let is_whole = notes.is_whole;
    // The API accepts empty content, but no blank text.
    let says_nothing = result.text().is_some_and(|text| is_blank(&text, is_whole));
    let is_own = |raw: &&str| is_whole || !says_nothing && is_legal(Role::User, raw);
    if let Some(raw) = answer.block.as_deref().filter(is_own) {
        return own(raw, notes);
    }
    // The result of a failed call must have content, and only texts.
    let is_text = |part: &Part<'_>| !matches!(part, Part::Media(_));
    let is_error = result.is_error && (is_whole || result.parts.iter().all(is_text));
    if is_error != result.is_error {
        notes.count_at(LossKind::ErrorMark, "", result.slot.as_ref());
    }
    let content = match result.parts.as_slice() {
        _ if says_nothing => quoted(if is_error && !is_whole { NO_CONTENT } else { "" }),
        [Part::Text(text)] => quoted(text),
        _ => list(&notes.blocks(result, block)),
    };
    LineText::of_type("tool_result")
        .text("tool_use_id", id)
        .json("content", &content)
        .is("is_error", is_error)
        .end()
}
