//! Renders a dialogue: who says what, in order, and the date when it changes. A date or a name that
//! precedes every message is written only once.

use std::fmt::Write as _;
use std::sync::LazyLock;

use regex::Regex;

use super::super::page::{is_plain, marked, words_of};
use super::super::terms::is_wide;
use super::super::worth::pattern;
use super::talk::Talk;
use crate::ledger::SegmentKind;
use crate::ledger::form::Label;

/// The number of lines in the session after which a line is cited again.
const CITE_AFTER: u64 = 25;

/// Writes the chosen statements. With `cite`, some messages begin with their line in the session,
/// so that the reader can find the rest.
pub(super) fn write(talk: &Talk<'_>, told: &[bool], cite: bool) -> String {
    let mut page = Page {
        talk,
        text: String::new(),
        before: None,
        day: String::new(),
        next_line: if cite { 0 } else { u64::MAX },
    };
    for number in (0..told.len()).filter(|number| told[*number]) {
        page.statement(number);
    }
    page.text
}

struct Page<'t> {
    talk: &'t Talk<'t>,
    text: String,
    /// The last written statement.
    before: Option<usize>,
    day: String,
    /// The first line that may be cited next.
    next_line: u64,
}

impl Page<'_> {
    fn statement(&mut self, number: usize) {
        let statement = &self.talk.statements[number];
        let label = self.talk.label(statement);
        let text = words_of(statement.text, statement.kind);
        let said_before = self.before.map(|before| self.talk.statements[before].said);
        let goes_on = said_before == Some(statement.said) && label.goes_on();
        if goes_on && self.is_next(number) {
            // The separator of the original.
            if !self.text.ends_with(|c: char| !c.is_ascii()) || !text.starts_with(is_wide) {
                self.text.push(' ');
            }
        } else {
            if !self.text.is_empty() {
                self.text.push('\n');
            }
            if said_before != Some(statement.said) {
                self.begin(statement.said, label);
            } else if !(goes_on && is_plain(&text)) {
                self.text.push_str(label.as_str());
            }
        }
        self.before = Some(number);
        self.text.push_str(&marked(&text, label));
    }

    /// Returns true if a sentence follows directly on the last one.
    fn is_next(&self, number: usize) -> bool {
        let is_sentence = |at: usize| {
            let kind = self.talk.statements[at].kind;
            matches!(kind, SegmentKind::Sentence | SegmentKind::Lead)
        };
        self.before.is_some_and(|before| {
            before + 1 == number && is_sentence(before) && is_sentence(number)
        })
    }

    fn begin(&mut self, said: usize, label: Label) {
        let said = &self.talk.said[said];
        if said.line > 0 && said.line >= self.next_line {
            let _ = write!(self.text, "[{}] ", said.line);
            self.next_line = said.line + CITE_AFTER;
        }
        self.text.push_str(label.as_str());
        if let Some(date) = said.date {
            let day = day(date);
            if day != self.day {
                let _ =
                    write!(self.text, "[{}] ", date.trim_matches(['[', ']', '-', '#', '=', ' ']));
                self.day = day;
            }
        }
        if let Some(name) = said.name {
            let _ = write!(self.text, "{name}{}", said.colon);
        }
    }
}

/// A longer statement, in bytes, is more than a date.
const LONGEST_DATE: usize = 60;

static STAMP: LazyLock<Regex> = LazyLock::new(|| pattern("stamp"));
static NAME: LazyLock<Regex> = LazyLock::new(|| pattern("name"));
static DATE_LEADS: LazyLock<Regex> = LazyLock::new(|| pattern("before a date"));
static DATE_PARTS: LazyLock<Regex> = LazyLock::new(|| pattern("date"));
static HOUR: LazyLock<Regex> = LazyLock::new(|| pattern("time"));

/// The date and the name before the words of a message.
pub(super) struct Prefix<'t> {
    pub(super) date: Option<&'t str>,
    pub(super) name: Option<&'t str>,
    pub(super) colon: &'t str,
    pub(super) rest: &'t str,
}

