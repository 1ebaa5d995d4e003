//! Lists exact values that a model's summary does not mention. The list is appended to the summary.
//! Each listed statement is clear on its own and contains a value that cannot be guessed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::LazyLock;

use ctx_text::{WordSet, regex};
use ctx_tokens::TokenCounter;
use regex::Regex;

use crate::ledger::{Index, Ledger, Origin, Segment};
use crate::{LISTS, Language, is_shell};

/// A line is listed only for a value that is needed with at least this probability.
const LEAST_CHANCE: f64 = 0.02;
/// No list is written if fewer tokens than this are available for it.
const LEAST: u64 = 30;
/// The weight of the user's own words. The user's words come first, even if they are unlikely
/// to be needed, because they cannot be looked up elsewhere.
const OWN: f64 = 1_000.0;
/// The maximum length, in bytes, of a message that the user probably wrote for this session.
const PASTED: usize = 2_000;

/// A model's summary, and what is needed to list the values that it does not mention.
#[derive(Clone, Copy)]
pub struct Answered<'a> {
    /// The text of the summary.
    pub text: &'a str,
    /// The language of the summary.
    pub language: Language,
    /// Returns the call whose result is on the given line of the session, if any.
    pub source_of: &'a dyn Fn(u64) -> Option<&'a str>,
    /// Counts the tokens in the list.
    pub counter: &'a dyn TokenCounter,
}

/// The limits on the length of a list.
#[derive(Clone, Copy)]
pub struct ListLimit {
    /// The maximum number of lines below the heading.
    pub lines: usize,
    /// The maximum number of tokens, including the heading.
    pub tokens: u64,
}

/// Lists statements from the session with values that neither the summary nor the kept messages
/// contain. The values that are most likely to be needed are chosen first, and listed in session
/// order. Returns an empty string if no value is worth listing.
pub fn missing_values(ledger: &Ledger, answered: &Answered<'_>, limit: ListLimit) -> String {
    let counter = answered.counter;
    let is_chinese = answered.language == Language::Chinese;
    let heading = if is_chinese { "## 上文没有的值" } else { "## Values not named above" };
    let mut left = limit.tokens.saturating_sub(counter.count(heading) + 1);
    if left < LEAST {
        return String::new();
    }
    let mut chooser = Chooser::new(&ledger.index, answered);
    // The lines of the list, in the order of their segments.
    let mut lines = BTreeMap::new();
    while lines.len() < limit.lines {
        let Some((number, line)) = chooser.next(left) else { break };
        left -= counter.count(&line) + 1;
        lines.insert(number, line);
    }
    if lines.is_empty() {
        return String::new();
    }
    let lines = std::iter::once(heading.to_owned()).chain(lines.into_values());
    lines.collect::<Vec<_>>().join("\n")
}

/// The segments that may be listed, and the values that the summary already contains.
struct Chooser<'i, 'a> {
    index: &'i Index,
    answered: &'i Answered<'a>,
    chances: Vec<f64>,
    coverage: Vec<u8>,
    /// The length of each user message in bytes, by line number.
    own: HashMap<u64, usize>,
    left: Vec<usize>,
}

impl<'i, 'a> Chooser<'i, 'a> {
    fn new(index: &'i Index, answered: &'i Answered<'a>) -> Self {
        let coverage = index.coverage_with(answered.text);
        let mut own = HashMap::new();
        let by_user = |segment: &&Segment| segment.origin == Origin::User;
        for segment in index.segments.iter().filter(by_user) {
            *own.entry(segment.line).or_default() += index.text(segment).len();
        }
        let chances = index.chances();
        let mut chooser = Self { own, index, answered, chances, coverage, left: Vec::new() };
        let segments = index.segments.iter().enumerate();
        let worth = segments.filter(|(_, segment)| {
            let text = index.text(segment);
            chooser.is_likely(segment)
                && is_statement(text)
                && has_value(text, segment.origin, answered.text)
                && is_no_listing(text, segment, answered)
                && !names_known_files(text, answered.text)
        });
        chooser.left = worth.map(|(number, _)| number).collect();
        chooser
    }

    /// Returns the ids of the values in `segment` that neither the summary nor a kept message
    /// contains.
    fn values(&self, segment: &Segment) -> impl Iterator<Item = usize> {
        let marks = self.index.marks(segment).iter().map(|mark| mark.id as usize);
        marks.filter(|id| self.coverage[*id] == 0)
    }

    /// Returns true if one of the missing values in `segment` is likely to be needed.
    fn is_likely(&self, segment: &Segment) -> bool {
        let least = if self.is_own(segment) { 0.0 } else { LEAST_CHANCE };
        self.values(segment).any(|id| self.chances[id] > least)
    }

    /// Returns true if the user probably wrote the segment, rather than pasting it.
    fn is_own(&self, segment: &Segment) -> bool {
        let bytes = self.own.get(&segment.line).copied().unwrap_or_default();
        segment.origin == Origin::User && bytes <= PASTED
    }

