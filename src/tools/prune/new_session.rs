//! `--new`: a pruned copy of a session under a new id. An agent knows a session by the id in its
//! lines, and finds it by the name of its file.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use ctx_cli::Failure;
use ctx_engine::prune::Decision;
use ctx_engine::{ErrorKind, PassError};
use ctx_format::compaction::Ids;
use ctx_format::{Dialect, Edits, Head, Object, Options, Records};
use ctx_store::{hash_bytes, open_plain};

use crate::passes;

/// A session file, and the id that its agent has written into it.
pub(super) struct OldSession {
    path: PathBuf,
    id: String,
}

/// The copy.
pub(super) struct NewSession {
    pub(super) path: PathBuf,
    content: File,
    ids: NewId,
}

impl OldSession {
    /// The file at `path`. Anything but a regular file is refused unread: a FIFO might never end.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let head = fs::canonicalize(path).and_then(|path| open_plain(&path)).and_then(Head::read);
        let head = head.map_err(|error| passes::failure(ErrorKind::Read(error).into(), &name))?;
        let id = head.session.ok_or_else(|| {
            Failure::new("no line tells the id of an agent's session")
                .at(name, None)
                .hint("write another file with -o")
        })?;
        Ok(Self { path: path.to_owned(), id })
    }

    /// Writes the pruned records as a new session. `left_out` is the number of records of the input
    /// that were not pushed.
    pub(super) fn copy(
        &self,
        decision: &mut Decision<'_>,
        left_out: u64,
    ) -> Result<NewSession, PassError> {
        let mut content = tempfile::tempfile().map_err(ErrorKind::Temporary)?;
        decision.write(left_out, &mut content).map_err(|error| match error.kind {
            ErrorKind::Output(error) => ErrorKind::Temporary(error).into(),
            _ => error,
        })?;
        let ids = NewId::for_content(&self.id, &mut content).map_err(ErrorKind::Temporary)?;
        let file = self.path.file_name().unwrap_or_default();
        let file = ids.file_name(&file.to_string_lossy());
        Ok(NewSession { path: self.path.with_file_name(file), content, ids })
    }
}

impl NewSession {
    /// Writes the copy.
    pub(super) fn write(
        self,
        dialect: &dyn Dialect,
        output: &mut impl Write,
    ) -> Result<(), PassError> {
        self.ids.write(self.content, dialect, output)
    }
}

/// The old and the new id of a session.
struct NewId {
    old: String,
    new: String,
}

impl NewId {
    /// The same content gets the same id.
    fn for_content(old: &str, content: &mut (impl Read + Seek)) -> io::Result<Self> {
        content.rewind()?;
        let hash = hash_bytes(content)?;
        content.rewind()?;
        Ok(Self { old: old.to_owned(), new: Ids::new(&hash).uuid() })
    }

    /// The name of the new file. Agents put the id into the name, or its first eight digits.
    fn file_name(&self, old_file: &str) -> String {
        if old_file.contains(&self.old) {
            return old_file.replace(&self.old, &self.new);
        }
        match (self.old.get(..8), self.new.get(..8)) {
            (Some(old), Some(new)) if old_file.contains(old) => old_file.replace(old, new),
            _ => format!("{}.jsonl", self.new),
        }
    }

    /// Writes the content with the new id.
    fn write(
        &self,
        content: impl Read,
        dialect: &dyn Dialect,
        output: &mut impl Write,
    ) -> Result<(), PassError> {
        let options = Options { raw: true, ..Options::default() };
        let mut records = Records::open(content, &options).map_err(ErrorKind::Temporary)?;
        while let Some(record) = records.next().map_err(ErrorKind::Temporary)? {
            let edits = record.whole_object().map(|object| self.edits(dialect, object));
            let written = match edits {
                Some(edits) if !edits.is_empty() => output.write_all(&record.edited(&edits)),
                _ => output.write_all(record.bytes),
            };
            written.map_err(ErrorKind::Output)?;
        }
        Ok(())
    }

    fn edits(&self, dialect: &dyn Dialect, object: &Object<'_>) -> Edits {
        let mut edits = Edits::new();
        if let Some(range) = dialect.links(object).session
            && object.text()[range.clone()] == format!("\"{}\"", self.old)
        {
            edits.replace(range, format!("\"{}\"", self.new));
        }
        edits
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use ctx_format::dialect::ClaudeCode;

    use super::{NewId, OldSession};

    const OLD: &str = "11111111-2222-4333-8444-555555555555";

    #[test]
    fn only_the_id_of_the_session_changes() {
        let other = "{\"sessionId\":\"x\",\"uuid\":\"u\",\"parentUuid\":null,\"type\":\"user\"}";
        let session =
            format!("{}\nbroken {OLD}\n{other}", other.replace("\"x\"", &format!("\"{OLD}\"")));
        let mut content = Cursor::new(session.clone().into_bytes());
        let ids = NewId::for_content(OLD, &mut content).expect("from memory");
        let mut written = Vec::new();
        ids.write(&mut content, &ClaudeCode, &mut written).expect("to memory");
        let expected = session.replacen(OLD, &ids.new, 1);
        assert_eq!(String::from_utf8(written).expect("text"), expected);
    }

    #[test]
    fn a_file_without_an_id_and_a_folder_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s.jsonl");
        std::fs::write(&path, "{\"role\":\"user\",\"content\":\"a\"}\n").expect("written");
        let error = OldSession::open(&path).map(|_| ()).expect_err("no id").to_string();
        assert!(error.contains("no line tells the id"), "{error}");
        let error = OldSession::open(folder.path()).map(|_| ()).expect_err("a folder").to_string();
        assert!(error.contains("cannot read"), "{error}");
    }

    #[test]
    fn a_file_is_named_as_its_agent_does() {
        let ids = NewId::for_content(OLD, &mut Cursor::new(b"a")).expect("from memory");
        let (new, short) = (&ids.new, &ids.new[..8]);
        for (file, expected) in [
            (format!("{OLD}.jsonl"), format!("{new}.jsonl")),
            (format!("rollout-t-{OLD}.jsonl"), format!("rollout-t-{new}.jsonl")),
            ("session-t-11111111.jsonl".to_owned(), format!("session-t-{short}.jsonl")),
            ("copy.jsonl".to_owned(), format!("{new}.jsonl")),
        ] {
            assert_eq!(ids.file_name(&file), expected);
        }
    }
}
