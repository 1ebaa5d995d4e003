//! Finds the original of removed text by the first digits of its hash. Searches the offloaded files
//! in the store, then the results and long arguments of a session file, and then the snapshots.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::str::FromStr;

use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine, alphabet};
use ctx_format::{
    Handle, Message, Options, Part, Records, ShortHash, ToolResult, dialect, map_strings,
};
use ctx_store::{Form, OffloadName, OffloadedFile, SessionId, Store, StoreError};
use ctx_summary::ledger::is_observation;
use ctx_summary::ledger::score::After;

/// How the user identifies the original.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OriginalQuery {
    /// The path of an offloaded file.
    Path(String),
    /// The first digits of the original's sha256 hash.
    Hash(String),
}

/// Why the original cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum OriginalError {
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The session file that the user named cannot be read.
    #[error("cannot read: {0}")]
    Session(#[source] io::Error),
    /// The path does not belong to an offloaded file.
    #[error("not an offloaded file in this store")]
    NoFile,
    /// No text has a hash that begins with these digits.
    #[error("no text with sha256 {0}… was found")]
    NotKept(String),
    /// Several texts have hashes that begin with these digits.
    #[error("{wanted} is ambiguous: {matches}")]
    Ambiguous {
        /// The first digits of the hash, as typed by the user.
        wanted: String,
        /// The first few matching hashes, separated by commas.
        matches: String,
    },
}

/// The smallest number of digits that can identify a text. If the user gives all the digits in a
/// handle, the search ends at the first snapshot that contains a match.
const FEWEST: usize = 4;
const HANDLE: usize = ShortHash::DIGITS;
/// The minimum size in bytes of the argument strings that are searched. Shorter strings are never
/// removed, because a handle would be longer.
const SHORTEST: usize = 40;
/// The maximum number of matches to list in the error about an ambiguous hash.
const SHOWN: usize = 10;

impl FromStr for OriginalQuery {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(handle) = Handle::parse(text) {
            return Ok(Self::Hash(handle.digits()));
        }
        if text.starts_with('/') {
            return Ok(Self::Path(text.to_owned()));
        }
        let is_hash = (FEWEST..=64).contains(&text.len())
            && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if is_hash {
            Ok(Self::Hash(text.to_owned()))
        } else {
            Err(format!(
                "expected {FEWEST} to 64 digits of a sha256 (01234567), a path, or a whole handle ⟦ctx:…⟧"
            ))
        }
    }
}

/// Returns the requested text. If `session` is given, only this session in the store is searched.
/// `transcript` is a session file that may contain the text.
pub fn original(
    store: &Store,
    session: Option<&SessionId>,
    transcript: Option<impl Read>,
    wanted: &OriginalQuery,
) -> Result<Vec<u8>, OriginalError> {
    let sessions = sessions(store, session)?;
    match wanted {
        OriginalQuery::Hash(hash) => {
            if let Some(text) = in_files(store, &sessions, hash)? {
                return Ok(text.into_bytes());
            }
            let mut found = BTreeMap::new();
            if let Some(transcript) = transcript {
                in_session(transcript, hash, &mut found).map_err(OriginalError::Session)?;
            }
            if found.is_empty() {
                found = in_snapshots(store, session, hash)?;
            }
            only(found, hash)
        }
        OriginalQuery::Path(path) => {
            for session in sessions {
                if let Some(file) = store.offload_folder(&session)?.file(path) {
                    return Ok(store.read_offloaded(&file)?.text.into_bytes());
                }
            }
            Err(OriginalError::NoFile)
        }
    }
}

/// Returns the requested session, or all sessions that have offloaded files.
pub(super) fn sessions(
    store: &Store,
    session: Option<&SessionId>,
) -> Result<Vec<SessionId>, StoreError> {
    session.map_or_else(|| store.offload_sessions(), |session| Ok(vec![session.clone()]))
}

/// Searches the given sessions' offloaded files.
fn in_files(
    store: &Store,
    offloading: &[SessionId],
    hash: &str,
) -> Result<Option<String>, OriginalError> {
    let mut files = BTreeMap::new();
    for session in offloading {
        let ours = store.offloaded_files(session)?;
        // The same text counts only once, even if it occurs in two sessions or in two encodings.
        let found = ours.into_iter().filter(|file| file.begins_with(hash));
        files.extend(found.map(|file| (file.name.sha256.clone(), file)));
    }
    if files.is_empty() {
        return Ok(None);
    }
    Ok(Some(store.read_offloaded(&only(files, hash)?)?.text))
}

