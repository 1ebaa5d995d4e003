//! The pipeline as a whole: snapshot | split | extract | summarize.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use ctx_format::{Options, Records, Validator};

const STAGES: [&[&str]; 4] = [
    &["ctx-snapshot", "-q", "-s", "demo"],
    &["ctx-split", "-q", "--keep-messages", "20"],
    &["ctx-extract", "-q", "-s", "demo", "--into", "memory"],
    &["ctx-summarize", "-q", "--method", "rule", "-o", "new.jsonl"],
];

fn example() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/session.jsonl");
    fs::read(path).expect("the example session")
}

fn command(words: &[&str], dir: &Path) -> Command {
    let mut command = Command::new(crate::tool_path(words[0]));
    command.args(&words[1..]).current_dir(dir).env("CTX_HOME", dir.join("store"));
    command
}

/// The stages, connected by pipes.
struct Pipeline {
    stages: Vec<Child>,
    dir: tempfile::TempDir,
}

impl Pipeline {
    fn start() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let mut stages: Vec<Child> = Vec::new();
        for words in STAGES {
            let stdin = match stages.last_mut() {
                None => Stdio::piped(),
                Some(before) => before.stdout.take().expect("piped").into(),
            };
            let stage = command(words, dir.path())
                .stdin(stdin)
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn();
            stages.push(stage.expect("the tool starts"));
        }
        Self { stages, dir }
    }

    /// Writes to the first stage; fails if that stage has ended.
    fn feed(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let stdin = self.stages[0].stdin.as_mut().expect("piped");
        stdin.write_all(bytes)?;
        stdin.flush()
    }

    /// Ends the input; returns whether every stage succeeded, as with `pipefail`.
    fn finish(&mut self) -> bool {
        drop(self.stages[0].stdin.take());
        let ends: Vec<bool> =
            self.stages.iter_mut().map(|stage| stage.wait().expect("it ends").success()).collect();
        ends.into_iter().all(|good| good)
    }

    fn output(&self) -> PathBuf {
        self.dir.path().join("new.jsonl")
    }
}

fn tokens(file: &Path) -> u64 {
    let counted =
        command(&["ctx-count", "--json"], Path::new(".")).arg(file).output().expect("ctx-count");
    let text = String::from_utf8(counted.stdout).expect("UTF-8");
    let after = text.split("\"tokens\":").nth(1).expect("a count");
    after.split(',').next().and_then(|number| number.parse().ok()).expect("a number")
}

#[test]
fn a_session_becomes_shorter_and_can_be_had_back() {
    let input = example();
    let mut pipeline = Pipeline::start();
    pipeline.feed(&input).expect("read");
    assert!(pipeline.finish());
    let before = pipeline.dir.path().join("before.jsonl");
    fs::write(&before, &input).expect("written");
    assert!(tokens(&pipeline.output()) < tokens(&before) / 2);
    assert!(pipeline.dir.path().join("memory/extracted/decisions.md").exists());
    let rollback = ["ctx-rollback", "-s", "demo", "--snapshot", "latest", "--to", "back.jsonl"];
    assert!(command(&rollback, pipeline.dir.path()).status().expect("ctx-rollback").success());
    assert_eq!(fs::read(pipeline.dir.path().join("back.jsonl")).expect("restored"), input);
}

#[test]
fn a_stage_that_is_killed_leaves_no_shortened_file() {
    let input = example();
    for (killed, stage) in STAGES.iter().enumerate() {
        let mut pipeline = Pipeline::start();
        pipeline.feed(&input[..input.len() / 2]).expect("read");
        pipeline.stages[killed].kill().expect("killed");
        // The remaining stages may or may not read the rest.
        let _ = pipeline.feed(&input[input.len() / 2..]);
        assert!(!pipeline.finish(), "{} was killed, and nobody said so", stage[0]);
        assert!(!pipeline.output().exists(), "{} was killed, and there is a file", stage[0]);
    }
}

