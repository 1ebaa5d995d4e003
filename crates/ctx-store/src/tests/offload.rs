//! Offloaded files in a store: written, read and collected.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use chrono::{DateTime, TimeDelta, Utc};
use tempfile::TempDir;

use crate::{
    Actor, RemovalReport, SessionId, Snapshot, SnapshotKind, Store, StoreError, StoreItem,
};
use crate::{Content, Form, OffloadedFile};

struct Place {
    dir: TempDir,
    store: Store,
    demo: SessionId,
}

fn place() -> Place {
    let dir = tempfile::tempdir().expect("a folder");
    let actor = Actor { tool: "test".into(), flags: Vec::new() };
    let store = Store::open(&dir.path().join("store"), actor, Box::new(Utc::now)).expect("a store");
    Place { store, demo: "demo".parse().expect("an id"), dir }
}

fn text(text: &str) -> Content {
    Content { form: Form::TEXT, text: text.to_owned() }
}

fn a_week_ago() -> DateTime<Utc> {
    Utc::now() - TimeDelta::days(7)
}

fn modified(path: &Path) -> SystemTime {
    let meta = path.metadata().expect("a file");
    meta.modified().expect("a time")
}

impl Place {
    fn put(&self, content: &str, transcripts: &[Option<&Path>]) -> OffloadedFile {
        let mut writer = self.store.offload(&self.demo);
        let file = writer.put(&text(content), None).expect("written");
        writer.finish(transcripts).expect("durable");
        file
    }

    fn path(&self, file: &OffloadedFile) -> PathBuf {
        self.store.offloaded_path(file)
    }

    /// Sets the time of the file's last use to a month ago.
    fn age(&self, file: &OffloadedFile) {
        let file = File::open(self.path(file)).expect("a file");
        let then = SystemTime::now() - Duration::from_secs(30 * 86_400);
        file.set_modified(then).expect("a time");
    }

    fn save(&self, live: &Path) -> Snapshot {
        let draft = self.store.draft_of(live).expect("reads");
        let snapshot = draft.commit(&self.demo, SnapshotKind::Snapshot);
        snapshot.expect("a snapshot")
    }

    fn transcript(&self, name: &str, bytes: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::write(&path, bytes).expect("written");
        path.canonicalize().expect("a path")
    }

    fn unreferenced(&self) -> Vec<OffloadedFile> {
        match self.store.unreferenced(&self.demo, a_week_ago()) {
            Ok(files) => files,
            other => panic!("{other:?}"),
        }
    }

    fn why_unknown(&self) -> String {
        match self.store.unreferenced(&self.demo, a_week_ago()) {
            Err(StoreError::Unsearchable(why)) => why,
            other => panic!("{other:?}"),
        }
    }

    fn discard(&self, files: &[OffloadedFile]) -> RemovalReport {
        let removed = self.store.discard_offloaded(files, a_week_ago());
        removed.expect("discarded")
    }
}

#[test]
fn the_same_content_is_one_private_file() {
    let place = place();
    let file = place.put("x", &[None]);
    place.age(&file);
    let aged = modified(&place.path(&file));
    assert_eq!(place.put("x", &[None]), file);
    let meta = place.path(&file).metadata().expect("a file");
    assert_eq!(meta.mode() & 0o777, 0o600);
    let since = modified(&place.path(&file)).duration_since(aged);
    let since = since.expect("it counts as used now");
    assert!(since > Duration::from_secs(29 * 86_400), "{since:?}");
    let folder = place.store.offloaded().join("demo");
    assert_eq!(folder.metadata().expect("a folder").mode() & 0o777, 0o700);
    assert_eq!(
        place.store.offloaded_files(&place.demo).expect("listed"),
        std::slice::from_ref(&file)
    );
    assert_eq!(place.store.read_offloaded(&file).expect("read"), text("x"));
    let tmp = place.store.root.join("tmp");
    assert_eq!(fs::read_dir(tmp).expect("a folder").count(), 0);
}

#[test]
fn every_write_is_audited_without_its_text() {
    let place = place();
    let mut writer = place.store.offload(&place.demo);
    for content in ["secret one", "secret two"] {
        writer.put(&text(content), None).expect("written");
    }
    writer.finish(&[None]).expect("durable");
    let log = fs::read_to_string(place.store.audit_log()).expect("a log");
    let phases: Vec<&str> =
        log.lines().map(|line| if line.contains("\"done\"") { "done" } else { "intent" }).collect();
    assert_eq!(phases, ["intent", "done"]);
    assert!(log.contains("\"op\":\"offload\"") && log.contains("\"session\":\"demo\""));
    assert!(log.contains("\"bytes\":20,\"count\":2"), "{log}");
    assert!(!log.contains("secret"));
}

