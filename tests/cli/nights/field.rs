//! Sessions in a folder that grow each day, a store, and a faked clock.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::bench::{Done, done, shell};

const DAY: u64 = 86_400;

/// The number of the night, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Night(pub(crate) u32);

/// The kind of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Many messages.
    Talk,
    /// Tool results, some of them large.
    Results,
    /// No messages for four days, and then many at once.
    Pauses,
    /// A system message that is larger than the window.
    System,
    /// One message that is larger than the window.
    Message,
}

impl Kind {
    pub(crate) const ALL: [Self; 5] =
        [Self::Talk, Self::Results, Self::Pauses, Self::System, Self::Message];

    /// Returns true if no compaction can make the session as small as required.
    pub(crate) fn is_stuck(self) -> bool {
        matches!(self, Self::System | Self::Message)
    }
}

/// A snapshot that a job took.
struct Saved {
    night: Night,
    session: usize,
    bytes: String,
}

pub(crate) struct Field {
    dir: TempDir,
    clock: PathBuf,
    kinds: Vec<Kind>,
    words: Words,
    saved: BTreeMap<String, Saved>,
}

/// Builds a library that fakes the clock; `None` if there is no compiler.
pub(crate) fn clock(dir: &Path) -> Option<PathBuf> {
    let clock = dir.join("clock.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/nights/clock.c");
    let made =
        Command::new("cc").args(["-O2", "-shared", "-fPIC", "-o"]).args([&clock, &source]).status();
    made.is_ok_and(|status| status.success()).then_some(clock)
}

impl Field {
    /// Returns `None` if the clock cannot be faked here.
    pub(crate) fn new(sessions: usize) -> Option<Self> {
        let dir = tempfile::tempdir().expect("a folder");
        let clock = clock(dir.path())?;
        let field = Self {
            dir,
            clock,
            kinds: (0..sessions).map(|at| Kind::ALL[at % Kind::ALL.len()]).collect(),
            words: Words(0x9e37_79b9_7f4a_7c15),
            saved: BTreeMap::new(),
        };
        let year = |done: Done| done.stdout.trim().parse::<u64>().ok();
        let now = year(field.run(0, "date +%s"))?;
        let later = year(field.run(1000, "date +%s"))?;
        (later > now + 999 * DAY).then_some(field)
    }

    /// Runs a line in this night.
    pub(crate) fn run(&self, night: u32, line: &str) -> Done {
        let mut command = shell(self.dir.path(), line);
        command
            .env("LD_PRELOAD", &self.clock)
            .env("CTX_TEST_CLOCK", (u64::from(night) * DAY).to_string());
        done(&command.output().expect("bash"))
    }

    fn path(&self, session: usize) -> PathBuf {
        self.dir.path().join(format!("s{session:02}.jsonl"))
    }

    /// Returns the content of the sessions.
    pub(crate) fn texts(&self) -> Vec<String> {
        let text = |session| fs::read_to_string(self.path(session)).unwrap_or_default();
        (0..self.kinds.len()).map(text).collect()
    }

    /// The day before this night.
    pub(crate) fn grow(&mut self, night: u32) {
        for session in 0..self.kinds.len() {
            let path = self.path(session);
            let mut text = fs::read_to_string(&path).unwrap_or_default();
            let day = self.day(self.kinds[session], night);
            text.push_str(&day);
            fs::write(&path, text).expect("written");
        }
    }

    fn day(&mut self, kind: Kind, night: u32) -> String {
        let mut day = String::new();
        match kind {
            Kind::System if night == 1 => {
                let system = self.words.some(60_000);
                line(&mut day, &json!({"role": "system", "content": system}));
                self.exchanges(&mut day, 2, 40, 60);
            }
            Kind::Message if night == 1 => {
                let content = self.words.some(60_000);
                line(&mut day, &json!({"role": "user", "content": content}));
            }
            Kind::Talk => self.exchanges(&mut day, 6, 150, 60),
            Kind::Results => self.exchanges(&mut day, 4, 40, 900),
            Kind::Pauses if night % 5 == 1 => self.exchanges(&mut day, 12, 80, 300),
            Kind::System | Kind::Message | Kind::Pauses => {}
        }
        day
    }

