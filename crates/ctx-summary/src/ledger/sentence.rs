//! Finds Chinese and English sentences in the prose of chat messages.
//!
//! Skips text that is not the writer's own, such as code blocks, quoted lines (`>`), tables,
//! headings, log lines, and blocks in tags (`<output>…</output>`).

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

use ctx_text::{Matcher, WordSet, plain_line};

use crate::ledger::LISTS;
use crate::ledger::identifier::{DIGIT, UPPER, class_at, run};

/// Tracks blocks of code and tagged text, which are not the writer's own words.
#[derive(Default)]
pub(crate) struct Blocks {
    fence: Option<char>,
    tag: Option<String>,
    /// End tags that the text does not contain, remembered so that each is searched for only once.
    unclosed: HashSet<String>,
    indented: bool,
    after_blank: bool,
}

impl Blocks {
    /// Returns true if the next line of `text` is inside a block or marks its start or end.
    pub(crate) fn has(&mut self, line: &str, text: &str) -> bool {
        let trimmed = line.trim_start();
        if let Some(tag) = &self.tag {
            if line.contains(tag.as_str()) {
                self.tag = None;
            }
            return true;
        }
        if let Some(mark) = trimmed.get(..3).filter(|mark| ["```", "~~~"].contains(mark)) {
            match self.fence {
                None => self.fence = mark.chars().next(),
                Some(open) if mark.starts_with(open) => self.fence = None,
                Some(_) => {}
            }
            return true;
        }
        if self.fence.is_some() {
            return true;
        }
        if let Some(end) = end_of_tag(trimmed) {
            if !trimmed.contains(&end) && !self.unclosed.contains(&end) {
                if text.contains(&end) {
                    self.tag = Some(end);
                } else {
                    self.unclosed.insert(end);
                }
            }
            return true;
        }
        // Indented Markdown code follows a blank line, begins with four spaces or a tab, and is not
        // a list item.
        let blank = line.trim().is_empty();
        let deep = line.starts_with("    ") || line.starts_with('\t');
        let may_be = deep && !blank && (self.indented || self.after_blank);
        self.indented = may_be && !without_marker(line.trim()).0;
        self.after_blank = blank;
        self.indented
    }
}

/// Returns `</name>` for a line that begins with `<name`. Such a line opens a block written by a
/// program.
fn end_of_tag(line: &str) -> Option<String> {
    let tag = line.strip_prefix('<')?;
    let in_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let (name, rest) = tag.split_at(tag.bytes().take_while(in_name).count());
    let is_tag = name.starts_with(|c: char| c.is_ascii_alphabetic());
    (is_tag && rest.starts_with(['>', ' ', '/'])).then(|| format!("</{name}>"))
}

/// Returns whether a line begins with a marker such as `- `, `1. `, `[x] ` or `（1）`, and the line
/// without the marker.
pub fn without_marker(line: &str) -> (bool, &str) {
    let rest = after_bullet(line).or_else(|| after_number(line));
    rest.map_or((false, line), |rest| (true, rest.trim_start()))
}

/// Returns the text after a bullet and an optional checkbox.
fn after_bullet(line: &str) -> Option<&str> {
    let rest = ["- ", "* ", "+ ", "• "].iter().find_map(|bullet| line.strip_prefix(bullet))?;
    let text = rest.trim_ascii_start();
    let after_box = ["[ ] ", "[x] ", "[X] "].iter().find_map(|mark| text.strip_prefix(mark));
    Some(after_box.unwrap_or(text))
}

/// Returns the text after the number of a list item, such as `1. `, `2) `, `(3)`, `4、` or `（5）`.
fn after_number(line: &str) -> Option<&str> {
    let number = line.strip_prefix(['（', '(']).unwrap_or(line);
    let (digits, rest) = number.split_at(number.bytes().take_while(u8::is_ascii_digit).count());
    if !(1..=3).contains(&digits.len()) {
        return None;
    }
    if number.len() < line.len() && rest.starts_with(')') {
        return Some(&rest[1..]);
    }
    [". ", ") ", "、", "）"].iter().find_map(|end| rest.strip_prefix(end))
}

/// Returns the sentences of `text` in order, each on one line, without list markers.
pub fn sentences(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for paragraph in paragraphs(text) {
        let lines = ends(&paragraph).into_iter().map(|sentence| plain_line(&paragraph[sentence]));
        found.extend(lines.filter(|line| line.contains(char::is_alphanumeric)));
    }
    found
}

/// The minimum length, in bytes, of a line that may have been wrapped at a margin.
pub(crate) const WRAPPED: usize = 60;

