//! Quotes: they stand word for word in the record, or are not trusted.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::Area;
use super::shape::unescaped;
use super::source::{Source, UNVERIFIED};
use super::spans::Spans;
use super::words::{is_chinese, pieces, words};
use ctx_text::regex;

/// The result for a quote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quoted<'s> {
    /// The record has it.
    Exact,
    /// A user said nearly the same, in these words.
    Near(&'s str),
    /// The record does not have it.
    Unknown,
}

/// A quote longer than this is not put in the place of another.
const LONGEST: usize = 400;
/// Of 100 words this many must be equal; otherwise another sentence may be meant.
const CERTAIN: usize = 90;

/// The end of a sentence.
static END: LazyLock<Regex> = LazyLock::new(|| regex("[。！？]|[.!?] "));
/// The signs for omitted words.
static LEFT_OUT: LazyLock<Regex> = LazyLock::new(|| regex(r"…|\.\.\.|\[REDACTED\]"));

/// The quotes of a line that are long enough to be somebody's words, with their marks.
pub(super) fn check<'s>(
    line: &str,
    spans: &Spans,
    area: Area,
    source: &'s Source,
) -> Vec<(Range<usize>, Quoted<'s>)> {
    let long = spans.quotes().iter().filter(|span| is_long(inner(line, span)));
    long.map(|span| {
        let quote = inner(line, span);
        let quoted = if is_exact(quote, source) {
            Quoted::Exact
        } else {
            let nearest = (area == Area::Asks).then(|| nearest(quote, source)).flatten();
            nearest.map_or(Quoted::Unknown, Quoted::Near)
        };
        (span.clone(), quoted)
    })
    .collect()
}

/// The text between the marks of a quote.
pub(super) fn inner<'l>(line: &'l str, span: &Range<usize>) -> &'l str {
    let quote = &line[span.clone()];
    let mut chars = quote.chars();
    chars.next();
    chars.next_back();
    chars.as_str()
}

/// Shorter quotes are terms.
fn is_long(quote: &str) -> bool {
    let quote = quote.replace(UNVERIFIED, "");
    let chinese = quote.chars().filter(|c| is_chinese(*c)).count();
    chinese >= 5 || quote.split_whitespace().count() >= 3
}

/// Whether the record has the words in this order; `…` in the quote stands for omitted words.
fn is_exact(quote: &str, source: &Source) -> bool {
    let quote = quote.replace(UNVERIFIED, "");
    LEFT_OUT
        .split(&quote)
        .all(|part| source.phrases().has(part) || source.phrases().has(&unescaped(part)))
}

/// The sentence of a user that was meant: it has all of the quote's words that carry meaning,
/// or nearly all, and hardly another.
fn nearest<'s>(quote: &str, source: &'s Source) -> Option<&'s str> {
    let wanted = words(quote);
    if wanted.len() < 3 {
        return None;
    }
    let mut best: Option<(usize, &str)> = None;
    for sentence in source.users().flat_map(|said| pieces(said, &END)).map(str::trim) {
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

#[cfg(test)]
mod tests {
    use super::super::spans::Spans;
    use super::super::{Area, Source};
    use super::{Quoted, check};

    fn checked(line: &str, expected: &[Quoted<'_>]) {
        let mut source = Source::default();
        source.push_earlier(
            "Please rename the parser module\n to `reader`. Then run \\\"all tests\\\",\\nand do not touch main.rs! 请把端口改成 9000，不要动数据库。",
        );
        let found = check(line, &Spans::of(line), Area::Asks, &source);
        let found: Vec<Quoted<'_>> = found.into_iter().map(|(_, quoted)| quoted).collect();
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn quotes_stand_there_across_line_ends_escapes_and_marks() {
        for line in [
            "- \"rename the parser module to reader\"",
            "- “run all tests, … do not touch main.rs”, he said",
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
            "- \"rename the lexer module to reader\" (unverified)",
            "- \"rename the (unverified) lexer\"",
        ] {
            checked(line, &[Quoted::Unknown]);
        }
        checked("- \"one two (unverified)\"", &[]);
    }
}
