//! The folder in which an agent and a tool meet, and the checks after each run.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ctx_testkit::{Agent, CHAT, Format, Order};
use serde::de::IgnoredAny;
use tempfile::TempDir;

use super::tools::{Tool, program};

/// The name of the live file in messages.
const SESSION: &str = "the session";

/// The counts of all runs, and the checks that failed.
#[derive(Debug, Default)]
pub(crate) struct Count {
    /// Runs of the tool.
    pub(crate) runs: usize,
    /// The runs that did their work.
    pub(crate) through: usize,
    /// The runs that did not work because the session was busy (exit status 4).
    pub(crate) refused: usize,
    /// The lines of which the agent knows that they are written.
    pub(crate) lines: usize,
    /// The written lines that are lost.
    pub(crate) lost: usize,
    /// The lines that come before an earlier line of the same agent.
    pub(crate) misplaced: usize,
    /// Descriptions of what is wrong.
    pub(crate) wrong: Vec<String>,
}

pub(crate) struct Field {
    dir: TempDir,
    agent: Agent,
    format: &'static Format,
    /// The number of snapshots that were read.
    read: HashSet<OsString>,
    /// The number of lines in these snapshots.
    saved: HashSet<usize>,
}

impl Field {
    pub(crate) fn new(agent: Agent, format: &'static Format) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let field = Self { dir, agent, format, read: HashSet::new(), saved: HashSet::new() };
        fs::write(field.live(), before(format, 0)).expect("writes");
        field.prepare("ctx-snapshot", &["-s", "demo", "s.jsonl"]);
        fs::write(field.live(), before(format, 1)).expect("writes");
        // A rollback is done first, so that there is a change to undo.
        let back = ["-q", "-s", "demo", "--min-idle", "0s", "--snapshot", "1", "s.jsonl"];
        field.prepare("ctx-rollback", &back);
        field
    }

