//! Events during the microseconds of an exchange of names. No matter when an event happens,
//! everything that other processes wrote ends up in the live file, in a snapshot, or in a file that
//! a later run finds.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use crate::tests::moments::{Act, around_exchanges};
use crate::tests::{Agent, Bench, id};
use crate::{
    Figures, MinIdle, NewContent, ReplaceOutcome, SharedFolder, SnapshotKind, StoreError, hash,
};

const OLD: &str = "old\n";
const NEW: &str = "new\n";

fn act(act: impl FnOnce() + 'static) -> Act {
    Box::new(act)
}

/// Rewrites a session as some agents do.
fn replace_by_rename(path: &Path, bytes: &'static str) -> Act {
    let path = path.to_owned();
    act(move || {
        let beside = path.with_extension("theirs");
        fs::write(&beside, bytes).expect("written");
        fs::rename(&beside, &path).expect("renamed");
    })
}

fn append(path: &Path, bytes: &'static str) -> Agent {
    let path = path.to_owned();
    Agent::new(move || {
        let file = OpenOptions::new().append(true).open(&path);
        file.and_then(|mut file| file.write_all(bytes.as_bytes())).expect("appended");
    })
}

/// An event: another run cleans up after killed runs.
fn reap(path: &Path) -> Act {
    let path = path.to_owned();
    act(move || {
        crate::fs::atomic::reap_beside(&path);
    })
}

fn replace(bench: &Bench, path: &Path) -> Result<ReplaceOutcome, StoreError> {
    let sha256 = hash(&mut NEW.as_bytes()).expect("from memory");
    let mut new = NewContent {
        reader: &mut NEW.as_bytes(),
        sha256: &sha256,
        operation: "rollback",
        kind: SnapshotKind::PreRollback,
        figures: Figures::default(),
    };
    bench.store.replace(path, &id("demo"), MinIdle::default(), &mut new)
}

/// Creates a session file in a folder that otherwise contains only the store.
fn live(bench: &Bench) -> PathBuf {
    bench.file("s.jsonl", OLD)
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).expect("reads")
}

/// Returns the contents of the live file and of all snapshots after the next sweep.
fn found(bench: &Bench, path: &Path) -> Vec<String> {
    bench.store.sweep_retained(None).expect("swept");
    let entries = bench.store.catalog(None).expect("lists").entries;
    let saved = entries.iter().map(|entry| {
        bench.store.open_verified(entry).expect("whole");
        text(&bench.store.data_path(&entry.id))
    });
    [text(path)].into_iter().chain(saved).collect()
}

fn names(bench: &Bench) -> Vec<String> {
    let mut names = crate::fs::file_names(bench.dir.path()).expect("reads");
    names.sort();
    names
}

/// The exchange moves an agent's newer file away, and another run cleans up before that file is
/// restored.
#[test]
fn what_was_exchanged_out_is_not_reaped() {
    let bench = Bench::new();
    let path = live(&bench);
    around_exchanges([replace_by_rename(&path, "newer\n"), reap(&path)]);
    let error = replace(&bench, &path).expect_err("changed");
    assert!(matches!(error, StoreError::Changed(_)), "{error}");
    assert_eq!(text(&path), "newer\n");
    assert_eq!(names(&bench), ["s.jsonl", "store"]);
}

/// A run is killed between the exchange that moved an agent's newer file away and the one that
/// would restore it.
#[test]
fn a_kill_before_a_newer_file_is_back_loses_neither() {
    for exchanges in [1, 2] {
        let bench = Bench::new();
        let path = live(&bench);
        let mut acts = vec![Some(replace_by_rename(&path, "newer\n"))];
        acts.resize_with(2 * exchanges - 1, || None);
        acts.push(Some(act(|| panic!("killed"))));
        around_exchanges(acts);
        let run = catch_unwind(AssertUnwindSafe(|| replace(&bench, &path)));
        run.expect_err("killed");
        let found = found(&bench, &path);
        let live = [NEW, "newer\n"][exchanges - 1];
        assert_eq!(found[0], live);
        for bytes in [OLD, "newer\n"] {
            assert!(found.contains(&bytes.to_owned()), "{bytes:?}: {found:?}");
        }
        replace(&bench, &path).expect("the next run works");
        bench.store.sweep_retained(None).expect("swept");
        assert_eq!(names(&bench), ["s.jsonl", "store"]);
    }
}

