//! Packing turns the bytes of older snapshots into zstd files, and no reader notices a difference.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use chrono::TimeDelta;
use ctx_store::compare::{Diff, Hunk};
use ctx_store::{Entry, Repaired, Snapshot, Store, StoreError};

use crate::growing::Session;
use crate::{Bench, all, session};

/// Packs all snapshots.
fn pack(store: &Store) -> Vec<String> {
    let report = store.pack(&store.unpacked(all(store), store.now()).expect("lists"));
    assert!(report.failed.is_empty(), "{:?}", report.failed);
    let packed = report.packed.iter().map(|(id, _)| id.to_string());
    packed.collect()
}

fn entry(store: &Store, snapshot: &Snapshot) -> Entry {
    let entries = store.catalog(None).expect("lists").entries;
    let mut entries = entries.into_iter().filter(|entry| entry.id == snapshot.id);
    entries.next().expect("it is there")
}

fn bytes(store: &Store, snapshot: &Snapshot) -> Result<Vec<u8>, StoreError> {
    let (mut bytes, meta) = store.open_verified(&entry(store, snapshot))?;
    let mut all = Vec::new();
    bytes.read_to_end(&mut all).expect("it was read before");
    assert_eq!(meta.bytes, all.len() as u64);
    Ok(all)
}

/// Whether a snapshot has a meta.json, a plain file and a packed file.
fn files(store: &Store, snapshot: &Snapshot) -> [bool; 3] {
    let id = &snapshot.id;
    let paths = [store.meta_path(id), store.data_path(id), store.packed_path(id)];
    paths.map(|path| path.exists())
}

const LINES: &[u8] = b"{\"n\":1}\n{\"n\":2}\nhalf";

/// Reading a packed snapshot returns the same bytes as reading a plain one.
#[test]
fn what_is_packed_is_read_as_before() {
    let bench = Bench::new();
    let store = &bench.store;
    let snapshot = bench.take(LINES);
    assert_eq!(files(store, &snapshot), [true, true, false]);
    assert_eq!(pack(store), [snapshot.id.to_string()]);
    assert_eq!(files(store, &snapshot), [true, false, true]);
    assert!(pack(store).is_empty(), "it is packed");
    let entry = entry(store, &snapshot);
    store.verify(&entry, false).expect("whole");
    store.verify(&entry, true).expect("whole");
    assert_eq!(bytes(store, &snapshot).expect("whole"), LINES);
    let sha256 = &snapshot.meta.sha256;
    assert!(store.has_snapshot_of(None, sha256).expect("looks"));
    let file = store.open_verified(&entry).expect("whole").0.into_file();
    let text = std::io::read_to_string(file.expect("a file")).expect("text");
    assert_eq!(text.as_bytes(), LINES);
    let newer = bench.take(b"{\"n\":1}\n{\"n\":3}\n");
    let open = |entry| store.open_to_compare(entry).expect("whole");
    let diff = Diff::of_files(open(&entry), open(&self::entry(store, &newer)));
    let changed = Hunk { old: 1..3, new: 1..2 };
    assert_eq!(diff.expect("read").hunks, [changed]);
    // A later change to meta.json does not lose the packed state.
    store.hold(None, "1", true).expect("held");
    assert_eq!(bytes(store, &snapshot).expect("whole"), LINES);
    assert!(store.check_audit_log().expect("a log").is_empty());
}

/// The newest snapshots stay plain.
#[test]
fn only_what_is_old_enough_is_packed() {
    let bench = Bench::new();
    let old = bench.take(b"1\n");
    bench.wait_days(2);
    bench.take(b"2\n");
    let before = bench.store.now() - TimeDelta::days(1);
    let entries = bench.store.unpacked(all(&bench.store), before).expect("lists");
    let ids: Vec<_> = entries.into_iter().map(|entry| entry.id).collect();
    assert_eq!(ids, [old.id]);
}

/// A rollback to a packed snapshot restores the exact bytes.
#[test]
fn a_rollback_from_packed_bytes_is_exact() {
    let bench = Bench::new();
    let path = bench.file("s.jsonl", LINES);
    let saved = bench.save(&path, &session());
    pack(&bench.store);
    fs::write(&path, "other\n").expect("written");
    bench.restore(&path, &saved).expect("restored");
    assert_eq!(fs::read(&path).expect("read"), LINES);
}

