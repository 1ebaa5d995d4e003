//! Exact values that a model's summary does not name, as a short list after it.

mod statement;

use std::collections::{HashMap, HashSet};

use crate::ledger::{Index, Ledger, Origin, Segment};
use ctx_tokens::TokenCounter;

use crate::Language;
use statement::{has_value, is_no_listing, is_statement, names_known_files};

/// A value that is less likely to be needed is not worth a line.
const LEAST_CHANCE: f64 = 0.02;
/// With fewer tokens a list says nothing.
const LEAST: u64 = 30;
/// The speaker counts: the user's own words come first, however likely they are to be needed, since
/// nobody can look them up.
const OWN: f64 = 1_000.0;
const WEIGHTS: [(Origin, f64); 2] = [(Origin::Said, 1.5), (Origin::Result, 0.8)];
/// A message of the user with more bytes was hardly written for this session.
const PASTED: usize = 2_000;

/// The context of a list.
#[derive(Clone, Copy)]
pub struct Answered<'a> {
    /// The summary.
    pub text: &'a str,
    /// Its language.
    pub language: Language,
    /// The call whose results are on a line.
    pub source_of: &'a dyn Fn(u64) -> Option<&'a str>,
}

/// How long a list may be.
#[derive(Clone, Copy)]
pub struct ListLimit {
    /// Below its heading.
    pub lines: usize,
    /// The heading included.
    pub tokens: u64,
}

/// The statements of the session with values that neither the summary nor the kept messages name,
/// the most likely needed first; empty if nothing is worth it.
pub fn lacking(
    ledger: &Ledger,
    answered: &Answered<'_>,
    limit: ListLimit,
    counter: &dyn TokenCounter,
) -> String {
    let mut list = heading(answered.language).to_owned();
    let mut left = limit.tokens.saturating_sub(counter.count(&list) + 1);
    if left < LEAST {
        return String::new();
    }
    let index = ledger.index();
    let mut chooser = Chooser::new(index, answered);
    let mut lines: Vec<(usize, String)> = Vec::new();
    while lines.len() < limit.lines {
        let Some((number, line)) = chooser.next(answered, left, counter) else {
            break;
        };
        left -= counter.count(&line) + 1;
        lines.push((number, line));
    }
    if lines.is_empty() {
        return String::new();
    }
    lines.sort_by_key(|(at, _)| *at);
    for (_, line) in lines {
        list.push('\n');
        list.push_str(&line);
    }
    list
}

fn heading(language: Language) -> &'static str {
    match language {
        Language::Chinese => "## 上文没有的值",
        Language::English | Language::Other => "## Values not named above",
    }
}

/// Candidates, each with its segment number, and what is said already.
struct Chooser<'i> {
    index: &'i Index,
    chances: Vec<f64>,
    told: Vec<u8>,
    /// Bytes of the user's messages, by their lines.
    own: HashMap<u64, usize>,
    left: Vec<usize>,
}

impl<'i> Chooser<'i> {
    fn new(index: &'i Index, answered: &Answered<'_>) -> Self {
        let Answered { text: summary, source_of, .. } = *answered;
        let mut told = index.told().to_vec();
        index.tell_in(summary, &mut told);
        let mut own = HashMap::new();
        let by_user = |segment: &&Segment| segment.origin == Origin::User;
        for segment in index.segments().iter().filter(by_user) {
            *own.entry(segment.line).or_default() += index.text(segment).len();
        }
        let mut chooser = Self { own, index, chances: index.chances(), told, left: Vec::new() };
        let segments = index.segments().iter().enumerate();
        let worth = segments.filter(|(_, segment)| {
            let text = index.text(segment);
            chooser.is_likely(segment)
                && is_statement(text)
                && has_value(text, segment.origin, summary)
                && is_no_listing(text, segment, source_of)
                && !names_known_files(text, summary)
        });
        chooser.left = worth.map(|(number, _)| number).collect();
        chooser
    }

    /// Whether one of its values that nothing tells is likely to be needed.
    fn is_likely(&self, segment: &Segment) -> bool {
        let least = if self.is_own(segment) { 0.0 } else { LEAST_CHANCE };
        let marks = self.index.marks(segment).iter().map(|mark| mark.id as usize);
        let mut untold = marks.filter(|id| self.told[*id] == 0);
        untold.any(|id| self.chances[id] > least)
    }

    /// Whether the user wrote it himself.
    fn is_own(&self, segment: &Segment) -> bool {
        let bytes = self.own.get(&segment.line).copied().unwrap_or_default();
        segment.origin == Origin::User && bytes <= PASTED
    }

    /// All of these chances, by who spoke.
    fn worth(&self, segment: &Segment) -> f64 {
        let marks = self.index.marks(segment).iter();
        let ids: HashSet<usize> = marks.map(|mark| mark.id as usize).collect();
        let mut ids: Vec<usize> = ids.into_iter().filter(|id| self.told[*id] == 0).collect();
        ids.sort_unstable();
        let all: f64 = ids.into_iter().map(|id| self.chances[id]).sum();
        let weight = WEIGHTS.iter().find(|(origin, _)| *origin == segment.origin);
        if self.is_own(segment) {
            all * OWN
        } else {
            all * weight.map_or(1.0, |(_, weight)| *weight)
        }
    }

    /// The best one that fits.
    fn next(
        &mut self,
        answered: &Answered<'_>,
        room: u64,
        counter: &dyn TokenCounter,
    ) -> Option<(usize, String)> {
        let mut best: Option<(f64, usize, String)> = None;
        for number in &self.left {
            let segment = &self.index.segments()[*number];
            if !self.is_likely(segment) {
                continue;
            }
            let worth = self.worth(segment);
            if best.as_ref().is_some_and(|(most, ..)| worth <= *most) {
                continue;
            }
            let line = line_of(self.index, segment, answered);
            if counter.count(&line) < room {
                best = Some((worth, *number, line));
            }
        }
        let (_, number, line) = best?;
        self.left.retain(|other| *other != number);
        for mark in self.index.marks(&self.index.segments()[number]) {
            self.told[mark.id as usize] = 1;
        }
        Some((number, line))
    }
}

/// A statement with who made it; a quote of a tool with the call that it answers.
fn line_of(index: &Index, segment: &Segment, answered: &Answered<'_>) -> String {
    let text = index.text(segment).replace('\n', " ");
    let source = (answered.source_of)(segment.line);
    if segment.origin == Origin::User {
        format!("user: {text}")
    } else if segment.origin == Origin::Said {
        format!("agent: {text}")
    } else if segment.origin == Origin::Call {
        format!("call: {text}")
    } else if let Some(source) = source {
        format!("> {text} ({source})")
    } else {
        format!("> {text}")
    }
}

#[cfg(test)]
mod tests {
    use crate::ledger::Ledger;
    use ctx_format::dialect::{Chat, Dialect};
    use ctx_format::{Object, Zone};
    use ctx_tokens::Encoding;

    use super::{Answered, ListLimit, lacking};
    use crate::Language;

    fn list(records: &[&str], text: &str, tokens: u64) -> String {
        let mut ledger = Ledger::new();
        for (line, record) in (1..).zip(records) {
            let object = Object::parse(record).expect("an object");
            let message = Chat.message(&object).expect("a message");
            ledger.push(line, &message, Zone::Old);
        }
        let answered = Answered {
            text,
            language: Language::English,
            source_of: &|line| (line == 3).then_some("read: reports/march.txt"),
        };
        let limit = ListLimit { lines: 12, tokens };
        lacking(&ledger, &answered, limit, Encoding::Chars4.counter())
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
