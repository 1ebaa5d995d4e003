//! Reads and writes `{id}.meta.json`, the commit record of a snapshot. Also defines the names of a
//! snapshot's files.

use std::ffi::OsStr;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use ctx_format::{Tally, counted};
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use strum::IntoStaticStr;

use crate::error::Result;
use crate::fs::{file_id, file_names, hex, marked};
use crate::id::SnapshotId;

/// The format number in meta.json for a snapshot whose bytes are plain.
pub(crate) const META_FORMAT: u32 = 1;

/// The format number in meta.json for a snapshot whose bytes are packed. Older tools, which cannot
/// read packed bytes, leave such a snapshot alone. Format 2 is the newest format that these tools
/// can read.
pub(crate) const PACKED_FORMAT: u32 = 2;

/// The commit record of a snapshot. The record is written after the bytes. A snapshot exists only
/// if its record exists and matches its bytes.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// The format number of the commit record.
    pub format: u32,
    /// The id of the snapshot, `{session}-{time}-{number}`. The id must match the file name, so
    /// that renamed or swapped files are noticed.
    pub id: String,
    /// The session that the snapshot belongs to.
    pub session: String,
    /// The number in the snapshot's id, which determines the order of the snapshots.
    pub sequence: u64,
    /// When the snapshot was taken, in UTC.
    pub created: DateTime<Utc>,
    /// Why the snapshot was taken.
    pub kind: SnapshotKind,
    /// The real path of the session file, or `None` if the session was read from stdin. No tool
    /// writes to a file merely because its path is in a commit record.
    pub source: Option<String>,
    /// The name that the replaced file has next to `source` until no process is writing to it any
    /// more.
    pub retained: Option<String>,
    /// The length and hash of the new content, if the snapshot was taken before a replacement. If
    /// the session file begins with that content, the replacement did take place.
    pub replaced_by: Option<FileHash>,
    /// The length of the session in bytes.
    pub bytes: u64,
    /// The number of lines, including an unfinished last one.
    pub lines: u64,
    /// The number of bytes after the last newline. These bytes belong to an unfinished line.
    pub tail_bytes: u64,
    /// The session's format, message count and bad lines.
    #[serde(flatten)]
    pub tally: Tally,
    /// The number of tokens in the session, if the user asked for it.
    pub tokens: Option<Tokens>,
    /// The sha256 of the session's bytes.
    pub sha256: String,
    /// When the same bytes were most recently saved again.
    pub saved_again: Option<DateTime<Utc>>,
    /// The length and hash of the packed file, or `None` if the bytes are plain.
    pub packed: Option<FileHash>,
    /// Whether the user put the snapshot on hold, so that no rule can remove it.
    #[serde(default)]
    pub held: bool,
    /// JSON members that have no field in this struct: notes about the session, and members written
    /// by newer versions of the tools. They are kept when meta.json is rewritten.
    #[serde(flatten)]
    pub others: serde_json::Map<String, serde_json::Value>,
}

/// Why a snapshot was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
pub enum SnapshotKind {
    /// A user or a tool asked for the snapshot.
    Snapshot,
    /// A rollback was about to replace the file.
    PreRollback,
    /// A compaction was about to replace the file.
    PreCompact,
    /// Another process wrote to the session file after the file had been replaced.
    Late,
    /// The reason is unknown, because the commit record was lost and has been recreated.
    Adopted,
}

impl SnapshotKind {
    /// Whether a snapshot of this kind is taken because a file is about to be replaced.
    pub(crate) fn is_of_replacement(self) -> bool {
        matches!(self, Self::PreRollback | Self::PreCompact)
    }
}

/// The length and hash of a session's new content or of a packed file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileHash {
    /// The length of the file in bytes.
    pub bytes: u64,
    /// The sha256 of the bytes, in hex digits.
    pub sha256: String,
}

/// The number of tokens in a session, counted with a particular encoding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// The number of tokens.
    pub count: u64,
    /// The name of the encoding, such as `o200k_base`.
    pub encoding: String,
}

/// The middle part of a replaced file's hidden name, which has the form `.NAME.ctx-old-SEQUENCE`.
pub(crate) const RETAINED: &str = ".ctx-old-";

/// Returns the hidden name for a replaced file, `.NAME.ctx-old-SEQUENCE`. The file is hidden so
/// that no agent mistakes it for a session.
pub(crate) fn retained_name(source: &str, sequence: u64) -> Option<String> {
    let name = Path::new(source).file_name()?.to_str()?;
    marked(OsStr::new(name), RETAINED, &sequence.to_string()).into_string().ok()
}

/// The beginning of the last member in meta.json. The member's value is the sha256 of everything
/// before it, so a change can be detected.
const SEAL: &str = ",\"meta_sha256\":\"";

