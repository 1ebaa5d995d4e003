//! Unusual places and environments: read-only folders and disks, any umask, no home, no working
//! directory, other time zones.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use crate::bench::{Done, bash, files, good, has, leftovers, nothing_is_lost, saved, shell};
use crate::rollback::Mounted;

/// Commands that create each kind of file of a store.
const ALL_KINDS: &str = "ctx-snapshot -s demo s.jsonl > /dev/null
    ctx-offload -q -s demo --min-tokens 50 s.jsonl > /dev/null
    ctx-compact -q -s demo --keep-messages 4 s.jsonl
    ctx-extract -s demo --into .local/state/ctx/memory s.jsonl > /dev/null
    ctx-rollback -s demo --undo s.jsonl
    ctx-gc -q --keep-last 1
    ctx-snapshot -s demo s.jsonl > /dev/null
    ctx-rollback -s demo --snapshot latest --to new.jsonl";

/// P1: whatever the umask, a store is private, and so is a session that a tool creates. Each file
/// is private from its first moment, without a later chmod.
#[test]
#[allow(clippy::print_stderr)] // A skipped test must say so.
fn a_umask_opens_nothing() {
    for umask in ["000", "022", "077"] {
        let (dir, _) = saved(20);
        let live = dir.path().join("s.jsonl");
        fs::set_permissions(&live, Permissions::from_mode(0o640)).expect("chmod");
        // The store is removed, so that its folders are created again, too.
        fs::remove_dir_all(dir.path().join(".local")).expect("removes");
        good(dir.path(), &format!("set -e; umask {umask}\n{ALL_KINDS}"));
        let open = good(dir.path(), "find .local/state/ctx new.jsonl -perm /077 -printf '%m %p\n'");
        assert_eq!(open, "", "umask {umask}");
        let mode = fs::metadata(&live).expect("stat").permissions().mode();
        assert_eq!(mode & 0o777, 0o640, "umask {umask}");
    }
    if !has("strace") {
        eprintln!("the modes at creation: skipped: strace is not here");
        return;
    }
    let (dir, _) = saved(20);
    fs::remove_dir_all(dir.path().join(".local")).expect("removes");
    fs::write(dir.path().join("all"), ALL_KINDS).expect("writes");
    let traced = bash(
        dir.path(),
        "umask 000; strace -f -qq -o trace -e trace=openat,mkdir,mkdirat bash -e all",
    );
    if traced.code != 0 && traced.stderr.contains("strace:") {
        eprintln!("the modes at creation: skipped: strace may not trace");
        return;
    }
    assert_eq!(traced.code, 0, "{}", traced.stderr);
    let trace = fs::read_to_string(dir.path().join("trace")).expect("reads");
    let store = |line: &&str| line.contains("/.local/state/ctx") && !line.contains(" = -1 ");
    let mut creations = 0;
    for line in trace.lines().filter(store) {
        if line.contains("O_CREAT") || line.contains("mkdir") {
            let mode = line.rsplit_once(", 0").expect("a mode").1;
            assert!(mode.get(1..3) == Some("00"), "group or others come in: {line}");
            creations += 1;
        }
    }
    assert!(creations > 20, "{creations}");
}

/// Runs a line as a user who is bound by permissions, because root ignores them. Returns `None` if
/// that is not possible here.
fn as_user(dir: &Path, line: &str) -> Option<Done> {
    if !is_root() {
        return Some(bash(dir, line));
    }
    let user = "setpriv --reuid=65534 --regid=65534 --clear-groups";
    if bash(dir, &format!("{user} ctx-count --version")).code != 0 {
        return None;
    }
    Some(bash(dir, &format!("exec {user} bash -c '{line}'")))
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().expect("id");
    id.stdout == b"0\n"
}

/// Gives everything in `dir` to the user whom [`as_user`] uses.
fn give(dir: &Path) {
    if is_root() {
        for path in files(dir) {
            chown(path, Some(65534), Some(65534)).expect("chown");
        }
        good(dir, "find . -type d -exec chown 65534:65534 {} +");
    }
}

