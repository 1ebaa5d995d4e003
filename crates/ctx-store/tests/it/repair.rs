//! Repairing a store must not lose a byte.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::{Bench, session, show};
use ctx_store::{Repaired, SnapshotKind, StoreError, StoreItem};

/// Overwrites a file that is read-only.
fn overwrite(path: &Path, bytes: &[u8]) {
    fs::set_permissions(path, Permissions::from_mode(0o600)).expect("chmod");
    fs::write(path, bytes).expect("writes");
}

/// Hashes of all files in the store's folders for snapshots and for damaged files.
fn contents(bench: &Bench) -> BTreeSet<String> {
    let folders = ["store/memory", "store/damaged"].map(|name| bench.path(name));
    let entries = folders.iter().flat_map(walkdir::WalkDir::new).flatten();
    let files = entries.filter(|entry| entry.file_type().is_file());
    let hash = |path: &Path| ctx_store::hash(&mut fs::File::open(path)?);
    files.map(|entry| hash(entry.path()).expect("hashes")).collect()
}

fn repair(bench: &Bench) -> Vec<Repaired> {
    bench.store.repair(None, true).expect("repairs")
}

#[test]
fn a_whole_store_is_left_as_it_is() {
    let bench = Bench::new();
    assert_eq!(repair(&bench), []);
    assert!(!bench.path("store").exists(), "there was none");
    bench.take(b"1\n");
    let live = bench.file("s.jsonl", b"live\n");
    let saved = bench.save(&live, &session());
    fs::write(&live, "new\n").expect("writes");
    bench.restore(&live, &saved).expect("restores");
    assert_eq!(repair(&bench), []);
    assert!(!bench.path("store/damaged").exists());
    assert_eq!(bench.store.check_audit_log().expect("reads"), []);
}

/// G4: damaged files are set aside, and bytes that lost their record get a new one.
#[test]
fn everything_is_repaired_or_set_aside_and_nothing_is_lost() {
    let bench = Bench::new();
    let [bare, flipped, cut, newer, whole] =
        [b"1\n", b"2\n", b"3\n", b"4\n", b"5\n"].map(|bytes| bench.take(bytes));
    let meta = |snapshot: &ctx_store::Snapshot| bench.store.meta_path(&snapshot.id);
    let data = |snapshot: &ctx_store::Snapshot| bench.store.data_path(&snapshot.id);
    fs::remove_file(meta(&bare)).expect("removes");
    overwrite(&data(&flipped), b"x\n");
    overwrite(&data(&cut), b"3");
    let text = fs::read_to_string(meta(&newer)).expect("reads");
    let text = text.replace("\"format\":1", "\"format\":3");
    overwrite(&meta(&newer), text.as_bytes());
    fs::write(bench.path("store/tmp/.meta.ctx-tmp-1-2-3"), "half").expect("writes");
    fs::write(bench.path("store/lock"), "{\"sequence\":2}\n").expect("writes");
    let before = contents(&bench);

    let done = repair(&bench);
    let told = |id: &ctx_store::SnapshotId| {
        done.iter().find_map(|repaired| match repaired {
            Repaired::SetAside(StoreItem::Snapshot(aside), why) if aside == id => Some(why.clone()),
            _ => None,
        })
    };
    assert!(done.contains(&Repaired::Reaped(1)), "{done:?}");
    assert!(done.contains(&Repaired::Adopted(bare.id.clone())), "{done:?}");
    assert!(done.contains(&Repaired::Recounted), "{done:?}");
    assert!(told(&flipped.id).expect("set aside").contains("sha256"));
    assert!(told(&cut.id).expect("set aside").contains("1 bytes"));
    assert_eq!(told(&newer.id), None, "it is not damaged");
    assert!(before.is_subset(&contents(&bench)), "bytes are lost");
    let catalog = bench.store.catalog(None).expect("lists");
    let ids: Vec<_> = catalog.entries.iter().map(|entry| &entry.id).collect();
    assert_eq!(ids, [&bare.id, &newer.id, &whole.id]);
    assert_eq!(show(&bench.store, "1"), b"1\n");
    assert_eq!(bench.take(b"6\n").id.stamp.sequence, 6);

    assert_eq!(repair(&bench), []);
    let log = fs::read_to_string(bench.store.audit_log()).expect("reads");
    for op in ["repair", "adopt", "set-aside"] {
        for phase in ["intent", "done"] {
            let record = format!("\"op\":\"{op}\",\"phase\":\"{phase}\"");
            assert!(log.contains(&record), "{record}");
        }
    }
}

