//! A session under a new id, beside the one that it was made of: an agent knows a session by the
//! id in its lines, and finds it by the name of its file.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use ctx_store::{hash_bytes, open_plain};
use ctx_transcript::compaction::Ids;
use ctx_transcript::{Dialect, Edits, Head, Object, Options, Records};

use super::Decision;
use crate::{ErrorKind, PassError};

/// A session file, and the id that its agent has written into it.
#[derive(Clone, Debug)]
pub struct Beside {
    path: PathBuf,
    id: String,
}

/// What is to stand beside a session file.
pub struct NewSession {
    /// Its path.
    pub path: PathBuf,
    content: File,
    name: NewName,
}

impl Beside {
    /// The file at `path`. What is no regular file is refused unread: a FIFO might never end.
    pub fn of(path: &Path) -> Result<Self, PassError> {
        let real = fs::canonicalize(path);
        let head = real.and_then(|path| open_plain(&path)).and_then(Head::read);
        let id = head.map_err(ErrorKind::Read)?.session;
        Ok(Self {
            path: path.to_owned(),
            id: id.ok_or(ErrorKind::NoId)?,
        })
    }

    /// What was decided about the session, as a session of its own. `left_out` is how many
    /// records of the input were not pushed.
    pub fn make(
        &self,
        decision: &mut Decision<'_>,
        left_out: u64,
    ) -> Result<NewSession, PassError> {
        let mut content = tempfile::tempfile().map_err(PassError::temporary)?;
        let written = decision.write(left_out, &mut content);
        written.map_err(|error| match error.kind {
            ErrorKind::Output(error) => PassError::temporary(error),
            _ => error,
        })?;
        let name = NewName::of(&self.id, &mut content)?;
        let file = self.path.file_name().unwrap_or_default();
        let file = name.of_file(&file.to_string_lossy());
        Ok(NewSession {
            path: self.path.with_file_name(file),
            content,
            name,
        })
    }
}

impl NewSession {
    /// Writes it.
    pub fn write(self, dialect: &dyn Dialect, output: &mut impl Write) -> Result<(), PassError> {
        self.name.write(self.content, dialect, output)
    }
}

/// A session under a new id.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NewName {
    old: String,
    new: String,
}

impl NewName {
    /// For the session of the id `old`: the same content gets the same id.
    fn of(old: &str, content: &mut (impl Read + Seek)) -> Result<Self, PassError> {
        let mut hashed = || -> io::Result<[u8; 32]> {
            content.rewind()?;
            let seed = hash_bytes(content)?;
            content.rewind()?;
            Ok(seed)
        };
        let seed = hashed().map_err(PassError::temporary)?;
        Ok(Self {
            old: old.to_owned(),
            new: Ids::new(&seed).uuid(),
        })
    }

    /// The name of its file, where that of the old one's is `file`: agents put the id into it,
    /// or its first eight digits.
    fn of_file(&self, file: &str) -> String {
        let short = |id: &str| id.get(..8).map(str::to_owned);
        if file.contains(&self.old) {
            return file.replace(&self.old, &self.new);
        }
        match (short(&self.old), short(&self.new)) {
            (Some(old), Some(new)) if file.contains(&old) => file.replace(&old, &new),
            _ => format!("{}.jsonl", self.new),
        }
    }

    /// Writes the session: in each line that names the old one, that value changes.
    fn write(
        &self,
        content: impl Read,
        dialect: &dyn Dialect,
        output: &mut impl Write,
    ) -> Result<(), PassError> {
        let options = Options {
            raw: true,
            ..Options::default()
        };
        let mut records = Records::open(content, &options).map_err(PassError::temporary)?;
        while let Some(record) = records.next().map_err(PassError::temporary)? {
            let edits = record
                .whole_object()
                .map(|object| self.edits(dialect, object));
            let edits = edits.filter(|edits| !edits.is_empty());
            let written = match edits {
                Some(edits) => output.write_all(&record.edited(&edits)),
                None => output.write_all(record.bytes),
            };
            written.map_err(PassError::output)?;
        }
        Ok(())
    }

    fn edits(&self, dialect: &dyn Dialect, object: &Object<'_>) -> Edits {
        let mut edits = Edits::new();
        if let Some(place) = dialect.links(object).session
            && object.text()[place.clone()] == format!("\"{}\"", self.old)
        {
            edits.replace(place, format!("\"{}\"", self.new));
        }
        edits
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use ctx_transcript::dialect::ClaudeCode;

    use super::{Beside, NewName};
    use crate::ErrorKind;

    const OLD: &str = "11111111-2222-4333-8444-555555555555";

    #[test]
    fn only_the_id_of_the_session_changes() {
        let other = "{\"sessionId\":\"x\",\"uuid\":\"u\",\"parentUuid\":null,\"type\":\"user\"}";
        let session = format!(
            "{}\nbroken {OLD}\n{other}",
            other.replace("\"x\"", &format!("\"{OLD}\""))
        );
        let mut content = Cursor::new(session.clone().into_bytes());
        let name = NewName::of(OLD, &mut content).expect("from memory");
        let mut written = Vec::new();
        name.write(&mut content, &ClaudeCode, &mut written)
            .expect("to memory");
        let expected = session.replacen(OLD, &name.new, 1);
        assert_eq!(String::from_utf8(written).expect("text"), expected);
    }

    #[test]
    fn a_file_without_an_id_and_what_is_no_file_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s.jsonl");
        std::fs::write(&path, "{\"role\":\"user\",\"content\":\"a\"}\n").expect("written");
        let error = Beside::of(&path).expect_err("no id");
        assert!(matches!(error.kind, ErrorKind::NoId), "{error}");
        let error = Beside::of(folder.path()).expect_err("a folder");
        assert!(matches!(error.kind, ErrorKind::Read(_)), "{error}");
    }

    #[test]
    fn a_file_is_named_as_its_agent_does() {
        let name = NewName::of(OLD, &mut Cursor::new(b"a")).expect("from memory");
        let (new, short) = (&name.new, &name.new[..8]);
        for (file, expected) in [
            (format!("{OLD}.jsonl"), format!("{new}.jsonl")),
            (
                format!("rollout-t-{OLD}.jsonl"),
                format!("rollout-t-{new}.jsonl"),
            ),
            (
                "session-t-11111111.jsonl".to_owned(),
                format!("session-t-{short}.jsonl"),
            ),
            ("copy.jsonl".to_owned(), format!("{new}.jsonl")),
        ] {
            assert_eq!(name.of_file(&file), expected);
        }
    }
}
