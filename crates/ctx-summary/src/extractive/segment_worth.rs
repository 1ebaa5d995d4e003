//! Estimates how useful a segment is to a reader who continues the work, judging by its speaker,
//! wording and position.

use std::sync::LazyLock;

use ctx_text::{Lists, Matcher, Phrases, is_prose, regex, with_ascii_boundaries};
use regex::Regex;

use super::talk::{Line, Talk, is_question};
use super::terms::is_wide;
use crate::ledger::{Index, Origin, Segment, SegmentKind, Verdict};

/// The factor for a model's text in an earlier summary. Such text is repeated unless later text is
/// more useful.
const EARLIER: f64 = 0.35;

/// The factors for requests and statements that an earlier summary quotes. Quoted requests and
/// statements are preferred to new ones, because the earlier summary had space only for the most
/// important ones.
const ASKED_BEFORE: f64 = 2.0;
const SAID_BEFORE: f64 = 1.5;
/// How many statements at the beginning of a request say what the request is about.
const FIRST_WORDS: u32 = 3;

/// The maximum number of lines that the user shows, and the worth of each.
const MOST_SHOWN: usize = 12;
const SHOWN: f64 = 0.5;
/// The worth of commands that committed or checked something, and of a demand in the project's
/// files or in a command's template.
const COMMIT: f64 = 4.0;
const CHECK: f64 = 0.6;
const PROJECT_RULE: f64 = 0.8;

/// The factors for an announcement that names something, for one that does not, and for a short
/// remark such as `This is complex.`
const NAMED_PROMISE: f64 = 0.15;
const PROMISE_ONLY: f64 = 0.02;
const REMARK: f64 = 0.3;
/// The maximum number of words in a remark.
const REMARK_WORDS: usize = 6;

/// The worth of polite words, which contain no information.
const POLITE: f64 = 0.0;

/// Returns the worth of each segment. A segment with worth 0 is useful only for the names in it.
/// `hidden` marks the segments that are not to be quoted.
pub(super) fn worths(index: &Index, talk: Option<&Talk<'_>>, hidden: &[bool]) -> Vec<f64> {
    let segments = &index.segments;
    let places = Places::of(segments);
    let worth = |number: usize| {
        let segment = &segments[number];
        if segment.is_covered || hidden[number] {
            return 0.0;
        }
        if let Some(talk) = talk {
            return in_talk(talk, &talk.lines[number], segment.origin);
        }
        let text = index.text(segment);
        let again = |worth| if segment.is_earlier { worth } else { 1.0 };
        match segment.origin {
            _ if segment.kind == SegmentKind::ProjectRule => PROJECT_RULE,
            Origin::User => again(ASKED_BEFORE) * places.asked(number, segment, text),
            Origin::Said => again(SAID_BEFORE) * places.said(number, segment, text),
            Origin::Pasted if segment.is_earlier => 0.35,
            Origin::Earlier => EARLIER * places.said(number, segment, text),
            Origin::Pasted if is_shown(segments, number, index) => SHOWN,
            Origin::Pasted => 0.06,
            Origin::Call => match segment.kind {
                SegmentKind::Change => 0.3,
                SegmentKind::Name => 0.5,
                SegmentKind::Command => {
                    let outcome = segment.outcome.as_deref();
                    match outcome.and_then(|outcome| Verdict::of(text, outcome)) {
                        Some(Verdict::Commit) => COMMIT,
                        Some(Verdict::Check) => CHECK,
                        None => 0.3,
                    }
                }
                SegmentKind::Line | SegmentKind::Reason if is_plain_prose(text) => 0.3,
                _ => 0.0,
            },
            Origin::Result if segment.kind == SegmentKind::Outcome => 0.3,
            Origin::Result if segment.kind == SegmentKind::Reason => 0.5,
            Origin::Result => 0.0,
        }
    };
    index.in_halves(|half| half.map(worth).collect::<Vec<f64>>()).concat()
}

/// Returns true if a segment is among the first lines that the user shows, as in `Like this:`.
fn is_shown(segments: &[Segment], number: usize, index: &Index) -> bool {
    segments[number].head.is_some_and(|head| {
        let lead = &segments[head];
        let is_lead = lead.origin == Origin::User && index.text(lead).ends_with([':', '：']);
        is_lead && number - head <= MOST_SHOWN
    })
}

