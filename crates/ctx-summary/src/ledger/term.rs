//! Finds names and figures in prose. No tool needs such terms verbatim, but a dialogue without
//! tools contains no other identifiers.
//!
//! The lists of units, endings, and words that precede names were written by hand. The author of
//! the lists had seen the dialogues used in `docs/benchmarks.md`, so the figures there do not come
//! from held-out data. The effect of a change to the lists is measured on English dialogues by
//! `cargo test --test cli dialogues::`, and on any session by `ctx-score BEFORE AFTER --future
//! FULL`.

use std::ops::Range;
use std::sync::LazyLock;

use ctx_text::regex;
use regex::Regex;

use crate::ledger::LISTS;
use crate::ledger::identifier::{DIGIT, LOWER, UPPER, class, class_at, run};

/// Calls `found` for each name or figure in prose, ordered by where it ends.
pub(crate) fn scan(text: &str, mut found: impl FnMut(Range<usize>)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let next = match class(*byte) {
            DIGIT => figure(text, at),
            UPPER => proper(text, at),
            _ if byte.is_ascii() => {
                at += 1;
                continue;
            }
            _ => quoted(text, at),
        };
        if let Some(range) = next {
            at = range.end;
            found(range);
            continue;
        }
        let c = text[at..].chars().next();
        at += c.map_or(1, char::len_utf8);
        if let Some(range) = c.and_then(|last| chinese_name(text, last, at)) {
            found(range);
        }
    }
}

/// The maximum length of a name, in characters.
const LONGEST: usize = 24;

/// Finds a name in quotation marks, such as `《…》`, `“…”` or `「…」`.
fn quoted(text: &str, at: usize) -> Option<Range<usize>> {
    let mut chars = text[at..].char_indices();
    let close = match chars.next()?.1 {
        '《' => '》',
        '「' => '」',
        '“' => '”',
        _ => return None,
    };
    let mut inside = chars.take(LONGEST + 1).enumerate();
    let (length, (end, _)) = inside.find(|(_, (_, c))| *c == close)?;
    let start = at + '《'.len_utf8();
    (length >= 2).then_some(start..at + end)
}

/// The minimum length of a word that counts as the unit of the number before it.
const SHORTEST_WORD: usize = 3;
/// Units that are written directly after a number.
const UNITS: &str = "元分点号月日年人间米路层楼晚天次个星级折岁条万千%";

/// Finds a figure, which is a number with a unit, such as `4.5分`, `120元`, `3 nights` or `50%`.
fn figure(text: &str, at: usize) -> Option<Range<usize>> {
    let goes_on = |byte: &u8| byte.is_ascii_alphanumeric() || b".,-_/".contains(byte);
    if text.as_bytes()[..at].last().is_some_and(goes_on) {
        return None;
    }
    let bytes = text.as_bytes();
    let mut end = at + run(bytes, at, DIGIT);
    while matches!(bytes.get(end), Some(b'.' | b',' | b':' | b'-'))
        && class_at(bytes, end + 1) == DIGIT
    {
        end += 1 + run(bytes, end + 1, DIGIT);
    }
    if bytes.get(end) == Some(&b' ') {
        let word = run(bytes, end + 1, LOWER);
        if word >= SHORTEST_WORD {
            return Some(at..end + 1 + word);
        }
    }
    let unit = text[end..].chars().next().filter(|c| UNITS.contains(*c))?;
    Some(at..end + unit.len_utf8())
}

/// Finds a name that consists of two or more capitalized words, or of one capitalized word that
/// does not begin a sentence.
fn proper(text: &str, at: usize) -> Option<Range<usize>> {
    let mut before = text[..at].chars();
    if before.clone().next_back().is_some_and(char::is_alphanumeric) {
        return None;
    }
    let (mut end, mut words) = (word_end(text, at)?, 1);
    while text.as_bytes().get(end) == Some(&b' ') {
        let Some(next) = word_end(text, end + 1) else { break };
        end = next;
        words += 1;
    }
    let before = before.rfind(|c| !c.is_whitespace());
    let inside = before.is_some_and(|c| c.is_ascii_lowercase() || c == ',');
    (end - at >= 3 && end - at <= 2 * LONGEST && (words > 1 || inside)).then_some(at..end)
}

