//! `ctx-gc` limits the size of a store: it removes everything that is old, and one command restores
//! it.

use std::path::Path;

use ctx_testkit::Case;
use tempfile::TempDir;

use crate::gc::CTX_GC;
use crate::gc_pack::saved_as;
use crate::snapshot::CTX_SNAPSHOT;

fn gc(dir: &Path) -> Case {
    // The first run after a day without any operation doubts the clock.
    Case::new(CTX_GC).within(dir)
}

fn trusting(dir: &Path) -> Case {
    gc(dir).args(["--trust-clock", "--no-pack"])
}

/// Returns two sessions, one of which has not been saved for 30 days.
fn two_sessions() -> (TempDir, [String; 4]) {
    let dir = tempfile::tempdir().expect("a folder");
    let old = saved_as("old", dir.path(), &[40, 30], "{}\n");
    let new = saved_as("new", dir.path(), &[20, 3], "{}\n");
    let ids = [old, new].concat().try_into().expect("four");
    (dir, ids)
}

fn of_trash(dir: &Path) -> Vec<String> {
    let done = gc(dir).args(["--list-trash", "--json"]).stdout_any().run();
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    let id = |line: &str| line.split('"').find(|part| part.contains('Z')).map(str::to_owned);
    text.lines().filter_map(id).collect()
}

/// Snapshots older than 7 days are removed from every session of the store.
#[test]
fn no_floor_bounds_the_whole_store() {
    let (dir, [one, two, three, four]) = two_sessions();
    let gone = |would: &str| {
        format!(
            "{would}{one}: no rule keeps it\n{would}{two}: no rule keeps it; it is the last snapshot of its session\n{would}{three}: no rule keeps it\n"
        )
    };
    let rules = ["--no-floor", "--keep-days", "7"];
    trusting(dir.path())
        .args(rules)
        .args(["-n"])
        .stdout(sorted(&gone("would remove "), &format!("keep {four}: --keep-days\n")))
        .run();
    trusting(dir.path())
        .args(rules)
        .args(["-n", "--json"])
        .stdout_has(&format!(
            "{{\"id\":\"{two}\",\"keep\":false,\"reasons\":[],\"kind\":\"snapshot\",\"action\":\"remove\",\"last_of_session\":true}}\n"
        ))
        .run();
    // Each row has the flags of a floor, and whether the newest snapshot of the older session is
    // kept.
    for (floor, kept) in
        [(vec![], true), (vec!["--floor-days", "31"], true), (vec!["--floor-days", "29"], false)]
    {
        let line = format!("keep {two}: newest of its session\n");
        let done = trusting(dir.path())
            .args(["-n", "--keep-days", "7"])
            .args(floor.clone())
            .stdout_any()
            .run();
        let plan = String::from_utf8_lossy(&done.stdout).into_owned();
        assert_eq!(plan.contains(&line), kept, "{floor:?}: {plan}");
    }
    trusting(dir.path()).args(rules).stdout(sorted(&gone("removed "), "")).run();
    assert_eq!(of_trash(dir.path()).len(), 3);
}

/// Sessions are listed in the order of their names.
fn sorted(plan: &str, more: &str) -> Vec<u8> {
    let mut lines: Vec<&str> = plan.lines().chain(more.lines()).collect();
    lines.sort_by_key(|line| line.find("old-").is_some());
    let lines = lines.into_iter().map(|line| line.to_owned() + "\n");
    lines.collect::<String>().into_bytes()
}

/// Returns three snapshots in the trash.
fn removed() -> (TempDir, [String; 4]) {
    let (dir, ids) = two_sessions();
    trusting(dir.path()).args(["-q", "--no-floor", "--keep-days", "7"]).run();
    (dir, ids)
}

