//! What is known of the old zone when an answer is checked.

use std::collections::VecDeque;

use ctx_redact::redact;
use ctx_transcript::{Message, Part, Role};

use super::identifiers;
use super::words::{Seen, pair, words};
use ctx_ledger::text::one_line;

/// Follows an identifier of an answer that the record does not have.
pub const UNVERIFIED: &str = "(unverified)";

/// What an answer is held against, gathered in one pass.
///
/// Memory is bounded: words, their neighbours and identifiers are kept as hashes,
/// two million at most, the words of users up to 16 MiB, the latest. What is
/// beyond is not known, and what is not known is never held against an answer.
#[derive(Debug, Default)]
pub struct Source {
    /// What users said, a message each, in one line and without secrets.
    users: VecDeque<String>,
    users_bytes: usize,
    /// Some of it is no longer there.
    forgotten: bool,
    /// Words that people and the model wrote, not those of tools.
    said: Seen,
    /// Two of them side by side, or with one between.
    neighbours: Seen,
    identifiers: Seen,
}

const USERS_MOST: usize = 16 << 20;

impl Source {
    /// One more message of the old zone, in order.
    pub fn push(&mut self, message: &Message<'_>) {
        for part in &message.parts {
            match part {
                Part::Text(text) | Part::Refusal(text) => {
                    identifiers::gather(text, &mut self.identifiers);
                    self.add_said(text);
                    if message.role == Role::User {
                        self.add_user(text);
                    }
                }
                Part::Call(call) => {
                    // What the model did is said, too: "run the tests" may stand in
                    // no other place.
                    let arguments = unescaped(&call.arguments);
                    identifiers::gather(&call.name, &mut self.identifiers);
                    identifiers::gather(&arguments, &mut self.identifiers);
                    self.add_said(&arguments);
                }
                // Whoever wrote what a tool found is not the user.
                Part::Result(result) => result.parts.iter().for_each(|part| {
                    if let Part::Text(text) = part {
                        identifiers::gather(text, &mut self.identifiers);
                    }
                }),
                Part::Reasoning(_) | Part::Media(_) | Part::Opaque(_) => {}
            }
        }
    }

    /// A summary of what came before: what it quotes may be quoted again, what it
    /// could not verify still cannot be.
    pub fn push_earlier(&mut self, text: &str) {
        let mark = format!(" {UNVERIFIED}");
        let mut parts = text.split(mark.as_str()).peekable();
        while let Some(part) = parts.next() {
            let known = match parts.peek() {
                Some(_) => part.rfind(char::is_whitespace).map_or("", |at| &part[..at]),
                None => part,
            };
            identifiers::gather(known, &mut self.identifiers);
        }
        self.add_said(text);
        self.add_user(text);
    }

    fn add_user(&mut self, text: &str) {
        let line = one_line(&redact(text).0);
        self.users_bytes += line.len();
        self.users.push_back(line);
        while self.users_bytes > USERS_MOST && self.users.len() > 1 {
            let oldest = self.users.pop_front().unwrap_or_default();
            self.users_bytes -= oldest.len();
            self.forgotten = true;
        }
    }

    fn add_said(&mut self, text: &str) {
        for line in text.lines() {
            let words = words(line);
            for (at, word) in words.iter().enumerate() {
                self.said.insert(*word);
                for next in words[at + 1..].iter().take(2) {
                    self.neighbours.insert(pair(*word, *next));
                }
            }
        }
    }

    pub(super) fn identifiers(&self) -> &Seen {
        &self.identifiers
    }

    /// What users said, the latest first, and whether that is all.
    pub(super) fn users(&self) -> (impl Iterator<Item = &str>, bool) {
        let latest = self.users.iter().rev().map(String::as_str);
        (latest, !self.forgotten)
    }

    /// Shares of the words, and of the pairs of neighbours, that people or the
    /// model wrote as well.
    pub(super) fn support(&self, words: &[u64]) -> Support {
        let share = |known: usize, all: usize| match all {
            0 => 100,
            all => known * 100 / all,
        };
        let known = words.iter().filter(|word| self.said.has(**word)).count();
        let pairs = words.windows(2);
        let close = pairs
            .clone()
            .filter(|two| self.neighbours.has(pair(two[0], two[1])))
            .count();
        Support {
            words: share(known, words.len()),
            pairs: share(close, pairs.count()),
        }
    }
}

/// Of 100.
#[derive(Clone, Copy, Debug)]
pub(super) struct Support {
    pub(super) words: usize,
    pub(super) pairs: usize,
}

/// Arguments are JSON: the letter of an escape is no part of the next word.
fn unescaped(arguments: &str) -> String {
    arguments
        .replace("\\n", "\n")
        .replace("\\t", " ")
        .replace("\\\"", " ")
}
