//! The usage that an agent's last reply has recorded: agents go by it, not by what they would
//! send, and would compact or ask at once what was pruned to be opened again.
//!
//! Claude Code adds up the numbers of the last reply, Codex takes the total of the last event
//! that counts tokens, pi the total of the last reply that came to its end (docs/agents.md).

use std::ops::RangeInclusive;

use ctx_select::count::MessageCounter;
use ctx_transcript::view::{Outside, Presence};
use ctx_transcript::{Dialect, Record, UsageOf};

use crate::count::CalibrationPass;

/// Sees the records of a session as they came, and what is freed of each.
pub(super) struct UsagePass {
    calibration: CalibrationPass,
    /// By line, where anything is.
    freed: Vec<(u64, u64)>,
}

/// What the last reply is to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lessened {
    of: UsageOf,
    /// The lines that say it.
    lines: RangeInclusive<u64>,
    prompt: u64,
    /// What the context came to by it, and what it comes to: with the reply itself.
    pub(super) tokens: (u64, u64),
}

impl UsagePass {
    pub(super) fn new(counter: MessageCounter, dialect: &'static dyn Dialect) -> Self {
        Self {
            calibration: CalibrationPass::new(counter, Some(dialect)),
            freed: Vec::new(),
        }
    }

    /// The next record, its tokens where they are known, and how many of them are freed.
    pub(super) fn push(&mut self, record: &Record<'_>, tokens: Option<u64>, freed: u64) {
        self.calibration.push(record, tokens);
        if freed > 0 {
            self.freed.push((record.line, freed));
        }
    }

    /// `None` where nothing of what the last reply was sent is freed, and where no reply tells
    /// of the context: behind a compaction agents do not go by the replies before it.
    pub(super) fn finish(self) -> Option<Lessened> {
        let calibration = self.calibration.finish();
        let last = calibration.last.as_ref()?;
        let sent = self.freed.iter().filter(|(line, _)| *line < last.begins);
        let freed = sent.map(|(_, tokens)| tokens).sum();
        let prompt = calibration.without(freed)?;
        let usage = last.usage;
        (prompt < usage.prompt).then(|| Lessened {
            of: last.of,
            lines: last.lines.clone(),
            prompt,
            tokens: (usage.total(), prompt.saturating_add(usage.output)),
        })
    }
}

impl Lessened {
    /// The bytes of `record` with its numbers set right; `None` where it has none of them.
    pub(super) fn of(&self, record: &Record<'_>, dialect: &dyn Dialect) -> Option<Vec<u8>> {
        let is_read = match record.presence {
            None | Some(Presence::Inside(_)) => true,
            Some(Presence::Outside(why)) => why == Outside::NeverSent,
        };
        if !is_read || !self.lines.contains(&record.line) {
            return None;
        }
        let object = record.whole_object()?;
        dialect.usage(object).filter(|usage| usage.of == self.of)?;
        let edits = dialect.lessened(object, self.prompt);
        (!edits.is_empty()).then(|| record.edited(&edits))
    }
}

#[cfg(test)]
mod tests {
    use ctx_select::prune::{Policy, Trim};

    use super::super::Plan;
    use super::super::tests::{pass, plan};

    fn trims() -> Plan {
        let trim = Trim {
            max_chars: 40,
            ..Trim::default()
        };
        plan(Policy {
            trim: Some(trim),
            protect_last: 1,
            ..Policy::default()
        })
    }

    /// Lines of Claude Code, each the child of the one before: type, what is beside, message.
    fn claude(lines: &[(&str, &str, String)]) -> Vec<String> {
        let of = |(at, (kind, beside, message)): (usize, &(&str, &str, String))| {
            let parent = at.checked_sub(1).map(|parent| format!("\"u{parent}\""));
            let parent = parent.unwrap_or_else(|| "null".to_owned());
            format!(
                r#"{{"type":"{kind}","uuid":"u{at}","parentUuid":{parent},"sessionId":"s"{beside},"message":{{"role":"{kind}",{message}}}}}"#
            )
        };
        lines.iter().enumerate().map(of).collect()
    }

    fn reply(id: &str, content: &str, prompt: u64) -> String {
        format!(
            r#""id":"{id}","model":"claude","usage":{{"input_tokens":4,"cache_read_input_tokens":{},"output_tokens":9}},"content":[{content}]"#,
            prompt - 4
        )
    }