/// P4: a session in an unwritable folder can be saved, but not replaced. The message names the
/// path, and nothing is changed or left behind.
#[test]
#[allow(clippy::print_stderr)] // A skipped test must say so.
fn a_folder_that_may_not_be_written() {
    let (dir, before) = saved(20);
    let dir = dir.path();
    good(
        dir,
        "mkdir ro && mv s.jsonl ro && ln -s ro/s.jsonl . && rm s.jsonl && ctx-snapshot -s other ro/s.jsonl && ctx-snapshot -s gone ro/s.jsonl",
    );
    good(
        dir,
        "echo '{\"role\":\"user\",\"content\":\"We decided to use sqlite for the queue.\"}' >> ro/s.jsonl",
    );
    let now = fs::read_to_string(dir.join("ro/s.jsonl")).expect("reads");
    assert!(now.starts_with(&before));
    give(dir);
    good(dir, "chmod 555 ro");
    for (line, code) in [
        ("ctx-snapshot -s other ro/s.jsonl", 0),
        ("ctx-compact -q -s other --keep-messages 4 ro/s.jsonl", 2),
        ("ctx-rollback -s other --snapshot 2 ro/s.jsonl", 2),
        ("ctx-split ro/s.jsonl -o ro/out.jsonl", 2),
        ("ctx-prune --window-messages 4 ro/s.jsonl -o ro/out.jsonl", 2),
        ("ctx-extract -s other --into ro/memory ro/s.jsonl", 2),
        ("ctx-rollback -s gone --snapshot 3 --to ro/new.jsonl", 2),
        ("ctx-snapshot -s other --store ro/store ro/s.jsonl", 2),
    ] {
        let Some(done) = as_user(dir, line) else {
            eprintln!("skipped: nobody else can be here");
            return;
        };
        assert_eq!(done.code, code, "{line}: {}", done.stderr);
        let named = done.stderr.contains("ro") && done.stderr.contains("Permission denied");
        assert!(code == 0 || named, "{line}: {}", done.stderr);
        let live = fs::read_to_string(dir.join("ro/s.jsonl")).expect("reads");
        assert!(live == now, "{line}");
        assert_eq!(good(dir, "ls -A ro"), "s.jsonl\n", "{line}");
    }
}

/// P4: a store without write permission, or on a disk that is mounted read-only, can be read as
/// usual. Every call that would write is refused before anything is changed.
#[test]
#[allow(clippy::print_stderr)] // A skipped test must say so.
fn a_store_that_may_not_be_written() {
    let (dir, before) = saved(20);
    let dir = dir.path();
    good(dir, "ctx-snapshot -s demo s.jsonl");
    give(dir);
    good(dir, "chmod -R a-w .local/state/ctx");
    if !refuses_changes(dir, &before, "Permission denied") {
        eprintln!("skipped: nobody else can be here");
    }
    let Some(disk) = Mounted::new("1m") else {
        eprintln!("skipped: no tmpfs can be mounted here");
        return;
    };
    good(dir, "chmod -R u+w .local/state/ctx");
    let at = disk.0.path().display();
    good(
        dir,
        &format!(
            "cp -a .local/state/ctx {at}/store && mount -o remount,ro {at} && rm -r .local/state/ctx && ln -s {at}/store .local/state/ctx"
        ),
    );
    refuses_changes(dir, &before, "Read-only file system");
}

/// Checks that the store can be read and that every change is refused with `why`. Returns false if
/// the test could not run as another user.
fn refuses_changes(dir: &Path, before: &str, why: &str) -> bool {
    for (line, code) in [
        ("ctx-snapshot --list", 0),
        ("ctx-snapshot --verify", 0),
        ("ctx-snapshot --show latest", 0),
        ("ctx-gc -n --keep-last 1", 0),
        ("ctx-snapshot -s demo s.jsonl", 2),
        ("ctx-snapshot --hold 1", 2),
        ("ctx-compact -q -s demo --keep-messages 4 s.jsonl", 2),
        ("ctx-rollback -s demo --snapshot 1 s.jsonl", 2),
        ("ctx-gc --forget -s demo", 2),
    ] {
        let Some(done) = as_user(dir, line) else {
            return false;
        };
        assert_eq!(done.code, code, "{line}: {}", done.stderr);
        assert!(code == 0 || done.stderr.contains(why), "{line}: {}", done.stderr);
        let live = fs::read_to_string(dir.join("s.jsonl")).expect("reads");
        assert!(live == before, "{line}");
        assert_eq!(leftovers(dir), [""; 0], "{line}");
        let list = as_user(dir, "ctx-snapshot --list").map(|done| done.stdout);
        assert_eq!(list.map(|list| list.lines().count()), Some(2), "{line}");
    }
    true
}

