//! Where a session is read from: a file, stdin, or the newest snapshot of a session of the
//! store. It is read several times.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use ctx_cli::{Failure, Input, input_name, is_stdin};
use ctx_store::{Entry, SessionId, Store};

use super::super::status::Known;
use crate::output::no_temporary;
use crate::store::failure;

/// A session that can be opened.
pub(super) struct Source {
    /// As the user named it.
    pub(super) name: String,
    /// The snapshot that it is read from.
    pub(super) snapshot: Option<String>,
    /// What the store knows of it.
    pub(super) known: Known,
    bytes: Bytes,
}

enum Bytes {
    File(PathBuf),
    /// A file without a name.
    Copy(File),
}

impl Source {
    /// The session that an operand names: a file before a session of the store.
    pub(super) fn find(operand: &Path, store: &Store) -> Result<Self, Failure> {
        let mut source = Self {
            name: input_name(operand),
            snapshot: None,
            known: Known::default(),
            bytes: Bytes::File(operand.to_owned()),
        };
        if is_stdin(operand) {
            source.bytes = Bytes::Copy(copy(Input::open(operand)?.reader, &source.name)?);
        } else if let Some((id, entry)) = named(operand, store)? {
            let (bytes, meta) = store.open_verified(&entry).map_err(failure)?;
            source.bytes = Bytes::Copy(copy(bytes, &source.name)?);
            source.snapshot = Some(entry.id.to_string());
            let catalog = store.catalog(Some(&id)).map_err(failure)?;
            source.known = Known::of(catalog.entries, id, store)?;
            // What was done to it later is nothing that it shows.
            source
                .known
                .events
                .retain(|event| event.time < meta.created);
        } else {
            Input::open(operand)?;
            source.known = Known::of_file(operand, store)?;
        }
        Ok(source)
    }

    /// The file, where it is one.
    pub(super) fn path(&self) -> Option<&Path> {
        match &self.bytes {
            Bytes::File(path) => Some(path),
            Bytes::Copy(_) => None,
        }
    }

    /// Opens it from its beginning.
    pub(super) fn open(&self) -> Result<Input, Failure> {
        let copy = match &self.bytes {
            Bytes::File(path) => return Input::open(path),
            Bytes::Copy(copy) => copy,
        };
        let open = || -> io::Result<File> {
            let mut copy = copy.try_clone()?;
            copy.rewind()?;
            Ok(copy)
        };
        Ok(Input {
            name: self.name.clone(),
            reader: Box::new(open().map_err(|error| no_temporary(&error))?),
        })
    }
}

/// The session of the store that is meant, and its newest snapshot, where there is no such file.
fn named(operand: &Path, store: &Store) -> Result<Option<(SessionId, Entry)>, Failure> {
    let id = operand
        .to_str()
        .and_then(|name| name.parse::<SessionId>().ok());
    let Some(id) = id.filter(|_| !operand.exists()) else {
        return Ok(None);
    };
    if !store.sessions().map_err(failure)?.contains(&id) {
        return Ok(None);
    }
    let entry = store.find_snapshot(Some(&id), "latest").map_err(failure)?;
    Ok(Some((id, entry)))
}

fn copy(mut reader: impl Read, name: &str) -> Result<File, Failure> {
    let mut file = tempfile::tempfile().map_err(|error| no_temporary(&error))?;
    io::copy(&mut reader, &mut file)
        .map_err(|error| Failure::new(format_args!("cannot read: {error}")).at(name, None))?;
    Ok(file)
}
