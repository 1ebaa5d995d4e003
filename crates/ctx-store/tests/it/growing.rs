//! How much space the snapshots of a growing session need.

use std::fs;
use std::path::PathBuf;

use chrono::TimeDelta;

use crate::{Bench, all};

/// A made-up session, like one that an agent writes: tool calls, their output, files that are read
/// again after a change, and prose. The made-up session is not more repetitive than real ones.
pub(crate) struct Session {
    random: u64,
    words: Vec<String>,
    files: Vec<Vec<String>>,
    text: Vec<u8>,
    last: String,
}

impl Session {
    pub(crate) fn new(seed: u64) -> Self {
        let mut session = Self {
            random: seed,
            words: Vec::new(),
            files: Vec::new(),
            text: Vec::new(),
            last: String::new(),
        };
        for _ in 0..6000 {
            let length = 2 + session.below(9);
            let word =
                (0..length).map(|_| char::from(b"etaoinshrdlucmfwypvbgkjqxz"[session.skewed(26)]));
            let word = word.collect::<Vec<char>>();
            session.words.push(word.into_iter().collect());
        }
        session
    }

    fn below(&mut self, end: usize) -> usize {
        // Use the random generator of Numerical Recipes, so that every run makes the same session.
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.random >> 33).expect("31 bits") % end
    }

    /// A random number below `end`. Small numbers are more frequent, as common words are in text.
    fn skewed(&mut self, end: usize) -> usize {
        let (one, other) = (self.below(end), self.below(end));
        let least = one.min(other);
        self.below(least + 1)
    }

    fn prose(&mut self, words: usize) -> String {
        let words: Vec<String> = (0..words)
            .map(|_| {
                let at = self.skewed(self.words.len());
                self.words[at].clone()
            })
            .collect();
        words.join(" ")
    }

    fn code(&mut self) -> String {
        let (indent, words) = (4 * self.below(5), 1 + self.below(7));
        format!("{}{}({});", " ".repeat(indent), self.prose(1), self.prose(words))
    }

    fn id(&mut self) -> String {
        let parts: Vec<String> = (0..4).map(|_| format!("{:08x}", self.below(1 << 31))).collect();
        parts.join("-")
    }

    fn record(&mut self, role: &str, content: &str) {
        let id = self.id();
        let content: String = content.replace('"', "\\\"").replace('\n', "\\n");
        let (seconds, millis) = (self.text.len() / 500, self.below(1000));
        let line = format!(
            "{{\"parentUuid\":\"{}\",\"isSidechain\":false,\"cwd\":\"/home/dev/project\",\"sessionId\":\"5b0c1c42-6a1e-4b8f-9d57-0f4b4a2c6d11\",\"version\":\"2.0.14\",\"type\":\"{role}\",\"message\":{{\"role\":\"{role}\",\"content\":\"{content}\"}},\"uuid\":\"{id}\",\"timestamp\":\"2026-11-{:02}T{:02}:{:02}:{:02}.{:03}Z\"}}\n",
            self.last,
            1 + seconds / 86_400 % 28,
            seconds / 3600 % 24,
            seconds / 60 % 60,
            seconds % 60,
            millis,
        );
        self.text.extend(line.bytes());
        self.last = id;
    }

    /// One turn: a question, calls, results, an answer.
    fn turn(&mut self) {
        let ask = 10 + self.below(60);
        let ask = self.prose(ask);
        self.record("user", &ask);
        for _ in 0..=self.below(6) {
            let think = 10 + self.below(50);
            let think = self.prose(think);
            self.record("assistant", &think);
            let result = self.result();
            self.record("user", &result);
        }
        let answer = 40 + self.below(200);
        let answer = self.prose(answer);
        self.record("assistant", &answer);
    }

    /// The content of a new file or of a file that is read again after a change, or a command's
    /// output.
    fn result(&mut self) -> String {
        match self.below(5) {
            0 => {
                let lines = 30 + self.below(250);
                let file: Vec<String> = (0..lines).map(|_| self.code()).collect();
                let text = numbered(&file);
                self.files.push(file);
                text
            }
            1 | 2 if !self.files.is_empty() => {
                let at = self.below(self.files.len());
                for _ in 0..=self.below(8) {
                    let (line, code) = (self.below(self.files[at].len()), self.code());
                    self.files[at][line] = code;
                }
                numbered(&self.files[at])
            }
            _ => {
                let lines: Vec<String> = (0..self.below(40))
                    .map(|_| {
                        let (number, words) = (self.below(100_000), 3 + self.below(8));
                        format!("src/{}.rs:{number}: {}", self.prose(1), self.prose(words))
                    })
                    .collect();
                lines.join("\n")
            }
        }
    }

    /// The text of a session that has grown to this many bytes or a little more.
    pub(crate) fn grown(&mut self, to: usize) -> &[u8] {
        while self.text.len() < to {
            self.turn();
        }
        &self.text
    }
}