/// P6: tools run without a home, without a working directory, and with a bare file name.
#[test]
fn nowhere_to_be() {
    for home in ["-u HOME", "HOME=", "HOME=relative"] {
        for line in ["ctx-snapshot -s demo s.jsonl", "ctx-gc", "ctx-compact -s demo s.jsonl"] {
            let (dir, before) = saved(4);
            let done = bash(dir.path(), &format!("exec env {home} {line}"));
            assert_eq!(done.code, 2, "{line}");
            let tool = line.split(' ').next().expect("a tool");
            let said = format!("{tool}: no place for the store: HOME is not set; set --store\n");
            assert_eq!(done.stderr, said);
            nothing_is_lost(dir.path(), &before);
            assert!(!dir.path().join("relative").exists());
            good(dir.path(), &format!("env {home} {line} --store .local/state/ctx"));
        }
    }
    for (line, code) in [
        ("ctx-snapshot -s demo s.jsonl", 2),
        ("ctx-compact -s demo s.jsonl", 2),
        ("ctx-rollback -s demo --snapshot 1 --to s.jsonl", 2),
        ("ctx-split s.jsonl -o out.jsonl", 2),
        ("ctx-snapshot -s demo --store store < /dev/null", 2),
        ("ctx-snapshot --list", 0),
        ("ctx-gc", 0),
        ("ctx-snapshot --show 1 | ctx-split", 0),
    ] {
        let (dir, before) = saved(4);
        let gone = format!("mkdir gone && cd gone && rmdir ../gone && {line}");
        let done = bash(dir.path(), &gone);
        assert_eq!(done.code, code, "{line}: {}", done.stderr);
        assert!(!done.stderr.contains("panicked"), "{}", done.stderr);
        nothing_is_lost(dir.path(), &before);
    }
    let (dir, before) = saved(20);
    good(
        dir.path(),
        "ctx-compact -q -s demo --keep-messages 4 s.jsonl && ctx-rollback -s demo --undo s.jsonl",
    );
    let live = fs::read_to_string(dir.path().join("s.jsonl")).expect("reads");
    assert!(live == before);
}

/// P3, P6: a store of another user is refused, even by root, who could write to it.
#[test]
#[allow(clippy::print_stderr)] // A skipped test must say so.
fn a_store_of_another_user() {
    let (dir, before) = saved(4);
    if !is_root() {
        eprintln!("skipped: only root can give a store to somebody else");
        return;
    }
    let store = dir.path().join(".local/state/ctx");
    for line in
        ["ctx-gc --keep-last 1", "ctx-snapshot -s demo s.jsonl", "ctx-compact -s demo s.jsonl"]
    {
        chown(&store, Some(65534), None).expect("chown");
        let done = bash(dir.path(), line);
        assert_eq!(done.code, 2, "{line}");
        assert!(done.stderr.contains("is not safe: it belongs to another user"), "{}", done.stderr);
        chown(&store, Some(0), None).expect("chown");
        nothing_is_lost(dir.path(), &before);
    }
}