/// Returns the paragraphs of prose. Lines that were wrapped at a margin are joined.
fn paragraphs(text: &str) -> Vec<Cow<'_, str>> {
    let mut found: Vec<Cow<'_, str>> = Vec::new();
    let mut blocks = Blocks::default();
    let mut joinable = false;
    for line in text.lines() {
        let (item, content) = without_marker(line.trim());
        if blocks.has(line, text) || content.is_empty() || is_no_prose(line.trim()) {
            joinable = false;
            continue;
        }
        let goes_on = !item && content.starts_with(|c: char| c.is_ascii_lowercase() || c == '`');
        match found.last_mut().filter(|_| joinable && goes_on) {
            Some(last) => last.to_mut().extend([" ", content]),
            None => found.push(content.into()),
        }
        joinable = line.len() >= WRAPPED && !content.ends_with(['.', '!', '?', ':', ';']);
    }
    found
}

/// Returns true if `line` is not prose, but a heading, a quote, code, JSON, or a line from a log, a
/// listing or a traceback.
pub(crate) fn is_no_prose(line: &str) -> bool {
    static BEGINNINGS: LazyLock<Vec<String>> =
        LazyLock::new(|| LISTS.entries("not prose, beginnings"));
    static FORMS: LazyLock<Matcher> = LazyLock::new(|| LISTS.matcher("not prose"));
    let [first, .., last] = line.as_bytes() else { return matches!(line, ">" | "|" | "{" | "}") };
    // Compare the first byte before the string, because most lines begin with a different byte.
    let begins = |begin: &String| begin.as_bytes()[0] == *first && line.starts_with(begin.as_str());
    matches!((first, last), (_, b'{' | b'}') | (b'[', b']') | (b'(', b')'))
        || line.ends_with(");")
        || BEGINNINGS.iter().any(begins)
        || *first == b'#' && line.trim_start_matches('#').starts_with(' ')
        || may_be_log(line) && FORMS.is_match(line)
}

/// Returns true if `line` begins like a line in a log or a listing, or like a stack frame.
fn may_be_log(line: &str) -> bool {
    let word = line.split([' ', '\t']).next().unwrap_or_default();
    let bare = word.trim_start_matches(['[', '(']).as_bytes();
    let after_number = run(bare, 0, DIGIT);
    word == "at"
        || line.starts_with('[') && line.chars().nth(2) == Some(']')
        || word.ends_with(':')
        || after_number > 0 && matches!(bare.get(after_number), Some(b':' | b'-'))
        || class_at(bare, 0) & class_at(bare, 1) & UPPER != 0
}

static ABBREVIATIONS: LazyLock<WordSet> = LazyLock::new(|| LISTS.words("abbreviations"));

/// Splits a paragraph into sentences. A sentence ends after 。！？； and after . ! ? if a word ends
/// there.
pub(crate) fn ends(paragraph: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut code = false;
    // In UTF-8, 。 begins with 0xE3, and ！？； begin with 0xEF. Both bytes can occur only at the
    // beginning of a character.
    let may_end = |byte: &u8| matches!(byte, b'.' | b'!' | b'?' | b'`' | 0xE3 | 0xEF);
    let mut next = 0;
    while let Some(length) = paragraph.as_bytes()[next..].iter().position(may_end) {
        let at = next + length;
        next = at + 1;
        let c = paragraph[at..].chars().next().unwrap_or_default();
        // An unpaired backtick does not begin code.
        if c == '`' && (code || paragraph[at + 1..].contains('`')) {
            code = !code;
        }
        if code || at < start {
            continue;
        }
        let end = at + c.len_utf8();
        let ends = match c {
            '。' | '！' | '？' | '；' => true,
            '!' | '?' => stops(&paragraph[end..], false),
            '.' => stops(&paragraph[end..], true) && !is_abbreviation(&paragraph[start..at]),
            _ => false,
        };
        if ends {
            let end = end + closing(&paragraph[end..]);
            found.push(start..end);
            start = end;
        }
    }
    found.push(start..paragraph.len());
    found
}

/// Punctuation marks that belong to the sentence before them.
const CLOSING: &[char] =
    &['"', '\'', ')', ']', '*', '_', '”', '’', '」', '』', '）', '】', '!', '?', '！', '？', '。'];

/// Returns the combined length of up to eight closing punctuation marks at the beginning of `rest`.
fn closing(rest: &str) -> usize {
    rest.chars().take(8).take_while(|c| CLOSING.contains(c)).map(char::len_utf8).sum()
}

/// Returns true if the punctuation mark before `rest` ends a sentence. A space must follow the
/// mark. After a full stop, no lower-case letter may follow, as in `e.g. this` and `... and`.
fn stops(rest: &str, full_stop: bool) -> bool {
    let rest = &rest[closing(rest)..];
    let next = rest.trim_start();
    next.is_empty()
        || (next.len() < rest.len() && !(full_stop && next.starts_with(|c: char| c.is_lowercase())))
}

