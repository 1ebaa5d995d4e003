//! Estimates how useful each statement is to a reader who continues the dialogue. Names, dates, and
//! what speakers say about themselves count most, and polite remarks count little. A word counts
//! more if it occurs in fewer statements.

use std::sync::LazyLock;

use ctx_text::words_and_pairs;
use regex::Regex;

use super::super::segment_worth::pattern;
use super::super::terms::{WordLists, Words, is_wide, says_something};
use super::talk::{CHOICE, Statement, Talk, is_question};
use crate::ledger::{Origin, SegmentKind};

/// The minimum worth of a statement that may be chosen for its own sake, not only to explain
/// another statement.
pub(super) const LEAST: f64 = 0.2;
const COURTESY: f64 = 0.02;
/// The factors for friendly remarks without a name, number or time, and for those with one.
const KIND: (f64, f64) = (0.12, 0.5);
/// The maximum length of a friendly remark, in bytes. A longer statement contains more than a
/// friendly remark.
const LONGEST_KIND: usize = 90;
/// The factors for questions without a name, a number or a reference to the speaker, and for
/// questions with one. An unnamed user's questions to an assistant have higher factors, because
/// such questions are more informative.
const QUESTION: (f64, f64) = (0.35, 0.7);
const ASK: (f64, f64) = (0.5, 1.0);
/// A question loses worth if the next message repeats at least this percentage of its words.
const REPEATED: usize = 40;
const ANSWERED: f64 = 0.4;
/// The factors for a statement about the speaker, and for a statement about the other person.
const SELF: f64 = 1.4;
const OTHER: f64 = 0.45;
/// The increase in worth per name or number, the maximum number of names and numbers that count,
/// and the factor for a statement that contains a time.
const NAMED: f64 = 0.35;
const MOST_NAMED: usize = 3;
const WHEN: f64 = 1.25;
/// The factors for all statements by an unnamed user, for those in the first message, and for
/// wishes, exclusions and choices.
const HELPED: f64 = 1.4;
const FIRST: f64 = 1.3;
const WANTED: f64 = 1.5;
/// The factor for an assistant's statement that contains a number, because the user probably asked
/// for it.
const GIVEN: f64 = 1.6;
/// The factors for a model's text in an earlier summary, and for quoted text.
const EARLIER: f64 = 0.6;
const QUOTED: f64 = 0.3;

/// Returns the worth of each statement in a dialogue.
pub(super) fn worths(talk: &Talk<'_>, words: &Words) -> Vec<f64> {
    let all = talk.statements.iter().enumerate();
    all.map(|(at, statement)| {
        let mut worth = worth(talk, statement);
        if is_question(statement.text) {
            let next = talk.said.get(statement.said + 1).map(|next| next.statements.clone());
            let next: Vec<usize> = next.unwrap_or_default().collect();
            let (shared, count) = (words.shared(at, &next), words.count(at));
            if count > 0 && shared * 100 >= count * REPEATED {
                worth *= ANSWERED;
            }
        }
        worth
    })
    .collect()
}

fn worth(talk: &Talk<'_>, statement: &Statement<'_>) -> f64 {
    let said = &talk.said[statement.said];
    let base = match (said.origin, statement.kind) {
        _ if !statement.is_open => return 0.0,
        (_, SegmentKind::Heading) => return 0.0,
        (Origin::Earlier, _) => EARLIER,
        (Origin::Pasted, _) | (_, SegmentKind::Quoted) if said.name.is_none() => QUOTED,
        _ => 1.0,
    };
    let text = statement.text;
    if is_courtesy(text, &talk.names) {
        return COURTESY;
    }
    let named = names(text, &talk.names) + NUMBERS.find_iter(text).take(MOST_NAMED).count();
    let named = u8::try_from(named.min(MOST_NAMED)).unwrap_or(0);
    let has_time = TIMES.is_match(text);
    let of_self = ONESELF.is_match(text);
    let asks_for_help = said.name.is_none() && said.origin == Origin::User;
    let mut worth = base;
    if text.len() <= LONGEST_KIND && KINDNESS.is_match(text) {
        let (alone, with) = KIND;
        worth *= if named > 0 || has_time { with } else { alone };
    }
    if is_question(text) {
        let (alone, with) = if asks_for_help { ASK } else { QUESTION };
        worth *= if of_self || named > 0 { with } else { alone };
    } else if of_self {
        worth *= SELF;
    } else if THE_OTHER.is_match(text) && (said.name.is_some() || named == 0) {
        worth *= OTHER;
    }
    worth *= 1.0 + NAMED * f64::from(named);
    if has_time {
        worth *= WHEN;
    }
    worth * of_help(talk, statement)
}

