//! Before any input is read, checks where a tool's output will go. If the target is a session file,
//! this module also replaces it.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use ctx_format::{Options, Records, dialect_of_lines};

use crate::error::{OrCannot, Result, StoreError};
use crate::fs::{hash, is_same_file, is_unchanged};
use crate::snapshot::draft::Measured;
use crate::{
    Addition, MinIdle, NewContent, OutputTarget, ReplaceOutcome, Replacement, SessionFile,
    SessionId, Store, refuse_replacement,
};

/// The target of a tool's output.
#[derive(Debug)]
pub enum Destination {
    /// A device or a pipe, to which the output is written directly.
    Stream,
    /// A file that is not a session, or does not exist yet. The file is created or replaced
    /// atomically, unless another process creates or changes it in the meantime.
    Plain(OutputTarget),
    /// A session file.
    Session {
        /// The real path of the session file.
        path: PathBuf,
        /// The index of the input that is this same file, or `None` if there is none.
        input: Option<usize>,
    },
}

impl Destination {
    /// Finds out what kind of target `path` is. A file that is also an input counts as a session,
    /// whatever its content. `temp` is the folder for temporary copies of data that is too large to
    /// examine in memory.
    pub fn look(path: &Path, inputs: &[Option<Metadata>], temp: &Path) -> Result<Self> {
        Store::refuse_inside(path)?;
        let input_at = |there: &Metadata| {
            let is_it = |input: &Metadata| is_same_file(input, there);
            let mut inputs = inputs.iter();
            inputs.position(|input| input.as_ref().is_some_and(is_it))
        };
        if let Ok(meta) = path.metadata()
            && !meta.is_file()
            && !meta.is_dir()
        {
            // Do not open a device or pipe, because opening a FIFO would block. If the device or
            // pipe is also an input, fail, because it cannot be changed in place.
            return match input_at(&meta) {
                Some(_) => SessionFile::open(path).map(|_| Self::Stream),
                None => Ok(Self::Stream),
            };
        }
        // Record the target's state before reading its content, so that the final check notices if
        // another process turns the file into a session later.
        let output = OutputTarget::look(path)?;
        let Some(there) = output.file() else { return Ok(Self::Plain(output)) };
        let input = input_at(there);
        if input.is_none() && !is_session(path, temp).or_cannot("read the existing file", path)? {
            return Ok(Self::Plain(output));
        }
        let path = fs::canonicalize(path).or_cannot("read the existing file", path)?;
        Ok(Self::Session { path, input })
    }
}

/// Whether any line of a file is a message or a record in a known format, or the file is a JSON
/// document or a batch of sessions.
fn is_session(path: &Path, temp: &Path) -> io::Result<bool> {
    let is_read = |batch| -> io::Result<bool> {
        let options = Options { batch, temp: Some(temp.to_owned()), ..Options::default() };
        Ok(Records::open(File::open(path)?, &options)?.dialect().is_some())
    };
    Ok(dialect_of_lines(File::open(path)?)?.is_some() || is_read(false)? || is_read(true)?)
}

/// What happens to lines that an agent appends while the new session is being made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Appended lines are carried over to the end of the new session.
    Follows,
    /// Appended lines stop the replacement, because no line may follow the output.
    Stops,
}

/// A session file whose content will be replaced.
pub enum PendingReplacement<'s> {
    /// The new content is made from this session, whose file has been locked and copied.
    Input(Box<Replacement<'s>>),
    /// As far as the tool knows, the new content is made from something else. The session is not
    /// locked in the meantime, and its file is replaced only if the file has not changed since it
    /// was checked.
    Other {
        /// The session file, with its metadata from the time of the check.
        seen: Box<SessionFile>,
        /// The session that the file belongs to.
        session: SessionId,
        /// How long the file must have been idle.
        min_idle: MinIdle,
        /// The store in which the snapshot will be taken.
        store: &'s Store,
    },
}

impl Store {
    /// Begins to replace the session from which the new content will be made. Also returns a file
    /// that holds a copy of the session's bytes.
    pub fn replace_input(
        &self,
        path: &Path,
        session: &SessionId,
        min_idle: MinIdle,
        growth: Growth,
    ) -> Result<(PendingReplacement<'_>, File)> {
        let mut replacement = self.begin_replacement(path, session, min_idle)?;
        replacement.may_grow = growth == Growth::Follows;
        let bytes = replacement.bytes()?.file;
        Ok((PendingReplacement::Input(Box::new(replacement)), bytes))
    }

    /// Begins to replace a session that, as far as the tool knows, is not the input. Also used for
    /// the dry run of any replacement. Does not lock the session. Refuses an unsuitable file now,
    /// before the work starts. If `session` is `None`, [`SessionId::of_file`] determines the
    /// session.
    pub fn replace_other(
        &self,
        path: &Path,
        session: Option<&SessionId>,
        min_idle: MinIdle,
    ) -> Result<PendingReplacement<'_>> {
        refuse_replacement(path)?;
        let seen = Box::new(SessionFile::open_replaceable(path)?);
        let session = session.map_or_else(|| SessionId::of_file(path), |it| Ok(it.clone()))?;
        seen.refuse_unless_idle(self, &session, min_idle)?;
        Ok(PendingReplacement::Other { seen, session, min_idle, store: self })
    }
}

