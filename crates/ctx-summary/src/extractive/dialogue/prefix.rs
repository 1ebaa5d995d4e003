//! Splits off the date and the name that precede the text of a message.

use std::sync::LazyLock;

use regex::Regex;

use super::super::segment_worth::pattern;

/// The maximum length of a date, in bytes. A longer statement contains more than a date.
const LONGEST_DATE: usize = 60;

static STAMP: LazyLock<Regex> = LazyLock::new(|| pattern("stamp"));
static NAME: LazyLock<Regex> = LazyLock::new(|| pattern("name"));
static DATE_LEADS: LazyLock<Regex> = LazyLock::new(|| pattern("before a date"));
static DATE_PARTS: LazyLock<Regex> = LazyLock::new(|| pattern("date"));
static HOUR: LazyLock<Regex> = LazyLock::new(|| pattern("time"));

/// The date and the name before the text of a message.
pub(super) struct Prefix<'t> {
    pub(super) date: Option<&'t str>,
    pub(super) name: Option<&'t str>,
    pub(super) colon: &'t str,
    pub(super) rest: &'t str,
}

impl<'t> Prefix<'t> {
    /// Splits the date and the name off a message. Only the names in `speakers` are recognized.
    pub(super) fn of(text: &'t str, speakers: &[&str]) -> Self {
        let (date, rest) = stamp(text);
        let is_known = |named: &Self| named.name.is_some_and(|name| speakers.contains(&name));
        match Self::named(rest).filter(is_known) {
            Some(named) => Self { date: date.or(named.date), ..named },
            None => Self { date, name: None, colon: "", rest },
        }
    }

    /// Splits a name, and a date next to it, off a message. Any text in the position of a name
    /// counts as a name.
    pub(super) fn named(text: &'t str) -> Option<Self> {
        let found = NAME.captures(text)?;
        let rest = &text[found[0].len()..];
        // If the name is alone on its line, the text of the message begins on the next line.
        let colon = if rest.is_empty() { ": " } else { found.get(3)?.as_str() };
        let [name, date] = [1, 2].map(|group| Some(found.get(group)?.as_str()));
        name.map(|_| Self { date, name, colon, rest })
    }
}

/// Splits a date off the beginning of a message. Text in brackets that is not a date is removed
/// only if a name follows it.
pub(super) fn stamp(text: &str) -> (Option<&str>, &str) {
    let Some(found) = STAMP.captures(text) else { return (None, text) };
    let rest = &text[found[0].len()..];
    let has_name = Prefix::named(rest).is_some();
    let in_brackets = found.get(1).filter(|inside| is_when(inside.as_str()));
    // A date without brackets may begin a sentence, unless a name follows it.
    let date = in_brackets.or(found.get(2).filter(|_| has_name));
    let rest = if date.is_some() || has_name { rest } else { text };
    (date.map(|date| date.as_str()), rest)
}

/// Returns true if `text` is only a date or a time.
pub(super) fn is_date(text: &str) -> bool {
    text.len() <= LONGEST_DATE && DATE_LEADS.is_match(text) && is_when(text)
}

/// Returns true if `text` consists only of parts of a date.
fn is_when(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit())
        && !DATE_PARTS.replace_all(text, "").contains(char::is_alphanumeric)
}

/// Returns a date without the time of day.
pub(super) fn day(date: &str) -> String {
    HOUR.replace_all(date, "").into_owned()
}

#[cfg(test)]
mod tests {
    use super::{day, is_date, stamp};

    #[test]
    fn a_text_may_be_a_date() {
        for text in [
            "DATE: 1:56 pm on 8 May, 2023",
            "--- Session 3 (8 May 2023) ---",
            "[2023-05-08]",
            "日期：2023年5月8日 星期一",
        ] {
            assert!(is_date(text), "{text}");
        }
        for text in ["8 May 2023", "May 8: I moved", "[x]", "Session 3 was good", ""] {
            assert!(!is_date(text), "{text}");
        }
    }

    #[test]
    fn a_date_without_brackets_has_a_name_behind_it() {
        assert_eq!(
            stamp("2024-05-08 10:12 Ann: I moved."),
            (Some("2024-05-08 10:12"), "Ann: I moved.")
        );
        for text in ["2024-05-08 is a day.", "[see] me", "I moved."] {
            assert_eq!(stamp(text), (None, text));
        }
        assert_eq!(stamp("[8 May] Hi"), (Some("8 May"), "Hi"));
        assert_eq!(stamp("[D1:3] Ann: Hi"), (None, "Ann: Hi"));
    }

    #[test]
    fn the_hour_makes_no_other_day() {
        assert_eq!(day("1:56 pm on 8 May"), day("11:03 am on 8 May"));
        assert_ne!(day("8 May"), day("9 May"));
    }
}
