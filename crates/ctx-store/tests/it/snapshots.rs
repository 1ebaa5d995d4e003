//! A snapshot returns the exact bytes, or nothing.

use std::collections::HashSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use crate::{Bench, open, session, show, take};
use ctx_store::{ReplaceOutcome, StoreError};

const LINE: &[u8] = b"{\"role\":\"user\",\"content\":\"a\"}\n";

#[test]
fn meta_says_what_the_bytes_are() {
    let bench = Bench::new();
    let snapshot = bench.take(b"{\"role\":\"user\",\"content\":\"a\"}\nbroken\n{\"ro");
    let meta = &snapshot.meta;
    assert_eq!(meta.id, "demo-20261121T234307.123456Z-0001");
    assert_eq!((meta.bytes, meta.lines, meta.tail_bytes), (41, 3, 4));
    assert_eq!((meta.tally.messages, meta.tally.bad_lines), (1, 1));
    assert_eq!(meta.tally.bad[0].class, "broken");
    let mode =
        fs::metadata(bench.store.data_path(&snapshot.id)).expect("stat").permissions().mode();
    assert_eq!(mode & 0o777, 0o400);
    assert!(bench.names("store/tmp").is_empty());
}

/// T1, T2: the numbers determine the order of the snapshots, whatever the clock did.
#[test]
fn same_microsecond_and_a_clock_that_goes_back_make_no_difference() {
    let bench = Bench::new();
    let first = bench.take(b"1\n");
    let second = bench.take(b"2\n");
    assert_eq!(first.id.stamp.time, second.id.stamp.time);
    bench.wait_days(-400);
    let third = bench.take(b"3\n");
    assert!(third.id.stamp.time < first.id.stamp.time);
    let numbers = [&first, &second, &third].map(|snapshot| snapshot.id.stamp.sequence);
    assert_eq!(numbers, [1, 2, 3]);
    assert_eq!(show(&bench.store, "latest"), b"3\n");
}

#[test]
fn numbers_are_never_given_twice() {
    let bench = Bench::new();
    bench.take(b"1\n");
    bench.store.forget(&session()).expect("forgets");
    assert_eq!(bench.take(b"2\n").id.stamp.sequence, 2);
    fs::write(bench.path("store/lock"), "").expect("a torn counter");
    assert_eq!(bench.take(b"3\n").id.stamp.sequence, 3);
}

/// T2: eight threads take snapshots while the clock does not advance.
#[test]
fn parallel_snapshots_all_exist() {
    let bench = Bench::new();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            // Each thread has its own `Store`, as another process would.
            let store = open(&bench.store.root, &bench.micros);
            scope.spawn(move || {
                for n in 0..5 {
                    take(&store, format!("{thread} {n}\n").as_bytes());
                }
            });
        }
    });
    let catalog = bench.store.catalog(None).expect("lists");
    let numbers: HashSet<u64> =
        catalog.entries.iter().map(|entry| entry.id.stamp.sequence).collect();
    assert_eq!(numbers, (1..=40).collect());
    for entry in &catalog.entries {
        bench.store.open_verified(entry).expect("whole");
    }
}

#[test]
fn what_people_type_finds_one_or_says_why_not() {
    let bench = Bench::new();
    let first = bench.take(b"1\n");
    bench.wait_days(1);
    let second = bench.take(b"2\n");
    let catalog = bench.store.catalog(None).expect("lists");
    let found = |wanted: &str| catalog.find(wanted).map(|entry| entry.id.clone());
    for wanted in ["1", "0001", "20261121T", &first.id.to_string(), &first.meta.sha256[..8]] {
        assert_eq!(found(wanted).expect(wanted), first.id, "{wanted}");
    }
    assert_eq!(found("latest").expect("latest"), second.id);
    assert!(matches!(found("demo"), Err(StoreError::Ambiguous { .. })));
    for wanted in ["", "3", "other", "../demo", &first.meta.sha256[..5]] {
        assert!(matches!(found(wanted), Err(StoreError::NoSnapshot(_))), "{wanted}");
    }
}

/// A number that no snapshot has is not mistaken for the beginning of a date, id or hash.
#[test]
fn a_number_that_names_no_snapshot_names_nothing() {
    let bench = Bench::new();
    let taken = bench.take(b"1\n");
    let catalog = bench.store.catalog(None).expect("lists");
    for wanted in ["2", "20", "2026", "202611", "2026112", "20261121", "12345678901"] {
        let found = catalog.find(wanted).map(|entry| entry.id.clone());
        let none = matches!(found, Err(StoreError::NoSnapshot(_)));
        assert!(none, "{wanted}: {found:?}");
        let held = bench.store.hold(None, wanted, true);
        assert!(held.is_err(), "{wanted}");
    }
    for wanted in ["1", "2026-11-21", "20261121T23", "latest"] {
        assert_eq!(catalog.find(wanted).expect(wanted).id, taken.id, "{wanted}");
    }
    bench.store.discard(&[taken.id], &[], bench.store.now()).expect("discards");
    for wanted in ["2", "20", "2026"] {
        let found = bench.store.find_deleted(None, wanted);
        let none = matches!(found, Err(StoreError::NotInTrash(_)));
        assert!(none, "{wanted}: {found:?}");
    }
}

