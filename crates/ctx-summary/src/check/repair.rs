//! Repairs a line of a summary. Removes unsupported commands, and corrects or marks quotes, names
//! and numbers that the record does not contain. Exact quotes are left unchanged.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use ctx_text::{is_han, regex};
use regex::Regex;

use super::commands::{self, CommandVerdict};
use super::shape::{Area, unescaped};
use super::source::{Source, UNVERIFIED};
use super::spans::{Spans, around};
use super::words::{pieces, words};
use super::{Check, identifiers, names, says_something};

impl Check<'_> {
    /// Returns the repaired line, or `None` if all of its text was removed.
    pub(super) fn repaired_line(&mut self, line: &str, area: Area) -> Option<String> {
        let mut text = self.without_commands(line, area)?;
        let line = text.clone();
        let source = self.source;
        let spans = Spans::of(&line);
        let quoted = source.quoted(&line, &spans, area);
        let mut places = BTreeSet::new();
        for (range, verdict) in commands::unsupported(&line, area, source) {
            if verdict == CommandVerdict::Marked && !is_quoted(range.start, &quoted) {
                places.insert(range.start + line[range].trim_end().len());
            }
        }
        let names = names::invented(&line, &spans, &source.phrases, self.rules.headings);
        let identifiers = identifiers::invented(&line, &source.identifiers, &source.phrases);
        for range in names.into_iter().chain(identifiers) {
            // The words of a quote are not checked individually, because the quote is looked up as
            // a whole.
            if !is_quoted(range.start, &quoted) {
                places.insert(end_of(&range, &line, &spans));
            }
        }
        let mut edits = Vec::new();
        for (span, quoted) in &quoted {
            match quoted {
                Quoted::Exact => {}
                Quoted::Near(exact) => edits.push((inside(&line, span), *exact)),
                Quoted::Unknown => _ = places.insert(span.end),
            }
        }
        places.retain(|at| !line[*at..].trim_start().starts_with(UNVERIFIED));
        self.done.repairs.quotes_repaired += edits.len();
        self.done.repairs.unverified += places.len();
        let mark = format!(" {UNVERIFIED}");
        edits.extend(places.into_iter().map(|at| (at..at, mark.as_str())));
        edits.sort_by_key(|(range, _)| range.start);
        // Apply the edits from last to first, so that the positions of earlier edits stay valid.
        for (range, new) in edits.into_iter().rev() {
            text.replace_range(range, new);
        }
        Some(text)
    }

    /// Removes sentences that tell the reader to do something, except exact quotes from the record.
    fn without_commands(&mut self, line: &str, area: Area) -> Option<String> {
        let mut gone = commands::unsupported(line, area, self.source);
        gone.retain(|(_, verdict)| *verdict == CommandVerdict::Gone);
        if gone.is_empty() {
            return Some(line.to_owned());
        }
        let mut quoted = self.source.quoted(line, &Spans::of(line), area);
        quoted.retain(|(_, quoted)| *quoted == Quoted::Exact);
        let mut text = line.to_owned();
        for (range, _) in gone.into_iter().rev() {
            if !is_quoted(range.start, &quoted) {
                text.replace_range(range, "");
                self.done.repairs.commands += 1;
            }
        }
        let left = text.trim_end();
        // A label is useless once the text after it has been removed.
        let is_label = left.len() < line.len() && left.trim_end_matches('*').ends_with([':', '：']);
        (says_something(left) && !is_label).then(|| left.to_owned())
    }
}

