//! Tests with Claude Code sessions.

use std::fmt::Write;

use ctx_format::dialect::ClaudeCode;
use ctx_policy::Rule;
use proptest::prelude::*;

use super::{OF_LINES, context, holds, pruned};

/// A log that is being built.
#[derive(Default)]
struct Log {
    text: String,
    /// The ids of lines that may become parents.
    ids: Vec<String>,
    /// The id of the last line.
    last: Option<String>,
    lines: usize,
}

impl Log {
    fn line(&mut self, kind: &str, parent: Option<&str>, rest: &str) -> String {
        self.lines += 1;
        let (number, seconds) = (self.lines, self.lines % 60);
        let minutes = self.lines / 60;
        let parent = parent.map_or("null".to_owned(), |id| format!("\"{id}\""));
        let id = format!("l{number}");
        writeln!(
            self.text,
            "{{\"parentUuid\":{parent},\"sessionId\":\"s\",\"type\":\"{kind}\",{rest},\"uuid\":\"{id}\",\"timestamp\":\"2026-01-01T00:{minutes:02}:{seconds:02}.000Z\"}}"
        )
        .expect("to memory");
        id
    }

    fn said(
        &mut self,
        kind: &str,
        parent: Option<&str>,
        reply: Option<usize>,
        block: &str,
    ) -> String {
        let reply = reply.map_or(String::new(), |id| format!("\"id\":\"m{id}\","));
        let rest = format!(
            "\"isSidechain\":false,\"message\":{{{reply}\"role\":\"{kind}\",\"content\":[{block}]}}"
        );
        self.line(kind, parent, &rest)
    }

    fn on(&mut self, id: String) {
        self.last = Some(id.clone());
        self.ids.push(id);
    }

    fn step(&mut self, step: usize, back: usize) {
        let number = self.lines;
        let parent = match back {
            0 if !self.ids.is_empty() => Some(self.ids[number % self.ids.len()].clone()),
            _ => self.last.clone(),
        };
        let parent = parent.as_deref();
        let text = format!("{{\"type\":\"text\",\"text\":\"t{number}\"}}");
        match step {
            0 | 1 => {
                let id = self.said("user", parent, None, &text);
                self.on(id);
            }
            2 => {
                let thought = format!(
                    "{{\"type\":\"thinking\",\"thinking\":\"h{number}\",\"signature\":\"x\"}}"
                );
                let first = self.said("assistant", parent, Some(number), &thought);
                let id = self.said("assistant", Some(&first), Some(number), &text);
                self.on(id);
            }
            3 => self.tools(parent, 1),
            4 => self.tools(parent, 2),
            5 => {
                let id = self.line("progress", parent, "\"data\":{}");
                self.on(id);
            }
            6 => {
                let rest = "\"subtype\":\"turn_duration\",\"isSidechain\":false";
                let id = self.line("system", parent, rest);
                self.on(id);
            }
            7 => self.compaction(parent, back),
            8 => {
                let rest =
                    "\"isSidechain\":true,\"message\":{\"role\":\"user\",\"content\":\"help\"}";
                self.line("user", None, rest);
            }
            9 if !self.ids.is_empty() => {
                let leaf = &self.ids[(number * 7) % self.ids.len()];
                let line = format!(
                    "{{\"type\":\"last-prompt\",\"leafUuid\":\"{leaf}\",\"sessionId\":\"s\"}}\n"
                );
                self.text.push_str(&line);
            }
            10 => {
                let line =
                    "{\"type\":\"file-history-snapshot\",\"messageId\":\"x\",\"snapshot\":{}}\n";
                self.text.push_str(line);
            }
            11 if back == 0 => {
                let id = self.said("user", Some("lost"), None, &text);
                self.on(id);
            }
            _ => {}
        }
    }

    /// Adds a reply that calls tools, and adds each result as a child of its own call.
    fn tools(&mut self, parent: Option<&str>, count: usize) {
        let number = self.lines;
        let mut calls: Vec<String> = Vec::new();
        for at in 0..count {
            let above = calls.last().map(String::as_str).or(parent).map(str::to_owned);
            let call = format!(
                "{{\"type\":\"tool_use\",\"id\":\"c{number}_{at}\",\"name\":\"Read\",\"input\":{{}}}}"
            );
            calls.push(self.said("assistant", above.as_deref(), Some(number), &call));
        }
        for (at, call) in calls.iter().enumerate() {
            let result = format!(
                "\"isSidechain\":false,\"message\":{{\"role\":\"user\",\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"c{number}_{at}\",\"content\":\"r{number}\"}}]}},\"toolUseResult\":\"r\",\"sourceToolAssistantUUID\":\"{call}\""
            );
            let id = self.line("user", Some(call), &result);
            self.on(id);
        }
    }

    fn compaction(&mut self, before: Option<&str>, kept: usize) {
        let before = before.map_or("null".to_owned(), |id| format!("\"{id}\""));
        let anchor = self.lines + 2;
        let kept: Vec<String> =
            self.ids.iter().rev().take(kept).rev().map(|id| format!("\"{id}\"")).collect();
        let metadata = if kept.is_empty() {
            String::new()
        } else {
            format!(
                ",\"compactMetadata\":{{\"preservedMessages\":{{\"anchorUuid\":\"l{anchor}\",\"uuids\":[{}]}}}}",
                kept.join(",")
            )
        };
        let rest = format!(
            "\"subtype\":\"compact_boundary\",\"isSidechain\":false,\"logicalParentUuid\":{before}{metadata}"
        );
        let boundary = self.line("system", None, &rest);
        let summary = "\"isSidechain\":false,\"isCompactSummary\":true,\"message\":{\"role\":\"user\",\"content\":\"sum\"}";
        let id = self.line("user", Some(&boundary), summary);
        self.on(id);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_context_of_any_tree_stays(
        steps in prop::collection::vec((0..12_usize, 0..6_usize), 1..40),
        drop in prop::sample::subsequence(OF_LINES.to_vec(), 0..=OF_LINES.len()),
    ) {
        let mut log = Log::default();
        for (step, back) in &steps {
            log.step(*step, *back);
        }
        // A line that the client uses in place of a missing parent may have been removed, and so
        // may a line that the user went back to, or the parent of a line that a compaction forgot.
        let has = |what| log.text.contains(what);
        let jumps = steps.iter().any(|(_, back)| *back == 0);
        let is_odd = has("\"lost\"") || has("last-prompt") || (jumps && has("preservedMessages"));
        holds(&log.text, &ClaudeCode, &drop, is_odd)?;
    }
}

/// Prunes a reply of reasoning and text that comes before the last turn.
#[test]
fn a_line_that_is_only_a_thought_leaves_and_its_children_move_up() {
    let mut log = Log::default();
    for step in [0, 2, 0, 2] {
        log.step(step, 1);
    }
    let drop = [Rule::Reasoning];
    let after = pruned(&log.text, &ClaudeCode, &drop).expect("no failure");
    let lines: Vec<&str> = log.text.lines().collect();
    let moved = lines[2].replacen("\"parentUuid\":\"l2\"", "\"parentUuid\":\"l1\"", 1);
    let expected = [lines[0], &moved, lines[3], lines[4], lines[5]];
    assert_eq!(after.lines().collect::<Vec<_>>(), expected);
    let texts = |log: &str| -> Vec<String> {
        let sent = context(log, &ClaudeCode).into_iter();
        sent.flat_map(|(_, texts)| texts).collect()
    };
    assert_eq!(texts(&after), ["t0", "t1", "t3", "h4", "t4"].map(str::to_owned).to_vec());
}