#[test]
fn bytes_without_a_commit_record_are_adopted_when_they_are_what_was_saved() {
    let bench = Bench::new();
    let [good, bad] = [b"1\n", b"2\n"].map(|bytes| bench.take(bytes));
    let newest = bench.take(b"3\n");
    for snapshot in [&good, &bad] {
        fs::remove_file(bench.store.meta_path(&snapshot.id)).expect("removes");
    }
    overwrite(&bench.store.data_path(&bad.id), b"x\n");
    let done = repair(&bench);
    assert!(done.contains(&Repaired::Adopted(good.id.clone())));
    let is_bad = |repaired: &Repaired| match repaired {
        Repaired::SetAside(StoreItem::Snapshot(id), why) => {
            *id == bad.id && why.contains(&bad.meta.sha256)
        }
        _ => false,
    };
    assert!(done.iter().any(is_bad), "{done:?}");
    let catalog = bench.store.catalog(None).expect("lists");
    let adopted = catalog.find("1").expect("there").meta.clone();
    let adopted = adopted.expect("a record");
    assert_eq!(adopted.kind, SnapshotKind::Adopted);
    assert_eq!(adopted.sha256, good.meta.sha256);
    // Nobody knows why this snapshot was taken, so `latest` does not mean it.
    bench.store.discard(&[newest.id], &[], bench.store.now()).expect("discards");
    let catalog = bench.store.catalog(None).expect("lists");
    let latest = catalog.find("latest");
    assert!(matches!(latest, Err(StoreError::NoSnapshot(_))));
    assert_eq!(show(&bench.store, "1"), b"1\n");
}

#[test]
fn a_broken_log_is_kept_and_a_new_one_knows_its_hash() {
    let bench = Bench::new();
    bench.take(b"1\n");
    bench.take(b"2\n");
    let log = bench.store.audit_log();
    let text = fs::read_to_string(&log).expect("reads");
    let forged = text.replacen("\"demo\"", "\"dema\"", 1);
    fs::write(&log, &forged).expect("writes");
    let broken = bench.store.check_audit_log().expect("reads");
    assert_eq!(broken.iter().map(|link| link.line).collect::<Vec<_>>(), [2]);
    // Repairing a single session does not check the log.
    assert_eq!(bench.store.repair(Some(&session()), true).expect("repairs"), []);
    let forged = fs::read(&log).expect("reads");
    let done = repair(&bench);
    let [Repaired::LogSetAside(aside)] = &done[..] else {
        panic!("{done:?}");
    };
    assert_eq!(fs::read(aside).expect("reads"), forged);
    let text = fs::read_to_string(&log).expect("reads");
    let hash = ctx_store::hash(&mut &forged[..]).expect("hashes");
    let first = text.lines().next().expect("a record");
    assert!(first.contains("\"op\":\"set-log-aside\"") && first.contains(&hash));
    assert_eq!(bench.store.check_audit_log().expect("reads"), []);
    assert_eq!(repair(&bench), []);
}

#[test]
fn what_was_set_aside_is_forgotten_with_its_session() {
    let bench = Bench::new();
    let damaged = bench.take(b"1\n");
    bench.take(b"2\n");
    overwrite(&bench.store.data_path(&damaged.id), b"x\n");
    assert_eq!(repair(&bench).len(), 1);
    bench.store.forget(&session()).expect("forgets");
    assert!(bench.names("store/damaged").is_empty());
    assert!(contents(&bench).is_empty());
}
