//! Names and figures in what people say: no identifiers of a machine's, but a dialogue
//! without tools has no others.

use std::ops::Range;

/// Calls `found` for each name or figure in prose, in order of their ends.
pub(crate) fn scan(text: &str, mut found: impl FnMut(Range<usize>)) {
    let chars: Vec<(usize, char)> = text.char_indices().collect();
    let end = |at: usize| chars.get(at).map_or(text.len(), |(byte, _)| *byte);
    let mut at = 0;
    while at < chars.len() {
        let next = quoted(&chars, at)
            .or_else(|| figure(&chars, at))
            .or_else(|| proper(&chars, at));
        if let Some(range) = next {
            found(end(range.start)..end(range.end));
            at = range.end;
            continue;
        }
        if let Some(range) = chinese_name(&chars, at) {
            found(end(range.start)..end(range.end));
        }
        at += 1;
    }
}

/// Characters of a name.
const LONGEST: usize = 24;

/// `《…》`, `“…”`, `「…」`: what is named in so many words.
fn quoted(chars: &[(usize, char)], at: usize) -> Option<Range<usize>> {
    let close = match chars[at].1 {
        '《' => '》',
        '「' => '」',
        '“' => '”',
        _ => return None,
    };
    let rest = &chars[at + 1..chars.len().min(at + 2 + LONGEST)];
    let length = rest.iter().position(|(_, c)| *c == close)?;
    (length >= 2).then_some(at + 1..at + 1 + length)
}

const UNITS: &str = "元分点号月日年人间米路层楼晚天次个星级折岁条万千";

/// Digits and what they count: `4.5分`, `120元`, `3 nights`, `50%`.
fn figure(chars: &[(usize, char)], at: usize) -> Option<Range<usize>> {
    let digit = |at: usize| chars.get(at).is_some_and(|(_, c)| c.is_ascii_digit());
    let inside =
        at > 0 && (chars[at - 1].1.is_ascii_alphanumeric() || ".,-_/".contains(chars[at - 1].1));
    if !digit(at) || inside {
        return None;
    }
    let mut end = at + 1;
    while digit(end) || (chars.get(end).is_some_and(|(_, c)| ".,:-".contains(*c)) && digit(end + 1))
    {
        end += 1;
    }
    match chars.get(end).map(|(_, c)| *c) {
        Some(c) if UNITS.contains(c) || c == '%' => Some(at..end + 1),
        Some(' ') => {
            let word = chars[end + 1..]
                .iter()
                .take_while(|(_, c)| c.is_ascii_lowercase())
                .count();
            (word >= 3).then_some(at..end + 1 + word)
        }
        _ => None,
    }
}

/// Capitalised words: two or more in a row, or one inside a sentence.
fn proper(chars: &[(usize, char)], at: usize) -> Option<Range<usize>> {
    let begins_word = at == 0 || !chars[at - 1].1.is_alphanumeric();
    if !begins_word || !chars[at].1.is_ascii_uppercase() {
        return None;
    }
    let (mut end, mut words) = (word_end(chars, at)?, 1);
    while chars.get(end).is_some_and(|(_, c)| *c == ' ') {
        let Some(next) = word_end(chars, end + 1) else {
            break;
        };
        end = next;
        words += 1;
    }
    let before = chars[..at]
        .iter()
        .rev()
        .map(|(_, c)| *c)
        .find(|c| !c.is_whitespace());
    let inside = before.is_some_and(|c| c.is_ascii_lowercase() || c == ',');
    (end - at >= 3 && end - at <= 2 * LONGEST && (words > 1 || inside)).then_some(at..end)
}

/// The end of the capitalised word that begins at `at`.
fn word_end(chars: &[(usize, char)], at: usize) -> Option<usize> {
    let first = chars.get(at)?.1;
    let rest = chars[at + 1..]
        .iter()
        .take_while(|(_, c)| c.is_ascii_lowercase())
        .count();
    let end = at + 1 + rest;
    let ends = chars
        .get(end)
        .is_none_or(|(_, c)| !c.is_alphanumeric() && *c != '_');
    (first.is_ascii_uppercase() && rest > 0 && ends).then_some(end)
}

/// How names of places, houses and firms end.
const ENDINGS: [&str; 46] = [
    "酒店",
    "饭店",
    "宾馆",
    "餐厅",
    "餐馆",
    "公寓",
    "旅馆",
    "客栈",
    "公园",
    "博物馆",
    "纪念馆",
    "美术馆",
    "图书馆",
    "体育馆",
    "大学",
    "学院",
    "中学",
    "小学",
    "医院",
    "银行",
    "公司",
    "集团",
    "广场",
    "市场",
    "商场",
    "大厦",
    "中心",
    "机场",
    "车站",
    "地铁站",
    "剧院",
    "影院",
    "景区",
    "长城",
    "小区",
    "街道",
    "大街",
    "胡同",
    "大道",
    "古镇",
    "寺",
    "宫",
    "庙",
    "路",
    "街",
    "店",
];
/// What stands before a name and is none of it.
const BEFORE: &str = "的了是在去到有我你他她它们这那吗呢吧啊呀哦和与或跟及请想要个家就也都还能会可以从给把被让对很最好吃找住看知道叫为您推荐附近周边离距麻烦帮说问先再用得地着过里外上下么什哪谁些每各另其并而但若如果因此所之于等又不没别只才已经将由向往比";
const SHORTEST_NAME: usize = 3;
const LONGEST_NAME: usize = 14;

/// The Chinese name that ends with the character at `at`.
fn chinese_name(chars: &[(usize, char)], at: usize) -> Option<Range<usize>> {
    let is_han = |c: char| ('\u{4e00}'..='\u{9fff}').contains(&c);
    if !is_han(chars[at].1) {
        return None;
    }
    let ends = |ending: &str| {
        let length = ending.chars().count();
        let start = (at + 1).checked_sub(length)?;
        let same = chars[start..=at].iter().map(|(_, c)| *c).eq(ending.chars());
        same.then_some(start)
    };
    let ending = ENDINGS.iter().find_map(|ending| ends(ending))?;
    let mut start = ending;
    while start > 0 && at - start < LONGEST_NAME {
        let c = chars[start - 1].1;
        if !is_han(c) || BEFORE.contains(c) {
            break;
        }
        start -= 1;
    }
    // A branch, in brackets, belongs to the name.
    let mut end = at + 1;
    if chars.get(end).is_some_and(|(_, c)| matches!(c, '(' | '（')) {
        let rest = &chars[end..chars.len().min(end + LONGEST_NAME)];
        if let Some(close) = rest.iter().position(|(_, c)| matches!(c, ')' | '）')) {
            end += close + 1;
        }
    }
    (start < ending && end - start >= SHORTEST_NAME).then_some(start..end)
}

#[cfg(test)]
mod tests {
    use super::scan;
    use proptest::prelude::*;

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