    /// Repeats a turn this many times: the user asks, a tool is called, the model answers.
    fn exchanges(&mut self, day: &mut String, count: usize, said: usize, result: usize) {
        for _ in 0..count {
            let id = format!("call_{:x}", self.words.next());
            let asked = self.words.some(said);
            line(day, &json!({"role": "user", "content": asked}));
            let function =
                json!({"name": "read", "arguments": format!("{{\"path\":\"src/{id}.rs\"}}")});
            let call = json!({"id": id, "type": "function", "function": function});
            line(day, &json!({"role": "assistant", "content": null, "tool_calls": [call]}));
            let content = self.words.some(result);
            line(day, &json!({"role": "tool", "tool_call_id": id, "content": content}));
            let answer = self.words.some(said);
            line(day, &json!({"role": "assistant", "content": answer}));
        }
    }

    /// The printed ids belong to the sessions in order.
    pub(crate) fn note(&mut self, night: Night, ids: &str) {
        let texts = self.texts();
        assert_eq!(ids.lines().count(), texts.len());
        for (session, (id, bytes)) in ids.lines().zip(texts).enumerate() {
            // A session that has not changed keeps its snapshot.
            let saved = Saved { night, session, bytes };
            self.saved.entry(id.to_owned()).or_insert(saved);
        }
    }

    /// Checks that everything in the store is undamaged, and that snapshots younger than the rules
    /// say exist.
    pub(crate) fn is_whole(&self, Night(night): Night, kept: u32) {
        let verified = self.run(night, "ctx-snapshot --verify --read-data");
        assert_eq!(verified.code, 0, "{}", verified.stdout);
        let listed = self.listed(night);
        let young = self.saved.iter().filter(|(_, saved)| saved.night.0 + kept > night);
        for (id, saved) in young {
            assert!(listed.contains(id), "night {night}: {id} of {:?}", saved.night);
        }
        // The newest snapshot of each session stays, however old it is.
        let sessions: std::collections::BTreeSet<_> =
            listed.iter().filter_map(|id| id.split('-').next()).collect();
        assert_eq!(sessions.len(), self.kinds.len());
    }

    fn listed(&self, night: u32) -> Vec<String> {
        let list = self.run(night, "ctx-snapshot --list --json");
        assert_eq!((list.code, list.stderr.as_str()), (0, ""));
        let id = |line: &str| {
            let meta: Value = serde_json::from_str(line).expect("JSON");
            meta["id"].as_str().expect("an id").to_owned()
        };
        list.stdout.lines().map(id).collect()
    }

    /// Checks that a snapshot keeps its bytes as long as it exists, and that a removed one stays in
    /// the trash until its grace ends.
    pub(crate) fn first_bytes(&self, Night(night): Night, kept: u32) {
        let listed = self.listed(night);
        let mut shown = 0;
        for (id, saved) in &self.saved {
            if listed.contains(id) {
                let bytes = self.run(night, &format!("ctx-snapshot --show {id}"));
                assert!(bytes.code == 0 && bytes.stdout == saved.bytes, "{id}");
                shown += 1;
            } else if saved.night.0 + 2 * kept > night {
                let back = self.run(night, &format!("ctx-gc -n --undelete {id}"));
                assert_eq!(back.code, 0, "{id} of {:?}: {}", saved.night, back.stderr);
            } else {
                assert_ne!(saved.session, usize::MAX);
            }
        }
        assert!(shown >= self.kinds.len(), "{shown} snapshots");
    }

    pub(crate) fn live_bytes(&self) -> u64 {
        self.texts().iter().map(|text| text.len() as u64).sum()
    }

    pub(crate) fn store_bytes(&self) -> u64 {
        let size = self.run(0, "du -sb .local/state/ctx | cut -f1");
        size.stdout.trim().parse().expect("a size")
    }
}

fn line(out: &mut String, message: &Value) {
    let _ = writeln!(out, "{message}");
}

/// Text that resembles prose: the same words again and again, never in the same order.
struct Words(u64);

impl Words {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Returns a text of this many words.
    fn some(&mut self, count: usize) -> String {
        const SYLLABLES: [&str; 16] = [
            "con", "text", "ses", "sion", "load", "par", "ser", "bra", "nch", "er", "ror", "in",
            "dex", "cache", "log", "in",
        ];
        let mut text = String::new();
        for number in 0..count {
            let word = self.next();
            let at = |byte: usize| SYLLABLES[usize::from(word.to_le_bytes()[byte] % 16)];
            let end = if number % 17 == 16 { ".\n" } else { " " };
            let _ = write!(text, "{}{}{end}", at(1), at(2));
        }
        text
    }
}
