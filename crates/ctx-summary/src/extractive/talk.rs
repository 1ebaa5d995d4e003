//! Recognizes dialogues, in which two people, or a person and an assistant, write short messages
//! without using tools. Splits off the names and dates that precede the text of their messages.

use std::collections::HashMap;
use std::sync::LazyLock;

use ctx_text::Matcher;
use regex::Regex;

use super::segment_worth::{LISTS, has_tools, is_polite, names_something, pattern};
use crate::ledger::{Index, Ledger, Origin, RuleKind, Segment, SegmentKind, is_label};

/// The minimum number of messages in a dialogue.
const LEAST_MESSAGES: usize = 6;
/// The maximum average length of a dialogue's messages, in bytes.
const LONGEST_MEAN: usize = 500;
/// How many messages must begin with the same text for it to count as a name.
const LEAST_NAMED: usize = 3;
/// The maximum length of an answer that is not clear without its question, in bytes.
const SHORT_ANSWER: usize = 44;

/// Returns true if the session is a dialogue. A compaction keeps only a few of the latest messages
/// in a dialogue, because important statements are just as likely to be in earlier messages.
pub fn is_talk(ledger: &Ledger) -> bool {
    speakers(ledger).is_some()
}

/// If the session is a dialogue, returns the names at the beginning of its messages. A dialogue
/// with names is between people.
pub(super) fn speakers(ledger: &Ledger) -> Option<&[String]> {
    ledger.speakers.get_or_init(|| find_speakers(&ledger.index)).as_deref()
}

fn find_speakers(index: &Index) -> Option<Vec<String>> {
    if has_tools(&index.segments) {
        return None;
    }
    let names = names(index);
    let lines = lines(index, &names);
    let begins = || (0..lines.len()).filter(|number| lines[*number].message == *number);
    let count = |origin| begins().filter(|at| index.segments[*at].origin == origin).count();
    let (of_user, of_agent) = (count(Origin::User), count(Origin::Said));
    let messages = of_user + of_agent;
    let bytes: usize = lines.iter().map(|line| line.text.len()).sum();
    let is_talk = messages >= LEAST_MESSAGES
        && bytes <= messages * LONGEST_MEAN
        && (of_user.min(of_agent) > 1 || names.len() > 1);
    is_talk.then_some(names)
}

/// Finds the names at the beginning of messages. Returns no names if most messages do not begin
/// with a name.
fn names(index: &Index) -> Vec<String> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let mut messages = 0;
    let mut before = None;
    for segment in &index.segments {
        let text = index.text(segment);
        let prefix = Prefix::of(text, |_| !is_date(text));
        let place = Some((segment.line, segment.origin, segment.turn));
        messages += usize::from(before != place || !prefix.name.is_empty());
        *counts.entry(prefix.name).or_default() += 1;
        before = place;
    }
    // A label such as `NOTE:` is no name.
    counts.retain(|name, count| *count >= LEAST_NAMED && !name.is_empty() && !is_label(name));
    if counts.values().sum::<usize>() * 2 < messages {
        return Vec::new();
    }
    counts.into_keys().map(str::to_owned).collect()
}

/// A dialogue, with a line for each segment.
pub(super) struct Talk<'l> {
    /// The speakers' names, as found at the beginning of messages.
    pub(super) names: &'l [String],
    pub(super) lines: Vec<Line<'l>>,
}

/// A segment of a dialogue, without the name and the date before it.
#[derive(Clone, Copy)]
pub(super) struct Line<'l> {
    /// The index of the first segment in the message.
    pub(super) message: usize,
    pub(super) text: &'l str,
    pub(super) kind: SegmentKind,
    /// The name before the message, and the separator after the name.
    pub(super) name: &'l str,
    pub(super) colon: &'l str,
    /// The date in front of the message, or else the most recent date before it.
    pub(super) date: Option<&'l str>,
    /// The index of the segment that is needed to understand this one.
    pub(super) head: Option<usize>,
    /// False for a date, and for text that is merely polite.
    pub(super) says: bool,
}

impl<'l> Talk<'l> {
    /// Splits a session, if it is a dialogue. Segments marked in `hidden` explain no other segment.
    pub(super) fn of(ledger: &'l Ledger, hidden: &[bool]) -> Option<Self> {
        let (index, names) = (&ledger.index, speakers(ledger)?);
        let mut lines = lines(index, names);
        for number in 0..lines.len() {
            let head = index.segments[number].head.or_else(|| needed(&lines, number));
            let is_open = |at: &usize| !index.segments[*at].is_covered && !hidden[*at];
            lines[number].head = head.filter(is_open);
            lines[number].says &= !is_polite(lines[number].text, names);
        }
        Some(Self { names, lines })
    }
}

