//! Sentences of what somebody wrote in a chat: prose only, Chinese and English.
//!
//! Left out are the parts that are not said by the writer: code blocks, quoted
//! lines (`>`), tables, headings, log lines, and blocks in tags (`<output>…</output>`).

use std::collections::HashSet;

use crate::text::plain_line;

/// The sentences of `text` in order, each on one line, list markers removed.
pub fn sentences(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for paragraph in paragraphs(text) {
        split(&paragraph, &mut found);
    }
    found
}

/// Shorter lines are ended by the writer, not by the margin of an editor.
const WRAPPED: usize = 60;

/// Lines of prose; a line that only an editor's margin broke is joined again.
fn paragraphs(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut skipping = Skipping::default();
    let mut joinable = false;
    for line in text.lines() {
        if skipping.skips(line, text) || is_no_prose(line) {
            joinable = false;
            continue;
        }
        let (item, content) = without_marker(line.trim());
        if content.is_empty() {
            joinable = false;
            continue;
        }
        let goes_on = !item && content.starts_with(|c: char| c.is_ascii_lowercase() || c == '`');
        match found.last_mut().filter(|_| joinable && goes_on) {
            Some(last) => {
                last.push(' ');
                last.push_str(content);
            }
            None => found.push(content.to_owned()),
        }
        joinable = line.len() >= WRAPPED && !content.ends_with(['.', '!', '?', ':', ';']);
    }
    found
}

/// The block that is being left out.
#[derive(Default)]
struct Skipping {
    fence: Option<char>,
    tag: Option<String>,
    /// Tags known to be never closed: the text is searched once for each.
    unclosed: HashSet<String>,
    indented: bool,
    after_blank: bool,
}