#[test]
fn all_comes_back_in_one_go() {
    let (dir, _) = removed();
    let mut there = of_trash(dir.path());
    there.reverse();
    let lines = |would: &str| -> String {
        let lines = there.iter().map(|id| format!("{would}{id}\n"));
        lines.collect()
    };
    gc(dir.path()).args(["-n", "--undelete", "all"]).stdout(lines("would restore ")).run();
    gc(dir.path()).args(["--undelete", "2 hours ago"]).stdout(lines("")).run();
    assert!(of_trash(dir.path()).is_empty());
    gc(dir.path())
        .args(["--undelete", "all"])
        .code(2)
        .stderr_has("nothing in the trash matches \"all\"")
        .run();
    Case::new(CTX_SNAPSHOT).within(dir.path()).args(["--verify", "--read-data"]).stdout_any().run();
}

/// `--undelete` takes several names at once; a missing one does not affect the others.
#[test]
fn several_come_back_and_what_is_not_there_is_told() {
    let (dir, [one, two, three, _]) = removed();
    gc(dir.path())
        .args(["--undelete", "1", "99", "2"])
        .code(3)
        .stdout(format!("{one}\n{two}\n"))
        .stderr_has("nothing in the trash matches \"99\"")
        .run();
    gc(dir.path())
        .args(["--undelete", "99", "--undelete", "98"])
        .code(2)
        .stderr_has("nothing in the trash matches \"98\"")
        .run();
    gc(dir.path())
        .args(["--undelete", "all", "--undelete", "3", "-s", "new"])
        .stdout(format!("{three}\n"))
        .run();
}

#[test]
fn the_trash_is_listed_with_the_time_that_is_left() {
    let (dir, [one, ..]) = removed();
    let list = |args: &[&str]| {
        let case = gc(dir.path()).args(["--list-trash"]).args(args.to_vec());
        let done = case.stdout_any().run();
        String::from_utf8_lossy(&done.stdout).into_owned()
    };
    let all = list(&[]);
    assert_eq!(all.lines().count(), 3);
    let row = |list: &str| list.lines().find(|line| line.starts_with(&one)).map(str::to_owned);
    let cells = row(&all).expect("a row");
    assert!(cells.contains("  6d "), "{cells}");
    let cells = row(&list(&["--grace-days", "30"])).expect("a row");
    assert!(cells.contains("  29d "), "{cells}");
    assert_eq!(list(&["-s", "old"]).lines().count(), 2);
    assert_eq!(list(&["-q"]), all);
}

#[test]
fn no_grace_empties_the_trash() {
    let (dir, [.., three, four]) = two_sessions();
    let rules = ["--keep-last", "1", "--grace-days", "0", "-s", "new"];
    let plan = format!(
        "would remove {three}: no rule keeps it\nkeep {four}: newest of its session, --keep-last\nwould purge {three}\n"
    );
    trusting(dir.path()).args(rules).args(["-n"]).stdout(plan).run();
    trusting(dir.path())
        .args(rules)
        .stdout(format!("removed {three}: no rule keeps it\npurged {three}\n"))
        .run();
    assert!(of_trash(dir.path()).is_empty());
    // Earlier items are removed as well.
    trusting(dir.path()).args(["-q", "--keep-last", "1"]).run();
    assert_eq!(of_trash(dir.path()).len(), 1);
    trusting(dir.path()).args(["-q", "--grace-days", "0"]).run();
    assert!(of_trash(dir.path()).is_empty());
}

/// With -q and without --json, stdout is empty, and errors are still reported.
#[test]
fn quiet_is_silent() {
    let (dir, _) = two_sessions();
    let quiet = |args: &[&str]| trusting(dir.path()).args(["-q"]).args(args.to_vec());
    quiet(&["-n", "--keep-last", "1"]).run();
    quiet(&["--json", "--keep-last", "1"]).stdout_has("\"action\":\"remove\"").run();
    let quiet = |args: &[&str]| gc(dir.path()).args(["-q"]).args(args.to_vec());
    assert_eq!(of_trash(dir.path()).len(), 2);
    quiet(&["--undelete", "1"]).run();
    quiet(&["--undelete", "1"]).code(2).stderr_has("in the trash").run();
    quiet(&["--purge"]).run();
    quiet(&["--forget", "-s", "old"]).run();
    assert!(of_trash(dir.path()).is_empty());
}
