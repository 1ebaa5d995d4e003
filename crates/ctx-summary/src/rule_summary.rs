//! Writes the rule summary, which only counts and quotes, without a model or heuristics.

use std::collections::VecDeque;
use std::fmt::Write;

use ctx_format::{Message, Part, Role};
use ctx_redact::redact;
use ctx_tokens::TokenCounter;
use indexmap::IndexSet;

use crate::earlier::RULE_HEADING;
use crate::ledger::own_words;
use ctx_text::{bisected, first_chars, one_line};

/// The maximum number of topics. A topic is the beginning of one of the last user messages.
const TOPICS: usize = 3;
/// The maximum length of a topic, in characters.
const TOPIC_CHARS: usize = 50;
/// The number of characters that are read from a message for its topic. A topic needs far fewer
/// characters, but a secret must not be cut in two before it is recognized.
const TOPIC_SOURCE_CHARS: usize = 2_000;

const HEADING: &str = "## 会话摘要 / Session summary";
const USER_MESSAGES: &str = "- 用户消息数 / User messages: ";
const TOOL_CALLS: &str = "- 工具调用数 / Tool calls: ";
const LATEST_TOPICS: &str = "- 最近话题 / Latest topics: ";
const TOOLS: &str = "- 使用的工具 / Tools used: ";
const EARLIER: &str = "### 更早的摘要 / Earlier summary";
const EARLIER_TOPICS: &str = "- 更早话题 / Earlier topics: ";

/// Reads the messages to summarize. Reports the number of user messages and tool calls, the latest
/// topics, and the tools. Memory use grows only with the number of tools and the length of earlier
/// summaries, not with the messages.
///
/// The counts of an earlier rule summary are added to the new counts. Any other earlier summary is
/// carried over word for word. However often a session is compacted, there is only one section for
/// earlier summaries.
#[derive(Debug, Default)]
pub struct RuleSummary {
    user_messages: u64,
    tool_calls: u64,
    topics: VecDeque<String>,
    tools: IndexSet<String>,
    carried: Carried,
    /// The number of redacted secrets.
    pub redacted: usize,
}

impl RuleSummary {
    /// Adds the next message to summarize.
    pub fn push(&mut self, message: &Message<'_>) {
        for call in message.calls() {
            self.tool_calls += 1;
            let name = one_line(&self.clean(&call.name));
            self.tools.extend(Some(name).filter(|name| !name.is_empty()));
        }
        let said = |part: &Part<'_>| !matches!(part, Part::Result(_));
        if message.role == Role::User && message.parts.iter().any(said) {
            self.user_messages += 1;
            self.add_topic(message);
        }
    }

    /// Adds a summary of earlier messages, as returned by [`crate::Recognizer`].
    pub fn push_earlier(&mut self, text: &str) {
        // The tool that wrote the summary may not have redacted it.
        let text = &self.clean(text);
        if self.push_own(text).is_none() {
            self.carried.add_text(text);
        }
    }

    /// Adds a rule summary. Returns `None`, and adds nothing, unless all lines before the section
    /// for earlier summaries have the form of a rule summary.
    fn push_own(&mut self, text: &str) -> Option<()> {
        let (first, rest) = text.trim_start().split_once('\n')?;
        if first != HEADING && first != RULE_HEADING {
            return None;
        }
        let (facts, carried) = rest.split_once(EARLIER).unwrap_or((rest, ""));
        let is_ours = |line: &str| {
            let mut labels = [USER_MESSAGES, TOOL_CALLS, LATEST_TOPICS, TOOLS].into_iter();
            line.trim().is_empty() || labels.any(|label| line.starts_with(label))
        };
        if !facts.lines().all(is_ours) {
            return None;
        }
        let find = |label: &str| facts.lines().find_map(|line| line.strip_prefix(label));
        let count = |label: &str| find(label)?.parse::<u64>().ok();
        let (user_messages, tool_calls) = (count(USER_MESSAGES)?, count(TOOL_CALLS)?);
        self.user_messages += user_messages;
        self.tool_calls += tool_calls;
        // `+7` is the number of tools that did not fit.
        let is_count = |tool: &str| tool.trim_start_matches('+').parse::<u64>().is_ok();
        let tools = find(TOOLS).into_iter().flat_map(|tools| tools.split(", "));
        let tools = tools.filter(|tool| !tool.is_empty() && !is_count(tool));
        self.tools.extend(tools.map(str::to_owned));
        self.carried.add_text(carried);
        self.retire_topics();
        if let Some(topics) = find(LATEST_TOPICS) {
            self.topics.push_back(topics.to_owned());
            self.retire_topics();
        }
        Some(())
    }

    fn clean(&mut self, text: &str) -> String {
        let (clean, secrets) = redact(text);
        self.redacted += secrets;
        clean.into_owned()
    }

