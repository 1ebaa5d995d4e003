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
use ctx_summary::ledger::rules::{MemoryKind, Sentence, quote};
use ctx_summary::ledger::runtime;
use ctx_summary::ledger::sentence::sentences;
use ctx_summary::ledger::{OpenCalls, Speech, own_words, speech, users_words};
use ctx_text::{head_and_tail, plain_line};

use crate::MemoryItem;
use offers::{Offers, may_answer, refers_to_option};
pub use reconcile::reconcile;
use standalone::{Lines, is_vague_consent, reason, scope, standalone};

/// The kinds that are found in sentences.
const SENTENCE_KINDS: [MemoryKind; 3] =
    [MemoryKind::Decision, MemoryKind::Fact, MemoryKind::Preference];

/// Extracts the items of one session, message by message.
///
/// Users' and models' sentences become decisions, facts and preferences; calls and failed results
/// become runtime items. Secrets are redacted in every item.
///
/// [`read`](Self::read) has three steps. The one in the middle, [`MessageItems::of`], needs no
/// other message, so that it can run in another thread; the other two take the messages in order.
#[derive(Debug)]
pub struct Extractor {
    session: String,
    kinds: Vec<MemoryKind>,
    calls: OpenCalls,
    offers: Offers,
    redacted: usize,
}

impl Extractor {
    /// Extracts items of `kinds` from messages of `session`.
    pub fn new(session: impl Into<String>, kinds: &[MemoryKind]) -> Self {
        Self {
            session: session.into(),
            kinds: kinds.to_vec(),
            calls: OpenCalls::default(),
            offers: Offers::default(),
            redacted: 0,
        }
    }

    /// How many secrets have been redacted in items so far.
    pub fn redacted(&self) -> usize {
        self.redacted
    }

    /// Starts another session: it has no results and no answers for the one before.
    pub fn next_session(&mut self) {
        self.calls = OpenCalls::default();
        self.offers = Offers::default();
    }

    /// The items of the message at `line`, which was sent on `date`.
    pub fn read(
        &mut self,
        message: &Message<'_>,
        line: u64,
        date: Option<NaiveDate>,
    ) -> Vec<MemoryItem> {
        let tools = self.tools(message);
        let items = MessageItems::of(message, &tools, &self.kinds);
        self.items(items, line, date)
    }

    /// The tool that each result of the message is from. Takes the messages in order.
    pub fn tools(&mut self, message: &Message<'_>) -> Vec<Option<String>> {
        let mut tools = Vec::new();
        for part in &message.parts {
            match part {
                Part::Call(call) => self.calls.open(call),
                Part::Result(result) => tools.push(self.calls.close(result, message)),
                _ => {}
            }
        }
        tools
    }

    /// The items of the message at `line`. Takes the messages in order, because a user may choose
    /// one of the options that the model offered before.
    pub fn items(
        &mut self,
        items: MessageItems,
        line: u64,
        date: Option<NaiveDate>,
    ) -> Vec<MemoryItem> {
        let mut all = Vec::new();
        for passage in items.passages {
            match passage {
                Passage::Items(items) => all.extend(items),
                Passage::Answer(text) => all.extend(self.answer(&text)),
                Passage::Choice { text, role } => all.extend(self.choice(&text, role)),
                Passage::Offers(offers) => self.offers.update(offers),
            }
        }
        for item in &mut all {
            item.session.clone_from(&self.session);
            item.line = line;
            item.date = date;
            self.redacted += item.text.matches(MARK).count();
        }
        all
    }

    /// The items of a user's text, which may be no more than the label of an option.
    fn answer(&self, text: &str) -> Vec<MemoryItem> {
        let Some(answer) = self.offers.answer(text) else {
            return self.choice(&own_words(text), Role::User);
        };
        if self.kinds.contains(&MemoryKind::Decision) {
            vec![item(MemoryKind::Decision, &quote(&answer), Role::User)]
        } else {
            Vec::new()
        }
    }

    fn choice(&self, text: &str, role: Role) -> Vec<MemoryItem> {
        statements(text, role, &self.kinds, Some(&self.offers)).unwrap_or_default()
    }
}

/// What one message says, extracted without the messages before it.
#[derive(Debug)]
pub struct MessageItems {
    passages: Vec<Passage>,
}

/// A part of a message.
#[derive(Debug)]
enum Passage {
    /// Items that lack only their session, line and date.
    Items(Vec<MemoryItem>),
    /// A text of the user that may be the label of an option.
    Answer(String),
    /// A text that refers to an option.
    Choice { text: String, role: Role },
    /// The options that a text of the model offers.
    Offers(Offers),
}

