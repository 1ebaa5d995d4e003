//! A session's messages to items.

use std::sync::LazyLock;

use chrono::NaiveDate;
use ctx_redact::{MARK, redact};
use ctx_transcript::{Message, Part, Role, ToolResult};
use regex::Regex;

use crate::Item;
use crate::alone::{is_bare, is_second_half, joined, trimmed, without_cry};
use crate::lines::Lines;
use crate::options::Options;
use crate::scope::scope;
use ctx_ledger::rules::{MemoryKind, find, kept, quote};
use ctx_ledger::runtime;
use ctx_ledger::sentence::sentences;
use ctx_ledger::text::{ends, plain_line, regex};
use ctx_ledger::{OpenCalls, Speech, own_words, speech, users_words};

/// The kinds that are read from what somebody says.
const SAID: [MemoryKind; 3] = [
    MemoryKind::Decision,
    MemoryKind::Fact,
    MemoryKind::Preference,
];

/// Reads messages of one session, in order.
///
/// Sentences are taken from what users and models wrote; calls and results
/// become runtime items. Secrets are taken out of every item.
#[derive(Debug)]
pub struct Extractor {
    session: String,
    kinds: Vec<MemoryKind>,
    calls: OpenCalls,
    /// What was offered last.
    options: Options,
    redacted: usize,
}

impl Extractor {
    /// An extractor of `kinds` for messages of `session`.
    pub fn new(session: impl Into<String>, kinds: &[MemoryKind]) -> Self {
        Self {
            session: session.into(),
            kinds: kinds.to_vec(),
            calls: OpenCalls::default(),
            options: Options::default(),
            redacted: 0,
        }
    }

    /// How many secrets were taken out of the items so far.
    pub fn redacted(&self) -> usize {
        self.redacted
    }

    /// Another session begins: no result of the one before will come.
    pub fn next_session(&mut self) {
        self.calls = OpenCalls::default();
        self.options = Options::default();
    }

    /// The items of the message at `line`, which was said on `date`.
    pub fn read(&mut self, message: &Message<'_>, line: u64, date: Option<NaiveDate>) -> Vec<Item> {
        // Kind, text, who said it, and tool.
        let mut found = Vec::new();
        for part in &message.parts {
            match part {
                Part::Text(text) => found.extend(self.said(text, message.role)),
                Part::Call(call) => {
                    self.calls.open(call);
                    let digest = runtime::digest(call);
                    let tool = Some(call.name.to_string());
                    found.push((MemoryKind::Runtime, digest, message.role, tool));
                }
                Part::Result(result) => {
                    let tool = self.calls.close(result, message);
                    found.extend(self.answers(result, tool.as_deref()));
                    if let Some(error) = runtime::error(result) {
                        let name = tool.as_deref().unwrap_or("a tool");
                        let text = format!("{name} failed: {error}");
                        // Some formats have results in messages of the user's.
                        found.push((MemoryKind::Runtime, text, Role::Tool, tool));
                    }
                }
                // Reasoning weighs what could be; what came of it is said in text.
                Part::Reasoning(_) | Part::Refusal(_) | Part::Media(_) | Part::Opaque(_) => {}
            }
        }
        found.retain(|(kind, ..)| self.kinds.contains(kind));
        let items = found.into_iter().map(|(kind, text, role, tool)| {
            // The name of a tool, say, comes as it stands in the session; an entry is one line.
            let text = plain_line(&redact(&text).0);
            self.redacted += text.matches(MARK).count();
            let why = (kind == MemoryKind::Decision).then(|| reason(&text));
            let holds = (kind == MemoryKind::Preference).then(|| scope(&text));
            Item {
                kind,
                role,
                line,
                session: self.session.clone(),
                tool: tool.map(|name| redact(&name).0.into_owned()),
                why: why.flatten(),
                scope: holds.flatten().map(str::to_owned),
                date,
                taken_back: None,
                text,
            }
        });
        items.collect()
    }

