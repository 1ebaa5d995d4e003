//! An agent writes while a replacement is delayed: between the last check and the exchange, between
//! the exchange and the carry-over, or before the old file loses its last name. No line is lost or
//! torn, and if the kernel can delay other processes, the lines keep their order.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::tests::moments::{Act, around_exchanges, without_leases};
use crate::tests::{Agent, Bench, id};
use crate::{
    Figures, MinIdle, NewContent, ReplaceOutcome, SharedFolder, SnapshotKind, StoreError, hash,
};

const OLD: &str = "old\n";
const NEW: &str = "new\n";
/// Longer than a tool waits for a process that has the old file open.
const LONG: Duration = Duration::from_millis(120);

fn held_up() -> Act {
    Box::new(|| thread::sleep(LONG / 3))
}

fn append(path: &Path) -> File {
    let file = OpenOptions::new().append(true).open(path);
    file.expect("opens")
}

fn write(mut file: &File, text: &str) {
    file.write_all(text.as_bytes()).expect("written");
}

/// Writes to the old file, closes it, and waits until another file has the old file's name.
fn append_before_exchange(path: &Path, text: &str) {
    let file = append(path);
    write(&file, text);
    let old = file.metadata().expect("stat").ino();
    drop(file);
    let begun = Instant::now();
    while fs::metadata(path).expect("stat").ino() == old {
        assert!(begun.elapsed() < Duration::from_secs(20), "no exchange");
        thread::sleep(Duration::from_micros(200));
    }
}

/// A reader of new content that triggers an event when it is read.
struct Meanwhile<F>(&'static [u8], Option<F>);

impl<F: FnOnce()> Read for Meanwhile<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(act) = self.1.take() {
            act();
        }
        self.0.read(buffer)
    }
}

fn replace_while(
    bench: &Bench,
    path: &Path,
    act: impl FnOnce(),
) -> Result<ReplaceOutcome, StoreError> {
    let sha256 = hash(&mut NEW.as_bytes()).expect("from memory");
    let mut new = NewContent {
        reader: &mut Meanwhile(NEW.as_bytes(), Some(act)),
        sha256: &sha256,
        operation: "compact",
        kind: SnapshotKind::PreCompact,
        figures: Figures::default(),
    };
    bench.store.replace(path, &id("demo"), MinIdle::default(), &mut new)
}

fn replace(bench: &Bench, path: &Path) {
    let replaced = replace_while(bench, path, || {}).expect("replaced");
    assert!(matches!(replaced, ReplaceOutcome::New { .. }));
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).expect("reads")
}

/// Returns the contents of the session file and of all snapshots after the next sweep.
fn found(bench: &Bench, path: &Path) -> Vec<String> {
    without_leases(false);
    bench.store.sweep_retained(None).expect("swept");
    let entries = bench.store.catalog(None).expect("lists").entries;
    let saved = entries.iter().map(|entry| text(&bench.store.data_path(&entry.id)));
    let found = [text(path)].into_iter().chain(saved).collect();
    let mut left = crate::fs::file_names(bench.dir.path()).expect("reads");
    left.sort();
    assert_eq!(left, ["s.jsonl", "store"]);
    found
}

fn holds_line(found: &[String], line: &str) -> bool {
    found.iter().any(|file| file.lines().any(|it| it == line))
}

/// Runs a test twice: with the leases of this system, if it has any, and without leases.
fn with_and_without_leases(test: impl Fn(&Bench, &PathBuf)) {
    for without in [false, true] {
        without_leases(without);
        let bench = Bench::new();
        let path = bench.file("s.jsonl", OLD);
        test(&bench, &path);
        without_leases(false);
    }
}

/// L2: lines written through the old file come before lines written through the new one, however
/// long the tool is delayed in between, and the halves of a line stay together.
#[test]
fn what_two_descriptors_write_stays_in_order() {
    for (first, second) in [("one\n", "two\n"), ("{\"ha", "lf\"}\n")] {
        let bench = Bench::new();
        let path = bench.file("s.jsonl", OLD);
        let agent = Agent::new({
            let path = path.clone();
            move || {
                append_before_exchange(&path, first);
                write(&append(&path), second);
            }
        });
        around_exchanges([agent.starts(), held_up()]);
        replace(&bench, &path);
        agent.ends();
        assert_eq!(text(&path), format!("{NEW}{first}{second}"));
    }
}

/// L2: a process that reads the session right after the exchange and rewrites it does not lose a
/// line that was still being carried over.
#[test]
fn a_session_written_anew_from_what_was_just_read_lacks_no_line() {
    with_and_without_leases(|bench, path| {
        let agent = Agent::new({
            let path = path.clone();
            move || {
                append_before_exchange(&path, "line\n");
                let anew = text(&path) + "next\n";
                let beside = path.with_extension("theirs");
                fs::write(&beside, anew).expect("written");
                fs::rename(&beside, &path).expect("renamed");
            }
        });
        around_exchanges([agent.starts(), held_up()]);
        replace(bench, path);
        agent.ends();
        let found = found(bench, path);
        assert!(holds_line(&found, "line"), "{found:?}");
        assert!(holds_line(&found, "next"), "{found:?}");
    });
}