/// T3: names, hours and days are UTC, whatever zone the user is in. In the night in which
/// Berlin has the time from two to three twice, one hour apart is another hour, and half
/// past eleven in the evening is the day before.
#[test]
#[allow(clippy::print_stderr)] // A skipped test must say so.
fn zones_make_no_difference() {
    if !has("faketime") {
        eprintln!("skipped: faketime is not here");
        return;
    }
    let mut plans = Vec::new();
    for zone in ["UTC", "Europe/Berlin", "Pacific/Apia", "America/St_Johns", "No/Such"] {
        let dir = tempfile::tempdir().expect("a folder");
        let at = |time: &str, line: &str| {
            let line = format!("TZ=UTC faketime '{time}' env TZ={zone} {line}");
            let done = shell(dir.path(), &line).output().expect("bash");
            assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
            String::from_utf8_lossy(&done.stdout).into_owned()
        };
        fs::write(dir.path().join("s.jsonl"), "{}\n").expect("writes");
        for time in ["2026-10-24 23:30:00", "2026-10-25 00:30:00", "2026-10-25 01:30:00"] {
            let id = at(time, "ctx-snapshot -s demo s.jsonl");
            let name: String = time.chars().filter(char::is_ascii_alphanumeric).collect();
            let (day, hour) = name[..12].split_at(8);
            assert!(id.starts_with(&format!("demo-{day}T{hour}")), "{zone}: {id}");
        }
        for policy in [
            "--keep-hourly 5",
            "--keep-daily 5",
            "--keep-daily 1 --keep-within 90min",
            "--keep-weekly 2",
            "--keep-days 1",
        ] {
            let plan = at("2026-10-25 12:00:00", &format!("ctx-gc -n {policy}"));
            // The seconds are left out, because they depend on how long the commands run.
            let plan = plan.lines().map(|line| {
                let (before, id) = line.split_once("demo-").expect("an id");
                format!("{before}{} {}\n", &id[..13], id.split_once(':').expect("reasons").1)
            });
            plans.push((zone, policy, plan.collect::<String>()));
        }
    }
    let (utc, others) = plans.split_at(5);
    for (index, (zone, policy, plan)) in others.iter().enumerate() {
        assert_eq!(plan, &utc[index % 5].2, "{zone}: {policy}");
    }
    assert_eq!(
        utc[0].2,
        "keep 20261024T2330  hourly, oldest hourly\nkeep 20261025T0030  hourly\nkeep 20261025T0130  newest of its session, hourly\n"
    );
    assert_eq!(
        utc[1].2,
        "keep 20261024T2330  daily, oldest daily\nwould remove 20261025T0030  no rule keeps it\nkeep 20261025T0130  newest of its session, daily\n"
    );
}

/// G2: a user's files in a store are never removed, wherever they are.
#[test]
fn files_of_others_stay_in_the_store() {
    let (dir, _) = saved(4);
    let dir = dir.path();
    good(dir, "ctx-snapshot -s demo s.jsonl && ctx-gc -q --keep-last 1");
    let store = dir.join(".local/state/ctx");
    let foreign = [
        "README",
        "memory/session-summaries/notes.txt",
        "memory/session-summaries/demo.txt",
        "memory/session-summaries/demo-20260101T000000Z-1.jsonl",
        "memory/mine.md",
        "context/notes",
        "trash/mine",
        "trash/20200101T000000.000000Z-0000/mine",
        "locks/.mine",
        "offloaded/demo/mine.txt",
        "tmp/mine",
    ];
    for name in foreign {
        let path = store.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("mkdir");
        fs::write(path, "mine").expect("writes");
    }
    good(
        dir,
        "touch -d 2020-01-01 $(find .local -name '*mine*'); ctx-gc -q && ctx-gc -q --purge && ctx-gc -q --keep-last 1 && (ctx-gc -q --forget -s other || test $? = 2) && ctx-snapshot --verify",
    );
    for name in foreign {
        assert_eq!(fs::read(store.join(name)).ok().as_deref(), Some(&b"mine"[..]), "{name}");
    }
}

/// `CTX_HOME=` in a crontab counts as unset; `--store ""` is an error.
#[test]
fn a_variable_that_is_set_to_nothing_is_not_set() {
    let dir = tempfile::tempdir().expect("a folder");
    fs::write(dir.path().join("s.jsonl"), "{\"role\":\"user\",\"content\":\"hi\"}\n")
        .expect("written");
    let empty = "CTX_HOME= CTX_PRESET= CTX_CONFIG= CTX_LLM_URL= CTX_LLM_MODEL=";
    good(dir.path(), &format!("{empty} ctx-snapshot -s demo s.jsonl"));
    good(dir.path(), &format!("{empty} ctx-compact -n -s demo s.jsonl"));
    good(dir.path(), &format!("{empty} ctx-memory search word || [ $? = 1 ]"));
    let store = dir.path().join(".local/state/ctx");
    assert!(store.exists(), "the usual store");
    let named = bash(dir.path(), "ctx-snapshot --store '' s.jsonl");
    assert_eq!((named.code, named.stdout.as_str()), (2, ""));
}