/// The number of the format of a file in the store.
#[derive(Deserialize)]
pub(crate) struct Version {
    pub(crate) format: u64,
}

impl Meta {
    /// Returns the path of the session file, and the path of the replaced file under its second
    /// name. Returns `None` if the paths do not have the form that the tools give them.
    pub(crate) fn retained_paths(&self) -> Option<(PathBuf, PathBuf)> {
        let (source, retained) = (self.source.as_deref()?, self.retained.as_deref()?);
        let live = PathBuf::from(source);
        let is_ours = retained_name(source, self.sequence).as_deref() == Some(retained);
        let link = live.with_file_name(retained);
        (is_ours && live.is_absolute()).then_some((live, link))
    }

    /// Whether the replaced file still has its second name.
    pub(crate) fn has_retained(&self) -> bool {
        self.retained_paths().is_some_and(|(_, retained)| file_id(&retained).is_ok())
    }

    /// Whether this is a snapshot of the file with the real path `path`. Returns false for a
    /// snapshot of stdin.
    pub(crate) fn is_of(&self, path: &Path) -> bool {
        self.source.as_deref().map(Path::new) == Some(path)
    }

    /// Describes the size of the snapshot, such as `3 messages, 4 lines, 120 bytes`.
    pub fn size(&self) -> String {
        let counts = [
            counted(self.tally.messages, "message"),
            counted(self.lines, "line"),
            counted(self.bytes, "byte"),
        ];
        counts.join(", ")
    }

    /// Records that the snapshot's bytes are now in this packed file.
    pub(crate) fn pack(&mut self, packed: FileHash) {
        self.format = PACKED_FORMAT;
        self.packed = Some(packed);
    }

    /// Returns the bytes of meta.json, which end with the hash of all bytes before it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut body = serde_json::to_string(self).expect("a map with text keys");
        body.pop();
        let seal = hex(digest(&SHA256, body.as_bytes()));
        body.push_str(SEAL);
        body.push_str(&seal);
        body.push_str("\"}\n");
        body.into_bytes()
    }

    /// Whether a newer version of the tools wrote this meta.json. A meta.json from a newer version
    /// must not be treated as damaged.
    pub(crate) fn is_newer(bytes: &[u8]) -> bool {
        let version = serde_json::from_slice::<Version>(bytes);
        version.is_ok_and(|version| version.format > u64::from(PACKED_FORMAT))
    }

    /// Parses the meta.json of the snapshot `id`, or returns why it cannot be trusted.
    pub fn from_bytes(bytes: &[u8], id: &str) -> Result<Self, String> {
        let unreadable = |error: &dyn Display| format!("meta.json is not readable: {error}");
        let changed = || "meta.json was changed: it does not match its own sha256".to_owned();
        let text = std::str::from_utf8(bytes).map_err(|error| unreadable(&error))?;
        // Check the version before the hash, because a newer format may compute the hash
        // differently.
        let version: Version = serde_json::from_str(text).map_err(|error| unreadable(&error))?;
        if !(META_FORMAT.into()..=PACKED_FORMAT.into()).contains(&version.format) {
            return Err(format!(
                "meta.json has format {}; a newer version of the tools wrote it",
                version.format
            ));
        }
        let (body, seal) = text.rsplit_once(SEAL).ok_or_else(changed)?;
        if seal.strip_suffix("\"}\n") != Some(hex(digest(&SHA256, body.as_bytes())).as_str()) {
            return Err(changed());
        }
        let mut meta: Self = serde_json::from_str(text).map_err(|error| unreadable(&error))?;
        meta.others.remove("meta_sha256");
        if meta.id == id { Ok(meta) } else { Err(format!("meta.json belongs to {}", meta.id)) }
    }
}

/// The file name suffix of a commit record.
pub(crate) const META: &str = ".meta.json";
/// The file name suffix for a snapshot's plain bytes.
pub(crate) const PLAIN: &str = ".jsonl";
/// The file name suffix for a snapshot's packed bytes.
pub(crate) const PACKED: &str = ".jsonl.zst";

/// One of the files of a snapshot.
pub(crate) struct SnapshotFile {
    pub(crate) id: SnapshotId,
    /// Whether the file is the commit record.
    pub(crate) is_meta: bool,
    pub(crate) path: PathBuf,
}

/// Returns the files in `dir` that have the names of snapshot files.
pub(crate) fn snapshot_files(dir: &Path) -> Result<Vec<SnapshotFile>> {
    let file = |name: String| {
        let stem = [META, PACKED, PLAIN].iter().find_map(|ending| name.strip_suffix(ending))?;
        let (id, is_meta) = (SnapshotId::parse(stem)?, name.ends_with(META));
        Some(SnapshotFile { id, is_meta, path: dir.join(name) })
    };
    Ok(file_names(dir)?.into_iter().filter_map(file).collect())
}

