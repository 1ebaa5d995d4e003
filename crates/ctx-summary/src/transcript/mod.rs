//! Writes messages as plain text for a model that summarizes them. Messages are cut only if they do
//! not fit into the model's window or take up several megabytes.

mod bulk;
mod noise;
mod pack;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use ctx_format::{Call, Message, Part, Role, ToolResult};
use ctx_redact::redact;
use ctx_text::{hash, one_line, regex};
use ctx_tokens::TokenCounter;
use regex::Regex;

use crate::LISTS;
use crate::language::Languages;
use crate::ledger::runtime::digest;
use crate::ledger::{Writer, pieces};
use noise::without_noise;

pub(crate) use pack::{pack, shorten};

/// The messages to summarize, as text. Each message is a piece. Secrets, reasoning, media, and
/// content that is useful only to machines are left out.
///
/// Tool arguments and results are kept whole up to a total of several megabytes, and cut short
/// beyond that, so memory use grows mostly with the text that users and the model wrote.
#[derive(Debug, Default)]
pub struct Transcript {
    pieces: Vec<Vec<Spoken>>,
    /// The number of redacted secrets.
    pub redacted: usize,
    /// The languages of the user's messages.
    pub languages: Languages,
    /// The texts of the kept messages that came after the most recent message to summarize. The
    /// first element of each pair is the label of the text.
    kept: Vec<(String, String)>,
    calls: HashMap<String, MadeCall>,
    /// For each session line that contains a result, the call that produced the result.
    sources: HashMap<u64, String>,
    /// The position of each result, by the hash of its text.
    results: HashMap<u64, (usize, usize)>,
    /// The number of bytes in all tool texts.
    held: usize,
    /// True if tool texts are cut to [`SHORT`] instead of [`LONGEST`] characters.
    is_full: bool,
}

/// A part of a message, as text.
#[derive(Debug)]
struct Spoken {
    label: String,
    text: String,
    /// The kind of tool text, which may be cut. `None` means text by the user or the model.
    tool: Option<ToolText>,
}

/// A call whose result may follow.
#[derive(Debug)]
struct MadeCall {
    /// The tool and the target.
    digest: String,
    /// Whether the call shows existing content.
    shows: bool,
    /// The number of the call among the calls of its message, if there are several.
    number: Option<usize>,
}

/// The kind of a tool text. A tool text is text that a tool received or returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ToolText {
    Arguments,
    Error,
    /// Existing content, which can be read again.
    Shown,
    Result,
}

/// The maximum number of characters in a tool text, unless all tool texts together exceed [`HELD`]
/// bytes.
const LONGEST: usize = 400_000;
/// If all tool texts together exceed this number of bytes, each is cut to [`SHORT`] characters.
const HELD: usize = 16 << 20;
/// The maximum number of characters in a tool text once all tool texts together have exceeded
/// [`HELD`] bytes.
const SHORT: usize = 2_000;
/// If a result that is at least this long, in bytes, is repeated, only the last copy is sent.
const REPEATED: usize = 300;
/// The label of text that a program or another agent added to a user message.
const PROGRAM: &str = "added by a program";

/// The record, as sent to the model.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) pieces: Vec<String>,
    /// The number of tool texts that were cut.
    pub(crate) cuts: usize,
}

impl Transcript {
    /// Adds a kept message. If messages to summarize follow it, its texts become part of the
    /// record, because those messages would be unclear without it.
    pub fn push_kept(&mut self, message: &Message<'_>) {
        if !matches!(message.role, Role::User | Role::Assistant) {
            return;
        }
        let label = format!("{}, in a message that stays", message.role.as_str());
        let texts = message.parts.iter().filter_map(Part::text);
        self.kept.extend(texts.map(|text| (label.clone(), text.to_owned())));
    }

    /// Adds the next message to summarize, which is on line `line` of the session.
    pub fn push(&mut self, line: u64, message: &Message<'_>) {
        for (label, text) in std::mem::take(&mut self.kept) {
            self.piece(|it| it.add(&label, &text));
        }
        let role = message.role.as_str();
        self.piece(|it| {
            let parts = message.parts.iter().enumerate();
            let is_parallel = message.calls().nth(1).is_some();
            let mut number = 0;
            for (at, part) in parts {
                match part {
                    Part::Call(call) => {
                        number += 1;
                        it.add_call(role, call, is_parallel.then_some(number));
                    }
                    part => it.add_part(line, message, at, part),
                }
            }
        });
        if self.held > HELD && !self.is_full {
            self.is_full = true;
            let tools = self.pieces.iter_mut().flatten();
            for spoken in tools.filter(|spoken| spoken.tool.is_some()) {
                spoken.text = shorten(&spoken.text, SHORT);
            }
        }
    }

    /// Returns true if the transcript contains no text.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Returns the call whose result is on the given line of the session, if any. The call is
    /// described by its tool and target.
    pub fn source_of(&self, line: u64) -> Option<&str> {
        self.sources.get(&line).map(String::as_str)
    }

    /// Returns the number of tokens in the transcript when nothing is cut.
    pub fn tokens(&self, counter: &dyn TokenCounter) -> u64 {
        let pieces = self.pieces.iter();
        pieces.map(|piece| counter.count(&written(piece, whole))).sum()
    }

    /// Adds a piece that consists of the parts added by `add`. Adds no piece if `add` adds no
    /// parts.
    fn piece(&mut self, add: impl FnOnce(&mut Self)) {
        self.pieces.push(Vec::new());
        add(self);
        if self.pieces.last().is_some_and(Vec::is_empty) {
            self.pieces.pop();
        }
    }