/// The increase in worth per name or number in a dialogue, and the maximum number of names and
/// numbers that count.
const NAMED_MORE: f64 = 0.35;
const MOST_NAMED: usize = 3;
/// The factors for statements with a time, and for questions. A user's question to an assistant
/// that contains a name or a number is worth as much as a statement.
const WHEN: f64 = 1.25;
const QUESTION: f64 = 0.5;
/// The factors for a user's statements to an assistant, for those in the first message, which says
/// what the dialogue is about, and for an assistant's statements that contain a number, because the
/// user probably asked for it.
const HELPED: f64 = 1.8;
const FIRST: f64 = 1.5;
const GIVEN: f64 = 2.5;

/// Returns the worth of a segment of a dialogue. Statements with names and numbers are worth most,
/// and polite remarks are worth nothing.
fn in_talk(talk: &Talk<'_>, line: &Line<'_>, origin: Origin) -> f64 {
    let text = line.text;
    let named = named(text, talk.names);
    let mut worth = match (origin, line.kind) {
        (_, SegmentKind::Heading) => return 0.0,
        _ if !line.says => return POLITE,
        (Origin::Pasted, _) | (_, SegmentKind::Quoted) if line.name.is_empty() => 0.35,
        _ => 1.0,
    };
    worth *= 1.0 + NAMED_MORE * named as f64;
    let asks_for_help = talk.names.is_empty() && origin == Origin::User;
    if is_question(text) && !(asks_for_help && named > 0) {
        worth *= QUESTION;
    }
    if TIMES.is_match(text) {
        worth *= WHEN;
    }
    match origin {
        _ if !talk.names.is_empty() => worth,
        _ if asks_for_help && line.message == 0 => worth * HELPED * FIRST,
        _ if asks_for_help => worth * HELPED,
        _ if text.contains(|c: char| c.is_ascii_digit()) => worth * GIVEN,
        _ => worth,
    }
}

/// Returns true if a statement in a dialogue contains only greetings, thanks, praise and the like.
pub(super) fn is_polite(text: &str, speakers: &[String]) -> bool {
    TALK_COURTESY.is_match(text) || KINDNESS.is_match(text) && named(text, speakers) == 0
}

/// Returns true if `text` contains a path or another identifier or, unless it is Chinese, a name or a
/// number.
pub(super) fn names_something(text: &str) -> bool {
    NAMED.is_match(text) || text.is_ascii() && named(text, &[]) > 0
}

/// Counts the numbers in `text` and the names other than the speakers' names, up to [`MOST_NAMED`].
/// A name is a word that is capitalized although it does not begin a sentence.
fn named(text: &str, speakers: &[String]) -> usize {
    let numbers = NUMBERS.find_iter(text).take(MOST_NAMED).count();
    let is_name = |word: &&str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        let word = word.strip_suffix("'s").or(word.strip_suffix("’s")).unwrap_or(word);
        let mut chars = word.chars();
        chars.next().is_some_and(char::is_uppercase)
            && chars.next().is_some_and(char::is_alphabetic)
            && !speakers.iter().any(|name| name.split(' ').any(|part| part == word))
    };
    let words = text.split_whitespace().skip(1).filter(|_| !text.starts_with(is_wide));
    (numbers + words.filter(is_name).count()).min(MOST_NAMED)
}

/// Returns, for each segment, whether it belongs to a request but is not among the request's first
/// statements.
pub(super) fn later_words(index: &Index) -> Vec<bool> {
    let (mut turn, mut count) = (0, 0);
    let is_later = |segment: &Segment| {
        if segment.turn != turn {
            (turn, count) = (segment.turn, 0);
        }
        let is_asked = segment.origin == Origin::User;
        count += u32::from(is_asked);
        is_asked && count > FIRST_WORDS
    };
    index.segments.iter().map(is_later).collect()
}

/// Returns true if the session has tool calls or results. In sessions without them, the words of
/// the user and the model matter more.
pub(super) fn has_tools(segments: &[Segment]) -> bool {
    segments.iter().any(|segment| matches!(segment.origin, Origin::Call | Origin::Result))
}