/// Returns the only match, or an error if there is no match or more than one.
fn only<T>(found: BTreeMap<String, T>, hash: &str) -> Result<T, OriginalError> {
    if found.len() > 1 {
        let mut shown: Vec<&str> = found.keys().map(String::as_str).take(SHOWN).collect();
        if found.len() > SHOWN {
            shown.push("and more");
        }
        return Err(OriginalError::Ambiguous {
            wanted: hash.to_owned(),
            matches: shown.join(", "),
        });
    }
    found.into_values().next().ok_or_else(|| OriginalError::NotKept(hash.to_owned()))
}

/// Searches the snapshots, from newest to oldest.
fn in_snapshots(
    store: &Store,
    session: Option<&SessionId>,
    hash: &str,
) -> Result<BTreeMap<String, Vec<u8>>, StoreError> {
    let mut found = BTreeMap::new();
    let catalog = store.catalog(session)?;
    for entry in catalog.entries.iter().rev() {
        let (file, _) = match store.open_verified(entry) {
            Ok(opened) => opened,
            // Other snapshots may contain the text even if one is damaged.
            Err(StoreError::Damaged { .. }) => continue,
            Err(error) => return Err(error),
        };
        in_session(file, hash, &mut found).map_err(|source| StoreError::Io {
            action: "read",
            path: store.data_path(&entry.id),
            source,
        })?;
        if hash.len() >= HANDLE && !found.is_empty() {
            break;
        }
    }
    Ok(found)
}

fn in_session(
    transcript: impl Read,
    hash: &str,
    found: &mut BTreeMap<String, Vec<u8>>,
) -> io::Result<()> {
    let mut records = Records::open(transcript, &Options::default())?;
    let known = records.dialect();
    while let Some(record) = records.next()? {
        let Some(object) = record.whole_object() else { continue };
        let batch = object.conversation();
        let messages = batch.as_deref().unwrap_or(std::slice::from_ref(object));
        for dialect in known.map_or(dialect::ALL.to_vec(), |known| vec![known]) {
            for message in messages.iter().filter_map(|it| dialect.message(it)) {
                in_message(&message, hash, found);
            }
        }
    }
    Ok(())
}

/// Collects the matches among the texts that a handle can replace: the text of a result, the text
/// of a message that contains a command's output, and each string in a call's arguments. Images and
/// documents are found by the hash of their base64, and decoded.
fn in_message(message: &Message<'_>, hash: &str, found: &mut BTreeMap<String, Vec<u8>>) {
    let mut look_at = |text: &str| {
        let name = OffloadName::of(text.as_bytes(), Form::TEXT);
        if name.sha256.starts_with(hash) {
            found.insert(name.sha256.clone(), text.as_bytes().to_owned());
        }
    };
    message.results().filter_map(ToolResult::text).for_each(|text| look_at(&text));
    let printed = message.texts().into_iter().filter(|text| is_observation(text));
    printed.for_each(&mut look_at);
    for call in message.calls() {
        map_strings(&call.arguments, |text| {
            if text.len() >= SHORTEST {
                look_at(text);
            }
            None
        });
    }
    let results = message.results().flat_map(|result| &result.parts);
    for part in message.parts.iter().chain(results) {
        let Part::Media(media) = part else { continue };
        let Some((_, base64)) = media.data() else { continue };
        let name = OffloadName::of(base64.as_bytes(), Form::TEXT);
        if name.sha256.starts_with(hash) {
            found.extend(BASE64.decode(&base64).map(|bytes| (name.sha256, bytes)));
        }
    }
}

/// Base64 with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The offloaded texts that a session refers to, except for unreadable ones.
#[derive(Debug, Default)]
pub struct Referred {
    /// The texts.
    pub texts: Vec<String>,
    /// The errors for texts that could not be read and therefore count as lost.
    pub failed: Vec<StoreError>,
}

