//! Tests compactions in the formats of agents: what the view of the session contains after their
//! lines are appended. Other tests check that the agents themselves read these lines in the same
//! way.

use std::io::Cursor;

use ctx_format::compaction::{Compaction, CompactionError, Kept};
use ctx_format::view::Presence;
use ctx_format::{Dialect, Log, Object, Options, Records, dialect};

mod claude_code;
mod codex;
mod copilot;
mod gemini;
mod kimi;
mod opencode;
mod pi;
mod qwen;

/// The text of the summary in every compaction.
const SUMMARY: &str = "what\nwas";

/// The file of an agent, line by line.
#[derive(Clone)]
struct Session {
    dialect: &'static dyn Dialect,
    lines: Vec<String>,
}

impl Session {
    fn new(dialect: &str, lines: &[&str]) -> Self {
        Self {
            dialect: dialect::by_name(dialect).expect("known"),
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
        }
    }

    fn records(&self) -> Records<Cursor<String>> {
        let options = Options { dialect: Some(self.dialect), ..Options::default() };
        Records::open(Cursor::new(self.lines.join("\n")), &options).expect("from memory")
    }

    /// The records in the context, in the order in which they are sent.
    fn context(&self) -> Vec<String> {
        let mut records = self.records();
        let mut sent = Vec::new();
        while let Some(record) = records.next().expect("from memory") {
            if let Some(Presence::Inside(fragment)) = record.presence {
                let text = String::from_utf8(record.bytes.to_owned()).expect("text");
                sent.push((fragment.message, text.trim().to_owned()));
            }
        }
        sent.sort_by_key(|(message, _)| *message);
        sent.into_iter().map(|(_, text)| text).collect()
    }

    /// The texts, the names of tools, and the results that the model receives.
    fn said(&self) -> Vec<String> {
        let texts = |record: &String| {
            let object = Object::parse(record).expect("an object");
            let message = self.dialect.message(&object).expect("a message");
            message.texts().join("|")
        };
        self.context().iter().map(texts).collect()
    }

    /// Appends a compaction after which the records `kept` stay in the context.
    fn compact(&self, kept: &[Kept<'_>], is_end: bool) -> Result<Self, CompactionError> {
        self.compact_at(kept, 0, is_end)
    }

    fn compact_at(
        &self,
        kept: &[Kept<'_>],
        kept_before: usize,
        is_end: bool,
    ) -> Result<Self, CompactionError> {
        let mut writer = self.dialect.log().map(Log::compaction_writer).expect("it has one");
        let mut newest = None;
        for line in &self.lines {
            let object = Object::parse(line).expect("an object");
            writer.push(&object);
            newest = newest.max(object.time());
        }
        let context = self.context();
        let lines = writer.finish(&Compaction {
            summary: SUMMARY,
            kept: kept.to_vec(),
            kept_before,
            is_end,
            last: context.last().map_or("", String::as_str),
            tokens: (1000, 100),
            is_automatic: false,
            now: "2026-06-01T00:00:00Z".parse().expect("a time"),
            newest,
            seed: vec![9; 32],
        })?;
        let mut new = self.clone();
        for line in &lines {
            Object::parse(line).expect("an object");
        }
        new.lines.extend(lines);
        Ok(new)
    }

    /// Appends a compaction that keeps the last `count` records of the context unchanged.
    fn compact_to_last(&self, count: usize) -> Self {
        let context = self.context();
        let kept: Vec<Kept<'_>> =
            context[context.len() - count..].iter().map(|text| same(text)).collect();
        self.compact(&kept, true).expect("compacted")
    }
}

fn same(text: &str) -> Kept<'_> {
    Kept { text, messages: None, is_changed: false }
}

fn changed(text: &str) -> Kept<'_> {
    Kept { is_changed: true, ..same(text) }
}