/// Returns true if tool calls in the session change files or run commands, so that content can be
/// read again. A session without tool calls counts as well, because its agent may write commands in
/// its text.
pub(super) fn has_files(segments: &[Segment]) -> bool {
    let is_change =
        |segment: &Segment| matches!(segment.kind, SegmentKind::Change | SegmentKind::Command);
    let is_call = |segment: &Segment| segment.origin == Origin::Call;
    segments.iter().any(is_change) || !segments.iter().any(is_call)
}

/// The positions of each turn's request and of the model's last words in the turn.
struct Places {
    /// For each turn, the index of the request's first segment and the number of segments in the
    /// request.
    asks: Vec<(usize, usize)>,
    /// For each turn, the line number of the model's last words.
    closing: Vec<u64>,
    count: usize,
    last_turn: u32,
    has_tools: bool,
}

impl Places {
    fn of(segments: &[Segment]) -> Self {
        let last_turn = segments.iter().map(|segment| segment.turn).max().unwrap_or(0);
        let mut asks = vec![(usize::MAX, 0); last_turn as usize + 1];
        let mut closing = vec![0; last_turn as usize + 1];
        for (number, segment) in segments.iter().enumerate() {
            let turn = segment.turn as usize;
            match segment.origin {
                Origin::User => {
                    asks[turn].0 = asks[turn].0.min(number);
                    asks[turn].1 += 1;
                }
                Origin::Said if segment.kind.is_said() => closing[turn] = segment.line,
                _ => {}
            }
        }
        Self { asks, closing, count: segments.len(), last_turn, has_tools: has_tools(segments) }
    }

    fn asked(&self, number: usize, segment: &Segment, text: &str) -> f64 {
        let mut worth = match segment.kind {
            SegmentKind::Heading => return 0.0,
            SegmentKind::Quoted => return 0.35,
            // A polite answer to a question decides something.
            _ if COURTESY.is_match(text) && segment.head.is_none() => return POLITE,
            _ => 1.0,
        };
        let (first, count) = self.asks[segment.turn as usize];
        let is_short = count < 6 && text.len() < 240;
        let is_question = text.ends_with(['?', '？']);
        let is_between = segment.turn > 1 && segment.turn < self.last_turn;
        worth *= if !self.has_tools && is_question && is_between {
            0.8
        } else if number < first + FIRST_WORDS as usize || is_short {
            3.0
        } else {
            1.6
        };
        for (words, more) in [(&RULE, 1.3), (&WHY, 1.4), (&SETTLED, 1.5)] {
            if words.are_in(text) {
                worth *= more;
            }
        }
        if segment.turn <= 1 || segment.turn == self.last_turn {
            worth *= 1.3;
        }
        worth
    }

    fn said(&self, number: usize, segment: &Segment, text: &str) -> f64 {
        let mut worth = match segment.kind {
            SegmentKind::Heading => return 0.0,
            SegmentKind::Quoted => 0.35,
            SegmentKind::Command => return 0.3,
            SegmentKind::Lead => 0.05,
            _ if COURTESY.is_match(text) => return POLITE,
            _ if PROMISE.is_match(text) => {
                if NAMED.is_match(text) {
                    NAMED_PROMISE
                } else {
                    PROMISE_ONLY
                }
            }
            _ if is_remark(text) => REMARK,
            _ if segment.turn < self.last_turn && OFFER.is_match(text) => 0.3,
            _ => 1.0,
        };
        if segment.kind.is_said() {
            if FINDING.are_in(text) {
                worth *= 1.25;
            }
            let names = u8::try_from(NAMED.find_iter(text).take(3).count()).unwrap_or(3);
            worth *= 1.0 + if self.has_tools { 0.12 } else { 0.3 } * f64::from(names);
        }
        if segment.line == self.closing[segment.turn as usize] {
            worth *= 1.4;
        }
        let place = number as f64 / self.count as f64;
        worth * (0.75 + 0.5 * place)
    }
}

/// Returns true for a short statement of the model that names nothing, such as `Good.`
fn is_remark(text: &str) -> bool {
    text.is_ascii() && text.split_whitespace().nth(REMARK_WORDS).is_none() && !NAMED.is_match(text)
}

// Words that raise or lower the worth of a statement.
//
// The ledger's rules decide what counts as an item, so they exclude many similar phrases. The words
// in these lists only change the worth of a statement, so a false match does less harm. All lists
// are tried on every statement.

