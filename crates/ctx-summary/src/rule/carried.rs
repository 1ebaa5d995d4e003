//! What a rule summary takes over from earlier summaries.

use crate::earlier::RULE_HEADING;

use super::{EARLIER, EARLIER_TOPICS, HEADING, LATEST_TOPICS, TOOL_CALLS, TOOLS, USER_MESSAGES};

/// Lines of earlier summaries, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Carried {
    lines: Vec<String>,
    /// Lines that earlier compactions left out.
    left_out: u64,
}

const LEFT_OUT: (&str, &str) = ("（已省略更早的 ", " 行 / older lines left out）");

impl Carried {
    /// The text of a summary, word for word.
    pub(super) fn add_text(&mut self, text: &str) {
        let text = text.trim_matches('\n');
        if text.is_empty() {
            return;
        }
        if !self.lines.is_empty() {
            self.lines.push(String::new());
        }
        for line in text.lines() {
            match left_out(line) {
                Some(count) => self.left_out += count,
                None => self.lines.push(line.trim_end().to_owned()),
            }
        }
    }

    /// A line of its own; lines of one kind stand together.
    pub(super) fn add_line(&mut self, line: &str) {
        let is_topics = |line: &String| line.starts_with(EARLIER_TOPICS);
        if !self.lines.is_empty() && !self.lines.last().is_some_and(is_topics) {
            self.lines.push(String::new());
        }
        self.lines.push(line.to_owned());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.left_out == 0
    }

    pub(super) fn lines(&self) -> usize {
        self.lines.len()
    }

    /// Without the `skip` oldest lines.
    pub(super) fn write(&self, skip: usize) -> String {
        let count = |lines: &[String]| lines.iter().filter(|line| !line.is_empty()).count() as u64;
        let (gone, kept) = self.lines.split_at(skip);
        let left_out = self.left_out + count(gone);
        let text = kept.join("\n");
        let text = text.trim_matches('\n');
        if left_out == 0 {
            return text.to_owned();
        }
        format!("{}{left_out}{}\n{text}", LEFT_OUT.0, LEFT_OUT.1)
    }
}

/// `+7`: tools that had no room.
fn is_count(tool: &str) -> bool {
    tool.trim_start_matches('+').parse::<u64>().is_ok()
}

fn left_out(line: &str) -> Option<u64> {
    let count = line.trim().strip_prefix(LEFT_OUT.0)?;
    count.strip_suffix(LEFT_OUT.1)?.parse().ok()
}

/// A rule summary read back.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OwnSummary<'t> {
    pub(super) user_messages: u64,
    pub(super) tool_calls: u64,
    pub(super) topics: Option<&'t str>,
    pub(super) tools: Vec<&'t str>,
    /// Its section of earlier summaries.
    pub(super) carried: &'t str,
}

impl<'t> OwnSummary<'t> {
    /// `None` unless every line before the carried section is one that we write.
    pub(super) fn parse(text: &'t str) -> Option<Self> {
        let (first, rest) = text.trim_start().split_once('\n')?;
        if first != HEADING && first != RULE_HEADING {
            return None;
        }
        let (facts, carried) = match rest.split_once(EARLIER) {
            Some((facts, carried)) => (facts, carried),
            None => (rest, ""),
        };
        let mut own =
            Self { user_messages: 0, tool_calls: 0, topics: None, tools: Vec::new(), carried };
        let mut counts = 0;
        for line in facts.lines().filter(|line| !line.trim().is_empty()) {
            if let Some(count) = line.strip_prefix(USER_MESSAGES) {
                own.user_messages = count.parse().ok()?;
                counts += 1;
            } else if let Some(count) = line.strip_prefix(TOOL_CALLS) {
                own.tool_calls = count.parse().ok()?;
                counts += 1;
            } else if let Some(topics) = line.strip_prefix(LATEST_TOPICS) {
                own.topics = Some(topics);
            } else {
                let tools = line.strip_prefix(TOOLS)?.split(", ");
                own.tools = tools.filter(|tool| !is_count(tool)).collect();
            }
        }
        (counts == 2).then_some(own)
    }
}

#[cfg(test)]
mod tests {
    use super::{Carried, OwnSummary};

    #[test]
    fn texts_of_others_are_no_rule_summaries() {
        for text in [
            "## 会话摘要\n\n做了很多事",
            "## 会话摘要 / Session summary\n\n- 用户消息数 / User messages: many",
            "## Goal\n- 用户消息数 / User messages: 1\n- 工具调用数 / Tool calls: 1",
            "",
        ] {
            assert_eq!(OwnSummary::parse(text), None, "{text}");
        }
    }

    #[test]
    fn lines_left_out_add_up() {
        let mut carried = Carried::default();
        carried.add_text("a\n\nb\nc");
        let once = carried.write(3);
        assert_eq!(once, "（已省略更早的 2 行 / older lines left out）\nc");
        let mut again = Carried::default();
        again.add_text(&once);
        again.add_text("d");
        assert_eq!(again.write(1), "（已省略更早的 3 行 / older lines left out）\nd");
    }
}