/// Returns the end of the capitalized word that begins at `at`.
fn word_end(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    if class_at(bytes, at) != UPPER || class_at(bytes, at + 1) != LOWER {
        return None;
    }
    let end = at + 1 + run(bytes, at + 1, LOWER);
    let next = text[end..].chars().next();
    let ends = next.is_none_or(|c| !c.is_alphanumeric() && c != '_');
    ends.then_some(end)
}

static ENDING: LazyLock<Regex> =
    LazyLock::new(|| regex(&format!("(?:{})$", LISTS.pattern("name endings"))));
/// Characters that often precede a name and are not part of it.
const BEFORE: &str = "的了是在去到有我你他她它们这那吗呢吧啊呀哦和与或跟及请想要个家就也都还能会可以从给把被让对很最好吃找住看知道叫为您推荐附近周边离距麻烦帮说问先再用得地着过里外上下么什哪谁些每各另其并而但若如果因此所之于等又不没别只才已经将由向往比";
/// The minimum and maximum number of characters in a place name, including its ending.
const SHORTEST_NAME: usize = 3;
const LONGEST_NAME: usize = 14;

/// The length in bytes of a character for which [`is_han`] returns true.
pub(crate) const HAN_BYTES: usize = 3;

/// Returns true if `c` is one of the common Chinese characters that make up names and words.
pub(crate) fn is_han(c: char) -> bool {
    ('\u{4e00}'..='\u{9fff}').contains(&c)
}

/// Finds the Chinese name that ends with `last` at `end`.
fn chinese_name(text: &str, last: char, end: usize) -> Option<Range<usize>> {
    if !is_han(last) {
        return None;
    }
    let ending = ENDING.find(&text[..end])?;
    let first = &text[..ending.start()];
    let most = LONGEST_NAME + 1 - ending.len() / HAN_BYTES;
    let is_name = |c: &char| is_han(*c) && !BEFORE.contains(*c);
    let more = first.chars().rev().take(most).take_while(is_name).count();
    if more == 0 {
        return None;
    }
    let start = first.len() - more * HAN_BYTES;
    let branch = branch(&text[end..]);
    let length = (end - start) / HAN_BYTES + branch.chars().count();
    (length >= SHORTEST_NAME).then_some(start..end + branch.len())
}

/// Returns the bracketed name of a branch that follows a company name and is part of it.
fn branch(rest: &str) -> &str {
    let mut chars = rest.char_indices().take(LONGEST_NAME);
    if !chars.next().is_some_and(|(_, c)| matches!(c, '(' | '（')) {
        return "";
    }
    let close = chars.find(|(_, c)| matches!(c, ')' | '）'));
    close.map_or("", |(at, c)| &rest[..at + c.len_utf8()])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::scan;

    fn found(text: &str) -> Vec<&str> {
        let mut found = Vec::new();
        scan(text, |range| found.push(&text[range]));
        found
    }

    #[test]
    fn chinese_names_and_figures() {
        assert_eq!(
            found("我想去金茂北京威斯汀大饭店，评分4.7分，人均120元。"),
            ["金茂北京威斯汀大饭店", "4.7分", "120元"]
        );
        assert_eq!(
            found("推荐桔子水晶酒店(北京安贞店)和《茶馆》"),
            ["桔子水晶酒店(北京安贞店)", "北京安贞店", "茶馆"]
        );
        assert_eq!(found("酒店在哪里？好的，谢谢。"), [""; 0]);
    }

    #[test]
    fn english_names_and_figures() {
        assert_eq!(
            found("I met John Smith at the Blue Lagoon in March, for 3 nights, 50% off."),
            ["John Smith", "Blue Lagoon", "March", "3 nights", "50%"]
        );
        assert_eq!(found("The house is old. It is nice. I like it"), [""; 0]);
    }

    proptest! {
        #[test]
        fn ranges_are_in_the_text(text in "[A-Za-z0-9 .,%元店北京《》()]{0,60}") {
            let mut end = 0;
            scan(&text, |range| {
                assert!(range.start < range.end);
                assert!(!text[range.clone()].is_empty());
                end = end.max(range.end);
            });
            prop_assert!(end <= text.len());
        }
    }
}
