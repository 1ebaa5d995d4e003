//! Appends lines to session files. Whatever happens in the meantime, and wherever the run is
//! killed, the old lines and the agent's lines stay unchanged.

use std::fs::{self, File, FileTimes, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::MetadataExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::SnapshotChoice;
use crate::tests::moments::{Act, Write, around_exchanges, let_writes, without_leases};
use crate::tests::{Agent, Bench, id};
use crate::{Addition, Figures, Meta, MinIdle, ReplaceOutcome, SnapshotKind, Store, StoreError};

const OLD: &str = "{\"type\":\"user\",\"n\":1}\n";
/// Two lines that begin like an agent's lines.
const LINES: &str = "{\"type\":\"user\",\"sum\":{\"a\":1}}\n{\"type\":\"user\",\"text\":\"{\"}\n";
/// The lengths after which a write may stop: at newlines, next to them, and where our bytes equal
/// an agent's.
const ENDS: [usize; 11] = [0, 1, 8, 23, 29, 30, 31, 39, 54, 56, LINES.len()];
const THEIRS: &str = "{\"type\":\"user\",\"n\":2}\n";

fn append_lines(store: &Store, path: &Path, lines: &str) -> Result<ReplaceOutcome, StoreError> {
    let claimed = store.begin_replacement(path, &id("demo"), MinIdle::default())?;
    claimed.append(Addition {
        lines: lines.as_bytes(),
        operation: "compact",
        kind: SnapshotKind::PreCompact,
        figures: Figures::default(),
    })
}

fn append(bench: &Bench, path: &Path) -> Result<ReplaceOutcome, StoreError> {
    append_lines(&bench.store, path, LINES)
}

/// Writes like an agent that reopens its file for each line.
fn write(path: &Path, text: &str) {
    let mut file = OpenOptions::new().append(true).open(path).expect("opens");
    file.write_all(text.as_bytes()).expect("written");
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).expect("reads")
}

fn metas(bench: &Bench) -> Vec<Meta> {
    let entries = bench.store.catalog(None).expect("lists").entries;
    let whole = entries.into_iter().map(|entry| {
        bench.store.open_verified(&entry).expect("whole");
        entry.meta.expect("whole")
    });
    whole.collect()
}

/// Checks that the folder contains only the session, and that the store has no record of an
/// addition.
fn nothing_is_left(bench: &Bench) {
    let left = |dir: &Path| {
        let mut names = crate::fs::file_names(dir).expect("reads");
        names.sort();
        names
    };
    assert_eq!(left(bench.dir.path()), ["s.jsonl", "store"]);
    let none: [&str; 0] = [];
    assert_eq!(left(&bench.store.root.join("appending")), none);
    assert_eq!(left(&bench.store.tmp()), none);
}

/// Creates a session file whose last change was an hour ago.
fn live(bench: &Bench) -> PathBuf {
    let path = bench.file("s.jsonl", OLD);
    let at = SystemTime::now() - Duration::from_secs(3600);
    let file = File::options().write(true).open(&path).expect("opens");
    file.set_times(FileTimes::new().set_modified(at)).expect("set");
    path
}

/// Runs an addition that is killed after it has written this many bytes.
fn killed(bench: &Bench, path: &Path, written: usize) {
    let kill = || -> Act { Box::new(|| panic!("killed")) };
    if written == LINES.len() {
        around_exchanges([None, Some(kill())]);
    } else if written == 0 {
        let_writes([Write::After(kill())]);
    } else {
        let_writes([Write::Short(written), Write::After(kill())]);
    }
    let run = catch_unwind(AssertUnwindSafe(|| append(bench, path)));
    run.expect_err("killed");
    let expected = format!("{OLD}{}", &LINES[..written]);
    assert_eq!(text(path), expected);
}

/// Lets the next run lock the file, which cleans up after a killed run, and returns the content of
/// the file.
fn next_run(bench: &Bench, path: &Path) -> String {
    let claimed = bench.store.begin_replacement(path, &id("demo"), MinIdle::default());
    drop(claimed.expect("claimed"));
    nothing_is_left(bench);
    text(path)
}

fn undo(bench: &Bench, path: &Path) -> String {
    let found = bench.store.find_restore(&id("demo"), SnapshotChoice::Undo(Some(path)));
    found.expect("found").restore(path, MinIdle::default()).expect("restored");
    text(path)
}