/// Returns the texts of the offloaded files that `after` refers to. If `session` is `None`, the
/// files may belong to any session.
pub fn referred(
    store: &Store,
    session: Option<&SessionId>,
    after: &After,
) -> Result<Referred, StoreError> {
    let handles = after.handles().into_iter();
    let hashes: Vec<String> = handles.map(|handle| handle.hash.to_string()).collect();
    let mut found = Referred::default();
    for session in sessions(store, session)? {
        let named = store.offload_folder(&session)?.files_in(&after.text);
        let is_named = |file: &&OffloadedFile| {
            named.contains(*file) || hashes.iter().any(|hash| file.begins_with(hash))
        };
        for file in store.offloaded_files(&session)?.iter().filter(is_named) {
            match store.read_offloaded(file) {
                Ok(content) => found.texts.push(content.text),
                Err(error) => found.failed.push(error),
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ctx_engine::score::read_after;
    use ctx_engine::{Invalid, Session};
    use ctx_format::{Handle, Options, Saved};
    use ctx_store::{Actor, Content, Form, OffloadName, SessionId, SnapshotKind, Store};

    use super::super::tests::{result, session, store};
    use super::{OriginalError, OriginalQuery, original, referred};

    /// No session to search.
    const NONE: Option<&[u8]> = None;

    fn offload(store: &Store, session: &str, form: Form, text: &str) -> String {
        let session: SessionId = session.parse().expect("an id");
        let mut writer = store.offload(&session);
        let content = Content { form, text: text.to_owned() };
        let file = writer.put(&content, None).expect("written");
        writer.finish(&[None]).expect("durable");
        let folder = store.offload_folder(&session).expect("a path");
        folder.path_of(&file.name)
    }

    fn snapshot(store: &Store, session: &str, bytes: &str) {
        let draft = store.draft(bytes.as_bytes(), Path::new("x"));
        let draft = draft.expect("filled");
        let session = session.parse().expect("an id");
        let snapshot = draft.commit(&session, SnapshotKind::Snapshot);
        snapshot.expect("committed");
    }

    fn sha256(text: &str) -> String {
        OffloadName::of(text.as_bytes(), Form::TEXT).sha256
    }

    /// Returns the text for `wanted`, or the error message.
    fn show(store: &Store, session: Option<&str>, wanted: &str) -> Result<String, String> {
        let session = session.map(|session| session.parse().expect("an id"));
        let wanted = wanted.parse().expect("something to look for");
        let shown = original(store, session.as_ref(), NONE, &wanted);
        shown
            .map(|bytes| String::from_utf8(bytes).expect("text"))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_is_found_by_its_path_and_by_its_hash() {
        let dir = tempfile::tempdir().expect("a folder");
        let store = store(&dir);
        let path = offload(&store, "demo", Form::TEXT, "one");
        offload(&store, "other", Form::TEXT, "one");
        assert_eq!(show(&store, None, &path).as_deref(), Ok("one"));
        assert_eq!(show(&store, Some("demo"), &sha256("one")[..12]).as_deref(), Ok("one"));
        let no_file = Err("not an offloaded file in this store".to_owned());
        assert_eq!(show(&store, Some("other"), &path), no_file);
        assert_eq!(show(&store, None, "/etc/passwd"), no_file);
        std::fs::write(&path, "two").expect("written");
        let damaged = show(&store, None, &path).expect_err("damaged");
        assert!(damaged.contains("is damaged"), "{damaged}");
    }

    #[test]
    fn a_result_is_found_in_a_snapshot() {
        let dir = tempfile::tempdir().expect("a folder");
        let store = store(&dir);
        let line = result("a", "one");
        snapshot(&store, "demo", &line);
        snapshot(
            &store,
            "batch",
            &format!("{{\"messages\":[{}]}}\n", result("a", "two").trim_end()),
        );
        for text in ["one", "two"] {
            let handle = Handle::of(text, "", Saved::Yes).to_string();
            assert_eq!(show(&store, None, &handle).as_deref(), Ok(text));
        }
        let hash = &sha256("two")[..8];
        let not_kept = format!("no text with sha256 {hash}… was found");
        assert_eq!(show(&store, Some("demo"), hash), Err(not_kept));
    }

    #[test]
    fn what_a_command_printed_is_found_where_a_users_message_has_it() {
        let dir = tempfile::tempdir().expect("a folder");
        let store = store(&dir);
        let printed = "row 17\n(Open file: a)\n(Current directory: /a)\nbash-$";
        for said in [printed, "row 18"] {
            let line = serde_json::json!({"role": "user", "content": said});
            snapshot(&store, "demo", &format!("{line}\n"));
        }
        assert_eq!(show(&store, None, &sha256(printed)[..8]).as_deref(), Ok(printed));
        assert!(show(&store, None, &sha256("row 18")[..8]).is_err());
    }

    #[test]
    fn a_string_in_arguments_is_found() {
        let dir = tempfile::tempdir().expect("a folder");
        let store = store(&dir);
        let long = "a \"long\" text\n".repeat(9);
        let arguments = serde_json::json!({"path": "a.rs", "edits": [{"new": long}]}).to_string();
        let call = serde_json::json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "edit", "arguments": arguments}}]});
        snapshot(&store, "demo", &format!("{call}\n"));
        let hash = &sha256(&long)[..8];
        assert_eq!(show(&store, None, hash), Ok(long));
        assert!(show(&store, None, &sha256("a.rs")[..8]).is_err());
    }

    #[test]
    fn the_session_that_is_named_is_looked_at_before_snapshots() {
        let dir = tempfile::tempdir().expect("a folder");
        let store = store(&dir);
        let line = result("a", "one");
        let wanted = OriginalQuery::Hash(sha256("one")[..8].to_owned());
        let named = original(&store, None, Some(line.as_bytes()), &wanted);
        assert_eq!(named.expect("it is there"), b"one");
        let other = original(&store, None, Some(&b"{}\n"[..]), &wanted);
        assert!(matches!(other, Err(OriginalError::NotKept(_))));
        snapshot(&store, "demo", &line);
        let saved = original(&store, None, Some(&b"{}\n"[..]), &wanted);
        assert_eq!(saved.expect("it is there"), b"one");
    }

    #[test]
    fn a_hash_that_several_texts_have_is_ambiguous() {
        let dir = tempfile::tempdir().expect("a folder");
        let store = store(&dir);
        // There are so many texts that two of the hashes begin with the same four digits.
        let texts: Vec<String> = (0..700).map(|number| format!("text {number}")).collect();
        let mut hashes: Vec<String> = texts.iter().map(|text| sha256(text)).collect();
        hashes.sort();
        let twins = hashes.windows(2).find(|two| two[0][..4] == two[1][..4]);
        let [one, two] = twins.expect("two of a kind") else {
            panic!("windows of two");
        };
        let results: String = texts.iter().map(|text| result("a", text)).collect();
        snapshot(&store, session().as_str(), &results);
        let error = original(&store, None, NONE, &OriginalQuery::Hash(one[..4].to_owned()));
        let Err(OriginalError::Ambiguous { wanted, matches }) = error else {
            panic!("{error:?}");
        };
        assert_eq!((wanted.as_str(), matches), (&one[..4], format!("{one}, {two}")));
    }

    #[test]
    fn handles_paths_and_hashes_are_told_apart() {
        let hash = |text: &str| Ok(OriginalQuery::Hash(text.to_owned()));
        assert_eq!("⟦ctx:ba7816bf8f01 3 bytes 1 tokens⟧".parse(), hash("ba7816bf8f01"));
        assert_eq!(
            "⟦ctx: ls, all 3 bytes, if saved: ctx-offload --show ba7816bf⟧".parse(),
            hash("ba7816bf")
        );
        assert_eq!("ba78".parse(), hash("ba78"));
        assert_eq!("/s/x.txt".parse(), Ok(OriginalQuery::Path("/s/x.txt".to_owned())));
        for bad in ["", "ba7", "BA78", "x.txt", "⟦ctx:ba78⟧", &"a".repeat(65)] {
            assert!(bad.parse::<OriginalQuery>().is_err(), "{bad}");
        }
    }

    fn tool_result(content: &str) -> String {
        format!("{{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"{content}\"}}\n")
    }

    fn opened(text: &str) -> Session {
        let reader = std::io::Cursor::new(text.to_owned());
        let session = Session::open(Box::new(reader), &Options::default(), Invalid::Keep);
        session.expect("from memory")
    }

    #[test]
    fn offloaded_texts_are_found_by_their_paths_and_by_handles() {
        let dir = tempfile::tempdir().expect("a folder");
        let actor = Actor { tool: "test".into(), flags: Vec::new() };
        let clock = Box::new(chrono::Utc::now);
        let store = Store::open(&dir.path().join("store"), actor, clock).expect("a store");
        let offload = |session: &str, text: &str| {
            let session = session.parse().expect("an id");
            let mut writer = store.offload(&session);
            let content = Content { form: Form::TEXT, text: text.to_owned() };
            let file = writer.put(&content, None).expect("written");
            writer.finish(&[None]).expect("durable");
            store.offload_folder(&session).expect("a path").path_of(&file.name)
        };
        let path = offload("demo", "by path");
        offload("other", "by handle");
        offload("demo", "not named");
        let handle = Handle::of("by handle", "", Saved::Yes);
        let after = tool_result(&format!("see {path}")) + &tool_result(&handle.to_string());
        let after = read_after(&mut opened(&after), None).expect("read");
        let texts = |id: Option<&str>| {
            let id = id.map(|id| id.parse().expect("an id"));
            let found = referred(&store, id.as_ref(), &after).expect("a store");
            (found.texts, found.failed.len())
        };
        let named = |texts: &[&str]| (texts.iter().map(|text| (*text).to_owned()).collect(), 0);
        assert_eq!(texts(None), named(&["by path", "by handle"]));
        assert_eq!(texts(Some("other")), named(&["by handle"]));
        assert_eq!(texts(Some("nobody")), named(&[]));
        std::fs::write(&path, "damaged").expect("written");
        assert_eq!(texts(Some("demo")), (Vec::new(), 1));
    }
}
