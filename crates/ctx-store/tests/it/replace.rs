//! Replaces session files: which files are refused, which lines are carried over, and which files
//! remain.

use std::convert::Infallible;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::{Bench, session, show};
use ctx_store::{
    Addition, Figures, MinIdle, NewContent, ReplaceOutcome, SessionFile, Severity, SnapshotKind,
    StoreError, refuse_replacement,
};

fn refused(bench: &Bench, path: &Path) -> StoreError {
    let snapshot = bench.take(b"new\n");
    bench.restore(path, &snapshot).expect_err("refused")
}

#[test]
fn only_plain_files_with_one_name_are_replaced() {
    let bench = Bench::new();
    let live = bench.file("s.jsonl", b"old\n");
    let fifo = bench.path("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).expect("mkfifo");
    symlink(&live, bench.path("link")).expect("links");
    fs::create_dir(bench.path("dir")).expect("mkdir");
    for (path, why) in [
        (fifo, "is a FIFO"),
        (bench.path("link"), "is a symbolic link"),
        (bench.path("dir"), "is a directory"),
        (PathBuf::from("/dev/null"), "is a device or a socket"),
    ] {
        let error = refused(&bench, &path);
        assert!(error.to_string().ends_with(why), "{error}");
        let Err(error) = bench.store.draft_of(&path) else {
            panic!("refused: {why}");
        };
        assert!(error.to_string().ends_with(why));
    }
    fs::hard_link(&live, bench.path("other")).expect("links");
    let error = refused(&bench, &live);
    assert!(error.to_string().contains("hard links"), "{error}");
    assert_eq!(fs::read(&live).expect("reads"), b"old\n");
}

/// L1: a file is refused while it is open for writing, locked by another process, or being changed
/// by another run.
#[test]
fn a_file_in_use_is_left_alone() {
    let bench = Bench::new();
    let live = bench.file("s.jsonl", b"old\n");
    let writer = OpenOptions::new().append(true).open(&live).expect("opens");
    let error = refused(&bench, &live);
    assert_eq!(error.severity(), Severity::Busy);
    assert!(error.to_string().contains(&format!("pid {}", std::process::id())), "{error}");
    drop(writer);

    let locked = File::open(&live).expect("opens");
    locked.lock().expect("locks");
    assert_eq!(refused(&bench, &live).severity(), Severity::Busy);
    drop(locked);

    let lock = bench.store.lock_session(&crate::session()).expect("locks");
    let error = refused(&bench, &live);
    assert!(error.to_string().contains("by test (pid "), "{error}");
    drop(lock);
    assert_eq!(fs::read(&live).expect("reads"), b"old\n");
    assert_eq!(bench.names("."), ["s.jsonl", "store"]);
}

/// A reader of new content that triggers an event on the live file when it is read.
struct Meanwhile<F> {
    content: &'static [u8],
    act: Option<F>,
}

impl<F: FnOnce()> Read for Meanwhile<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(act) = self.act.take() {
            act();
        }
        self.content.read(buffer)
    }
}

const NEW: &[u8] = b"new 1\nnew 2";
/// The sha256 of [`NEW`].
fn new_hash(bench: &Bench) -> String {
    bench.take(NEW).meta.sha256
}

fn replace_while(
    bench: &Bench,
    live: &Path,
    act: impl FnOnce(),
) -> Result<ReplaceOutcome, StoreError> {
    let hash = new_hash(bench);
    let mut reader = Meanwhile { content: NEW, act: Some(act) };
    bench.replace(live, &mut reader, &hash)
}

fn append(path: &Path, bytes: &[u8]) {
    let mut file = OpenOptions::new().append(true).open(path).expect("opens");
    file.write_all(bytes).expect("writes");
}

/// L3: a session grows between the read and the rename.
#[test]
fn what_arrives_meanwhile_is_carried_over() {
    let bench = Bench::new();
    let live = bench.file("s.jsonl", b"old 1\n");
    let replaced = replace_while(&bench, &live, || append(&live, b"late\n")).expect("replaces");
    assert!(
        matches!(replaced, ReplaceOutcome::New { late_bytes: 5, retained: None, .. }),
        "{replaced:?}"
    );
    assert_eq!(fs::read(&live).expect("reads"), b"new 1\nnew 2\nlate\n");
}