#[test]
fn lines_stand_behind_the_old_ones() {
    let bench = Bench::new();
    let path = live(&bench);
    let inode = fs::metadata(&path).expect("stat").ino();
    let ReplaceOutcome::New { before, .. } = append(&bench, &path).expect("appended") else {
        panic!("nothing was done");
    };
    assert_eq!(text(&path), format!("{OLD}{LINES}"));
    assert_eq!(fs::metadata(&path).expect("stat").ino(), inode);
    assert_eq!(text(&bench.store.data_path(&before.id)), OLD);
    assert_eq!(before.meta.retained, None);
    let new = before.meta.replaced_by.expect("known");
    let sha256 = crate::hash(&mut File::open(&path).expect("opens")).expect("reads");
    assert_eq!((new.bytes, new.sha256), (text(&path).len() as u64, sha256));
    let log = text(&bench.store.audit_log());
    let added = format!("\"added_bytes\":{}", LINES.len());
    let of_it: Vec<&str> = log.lines().filter(|line| line.contains(&added)).collect();
    assert_eq!(of_it.len(), 2, "{log}");
    assert!(of_it[0].contains("\"phase\":\"intent\""), "{log}");
    assert!(of_it[1].contains("\"phase\":\"done\""), "{log}");
    nothing_is_left(&bench);
    let none = append_lines(&bench.store, &path, "").expect("nothing to do");
    assert!(matches!(none, ReplaceOutcome::Same));
}

/// L4: an unfinished line stays separate from the appended lines.
#[test]
fn half_a_line_is_no_part_of_ours() {
    let bench = Bench::new();
    let path = bench.file("s.jsonl", "{\"a\":1}\n{\"half");
    append_lines(&bench.store, &path, "{\"b\":2}").expect("appended");
    assert_eq!(text(&path), "{\"a\":1}\n{\"half\n{\"b\":2}\n");
    assert_eq!(undo(&bench, &path), "{\"a\":1}\n{\"half");
}

/// L3, L5, L6: nothing is appended unless the file is exactly as it was read.
#[test]
fn a_file_that_changed_meanwhile_is_left_alone() {
    type Change = fn(&Path);
    let acts: [(&str, Change); 6] = [
        ("grown", |path| write(path, THEIRS)),
        ("cut", |path| fs::write(path, "").expect("written")),
        ("edited", |path| {
            fs::write(path, OLD.to_uppercase()).expect("written");
        }),
        ("another", |path| {
            let beside = path.with_extension("theirs");
            fs::copy(path, &beside).expect("copied");
            fs::rename(&beside, path).expect("renamed");
        }),
        ("gone", |path| fs::remove_file(path).expect("removed")),
        ("a link", |path| {
            fs::rename(path, path.with_extension("x")).expect("renamed");
            std::os::unix::fs::symlink(path.with_extension("x"), path).expect("linked");
        }),
    ];
    for (what, act) in acts {
        for early in [true, false] {
            let bench = Bench::new();
            let path = live(&bench);
            let expected = {
                let other = Bench::new();
                let path = live(&other);
                act(&path);
                fs::read_to_string(&path).ok()
            };
            let done = if early {
                let claimed = bench.store.begin_replacement(&path, &id("demo"), MinIdle::default());
                let claimed = claimed.expect("claimed");
                act(&path);
                claimed.append(Addition {
                    lines: LINES.as_bytes(),
                    operation: "compact",
                    kind: SnapshotKind::PreCompact,
                    figures: Figures::default(),
                })
            } else {
                let path = path.clone();
                around_exchanges([Box::new(move || act(&path)) as Act]);
                append(&bench, &bench.dir.path().join("s.jsonl"))
            };
            let error = done.expect_err(what);
            let is_told = matches!(error, StoreError::Changed(_))
                || matches!(error, StoreError::Io { .. } | StoreError::Refused { .. });
            assert!(is_told, "{what}: {error}");
            assert_eq!(fs::read_to_string(&path).ok(), expected, "{what}");
            assert_eq!(metas(&bench), [], "{what}");
            let notes = crate::fs::file_names(&bench.store.root.join("appending"));
            assert_eq!(notes.expect("reads").len(), 0, "{what}");
        }
    }
}

/// L1: a process that has the file open for writing may write anything, anywhere.
#[test]
fn a_file_that_somebody_opens_to_write_is_left_alone() {
    let bench = Bench::new();
    let path = live(&bench);
    let claimed = bench.store.begin_replacement(&path, &id("demo"), MinIdle::default());
    let claimed = claimed.expect("claimed");
    let _writer = OpenOptions::new().append(true).open(&path).expect("opens");
    let error = claimed
        .append(Addition {
            lines: LINES.as_bytes(),
            operation: "compact",
            kind: SnapshotKind::PreCompact,
            figures: Figures::default(),
        })
        .expect_err("open for writing");
    assert!(matches!(error, StoreError::Busy(_)), "{error}");
    assert_eq!(text(&path), OLD);
    assert_eq!(metas(&bench), []);
    nothing_is_left(&bench);
}