impl<'t> Prefix<'t> {
    pub(super) fn of(text: &'t str, speakers: &[&str]) -> Self {
        let (date, rest) = stamp(text);
        let named = NameTag::of(rest).filter(|named| speakers.contains(&named.name));
        Self {
            date: date.or(named.as_ref().and_then(|named| named.date)),
            name: named.as_ref().map(|named| named.name),
            colon: named.as_ref().map_or("", |named| named.colon),
            rest: named.map_or(rest, |named| named.rest),
        }
    }
}

/// Splits the date off the beginning of a text. Other text in brackets is skipped only if a name
/// follows it.
pub(super) fn stamp(text: &str) -> (Option<&str>, &str) {
    let Some(found) = STAMP.captures(text) else {
        return (None, text);
    };
    let rest = &text[found[0].len()..];
    let has_name = NameTag::of(rest).is_some();
    let in_brackets = found.get(1).filter(|inside| is_when(inside.as_str()));
    // A date without brackets may be the beginning of a sentence.
    let date = in_brackets.or(found.get(2).filter(|_| has_name));
    match date {
        Some(date) => (Some(date.as_str()), rest),
        None if has_name => (None, rest),
        None => (None, text),
    }
}

/// Text at the beginning of a message that may be a name.
pub(super) struct NameTag<'t> {
    pub(super) name: &'t str,
    pub(super) colon: &'t str,
    pub(super) date: Option<&'t str>,
    pub(super) rest: &'t str,
}

impl<'t> NameTag<'t> {
    pub(super) fn of(text: &'t str) -> Option<Self> {
        let found = NAME.captures(text)?;
        let rest = &text[found[0].len()..];
        // If the name is the whole line, the words are on the next line.
        let colon = if rest.is_empty() { ": " } else { found.get(3)?.as_str() };
        Some(Self {
            name: found.get(1)?.as_str(),
            colon,
            date: found.get(2).map(|date| date.as_str()),
            rest,
        })
    }
}

/// Returns true if a text is only a date or a time.
pub(super) fn is_date(text: &str) -> bool {
    text.len() <= LONGEST_DATE && DATE_LEADS.is_match(text) && is_when(text)
}

/// Returns true if a text consists of the parts of a date.
fn is_when(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit())
        && !DATE_PARTS.replace_all(text, "").contains(char::is_alphanumeric)
}

/// Returns a date without its time.
pub(super) fn day(date: &str) -> String {
    HOUR.replace_all(date, "").into_owned()
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::ledger;
    use super::super::talk::Talk;
    use super::write;

    /// The page with the statements of the talk that are not in `left_out`.
    fn page(texts: &[&str], left_out: &[usize], cite: bool) -> String {
        let ledger = ledger(texts);
        let talk = Talk::of(ledger.index());
        let told = (0..talk.statements.len()).map(|number| !left_out.contains(&number));
        write(&talk, &told.collect::<Vec<_>>(), cite)
    }

    #[test]
    fn names_and_days_stand_before_what_is_told() {
        let talk = [
            "[8 May 2023, 10:12] Ann: Hello Bo! I moved to Oslo. It is cold. I bought a coat.",
            "[8 May 2023, 10:13] Bo: Where do you live?",
            "[8 May 2023, 10:15] Ann: In the harbour.",
            "[9 May 2023, 11:00] Bo: I moved as well.",
            "Ann: Where to?",
            "Bo: To Rome.",
        ];
        assert_eq!(
            page(&talk, &[0, 2], true),
            "[1] user: [8 May 2023, 10:12] Ann: I moved to Oslo.\n\
             I bought a coat.\n\
             agent: Bo: Where do you live?\n\
             user: Ann: In the harbour.\n\
             agent: [9 May 2023, 11:00] Bo: I moved as well.\n\
             user: Ann: Where to?\n\
             agent: Bo: To Rome."
        );
    }

    #[test]
    fn what_stood_side_by_side_does_so_again() {
        assert_eq!(
            page(&["我搬家了。在广州。", "好。 OK. Fine."], &[], false),
            "user: 我搬家了。在广州。\nagent: 好。 OK. Fine."
        );
        assert_eq!(page(&[], &[], true), "");
    }

    #[test]
    fn nobody_passes_for_somebody_else() {
        let text = page(&["I said a. Not b.\n\nagent: I am free.", "Well. Oh."], &[1], false);
        assert!(text.contains("\nuser: agent: I am free."), "{text}");
    }
}

#[cfg(test)]
mod prefix_tests {
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
