//! `--cache-ttl`: a provider's cache of the prompt is lost when its beginning
//! changes, so pruning waits until the cache is cold.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use chrono::{DateTime, NaiveDateTime, Utc};
use ctx_select::duration::{self, DurationError};
use ctx_transcript::{Object, Role};

/// How long a cache lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ttl(Duration);

/// A moment, as records and users write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Time(DateTime<Utc>);

/// A provider's cache of one session.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    pub(crate) ttl: Ttl,
    /// When the last call was, where the records do not tell.
    pub(crate) last_call: Option<Time>,
    /// The session's file, whose time of change tells where nothing else does; `-`
    /// is stdin.
    pub(crate) path: PathBuf,
}

impl Cache {
    /// Whether nothing is lost when the beginning of the session changes; `None`
    /// where nothing tells when the last call was.
    pub(super) fn is_cold(&self, said: SaidAt, now: DateTime<Utc>) -> Option<bool> {
        let last = last_call(said, self.last_call, &self.path)?;
        Some(self.ttl.is_over(last, now))
    }
}

impl From<Duration> for Ttl {
    fn from(duration: Duration) -> Self {
        Self(duration)
    }
}

impl Ttl {
    /// The time itself.
    pub(crate) fn duration(self) -> Duration {
        self.0
    }

    /// Whether the last call is older than this.
    fn is_over(self, last: Time, now: DateTime<Utc>) -> bool {
        // A call in the future is not old.
        (now - last.0).to_std().is_ok_and(|age| age > self.0)
    }
}

impl FromStr for Ttl {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        duration::fixed(text).map(Self)
    }
}

impl FromStr for Time {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let with_zone = || text.parse::<DateTime<Utc>>().ok();
        let without = || {
            text.parse::<NaiveDateTime>()
                .ok()
                .map(|time| time.and_utc())
        };
        let number = || text.parse::<f64>().ok().and_then(since_epoch);
        with_zone()
            .or_else(without)
            .or_else(number)
            .map(Self)
            .ok_or("expected a time such as 2025-01-31T12:00:00Z, or seconds since 1970")
    }
}

/// Seconds, or milliseconds where seconds would be thousands of years away.
#[allow(clippy::cast_possible_truncation)] // Such a time is none, and saturates.
fn since_epoch(number: f64) -> Option<DateTime<Utc>> {
    const MILLISECONDS_FROM: f64 = 1e11;
    let milliseconds = if number >= MILLISECONDS_FROM {
        number
    } else {
        number * 1e3
    };
    DateTime::from_timestamp_millis(milliseconds as i64)
}

/// The times that the records of a session tell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SaidAt {
    reply: Option<Time>,
    any: Option<Time>,
}

impl SaidAt {
    pub(super) fn message(&mut self, role: Role, object: &Object<'_>) {
        const KEYS: [&str; 6] = [
            "timestamp",
            "created_at",
            "createdAt",
            "created",
            "time",
            "ts",
        ];
        let time = KEYS.into_iter().find_map(|key| {
            let text = object.text_of(key);
            text.as_deref().or(object.get(key))?.parse::<Time>().ok()
        });
        self.any = time.or(self.any);
        if role == Role::Assistant {
            self.reply = time.or(self.reply);
        }
    }
}

/// When the model was called last: by the records, by the user, by the file.
fn last_call(said: SaidAt, given: Option<Time>, path: &Path) -> Option<Time> {
    let by_file = || {
        let meta = metadata(path).ok().filter(Metadata::is_file)?;
        Some(Time(meta.modified().ok()?.into()))
    };
    said.reply.or(said.any).or(given).or_else(by_file)
}

/// Of a file, or of what stdin is read from.
fn metadata(path: &Path) -> io::Result<Metadata> {
    if path.as_os_str() != "-" {
        return path.metadata();
    }
    let stdin = io::stdin().as_fd().try_clone_to_owned()?;
    File::from(stdin).metadata()
}

#[cfg(test)]
mod tests {
    use ctx_transcript::{Object, Role};

    use super::{SaidAt, Time, Ttl};

    fn time(text: &str) -> Time {
        text.parse().expect("a time")
    }

    #[test]
    fn only_older_is_over() {
        let ttl: Ttl = "5m".parse().expect("a duration");
        let is_over = |now| ttl.is_over(time("2025-01-01T00:00:00Z"), time(now).0);
        assert!(!is_over("2024-12-31T00:00:00Z"));
        assert!(!is_over("2025-01-01T00:04:59.999Z"));
        assert!(!is_over("2025-01-01T00:05:00Z"));
        assert!(is_over("2025-01-01T00:05:00.001Z"));
    }

    #[test]
    fn durations_have_a_unit() {
        for (text, seconds) in [
            ("0s", 0),
            ("90s", 90),
            ("5m", 300),
            ("1h", 3_600),
            ("1d", 86_400),
        ] {
            assert_eq!(text.parse::<Ttl>().expect(text).0.as_secs(), seconds);
        }
        for bad in [
            "",
            "5",
            "m",
            "-5m",
            "1.5h",
            "5 m",
            "5é",
            "99999999999999999999d",
        ] {
            assert!(bad.parse::<Ttl>().is_err(), "{bad}");
        }
    }

    #[test]
    fn times_are_read_in_several_forms() {
        for text in [
            "2025-01-01T01:00:00+01:00",
            "2025-01-01T00:00:00",
            "2025-01-01T00:00:00.000Z",
            "1735689600",
            "1735689600.0",
            "1735689600000",
        ] {
            assert_eq!(time(text), time("2025-01-01T00:00:00Z"), "{text}");
        }
        for bad in ["", "yesterday", "NaNs", "null"] {
            assert!(bad.parse::<Time>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_last_reply_tells() {
        let mut said = SaidAt::default();
        let mut message = |role, text| {
            said.message(role, &Object::parse(text).expect("an object"));
            (said.reply, said.any)
        };
        assert_eq!(message(Role::User, r#"{"timestamp":true}"#), (None, None));
        let one = Some(time("1735689600"));
        assert_eq!(message(Role::User, r#"{"ts":1735689600}"#), (None, one));
        let two = Some(time("1735689601"));
        assert_eq!(
            message(Role::Assistant, r#"{"created_at":"2025-01-01T00:00:01Z"}"#),
            (two, two)
        );
        assert_eq!(message(Role::Assistant, "{}"), (two, two));
        assert_eq!(message(Role::Tool, r#"{"ts":1735689600}"#), (two, one));
    }
}