    /// Returns the sum of the probabilities of the segment's missing values, weighted by speaker.
    fn worth(&self, segment: &Segment) -> f64 {
        let ids: BTreeSet<usize> = self.values(segment).collect();
        let all: f64 = ids.into_iter().map(|id| self.chances[id]).sum();
        let weight = match segment.origin {
            Origin::User if self.is_own(segment) => OWN,
            Origin::Said => 1.5,
            Origin::Result => 0.8,
            _ => 1.0,
        };
        all * weight
    }

    /// Returns the best segment that fits into `room` tokens, as a line of the list.
    fn next(&mut self, room: u64) -> Option<(usize, String)> {
        let mut best: Option<(f64, usize, String)> = None;
        for number in &self.left {
            let segment = &self.index.segments[*number];
            let worth = self.worth(segment);
            let is_better = best.as_ref().is_none_or(|(most, ..)| worth > *most);
            if is_better && self.is_likely(segment) {
                let line = line_of(self.index, segment, self.answered);
                if self.answered.counter.count(&line) < room {
                    best = Some((worth, *number, line));
                }
            }
        }
        let (_, number, line) = best?;
        self.left.retain(|other| *other != number);
        for mark in self.index.marks(&self.index.segments[number]) {
            self.coverage[mark.id as usize] = 1;
        }
        Some((number, line))
    }
}

/// Writes a statement as a line, with its speaker. A tool's output is followed by the call that
/// produced it.
fn line_of(index: &Index, segment: &Segment, answered: &Answered<'_>) -> String {
    let text = index.text(segment).replace('\n', " ");
    match (segment.origin, (answered.source_of)(segment.line)) {
        (Origin::User, _) => format!("user: {text}"),
        (Origin::Said, _) => format!("agent: {text}"),
        (Origin::Call, _) => format!("call: {text}"),
        (_, Some(source)) => format!("> {text} ({source})"),
        (_, None) => format!("> {text}"),
    }
}

/// Text that is typical of code, diffs and listings with line numbers.
static CODE: LazyLock<Regex> = LazyLock::new(|| regex(&LISTS.pattern("code")));

/// Returns true if `text` can be understood on its own: it is a sentence or a name with its value,
/// but not a line of code.
fn is_statement(text: &str) -> bool {
    let text = text.trim().trim_start_matches(['-', '*', '•', ' ']);
    let begins = text.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '"' | '“' | '《'));
    let ends = !text.ends_with(['{', '(', '[', ';', '\\', '=', '>', '<', '|']);
    if !begins || !ends || is_code(text) {
        return false;
    }
    let words = text.split_whitespace().filter(|word| {
        let letters = word.chars().filter(|c| c.is_alphabetic()).count();
        letters >= 2 && word.chars().all(|c| c.is_alphabetic() || ",.;:!?'’".contains(c))
    });
    let han = text.chars().filter(|c| matches!(c, '\u{4e00}'..='\u{9fff}')).count();
    is_pair(text) || words.count() >= 4 || han >= 4
}

fn is_code(text: &str) -> bool {
    let without_urls = text.replace("://", " ");
    let calls = |text: &str| {
        let mut places = text.match_indices('(');
        places.any(|(at, _)| text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    let is_numbered = || {
        let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
        digits.len() < text.len() && digits.starts_with([':', '\t', '→', '|'])
    };
    CODE.is_match(&without_urls) || calls(text) || is_numbered()
}

/// Returns true if `text` contains a value that cannot be guessed, such as an id, number, date,
/// address or path. Names in code do not count, because they can be looked up.
fn has_value(text: &str, origin: Origin, summary: &str) -> bool {
    let is_end = |c: char| c.is_whitespace() || "\"'`(),;<>[]{}=，。；、（）".contains(c);
    let words = text.split(is_end).map(|word| word.trim_matches(['.', ':', '?', '!', '：']));
    words.filter(|word| word.len() > 2 && !summary.contains(word)).any(|word| {
        let digits = word.chars().filter(char::is_ascii_digit).count();
        let is_path =
            word.contains('/') && word.rsplit('/').next().is_some_and(|name| name.contains('.'));
        let is_number = digits >= 2 && !word.contains('/');
        if origin == Origin::Call { is_path } else { is_number || is_path || word.contains('@') }
    })
}

static SOURCES: LazyLock<WordSet> = LazyLock::new(|| LISTS.words("sources"));
/// Tools that search for lines in files.
const FINDERS: [&str; 3] = ["grep", "glob", "search"];

/// Returns false for a line of code, a search result, or a member of an object in a command's
/// output. Such text means nothing without its surroundings, and the agent can look it up again.
fn is_no_listing(text: &str, segment: &Segment, answered: &Answered<'_>) -> bool {
    if segment.origin == Origin::Call {
        return !text.contains(';') && text.len() <= 120;
    }
    if segment.origin != Origin::Result {
        return true;
    }
    let Some(source) = (answered.source_of)(segment.line) else { return true };
    let (tool, work) = source.split_once(": ").unwrap_or((source, ""));
    let tool = tool.to_lowercase();
    let finds = FINDERS.iter().any(|name| tool.contains(name));
    let end = work.rsplit('.').next().unwrap_or_default();
    let is_code = work.contains('.') && SOURCES.contains(end);
    // Command output contains many JSON members without the rest of their object.
    !(finds || is_code || is_shell(&tool) && is_pair(text))
}

/// Returns true if `text` is a name with its value, such as `"order_id": "W8123"` or `port: 9443`.
fn is_pair(text: &str) -> bool {
    let Some((name, value)) = text.split_once([':', '：']) else { return false };
    let name = name.trim_matches(['"', '\'', ' ']);
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ' ');
    !name.is_empty()
        && name.len() <= 40
        && name.chars().all(is_name)
        && value.contains(char::is_alphanumeric)
}

/// Returns true if `summary` mentions all files that `text` mentions, even under different paths.
fn names_known_files(text: &str, summary: &str) -> bool {
    let is_end =
        |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '(' | ')' | ',' | ';');
    let paths = text.split(is_end).filter(|word| word.contains('/') && word.len() > 4);
    let names = paths.filter_map(|path| path.trim_end_matches(['.', ':', '/']).rsplit('/').next());
    let names: Vec<&str> = names.collect();
    !names.is_empty() && names.iter().all(|name| name.len() > 2 && summary.contains(name))
}

