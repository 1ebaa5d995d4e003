//! Recognizes headings, lines copied from the prompt, and answers that are not summaries.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use super::LISTS;
use super::words::{has_chinese, lower};
use ctx_text::{one_line, regex};

static REQUESTS: LazyLock<Regex> = LazyLock::new(|| regex(&LISTS.pattern("requests")));
static DONE: LazyLock<Regex> = LazyLock::new(|| regex(&LISTS.pattern("done")));
static CONVERSATION: LazyLock<Regex> = LazyLock::new(|| beginning("conversation"));
static TURN: LazyLock<Regex> = LazyLock::new(|| beginning("turn"));
static ANSWER: LazyLock<Regex> = LazyLock::new(|| beginning("answer"));
static OFFER: LazyLock<Regex> = LazyLock::new(|| beginning("offer"));

/// Matches a bullet, a number or emphasis at the beginning of a line, such as `- [ ] `, `3. ` or
/// `**`.
static BULLET: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"^[ \t*•>+-]*(?:\[[ x]\])?\s*(?:[0-9]{1,3}[.)、])?[ *_"“`「]*"#));

/// Returns a pattern for text that begins with an entry in the word list `list`.
fn beginning(list: &str) -> Regex {
    regex(&format!("^(?:{})", LISTS.pattern(list)))
}

/// Returns the headings in `wanted` that are missing from a summary, in order.
///
/// A heading must be the only text on its line, but models may add markup or a number to it, as in
/// `## Goal`, `**Goal**` or `1. Goal:`.
pub fn missing_headings<'a>(text: &str, wanted: &'a [String]) -> Vec<&'a str> {
    let lines: Vec<String> = text.lines().map(plain_heading).collect();
    let is_missing = |heading: &&str| !lines.contains(&plain_heading(heading));
    wanted.iter().map(String::as_str).filter(is_missing).collect()
}

/// Returns a line without its heading markup.
fn plain_heading(line: &str) -> String {
    let is_mark = |c: char| c.is_whitespace() || matches!(c, '#' | '*' | '_' | ':' | '：');
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | ')');
    let marked = line.trim_matches(is_mark).trim_start_matches(is_number);
    marked.trim_matches(is_mark).to_lowercase()
}

/// Returns the entry in `headings` that is the only text on `line`. A heading `X` may be written as
/// `X`, `## X`, `**X**`, `X:` or `1. X:`.
pub(super) fn heading<'h>(line: &str, headings: &'h [String]) -> Option<&'h str> {
    let is_marked = line.trim_start().starts_with('#')
        || line.contains("**")
        || line.trim_end().ends_with([':', '：']);
    let bare = plain_heading(line);
    let found = headings.iter().find(|heading| plain_heading(heading) == bare)?;
    (is_marked || line.trim() == found).then_some(found)
}

/// Returns true if `line` is a Markdown heading.
pub(super) fn is_heading(line: &str) -> bool {
    let rest = line.trim_start_matches('#');
    rest.len() < line.len() && rest.starts_with(' ')
}

/// The kind of section under a heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Area {
    /// The user's requests.
    Asks,
    /// Finished work, and the current state.
    Done,
    Other,
}

pub(super) fn area(heading: &str) -> Area {
    let heading = lower(heading);
    if REQUESTS.is_match(&heading) {
        Area::Asks
    } else if DONE.is_match(&heading) {
        Area::Done
    } else {
        Area::Other
    }
}

/// The lines of the prompt, normalized so that they can be recognized in an answer.
pub(super) struct Prompt {
    lines: HashSet<String>,
    text: String,
}

impl Prompt {
    pub(super) fn new(text: &str) -> Self {
        let lines = text.lines().filter(|line| !is_heading(line.trim()));
        let lines: Vec<String> = lines.map(plain).collect();
        Self {
            text: lines.join(" "),
            lines: lines.into_iter().filter(|line| is_long(line)).collect(),
        }
    }