fn is_abbreviation(before: &str) -> bool {
    // The number of a heading or of an item in bold, such as `**2. The parser**`.
    let number = before.trim_start_matches(['*', '_', '#', '(', ' ']);
    if !number.is_empty() && number.len() < 4 && number.bytes().all(|byte| byte.is_ascii_digit()) {
        return true;
    }
    // Words of more than eight letters are not abbreviations. Without the limit, text such as
    // "a.a.a…" would take quadratic time.
    let last = before.char_indices().rev().take(8);
    let word = last.take_while(|(_, c)| c.is_alphanumeric() || *c == '.');
    let word = word.last().map_or("", |(start, _)| &before[start..]);
    // Initials, as in "J. Smith".
    let initial = word.len() == 1 && word.starts_with(|c: char| c.is_ascii_uppercase() && c != 'I');
    initial || ABBREVIATIONS.contains(&word.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use ctx_testkit::assert_linear;
    use proptest::prelude::*;

    use super::sentences;

    #[test]
    fn a_number_before_words_ends_nothing() {
        assert_eq!(
            sentences("**2. The parser** keeps bytes. It was 2024. Then it was repaired."),
            ["**2. The parser** keeps bytes.", "It was 2024.", "Then it was repaired."]
        );
    }

    #[test]
    fn chinese_stops_end_sentences() {
        assert_eq!(
            sentences("我们决定用 Rust。你觉得呢？好！配置在 a.toml；端口 8080"),
            ["我们决定用 Rust。", "你觉得呢？", "好！", "配置在 a.toml；", "端口 8080"]
        );
        assert_eq!(sentences("他说：“决定了。”然后走了。"), ["他说：“决定了。”", "然后走了。"]);
    }

    #[test]
    fn english_stops_end_sentences() {
        assert_eq!(
            sentences("We use it. Why? \"Because.\" Done! I see."),
            ["We use it.", "Why?", "\"Because.\"", "Done!", "I see."]
        );
    }

    #[test]
    fn dots_inside_words_do_not() {
        for text in [
            "See https://example.com/a.b?x=1 and src/main.rs, v1.2.3, e.g. this, i.e. that.",
            "Dr. Smith and J. Doe wait ... and wait",
            "Call `a. B` or `c? D` now",
            "Use std.fs vs. os.path",
        ] {
            assert_eq!(sentences(text), [text]);
        }
    }

    #[test]
    fn lines_and_list_items_are_sentences() {
        assert_eq!(
            sentences("Do this:\n- one\n* two\n3. three\n4) four\n- [x] five\n（6）六\n7、七"),
            ["Do this:", "one", "two", "three", "four", "five", "六", "七"]
        );
    }

    #[test]
    fn a_wrapped_line_goes_on() {
        assert_eq!(
            sentences(
                "We decided to keep the index in a file of its own, because the\nother one grows. Next."
            ),
            [
                "We decided to keep the index in a file of its own, because the other one grows.",
                "Next."
            ]
        );
        assert_eq!(sentences("short\nlines"), ["short", "lines"]);
    }

    #[test]
    fn what_is_not_said_is_left_out() {
        let text = "a\n```rust\nlet b = 1;\n```\n~~~\n``` inside\n~~~\n> quoted\n# Title\n| x | y |\nc\n\n    code here\n    more\n\n<output>\nd\n</output>\n<br/>\n$ run\n2026-01-02 10:11:12 e\n[INFO] f\nWARNING: g\n10:11:12 h\nat i (j.js:1:2)\n--- k\n10: m\n12:code\nb.c:3:4: n\n[o p]\n{\"q\": 1\nif r {\ns(t);\n[+] u\nCollecting v\nl";
        assert_eq!(sentences(text), ["a", "c", "l"]);
    }

    #[test]
    fn prose_that_looks_a_little_like_it_stays() {
        for text in [
            "#1 is fixed",
            "Information is here",
            "2026-01-02 is the date",
            "<3 this",
            "Error handling matters",
            "See [this](x.md)",
            "At 10:30 we met",
        ] {
            assert_eq!(sentences(text), [text]);
        }
        assert_eq!(sentences("- a\n    - nested"), ["a", "nested"]);
        assert_eq!(sentences("it`s fine. Yes."), ["it`s fine.", "Yes."]);
    }

    #[test]
    fn an_open_fence_goes_to_the_end() {
        assert_eq!(sentences("a\n```\nb\nc"), ["a"]);
    }

    #[test]
    fn hostile_text_takes_linear_time() {
        for piece in ["a.", "!", "`", "<a>\n", "<a", "? x ", "```\n", "_)", "1) "] {
            assert_linear(piece, |text| assert!(sentences(text).len() <= text.len()));
        }
    }

    proptest! {
        #[test]
        fn any_text_is_taken_and_nothing_is_invented(text in "(\\PC|\\n){0,120}") {
            for sentence in sentences(&text) {
                prop_assert!(!sentence.contains('\n') && !sentence.is_empty());
                prop_assert!(sentence.split(' ').all(|word| text.contains(word)));
            }
        }
    }
}