/// An agent replaces its file again while its previous one is being restored.
#[test]
fn a_file_that_comes_between_two_exchanges_stays() {
    for between in [2, 3] {
        let bench = Bench::new();
        let path = live(&bench);
        let mut acts = vec![Some(replace_by_rename(&path, "newer\n"))];
        acts.resize_with(between, || None);
        acts.push(Some(replace_by_rename(&path, "newest\n")));
        around_exchanges(acts);
        let error = replace(&bench, &path).expect_err("changed");
        assert!(matches!(error, StoreError::Changed(_)), "{error}");
        assert_eq!(text(&path), "newest\n", "{between}");
        // The agent may have read our content, not its own, before it wrote its newest file.
        let found = found(&bench, &path);
        assert!(found.contains(&"newer\n".to_owned()), "{between}: {found:?}");
        bench.store.sweep_retained(None).expect("swept");
        assert_eq!(names(&bench), ["s.jsonl", "store"]);
    }
}

/// An agent appends to our file while it is briefly in place, before it is removed again.
#[test]
fn a_line_in_a_file_that_is_taken_back_is_kept() {
    let bench = Bench::new();
    let path = live(&bench);
    let agent = append(&path, "line\n");
    around_exchanges([Some(replace_by_rename(&path, "newer\n")), None, Some(agent.starts())]);
    replace(&bench, &path).expect_err("changed");
    agent.ends();
    let found = found(&bench, &path);
    assert_eq!(found[0], "newer\n");
    assert!(found.contains(&"new\nline\n".to_owned()), "{found:?}");
    assert_eq!(names(&bench), ["s.jsonl", "store"]);
}

/// `ctx-gc` runs during the replacement of a file that an agent has just opened.
#[test]
fn a_sweep_leaves_a_file_alone_that_is_being_replaced() {
    let bench = Bench::new();
    let path = live(&bench);
    let (opened, agents) = mpsc::channel();
    let agent = Agent::new({
        let path = path.clone();
        move || {
            let file = OpenOptions::new().append(true).open(&path);
            opened.send(file.expect("opens")).expect("taken");
        }
    });
    let sweep = {
        let (open, root) = (agent.starts(), bench.store.root.clone());
        act(move || {
            open();
            let other = Bench::other_run(&root);
            other.sweep_retained(None).expect("swept");
        })
    };
    around_exchanges([sweep]);
    let replaced = replace(&bench, &path).expect("replaced");
    let ReplaceOutcome::New { retained, .. } = replaced else { panic!("{replaced:?}") };
    let retained = retained.expect("somebody has it open");
    agent.ends();
    let mut file = agents.recv().expect("opened");
    file.write_all(b"late\n").expect("written");
    assert_eq!(text(&retained), "old\nlate\n");
}

/// An editor saves a memory file twice while a run adds to it.
#[test]
fn an_edit_between_two_exchanges_of_a_shared_file_stays() {
    for second in [1, 2] {
        let bench = Bench::new();
        let path = bench.file("x.md", OLD);
        let mut acts = vec![Some(replace_by_rename(&path, "mine\n"))];
        acts.resize_with(second, || None);
        acts.push(Some(if second == 1 {
            reap(&path)
        } else {
            replace_by_rename(&path, "mine again\n")
        }));
        let folder = SharedFolder::lock(bench.dir.path()).expect("a lock");
        let file = folder.read("x.md").expect("reads");
        around_exchanges(acts);
        let error = file.append(b"more\n").expect_err("changed");
        assert!(matches!(error, StoreError::Changed(_)), "{error}");
        let expected = ["mine\n", "mine again\n"][second - 1];
        assert_eq!(text(&path), expected);
        // The tool cannot know whether the editor meant to replace its first version, so that
        // version is kept.
        let kept = names(&bench).into_iter().filter(|name| name.contains(".ctx-"));
        assert_eq!(kept.count(), second - 1);
    }
}