/// Returns the factor for a statement by an unnamed speaker, in a dialogue between a user and an
/// assistant.
fn of_help(talk: &Talk<'_>, statement: &Statement<'_>) -> f64 {
    let said = &talk.said[statement.said];
    let text = statement.text;
    let is_ask = said.origin == Origin::User;
    match said.name {
        Some(_) => 1.0,
        None if !is_ask && text.contains(|c: char| c.is_ascii_digit()) => GIVEN,
        None if !is_ask => 1.0,
        None => {
            let first = if statement.said == 0 { FIRST } else { 1.0 };
            let wanted = if WANTS.is_match(text) || CHOICE.is_match(text) { WANTED } else { 1.0 };
            HELPED * first * wanted
        }
    }
}

/// Returns true if `text` is only a greeting, thanks or agreement, with or without a speaker's
/// name.
fn is_courtesy(text: &str, names: &[&str]) -> bool {
    if COURTESIES.is_match(text) {
        return true;
    }
    let mut bare = text.to_owned();
    for name in names {
        // A person whose name has several words may be addressed by the first of them.
        for part in [name, name.split(' ').next().unwrap_or(name)] {
            bare = bare.replace(part, "");
        }
    }
    bare.len() < text.len() && COURTESIES.is_match(bare.trim_start_matches([' ', ',', '，']))
}

/// Counts the names in `text` other than the speakers' names. A name is a word that is capitalized
/// although it does not begin a sentence.
fn names(text: &str, speakers: &[&str]) -> usize {
    if text.starts_with(is_wide) {
        return 0;
    }
    let is_name = |word: &&str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        let word = word.strip_suffix("'s").or(word.strip_suffix("’s")).unwrap_or(word);
        let mut chars = word.chars();
        chars.next().is_some_and(char::is_uppercase)
            && chars.next().is_some_and(char::is_alphabetic)
            && !speakers.iter().any(|name| name.split(' ').any(|part| part == word))
    };
    let words = text.split_whitespace().skip(1);
    words.filter(is_name).take(MOST_NAMED).count()
}

static COURTESIES: LazyLock<Regex> = LazyLock::new(|| pattern("dialogue, courtesy"));
static KINDNESS: LazyLock<Regex> = LazyLock::new(|| pattern("kindness"));
static ONESELF: LazyLock<Regex> = LazyLock::new(|| pattern("oneself"));
static THE_OTHER: LazyLock<Regex> = LazyLock::new(|| pattern("the other"));
static TIMES: LazyLock<Regex> = LazyLock::new(|| pattern("times"));
static NUMBERS: LazyLock<Regex> = LazyLock::new(|| pattern("numbers"));
static WANTS: LazyLock<Regex> = LazyLock::new(|| pattern("wants"));

/// The factors for a word that occurs in no chosen statement, in one, or in several.
const AGAIN: [f64; 3] = [1.0, 0.4, 0.2];

impl Words {
    /// Collects the words in the given statements. The flag in each pair says whether the statement
    /// may be chosen.
    pub(super) fn of<'t>(texts: impl Iterator<Item = (&'t str, bool)>) -> Self {
        let (mut lists, mut open) = (WordLists::default(), Vec::new());
        for (text, is_open) in texts {
            lists.add(|found| for_each(text, found));
            open.push(is_open);
        }
        let all: u32 = open.iter().map(|is_open| u32::from(*is_open)).sum();
        let counts = lists.counts(|statement| open[statement]);
        let rare = |count: &u32| {
            (1.0 + f64::from(all) / f64::from((*count).max(1))).ln() / f64::from(all + 2).ln()
        };
        Self::new(lists, counts.iter().map(rare).collect(), AGAIN)
    }
}

