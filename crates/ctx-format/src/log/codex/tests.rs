//! Tests which lines of generated sessions are in the context. The expected values are taken from
//! what the client sends.

mod compactions;
mod lines;
mod records;

use super::Codex;
use crate::view::{Outside, Presence};
use crate::{Options, Record, Records};

/// A summary that begins like the client's own summaries.
const SUMMARY: &str = "Another language model started to solve this problem: so far";

/// The lines of a session, each with a word that identifies it in tests.
#[derive(Clone, Default)]
struct Lines(Vec<(String, String)>);

fn said(role: &str, text: &str) -> String {
    let kind = if role == "assistant" { "output_text" } else { "input_text" };
    format!(
        r#"{{"type":"message","role":"{role}","content":[{{"type":"{kind}","text":"{text}"}}]}}"#
    )
}

fn call(id: &str) -> String {
    format!(r#"{{"type":"function_call","name":"ls","arguments":"{{}}","call_id":"{id}"}}"#)
}

fn output(id: &str) -> String {
    format!(r#"{{"type":"function_call_output","call_id":"{id}","output":"x"}}"#)
}

impl Lines {
    fn line(mut self, word: &str, kind: &str, payload: &str) -> Self {
        let line = format!(
            r#"{{"timestamp":"2026-01-01T00:00:00.000Z","type":"{kind}","payload":{payload}}}"#
        );
        self.0.push((word.to_owned(), line));
        self
    }

    fn bare(mut self, word: &str, line: &str) -> Self {
        self.0.push((word.to_owned(), line.to_owned()));
        self
    }

    fn item(self, word: &str, payload: &str) -> Self {
        self.line(word, "response_item", payload)
    }

    fn event(self, word: &str, kind: &str, rest: &str) -> Self {
        let payload = format!(r#"{{"type":"{kind}"{rest}}}"#);
        self.line(word, "event_msg", &payload)
    }

    fn user(self, text: &str) -> Self {
        self.item(text, &said("user", text))
    }

    fn says(self, text: &str) -> Self {
        self.item(text, &said("assistant", text))
    }

    fn begins(self, turn: &str) -> Self {
        self.event("-", "task_started", &format!(r#","turn_id":"{turn}""#))
    }

    fn ends(self, turn: &str) -> Self {
        self.event("-", "task_complete", &format!(r#","turn_id":"{turn}""#))
    }

    /// Adds a turn: a request and a reply.
    fn turn(self, number: u32) -> Self {
        let id = format!("t{number}");
        let begun = self.begins(&id);
        let context = format!(r#"{{"turn_id":"{id}","model":"m"}}"#);
        let asked = begun.line("-", "turn_context", &context).user(&format!("u{number}"));
        asked.says(&format!("a{number}")).ends(&id)
    }

    fn back(self, turns: &str) -> Self {
        self.event("-", "thread_rolled_back", &format!(r#","num_turns":{turns}"#))
    }

    /// Adds a compaction with these items.
    fn replaced(self, word: &str, items: &[String]) -> Self {
        let items = items.join(",");
        let payload = format!(r#"{{"message":"m","replacement_history":[{items}]}}"#);
        self.line(word, "compacted", &payload)
    }

    /// Adds a compaction without items, as in files from 2025.
    fn compacted(self, word: &str, summary: &str) -> Self {
        self.line(word, "compacted", &format!(r#"{{"message":"{summary}"}}"#))
    }

    fn each(&self, mut see: impl FnMut(usize, &Record<'_>)) {
        let lines: Vec<&str> = self.0.iter().map(|(_, line)| line.as_str()).collect();
        let text = lines.join("\n");
        let options = Options { dialect: Some(&Codex), ..Options::default() };
        let mut records = Records::open(text.as_bytes(), &options).expect("from memory");
        let mut place = 0;
        while let Some(record) = records.next().expect("from memory") {
            see(place, &record);
            place += 1;
        }
    }

    fn presences(&self) -> Vec<Presence> {
        let mut presences = Vec::new();
        self.each(|_, record| {
            let presence = record.presence.expect("a log");
            let is_inside = matches!(presence, Presence::Inside(_));
            assert_eq!(record.message(Some(&Codex)).is_some(), is_inside);
            presences.push(presence);
        });
        presences
    }

    /// The messages in the context, each as the words of its lines.
    fn context(&self) -> String {
        let mut messages: Vec<Vec<&str>> = Vec::new();
        for ((word, _), presence) in self.0.iter().zip(self.presences()) {
            let Presence::Inside(fragment) = presence else { continue };
            let at = usize::try_from(fragment.message).expect("a small number");
            messages.resize(messages.len().max(at + 1), Vec::new());
            messages[at].push(word);
        }
        let messages: Vec<String> = messages.iter().map(|words| words.join("+")).collect();
        messages.join(" ")
    }

    /// The texts that are in the context from the line with that word.
    fn left(&self, word: &str) -> String {
        let mut left = None;
        self.each(|place, record| {
            if self.0[place].0 == word {
                let message = record.message(Some(&Codex));
                left = message.map(|message| message.texts().join("|"));
            }
        });
        left.unwrap_or_default()
    }

    /// Why the line with that word is not in the context; `None` if it is.
    fn outside(&self, word: &str) -> Option<Outside> {
        let place = self.0.iter().position(|(own, _)| own == word)?;
        match self.presences()[place] {
            Presence::Outside(why) => Some(why),
            Presence::Inside(_) => None,
        }
    }
}

/// The beginning of a session: the lines that the client writes before the first request.
fn session() -> Lines {
    let meta = r#"{"id":"s","timestamp":"t","cwd":"/x","cli_version":"0.169.0"}"#;
    let environment = "<environment_context>/x</environment_context>";
    let begun = Lines::default().line("meta", "session_meta", meta);
    let begun = begun.item("dev", &said("developer", "<permissions instructions> x"));
    begun.item("env", &said("user", environment))
}