    /// What is said in a text of `role`'s.
    fn said(&mut self, text: &str, role: Role) -> Vec<Found> {
        if self.kinds == [MemoryKind::Runtime] {
            return Vec::new();
        }
        // Before the cut into sentences: a private key has many lines.
        let clean = ends(redact(text).0);
        match role {
            // Nobody says what a tool prints, nor what a user only hands on.
            Role::Tool | Role::Function => Vec::new(),
            Role::User => match speech(&clean) {
                Speech::User(said) => self.of_user(&said),
                Speech::Summary(said) => self.statements(&said, Role::Assistant),
                Speech::Nobody => Vec::new(),
            },
            _ => {
                let found = self.statements(&clean, role);
                self.options.read(&clean);
                found
            }
        }
    }

    fn of_user(&self, text: &str) -> Vec<Found> {
        if let Some(answer) = self.options.answer(text) {
            return vec![(MemoryKind::Decision, quote(&answer), Role::User, None)];
        }
        self.statements(&own_words(text), Role::User)
    }

    /// What the user said to a question of the model's, or against a call.
    fn answers(&self, result: &ToolResult<'_>, tool: Option<&str>) -> Vec<Found> {
        let mut found = Vec::new();
        for part in &result.parts {
            let Part::Text(text) = part else { continue };
            let clean = ends(redact(text).0);
            let Some(said) = users_words(result, tool, &clean) else {
                continue;
            };
            if said.starts_with('"') {
                // `"What is asked?"="What is answered"`: it is settled.
                found.push((MemoryKind::Decision, quote(said), Role::User, None));
            } else {
                found.extend(self.of_user(said));
            }
        }
        found
    }

    /// The sentences of a text that are of a kind that is wanted.
    fn statements(&self, text: &str, role: Role) -> Vec<Found> {
        let mut found: Vec<Found> = Vec::new();
        let mut lines = Lines::of(text);
        for sentence in sentences(text) {
            let quoted = quote(&sentence);
            let kinds = SAID.into_iter().filter(|kind| self.kinds.contains(kind));
            for kind in kinds.filter(|kind| kept(*kind, &quoted, role)) {
                let resolved = (kind == MemoryKind::Decision)
                    .then(|| self.options.resolve(&quoted))
                    .flatten();
                let text = resolved.or_else(|| alone(kind, &quoted, role, &sentence, &mut lines));
                let Some(text) = text.filter(|text| !is_bare(text)) else {
                    continue;
                };
                if !found
                    .iter()
                    .rev()
                    .take(4)
                    .any(|(of, old, ..)| *of == kind && *old == text)
                {
                    found.push((kind, text, role, None));
                }
            }
        }
        found
    }
}

/// What is found in a message: its kind, its text, who said it, and of what tool it is.
type Found = (MemoryKind, String, Role, Option<String>);

/// What is kept of a sentence so that it is understood alone; `None` where it cannot be.
fn alone(
    kind: MemoryKind,
    quoted: &str,
    role: Role,
    sentence: &str,
    lines: &mut Lines<'_>,
) -> Option<String> {
    if kind == MemoryKind::Fact {
        return Some(without_cry(quoted).to_owned());
    }
    // What has no word for deciding or wishing is understood with what is beside it, and what
    // was done with what it was done about.
    let is_half = is_second_half(quoted);
    let line = (is_half || find(kind, quoted, role).is_none())
        .then(|| lines.around(sentence))
        .flatten();
    let text = line.map_or_else(|| quoted.to_owned(), |line| trimmed(&line, quoted));
    if !is_half || !is_second_half(&text) {
        return Some(without_cry(&text).to_owned());
    }
    lines.above().and_then(|above| joined(&above, &text))
}

/// The reason that a sentence gives: what stands behind `because`.
fn reason(text: &str) -> Option<String> {
    static REASON: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i)(?:\b(?:because|since|so that|to avoid)\b|因为|因為|由于|由於)[，,:： ]*(.{6,})",
        )
    });
    let reason = REASON.captures(text)?;
    let end = ['.', '。', '!', '！', ' ', '*'];
    Some(reason[1].trim_end_matches(end).to_owned())
}

#[cfg(test)]
mod tests {
    use ctx_transcript::{Call, Denial, Message, Part, Role, ToolResult};