    fn prepare(&self, name: &str, args: &[&str]) {
        let case = ctx_testkit::Case::new(program(name)).within(self.dir.path());
        let case = case.env("CTX_HOME", "store").args(args.iter().copied());
        case.stdout_any().run();
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn live(&self) -> PathBuf {
        self.dir.path().join("s.jsonl")
    }

    /// Checks all files while the agent pauses: nothing is lost, torn or duplicated, and lines of
    /// one descriptor are in order.
    pub(crate) fn look(&mut self, tool: &Tool, told: &[usize], count: &mut Count) {
        // The order matters: gc makes a snapshot of a replaced file before it removes it.
        let mut found = HashSet::new();
        for name in names(self.dir.path()) {
            if name.to_string_lossy().contains(".ctx-old-") {
                let replaced = fs::read(self.dir.path().join(name)).unwrap_or_default();
                found.extend(self.format.numbers(&replaced));
            }
        }
        let live = fs::read(self.live()).expect("reads");
        found.extend(self.judge(SESSION, &live, count));
        let snapshots = self.dir.path().join("store/memory/session-summaries");
        for name in names(&snapshots) {
            let path = snapshots.join(&name);
            let is_whole = path.with_extension("meta.json").exists();
            if path.extension().is_some_and(|it| it == "jsonl")
                && is_whole
                && self.read.insert(name.clone())
            {
                let bytes = fs::read(&path).expect("reads");
                let lines = self.judge(&name.to_string_lossy(), &bytes, count);
                self.saved.extend(lines);
            }
        }
        if !tool.replaces && !told.iter().all(|number| found.contains(number)) {
            count.say("a tool that leaves the session alone took lines out of it".to_owned());
        }
        found.extend(&self.saved);
        let is_lost = |number: &&usize| !found.contains(*number);
        let lost: Vec<_> = told.iter().filter(is_lost).collect();
        if lost.len() > count.lost {
            count.say(format!("of {} lines lost: {lost:?}", told.len()));
        }
        count.lost = count.lost.max(lost.len());
        count.lines = told.len();
    }

    /// Returns the lines of agents in a file.
    fn judge(&self, name: &str, file: &[u8], count: &mut Count) -> Vec<usize> {
        let numbers = self.format.numbers(file);
        let order = Order::of(self.agent, &numbers);
        if !order.twice.is_empty() || !order.torn.is_empty() {
            count.say(format!("{name}: {order:?}"));
        }
        count.misplaced += order.misplaced;
        if self.format.is_document {
            // The agent empties the file before it writes a document.
            if !file.is_empty() && serde_json::from_slice::<IgnoredAny>(file).is_err() {
                count.say(format!("{name}: a torn document of {} bytes", file.len()));
            }
            return numbers;
        }
        // This agent pauses in the middle of a line, also while a snapshot is taken.
        let may_rest = self.agent == Agent::OpeningForHalves && name != SESSION;
        for line in file.split_inclusive(|byte| *byte == b'\n') {
            let is_ended = line.ends_with(b"\n");
            let is_whole = is_ended && serde_json::from_slice::<IgnoredAny>(line).is_ok();
            if !is_whole && (is_ended || !may_rest) {
                let line = String::from_utf8_lossy(line);
                count.say(format!("{name}: a torn line: {line}"));
            }
        }
        numbers
    }

    /// Runs gc after the agent has ended, and checks that nothing is lost, left behind or damaged.
    pub(crate) fn end(&mut self, tool: &Tool, told: &[usize], count: &mut Count) {
        for (name, args) in [("ctx-gc", &["-q"][..]), ("ctx-snapshot", &["--verify"])] {
            let output = Command::new(program(name))
                .args(args)
                .env("CTX_HOME", self.dir.path().join("store"))
                .output()
                .expect("starts");
            if !output.status.success() {
                let said = String::from_utf8_lossy(&output.stderr);
                count.say(format!("{name} at the end: {}: {said}", output.status));
            }
        }
        self.look(tool, told, count);
        for name in names(self.dir.path()) {
            if !["memory", "s.jsonl", "store"].contains(&&*name.to_string_lossy()) {
                count.say(format!("left: {}", name.display()));
            }
        }
        for place in ["store/tmp", "memory", "memory/extracted"] {
            for name in names(&self.dir.path().join(place)) {
                if name.to_string_lossy().contains(".ctx-") {
                    count.say(format!("left: {place}/{}", name.display()));
                }
            }
        }
    }

    /// Returns the number of completed replacements in the audit log.
    pub(crate) fn replacements(&self) -> usize {
        let log = fs::read_to_string(self.dir.path().join("store/context/events.jsonl"));
        let log = log.expect("reads");
        let is_replacement = |line: &&str| {
            let event: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
            let (op, phase) = (event["op"].as_str(), event["phase"].as_str());
            matches!(op, Some("compact" | "rollback" | "output")) && phase == Some("done")
        };
        log.lines().filter(is_replacement).count()
    }
}

impl Count {
    pub(crate) fn add(&mut self, more: &Self) {
        self.runs += more.runs;
        self.through += more.through;
        self.refused += more.refused;
        self.lines += more.lines;
        self.lost += more.lost;
        self.misplaced += more.misplaced;
        self.wrong.extend(more.wrong.iter().cloned());
    }

    pub(crate) fn say(&mut self, what: String) {
        // The first failures are enough; the later ones may all follow from them.
        if self.wrong.len() < 5 {
            self.wrong.push(what);
        }
    }
}

/// Returns a session that no agent has written to yet; with `more`, a longer one.
pub(crate) fn before(format: &Format, more: usize) -> String {
    if format.name == CHAT.name {
        return crate::compact::messages(0, 10 + 2 * more);
    }
    format.before(more)
}

fn names(dir: &Path) -> Vec<OsString> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).collect()
}

/// Runs `ctx-gc` again and again until it is stopped, and returns its messages if it fails.
pub(crate) fn gc_beside(dir: &Path, stop: &AtomicBool) -> Option<String> {
    while !stop.load(Ordering::SeqCst) {
        let output = Command::new(program("ctx-gc"))
            .arg("-q")
            .env("CTX_HOME", dir.join("store"))
            .stdin(Stdio::null())
            .output()
            .expect("starts");
        if !matches!(output.status.code(), Some(0 | 4)) {
            let said = String::from_utf8_lossy(&output.stderr);
            return Some(format!("ctx-gc beside: {}: {said}", output.status));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    None
}