static RULE: LazyLock<Phrases> = LazyLock::new(|| LISTS.phrases("rule"));
static WHY: LazyLock<Phrases> = LazyLock::new(|| LISTS.phrases("why"));
static SETTLED: LazyLock<Phrases> = LazyLock::new(|| LISTS.phrases("settled"));
static FINDING: LazyLock<Phrases> = LazyLock::new(|| LISTS.phrases("finding"));
static PROMISE: LazyLock<Matcher> = LazyLock::new(|| LISTS.matcher("promise"));
static OFFER: LazyLock<Matcher> = LazyLock::new(|| LISTS.matcher("offer"));
static COURTESY: LazyLock<Matcher> = LazyLock::new(|| LISTS.matcher("courtesy"));
static TALK_COURTESY: LazyLock<Regex> = LazyLock::new(|| pattern("dialogue, courtesy"));
static KINDNESS: LazyLock<Regex> = LazyLock::new(|| pattern("kindness"));
static TIMES: LazyLock<Regex> = LazyLock::new(|| pattern("times"));
static NUMBERS: LazyLock<Regex> = LazyLock::new(|| pattern("numbers"));
static NAMED: LazyLock<Regex> = LazyLock::new(|| pattern("named"));
pub(super) static IMPORT: LazyLock<Matcher> = LazyLock::new(|| LISTS.matcher("import"));
pub(super) static CODE_LINE: LazyLock<Matcher> = LazyLock::new(|| LISTS.matcher("code line"));

pub(super) static LISTS: Lists = Lists::new(include_str!("lists.txt"));

pub(super) fn is_plain_prose(text: &str) -> bool {
    is_prose(text) && !CODE_LINE.is_match(text)
}

/// Compiles a word list into a pattern with ASCII word boundaries, so that a word ends where
/// Chinese text begins.
pub(super) fn pattern(list: &str) -> Regex {
    regex(&with_ascii_boundaries(&LISTS.pattern(list)))
}

#[cfg(test)]
mod tests {
    use crate::ledger::Ledger;
    use ctx_format::{Message, Part, Role, Zone};

    use super::worths;

    /// Returns the worth of messages that alternate between the user and the model. The user writes
    /// first.
    fn of<'t>(texts: &[&'t str]) -> Vec<(&'t str, f64)> {
        let mut ledger = Ledger::default();
        for (line, text) in (1..).zip(texts) {
            let role = [Role::Assistant, Role::User][usize::from(line % 2 == 1)];
            let message = Message::new(role, vec![Part::Text((*text).into())]);
            ledger.push(line, &message, Zone::Old);
        }
        let hidden = vec![false; texts.len()];
        texts.iter().copied().zip(worths(&ledger.index, None, &hidden)).collect()
    }

    #[test]
    fn polite_words_and_promises_say_little() {
        let worths = of(&[
            "Hello there!",
            "The cause is a lock that is never freed.",
            "好的，谢谢！",
            "Let me look at the file first.",
            "Please repair the login.",
            "Done.",
        ]);
        let worth = |text: &str| {
            let found = worths.iter().find(|(of, _)| *of == text);
            found.expect("it was said").1
        };
        assert!(worth("Hello there!") < 0.1 && worth("好的，谢谢！") < 0.1);
        let (cause, promise) = (
            worth("The cause is a lock that is never freed."),
            worth("Let me look at the file first."),
        );
        assert!(promise < cause / 2.0, "{worths:?}");
        assert!(worth("Please repair the login.") > cause, "{worths:?}");
    }

    #[test]
    fn remarks_and_announcements_without_names_say_little() {
        let worths = of(&[
            "Please repair the login.",
            "This is complex.",
            "Go on.",
            "Let me run the tests.",
            "So?",
            "Let me look at src/login.rs next.",
        ]);
        assert!(worths[1].1 < 0.5 && worths[3].1 < worths[5].1 / 4.0, "{worths:?}");
    }

    #[test]
    fn a_reason_is_worth_more_than_other_words() {
        let worths = of(&[
            "We start today.",
            "Yes.",
            "It fails because of a row.",
            "Right.",
            "It is a table of rows.",
            "Well.",
            "It goes on.",
            "So.",
        ]);
        assert!(worths[2].1 > worths[4].1, "{worths:?}");
    }

    #[test]
    fn a_rule_is_worth_more_than_other_words() {
        let worths = of(&[
            "We start today.",
            "Yes.",
            "Never write to the table.",
            "Right.",
            "It is a table of rows.",
            "Well.",
            "It goes on.",
            "So.",
        ]);
        assert!(worths[2].1 > worths[4].1, "{worths:?}");
    }
}