/// L4: the last line is half written when the session is read, and completed before the exchange.
#[test]
fn a_line_that_was_being_written_comes_whole() {
    let bench = Bench::new();
    let live = bench.file("s.jsonl", b"old 1\n{\"half\":");
    let replaced = replace_while(&bench, &live, || append(&live, b"1}\n")).expect("replaces");
    assert!(matches!(replaced, ReplaceOutcome::New { .. }));
    assert_eq!(fs::read(&live).expect("reads"), b"new 1\nnew 2\n{\"half\":1}\n");
}

#[test]
fn a_line_that_was_being_written_goes_on_where_the_new_content_has_it() {
    let bench = Bench::new();
    for (line, whole) in
        [("new 2", "new 1\nnew 2 and more\n"), ("ew 2", "new 1\nnew 2\new 2 and more\n")]
    {
        let live = bench.file("s.jsonl", format!("old 1\n{line}").as_bytes());
        replace_while(&bench, &live, || append(&live, b" and more\n")).expect("replaces");
        assert_eq!(fs::read_to_string(&live).expect("reads"), whole);
    }
}

/// L5, L6: another program edits, truncates or replaces a session during the replacement.
#[test]
fn edits_cuts_and_other_files_stop_the_replacement() {
    type Act = fn(&Path);
    let acts: [(&str, Act); 3] = [
        ("edited", |path| fs::write(path, "OLD 1\n").expect("writes")),
        ("cut", |path| fs::write(path, "").expect("writes")),
        ("replaced", |path| {
            let other = path.with_file_name("other");
            fs::write(&other, "other\n").expect("writes");
            fs::rename(other, path).expect("renames");
        }),
    ];
    for (what, act) in acts {
        let bench = Bench::new();
        let live = bench.file("s.jsonl", b"old 1\n");
        let error = replace_while(&bench, &live, || act(&live)).expect_err(what);
        assert_eq!(error.severity(), Severity::Busy, "{what}: {error}");
        assert!(!fs::read(&live).expect("reads").starts_with(b"new"), "{what}");
        assert_eq!(bench.names("."), ["s.jsonl", "store"], "{what}");
    }
}

#[test]
fn content_with_another_hash_is_never_put_in_place() {
    let bench = Bench::new();
    let live = bench.file("s.jsonl", b"old 1\n");
    let error = bench.replace(&live, &mut &b"nothing\n"[..], &"0".repeat(64)).expect_err("refused");
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert_eq!(fs::read(&live).expect("reads"), b"old 1\n");
    let gone = bench.path("gone.jsonl");
    bench.replace(&gone, &mut &b"nothing\n"[..], &"0".repeat(64)).expect_err("refused");
    assert_eq!(bench.names("."), ["s.jsonl", "store"]);
}

#[test]
fn a_file_that_is_gone_is_made_anew() {
    let bench = Bench::new();
    let snapshot = bench.take(b"new\n");
    let replaced = bench.restore(&bench.path("s.jsonl"), &snapshot).expect("creates");
    assert!(matches!(replaced, ReplaceOutcome::Created));
    let mode = fs::metadata(bench.path("s.jsonl")).expect("stat").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(fs::read(bench.path("s.jsonl")).expect("reads"), b"new\n");
}

#[test]
fn a_file_that_appears_meanwhile_is_not_overwritten() {
    let bench = Bench::new();
    let live = bench.path("s.jsonl");
    let error = replace_while(&bench, &live, || {
        fs::write(&live, "mine\n").expect("writes");
    });
    let error = error.expect_err("refused");
    assert_eq!(error.severity(), Severity::Busy, "{error}");
    assert_eq!(fs::read(&live).expect("reads"), b"mine\n");
    assert_eq!(bench.names("."), ["s.jsonl", "store"]);
}

/// Creates a replaced file with this content under its second name, as a killed run leaves it.
/// Returns the paths of the live file and of that file.
fn leave(bench: &Bench, content: &[u8]) -> (PathBuf, PathBuf) {
    let live = bench.file("s.jsonl", b"old\n");
    let hash = new_hash(bench);
    let replaced = bench.replace(&live, &mut &NEW[..], &hash).expect("replaces");
    let ReplaceOutcome::New { before, .. } = replaced else { panic!("{replaced:?}") };
    let name = before.meta.retained.clone().expect("a name");
    assert_eq!(name, format!(".s.jsonl.ctx-old-{}", before.meta.sequence));
    (live, bench.file(&name, content))
}