    /// Writes the summary. A summary of more than `limit` tokens is shortened until it fits. First,
    /// the oldest lines of earlier summaries are removed, and an added line says so. Tools are
    /// removed next, and then topics. The counts are always kept.
    pub fn finish(&self, limit: Option<u64>, counter: &dyn TokenCounter) -> String {
        let mut cut = Cut::default();
        let Some(limit) = limit else { return self.write(cut) };
        let most = [self.carried.lines.len(), self.tools.len(), self.topics.len()];
        // Each stage removes as little as necessary. A stage that cannot make the text fit removes
        // everything that it is allowed to remove.
        for (stage, most) in most.into_iter().enumerate() {
            let fits = |amount| {
                let mut cut = cut;
                cut[stage] = amount;
                counter.count_up_to(&self.write(cut), limit).is_some()
            };
            if fits(0) {
                break;
            }
            if fits(most) {
                cut[stage] = bisected(most, fits).1;
                break;
            }
            cut[stage] = most;
        }
        self.write(cut)
    }

    fn add_topic(&mut self, message: &Message<'_>) {
        let mut source = String::new();
        for part in &message.parts {
            match part {
                Part::Text(text) => {
                    // Pasted text, such as a log, is not a topic.
                    source.push_str(&own_words(first_chars(text, TOPIC_SOURCE_CHARS)));
                    source.push(' ');
                }
                Part::Media(media) => source.extend(["[", media.kind, "] "]),
                _ => {}
            }
        }
        let clean = self.clean(&source);
        let topic = first_chars(&one_line(&clean), TOPIC_CHARS).trim_end().to_owned();
        self.topics.extend(Some(topic).filter(|topic| topic.contains(char::is_alphanumeric)));
        if self.topics.len() > TOPICS {
            self.topics.pop_front();
        }
    }

    /// If topics precede an earlier summary, moves them into a line of the section for earlier
    /// summaries.
    fn retire_topics(&mut self) {
        if !self.topics.is_empty() {
            let topics = Vec::from(std::mem::take(&mut self.topics)).join("; ");
            self.carried.add_line(&format!("{EARLIER_TOPICS}{topics}"));
        }
    }

    fn write(&self, [lines, tools, topics]: Cut) -> String {
        let mut text = format!(
            "{HEADING}\n\n{USER_MESSAGES}{}\n{TOOL_CALLS}{}\n",
            self.user_messages, self.tool_calls
        );
        let topics: Vec<_> = self.topics.iter().skip(topics).cloned().collect();
        if !topics.is_empty() {
            let _ = writeln!(text, "{LATEST_TOPICS}{}", topics.join("; "));
        }
        let kept: Vec<_> = self.tools.iter().take(self.tools.len() - tools).cloned().collect();
        if !self.tools.is_empty() {
            let more = match tools {
                0 => String::new(),
                count if kept.is_empty() => format!("+{count}"),
                count => format!(", +{count}"),
            };
            let _ = writeln!(text, "{TOOLS}{}{more}", kept.join(", "));
        }
        if !self.carried.lines.is_empty() || self.carried.left_out > 0 {
            let _ = write!(text, "\n{EARLIER}\n\n{}", self.carried.write(lines));
        }
        text.truncate(text.trim_end().len());
        text
    }
}

/// How much to leave out: lines from earlier summaries, tools and topics. The oldest lines, the
/// oldest topics and the last tools are left out first.
type Cut = [usize; 3];

/// The lines of earlier summaries, from oldest to newest.
#[derive(Debug, Default)]
struct Carried {
    lines: Vec<String>,
    /// The number of lines that were left out by earlier compactions.
    left_out: u64,
}

const LEFT_OUT: (&str, &str) = ("（已省略更早的 ", " 行 / older lines left out）");

impl Carried {
    /// Adds the text of an earlier summary word for word.
    fn add_text(&mut self, text: &str) {
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

    /// Adds a single line. No blank line is inserted between two topic lines.
    fn add_line(&mut self, line: &str) {
        let is_topics = |line: &String| line.starts_with(EARLIER_TOPICS);
        if !self.lines.is_empty() && !self.lines.last().is_some_and(is_topics) {
            self.lines.push(String::new());
        }
        self.lines.push(line.to_owned());
    }

    /// Writes all lines except the oldest `skip` lines.
    fn write(&self, skip: usize) -> String {
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

fn left_out(line: &str) -> Option<u64> {
    let count = line.trim().strip_prefix(LEFT_OUT.0)?;
    count.strip_suffix(LEFT_OUT.1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Carried, RuleSummary};

    #[test]
    fn texts_of_others_are_no_rule_summaries() {
        for text in [
            "## 会话摘要\n\n做了很多事",
            "## 会话摘要 / Session summary\n\n- 用户消息数 / User messages: many",
            "## Goal\n- 用户消息数 / User messages: 1\n- 工具调用数 / Tool calls: 1",
            "",
        ] {
            assert_eq!(RuleSummary::default().push_own(text), None, "{text}");
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
