//! Extracts memory items from the messages of a session.

mod offers;
mod reconcile;
mod standalone;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use chrono::NaiveDate;
use ctx_format::{Message, Part, Role, ToolResult};
use ctx_redact::{MARK, redact};
use ctx_summary::ledger::patterns::{MemoryKind, QUOTE_MAX, Sentence, quote};
use ctx_summary::ledger::sentence::sentences;
use ctx_summary::ledger::{OpenCalls, Writer, own_words, pieces, runtime, users_words};
use ctx_text::{Lists, head_and_tail, plain_line, shorten};

use crate::entry::MemoryItem;
use offers::Offers;
pub use reconcile::reconcile;
use standalone::{Lines, is_vague_consent, reason, scope, standalone};

static LISTS: Lists = Lists::new(include_str!("lists.txt"));

/// Extracts items from one session, message by message.
///
/// Sentences from users and models become decisions, facts and preferences; calls and failed
/// results become runtime items. Secrets are redacted in every item.
#[derive(Debug, Default)]
pub struct Extractor {
    session: String,
    kinds: Vec<MemoryKind>,
    calls: OpenCalls,
    offers: Offers,
    /// The number of secrets that have been redacted in items so far.
    pub redacted: usize,
}

impl Extractor {
    /// Creates an extractor for items of these `kinds` in messages of `session`.
    pub fn new(session: impl Into<String>, kinds: &[MemoryKind]) -> Self {
        Self { session: session.into(), kinds: kinds.to_vec(), ..Self::default() }
    }

    /// Forgets the open calls and the offered options, because the next message is from another
    /// session.
    pub fn next_session(&mut self) {
        self.calls = OpenCalls::default();
        self.offers = Offers::default();
    }

    /// Extracts items from the message at `line`, which was sent on `date`. Messages must be passed
    /// in order, because a result belongs to an earlier call, and a user may choose an option that
    /// the model offered earlier.
    pub fn read(
        &mut self,
        message: &Message<'_>,
        line: u64,
        date: Option<NaiveDate>,
    ) -> Vec<MemoryItem> {
        let mut items = Vec::new();
        for (at, part) in message.parts.iter().enumerate() {
            match part {
                Part::Text(_) if message.added.contains(&at) => {}
                Part::Text(text) => self.text(text, message.role, &mut items),
                Part::Call(call) => {
                    self.calls.open(call);
                    let digest = runtime::digest(call);
                    self.runtime(&digest, message.role, Some(&call.name), &mut items);
                }
                Part::Result(result) => {
                    let tool = self.calls.close(result, message);
                    let tool = tool.as_deref();
                    self.answers(result, tool, &mut items);
                    if let Some(error) = runtime::error(result) {
                        let text = format!("{} failed: {error}", tool.unwrap_or("a tool"));
                        // Some formats store results in user messages, so do not rely on the
                        // message's role.
                        self.runtime(&text, Role::Tool, tool, &mut items);
                    }
                }
                // Reasoning only weighs possibilities; the model states the outcome in its text.
                Part::Reasoning(_) | Part::Refusal(_) | Part::Media(_) | Part::Opaque(_) => {}
            }
        }
        for item in &mut items {
            item.session.clone_from(&self.session);
            item.line = line;
            item.date = date;
            self.redacted += item.text.matches(MARK).count();
        }
        items
    }

    fn runtime(&self, text: &str, role: Role, tool: Option<&str>, items: &mut Vec<MemoryItem>) {
        if self.kinds.contains(&MemoryKind::Runtime) {
            let tool = tool.map(|name| redact(name).0.into_owned());
            items.push(MemoryItem { tool, ..item(MemoryKind::Runtime, text, role) });
        }
    }

    fn text(&mut self, text: &str, role: Role, items: &mut Vec<MemoryItem>) {
        if self.kinds == [MemoryKind::Runtime] {
            return;
        }
        match role {
            // The output of a tool is not a statement by the user or the model.
            Role::Tool | Role::Function => {}
            Role::User => {
                for (writer, piece) in pieces(&cleaned(text), false) {
                    match writer {
                        Writer::User => self.users_text(&piece, items),
                        Writer::Summary => self.statements(&piece, Role::Assistant, items),
                        Writer::Program | Writer::Tool => {}
                    }
                }
            }
            _ => {
                let text = cleaned(text);
                self.statements(&text, role, items);
                self.offers.update(Offers::of(&text));
            }
        }
    }

    /// Extracts items from a user's text, which may be just an option's label.
    fn users_text(&self, text: &str, items: &mut Vec<MemoryItem>) {
        match self.offers.answer(text) {
            Some(answer) => self.decision(&answer, items),
            None => self.statements(&own_words(text), Role::User, items),
        }
    }

    fn decision(&self, text: &str, items: &mut Vec<MemoryItem>) {
        if self.kinds.contains(&MemoryKind::Decision) {
            items.push(item(MemoryKind::Decision, &quote(text), Role::User));
        }
    }

    /// Extracts items from what the user wrote in a tool result: answers to a question, or reasons
    /// for denying a call.
    fn answers(&self, result: &ToolResult<'_>, tool: Option<&str>, items: &mut Vec<MemoryItem>) {
        for text in result.parts.iter().filter_map(Part::text) {
            // Redaction is slow, and most results contain nothing written by the user, so check for
            // the user's text first.
            if users_words(result, tool, text).is_none() {
                continue;
            }
            let text = cleaned(text);
            let Some(words) = users_words(result, tool, &text) else { continue };
            if words.starts_with('"') {
                // An answered question, `"The question"="The answer"`, is a decision by the user.
                self.decision(&words, items);
            } else {
                self.users_text(&words, items);
            }
        }
    }

    /// Extracts items from text that has been redacted.
    fn statements(&self, text: &str, role: Role, items: &mut Vec<MemoryItem>) {
        let mut found: Vec<(MemoryKind, String)> = Vec::new();
        let mut lines = Lines::of(text);
        for sentence in sentences(text) {
            let quoted = shorten(sentence.clone(), QUOTE_MAX);
            let rules = Sentence::new(&quoted, role);
            for kind in MemoryKind::ALL {
                if !self.kinds.contains(&kind) || !rules.is_kept_as(kind) {
                    continue;
                }
                let offered = (kind == MemoryKind::Decision).then(|| self.offers.resolve(&quoted));
                let text = offered
                    .flatten()
                    .or_else(|| standalone(kind, &quoted, &rules, &sentence, &mut lines));
                let Some(text) = text.filter(|text| !is_vague_consent(text)) else { continue };
                let found_text = (kind, text);
                if !found.iter().rev().take(4).any(|recent| *recent == found_text) {
                    found.push(found_text);
                }
            }
        }
        items.extend(found.iter().map(|(kind, text)| item(*kind, text, role)));
    }
}

/// Redacts `text`, and cuts out the middle if the text is too long. A private key has many lines,
/// so text must be redacted before it is split into sentences.
fn cleaned(text: &str) -> Cow<'_, str> {
    head_and_tail(redact(text).0)
}

/// Creates an item without a session, line or date. The text may contain line breaks, for example
/// in a tool's name, but an entry must be a single line.
fn item(kind: MemoryKind, text: &str, role: Role) -> MemoryItem {
    let text = plain_line(&redact(text).0);
    let (why, scope) = match kind {
        MemoryKind::Decision => (reason(&text), None),
        MemoryKind::Preference => (None, scope(&text).map(str::to_owned)),
        MemoryKind::Fact | MemoryKind::Runtime => (None, None),
    };
    MemoryItem { kind, text, role, why, scope, ..MemoryItem::default() }
}