#[cfg(test)]
mod talk_tests {
    use super::super::talk::Talk;
    use super::{POLITE, named, worths};
    use crate::ledger::fixtures::dialogue;

    /// Returns the statements of a dialogue with alternating speakers, each with its worth.
    fn of(texts: &[&str]) -> Vec<(String, f64)> {
        let ledger = dialogue(texts);
        let hidden = vec![false; ledger.index.segments.len()];
        let talk = Talk::of(&ledger, &hidden).expect("a dialogue");
        let found = worths(&ledger.index, Some(&talk), &hidden);
        talk.lines.iter().map(|line| line.text.to_owned()).zip(found).collect()
    }

    fn worth(talk: &[(String, f64)], text: &str) -> f64 {
        let found = talk.iter().find(|(of, _)| of == text);
        found.expect("it was said").1
    }

    #[test]
    fn names_and_days_are_worth_most() {
        let talk = of(&[
            "Ann: Hey Bo!",
            "Bo: I moved to Oslo last Tuesday.",
            "Ann: That's so cool!",
            "Bo: It is cold in there.",
            "Ann: You're so brave.",
            "Bo: Thanks, Ann!",
        ]);
        let moved = worth(&talk, "I moved to Oslo last Tuesday.");
        assert!(moved > worth(&talk, "It is cold in there."), "{talk:?}");
        for text in ["Hey Bo!", "Thanks, Ann!", "That's so cool!", "You're so brave."] {
            assert!((worth(&talk, text) - POLITE).abs() < 1e-9, "{text}");
        }
    }

    #[test]
    fn in_chinese_it_is_the_same() {
        let talk = of(&[
            "王芳：你好！",
            "李明：我上周搬到了广州，住在三楼。",
            "王芳：太好了，真替你高兴！",
            "李明：路上人很多。",
            "王芳：你真勇敢。",
            "李明：谢谢你！",
        ]);
        let moved = worth(&talk, "我上周搬到了广州，住在三楼。");
        assert!(moved > worth(&talk, "路上人很多。"));
        for text in ["你好！", "谢谢你！", "你真勇敢。"] {
            assert!((worth(&talk, text) - POLITE).abs() < 1e-9, "{text}");
        }
    }

    #[test]
    fn an_assistant_is_asked_and_answers() {
        let talk = of(&[
            "Where is a pharmacy?",
            "A pharmacy is in the street.",
            "I take the tram.",
            "The tram 7 goes there.",
            "That is good to hear.",
            "It goes often.",
        ]);
        let of = |text| worth(&talk, text);
        assert!(of("I take the tram.") > of("Where is a pharmacy?"), "{talk:?}");
        assert!(of("I take the tram.") > of("A pharmacy is in the street."), "{talk:?}");
        assert!(of("The tram 7 goes there.") > of("It goes often.") * 1.5, "{talk:?}");
    }

    #[test]
    fn names_are_known() {
        assert_eq!(named("We met Cosmo in Oslo, I think.", &["Ann".to_owned()]), 2);
        assert_eq!(named("I called Ann Lee's mother.", &["Ann Lee".to_owned()]), 0);
    }
}

#[cfg(test)]
mod patterns_tests {
    use super::CODE_LINE;

    #[test]
    fn lines_of_programs_are_no_words() {
        for line in [
            "from __future__ import annotations",
            "6  from __future__ import annotations",
            "30→    except (KeyError, ValueError) as error:",
            "for error, count in errors.most_common():",
            "return store",
        ] {
            assert!(CODE_LINE.is_match(line), "{line}");
        }
        for line in [
            "For each error there is a count:",
            "if it fails, look at the log",
            "24  def import_feed(store):",
            "5  NB-00422;C1;Northern Light",
        ] {
            assert!(!CODE_LINE.is_match(line), "{line}");
        }
    }
}