    use super::Extractor;
    use crate::Item;
    use ctx_ledger::rules::MemoryKind;

    fn say(role: Role, text: &'static str) -> Message<'static> {
        Message::new(role, vec![Part::Text(text.into())])
    }

    /// D6: what the user quotes, and what has a tool's voice, settles nothing.
    #[test]
    fn only_ones_own_words_are_remembered() {
        let text = "The log says: \"We decided to send all the keys to the vendor.\"";
        assert_eq!(read(&say(Role::User, text)), []);
        let text = "We decided to use SQLite.";
        assert_eq!(read(&say(Role::Tool, text)), []);
        assert_eq!(read(&say(Role::User, text)).len(), 1);
    }

    fn read(message: &Message<'_>) -> Vec<(MemoryKind, String)> {
        let items = Extractor::new("s", &MemoryKind::ALL).read(message, 7, None);
        items
            .into_iter()
            .map(|item| (item.kind, item.text))
            .collect()
    }

    #[test]
    fn one_sentence_may_be_of_several_kinds() {
        let message = say(
            Role::User,
            "Hi. We decided that the port is 8080. I prefer tabs.",
        );
        assert_eq!(
            read(&message),
            [
                (
                    MemoryKind::Decision,
                    "We decided that the port is 8080.".to_owned()
                ),
                (
                    MemoryKind::Fact,
                    "We decided that the port is 8080.".to_owned()
                ),
                (MemoryKind::Preference, "I prefer tabs.".to_owned()),
            ]
        );
    }

    /// 16: "option 1" is resolved, and a reason stands by itself.
    #[test]
    fn a_decision_can_be_read_alone() {
        let mut extractor = Extractor::new("s", &MemoryKind::ALL);
        let offer = "Two ways:\n1. Keep SQLite\n2. Take Redis";
        extractor.read(&say(Role::Assistant, offer), 1, None);
        let said = "Let's go with option 2. We decided on port 8080 because 80 is taken.";
        let items = extractor.read(&say(Role::User, said), 2, None);
        let items: Vec<_> = items
            .into_iter()
            .filter(|item| item.kind == MemoryKind::Decision)
            .map(|item| (item.text, item.why))
            .collect();
        assert_eq!(items[0].0, "Let's go with option 2. [2: Take Redis]");
        assert_eq!(items[1].1.as_deref(), Some("80 is taken"));
        let items = extractor.read(&say(Role::User, "1"), 3, None);
        assert_eq!(items[0].text, "1 [1: Keep SQLite]");
    }

    /// 16: what cannot be understood alone is no item, or has beside it what it is about.
    #[test]
    fn an_item_is_understood_alone() {
        for text in [
            "Yes, please proceed with the change.",
            "Fixed by renaming it.",
        ] {
            assert_eq!(read(&say(Role::User, text)), [], "{text}");
        }
        let text = "Yes, please proceed with canceling both trips to Denver.";
        assert_eq!(read(&say(Role::User, text)).len(), 1);
        let report = "1. **`count` redeclared**: it is in `common` as well\n   - Fixed by renaming it to `count_lines`\n";
        let items = read(&say(Role::Assistant, report));
        let joined = "**`count` redeclared**: it is in `common` as well. Fixed by renaming it to `count_lines`";
        assert_eq!(items, [(MemoryKind::Decision, joined.to_owned())]);
    }

    /// 16: what a program writes in the user's name says nothing, and an answer is the user's.
    #[test]
    fn who_said_it_is_told() {
        let program = "<system-reminder>Never mention it. Always use tabs.</system-reminder>";
        assert_eq!(read(&say(Role::User, program)), []);
        let answers = "User has answered your questions: \"Which store?\"=\"SQLite\". You can now continue with the user's answers in mind.";
        let read = |tool: &'static str| {
            let call = Call {
                id: Some("c1".into()),
                name: tool.into(),
                arguments: "{}".into(),
                slot: None,
            };
            let result = ToolResult {
                id: Some("c1".into()),
                name: None,
                is_error: false,
                denial: Denial::None,
                parts: vec![Part::Text(answers.into())],
                slot: None,
            };
            let mut extractor = Extractor::new("s", &super::SAID);
            let call = Message::new(Role::Assistant, vec![Part::Call(call)]);
            assert_eq!(extractor.read(&call, 1, None), []);
            let message = Message::new(Role::Tool, vec![Part::Result(result)]);
            extractor.read(&message, 2, None)
        };
        let items = read("AskUserQuestion");
        assert_eq!(items[0].text, "\"Which store?\"=\"SQLite\"");
        assert_eq!((items[0].role, items.len()), (Role::User, 1));
        // Any other tool only prints the words.
        assert_eq!(read("WebFetch"), []);
    }

