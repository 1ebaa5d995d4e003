//! Large tool results that were taken out of sessions: a file each, named by
//! the hash of what it holds, so that the same content is one file.

mod clean;
mod content;
mod folder;
mod named;
mod place;
mod sources;
#[cfg(test)]
mod store_tests;
mod taken;
mod write;

use std::fmt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::error::{Naming, StoreError};
use crate::files::if_there;
use crate::{SessionId, Store, hex};

pub(crate) use clean::Snapshots;
pub use content::{Content, Form};
pub use place::OffloadFolder;
pub use taken::Taken;
pub use write::OffloadWriter;

use folder::Folder;

/// The name of an offloaded file: `{sha256}.txt`, or another ending by its [`Form`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OffloadName {
    /// Of the file's bytes, in lower-case hex digits.
    sha256: String,
    form: Form,
}

impl OffloadName {
    /// The name of a file with these bytes.
    pub fn of(bytes: &[u8], form: Form) -> Self {
        Self {
            sha256: hex(&Sha256::digest(bytes)),
            form,
        }
    }

    /// Reads what `Display` writes; never a path.
    pub fn parse(text: &str) -> Option<Self> {
        let (sha256, suffix) = text.split_at_checked(64)?;
        let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let form = Form::all().find(|form| form.suffix() == suffix)?;
        sha256.bytes().all(is_hex).then(|| Self {
            sha256: sha256.to_owned(),
            form,
        })
    }

    /// Of the file's bytes, in lower-case hex digits.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }
}

impl fmt::Display for OffloadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.sha256, self.form.suffix())
    }
}

/// An offloaded file of a store: `{session}/{name}`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OffloadedFile {
    /// The session.
    pub session: SessionId,
    /// Its name in the session's folder.
    pub name: OffloadName,
}

impl fmt::Display for OffloadedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.session, self.name)
    }
}

impl OffloadedFile {
    /// Whether `wanted` is its hash, its name, or the beginning of one of them.
    pub fn begins_with(&self, wanted: &str) -> bool {
        self.name.to_string().starts_with(wanted) || self.to_string() == wanted
    }
}

/// The names in a folder; none where there is no folder.
fn names_in(folder: Result<Folder, StoreError>) -> Result<Vec<String>, StoreError> {
    if_there(folder)?.map_or_else(|| Ok(Vec::new()), |folder| folder.names())
}

impl Store {
    /// Sessions that have a folder of offloaded files.
    pub fn offload_sessions(&self) -> Result<Vec<SessionId>, StoreError> {
        let names = names_in(Folder::of_all(self))?;
        let ids = names.iter().filter_map(|name| name.parse().ok());
        Ok(ids.collect())
    }

    /// The offloaded files of a session, by name.
    pub fn offloaded_files(&self, session: &SessionId) -> Result<Vec<OffloadedFile>, StoreError> {
        let names = names_in(Folder::of_session(self, session))?;
        let names = names.iter().filter_map(|name| OffloadName::parse(name));
        Ok(names
            .map(|name| OffloadedFile {
                session: session.clone(),
                name,
            })
            .collect())
    }

    /// The offloaded files of one session, or of all.
    pub fn all_offloaded(
        &self,
        session: Option<&SessionId>,
    ) -> Result<Vec<OffloadedFile>, StoreError> {
        let mut sessions = self.offload_sessions()?;
        sessions.retain(|id| session.is_none_or(|session| session == id));
        let files = sessions.iter().map(|session| self.offloaded_files(session));
        let files: Result<Vec<_>, _> = files.collect();
        Ok(files?.concat())
    }

    /// Where an offloaded file lies.
    pub(crate) fn offloaded_path(&self, file: &OffloadedFile) -> PathBuf {
        self.offloaded()
            .join(file.session.as_str())
            .join(file.name.to_string())
    }

    /// What an offloaded file holds, checked against its name.
    pub fn read_offloaded(&self, file: &OffloadedFile) -> Result<Content, StoreError> {
        if let Some(folder) = if_there(Folder::of_session(self, &file.session))? {
            return folder.read(&file.name);
        }
        let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
        Err(missing).naming("read", &self.offloaded_path(file))
    }

    /// Moves an offloaded file, if it is there, into a folder of the trash.
    pub(crate) fn move_offloaded(&self, file: &OffloadedFile, to: &Path) -> Result<(), StoreError> {
        match if_there(Folder::of_session(self, &file.session))? {
            Some(folder) => folder.give(&file.name, to),
            None => Ok(()),
        }
    }

    /// Brings an offloaded file back from the trash; it counts as used now.
    pub(crate) fn bring_back_offloaded(
        &self,
        file: &OffloadedFile,
        paths: &[PathBuf],
    ) -> Result<(), StoreError> {
        let folder = Folder::create(self, &file.session)?;
        for path in paths {
            folder
                .adopt(path, &file.name)
                .naming("bring back", &self.offloaded_path(file))?;
        }
        folder.freshen(&file.name);
        folder.sync().map_err(|error| error.after("undelete"))
    }
}

#[cfg(test)]
mod tests {
    use super::{Form, OffloadName};

    #[test]
    fn a_name_is_never_a_path() {
        let name = OffloadName::of(b"x", Form::TEXT);
        let text = name.to_string();
        assert_eq!(
            text,
            "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881.txt"
        );
        assert_eq!(OffloadName::parse(&text), Some(name));
        let hash = &text[..64];
        for form in Form::all() {
            let text = format!("{hash}{}", form.suffix());
            let name = OffloadName::parse(&text).expect("a name");
            assert_eq!((name.to_string(), name.form), (text, form));
        }
        for bad in [
            "",
            hash,
            "x.txt",
            &format!("../{hash}.txt"),
            &format!("{hash}.txt/../../x"),
            &format!("{}.txt", hash.to_uppercase()),
            &format!("{}é.txt", &hash[..62]),
            &format!("{hash}.md"),
        ] {
            assert_eq!(OffloadName::parse(bad), None, "{bad}");
        }
    }
}