fn lines<'l>(index: &'l Index, names: &[String]) -> Vec<Line<'l>> {
    let mut lines: Vec<Line<'_>> = Vec::with_capacity(index.segments.len());
    let mut before = None;
    for (message, segment) in index.segments.iter().enumerate() {
        let text = index.text(segment);
        let is_name = |name: &str| names.iter().any(|known| known == name);
        let Prefix { date, name, colon, rest } = Prefix::of(text, is_name);
        let place = Some((segment.line, segment.origin, segment.turn));
        let kind = segment.kind;
        let last = lines.last().copied();
        let same = last.filter(|_| before == place && name.is_empty());
        let date = date.or(last.and_then(|last| last.date));
        let begin = Line { message, text: rest, kind, name, colon, date, head: None, says: true };
        let mut line = same.map_or(begin, |last| Line { text, kind, says: true, ..last });
        if is_date(text) {
            // The date applies to the messages after it, and is not quoted itself.
            line = Line { date: Some(text), says: false, ..line };
        } else if !line.name.is_empty() && !kind.is_said() {
            // Text after a speaker's name is never a quotation, even if it looks like one.
            line.kind = SegmentKind::Sentence;
        }
        lines.push(line);
        before = place;
    }
    lines
}

/// Returns, for each segment of a dialogue between people, whether it is a demand that an agent must
/// respect: one in a message without a name, or one that is strict or names something.
pub(super) fn demands(index: &Index, names: &[String]) -> Vec<bool> {
    let is_demand = |(line, segment): (&Line<'_>, &Segment)| {
        segment.rule == Some(RuleKind::Rule)
            && (line.name.is_empty()
                || STRICT.is_match(line.text)
                || names_something(line.text) && !OF_ONESELF.is_match(line.text))
    };
    lines(index, names).iter().zip(&index.segments).map(is_demand).collect()
}

/// Finds the segment that is needed to understand segment `number`: the preceding one, or the
/// question that it answers.
fn needed(lines: &[Line<'_>], number: usize) -> Option<usize> {
    let Line { message, text, .. } = lines[number];
    let before = message.checked_sub(1).filter(|_| text.len() <= SHORT_ANSWER);
    if number > message {
        return REFERS.is_match(text).then_some(number - 1);
    }
    let mut asked = lines[before?].message..message;
    asked.rfind(|at| is_question(lines[*at].text))
}

static OF_ONESELF: LazyLock<Regex> = LazyLock::new(|| pattern("of oneself"));
static STRICT: LazyLock<Regex> = LazyLock::new(|| pattern("strict demand"));
static ASKS: LazyLock<Regex> = LazyLock::new(|| pattern("question"));
static REFERS: LazyLock<Regex> = LazyLock::new(|| pattern("refers"));
static STAMP: LazyLock<Regex> = LazyLock::new(|| pattern("stamp"));
static NAME: LazyLock<Regex> = LazyLock::new(|| pattern("name"));
static DATE_LEADS: LazyLock<Matcher> = LazyLock::new(|| LISTS.matcher("before a date"));
static DATE_PARTS: LazyLock<Regex> = LazyLock::new(|| pattern("date"));
static HOUR: LazyLock<Regex> = LazyLock::new(|| pattern("time"));

/// Returns true if `text` is a question.
pub(super) fn is_question(text: &str) -> bool {
    ASKS.is_match(text)
}

/// The date and the name before the text of a message.
struct Prefix<'t> {
    date: Option<&'t str>,
    name: &'t str,
    colon: &'t str,
    rest: &'t str,
}