/// A packed snapshot can be removed and restored.
#[test]
fn what_is_packed_goes_into_the_trash_and_comes_back() {
    let bench = Bench::new();
    let store = &bench.store;
    let snapshot = bench.take(LINES);
    pack(store);
    let ids = [snapshot.id.clone()];
    store.discard(&ids, &[], store.now()).expect("removed");
    assert_eq!(files(store, &snapshot), [false, false, false]);
    bench.undelete("1").expect("back");
    assert_eq!(bytes(store, &snapshot).expect("whole"), LINES);
    store.discard(&ids, &[], store.now()).expect("removed");
    store.purge(None).expect("purged");
    assert_eq!(fs::read_dir(store.root.join("trash")).expect("read").count(), 0);
    let snapshot = bench.take(LINES);
    pack(store);
    store.forget(&snapshot.id.session).expect("forgotten");
    assert_eq!(files(store, &snapshot), [false, false, false]);
}

/// A packed snapshot, with copies of its commit record from before and after the packing.
struct Once {
    snapshot: Snapshot,
    meta: PathBuf,
    plain: PathBuf,
    before: Vec<u8>,
    after: Vec<u8>,
}

impl Once {
    fn packed(bench: &Bench) -> Self {
        let store = &bench.store;
        let snapshot = bench.take(LINES);
        let (meta, plain) = (store.meta_path(&snapshot.id), store.data_path(&snapshot.id));
        let before = fs::read(&meta).expect("a record");
        pack(store);
        let after = fs::read(&meta).expect("a record");
        Self { snapshot, meta, plain, before, after }
    }
}

/// No matter at which step packing is killed, the snapshot stays complete, and the next run
/// finishes the packing.
#[test]
fn a_run_that_was_killed_is_finished() {
    let bench = Bench::new();
    let store = &bench.store;
    let Once { snapshot, meta, plain, before, after } = Once::packed(&bench);
    let put = |path: &Path, bytes: &[u8]| {
        let _ = fs::remove_file(path);
        fs::write(path, bytes).expect("written");
    };
    for record in [&before, &after] {
        put(&plain, LINES);
        put(&meta, record);
        assert_eq!(files(store, &snapshot), [true, true, true]);
        assert_eq!(bytes(store, &snapshot).expect("whole"), LINES);
        assert_eq!(pack(store), [snapshot.id.to_string()]);
        assert_eq!(files(store, &snapshot), [true, false, true]);
        assert_eq!(fs::read(&meta).expect("a record"), after, "the same bytes again");
    }
    // If both files exist and one is damaged, the other is read.
    put(&plain, b"{\"n\":1}\n{\"n\":2}\nHALF");
    assert_eq!(bytes(store, &snapshot).expect("the packed one"), LINES);
    pack(store);
    assert_eq!(files(store, &snapshot), [true, false, true]);
    put(&plain, LINES);
    put(&store.packed_path(&snapshot.id), b"");
    assert_eq!(bytes(store, &snapshot).expect("the plain one"), LINES);
    pack(store);
    assert_eq!(bytes(store, &snapshot).expect("packed anew"), LINES);
}

/// A snapshot that a user has unpacked or packed by hand can still be read.
#[test]
fn bytes_that_somebody_packed_or_unpacked_are_read() {
    let bench = Bench::new();
    let store = &bench.store;
    let Once { snapshot, meta, plain, before, after } = Once::packed(&bench);
    let packed = store.packed_path(&snapshot.id);
    fs::rename(&packed, bench.path("aside")).expect("moved");
    fs::write(&plain, LINES).expect("written");
    assert_eq!(bytes(store, &snapshot).expect("whole"), LINES);
    fs::remove_file(&plain).expect("removed");
    fs::rename(bench.path("aside"), &packed).expect("moved");
    fs::remove_file(&meta).expect("removed");
    fs::write(&meta, before).expect("written");
    assert_eq!(bytes(store, &snapshot).expect("whole"), LINES);
    fs::remove_file(&meta).expect("removed");
    let repaired = store.repair(None, false).expect("repairs");
    assert!(repaired.contains(&Repaired::Adopted(snapshot.id.clone())), "{repaired:?}");
    assert_eq!(bytes(store, &snapshot).expect("whole"), LINES);
    let adopted = fs::read_to_string(&meta).expect("a record");
    let member = |text: &str| {
        text[text.find("\"packed\"").expect("one")..].split_once('}').map(|(it, _)| it.to_owned())
    };
    assert_eq!(member(&adopted), member(&String::from_utf8(after).expect("text")));
}

