//! `--show`: the original of what was taken out, by the beginning of its hash.

use std::collections::BTreeMap;

use ctx_cli::{ExitStatus, Failure, Io, Outcome};
use ctx_store::{Entry, Form, OffloadName, Offloaded, SessionId, Store, StoreError};
use ctx_transcript::{Conversation, Dialect, Handle, Message, Object, Options, Records, dialect};

use super::place::Place;
use crate::store::failure;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// A file.
    Path(String),
    /// The beginning of a sha256.
    Hash(String),
}

/// So many digits name a text; with all that a handle has, the first that fits is it.
const FEWEST: usize = 4;
const HANDLE: usize = 12;
/// So many matches of an ambiguous hash are named.
const SHOWN: usize = 10;

impl std::str::FromStr for Wanted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(handle) = text.parse::<Handle>() {
            return Ok(Self::Hash(handle.hash.to_string()));
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
                "expected a path, a handle such as ⟦ctx:0123456789ab 5120 bytes 1300 tokens⟧, or {FEWEST} to 64 digits of a sha256"
            ))
        }
    }
}

/// Prints it, and nothing else.
pub(super) fn show(
    store: &Store,
    session: Option<&SessionId>,
    wanted: &Wanted,
    io: &mut Io,
) -> Outcome {
    let text = match wanted {
        Wanted::Path(path) => {
            let file = file_at(store, session, path)?;
            store.read_offloaded(&file).map_err(failure)?.text
        }
        Wanted::Hash(hash) => by_hash(store, session, hash)?,
    };
    io.write(text.as_bytes())?;
    Ok(ExitStatus::Done)
}

fn sessions(store: &Store, session: Option<&SessionId>) -> Result<Vec<SessionId>, Failure> {
    match session {
        Some(session) => Ok(vec![session.clone()]),
        None => store.offload_sessions().map_err(failure),
    }
}

fn file_at(store: &Store, session: Option<&SessionId>, path: &str) -> Result<Offloaded, Failure> {
    for session in sessions(store, session)? {
        if let Some(file) = Place::new(store, &session)?.file(path) {
            return Ok(file);
        }
    }
    Err(Failure::new("it is no offloaded file of this store")
        .at(path, None)
        .hint("name the store with --store"))
}

fn by_hash(store: &Store, session: Option<&SessionId>, hash: &str) -> Result<String, Failure> {
    let mut files: BTreeMap<String, Offloaded> = BTreeMap::new();
    for session in sessions(store, session)? {
        let ours = store.offloaded_files(&session).map_err(failure)?;
        // The same text in two sessions, or written in two ways, is one.
        let found = ours.into_iter().filter(|file| file.begins_with(hash));
        files.extend(found.map(|file| (file.name.sha256().to_owned(), file)));
    }
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    if let Some((only, file)) = files.iter().next()
        && files.len() == 1
    {
        let text = store.read_offloaded(file).map_err(failure)?.text;
        found.insert(only.clone(), text);
    } else if files.is_empty() {
        in_snapshots(store, session, hash, &mut found)?;
    }
    let hashes: Vec<&String> = files.keys().chain(found.keys()).collect();
    if hashes.is_empty() {
        return Err(
            Failure::new(format_args!("nothing with sha256 {hash}… was kept"))
                .hint("only what was offloaded, or is in a snapshot, can be shown"),
        );
    }
    if files.len() > 1 || found.len() > 1 {
        let mut shown: Vec<&str> = hashes
            .iter()
            .map(|hash| hash.as_str())
            .take(SHOWN)
            .collect();
        if hashes.len() > SHOWN {
            shown.push("and more");
        }
        return Err(
            Failure::new(format_args!("{hash} is ambiguous: {}", shown.join(", ")))
                .hint("give more digits"),
        );
    }
    Ok(found.into_values().next().unwrap_or_default())
}

/// Texts of results in snapshots, the newest snapshot first.
fn in_snapshots(
    store: &Store,
    session: Option<&SessionId>,
    hash: &str,
    found: &mut BTreeMap<String, String>,
) -> Result<(), Failure> {
    let catalog = store.catalog(session).map_err(failure)?;
    for entry in catalog.entries.iter().rev() {
        let looked = in_snapshot(store, entry, hash, found);
        // A damaged one does not hide the others.
        if let Err(error) = looked
            && !matches!(error, StoreError::Damaged { .. })
        {
            return Err(failure(error));
        }
        if hash.len() >= HANDLE && !found.is_empty() {
            break;
        }
    }
    Ok(())
}

fn in_snapshot(
    store: &Store,
    entry: &Entry,
    hash: &str,
    found: &mut BTreeMap<String, String>,
) -> Result<(), StoreError> {
    let (file, _) = store.open_verified(entry)?;
    let unreadable = |source| StoreError::Io {
        action: "read",
        path: store.data_path(&entry.id),
        source,
    };
    let mut records = Records::open(file, &Options::default()).map_err(unreadable)?;
    let known = records.dialect();
    while let Some(record) = records.next().map_err(unreadable)? {
        let Some(object) = record.whole_object() else {
            continue;
        };
        let batch = Conversation::of(object);
        let messages = match &batch {
            Some(batch) => &batch.messages[..],
            None => std::slice::from_ref(object),
        };
        for dialect in known.map_or(dialect::ALL.to_vec(), |known| vec![known]) {
            for message in messages {
                note_results(dialect, message, hash, found);
            }
        }
    }
    Ok(())
}

fn note_results(
    dialect: &dyn Dialect,
    message: &Object<'_>,
    hash: &str,
    found: &mut BTreeMap<String, String>,
) {
    for result in dialect.message(message).iter().flat_map(Message::results) {
        let Some(text) = result.text() else { continue };
        let name = OffloadName::of(text.as_bytes(), Form::TEXT);
        if name.sha256().starts_with(hash) {
            found.insert(name.sha256().to_owned(), text.into_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Wanted;

    #[test]
    fn handles_paths_and_hashes_are_told_apart() {
        let hash = |text: &str| Ok(Wanted::Hash(text.to_owned()));
        assert_eq!(
            "⟦ctx:ba7816bf8f01 3 bytes 1 tokens⟧".parse(),
            hash("ba7816bf8f01")
        );
        assert_eq!("ba78".parse(), hash("ba78"));
        assert_eq!("/s/x.txt".parse(), Ok(Wanted::Path("/s/x.txt".to_owned())));
        for bad in ["", "ba7", "BA78", "x.txt", "⟦ctx:ba78⟧", &"a".repeat(65)] {
            assert!(bad.parse::<Wanted>().is_err(), "{bad}");
        }
    }
}