#[test]
fn a_quiet_replaced_file_is_removed() {
    let bench = Bench::new();
    let (_, retained) = leave(&bench, b"old\n");
    let swept = bench.store.sweep_retained(None).expect("sweeps");
    assert!(swept.late.is_empty());
    assert!(!retained.exists());
}

/// C6: after a power failure, the lock file shows only that a run was active.
#[test]
fn what_a_power_cut_left_is_removed_by_the_next_run() {
    let bench = Bench::new();
    let (live, retained) = leave(&bench, b"old\n");
    let unfinished = bench.file(".s.jsonl.ctx-tmp-1-2-3", b"half of");
    fs::remove_file(bench.path("store/recent/demo")).expect("removes");
    fs::write(bench.path("store/locks/demo"), "{\"pid\":1,\"tool\":\"test\"}").expect("writes");
    let hash = bench.take(b"newer\n").meta.sha256;
    bench.replace(&live, &mut &b"newer\n"[..], &hash).expect("replaces");
    assert!(!retained.exists() && !unfinished.exists());
    assert_eq!(bench.names("."), ["s.jsonl", "store"]);
}

#[test]
fn what_was_written_to_a_replaced_file_is_saved() {
    let bench = Bench::new();
    let (_, retained) = leave(&bench, b"old\n");
    let mut writer = OpenOptions::new().append(true).open(&retained).expect("opens");
    writer.write_all(b"late\n").expect("writes");
    let swept = bench.store.sweep_retained(None).expect("sweeps");
    assert_eq!(swept.busy.len(), 1, "somebody still writes it");
    drop(writer);
    let swept = bench.store.sweep_retained(None).expect("sweeps");
    assert!(swept.busy.is_empty());
    assert_eq!(show(&bench.store, &swept.late[0].to_string()), b"old\nlate\n");
    assert!(!retained.exists());
    assert_eq!(show(&bench.store, "latest"), NEW, "it is not what anybody asked to keep");
}

#[test]
fn a_run_killed_before_the_rename_leaves_two_names_of_one_file() {
    let bench = Bench::new();
    let (live, retained) = leave(&bench, b"");
    fs::remove_file(&retained).expect("removes");
    fs::hard_link(&live, &retained).expect("links");
    let hash = bench.take(b"newer\n").meta.sha256;
    bench.replace(&live, &mut &b"newer\n"[..], &hash).expect("replaces");
    assert_eq!(fs::read(&live).expect("reads"), b"newer\n");
    assert_eq!(bench.names("."), ["s.jsonl", "store"]);
}

/// A path in a store is a snapshot or another of the tools' files, never a session.
#[test]
fn a_path_in_a_store_is_refused_by_all_that_writes() {
    let bench = Bench::new();
    let snapshot = bench.take(b"old\n");
    let other = bench.take(b"new\n");
    let inside = bench.store.data_path(&snapshot.id);
    let absent = bench.path("store/memory/no.jsonl");
    for path in [&inside, &absent] {
        let errors = [
            refuse_replacement(path).expect_err("refused"),
            bench.restore(path, &other).expect_err("refused"),
            SessionFile::open_replaceable(path).expect_err("refused"),
        ];
        for error in errors {
            assert!(matches!(error, StoreError::InStore { .. }), "{error}");
        }
        let Err(error) = bench.store.draft_of(path) else {
            panic!("refused");
        };
        assert!(matches!(error, StoreError::InStore { .. }), "{error}");
    }
    assert!(!absent.exists());
    assert_eq!(fs::read(&inside).expect("reads"), b"old\n");
}