impl<'s> PendingReplacement<'s> {
    /// What happens to lines that an agent appends before the commit.
    pub fn growth(&self) -> Growth {
        match self {
            Self::Input(replacement) if replacement.may_grow => Growth::Follows,
            _ => Growth::Stops,
        }
    }

    /// Abandons the replacement if bytes are appended, as [`Replacement::unless_it_grows`] does.
    #[must_use]
    pub fn unless_it_grows(self) -> Self {
        match self {
            Self::Input(replacement) => Self::Input(Box::new(replacement.unless_it_grows())),
            other @ Self::Other { .. } => other,
        }
    }

    /// Replaces the content of the session file. For `first`, see [`Replacement::commit_after`].
    pub fn commit_after<E>(
        self,
        new: &mut NewContent<'_>,
        first: impl FnOnce() -> Result<(), E>,
    ) -> Result<Result<ReplaceOutcome, E>> {
        self.replacement()?.commit_after(new, first)
    }

    fn replacement(self) -> Result<Replacement<'s>> {
        Ok(match self {
            Self::Input(replacement) => *replacement,
            Self::Other { seen, session, min_idle, store } => {
                let replacement = store.begin_replacement(&seen.path, &session, min_idle)?;
                // Refuse the file even if it has only grown.
                if !is_unchanged(&replacement.live.meta, &seen.meta) {
                    return Err(StoreError::Changed(seen.path.clone()));
                }
                replacement.unless_it_grows()
            }
        })
    }

    /// If the new content in `file` consists of the session's current content and more lines,
    /// returns these lines, so that they can be appended. `None` if they are too long for that.
    pub fn added_lines(&self, file: &mut File) -> io::Result<Option<Vec<u8>>> {
        const MOST: u64 = 1 << 26;
        let Self::Input(replacement) = self else { return Ok(None) };
        let Measured { bytes, tail, .. } = replacement.draft.measured;
        let added = file.metadata()?.len().saturating_sub(bytes);
        file.rewind()?;
        if !(1..=MOST).contains(&added) || hash(&mut file.take(bytes))? != replacement.draft.sha256
        {
            return Ok(None);
        }
        let mut lines = Vec::new();
        file.read_to_end(&mut lines)?;
        if tail > 0 && lines.starts_with(b"\n") {
            lines.remove(0);
        }
        Ok(Some(lines))
    }

    /// Appends lines to the session file, as [`Replacement::append_after`] does.
    pub fn append_after<E>(
        self,
        addition: Addition<'_>,
        first: impl FnOnce() -> Result<(), E>,
    ) -> Result<Result<ReplaceOutcome, E>> {
        self.replacement()?.append_after(addition, first)
    }
}

#[cfg(test)]
mod destination_tests {
    use std::path::Path;

    use super::Destination;
    use crate::tests::Bench;

    fn look(path: &Path, inputs: &[&Path]) -> Destination {
        let inputs: Vec<_> = inputs.iter().map(|input| input.metadata().ok()).collect();
        Destination::look(path, &inputs, &std::env::temp_dir()).expect("a look")
    }

    #[test]
    fn a_session_is_known_by_its_messages() {
        let bench = Bench::new();
        let message = r#"{"role":"user","content":"hi"}"#;
        let batch = format!("{{\"messages\":[{message}]}}\n");
        for (text, is_session) in
            [(message, true), (batch.as_str(), true), ("{\"a\":1}\n", false), ("", false)]
        {
            let path = bench.file("s", text);
            let found = look(&path, &[]);
            assert_eq!(
                matches!(found, Destination::Session { input: None, .. }),
                is_session,
                "{text}: {found:?}"
            );
        }
    }

    #[test]
    fn an_input_is_a_session_whatever_it_holds() {
        let bench = Bench::new();
        let other = bench.file("other", "text");
        let path = bench.file("s", "text");
        let link = bench.dir.path().join("link");
        std::os::unix::fs::symlink(&path, &link).expect("a link");
        let missing = bench.dir.path().join("missing");
        let Destination::Session { path: real, input } = look(&link, &[&missing, &other, &path])
        else {
            panic!("no session")
        };
        assert_eq!(input, Some(2));
        assert_eq!(real, path.canonicalize().expect("it is there"));
    }

    #[test]
    fn what_is_not_there_is_created_and_a_device_is_written_to() {
        let bench = Bench::new();
        let missing = look(&bench.dir.path().join("new"), &[]);
        assert!(matches!(missing, Destination::Plain(_)), "{missing:?}");
        let device = look(Path::new("/dev/null"), &[]);
        assert!(matches!(device, Destination::Stream), "{device:?}");
    }
}