/// L2: an agent finds the old file by its name, but opens it only after the last check found no
/// writer.
#[test]
fn an_open_that_was_under_way_loses_nothing() {
    let bench = Bench::new();
    let path = bench.file("s.jsonl", OLD);
    let dir = bench.dir.path().to_owned();
    let act: Act = Box::new(move || {
        let names = crate::fs::file_names(&dir).expect("reads");
        let aside = names.iter().find(|name| name.contains(".ctx-old-"));
        write(&append(&dir.join(aside.expect("there"))), "line\n");
    });
    around_exchanges([None, None, Some(act)]);
    replace(&bench, &path);
    let found = found(&bench, &path);
    assert!(holds_line(&found, "line"), "{found:?}");
}

/// L6: at the moment of the exchange, an agent overwrites a session's last line in place, as agents
/// do if they show an answer while it grows. The overwritten line is newer than the snapshot.
#[test]
fn a_line_that_is_edited_after_it_was_carried_over_is_kept() {
    for last in ["final\n", "a longer one\n", "x\n"] {
        with_and_without_leases(|bench, path| {
            let agent = Agent::new({
                let path = path.clone();
                move || {
                    let file = OpenOptions::new().write(true).open(&path);
                    let mut file = file.expect("opens");
                    file.set_len(OLD.len() as u64).expect("cut");
                    file.seek(SeekFrom::End(0)).expect("at the end");
                    write(&file, last);
                }
            });
            around_exchanges([agent.starts()]);
            let draft = || write(&append(path), "draft\n");
            replace_while(bench, path, draft).expect("replaced");
            agent.ends();
            let found = found(bench, path);
            assert!(holds_line(&found, last.trim_end()), "{last:?}: {found:?}");
        });
    }
}

/// L4: an agent stops in the middle of a line, with the old file open, for longer than the tool
/// waits. Another agent's line is not joined to the unfinished one.
#[test]
fn half_a_line_is_not_put_before_the_line_of_another() {
    let bench = Bench::new();
    let path = bench.file("s.jsonl", OLD);
    let agent = Agent::new({
        let path = path.clone();
        move || {
            let old = append(&path);
            write(&old, "first\nha");
            thread::sleep(LONG);
            write(&append(&path), "next\n");
            write(&old, "lf\n");
        }
    });
    around_exchanges([agent.starts()]);
    replace(&bench, &path);
    agent.ends();
    assert_eq!(text(&path), "new\nfirst\nnext\n");
    let found = found(&bench, &path);
    assert!(holds_line(&found, "half"), "{found:?}");
}

/// Bytes written to a replaced file while it is being saved are kept.
#[test]
fn a_sweep_removes_only_what_is_as_it_was_saved() {
    let bench = Bench::new();
    let path = bench.file("s.jsonl", OLD);
    replace(&bench, &path);
    let aside = bench.file(".s.jsonl.ctx-old-1", "old\nlate\n");
    let act: Act = {
        let aside = aside.clone();
        Box::new(move || write(&append(&aside), "later\n"))
    };
    around_exchanges([act]);
    bench.store.sweep_retained(None).expect("swept");
    assert_eq!(text(&aside), "old\nlate\nlater\n");
    assert!(holds_line(&found(&bench, &path), "later"));
}

/// L2: an editor or logger that keeps a memory file open loses nothing that it writes to the file.
#[test]
fn a_shared_file_that_somebody_holds_open_is_left_alone() {
    let bench = Bench::new();
    let path = bench.file("s.jsonl", OLD);
    let folder = SharedFolder::lock(bench.dir.path()).expect("a lock");
    let add = || folder.read("s.jsonl").expect("reads").append(b"more\n");

    let holder = append(&path);
    let error = add().expect_err("open for writing");
    assert!(matches!(error, StoreError::Busy(_)), "{error}");
    write(&holder, "line\n");
    drop(holder);
    assert_eq!(text(&path), "old\nline\n");

    // A process opens the file and writes to it between the check and the exchange.
    let agent = Agent::new({
        let path = path.clone();
        move || {
            let file = append(&path);
            thread::sleep(LONG);
            write(&file, "late\n");
        }
    });
    around_exchanges([agent.starts()]);
    let error = add().expect_err("open for writing");
    assert!(matches!(error, StoreError::Changed(_)), "{error}");
    agent.ends();
    assert_eq!(text(&path), "old\nline\nlate\n");
    let left = crate::fs::file_names(bench.dir.path()).expect("reads");
    assert!(!left.iter().any(|name| name.contains(".ctx-")), "{left:?}");
}