    fn result(id: u64, text: &str) -> String {
        format!(r#""content":[{{"type":"tool_result","tool_use_id":"t{id}","content":"{text}"}}]"#)
    }

    fn call(id: u64) -> String {
        format!(r#"{{"type":"tool_use","id":"t{id}","name":"Read","input":{{}}}}"#)
    }

    const SAID: &str = r#"{"type":"text","text":"So it is."}"#;
    const ASK: &str = r#""content":"What is there?""#;

    /// A call, its result of 1,000 tokens, and a reply of two lines.
    fn session() -> Vec<(&'static str, &'static str, String)> {
        vec![
            ("user", "", ASK.to_owned()),
            ("assistant", "", reply("m1", &call(1), 20_000)),
            ("user", "", result(1, &"word ".repeat(800))),
            ("assistant", "", reply("m2", SAID, 21_250)),
            ("assistant", "", reply("m2", &call(2), 21_250)),
        ]
    }

    /// What changes, as lines before and after; and what is said of the usage.
    fn changed(session: &[String]) -> (Vec<(String, String)>, Vec<String>) {
        let (written, notes) = pass(&trims(), &session.join("\n")).expect("no failure");
        let pairs = session.iter().zip(written.lines());
        let changed = pairs.filter(|(before, after)| before != after);
        let changed = changed.map(|(before, after)| (before.clone(), after.to_owned()));
        let notes = notes.into_iter().filter(|note| note.contains("usage"));
        (changed.collect(), notes.collect())
    }

    /// By 1.2 tokens of the API's on each of the 969 that are freed.
    const SAYS: &str = "recorded usage of the last reply: 21259 tokens, now 20096";

    #[test]
    fn all_lines_of_the_last_reply_say_what_its_prompt_comes_to_now() {
        let (changed, notes) = changed(&claude(&session()));
        let [_, usage @ ..] = &changed[..] else {
            panic!("{changed:?}");
        };
        assert_eq!(usage.len(), 2);
        for (before, after) in usage {
            assert_eq!(*after, before.replace(":21246", ":20083"));
        }
        assert_eq!(notes, [SAYS]);
    }

    #[test]
    fn what_was_not_sent_yet_is_not_taken_off() {
        let mut lines = session();
        lines[2].2 = result(1, "short");
        lines.push(("user", "", result(2, &"word ".repeat(800))));
        let mut plan = trims();
        plan.policy.protect_last = 0;
        let lines = claude(&lines);
        let (written, notes) = pass(&plan, &lines.join("\n")).expect("no failure");
        let same = lines.iter().zip(written.lines()).filter(|(a, b)| a == b);
        assert_eq!((same.count(), lines.len()), (5, 6));
        assert!(!notes.iter().any(|note| note.contains("usage")));
    }

    /// Claude Code does not count the replies that a compaction keeps.
    #[test]
    fn behind_a_compaction_no_reply_tells() {
        let mut lines = claude(&session());
        lines.truncate(4);
        lines.push(r#"{"type":"system","subtype":"compact_boundary","uuid":"b","parentUuid":null,"logicalParentUuid":"u3","sessionId":"s","compactMetadata":{"trigger":"auto","preTokens":9,"preservedMessages":{"anchorUuid":"c","uuids":["u1","u2","u3"],"allUuids":["u1","u2","u3"]}}}"#.to_owned());
        lines.push(r#"{"type":"user","uuid":"c","parentUuid":"b","sessionId":"s","isCompactSummary":true,"message":{"role":"user","content":"What was."}}"#.to_owned());
        let (changed, notes) = changed(&lines);
        assert_eq!((changed.len(), notes.len()), (1, 0), "{changed:?}");
    }

    /// The same numbers come again when the limits of the user's plan change.
    #[test]
    fn of_codex_each_event_of_the_last_reply() {
        let line = |kind: &str, payload: &str| {
            format!(r#"{{"timestamp":"2026-01-01T00:00:00Z","type":"{kind}","payload":{payload}}}"#)
        };
        let message = |role: &str, kind: &str| {
            line(
                "response_item",
                &format!(
                    r#"{{"type":"message","role":"{role}","content":[{{"type":"{kind}","text":"So."}}]}}"#
                ),
            )
        };
        let count = |input: u64| {
            line(
                "event_msg",
                &format!(
                    r#"{{"type":"token_count","info":{{"total_token_usage":{{"input_tokens":41250,"total_tokens":41268}},"last_token_usage":{{"input_tokens":{input},"cached_input_tokens":0,"output_tokens":9,"total_tokens":{}}}}},"rate_limits":null}}"#,
                    input + 9
                ),
            )
        };
        let text = "word ".repeat(800);
        let lines = [
            line(
                "session_meta",
                r#"{"id":"s","cwd":"/","originator":"o","cli_version":"0"}"#,
            ),
            message("user", "input_text"),
            line(
                "response_item",
                r#"{"type":"function_call","name":"read","arguments":"{}","call_id":"t1"}"#,
            ),
            count(20_000),
            line(
                "response_item",
                &format!(r#"{{"type":"function_call_output","call_id":"t1","output":"{text}"}}"#),
            ),
            message("assistant", "output_text"),
            count(21_250),
            count(21_250),
        ];
        let (changed, notes) = changed(&lines);
        assert_eq!(changed.len(), 3, "{changed:?}");
        for (before, after) in &changed[1..] {
            let expected = before
                .replace(":21250", ":20087")
                .replace(":21259", ":20096");
            assert_eq!(*after, expected);
        }
        assert_eq!(notes, [SAYS]);
    }

    #[test]
    fn of_pi_the_last_reply_that_came_to_its_end() {
        let entry = |at: u64, message: &str| {
            let parent = if at == 1 {
                "null".to_owned()
            } else {
                format!("\"{}\"", at - 1)
            };
            format!(
                r#"{{"type":"message","id":"{at}","parentId":{parent},"timestamp":"2026-01-01T00:00:00.000Z","message":{message}}}"#
            )
        };
        let reply = |content: &str, stop: &str, read: u64| {
            format!(
                r#"{{"role":"assistant","content":[{content}],"model":"claude","usage":{{"input":4,"output":9,"cacheRead":{read},"cacheWrite":0,"totalTokens":{},"cost":{{"total":1.5}}}},"stopReason":"{stop}","timestamp":1}}"#,
                read + 13
            )
        };
        let text = "word ".repeat(800);
        let lines = [
            r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#.to_owned(),
            entry(1, r#"{"role":"user","content":"What is there?","timestamp":1}"#),
            entry(2, &reply(r#"{"type":"toolCall","id":"t1","name":"read","arguments":{}}"#, "toolUse", 19_996)),
            entry(3, &format!(r#"{{"role":"toolResult","toolCallId":"t1","toolName":"read","content":[{{"type":"text","text":"{text}"}}],"isError":false,"timestamp":1}}"#)),
            entry(4, &reply(SAID, "stop", 21_246)),
            entry(5, &reply(SAID, "aborted", 30_000)),
        ];
        let (changed, notes) = changed(&lines);
        assert_eq!(changed.len(), 2, "{changed:?}");
        let (before, after) = &changed[1];
        let expected = before
            .replace(":21246", ":20083")
            .replace(":21259", ":20096");
        assert_eq!(*after, expected);
        assert_eq!(notes, [SAYS]);
    }

    #[test]
    fn a_second_pruning_begins_with_what_the_first_one_left() {
        let mut lines = session();
        lines.insert(3, ("assistant", "", reply("m1b", &call(3), 21_250)));
        lines.insert(4, ("user", "", result(3, &"text ".repeat(800))));
        lines[5].2 = reply("m2", SAID, 22_500);
        lines.truncate(6);
        let lines = claude(&lines);
        let numbers = |notes: &[String]| -> Vec<u64> {
            let said = notes.iter().find(|note| note.contains("usage"));
            let words = said.expect("said").split(' ');
            words.filter_map(|word| word.parse().ok()).collect()
        };
        let mut first = trims();
        first.pins = vec!["line:5".parse().expect("a selector")];
        let (once, notes) = pass(&first, &lines.join("\n")).expect("no failure");
        let [before, half] = numbers(&notes)[..] else {
            panic!("{notes:?}");
        };
        let (twice, notes) = pass(&trims(), &once).expect("no failure");
        assert_eq!(numbers(&notes)[0], half);
        let (at_once, notes) = pass(&trims(), &lines.join("\n")).expect("no failure");
        let [same, rest] = numbers(&notes)[..] else {
            panic!("{notes:?}");
        };
        assert_eq!((before, twice), (same, at_once));
        assert!(half - rest > 1_000 && before - half > 1_000);
    }
}
