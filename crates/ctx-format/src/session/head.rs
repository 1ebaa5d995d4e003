//! The beginning of an agent's own file: whose it is, and the id of its session.

use crate::Object;
use crate::dialect::{Detector, Dialect};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;

/// How many lines are looked at; an agent says early who it is.
const LINES: usize = 64;

/// How many bytes of them. The first line of Codex may hold all its instructions.
const BYTES: u64 = 1 << 20;

/// What the first lines of a session file say. It stays the same for a file that only grows.
#[derive(Clone, Default)]
pub struct Head {
    /// The dialect, where a line can be of no other.
    pub dialect: Option<&'static dyn Dialect>,
    /// The session's id, where the agent has written it there.
    pub session: Option<String>,
}

impl Head {
    /// Reads no further than it takes. A document that is one JSON value has no lines, and tells
    /// nothing.
    pub fn read(source: impl Read) -> io::Result<Self> {
        let mut source = BufReader::new(source.take(BYTES));
        let mut detector = Detector::default();
        let mut head = Self::default();
        let mut lines: Vec<Vec<u8>> = Vec::new();
        for _ in 0..LINES {
            let mut line = Vec::new();
            if source.read_until(b'\n', &mut line)? == 0 {
                break;
            }
            let Some(object) = object_of(&line) else {
                continue;
            };
            if head.dialect.is_none() && detector.look_at(&object) {
                head.dialect = detector.decide();
            }
            lines.push(line);
            if let Some(dialect) = head.dialect {
                // Lines before the deciding one count as well.
                let mut told = lines.drain(..);
                head.session = told.find_map(|line| {
                    let session = dialect.log()?.session(&object_of(&line)?)?;
                    Some(session.into_owned())
                });
                if head.session.is_some() {
                    break;
                }
            }
        }
        Ok(head)
    }
}

fn object_of(line: &[u8]) -> Option<Object<'_>> {
    let text = std::str::from_utf8(line).ok()?;
    Object::parse(text.trim_start_matches('\u{feff}')).ok()
}

/// Reads a file from its start without moving the position that all its handles share.
pub struct FromStart {
    file: File,
    at: u64,
}

impl FromStart {
    /// Nothing read yet.
    pub fn new(file: File) -> Self {
        Self { file, at: 0 }
    }
}

impl Read for FromStart {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::Head;
    use crate::Dialect;

    fn read(bytes: &[u8]) -> (Option<&'static str>, Option<String>) {
        let head = Head::read(bytes).expect("from memory");
        (head.dialect.map(Dialect::name), head.session)
    }

    fn told(text: &str) -> (Option<&'static str>, Option<String>) {
        read(text.as_bytes())
    }

    #[test]
    fn an_agent_tells_the_id_of_its_session() {
        let tree = r#""uuid":"u","parentUuid":null,"sessionId":"s-1","timestamp":"t""#;
        let main = format!(r#"{{"type":"user",{tree},"isSidechain":false}}"#);
        let helper = format!(r#"{{"type":"user",{tree},"isSidechain":true,"agentId":"a1"}}"#);
        let old_helper = format!(r#"{{"type":"user",{tree},"isSidechain":true}}"#);
        let summary = r#"{"type":"summary","summary":"x","leafUuid":"u"}"#;
        let codex = r#"{"timestamp":"t","type":"session_meta","payload":{"id":"c-1"}}"#;
        let parent = r#"{"timestamp":"t","type":"session_meta","payload":{"id":"c-0"}}"#;
        let old_codex = r#"{"id":"c-2","timestamp":"t","instructions":null}"#;
        let pi = r#"{"type":"session","version":3,"id":"p-1","timestamp":"t","cwd":"/"}"#;
        let gemini = r#"{"sessionId":"g-1","projectHash":"h","startTime":"t"}"#;
        for (text, dialect, session) in [
            (main.clone(), "claude-code", Some("s-1")),
            // A helper is not the session that it helps.
            (helper, "claude-code", Some("s-1.a1")),
            (old_helper.clone(), "claude-code", None),
            (format!("{old_helper}\n{main}"), "claude-code", Some("s-1")),
            (format!("{summary}\r\n\n{main}\n"), "claude-code", Some("s-1")),
            (format!("\u{feff}{main}\n"), "claude-code", Some("s-1")),
            // Lines copied from its parent session follow its own.
            (format!("{codex}\n{parent}\n"), "codex", Some("c-1")),
            (old_codex.to_owned(), "codex", Some("c-2")),
            (pi.to_owned(), "pi", Some("p-1")),
            (gemini.to_owned(), "gemini", Some("g-1")),
        ] {
            let expected = (Some(dialect), session.map(str::to_owned));
            assert_eq!(told(&text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_agents_file_tells_nothing() {
        for text in [
            "",
            "\0\0\0",
            r#"{"role":"user","content":"hi","sessionId":"s","id":"x"}"#,
            r#"{"sessionId":"s"}"#,
            // A document.
            "{\n  \"sessionId\": \"g\",\n  \"projectHash\": \"h\",\n  \"messages\": []\n}",
        ] {
            assert_eq!(told(text), (None, None), "{text}");
        }
        assert_eq!(read(b"\xff\xfe\n{}\n"), (None, None));
        // A document in one line grows.
        let document = r#"{"sessionId":"g","projectHash":"h","messages":[{"id":"1","type":"user","timestamp":"t","content":"x"}]}"#;
        assert_eq!(told(document), (Some("gemini"), None));
        for id in ["7", "null", "{}"] {
            let odd = format!(r#"{{"type":"session","id":{id},"timestamp":"t","cwd":"/"}}"#);
            assert_eq!(told(&odd), (Some("pi"), None));
        }
    }

    #[test]
    fn only_the_first_lines_are_looked_at() {
        let pi = r#"{"type":"session","version":3,"id":"p-1","timestamp":"t","cwd":"/"}"#;
        let late = "{}\n".repeat(63) + pi;
        assert_eq!(told(&late).1.as_deref(), Some("p-1"));
        assert_eq!(told(&format!("{{}}\n{late}")).1, None);
        let long = format!("{{\"x\":\"{}\"}}\n{pi}", "x".repeat(1 << 20));
        assert_eq!(told(&long).1, None);
    }
}
