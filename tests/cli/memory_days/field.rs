//! A store whose sessions grow each day, and a person who edits its memory.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::bench::{Done, done, shell};
use crate::nights::clock;

const DAY: u64 = 86_400;
pub(crate) const MASTER: &str = "summary/master.md";

/// The lines of the generated part of the master.
pub(crate) struct Part {
    /// Statements that are valid.
    pub(crate) current: Vec<String>,
    /// Statements that are no longer valid.
    pub(crate) history: Vec<String>,
}

pub(crate) struct Field {
    dir: TempDir,
    clock: PathBuf,
    /// The text that the person wrote, by file.
    mine: Vec<(&'static str, String)>,
    /// The lines that the person deleted from the master.
    deleted: Vec<String>,
}

impl Field {
    /// Returns `None` if the clock cannot be faked here.
    pub(crate) fn new() -> Option<Self> {
        let dir = tempfile::tempdir().expect("a folder");
        let clock = clock(dir.path())?;
        Some(Self { dir, clock, mine: Vec::new(), deleted: Vec::new() })
    }

    fn run(&self, day: u32, line: &str) -> Done {
        let mut command = shell(self.dir.path(), line);
        command
            .env("LD_PRELOAD", &self.clock)
            .env("CTX_TEST_CLOCK", (u64::from(day) * DAY).to_string());
        done(&command.output().expect("bash"))
    }

    /// Extracts a session that now has this text.
    pub(crate) fn extract(&self, day: u32, session: &str, text: &[u8]) {
        fs::write(self.dir.path().join("s.jsonl"), text).expect("written");
        let line = format!("ctx-extract -q --into-store -s {session} s.jsonl > /dev/null");
        let done = self.run(day, &line);
        assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{session}");
    }

    /// Consolidates, and checks that a second run changes no byte of the store.
    pub(crate) fn consolidate(&self, day: u32, most: u64) -> Value {
        let line = format!("ctx-memory consolidate -q --json --max-tokens {most}");
        let done = self.run(day, &line);
        assert_eq!((done.code, done.stderr.as_str()), (0, ""), "day {day}");
        let before = self.all();
        let again = self.run(day, &line);
        let told = |done: &Done| -> Value { serde_json::from_str(&done.stdout).expect("JSON") };
        assert_eq!(told(&again)["changed"].as_array().map(Vec::len), Some(0));
        assert!(self.all() == before, "day {day}: a second run changed something");
        told(&done)
    }

    fn store(&self) -> PathBuf {
        self.dir.path().join(".local/state/ctx")
    }

    /// Returns all files of the store.
    fn all(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        let mut folders = vec![self.store()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    found.push((path.clone(), fs::read(&path).expect("read")));
                }
            }
        }
        found.sort();
        found
    }

    fn path(&self, name: &str) -> PathBuf {
        self.store().join("memory").join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// The person writes a line at the end of a file.
    pub(crate) fn write(&mut self, name: &'static str, line: &str) {
        let text = format!("{}{line}\n", self.read(name));
        fs::write(self.path(name), text).expect("written");
        self.mine.push((name, line.to_owned()));
    }

    /// The person changes the first line of a file that `is_it` accepts.
    pub(crate) fn change(
        &mut self,
        name: &'static str,
        is_it: impl Fn(&str) -> bool,
        change: impl Fn(&str) -> String,
    ) {
        let text = self.read(name);
        let line = text.lines().find(|line| is_it(line));
        let line = line.unwrap_or_else(|| panic!("{name}: no such line\n{text}"));
        let new = change(line);
        fs::write(self.path(name), text.replacen(line, &new, 1)).expect("written");
        self.mine.push((name, new));
    }

    /// The person deletes the first line of the master that `is_it` accepts.
    pub(crate) fn delete(&mut self, is_it: impl Fn(&str) -> bool) {
        let text = self.read(MASTER);
        let line = text.lines().find(|line| is_it(line)).expect("such a line");
        let said = line.rsplit_once(" (").map_or(line, |(said, _)| said);
        self.deleted.push(said.to_owned());
        fs::write(self.path(MASTER), text.replacen(&format!("{line}\n"), "", 1)).expect("written");
    }

    /// Checks that everything that the person wrote is there once, and that nothing that they
    /// deleted is.
    pub(crate) fn edits_survive(&self, day: u32) {
        for (name, line) in &self.mine {
            let text = self.read(name);
            let count = text.lines().filter(|it| it == line).count();
            assert_eq!(count, 1, "day {day}: {name}: {line}\n{text}");
        }
        let master = self.read(MASTER);
        for said in &self.deleted {
            let is_told = master.lines().any(|line| line.starts_with(said.as_str()));
            assert!(!is_told, "day {day}: {said}\n{master}");
        }
    }

    /// Returns the generated text of the master.
    pub(crate) fn part(&self) -> Part {
        let master = self.read(MASTER);
        let marks = |line: &&str| line.starts_with("<!-- ctx-memory: ");
        let is_there = !master.is_empty();
        let count = master.lines().filter(marks).count();
        assert_eq!(count, 2 * usize::from(is_there), "{master}");
        let part = master.lines().skip_while(|line| !marks(line)).skip(1);
        let part: Vec<&str> = part.take_while(|line| !marks(line)).collect();
        let until = part.iter().position(|line| *line == "## No longer holds");
        let entries = |lines: &[&str]| {
            let entries = lines.iter().filter(|line| line.starts_with("- "));
            entries.map(|line| (*line).to_owned()).collect()
        };
        let (current, history) = part.split_at(until.unwrap_or(part.len()));
        Part { current: entries(current), history: entries(history) }
    }

    /// Returns the texts in the memory files that were taken back, and those that were not.
    pub(crate) fn taken_back(&self) -> Vec<String> {
        let files = ["preferences", "decisions", "facts"];
        let files = files.map(|name| self.read(&format!("extracted/{name}.md")));
        let said = |line: &str| line.rsplit_once(" (").map(|(said, _)| said.to_owned());
        let lines = || files.iter().flat_map(|text| text.lines());
        let holds: Vec<_> =
            lines().filter(|line| !line.contains(", taken back in ")).filter_map(said).collect();
        let taken = lines().filter(|line| line.contains(", taken back in "));
        taken.filter_map(said).filter(|said| !holds.contains(said)).collect()
    }

    /// Returns every log and memory file, and the size of the store.
    pub(crate) fn size(&self) -> u64 {
        self.all().iter().map(|(_, bytes)| bytes.len() as u64).sum()
    }

    pub(crate) fn folder(&self) -> &Path {
        self.dir.path()
    }
}