/// C9: a write that takes several calls is still complete.
#[test]
fn short_and_interrupted_writes_go_on() {
    let bench = Bench::new();
    let path = live(&bench);
    let_writes([Write::Short(1), Write::Fails(ErrorKind::Interrupted), Write::Short(7)]);
    append(&bench, &path).expect("appended");
    assert_eq!(text(&path), format!("{OLD}{LINES}"));
}

/// C3, C4: a partial write is cut off at once.
#[test]
fn a_write_that_fails_leaves_nothing() {
    for written in [0, 1, LINES.len() - 1] {
        let bench = Bench::new();
        let path = live(&bench);
        let before = fs::metadata(&path).expect("stat").modified();
        let_writes([Write::Short(written.max(1)), Write::Fails(ErrorKind::StorageFull)]);
        if written == 0 {
            let_writes([Write::Fails(ErrorKind::StorageFull)]);
        }
        let error = append(&bench, &path).expect_err("full");
        assert!(matches!(error, StoreError::NotWritten { .. }), "{error}");
        assert_eq!(text(&path), OLD);
        let after = fs::metadata(&path).expect("stat").modified();
        assert_eq!(after.expect("known"), before.expect("known"));
        assert_eq!(metas(&bench), []);
        nothing_is_left(&bench);
    }
}

/// L2: if an agent writes in the middle of our write, its line is kept, and our write stops. The
/// next run separates the agent's line from our bytes.
#[test]
fn a_line_behind_a_part_of_ours_is_not_cut() {
    for written in ENDS[1..ENDS.len() - 1].iter().copied() {
        let bench = Bench::new();
        let path = live(&bench);
        let act: Act = {
            let path = path.clone();
            Box::new(move || write(&path, THEIRS))
        };
        let_writes([Write::Short(written), Write::After(act)]);
        without_leases(true);
        let error = append(&bench, &path).expect_err("not alone");
        without_leases(false);
        assert!(matches!(error, StoreError::Uncertain { .. }), "{error}");
        let part = &LINES[..written];
        assert_eq!(text(&path), format!("{OLD}{part}{THEIRS}"));
        write(&path, "{\"n\":3}\n");
        let expected = format!("{OLD}{THEIRS}{{\"n\":3}}\n");
        assert_eq!(next_run(&bench, &path), expected, "{written}");
    }
}

/// L2: if an agent opens its file while we are writing, its line follows ours.
#[test]
fn an_agent_waits_for_the_end_of_a_write() {
    let bench = Bench::new();
    let path = live(&bench);
    let agent = Agent::new({
        let path = path.clone();
        move || write(&path, THEIRS)
    });
    let_writes([Write::Short(3), Write::After(agent.starts())]);
    append(&bench, &path).expect("appended");
    agent.ends();
    assert_eq!(text(&path), format!("{OLD}{LINES}{THEIRS}"));
}

/// L2: a process that only reads the file does not block the addition.
#[test]
fn a_reader_hinders_nobody() {
    let bench = Bench::new();
    let path = live(&bench);
    let _reader = File::open(&path).expect("opens");
    append(&bench, &path).expect("appended");
    assert_eq!(text(&path), format!("{OLD}{LINES}"));
}

/// C11: wherever a run is killed, the next run leaves either only the old lines, or the old lines
/// and all new ones.
#[test]
fn what_a_killed_run_has_begun_is_cut_off() {
    for written in ENDS {
        let bench = Bench::new();
        let path = live(&bench);
        let before = fs::metadata(&path).expect("stat").modified();
        killed(&bench, &path, written);
        let is_whole = written == LINES.len();
        let expected = if is_whole { LINES } else { "" };
        assert_eq!(next_run(&bench, &path), format!("{OLD}{expected}"));
        let after = fs::metadata(&path).expect("stat").modified();
        let same_time = before.expect("known") == after.expect("known");
        assert_eq!(same_time, !is_whole, "{written}");
        if is_whole {
            assert_eq!(undo(&bench, &path), OLD);
        } else {
            append(&bench, &path).expect("appended");
            assert_eq!(metas(&bench).len(), 1, "of one run");
            assert_eq!(undo(&bench, &path), OLD);
        }
    }
}

/// C11, L2: if an agent wrote lines after our incomplete ones, its lines are kept, and the old
/// content is in a snapshot.
#[test]
fn lines_behind_what_a_killed_run_has_begun_are_kept() {
    for written in ENDS {
        // Agents may write incomplete lines, which are kept.
        for theirs in [THEIRS, "{\"type\":\"user\",\"text\":\"{\\\"\"}\n{\"half"] {
            let bench = Bench::new();
            let path = live(&bench);
            killed(&bench, &path, written);
            write(&path, theirs);
            let torn = text(&path);
            let found = next_run(&bench, &path);
            let whole = if written == LINES.len() { LINES } else { "" };
            assert_eq!(found, format!("{OLD}{whole}{theirs}"), "{written}");
            let saved = metas(&bench).into_iter().map(|meta| {
                let id = crate::SnapshotId::parse(&meta.id).expect("an id");
                text(&bench.store.data_path(&id))
            });
            let is_there = saved.chain([found]).any(|bytes| bytes == torn);
            assert!(is_there, "{written}: {torn}");
        }
    }
}

