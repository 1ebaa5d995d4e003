//! What pruning has to know of a record.

use std::borrow::Cow;

use ctx_transcript::{Call, Message, Object, Outline, Part, Role, ShortHash, ToolResult};

use super::errors::{first_chars, looks_like_error};
use super::files::FileUse;
use super::noise::without_escapes;
use super::policy::Policy;
use super::replace::{is_taken_out, parted};
use super::verdict::Rule;

/// One record.
#[derive(Clone, Debug)]
pub enum Facts<'a> {
    /// A message.
    Message {
        /// Its skeleton.
        outline: &'a Outline<'a>,
        /// Its calls, in their order.
        calls: Vec<CallFacts>,
        /// Its results, in their order.
        results: Vec<ResultFacts>,
        /// Whether it holds reasoning, and anything else.
        reasoning: Reasoning,
        /// Whether it is a reply that says nothing and calls nothing.
        empty: bool,
        /// Whether it must stay as it is: a selector pins it, or its zone is not
        /// the one to be pruned.
        fixed: bool,
    },
    /// A line that is no message.
    Line,
    /// A last line in the writing.
    Tail,
}

/// Whether a message holds reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reasoning {
    /// None.
    No,
    /// Beside other content.
    Some,
    /// And nothing else: without it the message is empty.
    Only,
}

/// A tool call.
#[derive(Clone, Debug)]
pub struct CallFacts {
    /// Its id; empty where the format has none.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The file it reads or writes.
    pub file: Option<FileUse>,
}

/// A tool result.
#[derive(Clone, Debug)]
pub struct ResultFacts {
    /// The id of the call it answers.
    pub id: String,
    /// The tool, where the record says so.
    pub tool: Option<String>,
    /// Its text; `None` when it holds anything else, and is left alone.
    pub text: Option<TextFacts>,
}

/// The text of a result. A text that was shortened before is known by its handle.
#[derive(Clone, Debug)]
pub struct TextFacts {
    /// The beginning of the original's sha256; only where duplicates are looked for.
    pub hash: Option<String>,
    /// Bytes of the original.
    pub bytes: u64,
    /// Whether only a note, or a reference to a file, is left of it.
    pub taken_out: bool,
    /// Whether the tool seems to have failed.
    pub failed: bool,
}

impl<'a> Facts<'a> {
    /// Of a message and the object it was read from.
    pub fn of(
        outline: &'a Outline<'a>,
        message: &Message<'_>,
        object: &Object<'_>,
        policy: &Policy,
        fixed: bool,
    ) -> Self {
        let results = message.results();
        Self::Message {
            outline,
            calls: message.calls().map(CallFacts::of).collect(),
            results: results
                .map(|result| ResultFacts::of(result, policy))
                .collect(),
            reasoning: Reasoning::in_message(message, object),
            empty: message.role == Role::Assistant && message.parts.iter().all(is_blank),
            fixed,
        }
    }
}

impl Reasoning {
    fn in_message(message: &Message<'_>, object: &Object<'_>) -> Self {
        if message.reasoning.is_empty() {
            return Self::No;
        }
        let stays = |part: &&Part<'_>| !message.is_cut_as_reasoning(part, object);
        if message.parts.iter().filter(stays).all(is_blank) {
            Self::Only
        } else {
            Self::Some
        }
    }
}

fn is_blank(part: &Part<'_>) -> bool {
    matches!(part, Part::Text(text) if text.trim().is_empty())
}

impl CallFacts {
    /// Of a call.
    pub fn of(call: &Call<'_>) -> Self {
        Self {
            id: call.id.as_deref().unwrap_or_default().to_owned(),
            tool: call.name.clone().into_owned(),
            file: FileUse::of(&call.name, &call.arguments),
        }
    }
}

impl ResultFacts {
    /// Of a result.
    pub fn of(result: &ToolResult<'_>, policy: &Policy) -> Self {
        let text = result.text().filter(|_| result.slot.is_some());
        Self {
            id: result.id.as_deref().unwrap_or_default().to_owned(),
            tool: result.name.clone().map(Cow::into_owned),
            text: text.map(|text| TextFacts::of(&text, result.is_error, policy)),
        }
    }
}

impl TextFacts {
    fn of(text: &str, is_error: bool, policy: &Policy) -> Self {
        let (_, original) = parted(text);
        let hash = || match &original {
            Some(handle) => handle.hash.to_string(),
            None => ShortHash::of(text).to_string(),
        };
        let bytes = original.as_ref().map_or(text.len() as u64, |h| h.bytes);
        Self {
            hash: policy.drops(Rule::Duplicates).then(hash),
            bytes,
            taken_out: is_taken_out(text),
            failed: is_error || (bytes < longest_error(policy) && begins_with_error(text)),
        }
    }
}

/// What a failed tool says is short; what is trimmed does not count, so that the
/// answer is the same before and after.
fn longest_error(policy: &Policy) -> u64 {
    policy
        .trim
        .map_or(1_000, |trim| trim.max_chars.min(1_000) as u64)
}

fn begins_with_error(text: &str) -> bool {
    let text = without_escapes(text);
    let line = text.lines().find(|line| !line.trim().is_empty());
    line.is_some_and(|line| looks_like_error(first_chars(line, 200)))
}
