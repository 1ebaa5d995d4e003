//! Checks whether a model's answer can be used as a summary, and repairs it.
//!
//! Wrong lines and sentences are removed individually. An answer is rejected, with a reason, only
//! if nothing remains, or if the remaining text is not a summary or is too long. [`check`] is
//! deterministic and does not access files.
//!
//! - Lines copied from the prompt, a preface, a final offer of help, and repeated lines are
//!   removed.
//! - A command to the reader ("You must now …", "Ignore earlier rules …") is kept only if the user
//!   or the model wrote these words in the session. Tool output does not count as support.
//! - Names, paths, addresses, ids, hashes, numbers and quotes that do not occur in the session are
//!   kept, but marked as [`UNVERIFIED`]. A marked claim may still be right, and the mark tells the
//!   reader what to look up first. If the user wrote a quoted request in nearly the same words, the
//!   user's words replace the quote.

mod commands;
mod identifiers;
mod names;
mod numbers;
mod phrases;
mod repair;
mod shape;
mod source;
mod spans;
mod words;

use std::collections::{HashMap, HashSet};
use std::fmt;

use ctx_redact::redact;
use ctx_tokens::TokenCounter;

use ctx_llm::is_refusal;
use ctx_text::Lists;
pub use shape::missing_headings;
pub(crate) use shape::unescaped;
use source::OLD_UNVERIFIED;
pub use source::{Source, UNVERIFIED};

static LISTS: Lists = Lists::new(include_str!("lists.txt"));

/// The requirements that a model's answer must meet to be used as a summary.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    /// The headings of the requested sections, without `## `. Empty if the answer may be free text.
    pub headings: &'a [String],
    /// The prompt that the model received, without the record of the session.
    pub prompt: &'a str,
    /// True if the model reached its output limit, in which case the last line may be incomplete.
    pub cut: bool,
    /// The number of tokens that the summary replaces. The summary must not be longer than that.
    /// `None` means that the length is not limited.
    pub largest: Option<u64>,
    /// The counter that measures the length of the answer.
    pub counter: &'static dyn TokenCounter,
}

/// A repaired answer that can be used as a summary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repaired {
    /// The text of the summary.
    pub text: String,
    /// The requested headings that are missing from the answer.
    pub missing: Vec<String>,
    /// The number of repairs of each kind.
    pub repairs: Repairs,
    /// The lines that the session hardly supports, and the number of all lines with text.
    pub unsupported: (Vec<String>, usize),
}

/// The number of repairs of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repairs {
    /// Lines that were removed because they were copied from the prompt.
    pub echoes: usize,
    /// Lines that were removed because they are not part of the summary, such as a preface, an
    /// offer of help, or a continuation of the conversation.
    pub talk: usize,
    /// Repeated lines that were removed.
    pub repeats: usize,
    /// Incomplete last lines that were removed because the answer was cut off.
    pub halves: usize,
    /// Commands to the reader that were removed because the session does not support them.
    pub commands: usize,
    /// Quotes that were replaced by the user's own words.
    pub quotes_repaired: usize,
    /// Quotes, commands, names, identifiers and numbers that were marked as unverified.
    pub unverified: usize,
    /// Secrets that were removed.
    pub secrets: usize,
}

/// Why an answer was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// The answer is empty.
    #[error("the answer is empty")]
    Empty,
    /// The model refused to write a summary.
    #[error("the model refused to write a summary")]
    Refusal,
    /// The answer continues the conversation or calls tools instead of summarizing.
    #[error("the answer continues the conversation")]
    Continuation,
    /// The answer repeats the prompt.
    #[error("the answer repeats the prompt")]
    Echo,
    /// The answer has none of the requested headings.
    #[error("the answer has none of the requested sections")]
    NoSection,
    /// Only headings remain after the repairs.
    #[error("no part of the answer passed the checks")]
    NothingLeft,
    /// The answer has more tokens than the messages that it replaces.
    #[error("the answer is longer than the messages that it replaces")]
    Longer,
}

/// Checks `answer` against `source`. Returns the repaired answer, or the reason why it cannot be
/// used as a summary.
pub fn check(answer: &str, source: &Source, rules: &Rules<'_>) -> Result<Repaired, Reason> {
    Check { source, rules, done: Repaired::default() }.run(answer)
}