fn is_quoted(at: usize, quoted: &[(Range<usize>, Quoted<'_>)]) -> bool {
    quoted.iter().any(|(span, _)| span.contains(&at))
}

/// Returns the range of a quote without its quotation marks.
fn inside(line: &str, span: &Range<usize>) -> Range<usize> {
    let mut chars = line[span.clone()].chars();
    let mut mark = || chars.next().map_or(0, char::len_utf8);
    let start = span.start + mark();
    start..span.end - chars.next_back().map_or(0, char::len_utf8)
}

/// Returns the position at which to insert a mark for `word`: after any enclosing code and closing
/// punctuation.
fn end_of(word: &Range<usize>, line: &str, spans: &Spans) -> usize {
    let end = around(&spans.code, word.start).map_or(word.end, |code| code.end);
    let rest = &line[end..];
    line.len() - rest.trim_start_matches(['`', '"', '”', '*', ')', '」']).len()
}

/// The result of comparing a quote with the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quoted<'s> {
    /// The record contains the quote word for word.
    Exact,
    /// The user wrote almost the same thing, in these words.
    Near(&'s str),
    /// The record does not contain the quote.
    Unknown,
}

/// The maximum length, in bytes, of a sentence that replaces a quote.
const LONGEST: usize = 400;
/// The minimum percentage of words that a sentence must share with the quote it replaces. Below
/// this percentage, the quote may come from a different sentence.
const CERTAIN: usize = 90;

/// Matches the end of a sentence.
static END: LazyLock<Regex> = LazyLock::new(|| regex("[。！？]|[.!?] "));
/// Matches `…` and other marks for omitted words.
static LEFT_OUT: LazyLock<Regex> = LazyLock::new(|| regex(r"…|\.\.\.|\[REDACTED\]"));

impl Source {
    /// Finds the quotes in `line` that are too long to be mere terms. The ranges include the
    /// quotation marks.
    fn quoted(&self, line: &str, spans: &Spans, area: Area) -> Vec<(Range<usize>, Quoted<'_>)> {
        let quoted = |quote: &str| {
            if self.is_exact(quote) {
                return Quoted::Exact;
            }
            let near = if area == Area::Asks { self.nearest(quote) } else { None };
            near.map_or(Quoted::Unknown, Quoted::Near)
        };
        let found = spans.quotes.iter().map(|span| (span.clone(), &line[inside(line, span)]));
        let found = found.filter(|(_, quote)| is_long(quote));
        found.map(|(span, quote)| (span, quoted(quote))).collect()
    }

    /// Returns true if the record contains the quote. A `…` in the quote matches any omitted words.
    fn is_exact(&self, quote: &str) -> bool {
        let quote = quote.replace(UNVERIFIED, "");
        let has = |part: &str| self.phrases.has(part) || self.phrases.has(&unescaped(part));
        LEFT_OUT.split(&quote).all(has)
    }

    /// Finds the user's sentence from which a quote was taken. The sentence must contain nearly all
    /// of the quote's meaningful words, and hardly any others.
    fn nearest(&self, quote: &str) -> Option<&str> {
        let wanted = words(quote);
        if wanted.len() < 3 {
            return None;
        }
        let mut best: Option<(usize, &str)> = None;
        // Later sentences are preferred, so search from last to first.
        let sentences = self.users.iter().rev().flat_map(|said| pieces(said, &END));
        for sentence in sentences.map(str::trim) {
            if sentence.len() > LONGEST || sentence.contains(['"', '“', '”', '「', '」']) {
                continue;
            }
            let has = words(sentence);
            let shared = wanted.iter().filter(|word| has.contains(word)).count();
            let score = shared * 200 / (wanted.len() + has.len()).max(1);
            if score >= CERTAIN && best.is_none_or(|(most, _)| score > most) {
                best = Some((score, sentence));
            }
        }
        best.map(|(_, sentence)| sentence)
    }
}

/// Returns true if a quote is long enough to be something a person said. Shorter quotes are mere
/// terms.
fn is_long(quote: &str) -> bool {
    let quote = quote.replace(UNVERIFIED, "");
    let chinese = quote.chars().filter(|c| is_han(*c)).count();
    chinese >= 5 || quote.split_whitespace().count() >= 3
}

#[cfg(test)]
mod tests {
    use super::{Area, Quoted, Source, Spans};

    fn checked(line: &str, expected: &[Quoted<'_>]) {
        let mut source = Source::default();
        source.push_earlier(
            "Please rename the parser module\n to `reader`. Then run \\\"all tests\\\",\\nand do not touch main.rs! 请把端口改成 9000，不要动数据库。",
        );
        let found = source.quoted(line, &Spans::of(line), Area::Asks);
        let found: Vec<Quoted<'_>> = found.into_iter().map(|(_, quoted)| quoted).collect();
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn quotes_stand_there_across_line_ends_escapes_and_marks() {
        for line in [
            "- \"rename the parser module to reader\"",
            "- “run all tests, … do not touch main.rs”, she said",
            "- \"run \\\"all tests\\\", and do not touch\"",
            "- 「请把端口改成 9000」",
        ] {
            checked(line, &[Quoted::Exact]);
        }
        checked("- \"reader\" is a term, \"two words\" too, an open \"quote of words", &[]);
    }

    #[test]
    fn near_quotes_are_told_from_others() {
        let exact = "请把端口改成 9000，不要动数据库。";
        checked("- \"把端口改成 9000，不要动数据库吧\"", &[Quoted::Near(exact)]);
        for line in [
            "- \"delete the whole database now\"",
            "- 「把所有的备份都删除掉」",
            "- \"rename the lexer module to reader\" (?)",
            "- \"rename the (?) lexer\"",
        ] {
            checked(line, &[Quoted::Unknown]);
        }
        checked("- \"one two (?)\"", &[]);
    }
}