impl<'t> Prefix<'t> {
    /// Splits the date and the name off a message. Text in the position of a name is a name if
    /// `is_name` says so. A date without brackets may begin a sentence, unless a name follows it,
    /// and other text in brackets is part of the message, too.
    fn of(text: &'t str, is_name: impl Fn(&str) -> bool) -> Self {
        let stamp = STAMP.captures(text);
        let after = stamp.as_ref().map_or(text, |stamp| &text[stamp[0].len()..]);
        let group = |found: Option<regex::Match<'t>>| found.map(|found| found.as_str());
        let inside = stamp.as_ref().and_then(|stamp| group(stamp.get(1))).filter(|it| is_when(it));
        let named = NAME.captures(after).filter(|named| is_name(&named[1]));
        let Some(named) = named else {
            return Self {
                date: inside,
                name: "",
                colon: "",
                rest: inside.map_or(text, |_| after),
            };
        };
        let rest = &after[named[0].len()..];
        let bare = stamp.and_then(|stamp| group(stamp.get(2)));
        // If the name is alone on its line, the text of the message begins on the next line.
        let colon = if rest.is_empty() { ": " } else { group(named.get(3)).unwrap_or_default() };
        let date = inside.or(bare).or(group(named.get(2)));
        Self { date, name: group(named.get(1)).unwrap_or_default(), colon, rest }
    }
}