struct Check<'a> {
    source: &'a Source,
    rules: &'a Rules<'a>,
    done: Repaired,
}

impl Check<'_> {
    fn run(mut self, answer: &str) -> Result<Repaired, Reason> {
        let (clean, secrets) = redact(answer);
        self.done.repairs.secrets = secrets;
        let clean = clean.replace(OLD_UNVERIFIED, UNVERIFIED);
        let text = unfenced(clean.trim());
        if text.is_empty() {
            return Err(Reason::Empty);
        }
        if is_refusal(text) || is_refusal(&body(text, self.rules)) {
            return Err(Reason::Refusal);
        }
        let lines = self.without_echoes(text)?;
        let lines = self.without_talk(&lines)?;
        let mut lines = self.repaired(&lines);
        if self.rules.cut {
            self.drop_half_line(&mut lines);
        }
        if !lines.iter().any(|line| says_something(line)) {
            return Err(Reason::NothingLeft);
        }
        self.done.text = joined(&lines);
        let told: Vec<&String> = lines.iter().filter(|line| says_something(line)).collect();
        let unsupported = told.iter().filter(|line| self.source.hardly_supports(line));
        self.done.unsupported = (unsupported.copied().cloned().collect(), told.len());
        let text = &self.done.text;
        let exceeds = |most| self.rules.counter.count_up_to(text, most).is_none();
        if self.rules.largest.is_some_and(exceeds) { Err(Reason::Longer) } else { Ok(self.done) }
    }

    fn without_echoes(&mut self, text: &str) -> Result<Vec<String>, Reason> {
        let prompt = shape::Prompt::new(self.rules.prompt);
        let (echoes, kept): (Vec<&str>, Vec<&str>) =
            text.lines().partition(|line| prompt.has(line));
        self.done.repairs.echoes += echoes.len();
        let kept: Vec<String> = kept.iter().map(|line| line.trim_end().to_owned()).collect();
        let says = kept.iter().any(|line| says_something(line));
        if says { Ok(kept) } else { Err(Reason::Echo) }
    }

    /// Removes offers of help, continuations of the conversation, and any text before the first
    /// requested heading.
    fn without_talk(&mut self, lines: &[String]) -> Result<Vec<String>, Reason> {
        let headings = self.rules.headings;
        let end = shape::end_of_summary(lines);
        let (lines, beyond) = lines.split_at(end.unwrap_or(lines.len()));
        self.done.repairs.talk += beyond.iter().filter(|line| !line.is_empty()).count();
        let mut kept = Vec::new();
        let mut found: HashSet<&str> = HashSet::new();
        for line in lines {
            let heading = shape::heading(line, headings);
            if let Some(heading) = heading {
                found.insert(heading);
                kept.push(format!("## {heading}"));
            } else if !headings.is_empty() && found.is_empty() || shape::offers(line) {
                self.done.repairs.talk += usize::from(!line.is_empty());
            } else {
                kept.push(line.clone());
            }
        }
        let is_talk = end.is_some() || shape::answers(&lines.join("\n"));
        if !headings.is_empty() && found.is_empty() {
            return Err(if is_talk { Reason::Continuation } else { Reason::NoSection });
        }
        if headings.is_empty() && is_talk || !kept.iter().any(|line| says_something(line)) {
            return Err(Reason::Continuation);
        }
        let missing = headings.iter().filter(|heading| !found.contains(heading.as_str()));
        self.done.missing = missing.cloned().collect();
        Ok(kept)
    }

    /// Removes repeated lines, and repairs all other lines. If a section occurs twice, its lines
    /// are added to the first occurrence.
    fn repaired(&mut self, lines: &[String]) -> Vec<String> {
        let mut times = HashMap::new();
        let mut sections: Vec<Vec<String>> = vec![Vec::new()];
        let (mut now, mut area) = (0, shape::Area::Other);
        let mut in_code = false;
        for line in lines {
            if shape::is_heading(line) {
                area = shape::area(line);
                let asked = |heading: &String| line.strip_prefix("## ") == Some(heading);
                let is_asked = self.rules.headings.iter().any(asked);
                let there = sections.iter().position(|lines| lines.first() == Some(line));
                if let Some(there) = there.filter(|_| is_asked) {
                    now = there;
                    self.done.repairs.repeats += 1;
                } else {
                    now = sections.len();
                    sections.push(vec![line.clone()]);
                }
                continue;
            }
            let Some(line) = self.repaired_line(line, area) else { continue };
            in_code ^= line.trim_start().starts_with("```");
            if !in_code && is_repeat(&line, &sections[now], &mut times) {
                self.done.repairs.repeats += 1;
            } else {
                sections[now].push(line);
            }
        }
        sections.concat()
    }

    /// Removes the incomplete last line of an answer that was cut off, unless it is the only line.
    fn drop_half_line(&mut self, lines: &mut Vec<String>) {
        let Some(last) = lines.iter().rposition(|line| !line.is_empty()) else { return };
        let is_whole =
            lines[last].ends_with(['.', '。', '!', '！', '?', '？', ')', '`', '|', '"', '”']);
        if !is_whole && lines[..last].iter().any(|line| says_something(line)) {
            lines.truncate(last);
            self.done.repairs.halves += 1;
        }
    }
}

