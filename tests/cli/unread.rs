//! Unreadable files are distinguished from damaged and from good ones by exit statuses, for
//! unattended jobs. strace makes the calls fail; if it cannot trace, these tests skip and say so.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ctx_testkit::Case;
use tempfile::TempDir;

use crate::faults::can_trace;
use crate::gc::CTX_GC;
use crate::snapshot::CTX_SNAPSHOT;

/// A store with three snapshots; returns their ids.
struct Field {
    dir: TempDir,
    ids: Vec<String>,
}

/// The exit status, stdout and stderr of a run.
type Said = (Option<i32>, String, String);

impl Field {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let take = |lines| {
            let done = Case::new(CTX_SNAPSHOT)
                .within(dir.path())
                .file("s.jsonl", "{}\n".repeat(lines))
                .args(["-s", "demo", "s.jsonl"])
                .stdout_any()
                .run();
            String::from_utf8_lossy(&done.stdout).trim_end().to_owned()
        };
        let ids = (1..=3).map(take).collect();
        Self { dir, ids }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(".local/state/ctx").join(name)
    }

    fn meta(&self, number: usize) -> PathBuf {
        let id = &self.ids[number];
        self.path(&format!("memory/session-summaries/{id}.meta.json"))
    }

    /// Returns true if only the newest snapshot is left, and the others are in the trash.
    fn is_collected(&self) -> bool {
        let there = |number: &usize| self.meta(*number).exists();
        [0, 1, 2].iter().filter(|number| there(number)).eq(&[2])
    }

    /// Moves the first snapshot to the trash, and lets its grace end.
    fn expire_first(&self) {
        Case::new(CTX_GC)
            .within(self.dir.path())
            .args(["-q", "--keep-last", "2"])
            .stdout_any()
            .run();
        let trash = self.path("trash");
        let bin = fs::read_dir(&trash).expect("reads").next();
        let bin = bin.expect("one").expect("an entry").path();
        fs::rename(bin, trash.join("20260101T000000.000000Z-0000")).expect("renamed");
    }

    /// Replaces the content of the first snapshot.
    fn damage(&self, number: usize) {
        fs::remove_file(self.meta(number)).expect("removed");
        fs::write(self.meta(number), "{").expect("written");
    }

    /// Runs a tool while the call fails for these files.
    fn run(&self, program: &str, args: &[&str], fault: &str, files: &[&Path]) -> Said {
        let call = fault.split(':').next().unwrap_or_default();
        let mut command = Command::new("strace");
        command.args(["-f", "-qq", "-o", "/dev/null"]);
        for file in files {
            command.arg("-P").arg(file);
        }
        command
            .args(["-e", &format!("trace={call}")])
            .args(["-e", &format!("inject={fault}")])
            .arg(program)
            .args(args)
            .current_dir(self.dir.path())
            .env("HOME", self.dir.path())
            .env_remove("CTX_HOME");
        let output = command.output().expect("strace starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        (output.status.code(), out, err)
    }
}

const NO_OPEN: &str = "openat:error=EIO";

/// G4: a snapshot that could not be read counts neither as damaged nor as intact.
#[test]
fn verify_tells_what_it_could_not_read_from_damage() {
    if !can_trace() {
        return;
    }
    let field = Field::new();
    let [first, second, third] = [0, 1, 2].map(|number| field.meta(number));
    let verify = |files: &[&Path]| {
        let args = ["--verify", "--read-data", "-s", "demo"];
        field.run(CTX_SNAPSHOT, &args, NO_OPEN, files)
    };
    let (code, out, err) = verify(&[&first]);
    assert_eq!(code, Some(3), "{out}{err}");
    let line = format!("{}: FAILED open or read: ", field.ids[0]);
    assert!(out.starts_with(&line), "{out}");
    assert!(out.contains(&format!("{}: OK\n", field.ids[1])), "{out}");
    assert!(err.contains("1 of 3 snapshots could not be read"), "{err}");
    let data = first.with_file_name(format!("{}.jsonl", field.ids[0]));
    assert_eq!(verify(&[&data]).0, Some(3), "its bytes");
    assert_eq!(verify(&[&first, &second, &third]).0, Some(2), "none");

    // A job that repairs must start, whatever the state of the disk.
    field.damage(1);
    let (code, out, err) = verify(&[&first]);
    assert_eq!(code, Some(1), "{out}{err}");
    assert!(err.contains("1 of 3 snapshots are damaged"), "{err}");
    assert!(err.contains("1 of 3 snapshots could not be read"), "{err}");
}