#[test]
fn nothing_offloaded_leaves_no_trace() {
    let place = place();
    place.store.offload(&place.demo).finish(&[None]).expect("nothing");
    assert!(!place.store.root.exists());
    assert_eq!(place.unreferenced(), []);
    assert_eq!(place.store.offload_sessions().expect("none"), []);
}

#[test]
fn damage_is_an_error_and_the_next_write_repairs_it() {
    let place = place();
    let file = place.put("x", &[None]);
    fs::write(place.path(&file), "y").expect("damaged");
    let error = place.store.read_offloaded(&file).expect_err("damaged");
    assert!(error.to_string().contains("is damaged"), "{error}");
    place.put("x", &[None]);
    assert_eq!(place.store.read_offloaded(&file).expect("read"), text("x"));
}

#[test]
fn no_link_leads_out_of_the_store() {
    let place = place();
    let file = place.put("x", &[None]);
    // A link to a file with the right bytes in another folder is refused.
    let outside = place.transcript("outside", "x");
    let path = place.path(&file);
    fs::remove_file(&path).expect("removed");
    symlink(&outside, &path).expect("a link");
    let error = place.store.read_offloaded(&file).expect_err("a link");
    assert_eq!(error.to_string(), format!("{} is a symbolic link", path.display()));
    place.put("x", &[None]);
    assert!(!path.is_symlink(), "the link was replaced, not followed");
    assert_eq!(fs::read(&outside).expect("a file"), b"x");

    let folder = place.store.offloaded().join("demo");
    let moved = place.dir.path().join("moved");
    fs::rename(&folder, &moved).expect("moved");
    symlink(&moved, &folder).expect("a link");
    for error in [
        place.store.read_offloaded(&file).expect_err("a link"),
        place.store.offloaded_files(&place.demo).expect_err("a link"),
        place.store.offload(&place.demo).put(&text("y"), None).expect_err("a link"),
        place.store.unreferenced(&place.demo, a_week_ago()).expect_err("a link"),
    ] {
        assert!(matches!(error, StoreError::Refused { .. }), "{error}");
    }
    assert_eq!(fs::read_dir(&moved).expect("a folder").count(), 3);
    place.store.forget(&place.demo).expect("the link goes");
    assert!(!folder.is_symlink() && moved.join(file.name.to_string()).exists());
}

#[test]
fn a_fifo_does_not_hang() {
    let place = place();
    let file = place.put("x", &[None]);
    fs::remove_file(place.path(&file)).expect("removed");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        place.path(&file),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .expect("a FIFO");
    let error = place.store.read_offloaded(&file).expect_err("a FIFO");
    assert!(matches!(error, StoreError::Refused { .. }), "{error}");
}

#[test]
fn what_nothing_names_goes_and_can_be_had_back() {
    let place = place();
    let live = place.transcript("s.jsonl", "");
    let sources = [Some(live.as_path())];
    let [named, handle, saved, loose] = ["a", "b", "c", "d"].map(|c| place.put(c, &sources));
    let snapshot = format!("{}\n", saved.name);
    fs::write(&live, snapshot).expect("written");
    place.save(&live);
    let text = format!("{} ⟦ctx:{} …⟧", place.path(&named).display(), &handle.name.sha256[..12]);
    fs::write(&live, text).expect("written");
    assert_eq!(place.unreferenced(), [], "all of them were used just now");
    for file in [&named, &handle, &saved, &loose] {
        place.age(file);
    }
    assert_eq!(place.unreferenced(), std::slice::from_ref(&loose));

    assert_eq!(
        place.discard(std::slice::from_ref(&loose)).items,
        [StoreItem::Offloaded(loose.clone())]
    );
    assert!(!place.path(&loose).exists());
    let prefix = &loose.name.sha256[..8];
    let found = place.store.find_deleted(None, prefix).expect("there");
    assert_eq!(found, StoreItem::Offloaded(loose.clone()));
    place.store.undelete(&found).expect("brought back");
    assert_eq!(place.store.read_offloaded(&loose).expect("read").text, "d");
    let trash = place.store.root.join("trash");
    assert_eq!(fs::read_dir(&trash).expect("a folder").count(), 0);

    place.age(&loose);
    place.discard(std::slice::from_ref(&loose));
    let early = place.store.purge(Some(a_week_ago())).expect("purged");
    assert_eq!(early.items, []);
    let purged = place.store.purge(None).expect("purged");
    assert_eq!(purged.items, [StoreItem::Offloaded(loose.clone())]);
    assert!(matches!(place.store.find_deleted(None, prefix), Err(StoreError::NotInTrash(_))));
    assert_eq!(fs::read_dir(&trash).expect("a folder").count(), 0);
}

#[test]
fn what_a_snapshot_in_the_trash_names_stays_until_that_is_purged() {
    let place = place();
    let live = place.transcript("s.jsonl", "");
    let file = place.put("x", &[Some(&live)]);
    fs::write(&live, file.to_string()).expect("written");
    let snapshot = place.save(&live);
    fs::write(&live, "").expect("written");
    place.age(&file);
    place.store.discard(&[snapshot.id], &[], place.store.now()).expect("removed");
    assert_eq!(place.unreferenced(), []);
    place.store.purge(None).expect("purged");
    assert_eq!(place.unreferenced(), [file]);
}