/// The minimum length, in bytes, of a line that is unlikely to be repeated by chance.
const LONG_LINE: usize = 24;

/// Removes the code fence if it encloses the whole text.
fn unfenced(text: &str) -> &str {
    let inner = text
        .strip_prefix("```")
        .and_then(|rest| rest.strip_suffix("```"))
        .and_then(|rest| rest.split_once('\n'))
        .filter(|(language, inner)| language.len() < 12 && !inner.contains("\n```"));
    inner.map_or(text, |(_, inner)| inner.trim())
}

/// Returns the text without its headings.
fn body(text: &str, rules: &Rules<'_>) -> String {
    let is_heading =
        |line: &&str| shape::is_heading(line) || shape::heading(line, rules.headings).is_some();
    let lines: Vec<&str> = text.lines().filter(|line| !is_heading(line)).collect();
    lines.join("\n").trim().to_owned()
}

fn says_something(line: &str) -> bool {
    !shape::is_heading(line) && line.chars().any(char::is_alphanumeric)
}

/// Returns true if `line` repeats the line before it, or if it is long and occurs for the third
/// time. Small models tend to repeat themselves. A short line such as `None.` may occur under every
/// heading.
fn is_repeat(line: &str, kept: &[String], times: &mut HashMap<String, usize>) -> bool {
    let word = shape::without_bullet(line).trim_end_matches(['.', '。']).to_lowercase();
    if ["none", "无", "n/a"].contains(&word.as_str()) || !says_something(line) {
        return false;
    }
    let just = kept.iter().rev().find(|line| !line.is_empty());
    if just.is_some_and(|just| just == line) {
        return true;
    }
    let times = times.entry(line.to_owned()).or_default();
    *times += 1;
    *times > 2 && line.len() >= LONG_LINE
}

/// Joins lines, with one blank line before each heading and at most one between other lines.
fn joined(lines: &[String]) -> String {
    let mut text = String::new();
    let mut after_blank = false;
    for line in lines {
        if !line.is_empty() {
            if !text.is_empty() && (after_blank || shape::is_heading(line)) {
                text.push('\n');
            }
            text.push_str(line);
            text.push('\n');
        }
        after_blank = line.is_empty();
    }
    text.truncate(text.trim_end().len());
    text
}

impl Repairs {
    /// Returns the total number of repairs.
    pub fn total(&self) -> usize {
        self.rows().iter().map(|(count, _)| count).sum()
    }

    fn rows(&self) -> [(usize, &'static str); 8] {
        [
            (self.echoes, "copied prompt lines removed"),
            (self.talk, "conversational lines removed"),
            (self.repeats, "repeated lines removed"),
            (self.halves, "incomplete lines removed"),
            (self.commands, "unsupported commands removed"),
            (self.quotes_repaired, "quotes corrected"),
            (self.unverified, "marked as unverified"),
            (self.secrets, "secrets removed"),
        ]
    }
}

impl fmt::Display for Repairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.rows().into_iter().filter(|(count, _)| *count > 0);
        let rows: Vec<String> = rows.map(|(count, what)| format!("{what}: {count}")).collect();
        f.write_str(&rows.join(", "))
    }
}

#[cfg(test)]
mod tests;
