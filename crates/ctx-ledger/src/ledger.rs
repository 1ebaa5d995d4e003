//! The ledger: what a session holds that must not be lost, read once.

use std::borrow::Cow;
use std::fmt::Write as _;

use ctx_redact::redact;
use ctx_transcript::{Call, Message, Part, Role, Zone};

use crate::arguments::leaves;
use crate::done::Done;
use crate::facts::Origin;
use crate::form;
use crate::identifier;
use crate::index::Index;
use crate::item::{Identifier, Item, ItemKind, State};
use crate::items::Items;
use crate::said;

/// Arguments up to this length stand in one line with their call.
const SHORT_ARGUMENT: usize = 120;
/// Longer values are no single thing.
const LONGEST_VALUE: usize = 40;

/// Reads a session once, message by message.
#[derive(Debug, Default)]
pub struct Ledger {
    index: Index,
    items: Items,
    done: Done,
    /// Items that earlier summaries had no room for.
    left_out: Vec<(ItemKind, usize)>,
    requests: u32,
    redacted: usize,
}

impl Ledger {
    /// Nothing read yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The next message, from this line of the session. One that is [`Zone::Old`]
    /// leaves and may be quoted; one that is [`Zone::Keep`] tells what is in use.
    pub fn push(&mut self, line: u64, message: &Message<'_>, zone: Zone) {
        if message.role.is_system() {
            for text in message.texts() {
                self.index.add_given(text);
            }
            return;
        }
        let says = |part: &Part<'_>| matches!(part, Part::Text(_));
        let is_request = message.role == Role::User && message.parts.iter().any(says);
        self.requests += u32::from(is_request);
        self.index.begin(self.requests == 1);
        self.index.at(line);
        let quotable = zone == Zone::Old;
        for part in &message.parts {
            self.add_part(part, message.role, line, quotable);
        }
        self.index.end();
        if zone == Zone::Keep {
            self.stays(message);
        }
    }

    /// A summary of what was before, as a recognizer of summaries finds it. An extractive
    /// one is read back: its items are items again, and its details segments.
    pub fn push_earlier(&mut self, text: &str) {
        let clean = self.clean(text);
        self.index.begin(false);
        self.index.at(0);
        match form::read(&clean) {
            Some(lines) => {
                for line in lines {
                    match line {
                        form::Line::Item(item) => {
                            self.index.add(&item.text, item.line, Origin::Said, false);
                            self.items.carry(item);
                        }
                        form::Line::Detail(origin, text) => {
                            self.index.add(text, 0, origin, true);
                        }
                        form::Line::LeftOut(counts) => self.left_out.extend(counts),
                    }
                }
            }
            None => self.index.add(&clean, 0, Origin::Said, true),
        }
        self.index.end();
    }

    /// Adds to `counts` what summaries before left out, and what there were too many of.
    pub fn add_left_out(&self, counts: &mut [(ItemKind, usize)]) {
        for (kind, count) in counts {
            let before = self.left_out.iter().filter(|(of, _)| of == kind);
            *count += before.map(|(_, count)| count).sum::<usize>();
            *count += self.items.crowded_out(*kind);
        }
    }

    /// A message that stays, perhaps with shorter results than it had: what it
    /// tells need not be told again.
    pub fn stays(&mut self, message: &Message<'_>) {
        for text in message.texts() {
            self.index.tell(text);
        }
        for call in message.calls() {
            let leaves = leaves(&call.arguments).unwrap_or_default();
            let values = leaves.iter().map(|leaf| leaf.value.as_str());
            let text = std::iter::once(call.name.as_ref()).chain(values);
            self.index.tell(&text.collect::<Vec<_>>().join(" "));
        }
    }

    /// Every identifier with what is known of it, and the segments that hold one.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// What was asked, settled, left open, went wrong, was read and changed: in the
    /// order of the session.
    pub fn items(&self) -> &[Item] {
        self.items.all()
    }

    /// Each identifier with the line that had it last and the chance that it is
    /// needed again, the greatest chance first; without those of the system messages,
    /// which never leave.
    pub fn identifiers(&self) -> Vec<Identifier<'_>> {
        self.index.identifiers()
    }

    /// How many secrets were taken out.
    pub fn redacted(&self) -> usize {
        self.redacted
    }

    fn add_part(&mut self, part: &Part<'_>, role: Role, line: u64, quotable: bool) {
        match part {
            Part::Text(text) | Part::Refusal(text) => {
                let origin = match role {
                    Role::User => Origin::User,
                    Role::Tool | Role::Function => Origin::Result,
                    _ => Origin::Said,
                };
                let clean = self.clean(text);
                if quotable && matches!(role, Role::User | Role::Assistant) {
                    self.add_said(&clean, role, line);
                }
                self.index.add(&clean, line, origin, quotable);
            }
            Part::Call(call) => {
                if quotable {
                    self.done.call(call, line, &mut self.items);
                }
                self.add_call(call, line, quotable);
            }
            Part::Result(result) => {
                if quotable {
                    self.done.result(result, line, &mut self.items);
                }
                for text in result.parts.iter().filter_map(text_of) {
                    self.add_text(text, line, Origin::Result, quotable);
                }
            }
            Part::Reasoning(_) | Part::Media(_) | Part::Opaque(_) => {}
        }
    }

    fn add_said(&mut self, clean: &str, role: Role, line: u64) {
        let items = &mut self.items;
        said::read(clean, role, |kind, text| {
            items.add(Item {
                kind,
                text: text.to_owned(),
                line,
                state: State::Current,
                changed: false,
            });
        });
    }

    fn add_text(&mut self, text: &str, line: u64, origin: Origin, quotable: bool) {
        let clean = self.clean(text);
        self.index.add(&clean, line, origin, quotable);
    }

    /// Without secrets; they are counted.
    fn clean<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        let (clean, secrets) = redact(text);
        self.redacted += secrets;
        clean
    }

    /// A call as a line of its own, `Read path: a.rs; limit: 20`; long arguments
    /// behind it as texts.
    fn add_call(&mut self, call: &Call<'_>, line: u64, quotable: bool) {
        let Some(leaves) = leaves(&call.arguments) else {
            let text = format!("{} {}", call.name, call.arguments);
            self.add_text(&text, line, Origin::Call, quotable);
            return;
        };
        let mut short = call.name.to_string();
        let mut long = Vec::new();
        for leaf in leaves {
            let value = self.clean(&leaf.value);
            if is_value(&value) {
                self.index.add_argument(&value);
            }
            if value.len() > SHORT_ARGUMENT || value.contains('\n') {
                long.push(value.into_owned());
            } else if !value.is_empty() {
                let _ = write!(short, " {}: {value};", leaf.key);
            }
        }
        self.index
            .add(short.trim_end_matches(';'), line, Origin::Call, quotable);
        for text in long {
            self.index.add(&text, line, Origin::Call, quotable);
        }
    }
}

/// Whether an argument is a thing by itself: a name, a number, an address.
fn is_value(text: &str) -> bool {
    let spaces = text.bytes().filter(|b| *b == b' ').count();
    (identifier::SHORTEST..=LONGEST_VALUE).contains(&text.len())
        && spaces < 3
        && !text.contains('\n')
        && !matches!(text, "true" | "false" | "null")
}

fn text_of<'m>(part: &'m Part<'_>) -> Option<&'m str> {
    match part {
        Part::Text(text) | Part::Refusal(text) => Some(text),
        _ => None,
    }
}
