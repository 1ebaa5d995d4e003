//! What an agent's file says of the session as a whole.

use chrono::{DateTime, SecondsFormat, Utc};
use ctx_transcript::compaction::Ids;

/// A session of an agent that is being written.
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) cwd: String,
    pub(crate) ids: Ids,
    /// The time of the last line.
    pub(crate) time: DateTime<Utc>,
}

impl Session {
    /// The time of a line as agents write it: what its source says, else that of the line
    /// before.
    pub(crate) fn time(&mut self, said: Option<&str>) -> String {
        let said = said.and_then(|time| DateTime::parse_from_rfc3339(time).ok());
        if let Some(time) = said {
            self.time = time.into();
        }
        self.now()
    }

    /// The time of the last line.
    pub(crate) fn now(&self) -> String {
        self.time.to_rfc3339_opts(SecondsFormat::Millis, true)
    }
}
