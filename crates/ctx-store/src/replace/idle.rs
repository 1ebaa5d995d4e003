//! Whether an agent is at work on a session file. One that runs keeps its history in memory, and
//! knows nothing of what a tool changes in its file.

use std::io::Read;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use ctx_format::{Dialect, Options, Records, dialect_of_lines};

use crate::error::{OrCannot, StoreError};
use crate::fs::hash;
use crate::id::SessionId;
use crate::replace::session_file::SessionFile;
use crate::snapshot::meta::Meta;
use crate::store::Store;

/// How long a session file must have been left alone before anything replaces it. Every
/// replacement takes one, so that no tool can forget to ask.
///
/// `None` is what holds unless a person says otherwise: ten minutes for an agent's own file, and
/// nothing for a list of messages, which any script may have written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MinIdle(pub Option<Duration>);

/// The default for agents' own files.
const OF_AGENTS: Duration = Duration::from_secs(10 * 60);

/// How much of a file is searched for a line that only an agent writes.
const LOOK_AT: u64 = 8 << 20;

/// Allows a file that was changed too recently.
pub(crate) struct IdleException {
    /// It has the bytes of this hash: a tool made the last change, and a tool's write is no sign of
    /// an agent.
    sha256: String,
    error: StoreError,
}

impl IdleException {
    /// Refuses a file whose bytes have another hash.
    pub(crate) fn check(self, sha256: &str) -> Result<(), StoreError> {
        if self.sha256 == sha256 { Ok(()) } else { Err(self.error) }
    }
}

impl Store {
    /// Refuses a file that something other than the tools changed less than `min_idle` ago. A time
    /// in the future counts as now. If the content must decide, the caller checks it, because it
    /// may read the file anyway.
    pub(crate) fn refuse_unless_idle(
        &self,
        live: &SessionFile,
        session: &SessionId,
        asked: MinIdle,
    ) -> Result<Option<IdleException>, StoreError> {
        let min_idle = asked.0.unwrap_or(OF_AGENTS);
        if min_idle.is_zero() {
            return Ok(None);
        }
        let modified = live.meta.modified().or_cannot("read", &live.path)?;
        let ago = self.now() - DateTime::<Utc>::from(modified);
        let enough = TimeDelta::from_std(min_idle).unwrap_or(TimeDelta::MAX);
        if ago >= enough || (asked.0.is_none() && !is_agents(live)?) {
            return Ok(None);
        }
        let error = StoreError::NotIdle {
            path: live.path.clone(),
            ago: ago.to_std().unwrap_or_default(),
            min_idle,
        };
        match self.last_written(live, session)? {
            Some(sha256) => Ok(Some(IdleException { sha256, error })),
            None => Err(error),
        }
    }

    /// The hash of the file after the last change by a tool, if it has that length.
    fn last_written(
        &self,
        live: &SessionFile,
        session: &SessionId,
    ) -> Result<Option<String>, StoreError> {
        let is_of_it = |meta: &Meta| meta.is_of(&live.path);
        let written = |meta: Meta| {
            let written = meta.replaced_by?;
            (written.bytes == live.meta.len()).then_some(written.sha256)
        };
        let newest = self.newest(session).and_then(|entry| entry.meta.ok());
        if let Some(sha256) = newest.filter(is_of_it).and_then(written) {
            return Ok(Some(sha256));
        }
        // The note may be lost or of another copy of the session, and the tool may have written a
        // session with another id: before anybody is refused, all snapshots are looked at.
        let entries = self.catalog(None)?.entries.into_iter();
        let of_it = entries.filter_map(|entry| entry.meta.ok().filter(is_of_it));
        let newest = of_it.max_by_key(|meta| meta.sequence);
        Ok(newest.and_then(written))
    }
}

impl SessionFile {
    /// Refuses a file that was changed less than `min_idle` ago: the question of a dry run.
    pub fn refuse_unless_idle(
        &self,
        store: &Store,
        session: &SessionId,
        min_idle: MinIdle,
    ) -> Result<(), StoreError> {
        let Some(exception) = store.refuse_unless_idle(self, session, min_idle)? else {
            return Ok(());
        };
        // A separate handle, whose position is ours alone.
        let mut file = Self::open(&self.path)?.file;
        exception.check(&hash(&mut file).or_cannot("read", &self.path)?)
    }
}

/// Whether an agent writes this file itself.
fn is_agents(live: &SessionFile) -> Result<bool, StoreError> {
    // The snapshot is copied from the position of the other handle, which must not move.
    let head = || Ok::<_, StoreError>(SessionFile::open(&live.path)?.file.take(LOOK_AT));
    let dialect = dialect_of_lines(head()?).or_cannot("read", &live.path)?;
    if dialect.is_some() || live.meta.len() > LOOK_AT {
        // A file that does not tell by then may be an agent's.
        return Ok(dialect.is_none_or(Dialect::is_log));
    }
    // One JSON document over many lines: older versions of the Gemini CLI write those.
    let records = Records::open(head()?, &Options::default()).or_cannot("read", &live.path)?;
    Ok(records.dialect().is_some_and(Dialect::is_log))
}

#[cfg(test)]
mod tests {
    use crate::tests::{Bench, id};
    use crate::{MinIdle, StoreError};

    /// L11: without a word from anybody an agent's own file has to rest, and a list of messages,
    /// which a script may have written a moment ago, does not.
    #[test]
    fn only_an_agents_own_file_has_to_rest() {
        let bench = Bench::new();
        let agents = r#"{"type":"session","version":3,"id":"p-1","timestamp":"t","cwd":"/"}"#;
        let picture = format!("{{\"x\":\"{}\"}}\n", "x".repeat(3 << 20));
        for (text, rests) in [
            (format!("{agents}\n"), true),
            // Behind a first line that is longer than what tells the id of a session.
            (format!("{picture}{agents}\n"), true),
            ("{\"role\":\"user\",\"content\":\"hi\"}\n".to_owned(), false),
            ("no session\n".to_owned(), false),
            // The form of older versions of the Gemini CLI.
            (
                "{\n\"sessionId\": \"g\",\n\"startTime\": \"t\",\n\"lastUpdated\": \"t\",\n\"messages\": [\n{\"id\": \"1\", \"timestamp\": \"t\", \"type\": \"user\", \"content\": \"hi\"}\n]\n}\n".to_owned(),
                true,
            ),
            // Nobody looks further than this.
            (
                format!("{{\"x\":\"{}\"}}\n{agents}\n", "x".repeat(9 << 20)),
                true,
            ),
        ] {
            let path = bench.file("s.jsonl", &text);
            let refused = |min_idle| {
                let begun = bench.store.begin_replacement(&path, &id("demo"), min_idle);
                let seen = bench.store.replace_other(&path, None, min_idle);
                let of_other = matches!(seen, Err(StoreError::NotIdle { .. }));
                let refused = matches!(begun, Err(StoreError::NotIdle { .. }));
                assert_eq!(of_other, refused);
                refused
            };
            let seconds = |seconds| MinIdle(Some(std::time::Duration::from_secs(seconds)));
            assert_eq!(refused(MinIdle::default()), rests);
            assert!(!refused(seconds(0)));
            assert!(refused(seconds(60)));
            bench.wait_days(1);
            assert!(!refused(MinIdle::default()));
            bench.wait_days(-1);
        }
    }
}