/// A packed snapshot that is damaged, truncated or unpacks to more bytes than were
/// saved is noticed, and a repair sets it aside.
#[test]
fn damage_of_packed_bytes_is_found() {
    type Damage = fn(&mut Vec<u8>);
    let damages: [(&str, bool, Damage); 5] = [
        ("cut", true, |bytes| bytes.truncate(bytes.len() / 2)),
        ("emptied", true, Vec::clear),
        ("changed", false, |bytes| {
            let at = bytes.len() / 2;
            bytes[at] ^= 1;
        }),
        ("something else", true, |bytes| *bytes = LINES.to_vec()),
        ("a bomb", true, |bytes| {
            *bytes = zstd::encode_all(std::io::repeat(b'a').take(1 << 28), 1).expect("packs");
        }),
    ];
    for (what, is_seen_at_once, damage) in damages {
        let bench = Bench::new();
        let store = &bench.store;
        let snapshot = bench.take(&[LINES, &b"abcdefgh\n".repeat(40)].concat());
        pack(store);
        let path = store.packed_path(&snapshot.id);
        let mut bytes = fs::read(&path).expect("read");
        damage(&mut bytes);
        fs::remove_file(&path).expect("removed");
        fs::write(&path, bytes).expect("written");
        let entry = entry(store, &snapshot);
        assert_eq!(store.verify(&entry, false).is_err(), is_seen_at_once, "{what}");
        for checked in [store.verify(&entry, true), store.open_verified(&entry).map(drop)] {
            let found = checked.expect_err(what);
            assert!(matches!(found, StoreError::Damaged { .. }), "{what}: {found}");
        }
        let repaired = store.repair(None, true).expect("repairs");
        assert!(matches!(repaired[..], [Repaired::SetAside(..), ..]), "{what}: {repaired:?}");
        assert_eq!(files(store, &snapshot), [false, false, false], "{what}");
        store.forget(&session()).expect("forgotten");
        assert_eq!(fs::read_dir(store.root.join("damaged")).expect("read").count(), 0);
    }
}

/// A damaged snapshot is not packed, so that its remains can be examined.
#[test]
fn damaged_bytes_are_not_packed() {
    for other in [&b"{\"n\":1}\n{\"n\":3}\nhalf"[..], b"", &LINES.repeat(2)] {
        let bench = Bench::new();
        let store = &bench.store;
        let snapshot = bench.take(LINES);
        let entries = store.unpacked(all(store), store.now()).expect("lists");
        let path = store.data_path(&snapshot.id);
        fs::remove_file(&path).expect("removed");
        fs::write(&path, other).expect("written");
        let report = store.pack(&entries);
        assert!(report.packed.is_empty());
        assert!(matches!(report.failed[..], [StoreError::Damaged { .. }]), "{:?}", report.failed);
        assert_eq!(files(store, &snapshot), [true, true, false]);
        assert_eq!(fs::read(&path).expect("read"), other);
        assert_eq!(fs::read_dir(store.root.join("tmp")).expect("read").count(), 0);
    }
}

/// A snapshot that was removed or replaced after the list was made is left alone.
#[test]
fn a_snapshot_that_is_gone_by_then_is_no_fault() {
    let bench = Bench::new();
    let store = &bench.store;
    let snapshot = bench.take(LINES);
    let entries = store.unpacked(all(store), store.now()).expect("lists");
    store.discard(std::slice::from_ref(&snapshot.id), &[], store.now()).expect("removed");
    let report = store.pack(&entries);
    assert!(report.packed.is_empty() && report.failed.is_empty(), "{report:?}");
    assert_eq!(files(store, &snapshot), [false, false, false]);
}

/// What `zstdcat` prints for a file; `None` if `zstdcat` is not installed.
#[allow(clippy::print_stderr)] // A skipped test must say so.
fn zstdcat(path: &Path) -> Option<Vec<u8>> {
    let Ok(done) = Command::new("zstdcat").arg(path).output() else {
        eprintln!("skipped: zstdcat is not installed");
        return None;
    };
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(done.stdout)
}

/// Standard tools unpack a packed snapshot without options, even one that is larger than the zstd
/// window.
#[test]
fn zstdcat_reads_it() {
    let bench = Bench::new();
    let mut long = Session::new(7).grown(3 << 20).to_vec();
    while long.len() < 40 << 20 {
        long.extend_from_within(..3 << 20);
    }
    for content in [LINES, b"", &long] {
        let snapshot = bench.take(content);
        pack(&bench.store);
        let path = bench.store.packed_path(&snapshot.id);
        let Some(read) = zstdcat(&path) else { return };
        assert!(read == content, "{} bytes", content.len());
        assert!(bytes(&bench.store, &snapshot).expect("whole") == content);
    }
}