#[cfg(test)]
mod tests {
    use super::{Meta, SHA256, SnapshotKind, Tally, digest, hex, retained_name};
    use proptest::prelude::*;

    fn meta() -> Meta {
        Meta {
            format: 1,
            id: "demo-20261121T234307.123456Z-0007".into(),
            session: "demo".into(),
            sequence: 7,
            created: chrono::DateTime::from_timestamp_micros(1_795_304_587_123_456)
                .expect("a time"),
            kind: SnapshotKind::PreRollback,
            source: Some("/a/\"b\"".into()),
            retained: None,
            replaced_by: None,
            bytes: 9,
            lines: 1,
            tail_bytes: 0,
            tally: Tally::default(),
            tokens: None,
            sha256: "00".into(),
            saved_again: None,
            packed: None,
            held: false,
            others: serde_json::Map::new(),
        }
    }

    #[test]
    fn a_retained_file_lies_beside_its_source_under_a_name_of_ours() {
        let paths = |source: &str, retained: Option<String>| {
            let source = Some(source.to_owned());
            let meta = Meta { source, retained, ..meta() };
            meta.retained_paths()
        };
        let link = retained_name("/a/s.jsonl", 7);
        assert_eq!(link.as_deref(), Some(".s.jsonl.ctx-old-7"));
        let (live, retained) = paths("/a/s.jsonl", link).expect("ours");
        assert_eq!(live, std::path::Path::new("/a/s.jsonl"));
        assert_eq!(retained, std::path::Path::new("/a/.s.jsonl.ctx-old-7"));
        for (source, retained) in [
            ("/a/s.jsonl", None),
            ("/a/s.jsonl", Some("../etc/passwd")),
            ("/a/s.jsonl", Some(".s.jsonl.ctx-old-8")),
            ("a/s.jsonl", Some(".s.jsonl.ctx-old-7")),
            ("/", Some(".ctx-old-7")),
        ] {
            let retained = retained.map(str::to_owned);
            assert_eq!(paths(source, retained), None, "{source}");
        }
        let long = retained_name(&"é".repeat(127), u64::MAX).expect("a name");
        assert!(long.len() <= 255, "{}", long.len());
    }

    #[test]
    fn what_was_written_is_read() {
        let meta = meta();
        assert_eq!(Meta::from_bytes(&meta.to_bytes(), &meta.id), Ok(meta));
    }

    #[test]
    fn members_of_newer_tools_stay() {
        let mut newer = meta();
        newer.others.insert("strikes".into(), 2.into());
        newer.others.insert("share".into(), 1.111_222_222_222_222_1.into());
        let read = Meta::from_bytes(&newer.to_bytes(), &newer.id).expect("reads");
        assert_eq!(read.to_bytes(), newer.to_bytes());
    }

    #[test]
    fn a_renamed_file_is_foreign() {
        let meta = meta();
        assert_eq!(
            Meta::from_bytes(&meta.to_bytes(), "other-20261121T234307.123456Z-0007"),
            Err(format!("meta.json belongs to {}", meta.id))
        );
    }

    #[test]
    fn hostile_members_are_refused() {
        let id = meta().id;
        for (text, why) in [
            ("{\"format\":3}\n", "newer"),
            ("{\"format\":2}\n", "changed"),
            ("{}\n", "not readable"),
            ("[]\n", "not readable"),
            ("", "not readable"),
            ("{\"format\":1}\n", "changed"),
            ("{\"format\":99999999999999999999999}\n", "not readable"),
        ] {
            let error = Meta::from_bytes(text.as_bytes(), &id).expect_err(text);
            assert!(error.contains(why), "{text}: {error}");
        }
        // In these files, the hash is correct, but the content is not valid.
        let sealed = String::from_utf8(meta().to_bytes()).expect("text");
        let body = sealed.rsplit_once(super::SEAL).expect("a seal").0;
        for (from, to) in [("\"bytes\":9", "\"bytes\":-9"), ("\"bytes\":9", "\"bytes\":\"9\"")] {
            let body = body.replace(from, to);
            let seal = hex(digest(&SHA256, body.as_bytes()));
            let text = format!("{body}{}{seal}\"}}\n", super::SEAL);
            let error = Meta::from_bytes(text.as_bytes(), &id).expect_err("nonsense");
            assert!(error.contains("not readable"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_single_changed_byte_passes(at in any::<prop::sample::Index>(), flip in 1_u8..) {
            let meta = meta();
            let mut bytes = meta.to_bytes();
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
            prop_assert!(Meta::from_bytes(&bytes, &meta.id).is_err());
        }
    }
}