    /// Returns true if `line` is a line from the prompt, a long part of such a line, or a tag that
    /// encloses a part of the prompt.
    pub(super) fn has(&self, line: &str) -> bool {
        let frames = ["<record>", "</record>", "<earlier-summary>", "</earlier-summary>"];
        let plain = plain(line);
        let is_part = plain.split_whitespace().count() >= 6 && self.text.contains(&plain);
        frames.contains(&line.trim()) || is_part || self.lines.contains(&plain)
    }
}

/// Returns true if `line` is long enough to be attributed to the prompt. A shorter line may belong
/// to the summary.
fn is_long(line: &str) -> bool {
    line.split_whitespace().count() >= 4 || has_chinese(line) && line.chars().count() >= 8
}

fn plain(line: &str) -> String {
    one_line(without_bullet(line)).to_lowercase()
}

/// Returns the index of the first line that continues the conversation, if any. A continuation
/// begins with a label from the record, tool call markup, or chat turns. A single `User: …` line
/// does not count, because it may be a remark.
pub(super) fn end_of_summary(lines: &[String]) -> Option<usize> {
    let lines = || lines.iter().map(|line| lower(line.trim().trim_start_matches("**")));
    let mut turns = lines().enumerate().filter(|(_, line)| TURN.is_match(line));
    let turn = turns.next().filter(|_| turns.next().is_some());
    let markup = lines().position(|line| CONVERSATION.is_match(&line));
    markup.into_iter().chain(turn.map(|(at, _)| at)).min()
}

/// Returns true if `text` replies to the user instead of summarizing.
pub(super) fn answers(text: &str) -> bool {
    ANSWER.is_match(&lower(text.trim_start()))
}

/// Returns true if `line` offers the user more help.
pub(super) fn offers(line: &str) -> bool {
    OFFER.is_match(&lower(line.trim()))
}

/// Returns the line without the bullet, number or emphasis at its beginning.
pub(super) fn without_bullet(line: &str) -> &str {
    &line[BULLET.find(line).map_or(0, |bullet| bullet.end())..]
}

/// Decodes escapes such as `\n`, `\"` and `\u4e2d`. An escape may have several backslashes, because
/// JSON may be nested in JSON.
pub(crate) fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return text.into();
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        plain.push_str(&rest[..at]);
        rest = rest[at..].trim_start_matches('\\');
        let Some(letter) = rest.chars().next() else { break };
        let (c, length) = match letter {
            'n' | 'r' => ('\n', 1),
            't' => ('\t', 1),
            'u' => code_point(&rest[1..]).unwrap_or(('\\', 0)),
            _ => ('\\', 0),
        };
        if length > 0 || letter == 'u' {
            plain.push(c);
        }
        rest = &rest[length..];
    }
    plain.push_str(rest);
    plain.into()
}

/// Decodes a code point such as `4e2d`, or a surrogate pair such as `d83d\ude00`. Returns the
/// character, and the length of the escape in bytes, counted from its `u`.
fn code_point(digits: &str) -> Option<(char, usize)> {
    let unit = |text: &str| {
        // The number parser would also accept a sign.
        let digits = text.get(..4).filter(|digits| !digits.starts_with('+'))?;
        u16::from_str_radix(digits, 16).ok()
    };
    let first = unit(digits)?;
    let behind = &digits[4..];
    let low = behind.trim_start_matches('\\');
    let backslashes = behind.len() - low.len();
    let second = low.strip_prefix('u').and_then(unit);
    let both = second.filter(|_| backslashes > 0 && (0xd800..0xdc00).contains(&first));
    let units = std::iter::once(first).chain(both);
    let c = char::decode_utf16(units).next()?.ok()?;
    Some((c, both.map_or(5, |_| 10 + backslashes)))
}

#[cfg(test)]
mod tests {
    use super::{Area, Prompt, answers, area, end_of_summary, heading, offers};

    #[test]
    fn headings_are_known_in_every_dress() {
        let headings = ["任务目标".to_owned(), "Next Step".to_owned()];
        for line in [
            "## 任务目标",
            "**任务目标**",
            "任务目标：",
            "1. **任务目标**",
            "### 任务目标 ##",
            "任务目标",
        ] {
            assert_eq!(heading(line, &headings), Some("任务目标"), "{line}");
        }
        assert_eq!(heading("# next step:", &headings), Some("Next Step"));
        for line in ["the next step", "- next step is unclear", "next step"] {
            assert_eq!(heading(line, &headings), None, "{line}");
        }
    }

