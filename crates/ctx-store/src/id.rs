//! The ids of sessions and snapshots. A session id is used as a file name, so only a few characters
//! are allowed in it. A snapshot id is `{sessionId}-{time}-{sequence}`.

use std::path::Path;
use std::str::FromStr;

use chrono::{DateTime, NaiveDateTime, Utc};
use ctx_format::Head;
use derive_more::Display;
use ring::digest::{SHA256, digest};

use crate::error::{OrCannot, Result, StoreError};
use crate::fs::{hex, open_plain};

/// The id of a session. The id matches `[A-Za-z0-9][A-Za-z0-9._-]{0,127}`, so it can never be a
/// path, a flag or the name of a hidden file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Display)]
pub struct SessionId(String);

/// The maximum length of a session id in bytes. All allowed characters are ASCII, so this is also
/// the maximum in characters.
const LONGEST: usize = 128;
/// The length of the suffix that turns a file's stem into a session id: `-` and 8 hash digits.
const HASH_LENGTH: usize = 9;

impl SessionId {
    /// The minimum length of the beginning of an id that stands for the id.
    pub const LEAST: usize = 4;

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the session id to use for a file if the user did not specify one. This is the id
    /// that the agent wrote into the file, or that it gave to the session's folder. If there is no
    /// valid id, or the file cannot be read, the id is derived from the path.
    pub fn of_file(path: &Path) -> Result<Self> {
        Self::recorded_in(path).map_or_else(|| Self::of_path(path), Ok)
    }

    /// Returns the session id that an agent wrote into the file or gave to a folder that contains
    /// the file, if that is a valid id.
    pub(crate) fn recorded_in(path: &Path) -> Option<Self> {
        let head = open_plain(path).and_then(Head::read).ok()?;
        if let Some(id) = head.session {
            return id.parse().ok();
        }
        head.dialect?.log()?.session_of_path(&real_path(path).ok()?)?.parse().ok()
    }

    /// Returns the session id for a file without an id: the file's stem, `-`, and the first 8
    /// hex digits of its real path's sha256. Files with the same name in different folders
    /// therefore have different ids.
    pub fn of_path(path: &Path) -> Result<Self> {
        let real = real_path(path).or_cannot("read", path)?;
        let digest = hex(digest(&SHA256, real.as_os_str().as_encoded_bytes()));
        let stem = real.file_stem().unwrap_or_default().to_string_lossy();
        let id: String = stem
            .chars()
            .map(|c| if is_allowed(c) { c } else { '_' })
            .skip_while(|c| !c.is_ascii_alphanumeric())
            .take(LONGEST - HASH_LENGTH)
            .collect();
        let name = if id.is_empty() { "session" } else { &id };
        format!("{name}-{}", &digest[..8]).parse()
    }
}

fn is_allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
}

/// Returns the real path of a file. The folder must exist, but the file need not.
pub fn real_path(path: &Path) -> std::io::Result<std::path::PathBuf> {
    match path.file_name() {
        Some(name) => Ok(crate::fs::parent(path).canonicalize()?.join(name)),
        // The last part is `.` or `..`.
        None => path.canonicalize(),
    }
}

impl FromStr for SessionId {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self> {
        let starts_well = text.starts_with(|c: char| c.is_ascii_alphanumeric());
        let is_id = starts_well && text.len() <= LONGEST && text.chars().all(is_allowed);
        let text = text.to_owned();
        if is_id { Ok(Self(text)) } else { Err(StoreError::BadSession(text)) }
    }
}

/// The time and the number of a snapshot: `20261121T234307.123456Z-0007`.
///
/// Snapshots are ordered by sequence number, which is reliable even if the clock was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Display)]
#[display("{}-{sequence:04}", time.format(TIME))]
pub struct Stamp {
    /// The number of the snapshot. Snapshots are numbered consecutively across all sessions in a
    /// store.
    pub sequence: u64,
    /// The time when the snapshot was taken, in UTC, to the microsecond.
    pub time: DateTime<Utc>,
}

/// The format of times in the names of snapshots and other files.
pub(crate) const TIME: &str = "%Y%m%dT%H%M%S%.6fZ";
/// The length of a time in [`TIME`] format.
const TIME_LEN: usize = "20261121T234307.123456Z".len();

impl Stamp {
    /// Parses a stamp as written by `Display`.
    pub fn parse(text: &str) -> Option<Self> {
        let (time, sequence) = text.split_at_checked(TIME_LEN)?;
        let sequence = sequence.strip_prefix('-')?;
        let stamp = Self {
            time: NaiveDateTime::parse_from_str(time, TIME).ok()?.and_utc(),
            sequence: sequence.parse().ok()?,
        };
        // Reject any spelling that `Display` would not produce.
        (stamp.to_string() == text).then_some(stamp)
    }
}

/// The id of a snapshot. The names of the snapshot's files begin with the id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Display)]
#[display("{session}-{stamp}")]
pub struct SnapshotId {
    /// The session to which the snapshot belongs.
    pub session: SessionId,
    /// The time and the number of the snapshot.
    pub stamp: Stamp,
}

impl SnapshotId {
    /// Parses a snapshot id as written by `Display`. The id is parsed from right to left, because
    /// the session id may contain `-`.
    pub fn parse(text: &str) -> Option<Self> {
        let time = text.rfind('-')?.checked_sub(TIME_LEN)?;
        let session = text.get(..time)?.strip_suffix('-')?;
        Some(Self { session: session.parse().ok()?, stamp: Stamp::parse(&text[time..])? })
    }
}

