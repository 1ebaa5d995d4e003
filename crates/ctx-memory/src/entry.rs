//! An entry of a memory file: what was said, and where and when.
//!
//! ```text
//! We will keep SQLite. (user, demo:42, 2026-11-20, taken back in demo:97)
//! ```
//!
//! Its date and what takes it back are left out where nothing is known of them.

use chrono::NaiveDate;

/// What stands before the place of the decision that takes one back.
const TAKEN_BACK: &str = "taken back in ";

/// What we write of an item, and read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'t> {
    /// What was said, on one line.
    pub text: &'t str,
    /// Who said it: a role's word.
    pub role: &'t str,
    /// Where it was said.
    pub place: Place<'t>,
    /// The day on which it was said (UTC).
    pub date: Option<NaiveDate>,
    /// Where a later decision takes it back.
    pub taken_back: Option<Place<'t>>,
}

/// A line of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place<'t> {
    /// The session's name.
    pub session: &'t str,
    /// From 1.
    pub line: u64,
}

impl<'t> Entry<'t> {
    /// Reads an entry that we wrote, without the marker of its list. `None` is what people
    /// wrote, or changed so that the bracket at its end is none of ours.
    pub fn parse(entry: &'t str) -> Option<Self> {
        let (text, bracket) = entry.rsplit_once(" (")?;
        let mut members = bracket.strip_suffix(')')?.split(", ");
        let role = members.next()?;
        let place = Place::parse(members.next()?)?;
        let mut rest = members.next();
        let date = rest.and_then(|text| text.parse().ok());
        if date.is_some() {
            rest = members.next();
        }
        let taken_back = match rest {
            Some(text) => Some(Place::parse(text.strip_prefix(TAKEN_BACK)?)?),
            None => None,
        };
        let is_ours = role.bytes().all(|b| b.is_ascii_lowercase()) && members.next().is_none();
        is_ours.then_some(Self {
            text,
            role,
            place,
            date,
            taken_back,
        })
    }
}

impl std::fmt::Display for Entry<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({}, {}", self.text, self.role, self.place)?;
        if let Some(date) = self.date {
            write!(f, ", {date}")?;
        }
        if let Some(back) = self.taken_back {
            write!(f, ", {TAKEN_BACK}{back}")?;
        }
        f.write_str(")")
    }
}

impl<'t> Place<'t> {
    fn parse(text: &'t str) -> Option<Self> {
        let (session, line) = text.rsplit_once(':')?;
        let is_place = !session.contains(' ') && line.bytes().all(|b| b.is_ascii_digit());
        let line = line.parse().ok().filter(|_| is_place)?;
        Some(Self { session, line })
    }
}

impl std::fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.session, self.line)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Entry, Place};

    /// 16: what is written is read again.
    #[test]
    fn an_entry_is_read_as_it_was_written() {
        for text in [
            "Use A. (user, demo:1)",
            "Use A (or B). (assistant, other-1.2:77, 2026-11-20)",
            "Use A. (user, demo:1, taken back in demo:9)",
            "用 A。 (user, 会话:1, 2026-11-20, taken back in b:9)",
        ] {
            let entry = Entry::parse(text).expect(text);
            assert_eq!(entry.to_string(), text);
        }
    }

    #[test]
    fn what_people_wrote_is_none() {
        for text in [
            "Use A.",
            "Use A (see b:1)",
            "Use A (User, b:1)",
            "Use A (user, b)",
            "Use A (user, b c:1)",
            "Use A (user, b:1, 2026-13-40)",
            "Use A (user, b:1, 2026-11-20, and more)",
            "Use A (user, b:1, taken back)",
            "Use A (user, b:+1)",
            "Use A (user, b:1), I think",
            "~~Use A (user, b:1)~~",
        ] {
            assert_eq!(Entry::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn reading_gives_what_was_written(
            text in "[a-z (),:0-9.决]{0,20}",
            session in "[a-z:.0-9-]{1,8}",
            line in any::<u64>(),
            days in prop::option::of(0_i32..3_000_000),
            back in prop::option::of(any::<u64>()),
        ) {
            let place = |line| Place { session: &session, line };
            let entry = Entry {
                text: &text,
                role: "user",
                place: place(line),
                date: days.and_then(chrono::NaiveDate::from_num_days_from_ce_opt),
                taken_back: back.map(place),
            };
            let written = entry.to_string();
            // A text of our own is on one line and has no blank at its end, but may end like an entry.
            prop_assert_eq!(Entry::parse(&written), Some(entry));
        }
    }
}