#[cfg(test)]
mod tests {
    use crate::ledger::Ledger;
    use ctx_format::dialect::{Chat, Dialect};
    use ctx_format::{Object, Zone};
    use ctx_tokens::Encoding;

    use super::{Answered, ListLimit, missing_values};
    use crate::Language;

    fn list(records: &[&str], text: &str, tokens: u64) -> String {
        let mut ledger = Ledger::default();
        for (line, record) in (1..).zip(records) {
            let object = Object::parse(record).expect("an object");
            let message = Chat.message(&object).expect("a message");
            ledger.push(line, &message, Zone::Old);
        }
        let answered = Answered {
            text,
            language: Language::English,
            source_of: &|line| (line == 3).then_some("read: reports/march.txt"),
            counter: Encoding::Chars4.counter(),
        };
        let limit = ListLimit { lines: 12, tokens };
        missing_values(&ledger, &answered, limit)
    }

    const SESSION: [&str; 3] = [
        r#"{"role":"user","content":"Move the invoice export to harbour.example port 9443."}"#,
        r#"{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"read","arguments":"{\"path\":\"reports/march.txt\"}"}}]}"#,
        r#"{"role":"tool","tool_call_id":"a","content":"except ValueError:\ninvoice INV-4007 was paid on 2026-03-02\n> @@"}"#,
    ];

    #[test]
    fn values_that_the_summary_does_not_name_are_listed_with_their_source() {
        assert_eq!(
            list(&SESSION, "## Goal\nThe export is looked at.", 200),
            "## Values not named above\n\
             user: Move the invoice export to harbour.example port 9443.\n\
             call: read path: reports/march.txt\n\
             > invoice INV-4007 was paid on 2026-03-02 (read: reports/march.txt)"
        );
        let told = "Export to harbour.example port 9443; march.txt; INV-4007 on 2026-03-02.";
        assert_eq!(list(&SESSION, told, 200), "");
    }

    #[test]
    fn a_list_keeps_its_limit() {
        for limit in [0, 20, 40, 60, 80] {
            let list = list(&SESSION, "So.", limit);
            assert!(Encoding::Chars4.counter().count(&list) <= limit, "{limit}: {list}");
        }
    }
}

#[cfg(test)]
mod statement_tests {
    use super::is_statement;

    #[test]
    fn lines_of_code_are_no_statements() {
        for text in [
            "except ValueError:",
            "return parse_line(text)",
            "let port = 9443;",
            "@@ -1,3 +1,4 @@",
            "self.port",
            "    }",
            "x_9443",
            "944:	laneInfo, hasLane := m.sessionLanes[flatIndex]",
            "HookSpecificOutput *hookSpecificOutput `json:\"hookSpecificOutput,omitempty\"`",
            "f, err := os.OpenFile(lockPath, os.O_WRONLY, 0o644)",
            "wingmanLog(\"apply already attempted at %s, skipping\", at)",
        ] {
            assert!(!is_statement(text), "{text}");
        }
        for text in [
            "invoice INV-4007 was paid on 2026-03-02",
            "\"order_id\": \"W8123\"",
            "port: 9443",
            "订单号是 W8123，请尽快发货",
        ] {
            assert!(is_statement(text), "{text}");
        }
    }
}