/// C11: bytes of unclear origin are kept.
#[test]
fn what_may_be_an_agents_stays() {
    for theirs in ["no object\n", "{\"half", "\n", "\0\0\0"] {
        let bench = Bench::new();
        let path = live(&bench);
        killed(&bench, &path, 4);
        write(&path, theirs);
        let torn = text(&path);
        assert_eq!(next_run(&bench, &path), torn);
        append(&bench, &path).expect("appended");
        assert!(text(&path).starts_with(&torn));
    }
    // The file was rewritten after the run was killed.
    for anew in ["", "{}\n", "{\"type\":\"user\",\"n\":9}\n{\"type\":\"user\","] {
        let bench = Bench::new();
        let path = live(&bench);
        killed(&bench, &path, 4);
        fs::write(&path, anew).expect("written");
        assert_eq!(next_run(&bench, &path), anew);
    }
}

/// A note belongs to one file and does not affect a copy of the session.
#[test]
fn another_file_of_the_session_is_left_alone() {
    let bench = Bench::new();
    let path = live(&bench);
    killed(&bench, &path, 4);
    let copy = bench.file("copy.jsonl", &text(&path));
    drop(bench.store.begin_replacement(&copy, &id("demo"), MinIdle::default()));
    assert_eq!(text(&copy), text(&path));
    fs::remove_file(&copy).expect("removed");
    assert_eq!(next_run(&bench, &path), OLD);
}

/// The record of an addition contains lines from a session, so it is removed together with the
/// session.
#[test]
fn a_note_is_forgotten_with_its_session() {
    let bench = Bench::new();
    let path = live(&bench);
    killed(&bench, &path, 4);
    bench.store.forget(&id("other")).expect("forgotten");
    let notes = || crate::fs::file_names(&bench.store.root.join("appending")).expect("reads");
    assert_eq!(notes().len(), 1);
    bench.store.forget(&id("demo")).expect("forgotten");
    assert_eq!(notes().len(), 0);
}

/// An undo removes the lines, and another undo brings back what an agent has written since.
#[test]
fn undo_takes_an_addition_back() {
    let bench = Bench::new();
    let path = live(&bench);
    append(&bench, &path).expect("appended");
    for _ in 0..3 {
        write(&path, THEIRS);
    }
    let grown = text(&path);
    assert_eq!(undo(&bench, &path), OLD);
    assert_eq!(undo(&bench, &path), grown);
    append(&bench, &path).expect("appended again");
    let twice = text(&path);
    assert_eq!(undo(&bench, &path), grown);
    assert_eq!(undo(&bench, &path), twice);
}

/// L11: a running agent keeps its history in memory, so a file that changed recently is refused.
#[test]
fn a_file_that_changed_a_moment_ago_may_belong_to_an_agent_at_work() {
    let bench = Bench::new();
    let path = live(&bench);
    let begin = |seconds| {
        let idle = MinIdle(Some(Duration::from_secs(seconds)));
        let claimed = bench.store.begin_replacement(&path, &id("demo"), idle);
        let claimed = claimed.map(drop).map_err(|error| error.to_string());
        // A dry run gives the same answer.
        let seen = bench.store.replace_other(&path, Some(&id("demo")), idle);
        assert_eq!(claimed, seen.map(drop).map_err(|error| error.to_string()));
        claimed
    };
    begin(3500).expect("an hour ago");
    let error = begin(3700).expect_err("an hour ago");
    assert!(error.contains(" changed 59 min ago; a running agent"), "{error}");
    write(&path, THEIRS);
    let error = begin(600).expect_err("just now");
    assert!(error.contains(" changed just now; "), "{error}");
    begin(0).expect("nobody asked");
    bench.wait_days(1);
    begin(600).expect("yesterday");
    // A modification time in the future counts as now.
    bench.wait_days(-3);
    begin(600).expect_err("in two days");
    // A tool's own write is no sign of a running agent; a later write by another program is.
    bench.wait_days(2);
    append(&bench, &path).expect("appended");
    begin(600).expect("by us");
    // The check uses the snapshots themselves if the derived files are lost or out of date.
    let recent = bench.store.recent_dir();
    let kept = text(&recent.join("demo"));
    fs::remove_dir_all(&recent).expect("removed");
    begin(600).expect("by us");
    assert_eq!(undo(&bench, &path), format!("{OLD}{THEIRS}"));
    fs::write(recent.join("demo"), kept).expect("written");
    begin(600).expect("by us");
    write(&path, THEIRS);
    begin(600).expect_err("by an agent");
}