    #[test]
    fn sections_of_requests_are_told_from_those_of_what_was_done() {
        for asks in
            ["Goal", "Open Requests", "Pending Tasks", "User Preferences", "待处理", "任务目标"]
        {
            assert_eq!(area(asks), Area::Asks, "{asks}");
        }
        for done in
            ["Done", "Code Changes", "Current Status", "Key Decisions", "已完成", "关键决策"]
        {
            assert_eq!(area(done), Area::Done, "{done}");
        }
    }

    #[test]
    fn lines_of_the_prompt_are_known_again() {
        let prompt = Prompt::new(
            "## Goal\nWhat the user wants in the end.\nOk then.\n\nNow write the summary.",
        );
        assert!(prompt.has("- what the user  wants in the end."));
        assert!(prompt.has("Now write the summary."));
        assert!(prompt.has("<record>"));
        // A line in the answer may be part of a line in the prompt, or a single sentence from one
        // of its paragraphs.
        let prompt =
            Prompt::new("First one thing. What is open: requests not yet dealt with, and so on.");
        assert!(prompt.has("What is open: requests not yet dealt"));
        assert!(!prompt.has("What is open: requests"));
        let prompt = Prompt::new("## Goal\nWhat the user wants in the end.\nOk then.");
        assert!(
            !prompt.has("Ok then.")
                && !prompt.has("## Goal")
                && !prompt.has("What the user wants: speed")
        );
    }

    #[test]
    fn conversation_is_no_summary() {
        let end = |lines: &[&str]| {
            let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
            end_of_summary(&lines)
        };
        for line in ["[user]", "<tool_call>", "{\"name\": \"ls\"}", "[assistant calls ls]"] {
            assert_eq!(end(&["so", line]), Some(1), "{line}");
        }
        assert_eq!(end(&["so", "User: hi", "助手：好的", "[user]"]), Some(1));
        for line in
            ["- the user said hi", "[src/main.rs] was changed", "users: 3", "User: likes tabs"]
        {
            assert_eq!(end(&["so", line]), None, "{line}");
        }
        assert!(answers("Sure, I can do that") && answers("好的，我来") && !answers("## Goal"));
        assert!(offers("Let me know if …") && offers("如需更多") && !offers("- let the user know"));
    }
}

#[cfg(test)]
mod escapes_tests {
    use super::unescaped;

    #[test]
    fn escapes_read_as_what_they_stand_for() {
        for (text, plain) in [
            (r#"a\nb \"c\" \\\"d\\\""#, "a\nb \"c\" \"d\""),
            (r"\u4e2d\\u6587 \ud83d\ude00", "中文 😀"),
            (r"x\t1 %s\r", "x\t1 %s\n"),
            (r"\u12 \ud83d 中\", r"\u12 \ud83d 中"),
            ("none", "none"),
        ] {
            assert_eq!(unescaped(text), plain);
        }
    }
}

#[cfg(test)]
mod missing_tests {
    use super::missing_headings;

    fn missing(text: &str) -> Vec<String> {
        let wanted = ["Goal", "Next Step", "待处理"].map(str::to_owned);
        let missing = missing_headings(text, &wanted).into_iter();
        missing.map(str::to_owned).collect()
    }

    #[test]
    fn headings_are_known_however_they_are_marked() {
        for text in [
            "## Goal\na\n## Next Step\nb\n## 待处理\nc",
            "# goal\n\n**Next step**\n\n### 待处理：\n",
            "Goal:\n1. Next Step\n  3) **待处理**:",
            "__Goal__\r\n#### next step ####\r\n- \r\n待处理",
        ] {
            assert_eq!(missing(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn words_inside_a_line_are_no_heading() {
        assert_eq!(missing("The goal is near"), ["Goal", "Next Step", "待处理"]);
        assert_eq!(missing("## Goals\n## Next Step"), ["Goal", "待处理"]);
        assert_eq!(missing(""), ["Goal", "Next Step", "待处理"]);
        assert!(missing_headings("", &[]).is_empty());
    }
}
