//! Tests of `ctx-rollback`.

use std::fs::{self, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use ctx_testkit::{Case, Finished};

use crate::bench::{good, leftovers};
use crate::compact::messages;
use crate::snapshot::CTX_SNAPSHOT;

pub(crate) const CTX_ROLLBACK: &str = env!("CARGO_BIN_EXE_ctx-rollback");

pub(crate) const OLD: &str = "{\"role\":\"user\",\"content\":\"old\"}\n";
pub(crate) const NEW: &str = "{\"role\":\"user\",\"content\":\"new\"}\n";

/// Returns a quiet run of the tool; another test checks its messages.
fn rollback(dir: &Path) -> Case {
    Case::new(CTX_ROLLBACK).within(dir).stdout_any()
}

/// `s.jsonl` has the content NEW; its snapshot 1, of session demo, has OLD.
pub(crate) fn saved() -> Finished {
    let done = Case::new(CTX_SNAPSHOT)
        .file("s.jsonl", OLD)
        .args(["-s", "demo", "s.jsonl"])
        .stdout_any()
        .run();
    fs::write(done.dir().join("s.jsonl"), NEW).expect("writes");
    done
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .expect("reads")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Agents may rewrite their own files, for example to shorten them.
#[test]
fn an_undo_says_that_another_program_has_rewritten_the_file() {
    let done = saved();
    rollback(done.dir()).args(["-s", "demo", "--snapshot=latest", "s.jsonl"]).run();
    fs::write(done.dir().join("s.jsonl"), "{\"role\":\"user\",\"content\":\"its own\"}\n")
        .expect("writes");
    let undo = ["-s", "demo", "--undo", "s.jsonl"];
    let what = "s.jsonl was rewritten by another program since ctx last saw it";
    rollback(done.dir())
        .args(["-n"])
        .args(undo)
        .stdout_has(&format!("{what}; a new snapshot would keep its content\n"))
        .run();
    rollback(done.dir())
        .args(undo)
        .stderr_has(&format!("ctx-rollback: warning: {what}; its content is saved in demo-"))
        .run();
    assert_eq!(done.read("s.jsonl"), NEW.as_bytes());
    rollback(done.dir()).args(undo).run();
    assert_eq!(done.read("s.jsonl"), b"{\"role\":\"user\",\"content\":\"its own\"}\n");
}

#[test]
fn the_bytes_come_back_and_so_do_those_they_replace() {
    let done = saved();
    let undo = ["-s", "demo", "--undo", "s.jsonl"];
    for (args, content) in [
        (["-s", "demo", "--snapshot=latest", "s.jsonl"], OLD),
        (undo, NEW),
        (undo, OLD),
        // The rollback restores the requested snapshot, not one that was taken for an undo.
        (["-s", "demo", "--snapshot=latest", "s.jsonl"], OLD),
    ] {
        rollback(done.dir()).args(args).run();
        assert_eq!(done.read("s.jsonl"), content.as_bytes(), "{args:?}");
    }
    assert_eq!(names(done.dir()), [".local", "s.jsonl"]);
}

/// A run that was killed while it wrote its entry leaves the old version of the daily log. The next
/// run finds the file restored and has no entry to write.
#[test]
fn what_a_killed_run_left_of_its_entry_is_removed_though_nothing_is_restored() {
    let done = saved();
    let args = ["-s", "demo", "--snapshot=1", "s.jsonl"];
    rollback(done.dir()).args(args).run();
    let store = done.dir().join(".local/state/ctx");
    let daily = store.join("memory/daily");
    let name = names(&daily).pop().expect("the entry of the rollback");
    let log = fs::read(daily.join(&name)).expect("reads");
    let left = store.join("tmp").join(format!(".{name}.ctx-old-1-1-1-1"));
    fs::write(&left, &log).expect("writes");
    rollback(done.dir()).args(args).run();
    assert!(!left.exists());
    assert_eq!(fs::read(daily.join(&name)).expect("reads"), log);
}

/// A snapshot that was taken on request after a change is no sign of a running agent.
#[test]
fn an_undo_works_after_a_snapshot_of_what_the_tool_wrote() {
    let agents = |text: &str| {
        format!(
            "{{\"type\":\"session\",\"version\":3,\"id\":\"p-1\",\"timestamp\":\"t\",\"cwd\":\"/\"}}\n{{\"type\":\"message\",\"id\":\"1\",\"parentId\":null,\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}\n"
        )
    };
    let save = || Case::new(CTX_SNAPSHOT).args(["p.jsonl"]).stdout_any();
    let done = save().file("p.jsonl", agents("old")).run();
    let path = done.dir().join("p.jsonl");
    fs::write(&path, agents("new")).expect("writes");
    rollback(done.dir()).args(["latest", "p.jsonl"]).code(4).stderr_has("a running agent").run();
    rollback(done.dir()).args(["--min-idle", "0s", "latest", "p.jsonl"]).run();
    save().within(done.dir()).run();
    rollback(done.dir()).args(["--undo", "p.jsonl"]).run();
    assert_eq!(done.read("p.jsonl"), agents("new").as_bytes());
}

/// `--undo` takes a file. For anything else, the error says what it is.
#[test]
fn an_undo_of_what_is_no_file_says_so() {
    let done = saved();
    let none = "nofile: no such file, and no agent's session has this id; ctx-ls lists the ids of the sessions in the agents' folders";
    for (args, said) in [
        (&["--undo", "nofile"][..], none),
        (&["-n", "--undo", "nofile"], none),
        (&["-s", "demo", "--undo", "nofile"], none),
        (&["-s", "demo", "--undo", "--to", "nofile"], none),
        (&["--undo", "0001"], "no file is named; ctx-rollback 0001 FILE\n"),
        (&["-s", "demo", "latest"], "no file is named; ctx-rollback -s demo latest --to FILE\n"),
    ] {
        let said = format!("ctx-rollback: {said}");
        rollback(done.dir()).args(args.iter().copied()).code(2).stderr_has(&said).run();
    }
    rollback(done.dir())
        .args(["--undo", "no/such/file"])
        .code(2)
        .stderr("ctx-rollback: no/such/file: no such file or directory; check the path\n")
        .run();
    rollback(done.dir())
        .args(["-s", "demo", "--undo", "s.jsonl"])
        .code(2)
        .stderr("ctx-rollback: nothing to undo: no tool has replaced the file, or it already has its old content\n")
        .run();
    assert_eq!(names(done.dir()), [".local", "s.jsonl"]);
}

/// P2: a replaced file keeps its mode.
#[test]
fn the_mode_stays() {
    let done = saved();
    let path = done.dir().join("s.jsonl");
    fs::set_permissions(&path, Permissions::from_mode(0o640)).expect("chmod");
    rollback(done.dir()).args(["-s", "demo", "--snapshot", "1", "s.jsonl"]).run();
    let mode = fs::metadata(&path).expect("stat").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

#[test]
fn a_file_has_the_session_that_it_was_saved_as() {
    let done = Case::new(CTX_SNAPSHOT).file("s.jsonl", OLD).args(["s.jsonl"]).stdout_any().run();
    let id = String::from_utf8_lossy(&done.stdout).trim_end().to_owned();
    fs::write(done.dir().join("s.jsonl"), NEW).expect("writes");
    rollback(done.dir())
        .args(["-n", "--snapshot", "latest", "s.jsonl"])
        .stdout(format!("would restore {id} to s.jsonl: 1 message, 1 line, {} bytes\n", OLD.len()))
        .run();
    assert_eq!(done.read("s.jsonl"), NEW.as_bytes());
    rollback(done.dir()).args(["--snapshot", "latest", "s.jsonl"]).run();
    assert_eq!(done.read("s.jsonl"), OLD.as_bytes());
}

#[test]
fn another_path_must_be_asked_for() {
    let done = saved();
    let other = done.dir().join("t.jsonl");
    fs::write(&other, NEW).expect("writes");
    rollback(done.dir())
        .args(["-s", "demo", "--snapshot", "1", "t.jsonl"])
        .code(2)
        .stderr_has(
            "; to restore the snapshot here: ctx-rollback -s demo --snapshot 1 --to t.jsonl\n",
        )
        .run();
    assert_eq!(done.read("t.jsonl"), NEW.as_bytes());
    for name in ["t.jsonl", "fresh.jsonl"] {
        rollback(done.dir()).args(["-s", "demo", "--snapshot", "1", "--to", name]).run();
        assert_eq!(done.read(name), OLD.as_bytes());
    }
    rollback(done.dir()).args(["-s", "demo", "--undo", "--to", "t.jsonl"]).run();
    assert_eq!(done.read("t.jsonl"), NEW.as_bytes(), "what --to replaced was saved, too");
    rollback(done.dir()).args(["-s", "demo", "--snapshot", "1", "--to", "-"]).stdout(OLD).run();
}

#[test]
fn a_session_from_stdin_goes_to_the_file_that_is_named() {
    let done = Case::new(CTX_SNAPSHOT).args(["-s", "demo"]).stdin(OLD).stdout(OLD).run();
    fs::write(done.dir().join("s.jsonl"), NEW).expect("writes");
    rollback(done.dir()).args(["-s", "demo", "--snapshot", "latest", "s.jsonl"]).run();
    assert_eq!(done.read("s.jsonl"), OLD.as_bytes());
}

#[test]
fn a_file_that_an_agent_has_open_is_left_alone() {
    let done = saved();
    let _agent = OpenOptions::new().append(true).open(done.dir().join("s.jsonl")).expect("opens");
    rollback(done.dir())
        .args(["-s", "demo", "--snapshot", "1", "s.jsonl"])
        .code(4)
        .stderr_has(&format!(" (pid {}); try again\n", std::process::id()))
        .run();
    assert_eq!(done.read("s.jsonl"), NEW.as_bytes());
    assert_eq!(names(done.dir()), [".local", "s.jsonl"]);
}

/// C10: a damaged snapshot is refused, and the session file is unchanged.
#[test]
fn damage_is_never_restored() {
    let done = saved();
    let dir = done.dir().join(".local/state/ctx/memory/session-summaries");
    let data = names(&dir).into_iter().find(|name| name.ends_with("Z-0001.jsonl")).expect("bytes");
    fs::remove_file(dir.join(&data)).expect("removes");
    fs::write(dir.join(&data), OLD.replace("old", "odd")).expect("writes");
    rollback(done.dir())
        .args(["-s", "demo", "--snapshot", "1", "s.jsonl"])
        .code(2)
        .stderr_has("is damaged: its sha256 is ")
        .run();
    assert_eq!(done.read("s.jsonl"), NEW.as_bytes());
}

/// A rollback reports the change and where the replaced content is; with -q it prints nothing.
#[test]
fn what_was_done_is_said() {
    let done = saved();
    let restored = |from, what, before| {
        format!(
            "s.jsonl: restored from snapshot {from}: 1 message, 1 line, {what} bytes; the previous content is snapshot {before}\n"
        )
    };
    let undo = ["--undo", "s.jsonl"];
    let says = |args: &[&str], stdout: String| {
        let case = rollback(done.dir()).args(["-s", "demo"]);
        case.args(args.iter().copied()).stdout(stdout).run();
    };
    says(&["latest", "s.jsonl"], restored("0001", 32, "0002"));
    says(&undo, restored("0002", 32, "0003"));
    says(&["-q", "--undo", "s.jsonl"], String::new());
    let created = "new.jsonl: created from snapshot 0001: 1 message, 1 line, 32 bytes\n";
    says(&["1", "--to", "new.jsonl"], created.to_owned());
}

#[test]
fn nothing_to_do_and_nothing_to_undo() {
    let done = saved();
    fs::write(done.dir().join("s.jsonl"), OLD).expect("writes");
    rollback(done.dir())
        .args(["-s", "demo", "--snapshot", "1", "s.jsonl"])
        .stdout("s.jsonl: already has the content of snapshot 0001: 1 message, 1 line, 32 bytes\n")
        .run();
    rollback(done.dir())
        .args(["-s", "demo", "--undo", "s.jsonl"])
        .code(2)
        .stderr("ctx-rollback: nothing to undo: no tool has replaced the file, or it already has its old content\n")
        .run();
    rollback(done.dir())
        .args(["-s", "demo", "--snapshot", "7", "s.jsonl"])
        .code(2)
        .stderr("ctx-rollback: no snapshot \"7\"; the nearest is 0001; ctx-snapshot --list shows all snapshots\n")
        .run();
    assert_eq!(names(done.dir()), [".local", "s.jsonl"]);
}

/// A session of pi, which contains its id.
const AGENTS: &str = concat!(
    r#"{"type":"session","version":3,"id":"p-1","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#,
    "\n",
    r#"{"type":"message","id":"a1","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"hi"}}"#,
    "\n",
);
const LATER: &str = concat!(
    r#"{"type":"message","id":"a2","parentId":"a1","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"user","content":"more"}}"#,
    "\n",
);

fn append(path: &Path, text: &str) {
    let file = OpenOptions::new().append(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).expect("appended");
}

/// L11: the file of a running agent is not restored, because the agent has its history in memory.
#[test]
fn an_agents_file_that_changed_a_moment_ago_is_left_alone() {
    let done = Case::new(CTX_SNAPSHOT).file("s.jsonl", AGENTS).args(["s.jsonl"]).stdout_any().run();
    let id = String::from_utf8_lossy(&done.stdout).trim_end().to_owned();
    assert!(id.starts_with("p-1-2"), "{id}");
    let path = done.dir().join("s.jsonl");
    append(&path, LATER);
    let bytes = LATER.len();
    let plan = format!(
        "would restore {id} to s.jsonl: 1 message, 2 lines, {} bytes\n\
         1 line ({bytes} bytes) appended since {id} would be removed; a new snapshot would keep them\n",
        AGENTS.len()
    );
    // A dry run says what would be done, and that it would be refused now.
    for (more, shown) in [(&["-n"][..], plan.as_str()), (&[], "")] {
        rollback(done.dir())
            .args(more.iter().copied().chain(["--snapshot", "latest", "s.jsonl"]))
            .code(4)
            .stdout(shown)
            .stderr_has(
                "; a running agent would not notice a change by this tool; stop the agent and try again with --min-idle 0s, or wait until the file has not changed for 10m\n",
            )
            .run();
    }
    assert_eq!(done.read("s.jsonl"), format!("{AGENTS}{LATER}").as_bytes());
    rollback(done.dir())
        .args(["-n", "--min-idle", "0", "--snapshot", "latest", "s.jsonl"])
        .stdout(plan)
        .run();
    rollback(done.dir())
        .args(["--min-idle", "0s", "--snapshot", "latest", "s.jsonl"])
        .stderr_has(&format!(
            "ctx-rollback: warning: s.jsonl: removed 1 line ({bytes} bytes) appended since {id}; saved in p-1-"
        ))
        .run();
    assert_eq!(done.read("s.jsonl"), AGENTS.as_bytes());
    // A tool's write does not mean that an agent is running.
    rollback(done.dir()).args(["--undo", "s.jsonl"]).run();
    assert_eq!(done.read("s.jsonl"), format!("{AGENTS}{LATER}").as_bytes());
    // A file that has not changed for an hour is restored, and so is a chat, which belongs to no
    // agent.
    let hour = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    append(&path, LATER);
    let file = fs::File::options().write(true).open(&path).expect("opens");
    file.set_modified(hour).expect("set");
    drop(file);
    let args = ["--snapshot", "1", "s.jsonl"];
    rollback(done.dir()).args(args).stderr_has(": removed 2 lines (").run();
    rollback(done.dir())
        .args(["--min-idle", "1h", "-s", "p-1", "--snapshot", "1", "--to", "new.jsonl"])
        .run();
}

/// A copy of a session has the same id, but is another file.
#[test]
fn a_copy_of_a_session_does_not_get_the_bytes_of_the_other() {
    let done = Case::new(CTX_SNAPSHOT)
        .file("a/s.jsonl", AGENTS)
        .file("b/s.jsonl", format!("{AGENTS}{LATER}"))
        .args(["a/s.jsonl", "b/s.jsonl"])
        .stdout_any()
        .run();
    for name in ["a/s.jsonl", "b/s.jsonl"] {
        fs::write(done.dir().join(name), &AGENTS[..AGENTS.len() - 1]).expect("written");
        let old = [AGENTS.to_owned(), format!("{AGENTS}{LATER}")];
        rollback(done.dir()).args(["--min-idle", "0s", "--snapshot", "latest", name]).run();
        let expected = &old[usize::from(name == "b/s.jsonl")];
        assert_eq!(done.read(name), expected.as_bytes());
    }
    rollback(done.dir()).args(["--undo", "a/s.jsonl"]).run();
    assert_eq!(done.read("a/s.jsonl"), &AGENTS.as_bytes()[..AGENTS.len() - 1]);
    rollback(done.dir())
        .args(["--snapshot", "2", "a/s.jsonl"])
        .code(2)
        .stderr_has("/b/s.jsonl; to restore the snapshot here: ctx-rollback -s p-1 --snapshot 2 --to a/s.jsonl\n")
        .run();
}

/// A snapshot is also found under the session name that older versions used.
#[test]
fn a_snapshot_of_an_older_version_is_found() {
    let done = Case::new(CTX_SNAPSHOT).file("s.jsonl", OLD).args(["s.jsonl"]).stdout_any().run();
    fs::write(done.dir().join("s.jsonl"), AGENTS).expect("written");
    rollback(done.dir()).args(["--min-idle", "0s", "--snapshot", "latest", "s.jsonl"]).run();
    assert_eq!(done.read("s.jsonl"), OLD.as_bytes());
}

/// A small file system that is removed with this value.
pub(crate) struct Mounted(pub(crate) tempfile::TempDir);

impl Mounted {
    pub(crate) fn new(size: &str) -> Option<Self> {
        let dir = tempfile::tempdir().expect("a folder");
        let options = format!("size={size}");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "tmpfs"])
            .arg(dir.path())
            .output();
        mounted.is_ok_and(|done| done.status.success()).then_some(Self(dir))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

/// C4: a rollback for which the disk has no room changes nothing.
///
/// The store is on one disk, and the session on another, which is full at first.
#[test]
#[allow(clippy::print_stderr)] // A skipped test must say so.
fn a_full_disk_changes_nothing() {
    let Some(disk) = Mounted::new("64k") else {
        eprintln!("skipped: no tmpfs can be mounted here");
        return;
    };
    let home = tempfile::tempdir().expect("a folder");
    let (live, filler) = (disk.0.path().join("s.jsonl"), disk.0.path().join("filler"));
    let path = live.to_str().expect("text");
    let old = OLD.repeat(500);
    fs::write(&live, &old).expect("writes");
    Case::new(CTX_SNAPSHOT).within(home.path()).args(["-s", "demo", path]).stdout_any().run();
    fs::write(&live, NEW).expect("writes");
    let mut file = fs::File::create(&filler).expect("creates");
    while file.write_all(&[0; 4096]).is_ok() {}
    drop(file);
    let args = ["-s", "demo", "--snapshot", "1", path];
    rollback(home.path()).args(args).code(2).stderr_has("No space left on device").run();
    assert_eq!(fs::read(&live).expect("reads"), NEW.as_bytes());
    assert_eq!(names(disk.0.path()), ["filler", "s.jsonl"]);
    fs::remove_file(&filler).expect("removes");
    rollback(home.path()).args(args).run();
    assert_eq!(fs::read(&live).expect("reads"), old.as_bytes());
}

/// A file name may have up to 255 bytes. The hidden names that the tools derive from it are cut,
/// all in the same place and never within a character.
#[test]
fn long_names_are_compacted_and_restored() {
    let before = messages(0, 20);
    for letter in ["s", "é", "会"] {
        for length in [170, 178, 179, 180, 181, 182, 200, 219, 220, 221, 240, 255] {
            let letters = letter.repeat((length - 6) / letter.len());
            let name = format!("{letters}{}.jsonl", "s".repeat(length - 6 - letters.len()));
            let dir = tempfile::tempdir().expect("a folder");
            let path = dir.path().join(&name);
            fs::write(&path, &before).expect("written");
            good(dir.path(), &format!("ctx-compact -q --keep-messages 4 {name}"));
            assert_ne!(fs::read_to_string(&path).expect("reads"), before);
            // A killed run left a second name.
            let end = (0..=180).rev().find(|at| name.is_char_boundary(*at)).expect("a character");
            let stem = &name[..end.min(length)];
            fs::hard_link(&path, dir.path().join(format!(".{stem}.ctx-old-1"))).expect("linked");
            good(dir.path(), &format!("ctx-rollback -q --undo {name}"));
            assert_eq!(fs::read_to_string(&path).expect("reads"), before, "{length} {letter}");
            assert_eq!(leftovers(dir.path()), [""; 0], "{length} {letter}");
        }
    }
}
