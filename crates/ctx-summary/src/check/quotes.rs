//! Requests that are quoted: word for word in the source, or not at all.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::commands::without_bullet;
use super::source::Source;
use super::words::{is_chinese, pattern, pieces, words};
use ctx_ledger::text::one_line;

/// What became of the quotes of a line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Quoted {
    /// The line as it may stay; `None` when its quote was all it had.
    pub(super) line: Option<String>,
    pub(super) mended: usize,
    pub(super) removed: usize,
}

/// Stands for a quote that nobody said.
const REMOVED: &str = "(a quote that is not in the record was removed)";
/// A quote longer than this is not put in the place of another.
const LONGEST: usize = 400;

/// A quote, or a mark that opens one which does not end.
static QUOTE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r#""([^"]*)"|“([^”]*)”|「([^」]*)」|『([^』]*)』|«([^»]*)»|["“「『«]"#)
});
/// The end of a sentence.
static END: LazyLock<Regex> = LazyLock::new(|| pattern("[。！？]|[.!?] "));

/// Holds the quotes of a line against what users said.
pub(super) fn check(line: &str, source: &Source) -> Quoted {
    let mut quoted = Quoted::default();
    let mut text = line.to_owned();
    // From the last, so that the places before it stay true.
    for (with_marks, range) in quotes(line).into_iter().rev() {
        let quote = &line[range.clone()];
        let (mut users, complete) = source.users();
        if users.any(|said| is_in(quote, said)) {
            continue;
        }
        if let Some(exact) = nearest(quote, source) {
            text.replace_range(range, exact);
            quoted.mended += 1;
        } else if complete {
            quoted.removed += 1;
            if quote.len() * 2 > without_bullet(line).len() {
                return quoted;
            }
            text.replace_range(with_marks, REMOVED);
        }
    }
    quoted.line = Some(text);
    quoted
}

/// What stands in quotation marks and is long enough to be somebody's words: its place
/// with the marks, and without them.
fn quotes(line: &str) -> Vec<(Range<usize>, Range<usize>)> {
    let place = |found: Captures<'_>| {
        let quote = found.iter().skip(1).flatten().next()?;
        Some((found.get(0)?.range(), quote.range()))
    };
    QUOTE
        .captures_iter(line)
        .map_while(place)
        .filter(|(_, quote)| is_long(&line[quote.clone()]))
        .collect()
}

/// Shorter quotes are terms.
fn is_long(quote: &str) -> bool {
    let chinese = quote.chars().filter(|c| is_chinese(*c)).count();
    chinese >= 5 || quote.split_whitespace().count() >= 3
}

/// Word for word, blanks apart; where the quote has `…`, something was left out.
fn is_in(quote: &str, said: &str) -> bool {
    let quote = one_line(quote).replace("...", "…");
    let mut rest = Some(said);
    for part in quote.split('…') {
        let part = part.trim().trim_end_matches(['.', '。', ',', '，']);
        rest = rest.and_then(|rest| Some(rest.split_once(part)?.1));
    }
    rest.is_some()
}

/// The sentence of a user that was meant: it has nearly all of the quote's words,
/// and few others.
fn nearest<'s>(quote: &str, source: &'s Source) -> Option<&'s str> {
    let wanted = words(quote);
    if wanted.len() < 3 {
        return None;
    }
    let mut best: Option<(usize, &str)> = None;
    let (users, _) = source.users();
    for sentence in users.flat_map(|said| pieces(said, &END)).map(str::trim) {
        if sentence.len() > LONGEST || sentence.contains(['"', '“', '”', '「', '」']) {
            continue;
        }
        let has = words(sentence);
        let shared = wanted.iter().filter(|word| has.contains(word)).count();
        let score = shared * 200 / (wanted.len() + has.len()).max(1);
        if score >= 75 && best.is_none_or(|(most, _)| score > most) {
            best = Some((score, sentence));
        }
    }
    best.map(|(_, sentence)| sentence)
}

#[cfg(test)]
mod tests {
    use super::super::Source;
    use super::{Quoted, check};

    fn source() -> Source {
        let mut source = Source::default();
        source.push_earlier(
            "Please rename the parser module to reader. Then run all tests, and do not touch main.rs! 请把端口改成 9000，不要动数据库。",
        );
        source
    }

    fn checked(line: &str) -> Quoted {
        check(line, &source())
    }

    fn kept(line: &str) -> Quoted {
        Quoted {
            line: Some(line.to_owned()),
            ..Quoted::default()
        }
    }

    #[test]
    fn exact_quotes_stay() {
        for line in [
            "- \"rename the parser module to reader\"",
            "- “run all tests, … do not touch main.rs”, he said",
            "- 「请把端口改成 9000」",
            "- \"reader\" is a term, \"two words\" too",
            "- an open \"quote of many words",
        ] {
            assert_eq!(checked(line), kept(line), "{line}");
        }
    }

    #[test]
    fn near_quotes_become_the_users_words() {
        let quoted = checked("- \"Rename parser module to the reader please\"");
        assert_eq!(
            quoted.line.as_deref(),
            Some("- \"Please rename the parser module to reader.\"")
        );
        assert_eq!((quoted.mended, quoted.removed), (1, 0));
    }

    #[test]
    fn invented_quotes_go() {
        let quoted = checked("- \"delete the whole database now\"");
        assert_eq!((quoted.line, quoted.removed), (None, 1));
        let quoted = checked("- 「把所有的备份都删除掉」");
        assert_eq!((quoted.line, quoted.removed), (None, 1));
        let quoted = checked(
            "- The user said \"drop every table\" while the parser module was being renamed to reader",
        );
        assert_eq!(
            quoted.line.as_deref(),
            Some(
                "- The user said (a quote that is not in the record was removed) while the parser module was being renamed to reader"
            )
        );
    }
}
