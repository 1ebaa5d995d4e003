//! `--cache-ttl`: a provider's cache of the prompt is lost when its beginning
//! changes, so pruning waits until the cache is cold.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use ctx_passes::prune::Time;
use ctx_select::duration::{self, DurationError};

/// How long a cache lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ttl(Duration);

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
}

impl FromStr for Ttl {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        duration::fixed(text).map(Self)
    }
}

/// When a file, or what stdin is read from, changed last.
pub(crate) fn last_change(path: &Path) -> Option<Time> {
    let meta = metadata(path).ok().filter(Metadata::is_file)?;
    Some(Time(meta.modified().ok()?.into()))
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
    use super::Ttl;

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
}
