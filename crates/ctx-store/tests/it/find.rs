//! Snapshots are found by the names that people type, and an error suggests sessions that they may
//! have meant.

use ctx_store::{MissingReason, Snapshot, SnapshotKind, StoreError};

use super::{Bench, session};

/// The clock of the bench starts on 2026-11-21 at 23:43:07.
fn found(bench: &Bench, wanted: &str) -> Result<u64, StoreError> {
    let found = bench.store.find_snapshot(Some(&session()), wanted);
    found.map(|entry| entry.id.stamp.sequence)
}

fn reason(bench: &Bench, wanted: &str) -> MissingReason {
    match found(bench, wanted) {
        Err(StoreError::NoSnapshot(missing)) => missing.reason,
        other => panic!("{wanted}: {other:?}"),
    }
}

fn other(bench: &Bench, bytes: &[u8]) -> Snapshot {
    let path = bench.file("other.jsonl", bytes);
    bench.save(&path, &"other".parse().expect("an id"))
}

/// Digits mean a snapshot number in the given session. If that session has no such snapshot, the
/// error says which other session has it and which numbers are near.
#[test]
fn digits_are_a_number_of_that_session() {
    let bench = Bench::new();
    bench.take(b"1\n");
    let other = other(&bench, b"x\n");
    bench.take(b"3\n");
    bench.take(b"4\n");
    assert_eq!(found(&bench, "0003").expect("it is there"), 3);
    let is_other = MissingReason::Elsewhere(other.id.to_string());
    assert_eq!(reason(&bench, "2"), is_other);
    assert_eq!(reason(&bench, &other.id.to_string()), is_other);
    let Err(StoreError::NoSnapshot(missing)) = found(&bench, "2") else {
        panic!("it is of another session");
    };
    assert_eq!(missing.to_string(), format!("2 is {}, which belongs to another session", other.id));
    let near: Vec<&str> = missing.near.iter().map(|id| &id[id.len() - 4..]).collect();
    assert_eq!(near, ["0001", "0003"]);
    assert_eq!(reason(&bench, "9"), MissingReason::Unknown);
    let day = MissingReason::DayInDigits("2026-11-21".to_owned());
    assert_eq!(reason(&bench, "20261121"), day);
    assert_eq!(reason(&bench, "20261321"), MissingReason::Unknown);
    assert_eq!(reason(&bench, "123456789012"), MissingReason::HashInDigits);
}

/// If the snapshot is in the trash, the error says so.
#[test]
fn a_number_in_the_trash_is_told() {
    let bench = Bench::new();
    let gone = bench.take(b"1\n");
    bench.take(b"2\n");
    bench.store.discard(std::slice::from_ref(&gone.id), &[], bench.store.now()).expect("moved");
    assert_eq!(reason(&bench, "1"), MissingReason::InTrash(gone.id.to_string()));
}

/// A day means the snapshot taken on it; a time means the newest one taken by then.
#[test]
fn days_and_times_name_snapshots() {
    let bench = Bench::new();
    bench.take(b"1\n");
    bench.wait_days(7);
    bench.take(b"2\n");
    bench.take(b"3\n");
    bench.wait_days(2);
    for (wanted, number) in [
        ("2026-11-21", 1),
        ("2026-11-21T23:43", 1),
        ("2026-11-27 12:00", 1),
        ("1 week ago", 1),
        ("2026-11-28T23:44", 3),
        ("2 days ago", 3),
        ("now", 3),
        ("2027-01-01 00:00", 3),
    ] {
        assert_eq!(found(&bench, wanted).expect(wanted), number, "{wanted}");
    }
    let Err(StoreError::Ambiguous { matches, .. }) = found(&bench, "2026-11-28") else {
        panic!("two were taken on that day");
    };
    assert_eq!(matches.len(), 2);
    let MissingReason::NotThatDay(around) = reason(&bench, "2026-11-25") else {
        panic!("none was taken on that day");
    };
    assert_eq!(around.len(), 2);
    assert!(around[0].ends_with("-0001") && around[1].contains("20261128T"), "{around:?}");
    for wanted in ["2026-11-21T23:42", "1 month ago"] {
        let MissingReason::NoneBefore(Some(oldest)) = reason(&bench, wanted) else {
            panic!("{wanted}: none is as old");
        };
        assert!(oldest.ends_with("-0001"), "{wanted}");
    }
}

/// Neither a time nor `latest` means a snapshot that was taken for an undo.
#[test]
fn a_time_names_no_snapshot_that_was_taken_for_an_undo() {
    let bench = Bench::new();
    bench.take(b"1\n");
    let draft = bench.store.draft(&b"2\n"[..], std::path::Path::new("memory"));
    let taken = draft.and_then(|draft| draft.commit(&session(), SnapshotKind::PreRollback));
    taken.expect("commits");
    bench.wait_days(1);
    assert_eq!(found(&bench, "now").expect("one"), 1);
    let catalog = bench.store.catalog(None).expect("lists");
    let before = catalog.find_before(bench.store.now()).expect("one");
    assert_eq!(before.id.stamp.sequence, 1);
    assert!(catalog.find_before(before.id.stamp.time).is_err());
}

/// A session that does not exist is an error that lists similar names.
#[test]
fn a_session_with_a_typing_error_is_refused() {
    let bench = Bench::new();
    let taken = bench.take(b"1\n");
    let typo = "dmeo".parse().expect("an id");
    let Err(StoreError::NoSession { near, in_trash, .. }) =
        bench.store.require_session(&typo, false)
    else {
        panic!("there is none");
    };
    assert_eq!((near, in_trash), (vec!["demo".to_owned()], false));
    bench.store.require_session(&session(), false).expect("there");
    bench.store.discard(&[taken.id], &[], bench.store.now()).expect("moved");
    let gone = bench.store.require_session(&session(), false);
    assert!(matches!(gone, Err(StoreError::NoSession { in_trash: true, .. })));
    bench.store.require_session(&session(), true).expect("in the trash");
}