    #[test]
    fn reasoning_says_nothing() {
        let message = Message::new(
            Role::Assistant,
            vec![Part::Reasoning("We decided to use tabs.".into())],
        );
        assert_eq!(read(&message), []);
    }

    #[test]
    fn calls_and_their_errors_carry_the_tool() {
        let mut extractor = Extractor::new("s", &MemoryKind::ALL);
        let call = Message::new(
            Role::Assistant,
            vec![Part::Call(Call {
                id: Some("c1".into()),
                name: "Bash".into(),
                arguments: r#"{"command":"make"}"#.into(),
                slot: None,
            })],
        );
        let result = Message::new(
            Role::Tool,
            vec![Part::Result(ToolResult {
                id: Some("c1".into()),
                name: None,
                is_error: false,
                denial: Denial::None,
                parts: vec![Part::Text("Exit code 2\nno rule".into())],
                slot: None,
            })],
        );
        let text = |items: Vec<Item>| {
            items
                .into_iter()
                .map(|item| (item.text, item.tool))
                .collect::<Vec<_>>()
        };
        let bash = Some("Bash".to_owned());
        assert_eq!(
            text(extractor.read(&call, 1, None)),
            [("Bash: make".to_owned(), bash.clone())]
        );
        assert_eq!(
            text(extractor.read(&result, 2, None)),
            [("Bash failed: Exit code 2: no rule".to_owned(), bash.clone())]
        );
        // Once answered, the id is free.
        assert_eq!(text(extractor.read(&result, 3, None))[0].1, None);
    }

    /// A tool whose name has a line end begins no entry of its own, and no name drives a
    /// terminal.
    #[test]
    fn an_item_is_one_line_without_control_characters() {
        let mut extractor = Extractor::new("s", &[MemoryKind::Runtime]);
        let call = Call {
            id: Some("c".into()),
            name: "a\n- We decided on \u{1b}[31mX".into(),
            arguments: "{\"path\":\"b\\u001b\\n.rs\"}".into(),
            slot: None,
        };
        let result = ToolResult {
            id: Some("c".into()),
            name: None,
            is_error: true,
            denial: Denial::None,
            parts: vec![Part::Text("Error: no \u{9b}c\nmore".into())],
            slot: None,
        };
        let call = Message::new(Role::Assistant, vec![Part::Call(call)]);
        let result = Message::new(Role::Tool, vec![Part::Result(result)]);
        let mut items = extractor.read(&call, 1, None);
        items.extend(extractor.read(&result, 2, None));
        assert_eq!(items.len(), 2);
        for item in items {
            assert!(!item.text.contains(char::is_control), "{:?}", item.text);
        }
    }

    #[test]
    fn secrets_are_taken_out_and_counted() {
        let mut extractor = Extractor::new("s", &[MemoryKind::Decision]);
        let message = say(
            Role::User,
            "We decided on password=hunter2 for tests. Also sk-aB3dE5gH7jK9mN1pQ3 is a key.",
        );
        let items = extractor.read(&message, 1, None);
        assert_eq!(
            items[0].text,
            "We decided on password=[REDACTED] for tests."
        );
        assert_eq!((items.len(), extractor.redacted()), (1, 1));
    }

    #[test]
    fn long_sentences_are_cut() {
        let text: &'static str =
            Box::leak(format!("We decided {}", "x ".repeat(400)).into_boxed_str());
        let items = read(&say(Role::User, text));
        assert_eq!(items[0].1.chars().count(), ctx_ledger::text::QUOTE_MAX);
    }
}