/// Returns true if `text` is only a date or a time.
fn is_date(text: &str) -> bool {
    DATE_LEADS.is_match(text) && is_when(text)
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
    use ctx_format::{Message, Part, Role, Zone};

    use super::{Talk, day, demands, is_date, is_question, is_talk, lines, names};
    use crate::ledger::Ledger;
    use crate::ledger::fixtures::dialogue;

    fn talk() -> Vec<String> {
        let day = |n: usize| {
            [
                format!("[{} May 2023] Ann: Hey Bo! I sold {n} boats to Cosmo.", n + 1),
                "Bo: Wow, that's great, Ann!".to_owned(),
                format!("Bo: My sister paints house number {n} blue."),
                "Ann: Bye!".to_owned(),
            ]
        };
        (0..20).flat_map(day).collect()
    }

    fn of(texts: &[String]) -> Ledger {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        dialogue(&texts)
    }

    #[test]
    fn short_messages_of_two_are_a_talk() {
        assert!(is_talk(&of(&talk())));
        assert!(!is_talk(&of(&talk()[..4])));
        assert!(!is_talk(&Ledger::default()));
        let word = |n: usize, m: usize| format!("Word {n} {m}.");
        let words = |n: usize| (0..99).map(|m| word(n, m)).collect::<Vec<_>>().join(" ");
        let long: Vec<String> = (0..20).map(words).collect();
        assert!(!is_talk(&of(&long)));
    }

    #[test]
    fn one_role_may_speak_for_two_with_names() {
        let one = |texts: Vec<String>| {
            let mut ledger = Ledger::default();
            for (line, text) in (1..).zip(&texts) {
                let message = Message::new(Role::User, vec![Part::Text(text.as_str().into())]);
                ledger.push(line, &message, Zone::Old);
            }
            is_talk(&ledger)
        };
        assert!(one(talk()));
        assert!(!one((0..30).map(|n| format!("Repair part {n}.")).collect()));
    }

    #[test]
    fn of_what_people_say_only_demands_about_something_named_are_rules() {
        let mut texts = talk();
        texts[20] = "Ann: Never delete the rows of data/raw-2019.".to_owned();
        texts[21] = "Bo: You must never touch the clock.".to_owned();
        texts[24] = "Ann: I always take the tram 7.".to_owned();
        texts[28] = "They should stay at home.".to_owned();
        texts[32] = "Ann: They should stay at home a bit.".to_owned();
        let ledger = of(&texts);
        let found = demands(&ledger.index, &names(&ledger.index));
        let found: Vec<&str> = (ledger.index.segments.iter().zip(found))
            .filter(|(_, is_demand)| *is_demand)
            .map(|(segment, _)| ledger.index.text(segment))
            .collect();
        assert_eq!(found, [&*texts[20], &*texts[28]]);
    }

    #[test]
    fn a_session_that_grows_may_become_a_talk() {
        let talk = talk();
        let mut ledger = of(&talk[..4]);
        assert!(!is_talk(&ledger));
        for (line, text) in (5..).zip(&talk[4..]) {
            let role = [Role::Assistant, Role::User][usize::from(line % 2 == 1)];
            let message = Message::new(role, vec![Part::Text(text.as_str().into())]);
            ledger.push(line, &message, Zone::Old);
        }
        assert!(is_talk(&ledger));
    }

    /// Returns the name, the date and the text of each line.
    fn said(texts: &[&str]) -> Vec<(String, Option<String>, String)> {
        let ledger = dialogue(texts);
        let names = names(&ledger.index);
        let lines = lines(&ledger.index, &names);
        let owned = |text: &str| text.to_owned();
        let said =
            lines.iter().map(|line| (owned(line.name), line.date.map(owned), owned(line.text)));
        said.collect()
    }

    #[test]
    fn names_and_dates_before_the_words_are_no_words() {
        let found = said(&[
            "[8 May 2023, 10:12] Ann Lee: Hello Bo! I moved to Oslo.",
            "Bo: Note: it rains.",
            "[D1:3] Ann Lee: Yes. [2019] It does.",
            "Bo: So it does.",
            "[9 May 2023, 7:01] Ann Lee: I left again.",
            "Bo (10 May): Well.",
        ]);
        let of = |name: &str, date: &str, text: &str| {
            (name.to_owned(), Some(date.to_owned()), text.to_owned())
        };
        let (first, second) = ("8 May 2023, 10:12", "9 May 2023, 7:01");
        assert_eq!(
            found,
            [
                of("Ann Lee", first, "Hello Bo!"),
                of("Ann Lee", first, "I moved to Oslo."),
                of("Bo", first, "Note: it rains."),
                of("Ann Lee", first, "Yes."),
                of("Ann Lee", first, "[2019] It does."),
                of("Bo", first, "So it does."),
                of("Ann Lee", second, "I left again."),
                of("Bo", "10 May", "Well."),
            ]
        );
    }

    #[test]
    fn what_few_messages_begin_with_is_no_name() {
        let found = said(&[
            "Note: I moved.",
            "Where to?",
            "Note: to Oslo.",
            "Why?",
            "Note: for work.",
            "I see.",
            "It is cold.",
            "Is it?",
        ]);
        assert!(found.iter().all(|(name, ..)| name.is_empty()), "{found:?}");
    }

    #[test]
    fn a_date_without_brackets_has_a_name_behind_it() {
        let found = said(&[
            "2024-05-08 10:12 Ann: I moved.",
            "Bo: 2024-05-08 is a day.",
            "Ann: [see] me there.",
            "Bo: I moved as well.",
            "[8 May] Ann: Hi there.",
            "Bo: [9 May] I know.",
        ]);
        let dates: Vec<Option<&str>> = found.iter().map(|(_, date, _)| date.as_deref()).collect();
        let (first, second) = (Some("2024-05-08 10:12"), Some("8 May"));
        assert_eq!(dates, [first, first, first, first, second, second]);
        assert_eq!(found[1].2, "2024-05-08 is a day.");
        assert_eq!(found[2].2, "[see] me there.");
    }

    #[test]
    fn a_message_may_be_a_date() {
        let found = said(&["DATE: 8 May 2023", "Hello.", "I moved to Oslo."]);
        assert_eq!(found[2].1.as_deref(), Some("DATE: 8 May 2023"));
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
    fn the_hour_makes_no_other_day() {
        assert_eq!(day("1:56 pm on 8 May"), day("11:03 am on 8 May"));
        assert_ne!(day("8 May"), day("9 May"));
    }

    #[test]
    fn questions_are_known() {
        for text in ["Is it?", "真的吗？", "你去哪儿呢。", "\"Why?\""] {
            assert!(is_question(text), "{text}");
        }
        assert!(!is_question("He asked why? I do not know."));
    }

    /// Returns what the first lines of a dialogue need.
    fn needs(texts: &[&str]) -> Vec<Option<usize>> {
        let others = ["It rains.", "It snows.", "He left.", "She left.", "We left.", "They left."];
        let ledger = dialogue(&[texts, &others].concat());
        let hidden = vec![false; ledger.index.segments.len()];
        let talk = Talk::of(&ledger, &hidden).expect("a dialogue");
        let own = &talk.lines[..talk.lines.len() - others.len()];
        own.iter().map(|line| line.head).collect()
    }

    #[test]
    fn what_refers_to_something_needs_it() {
        assert_eq!(
            needs(&["I bought a boat. It is blue. The sails are from my uncle in Genoa."]),
            [None, Some(0), None]
        );
        assert_eq!(needs(&["我买了一条船。它是蓝色的。"]), [None, Some(0)]);
        assert_eq!(needs(&["It is blue."]), [None]);
    }

    #[test]
    fn a_short_answer_needs_its_question() {
        assert_eq!(needs(&["I am tired. When do you leave?", "In May."]), [None, None, Some(1)]);
        assert_eq!(
            needs(&[
                "When do you leave?",
                "Our boat leaves Genoa in May, together with the whole choir."
            ]),
            [None, None]
        );
        assert_eq!(needs(&["电话是多少？", "84273030。"]), [None, Some(0)]);
        assert_eq!(needs(&["I leave.", "In May."]), [None, None]);
    }
}
