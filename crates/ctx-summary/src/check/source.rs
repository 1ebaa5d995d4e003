//! Collects the session as the source against which a model's answer is checked.

use std::collections::VecDeque;

use ctx_format::{Message, Part, Role};
use ctx_redact::redact;

use super::identifiers;
use super::phrases::Phrases;
use super::shape::unescaped;
use super::spans::{Spans, around};
use super::words::{HashedSet, has_chinese, words};
use ctx_text::{hash_pair, is_han, one_line};

/// The mark added after text that does not occur in the session.
pub const UNVERIFIED: &str = "(?)";
/// The mark in summaries by earlier versions.
pub(super) const OLD_UNVERIFIED: &str = "(unverified)";

/// The source against which an answer is checked. The source is collected in one pass over the
/// whole session, including the part that is not summarized.
///
/// To bound memory use, at most two million hashes each are stored for words, for pairs of
/// neighbouring words and for identifiers, and only the latest 16 MiB of the users' messages are
/// kept. Text beyond these limits never counts against an answer.
#[derive(Debug, Default)]
pub struct Source {
    /// The users' messages, each on one line and without secrets.
    pub(super) users: VecDeque<String>,
    users_bytes: usize,
    /// Words that users or the model wrote. Words that occur only in tool output are not included.
    said: HashedSet,
    /// Pairs of words that users or the model wrote next to each other or with one word in between.
    neighbours: HashedSet,
    /// The number of Chinese characters that users and the model wrote. `other_words` counts the
    /// words separated by spaces, most of which are in other languages.
    chinese: usize,
    other_words: usize,
    /// All identifiers in the session, including those in tool output.
    pub(super) identifiers: HashedSet,
    pub(super) phrases: Phrases,
}

const USERS_MOST: usize = 16 << 20;
/// A session is considered to use a language if at least one in this many words is in that
/// language.
const LANGUAGE_PART: usize = 20;
/// A line is hardly supported if the session has fewer of its words than this percentage, and fewer
/// of its adjacent pairs of words than that.
const LEAST_KNOWN: usize = 60;
const LEAST_CLOSE: usize = 20;

impl Source {
    /// Adds a message from the session to the source.
    pub fn push(&mut self, message: &Message<'_>) {
        for part in &message.parts {
            match part {
                Part::Text(text) | Part::Refusal(text) => {
                    self.add(text);
                    if message.role == Role::User {
                        self.add_user(text);
                    }
                }
                Part::Call(call) => {
                    // Tool calls count as the model's words, because "run the tests" may occur
                    // nowhere else.
                    self.add_record(&call.name);
                    self.add_record(&call.arguments);
                    self.add_said(&unescaped(&call.arguments));
                }
                // Anyone may have written the text that a tool returns, so it does not count as the
                // user's.
                Part::Result(result) => {
                    result.parts.iter().filter_map(Part::text).for_each(|it| self.add_record(it));
                }
                Part::Reasoning(_) | Part::Media(_) | Part::Opaque(_) => {}
            }
        }
    }

    /// Adds an earlier summary to the source. An answer may repeat quotes from an earlier summary.
    /// Text that is marked as unverified in an earlier summary stays unverified.
    pub fn push_earlier(&mut self, text: &str) {
        let mark = format!(" {UNVERIFIED}");
        let text = text.replace(OLD_UNVERIFIED, UNVERIFIED);
        for line in text.lines() {
            let mut parts: Vec<&str> = line.split(mark.as_str()).collect();
            let last = parts.pop().unwrap_or_default();
            for part in parts {
                self.add(&part[..unverified_start(part)]);
            }
            self.add(last);
        }
        // Lines that are marked as unverified do not count as the user's words.
        let lines: Vec<&str> = text.lines().filter(|line| !line.contains(UNVERIFIED)).collect();
        self.phrases.gather(&lines.join("\n"));
        self.add_user(&lines.join("\n"));
    }

    /// Records text that a user or the model wrote.
    fn add(&mut self, text: &str) {
        self.add_record(text);
        self.add_said(text);
        self.chinese += text.chars().filter(|c| is_han(*c)).count();
        self.other_words += text.split_whitespace().count();
    }

    /// Adds `text` to the record twice: unchanged, and with its escapes decoded.
    fn add_record(&mut self, text: &str) {
        let plain = unescaped(text);
        for text in std::iter::once(text).chain((plain != text).then_some(&*plain)) {
            identifiers::gather(text, &mut self.identifiers);
            self.phrases.gather(text);
        }
    }

    fn add_user(&mut self, text: &str) {
        let line = one_line(&redact(text).0);
        self.users_bytes += line.len();
        self.users.push_back(line);
        while self.users_bytes > USERS_MOST && self.users.len() > 1 {
            let oldest = self.users.pop_front().unwrap_or_default();
            self.users_bytes -= oldest.len();
        }
    }

    fn add_said(&mut self, text: &str) {
        for line in text.lines() {
            let words = words(line);
            for (at, word) in words.iter().enumerate() {
                self.said.insert(*word);
                let next = words[at + 1..].iter().take(2);
                self.neighbours.extend(next.map(|next| hash_pair(*word, *next)));
            }
        }
    }

    /// Returns true if hardly any of the session is in the language of `text`, for example, if
    /// `text` is Chinese and the session is English.
    pub(super) fn lacks_language(&self, text: &str) -> bool {
        let (same, all) = (self.chinese, self.chinese + self.other_words);
        let same = if has_chinese(text) { same } else { all - same };
        same * LANGUAGE_PART < all
    }

    /// Returns two percentages: how many of `words`, and how many adjacent pairs in `words`, were
    /// also written by users or the model.
    pub(super) fn support(&self, words: &[u64]) -> (usize, usize) {
        let share = |known: usize, all: usize| (known * 100).checked_div(all).unwrap_or(100);
        let known = words.iter().filter(|word| self.said.has(**word)).count();
        let pairs = words.windows(2);
        let close =
            pairs.clone().filter(|two| self.neighbours.has(hash_pair(two[0], two[1]))).count();
        (share(known, words.len()), share(close, pairs.count()))
    }

    /// Returns true if a line of a summary has names, numbers or quotes that do not occur in the
    /// session, or hardly any words that users or the model wrote.
    pub(super) fn hardly_supports(&self, line: &str) -> bool {
        let (known, close) = self.support(&words(line));
        let is_foreign = known < LEAST_KNOWN && close < LEAST_CLOSE && !self.lacks_language(line);
        line.contains(UNVERIFIED) || is_foreign
    }
}

/// Returns the start of the unverified quote, code, sentence or word at the end of `line`.
fn unverified_start(line: &str) -> usize {
    let spans = Spans::of(line);
    let last = line.char_indices().next_back().map_or(0, |(at, _)| at);
    if let Some(span) = around(&spans.quotes, last).or_else(|| around(&spans.code, last)) {
        return span.start;
    }
    if line.ends_with(['.', '!', '?', '。', '！', '？']) {
        let sentence = &line[..last];
        return sentence.rfind(['.', '!', '?', '。', '！', '？']).unwrap_or(0);
    }
    line.rfind(char::is_whitespace).unwrap_or(0)
}