impl Skipping {
    fn skips(&mut self, line: &str, text: &str) -> bool {
        let trimmed = line.trim_start();
        if let Some(tag) = &self.tag {
            if line.contains(tag.as_str()) {
                self.tag = None;
            }
            return true;
        }
        let fence = ["```", "~~~"]
            .iter()
            .find(|fence| trimmed.starts_with(**fence));
        if let Some(fence) = fence.and_then(|fence| fence.chars().next()) {
            match self.fence {
                None => self.fence = Some(fence),
                Some(open) if open == fence => self.fence = None,
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
        self.is_indented(line)
    }

    /// Markdown's indented code: four blanks or a tab after a blank line, and no list item.
    fn is_indented(&mut self, line: &str) -> bool {
        let blank = line.trim().is_empty();
        let deep = line.starts_with("    ") || line.starts_with('\t');
        let item = without_marker(line.trim()).0;
        self.indented = deep && !item && !blank && (self.indented || self.after_blank);
        self.after_blank = blank;
        self.indented
    }
}

/// `</name>` for a line that begins with `<name`: something a program put there.
fn end_of_tag(line: &str) -> Option<String> {
    let rest = line.strip_prefix('<')?;
    let name: String = rest
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        .collect();
    let closes = rest[name.len()..].starts_with(['>', ' ', '/']);
    (name.starts_with(|c: char| c.is_ascii_alphabetic()) && closes).then(|| format!("</{name}>"))
}

/// Headings, quotes, tables, rules, shell prompts, diffs, log lines, stack frames.
fn is_no_prose(line: &str) -> bool {
    let line = line.trim();
    let heading = line.trim_start_matches('#');
    let starts = |marks: &[&str]| marks.iter().any(|mark| line.starts_with(mark));
    (heading.len() < line.len() && heading.starts_with(' '))
        || starts(&[
            ">",
            "|",
            "$ ",
            "% ",
            "@@",
            "+++",
            "---",
            "===",
            "diff --git",
            "File \"",
            "Traceback (",
        ])
        || is_log(line)
        || is_output(line)
}

/// Listings with line numbers, messages of compilers, JSON, lines of code,
/// and whole lines in brackets, with which programs speak about themselves.
fn is_output(line: &str) -> bool {
    let bracketed = |open, close| line.starts_with(open) && line.ends_with(close);
    let place = line.split([' ', '\t']).next().unwrap_or_default();
    let digits = place.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = digits.len() < place.len() && digits.starts_with(':');
    let at_line = place.strip_suffix(':').is_some_and(|place| {
        place.rsplit_once(':').is_some_and(|(_, number)| {
            !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
        })
    });
    numbered
        || at_line
        || bracketed('[', ']')
        || bracketed('(', ')')
        || line.starts_with("{\"")
        || line.ends_with(['{', '}'])
        || line.ends_with(");")
}

/// A line that begins with a time, a level or a stack frame is from a machine.
fn is_log(line: &str) -> bool {
    let bare = line.trim_start_matches(['[', '(']);
    let level = [
        "ERROR", "WARN", "INFO", "DEBUG", "TRACE", "FATAL", "CRITICAL",
    ]
    .iter()
    .find_map(|level| bare.strip_prefix(level));
    if level.is_some_and(|rest| rest.starts_with([':', ']', ' ', '\t']) || rest.starts_with("ING"))
    {
        return true;
    }
    let digits = bare.bytes().take_while(u8::is_ascii_digit).count();
    let clock = digits == 2
        && bare[2..].starts_with(':')
        && bare[3..].starts_with(|c: char| c.is_ascii_digit());
    let rest = bare.get(10..).unwrap_or_default();
    let date = digits == 4
        && bare[4..].starts_with('-')
        && (rest.starts_with('T') || rest.trim_start().starts_with(|c: char| c.is_ascii_digit()));
    let frame = line.starts_with("at ") && line.ends_with(')') && line.contains(':');
    // `[+] done`; a checkbox has a list marker before it.
    let mut marks = line.chars();
    let marked = marks.next() == Some('[') && marks.nth(1) == Some(']');
    clock || date || frame || marked || PROGRESS.iter().any(|start| line.starts_with(start))
}

/// How package managers and compilers tell of their progress.
const PROGRESS: &[&str] = &[
    "Requirement already satisfied",
    "Collecting ",
    "Downloading ",
    "Installing ",
    "Successfully ",
    "Using cached ",
    "Preparing ",
    "Building wheel",
    "Building editable",
    "Compiling ",
    "Fetching ",
    "Get:",
    "Hit:",
    "Unpacking ",
    "Setting up ",
    "Cloning into",
    "remote: ",
    "Receiving objects",
];

/// The line without `- `, `1. `, `[x] `, `（1）`; whether there was a marker.
pub fn without_marker(line: &str) -> (bool, &str) {
    for bullet in ["- ", "* ", "+ ", "• "] {
        if let Some(rest) = line.strip_prefix(bullet) {
            let rest = rest.trim_start();
            let boxed = ["[ ] ", "[x] ", "[X] "];
            let rest = boxed
                .iter()
                .find_map(|mark| rest.strip_prefix(mark))
                .unwrap_or(rest);
            return (true, rest.trim_start());
        }
    }
    let open = line.strip_prefix(['(', '（']).unwrap_or(line);
    let digits = open.bytes().take_while(u8::is_ascii_digit).count();
    if (1..=3).contains(&digits) {
        let rest = &open[digits..];
        for (mark, alone) in [
            (". ", true),
            (") ", true),
            ("、", true),
            ("）", true),
            (")", open.len() < line.len()),
        ] {
            if let Some(rest) = rest.strip_prefix(mark).filter(|_| alone) {
                return (true, rest.trim_start());
            }
        }
    }
    (false, line)
}

/// Words whose full stop ends no sentence.
const ABBREVIATIONS: &[&str] = &[
    "e.g", "i.e", "etc", "vs", "cf", "approx", "mr", "mrs", "ms", "dr", "prof", "st", "no", "fig",
    "al", "inc", "ltd", "co", "resp", "incl", "esp", "dept", "est", "jan", "feb", "mar", "apr",
    "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec",
];

/// Cuts a paragraph behind 。！？； and behind . ! ? at the end of a word.
fn split(paragraph: &str, found: &mut Vec<String>) {
    let mut start = 0;
    let mut code = false;
    for (at, c) in paragraph.char_indices() {
        // A backtick that is never closed is no code.
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
            '.' => !is_abbreviation(&paragraph[start..at]) && stops(&paragraph[end..], true),
            _ => false,
        };
        if ends {
            let end = end + closing(&paragraph[end..]);
            push(&paragraph[start..end], found);
            start = end;
        }
    }
    push(&paragraph[start..], found);
}

fn push(sentence: &str, found: &mut Vec<String>) {
    let line = plain_line(sentence);
    if line.chars().any(char::is_alphanumeric) {
        found.push(line);
    }
}

/// Marks that belong to the sentence before them.
const CLOSING: &[char] = &[
    '"', '\'', ')', ']', '*', '_', '”', '’', '」', '』', '）', '】', '!', '?', '！', '？', '。',
];

/// Length of further stops, closing quotes, brackets and emphasis; a few at most.
fn closing(rest: &str) -> usize {
    rest.chars()
        .take(8)
        .take_while(|c| CLOSING.contains(c))
        .map(char::len_utf8)
        .sum()
}

/// Whether a mark followed by `rest` ends the sentence: a blank comes, and no
/// small letter behind a full stop (`e.g. this`, `... and`).
fn stops(rest: &str, full_stop: bool) -> bool {
    let rest = &rest[closing(rest)..];
    let next = rest.trim_start();
    next.is_empty()
        || (next.len() < rest.len() && !(full_stop && next.starts_with(|c: char| c.is_lowercase())))
}

fn is_abbreviation(before: &str) -> bool {
    // Longer words are none; the bound keeps "a.a.a…" from taking the square of its length.
    let word: Vec<char> = before
        .chars()
        .rev()
        .take_while(|c| c.is_alphanumeric() || *c == '.')
        .take(8)
        .collect();
    let word: String = word.into_iter().rev().collect();
    // Initials: "J. Smith".
    let initial = word.len() == 1 && word.starts_with(|c: char| c.is_ascii_uppercase() && c != 'I');
    initial || ABBREVIATIONS.contains(&word.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use ctx_testkit::assert_linear;
    use proptest::prelude::*;

    use super::sentences;

    #[test]
    fn chinese_stops_end_sentences() {
        assert_eq!(
            sentences("我们决定用 Rust。你觉得呢？好！配置在 a.toml；端口 8080"),
            [
                "我们决定用 Rust。",
                "你觉得呢？",
                "好！",
                "配置在 a.toml；",
                "端口 8080"
            ]
        );
        assert_eq!(
            sentences("他说：“决定了。”然后走了。"),
            ["他说：“决定了。”", "然后走了。"]
        );
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
            [
                "Do this:", "one", "two", "three", "four", "five", "六", "七"
            ]
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