/// The output of one stage is cut at some byte, as if the disk or the machine failed; later stages
/// only see a short file.
#[test]
fn a_stage_whose_output_is_cut_leaves_no_shortened_file() {
    let dir = tempfile::tempdir().expect("a folder");
    fs::write(dir.path().join("in.jsonl"), example()).expect("written");
    let words = |stage: &[&str]| {
        let tool = crate::tool_path(stage[0]).display().to_string();
        std::iter::once(tool.as_str())
            .chain(stage[1..].iter().copied())
            .collect::<Vec<_>>()
            .join(" ")
    };
    // The snapshot stage writes the whole session or nothing, so the cut is after the next stage.
    for cut_behind in 1..STAGES.len() - 1 {
        for length in [0, 1, 40_000, 80_000, 130_000] {
            let mut script: Vec<String> = STAGES.iter().map(|stage| words(stage)).collect();
            script.insert(cut_behind + 1, format!("head -c {length}"));
            script[0] += " < in.jsonl";
            let script = script.join(" | ");
            let status = Command::new("bash")
                .args(["-o", "pipefail", "-c", &script])
                .current_dir(dir.path())
                .env("CTX_HOME", dir.path().join("store"))
                .stderr(Stdio::null())
                .status()
                .expect("bash");
            assert!(!status.success(), "{script}");
            assert!(!dir.path().join("new.jsonl").exists(), "{script}");
        }
    }
}

/// Returns the line (0 if it is not in the source), the rule and the id of every problem. Lines of
/// a compacted session are given as the source lines of its records.
fn problems(session: &[u8], lines: &[u64]) -> BTreeSet<(u64, &'static str, String)> {
    let mut records = Records::open(session, &Options::default()).expect("from memory");
    let Some(dialect) = records.dialect() else {
        return BTreeSet::new();
    };
    let mut validator = Validator::new(dialect.rules());
    let mut at = 0;
    while let Some(record) = records.next().expect("from memory") {
        let line = lines.get(at).copied().unwrap_or(record.line);
        at += 1;
        if let Some(outline) = record.outline(Some(dialect)) {
            validator.push(line, &outline);
        }
    }
    validator
        .finish()
        .into_iter()
        .map(|problem| (problem.line, problem.rule.into(), problem.id))
        .collect()
}

/// Returns the source lines of the kept records, with 0 for the summary.
fn kept_lines(session: &Path, dir: &Path) -> Vec<u64> {
    let split = command(STAGES[1], dir).arg(session).output().expect("ctx-split");
    let (mut lines, mut summarized) = (Vec::new(), false);
    for (number, line) in (1..).zip(split.stdout.split_inclusive(|b| *b == b'\n')) {
        if !line.starts_with(b"{\"_ctx\":{\"zone\":\"old\"") {
            lines.push(number);
        } else if !std::mem::replace(&mut summarized, true) {
            lines.push(0);
        }
    }
    lines
}

/// Run with `CTX_TRANSCRIPTS=DIR cargo test --test cli -- --ignored transcripts`,
/// where DIR/chat/*/*.jsonl are sessions.
#[test]
#[ignore = "needs real sessions in CTX_TRANSCRIPTS"]
#[allow(clippy::print_stderr)] // The test prints figures.
fn transcripts_keep_every_rule_that_they_kept() {
    let root =
        PathBuf::from(std::env::var_os("CTX_TRANSCRIPTS").expect("CTX_TRANSCRIPTS names a folder"));
    let folders = fs::read_dir(root.join("chat"))
        .expect("DIR/chat")
        .map(|entry| entry.expect("an entry").path());
    let (mut files, mut shorter, mut unchanged) = (0, 0, 0);
    let mut no_shorter = Vec::new();
    for folder in folders {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let input = fs::read(&path).expect("a session");
            let mut pipeline = Pipeline::start();
            pipeline.feed(&input).expect("read");
            assert!(pipeline.finish(), "{}", path.display());
            let output = fs::read(pipeline.output()).expect("the output");
            let lines = kept_lines(&path, pipeline.dir.path());
            let new: Vec<_> =
                problems(&output, &lines).difference(&problems(&input, &[])).cloned().collect();
            assert!(new.is_empty(), "{}: {new:?}", path.display());
            files += 1;
            if output == input {
                unchanged += 1;
            } else if tokens(&pipeline.output()) < tokens(&path) {
                shorter += 1;
            } else {
                no_shorter.push((path, lines.len()));
            }
        }
    }
    assert!(files > 0, "no sessions there");
    eprintln!(
        "{files} sessions: {shorter} shorter, {unchanged} with nothing old, {} no shorter:",
        no_shorter.len()
    );
    for (path, kept) in no_shorter {
        let records = fs::read_to_string(&path).expect("a session").lines().count();
        eprintln!("  {}: {} records became one", path.display(), records + 1 - kept);
        // The summarized zone is long enough: more than a handful of short messages.
        assert!(records + 1 - kept <= 12, "{} should be shorter", path.display());
    }
}