/// G4: an audit log that could not be read counts neither as damaged nor as intact.
#[test]
fn verify_says_that_the_audit_log_could_not_be_read() {
    if !can_trace() {
        return;
    }
    let field = Field::new();
    let log = field.path("context/events.jsonl");
    let (code, out, err) = field.run(CTX_SNAPSHOT, &["--verify"], NO_OPEN, &[&log]);
    assert_eq!(code, Some(3), "{out}{err}");
    assert!(out.contains(": OK\n"), "{out}");
    assert!(err.contains("events.jsonl: cannot open: "), "{err}");
}

#[test]
fn a_list_that_lacks_a_snapshot_says_so() {
    if !can_trace() {
        return;
    }
    let field = Field::new();
    let (code, out, err) = field.run(CTX_SNAPSHOT, &["--list"], NO_OPEN, &[&field.meta(1)]);
    assert_eq!(code, Some(3), "{out}{err}");
    assert_eq!(out.lines().count(), 2, "{out}");
    let told = format!("{} could not be read: ", field.ids[1]);
    assert!(err.contains(&told), "{err}");
}

/// G3: a nightly job reports that a snapshot could not be judged, and judges the others.
#[test]
fn gc_says_what_it_could_not_judge() {
    if !can_trace() {
        return;
    }
    for args in [&["-n", "--keep-last", "1"][..], &["--keep-last", "1"]] {
        let field = Field::new();
        let (code, out, err) = field.run(CTX_GC, args, NO_OPEN, &[&field.meta(0)]);
        assert_eq!(code, Some(3), "{out}{err}");
        let removed = format!("{}: no rule keeps it\n", field.ids[1]);
        assert!(out.contains(&removed), "{out}");
        let told = format!("ctx-gc: snapshot {} could not be read: ", field.ids[0]);
        assert!(err.contains(&told), "{err}");
        assert!(field.meta(0).exists());
    }
}

/// If work must be repeated and an audit record is missing, the exit status is that of the work.
#[test]
fn gc_that_left_something_is_partly_done_whatever_the_audit_log_lacks() {
    if !can_trace() {
        return;
    }
    for (is_damaged, status) in [(false, 5), (true, 3)] {
        let field = Field::new();
        if is_damaged {
            field.damage(0);
        }
        let log = field.path("context/events.jsonl");
        let args = ["--keep-last", "1"];
        let (code, out, err) = field.run(CTX_GC, &args, "write:error=EIO:when=2", &[&log]);
        assert_eq!(code, Some(status), "{out}{err}");
        assert!(err.contains("is done, but"), "{err}");
    }
}

/// Wherever the calls start to fail, a partial result never exits with 5.
#[test]
fn gc_is_uncertain_only_of_what_is_done() {
    if !can_trace() {
        return;
    }
    for (fault, step) in [("flock:error=EIO", 1), ("write:error=EROFS", 3)] {
        for from in (1..200).step_by(step) {
            let field = Field::new();
            field.expire_first();
            let fault = format!("{fault}:when={from}+");
            let (code, out, err) = field.run(CTX_GC, &["--keep-last", "1"], &fault, &[]);
            let claims_all = matches!(code, Some(0 | 5));
            assert!(!claims_all || field.is_collected(), "{fault}: {code:?} {out}{err}");
            if code == Some(0) {
                break;
            }
        }
    }
}

/// G3: if it is unknown whether bytes have a meta.json, they are not taken for those of a killed
/// run.
#[test]
fn gc_takes_nothing_for_uncommitted_that_it_cannot_look_at() {
    if !can_trace() {
        return;
    }
    let field = Field::new();
    let fault = "statx:error=EIO";
    let (code, out, err) = field.run(CTX_GC, &["--keep-last", "2"], fault, &[&field.meta(0)]);
    assert_eq!(code, Some(3), "{out}{err}");
    assert!(field.meta(0).exists(), "{out}{err}");
    let told = format!("ctx-gc: snapshot {} could not be read: ", field.ids[0]);
    assert!(err.contains(&told), "{err}");
}