/// A dry run refuses every file that the real run refuses, and it never blocks.
#[test]
fn a_dry_run_asks_what_the_real_one_asks() {
    let bench = Bench::new();
    let live = bench.file("s.jsonl", b"old\n");
    refuse_replacement(&live).expect("a plain file");
    refuse_replacement(&bench.path("new.jsonl")).expect("nothing is there");
    refuse_replacement(&bench.path("no/new.jsonl")).expect_err("no folder");
    let fifo = bench.path("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).expect("mkfifo");
    symlink(&live, bench.path("link")).expect("links");
    fs::hard_link(&live, bench.path("other")).expect("links");
    for path in [fifo, bench.path("link"), bench.path("other"), live.clone()] {
        let asked = refuse_replacement(&path).expect_err("refused").to_string();
        assert_eq!(asked, refused(&bench, &path).to_string());
    }
    fs::remove_file(bench.path("other")).expect("removes");
    let _writer = OpenOptions::new().append(true).open(&live).expect("opens");
    let asked = refuse_replacement(&live).expect_err("refused");
    assert_eq!(asked.severity(), Severity::Busy);
}

/// A reader of new content that appends a line to the live file when it is read.
struct Appending<'a> {
    content: &'a [u8],
    live: Option<&'a Path>,
}

impl Read for Appending<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if let Some(live) = self.live.take() {
            append(live, b"late\n");
        }
        self.content.read(buffer)
    }
}

/// C4: other files in the store are written after the old bytes are in a snapshot and before the
/// session changes. If these files cannot be written, the session stays unchanged, and no leftovers
/// remain.
#[test]
fn what_is_written_first_finds_the_snapshot_and_may_stop_all() {
    for appends in [false, true] {
        for fails in [true, false] {
            let bench = Bench::new();
            let live = bench.file("s.jsonl", b"old\n");
            let sha256 = new_hash(&bench);
            let snapshots = || bench.store.catalog(None).expect("lists").entries.len();
            let before = snapshots();
            let begun = bench.store.begin_replacement(&live, &session(), MinIdle::default());
            let begun = begun.expect("claimed");
            let first = || {
                assert_eq!(snapshots(), before + 1);
                assert_eq!(fs::read(&live).expect("reads"), b"old\n");
                if fails { Err("full") } else { Ok(()) }
            };
            let (operation, kind) = ("compact", SnapshotKind::PreCompact);
            let done = if appends {
                let addition =
                    Addition { lines: NEW, operation, kind, figures: Figures::default() };
                begun.append_after(addition, first)
            } else {
                let mut new = NewContent {
                    reader: &mut &*NEW,
                    sha256: &sha256,
                    operation,
                    kind,
                    figures: Figures::default(),
                };
                begun.commit_after(&mut new, first)
            };
            let done = done.expect("nothing of the store fails");
            assert_eq!(done.err(), fails.then_some("full"));
            assert_eq!(snapshots(), before + usize::from(!fails));
            let is_old = fs::read(&live).expect("reads") == b"old\n";
            assert_eq!(is_old, fails);
        }
    }
}

/// New content that was not made from a file replaces it only if the file has not changed since it
/// was checked.
#[test]
fn a_file_that_grew_since_the_look_is_left_alone() {
    for grows_late in [false, true] {
        let bench = Bench::new();
        let live = bench.file("s.jsonl", b"old 1\n");
        let sha256 = new_hash(&bench);
        let succeed = |late: Option<&Path>| {
            let succession =
                bench.store.replace_other(&live, None, MinIdle::default()).expect("a plain file");
            if late.is_some() && !grows_late {
                append(&live, b"more\n");
            }
            let mut new = NewContent {
                reader: &mut Appending { content: NEW, live: late.filter(|_| grows_late) },
                sha256: &sha256,
                operation: "output",
                kind: SnapshotKind::PreCompact,
                figures: Figures::default(),
            };
            let done = succession.commit_after(&mut new, || Ok::<(), Infallible>(()));
            done.map(|Ok(done)| done)
        };
        let error = succeed(Some(&live)).expect_err("it grew");
        assert!(matches!(error, StoreError::Changed(_)), "{error}");
        let kept = fs::read_to_string(&live).expect("reads");
        let grown = ["old 1\nmore\n", "old 1\nlate\n"][usize::from(grows_late)];
        assert_eq!(kept, grown);

        let done = succeed(None);
        assert!(matches!(done, Ok(ReplaceOutcome::New { .. })), "{done:?}");
        assert_eq!(fs::read(&live).expect("reads"), NEW);
    }
}