fn numbered(lines: &[String]) -> String {
    let lines = lines.iter().enumerate();
    let lines: Vec<String> = lines.map(|(at, line)| format!("{:>6}\t{line}", at + 1)).collect();
    lines.join("\n")
}

/// Saves a session daily while it grows, and packs snapshots that are a day old. Returns the number
/// of bytes that plain copies would need and the number that the store uses.
fn a_hundred_days(mut state: impl FnMut(usize) -> Vec<u8>) -> (u64, u64) {
    let bench = Bench::new();
    let store = &bench.store;
    let mut plain = 0;
    for day in 1..=100 {
        let snapshot = bench.take(&state(day));
        plain += snapshot.meta.bytes;
        let old = store.unpacked(all(store), store.now() - TimeDelta::days(1)).expect("lists");
        let report = store.pack(&old);
        assert!(report.failed.is_empty(), "{:?}", report.failed);
        bench.wait_days(1);
    }
    let size = |path: PathBuf| fs::metadata(path).map_or(0, |file| file.len());
    let kept = store.catalog(None).expect("lists").entries;
    for entry in kept.iter().rev().step_by(25) {
        store.verify(entry, true).expect("whole");
    }
    let kept = kept
        .iter()
        .map(|entry| size(store.data_path(&entry.id)) + size(store.packed_path(&entry.id)));
    (plain, kept.sum())
}

/// The store needs at most a fifth of the space that plain copies would take.
#[test]
fn a_hundred_daily_saves_of_a_growing_session_take_a_fifth() {
    const FULL: usize = 2 << 20;
    let mut session = Session::new(1);
    let (plain, kept) = a_hundred_days(|day| session.grown(FULL / 100 * day).to_vec());
    assert!(kept * 5 <= plain, "{kept} of {plain} bytes");
    // Real sessions shrink to an eighth. The made-up session must not be easier to pack than they
    // are.
    assert!(kept * 9 >= plain, "{kept} of {plain} bytes: that is no session");
}

/// The test above with real sessions: `CTX_TRANSCRIPTS=FILE:FILE cargo test … -- --ignored`.
#[test]
#[ignore = "needs real sessions: CTX_TRANSCRIPTS"]
#[allow(clippy::print_stdout)] // A measurement tells its figures.
fn a_hundred_daily_saves_of_real_sessions_take_a_fifth() {
    let files = std::env::var("CTX_TRANSCRIPTS").expect("files with a colon between them");
    for file in files.split(':') {
        let all = fs::read(file).expect("reads");
        let until = |day: usize| {
            let end = all.len() * day / 100;
            let end = all[..end].iter().rposition(|byte| *byte == b'\n');
            all[..end.map_or(0, |end| end + 1)].to_vec()
        };
        let (plain, kept) = a_hundred_days(until);
        let ratio = plain as f64 / kept as f64;
        println!("{file}: {plain} bytes in {kept}, 1/{ratio:.1}");
        assert!(kept * 5 <= plain, "{file}: {kept} of {plain} bytes");
    }
}
