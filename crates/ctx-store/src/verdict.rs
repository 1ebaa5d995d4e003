//! What checks of saved things found, in the words of sha256sum.

use std::fmt;

use crate::StoreError;

/// What a check of one thing found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is as it was saved.
    Sound,
    /// It is not, and why.
    Damaged(String),
    /// It may be whole: it could not be read, and why.
    Unread(String),
}

/// How many things were found in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdicts {
    /// As they were saved.
    pub sound: usize,
    /// Not as they were saved.
    pub damaged: usize,
    /// They may be whole.
    pub unread: usize,
}

impl Verdict {
    /// Of the end of a check.
    pub fn of(checked: Result<(), StoreError>) -> Self {
        match checked {
            Ok(()) => Self::Sound,
            Err(StoreError::Damaged { why, .. }) => Self::Damaged(why),
            Err(StoreError::Unread { why, .. }) => Self::Unread(why.clone()),
            Err(error @ StoreError::Io { .. }) => Self::Unread(error.to_string()),
            Err(error) => Self::Damaged(error.to_string()),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sound => f.write_str("OK"),
            Self::Damaged(why) => write!(f, "FAILED: {why}"),
            Self::Unread(why) => write!(f, "FAILED open or read: {why}"),
        }
    }
}

impl Verdicts {
    /// One more thing was found so.
    pub fn add(&mut self, verdict: &Verdict) {
        *match verdict {
            Verdict::Sound => &mut self.sound,
            Verdict::Damaged(_) => &mut self.damaged,
            Verdict::Unread(_) => &mut self.unread,
        } += 1;
    }

    /// How many there are.
    pub fn all(self) -> usize {
        self.sound + self.damaged + self.unread
    }
}

impl std::ops::AddAssign for Verdicts {
    fn add_assign(&mut self, more: Self) {
        self.sound += more.sound;
        self.damaged += more.damaged;
        self.unread += more.unread;
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::{Verdict, Verdicts};
    use crate::StoreError;

    #[test]
    fn what_could_not_be_read_is_not_called_damaged() {
        let denied = StoreError::Io {
            action: "read",
            path: "x".into(),
            source: io::ErrorKind::PermissionDenied.into(),
        };
        let damaged = StoreError::NotAStore("x".into());
        let verdicts = [Ok(()), Err(denied), Err(damaged)].map(Verdict::of);
        assert!(matches!(
            verdicts,
            [Verdict::Sound, Verdict::Unread(_), Verdict::Damaged(_)]
        ));
        let mut count = Verdicts::default();
        for verdict in &verdicts {
            count.add(verdict);
        }
        count += count;
        let expected = Verdicts {
            sound: 2,
            damaged: 2,
            unread: 2,
        };
        assert_eq!((count, count.all()), (expected, 6));
    }
}