/// A function that damages the files of two snapshots.
type Damage = fn(&Path, &Path, &Path, &Path);

/// C10: bytes and commit records that are damaged, truncated, swapped or edited are detected and
/// never restored.
#[test]
fn damage_is_found_and_never_restored() {
    let damages: [(&str, Damage); 9] = [
        ("one bit", |data, _, _, _| {
            let mut bytes = fs::read(data).expect("reads");
            bytes[3] ^= 1;
            fs::write(data, bytes).expect("writes");
        }),
        ("cut", |data, _, _, _| {
            fs::write(data, &LINE[..9]).expect("writes");
        }),
        ("empty", |data, _, _, _| {
            fs::write(data, "").expect("writes");
        }),
        ("gone", |data, _, _, _| {
            fs::remove_file(data).expect("removes");
        }),
        ("swapped bytes", |data, _, other, _| {
            fs::copy(other, data).map(drop).expect("copies");
        }),
        ("swapped meta", |_, meta, _, other| {
            fs::copy(other, meta).map(drop).expect("copies");
        }),
        ("a link", |data, _, other, _| {
            fs::remove_file(data).expect("removes");
            std::os::unix::fs::symlink(other, data).expect("links");
        }),
        ("edited meta", |_, meta, _, _| {
            let text = fs::read_to_string(meta).expect("reads");
            fs::write(meta, text.replace("\"held\":false", "\"held\":true")).expect("writes");
        }),
        ("newer meta", |_, meta, _, _| {
            let text = fs::read_to_string(meta).expect("reads");
            fs::write(meta, text.replace("\"format\":1", "\"format\":3")).expect("writes");
        }),
    ];
    for (what, damage) in damages {
        let bench = Bench::new();
        let snapshot = bench.take(LINE);
        let other = bench.take(b"{\"role\":\"user\",\"content\":\"b\"}\n");
        let paths = [&snapshot, &other]
            .map(|s| [bench.store.data_path(&s.id), bench.store.meta_path(&s.id)]);
        for path in paths.iter().flatten() {
            fs::set_permissions(path, Permissions::from_mode(0o600)).expect("chmod");
        }
        let [[data, meta], [other_data, other_meta]] = &paths;
        damage(data, meta, other_data, other_meta);
        let live = bench.file("s.jsonl", b"live\n");
        let error = bench.restore(&live, &snapshot).expect_err(what);
        assert!(matches!(error, StoreError::Damaged { .. }), "{what}: {error}");
        assert_eq!(fs::read(&live).expect("reads"), b"live\n", "{what}");
        let catalog = bench.store.catalog(None).expect("lists");
        let whole = |entry: &&ctx_store::Entry| bench.store.open_verified(entry).is_ok();
        assert_eq!(catalog.entries.iter().filter(whole).count(), 1, "{what}");
    }
}

#[test]
fn without_its_meta_it_was_never_committed() {
    let bench = Bench::new();
    let snapshot = bench.take(LINE);
    fs::remove_file(bench.store.meta_path(&snapshot.id)).expect("removes");
    let catalog = bench.store.catalog(None).expect("lists");
    assert!(catalog.entries.is_empty());
    assert_eq!(catalog.uncommitted, [snapshot.id]);
}

/// Generates session lines, and bytes that are not lines.
fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(LINE.to_vec()),
        Just(b"{}{}\r\n".to_vec()),
        Just(b"\0\0\n".to_vec()),
        prop::collection::vec(any::<u8>(), 0..80),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn rollback_gives_back_every_byte(before in any_bytes(), after in any_bytes()) {
        let bench = Bench::new();
        let live: PathBuf = bench.file("s.jsonl", &before);
        let snapshot = bench.save(&live, &session());
        prop_assert_eq!(snapshot.meta.bytes, before.len() as u64);
        fs::write(&live, &after).expect("writes");
        let replaced = bench.restore(&live, &snapshot).expect("restores");
        prop_assert_eq!(fs::read(&live).expect("reads"), before.clone());
        if let ReplaceOutcome::New { before: saved, late_bytes, retained } = replaced {
            prop_assert_eq!(show(&bench.store, &saved.id.to_string()), after);
            prop_assert_eq!((late_bytes, retained), (0, None));
        } else {
            prop_assert_eq!(before, after);
        }
        prop_assert_eq!(bench.names("."), ["s.jsonl", "store"]);
    }
}
