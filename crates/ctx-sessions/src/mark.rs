//! By what a file is known to be the one that was read.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A file system may tell times in steps as large as this (FAT): what changed so lately may
/// change again and look the same.
const STEP: Duration = Duration::from_secs(2);

/// Size, times and number of a file: where none of them has changed, its bytes have not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Mark {
    /// The size in bytes.
    pub size: u64,
    /// When its bytes changed last: seconds since 1970, and nanoseconds.
    pub modified: (i64, i64),
    /// When anything of it changed last.
    pub(crate) changed: (i64, i64),
    pub(crate) device: u64,
    pub(crate) number: u64,
}

impl Mark {
    /// The mark of a file with this metadata.
    pub(crate) fn of(meta: &Metadata) -> Self {
        Self {
            size: meta.len(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
            device: meta.dev(),
            number: meta.ino(),
        }
    }

    /// Which file it is, under whatever names.
    pub(crate) fn file(&self) -> (u64, u64) {
        (self.device, self.number)
    }

    /// Whether the file had been still for long enough at `now` to be known again.
    pub(crate) fn is_settled(&self, now: SystemTime) -> bool {
        self.age(now).is_some_and(|age| age > STEP)
    }

    /// How long ago its bytes changed; `None` in the future.
    pub(crate) fn age(&self, now: SystemTime) -> Option<Duration> {
        let now = now.duration_since(UNIX_EPOCH).ok()?;
        let seconds = u64::try_from(self.modified.0).unwrap_or(0);
        let nanoseconds = u32::try_from(self.modified.1).unwrap_or(0);
        now.checked_sub(Duration::new(seconds, nanoseconds))
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::Mark;

    #[test]
    fn what_has_just_changed_is_not_settled() {
        let mark = Mark { modified: (1_000, 500_000_000), ..Mark::default() };
        let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        assert!(!mark.is_settled(at(900)), "in the future");
        assert!(!mark.is_settled(at(1_002)));
        assert!(mark.is_settled(at(1_003)));
        assert_eq!(mark.age(at(1_001)), Some(Duration::from_millis(500)));
    }
}