#[cfg(test)]
mod session_tests {
    use super::SessionId;

    #[test]
    fn only_plain_names_are_ids() {
        let longest = "a".repeat(128);
        for good in ["a", "7", "demo", "A.b_c-d", longest.as_str()] {
            assert_eq!(good.parse::<SessionId>().expect(good).as_str(), good);
        }
        let too_long = "a".repeat(129);
        for bad in [
            "",
            ".",
            "..",
            "../../x",
            "/abs",
            "-rf",
            ".hidden",
            "a\n",
            "a b",
            "*",
            "a/b",
            "a\0",
            "é",
            "\u{1b}[31m",
            too_long.as_str(),
        ] {
            assert!(bad.parse::<SessionId>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn files_of_one_name_in_two_folders_are_two_sessions() {
        let dir = tempfile::tempdir().expect("a folder");
        let mut ids = Vec::new();
        for folder in ["a", "b"] {
            let folder = dir.path().join(folder);
            std::fs::create_dir(&folder).expect("mkdir");
            ids.push(SessionId::of_path(&folder.join("s.jsonl")).expect("an id"));
        }
        assert!(ids.iter().all(|id| id.as_str().starts_with("s-")));
        assert_ne!(ids[0], ids[1]);
    }

    #[test]
    fn every_file_name_gives_an_allowed_id() {
        let dir = tempfile::tempdir().expect("a folder");
        let long = format!("{}.jsonl", "x".repeat(240));
        for (name, start) in [
            (".jsonl", "jsonl-"),
            ("-rf.jsonl", "rf-"),
            ("会话.jsonl", "session-"),
            ("my chat.jsonl", "my_chat-"),
            (long.as_str(), "xxx"),
        ] {
            let id = SessionId::of_path(&dir.path().join(name)).expect(name);
            assert!(id.as_str().starts_with(start), "{name}: {id}");
        }
    }

    #[test]
    fn an_agents_file_has_the_id_that_it_tells() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("s.jsonl");
        let header = |id: &str| {
            format!("{{\"type\":\"session\",\"id\":{id},\"timestamp\":\"t\",\"cwd\":\"/\"}}\n")
        };
        let of_path = SessionId::of_path(&path).expect("an id");
        assert_eq!(SessionId::of_file(&path).expect("none is there"), of_path);
        std::fs::write(&path, header("\"0199-ab\"")).expect("written");
        assert_eq!(SessionId::of_file(&path).expect("an id").as_str(), "0199-ab");
        for odd in ["\"../../x\"", "\"\"", "7", "\"a b\""] {
            std::fs::write(&path, header(odd)).expect("written");
            assert_eq!(SessionId::of_file(&path).expect("an id"), of_path, "{odd}");
        }
        // Kimi Code writes no id into its files, but names a folder after the session.
        let main = dir.path().join("session_1/agents/main");
        std::fs::create_dir_all(&main).expect("mkdir");
        for (name, is_of_agent) in [("wire.jsonl", true), ("copy.jsonl", false)] {
            let path = main.join(name);
            let line = r#"{"type":"metadata","protocol_version":"1.5","created_at":1}"#;
            std::fs::write(&path, format!("{line}\n")).expect("written");
            let id = SessionId::of_file(&path).expect("an id");
            assert_eq!(id.as_str() == "session_1", is_of_agent, "{id}");
        }
        // The id of a FIFO is derived from its path, without waiting for a writer.
        std::fs::remove_file(&path).expect("removed");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.expect("runs").success());
        assert_eq!(SessionId::of_file(&path).expect("an id"), of_path);
    }
}

#[cfg(test)]
mod stamp_tests {
    use super::{SnapshotId, Stamp};
    use proptest::prelude::*;

    #[test]
    fn names_are_read_from_the_right() {
        let text = "a-b-20261121T234307.123456Z-0007";
        let id = SnapshotId::parse(text).expect("a name");
        assert_eq!(id.session.as_str(), "a-b");
        assert_eq!(id.stamp.sequence, 7);
        assert_eq!(id.stamp.time.to_rfc3339(), "2026-11-21T23:43:07.123456+00:00");
        assert_eq!(id.to_string(), text);
    }

    #[test]
    fn other_names_are_not_ours() {
        for text in [
            "",
            "-",
            "a",
            "a-0007",
            "20261121T234307.123456Z-0007",
            "-20261121T234307.123456Z-0007",
            "a-20261121T234307.123456Z-7",
            "a-20261121T234307.123456Z-00007",
            "a-20261121T234307.12345Z-0007",
            "a-20261321T234307.123456Z-0007",
            "a-20261121T234307.123456Z-",
            "a-20261121T234307.123456Z-+007",
            "../x-20261121T234307.123456Z-0007",
            "é0261121T234307.123456Z-0007",
        ] {
            assert_eq!(SnapshotId::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_stamp_is_read_back(micros in 0_i64..4_000_000_000_000_000, sequence in 0_u64..1_000_000) {
            let time = chrono::DateTime::from_timestamp_micros(micros).expect("a time");
            let stamp = Stamp { sequence, time };
            prop_assert_eq!(Stamp::parse(&stamp.to_string()), Some(stamp));
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC*") {
            let _ = SnapshotId::parse(&text);
        }
    }
}