impl MessageItems {
    /// Reads a message; `tools` has the tool of each result, as [`Extractor::tools`] gives them.
    pub fn of(message: &Message<'_>, tools: &[Option<String>], kinds: &[MemoryKind]) -> Self {
        let mut reader = Reader { kinds, passages: Vec::new() };
        let mut tools = tools.iter();
        for part in &message.parts {
            match part {
                Part::Text(text) => reader.text(text, message.role),
                Part::Call(call) => {
                    reader.runtime(&runtime::digest(call), message.role, Some(&call.name));
                }
                Part::Result(result) => {
                    let tool = tools.next().and_then(Option::as_deref);
                    reader.answers(result, tool);
                    if let Some(error) = runtime::error(result) {
                        let text = format!("{} failed: {error}", tool.unwrap_or("a tool"));
                        // Some formats have results in messages of the user.
                        reader.runtime(&text, Role::Tool, tool);
                    }
                }
                // Reasoning weighs possibilities; its outcome is in the text.
                Part::Reasoning(_) | Part::Refusal(_) | Part::Media(_) | Part::Opaque(_) => {}
            }
        }
        Self { passages: reader.passages }
    }
}

struct Reader<'k> {
    kinds: &'k [MemoryKind],
    passages: Vec<Passage>,
}

impl Reader<'_> {
    fn runtime(&mut self, text: &str, role: Role, tool: Option<&str>) {
        if self.kinds.contains(&MemoryKind::Runtime) {
            let tool = tool.map(|name| redact(name).0.into_owned());
            let item = MemoryItem { tool, ..item(MemoryKind::Runtime, text, role) };
            self.passages.push(Passage::Items(vec![item]));
        }
    }

    fn text(&mut self, text: &str, role: Role) {
        if self.kinds == [MemoryKind::Runtime] {
            return;
        }
        match role {
            // Output of tools, and what a user only passes on, states nothing.
            Role::Tool | Role::Function => {}
            Role::User => match speech(&cleaned(text)) {
                Speech::User(text) => self.users_text(&text),
                Speech::Summary(text) => self.statements(&text, Role::Assistant),
                Speech::Nobody => {}
            },
            _ => {
                let text = cleaned(text);
                self.statements(&text, role);
                self.passages.push(Passage::Offers(Offers::of(&text)));
            }
        }
    }

    fn users_text(&mut self, text: &str) {
        if may_answer(text) {
            self.passages.push(Passage::Answer(text.to_owned()));
        } else {
            self.statements(&own_words(text), Role::User);
        }
    }

    /// The user's answers to a question of the model, and reasons for denying a call.
    fn answers(&mut self, result: &ToolResult<'_>, tool: Option<&str>) {
        for part in &result.parts {
            let Part::Text(text) = part else { continue };
            // Most results have no words of the user, and redaction takes long.
            if users_words(result, tool, text).is_none() {
                continue;
            }
            let text = cleaned(text);
            let Some(words) = users_words(result, tool, &text) else { continue };
            if !words.starts_with('"') {
                self.users_text(words);
            } else if self.kinds.contains(&MemoryKind::Decision) {
                // `"The question"="The answer"` settles the matter.
                let item = item(MemoryKind::Decision, &quote(words), Role::User);
                self.passages.push(Passage::Items(vec![item]));
            }
        }
    }

    fn statements(&mut self, text: &str, role: Role) {
        let passage = match statements(text, role, self.kinds, None) {
            Some(items) => Passage::Items(items),
            None => Passage::Choice { text: text.to_owned(), role },
        };
        self.passages.push(passage);
    }
}

/// Redacted, and without the middle of an excessively long text. A private key has many lines, so
/// redaction comes before the division into sentences.
fn cleaned(text: &str) -> Cow<'_, str> {
    head_and_tail(redact(text).0)
}

/// The items of a redacted text. `None` if it refers to an option while the `offers` are unknown.
fn statements(
    text: &str,
    role: Role,
    kinds: &[MemoryKind],
    offers: Option<&Offers>,
) -> Option<Vec<MemoryItem>> {
    let mut found: Vec<(MemoryKind, String)> = Vec::new();
    let mut lines = Lines::of(text);
    for sentence in sentences(text) {
        let quoted = quote(&sentence);
        let rules = Sentence::new(&quoted, role);
        for kind in SENTENCE_KINDS {
            if !kinds.contains(&kind) || !rules.is_kept_as(kind) {
                continue;
            }
            let mut text = None;
            if kind == MemoryKind::Decision && refers_to_option(&quoted) {
                text = offers?.resolve(&quoted);
            }
            let text = text.or_else(|| standalone(kind, &quoted, &rules, &sentence, &mut lines));
            let Some(text) = text.filter(|text| !is_vague_consent(text)) else {
                continue;
            };
            let found_text = (kind, text);
            if !found.iter().rev().take(4).any(|recent| *recent == found_text) {
                found.push(found_text);
            }
        }
    }
    Some(found.iter().map(|(kind, text)| item(*kind, text, role)).collect())
}

/// An item without session, line and date. Text such as the name of a tool comes from the session
/// verbatim, and an entry is one line.
fn item(kind: MemoryKind, text: &str, role: Role) -> MemoryItem {
    let text = plain_line(&redact(text).0);
    let mut item = MemoryItem {
        kind,
        role,
        line: 0,
        session: String::new(),
        tool: None,
        why: None,
        scope: None,
        date: None,
        taken_back: None,
        text,
    };
    match kind {
        MemoryKind::Decision => item.why = reason(&item.text),
        MemoryKind::Preference => item.scope = scope(&item.text).map(str::to_owned),
        MemoryKind::Fact | MemoryKind::Runtime => {}
    }
    item
}