#[test]
fn what_was_used_meanwhile_is_spared() {
    let place = place();
    let live = place.transcript("s.jsonl", "");
    let file = place.put("x", &[Some(&live)]);
    place.age(&file);
    let doomed = place.unreferenced();
    assert_eq!(doomed, std::slice::from_ref(&file));
    place.put("x", &[Some(&live)]);
    assert_eq!(place.discard(&doomed).items, []);
    assert!(place.path(&file).exists());
}

#[test]
fn all_stay_when_a_transcript_cannot_be_looked_into() {
    let place = place();
    let live = place.transcript("s.jsonl", "");
    let file = place.put("x", &[Some(&live)]);
    place.age(&file);
    assert_eq!(place.unreferenced(), std::slice::from_ref(&file));
    fs::remove_file(&live).expect("removed");
    assert!(place.why_unknown().contains("No such file"));
    place.transcript("s.jsonl", "");
    assert_eq!(place.unreferenced(), std::slice::from_ref(&file));
    place.put("y", &[None]);
    assert_eq!(place.why_unknown(), "one transcript was written to a pipe");
}

#[test]
fn without_a_known_transcript_all_stay() {
    let place = place();
    let file = place.put("x", &[]);
    place.age(&file);
    assert_eq!(place.why_unknown(), "no transcript of the session is known");
    let live = place.transcript("s.jsonl", "");
    let snapshot = place.save(&live);
    assert_eq!(place.unreferenced(), std::slice::from_ref(&file));
    let meta = place.store.meta_path(&snapshot.id);
    let bytes = fs::read_to_string(&meta).expect("a meta.json");
    fs::write(&meta, bytes.replace("s.jsonl", "t.jsonl")).expect("damaged");
    assert!(place.why_unknown().contains("meta.json"));
}

#[test]
fn forgetting_takes_the_folder_and_the_trash() {
    let place = place();
    let live = place.transcript("s.jsonl", "");
    let [binned, kept] = ["a", "b"].map(|c| place.put(c, &[Some(&live)]));
    place.age(&binned);
    place.discard(std::slice::from_ref(&binned));
    // The search index contains words from the deleted files.
    let index = place.store.search_index();
    fs::create_dir_all(&index).expect("made");
    fs::write(index.join("meta.json"), "{}").expect("written");
    let removed = place.store.forget(&place.demo).expect("forgotten");
    assert!(!index.exists());
    assert_eq!(removed.items, [binned, kept].map(StoreItem::Offloaded));
    assert_eq!(place.store.offload_sessions().expect("none"), []);
    assert_eq!(place.store.expired(None).expect("none"), []);
}

/// Moves text out of one result, and plants references to it in this many other results.
#[test]
fn what_was_taken_out_may_be_put_back_as_often_and_there_alone() {
    let place = place();
    let taken = |calls: &[Option<&str>]| {
        let mut writer = place.store.offload(&place.demo);
        let files = calls.iter().map(|call| writer.put(&text("x"), *call).expect("written"));
        let file = files.last().expect("one at least");
        writer.finish(&[None]).expect("durable");
        file
    };
    let file = taken(&[Some("a"), Some("b"), Some("a")]);
    let often = |calls: &[Option<&str>]| {
        let mut taken = place.store.taken(&place.demo).expect("read");
        let mut count = |call| (0..9).filter(|_| taken.put_back(&file, call)).count();
        calls.iter().map(|call| count(*call)).collect::<Vec<_>>()
    };
    assert_eq!(often(&[Some("a"), Some("b"), Some("c"), None]), [2, 1, 0, 0]);
    // An incomplete line left by a killed run does not hide what the next run moved out.
    let path = place.path(&file).with_file_name("taken.jsonl");
    let torn = fs::read_to_string(&path).expect("reads") + "{\"file\":\"";
    fs::write(&path, torn).expect("written");
    taken(&[None, Some("a")]);
    assert_eq!(often(&[Some("a"), Some("b"), None]), [3, 1, 1]);
    fs::remove_file(&path).expect("removed");
    assert_eq!(often(&[Some("a"), Some("b")]), [1, 0]);
}

#[test]
fn a_session_that_is_read_again_is_put_together_again() {
    let place = place();
    let file = place.put("x", &[None]);
    let mut taken = place.store.taken(&place.demo).expect("read");
    for _ in 0..2 {
        assert!(taken.put_back(&file, None));
        assert!(!taken.put_back(&file, None));
        taken.begin();
    }
    let nobody = "other".parse().expect("an id");
    assert!(place.store.taken(&nobody).expect("no folder").put_back(&file, None));
}