    fn add_part(&mut self, line: u64, message: &Message<'_>, at: usize, part: &Part<'_>) {
        let role = message.role.as_str();
        match part {
            Part::Text(text) if message.role == Role::User => {
                for (writer, piece) in pieces(text, message.added.contains(&at)) {
                    let is_own = writer == Writer::User;
                    if is_own {
                        self.languages.push(&without_noise(&piece));
                    }
                    self.add(if is_own { role } else { PROGRAM }, &piece);
                }
            }
            Part::Text(text) => self.add(role, text),
            Part::Refusal(text) => self.add(&format!("{role}, refusing"), text),
            Part::Result(result) => self.add_result(line, result),
            Part::Media(media) => self.add(role, &format!("({})", media.kind)),
            Part::Call(_) | Part::Reasoning(_) | Part::Opaque(_) => {}
        }
    }

    fn add_call(&mut self, role: &str, call: &Call<'_>, number: Option<usize>) {
        let label = format!("{role} calls {}{}", self.clean(&call.name), numbered(number));
        let arguments = self.clean(&call.arguments);
        let digest = redact(&digest(call)).0.into_owned();
        let shows = bulk::shows(&call.name, &digest);
        if let Some(id) = &call.id {
            self.calls.insert(id.to_string(), MadeCall { digest, shows, number });
        }
        self.add_of_tool(label, &arguments, ToolText::Arguments);
    }

    fn add_result(&mut self, line: u64, result: &ToolResult<'_>) {
        let of = result.name.as_deref().map(|name| format!(" of {}", self.clean(name)));
        let kind = if result.is_error { "error" } else { "result" };
        let made = result.id.as_ref().and_then(|id| self.calls.get(&**id));
        let shows = made.is_some_and(|made| made.shows);
        let number = made.and_then(|made| made.number);
        let digest = made.map(|made| made.digest.clone());
        let label = format!("tool {kind}{}{}", of.unwrap_or_default(), numbered(number));
        let texts: Vec<&str> = result.parts.iter().filter_map(text_of).collect();
        let text = self.clean(&texts.join("\n"));
        let of = digest.as_ref().map(|digest| format!(" of {digest}"));
        let repeats = format!("(the same as in a later result{})", of.unwrap_or_default());
        if let Some(digest) = digest {
            self.sources.entry(line).or_insert(digest);
        }
        let last = self.pieces.len() - 1;
        let place = (last, self.pieces[last].len());
        if text.len() >= REPEATED
            && let Some((piece, part)) = self.results.insert(hash(&text), place)
        {
            let before = &mut self.pieces[piece][part].text;
            self.held -= before.len();
            *before = repeats;
        }
        let kind = match (result.is_error, shows) {
            (true, _) => ToolText::Error,
            (_, true) => ToolText::Shown,
            _ => ToolText::Result,
        };
        self.add_of_tool(label, &text, kind);
    }

    fn add(&mut self, label: &str, text: &str) {
        let text = self.clean(text);
        if !text.trim().is_empty() {
            self.say(label.to_owned(), &text, None);
        }
    }

    fn add_of_tool(&mut self, label: String, text: &str, tool: ToolText) {
        let text = shorten(text, if self.is_full { SHORT } else { LONGEST });
        self.held += text.len();
        self.say(label, &text, Some(tool));
    }

    fn say(&mut self, label: String, text: &str, tool: Option<ToolText>) {
        // The blanks before the first word may mean something, as in `git status --short`.
        let text = text.trim_start_matches(['\n', '\r']).trim_end();
        let spoken =
            Spoken { label, text: if text.is_empty() { "(empty)" } else { text }.to_owned(), tool };
        self.pieces.last_mut().expect("pushed before").push(spoken);
    }

    /// Removes secrets and noise from `text`.
    fn clean(&mut self, text: &str) -> String {
        let (clean, count) = redact(text);
        self.redacted += count;
        without_noise(&clean).into_owned()
    }
}

/// Returns the number of a call or a result in its label.
fn numbered(number: Option<usize>) -> String {
    number.map(|number| format!(", call {number}")).unwrap_or_default()
}

/// Writes a message. `text` returns each text in the message, shortened if necessary.
fn written<'s>(
    piece: &'s [Spoken],
    mut text: impl FnMut(usize, &'s Spoken) -> Cow<'s, str>,
) -> String {
    let parts = piece.iter().enumerate();
    let parts = parts.map(|(at, spoken)| labelled(&spoken.label, &text(at, spoken)));
    parts.collect::<Vec<_>>().join("\n\n")
}

/// Writes a text below its label.
pub(crate) fn labelled(label: &str, text: &str) -> String {
    format!("[{}]\n{}", one_line(label), escaped(text))
}

/// Puts a backslash into whatever looks like a label, or like a tag that ends the record or the
/// earlier summary in the prompt.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    static MARK: LazyLock<Regex> = LazyLock::new(|| regex(&LISTS.pattern("marks of the record")));
    MARK.replace_all(text, r"$1$3\$2$4")
}

fn whole(_at: usize, spoken: &Spoken) -> Cow<'_, str> {
    spoken.text.as_str().into()
}

fn text_of<'m>(part: &'m Part<'_>) -> Option<&'m str> {
    match part {
        Part::Text(text) | Part::Refusal(text) => Some(text),
        Part::Media(media) => Some(media.kind),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