/// Calls `found` for each word in `text`. In Chinese and similar scripts, each pair of adjacent
/// characters counts as a word.
fn for_each(text: &str, found: &mut dyn FnMut(&str)) {
    let text: String = text.chars().flat_map(char::to_lowercase).collect();
    for word in words_and_pairs(&text, is_wide).map(|word| &text[word]) {
        if says_something(word) {
            found(word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::ledger;
    use super::super::talk::Talk;
    use super::{COURTESY, Words, is_question, names, worths};

    /// Returns the statements of a dialogue with alternating speakers, each with its worth.
    fn of(texts: &[&str]) -> Vec<(String, f64)> {
        let ledger = ledger(texts);
        let talk = Talk::of(&ledger.index);
        let statements = || talk.statements.iter().map(|one| one.text);
        let words = Words::of(statements().map(|text| (text, true)));
        let found = worths(&talk, &words);
        statements().map(str::to_owned).zip(found).collect()
    }

    fn worth(talk: &[(String, f64)], text: &str) -> f64 {
        let found = talk.iter().find(|(of, _)| of == text);
        found.expect("it was said").1
    }

    #[test]
    fn what_people_say_of_themselves_is_worth_most() {
        let talk = of(&[
            "Ann: Hey Bo!",
            "Bo: I moved to Oslo last Tuesday.",
            "Ann: That's so cool!",
            "Bo: It is cold in there.",
            "Ann: You must be very brave.",
            "Bo: Thanks, Ann!",
        ]);
        let moved = worth(&talk, "I moved to Oslo last Tuesday.");
        let cold = worth(&talk, "It is cold in there.");
        let brave = worth(&talk, "You must be very brave.");
        let cool = worth(&talk, "That's so cool!");
        assert!(moved > cold && cold > brave && brave > cool, "{talk:?}");
        for text in ["Hey Bo!", "Thanks, Ann!"] {
            assert!((worth(&talk, text) - COURTESY).abs() < 1e-9, "{text}");
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
        assert!(worth(&talk, "路上人很多。") > worth(&talk, "你真勇敢。"));
        for text in ["你好！", "谢谢你！"] {
            assert!((worth(&talk, text) - COURTESY).abs() < 1e-9, "{text}");
        }
    }

    #[test]
    fn a_question_is_worth_little_where_its_answer_repeats_it() {
        let talk = of(&[
            "Where is the nearest open pharmacy?",
            "The nearest open pharmacy is in Main Street.",
            "Where can the parcel be collected?",
            "In Main Street.",
        ]);
        let repeated = worth(&talk, "Where is the nearest open pharmacy?");
        let needed = worth(&talk, "Where can the parcel be collected?");
        assert!(repeated < needed * 0.6, "{talk:?}");
    }

    #[test]
    fn what_is_wanted_and_ruled_out_is_worth_more() {
        let talk = of(&[
            "A hotel in Main Street.",
            "There is one.",
            "It must have a gym.",
            "It has one.",
            "The room has a window.",
            "It does.",
        ]);
        let (wanted, other) =
            (worth(&talk, "It must have a gym."), worth(&talk, "The room has a window."));
        assert!(wanted > other, "{talk:?}");
        assert!(other > worth(&talk, "It has one."), "{talk:?}");
    }

    #[test]
    fn questions_and_names_are_known() {
        for text in ["Is it?", "真的吗？", "你去哪儿呢。", "\"Why?\""] {
            assert!(is_question(text), "{text}");
        }
        assert!(!is_question("He asked why? I do not know."));
        assert_eq!(names("We met Cosmo in Oslo, I think.", &["Ann"]), 2);
        assert_eq!(names("I called Ann Lee's mother.", &["Ann Lee"]), 0);
    }
}

#[cfg(test)]
mod words_tests {
    use std::collections::HashSet;

    use super::{Words, for_each};

    fn words(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        for_each(text, &mut |word| found.push(word.to_owned()));
        found
    }

    #[test]
    fn words_are_words_and_pairs_of_characters() {
        assert_eq!(words("I went to Oslo, 2019!"), ["went", "oslo", "2019"]);
        assert_eq!(words("我搬到Oslo了"), ["我搬", "搬到", "oslo"]);
        assert_eq!(words(""), [""; 0]);
    }

    #[test]
    fn what_was_told_is_worth_less_and_what_is_rare_more() {
        let texts = ["tea tonight", "tea again", "tea later", "salmon later"];
        let mut words = Words::of(texts.into_iter().map(|text| (text, true)));
        let news = |words: &Words, at| words.news_beside(at, &mut HashSet::new());
        assert!(news(&words, 0) > news(&words, 2));
        let before = news(&words, 0);
        words.tell(1);
        assert!(news(&words, 0) < before);
        // A word that is repeated in the same chain counts only once.
        let mut others = HashSet::new();
        words.news_beside(3, &mut others);
        assert!(words.news_beside(2, &mut others) < news(&words, 2));
        assert_eq!((words.shared(0, &[1, 2]), words.count(0)), (1, 2));
    }
}
