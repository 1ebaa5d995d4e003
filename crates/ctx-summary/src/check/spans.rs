//! Finds code in backticks and text in quotation marks on a line.

use std::ops::Range;

use ctx_text::is_han;

/// The positions of code and quotes in a line, in order.
#[derive(Debug, Default)]
pub(super) struct Spans {
    /// Code, including its backticks.
    pub(super) code: Vec<Range<usize>>,
    /// Quotes, including their quotation marks. A quote within another quote is not listed.
    pub(super) quotes: Vec<Range<usize>>,
}

impl Spans {
    pub(super) fn of(line: &str) -> Self {
        let code = code(line);
        let mut quotes = quotes(line);
        // Quotation marks in code are part of the code, so `": "` is not a quote.
        quotes.retain(|quote| around(&code, quote.start) == around(&code, quote.end - 1));
        Self { code, quotes }
    }
}

/// Returns the span that contains the position `at`, if any.
pub(super) fn around(spans: &[Range<usize>], at: usize) -> Option<&Range<usize>> {
    let next = spans.partition_point(|span| span.end <= at);
    spans.get(next).filter(|span| span.contains(&at))
}

/// Finds code that is enclosed in the same number of backticks on both sides.
fn code(line: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let mut open: Option<(usize, usize)> = None;
    let mut at = 0;
    while let Some(next) = line[at..].find('`') {
        let start = at + next;
        let rest = &line[start..];
        let length = rest.len() - rest.trim_start_matches('`').len();
        at = start + length;
        match open {
            Some((from, ticks)) if ticks == length => {
                spans.push(from..at);
                open = None;
            }
            Some(_) => {}
            None => open = Some((start, length)),
        }
    }
    spans
}

/// Pairs of opening and closing quotation marks.
const PAIRS: [(char, char); 5] = [('“', '”'), ('「', '」'), ('『', '』'), ('«', '»'), ('„', '“')];

/// Finds the quotes on a line, including their quotation marks. Unpaired marks are ignored, and so
/// is the inch sign in `5"`.
fn quotes(line: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut open: Vec<(usize, char)> = Vec::new();
    let mut before = None;
    let mut chars = line.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let after = chars.peek().map(|(_, c)| *c);
        let closes = match c {
            '"' => may_close(before, after).then_some('"'),
            _ => Some(c),
        };
        let partner = closes.and_then(|c| open.iter().rposition(|(_, end)| *end == c));
        let is_new = c == '"' && may_open(before, after) && (partner.is_none() || begins(before));
        if let Some(partner) = partner.filter(|_| !is_new) {
            let span = open[partner].0..at + c.len_utf8();
            open.truncate(partner);
            found.retain(|inner| inner.start < span.start);
            found.push(span);
        } else if is_new {
            open.push((at, '"'));
        } else if let Some((_, end)) = PAIRS.iter().find(|(start, _)| *start == c) {
            open.push((at, *end));
        }
        // If too many quotation marks are open, forget the outermost.
        if open.len() > DEEPEST {
            open.remove(0);
        }
        before = Some(c);
    }
    found
}

/// The maximum number of open quotation marks.
const DEEPEST: usize = 8;

fn is_word(c: char) -> bool {
    c.is_alphanumeric() && !is_han(c)
}

fn may_open(before: Option<char>, after: Option<char>) -> bool {
    !before.is_some_and(is_word) && after.is_some_and(|c| !c.is_whitespace())
}

fn may_close(before: Option<char>, after: Option<char>) -> bool {
    before.is_some_and(|c| !c.is_whitespace()) && !after.is_some_and(is_word)
}

/// Returns true if a quotation mark after the character `before` can only open a quote.
fn begins(before: Option<char>) -> bool {
    before.is_none_or(|c| c.is_whitespace() || "([{=:".contains(c))
}

#[cfg(test)]
mod tests {
    use super::{Spans, around};

    fn quotes(line: &str) -> Vec<&str> {
        let spans = Spans::of(line);
        spans.quotes.into_iter().map(|span| &line[span]).collect()
    }

    #[test]
    fn quotes_are_found_by_their_marks() {
        for (line, found) in [
            (r#"he said "a b", then ("c")."#, vec![r#""a b""#, r#""c""#]),
            (r#""Show "a b" only", he said"#, vec![r#""Show "a b" only""#]),
            ("用户说“快”和「慢」，\"中\"也", vec!["“快”", "「慢」", "\"中\""]),
            (r#"a 5" disk and "one more""#, vec![r#""one more""#]),
            (r#"an open "quote, and „so“"#, vec!["„so“"]),
            (r#"any `": "` in it, `say "a b"`, "run `x`""#, vec![r#""a b""#, r#""run `x`""#]),
        ] {
            assert_eq!(quotes(line), found, "{line}");
        }
    }

    #[test]
    fn code_is_found_by_its_backticks() {
        let line = "`a` b ``c ` d`` `e";
        let spans = Spans::of(line);
        let found: Vec<&str> = spans.code.iter().map(|span| &line[span.clone()]).collect();
        assert_eq!(found, ["`a`", "``c ` d``"]);
        assert_eq!(around(&spans.code, 1), Some(&(0..3)));
        assert_eq!((around(&spans.code, 4), around(&spans.quotes, 1)), (None, None));
    }
}
