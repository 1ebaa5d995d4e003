//! Chooses the statements in a dialogue that contain the most information for their length.
//! Choosing a statement also chooses the other informative statements in its message, and the
//! earlier statements that are needed to understand it.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::ledger::Origin;
use ctx_tokens::TokenCounter;
use regex::Regex;

use super::super::greedy::{Candidate, Greedy, Judge};
use super::super::page::PER_LINE;
use super::super::segment_worth::pattern;
use super::super::terms::{Words, is_wide};
use super::statement_worth::{LEAST, worths};
use super::talk::{CHOICE, Statement, Talk, is_question};

/// The part of a statement's worth that does not depend on how many of its words are new.
const ALONE: f64 = 0.1;
/// If a statement is chosen, so is every other statement in the message whose worth exceeds this
/// share of the chosen statement's worth.
const BESIDE: f64 = 0.5;
/// If a message is longer than this, in tokens, its statements are chosen individually.
const LONGEST: u64 = 120;
/// The factor for a statement from an earlier message that is chosen only to explain a later
/// statement.
const NEEDED: f64 = 0.6;
/// The maximum number of statements that are chosen only to explain another statement.
const MOST_NEEDED: usize = 4;
/// The factor for an offer from which the user chose an option.
const OFFERED: f64 = 0.5;
/// The minimum number of words that the user's choice must share with the offer.
const LEAST_SHARED: usize = 2;
/// The number of tokens that each message takes up in addition to its name and text.
const PER_MESSAGE: u64 = 2;

/// Judges statements by how many of their words do not occur in any chosen statement.
pub(super) struct Chooser<'t> {
    talk: &'t Talk<'t>,
    words: Words,
    worths: Vec<f64>,
    needs: Vec<Option<usize>>,
    /// For each message, the number of tokens in the name before its text.
    names: Vec<u64>,
    /// For each message, the number of tokens in its statements that are worth choosing.
    lengths: Vec<u64>,
    /// For each message, the index of its best statement.
    best: Vec<Option<usize>>,
    /// The number of chosen statements in each message.
    open: Vec<usize>,
    /// For each message that offers options, the statement in the user's next message that chooses
    /// one of them, if any. The list has one extra entry at the end.
    choices: Vec<Option<usize>>,
}

impl<'t> Chooser<'t> {
    pub(super) fn greedy(talk: &'t Talk<'t>, counter: &dyn TokenCounter) -> Greedy<Self> {
        let statements = &talk.statements;
        let words = Words::of(statements.iter().map(|one| (one.text, one.is_open)));
        let mut worths = worths(talk, &words);
        let choices = choices(talk, &words);
        for (said, _) in talk.said.iter().zip(&choices).filter(|(_, it)| it.is_some()) {
            let offers = said.statements.clone();
            offers.for_each(|at| worths[at] *= OFFERED);
        }
        let candidates: Vec<bool> = worths.iter().map(|worth| *worth > LEAST).collect();
        let count = |text: &str| counter.count(text) + PER_LINE;
        let tokens: Vec<u64> = statements.iter().map(|one| count(one.text)).collect();
        let names = talk.said.iter().map(|said| said.name.map_or(0, count));
        let (mut lengths, mut best) = (Vec::new(), Vec::new());
        for said in &talk.said {
            let worth_telling = said.statements.clone().filter(|at| candidates[*at]);
            lengths.push(worth_telling.clone().map(|at| tokens[at]).sum());
            best.push(worth_telling.max_by(|a, b| worths[*a].total_cmp(&worths[*b])));
        }
        let chooser = Self {
            best,
            names: names.collect(),
            lengths,
            open: vec![0; talk.said.len()],
            choices,
            needs: needs(talk, &words),
            talk,
            words,
            worths,
        };
        Greedy::new(chooser, tokens, vec![false; candidates.len()], &candidates)
    }

    /// For each question in the chain, adds the answer to the chain, because a question is useless
    /// without its answer. If the next message offers options, the answer is the user's choice
    /// among them. Otherwise, the answer is the best statement in the next message.
    fn add_answers(&self, chain: &mut Vec<usize>, told: &[bool]) {
        for at in 0..chain.len() {
            let question = &self.talk.statements[chain[at]];
            if !is_question(question.text) {
                continue;
            }
            let choice = self.choices[question.said + 1];
            let answer = choice.or_else(|| self.best.get(question.said + 1).copied().flatten());
            chain.extend(answer.filter(|answer| !told[*answer] && !chain.contains(answer)));
        }
    }
}

/// For each message that offers options, finds the statement in the user's next message that
/// chooses one of them, if any. The list has one extra entry at the end.
fn choices(talk: &Talk<'_>, words: &Words) -> Vec<Option<usize>> {
    let of = |said: usize| {
        let offer: Vec<usize> = talk.said.get(said)?.statements.clone().collect();
        let next = talk.said.get(said + 1).filter(|next| next.origin == Origin::User)?;
        let chooses = |at: &usize| {
            let text = talk.statements[*at].text;
            CHOICE.is_match(text) && !is_question(text) && words.shared(*at, &offer) >= LEAST_SHARED
        };
        next.statements.clone().find(chooses)
    };
    (0..=talk.said.len()).map(of).collect()
}

impl Judge for Chooser<'_> {
    const SPARE: u64 = PER_LINE + PER_MESSAGE;

    fn chain(&self, number: usize, told: &[bool], chain: &mut Vec<usize>) {
        chain.clear();
        chain.push(number);
        let said = self.talk.statements[number].said;
        if self.lengths[said] <= LONGEST {
            let least = LEAST.max(BESIDE * self.worths[number]);
            let is_beside = |at: &usize| *at != number && !told[*at] && self.worths[*at] > least;
            chain.extend(self.talk.said[said].statements.clone().filter(is_beside));
        }
        self.add_answers(chain, told);
        let own = chain.len();
        let mut at = 0;
        while at < chain.len() && chain.len() < own + MOST_NEEDED {
            let need = self.needs[chain[at]].filter(|need| !told[*need]);
            let is_open = |need: &usize| self.talk.statements[*need].is_open;
            chain.extend(need.filter(|need| is_open(need) && !chain.contains(need)));
            at += 1;
        }
    }

    fn candidate(&self, chain: &[usize], mut tokens: u64) -> Option<Candidate> {
        let number = *chain.first()?;
        let (mut worth, mut words) = (0.0, HashSet::new());
        let mut messages: Vec<usize> = Vec::new();
        let own = self.talk.statements[number].said;
        for at in chain {
            let said = self.talk.statements[*at].said;
            if self.open[said] == 0 && !messages.contains(&said) {
                messages.push(said);
                tokens += PER_MESSAGE + self.names[said];
            }
            // Statements from earlier messages are included only to explain this statement.
            let share = if said < own { NEEDED } else { 1.0 };
            worth += share * self.worths[*at] * (ALONE + self.words.news_beside(*at, &mut words));
        }
        let gain = worth / tokens.max(1) as f64;
        Some(Candidate::new(gain, number, tokens))
    }

    fn take(&mut self, chain: &[usize], _tokens: &[u64]) {
        for number in chain {
            self.open[self.talk.statements[*number].said] += 1;
            self.words.tell(*number);
        }
    }

    fn give_back(&mut self, number: usize) {
        self.open[self.talk.statements[number].said] -= 1;
    }
}

/// An answer with at most this many words is not clear without its question. The second number is
/// for Chinese, where pairs of characters are counted.
const SHORT: (usize, usize) = (4, 8);

static REFERS: LazyLock<Regex> = LazyLock::new(|| pattern("refers"));
static ANSWERS: LazyLock<Regex> = LazyLock::new(|| pattern("answer"));

/// Finds, for each statement, the statement needed to understand it, such as the preceding
/// statement or the question it answers.
fn needs(talk: &Talk<'_>, words: &Words) -> Vec<Option<usize>> {
    let all = talk.statements.iter().enumerate();
    all.map(|(at, statement)| {
        statement.head.or_else(|| {
            let first = talk.said[statement.said].statements.start;
            if at > first {
                return REFERS.is_match(statement.text).then_some(at - 1);
            }
            let is_wide = statement.text.contains(is_wide);
            let (words_of_it, pairs) = SHORT;
            let most = if is_wide { pairs } else { words_of_it };
            let is_short = words.count(at) <= most;
            let question = || asked_before(talk, statement);
            (is_short || ANSWERS.is_match(statement.text)).then(question).flatten()
        })
    })
    .collect()
}

/// Returns the last question in the message before the message that contains `statement`.
fn asked_before(talk: &Talk<'_>, statement: &Statement<'_>) -> Option<usize> {
    let before = talk.said.get(statement.said.checked_sub(1)?)?;
    let mut numbers = before.statements.clone().rev();
    numbers.find(|number| is_question(talk.statements[*number].text))
}

#[cfg(test)]
mod tests {
    use ctx_tokens::Encoding;

    use super::super::fixtures::ledger;
    use super::super::talk::Talk;
    use super::Chooser;

    const TALK: [&str; 6] = [
        "Ann: Hey Bo! I moved to Oslo last May, and my brother Cosmo came along.",
        "Bo: Wow! That's so cool. When did you find the flat in Harbour Street?",
        "Ann: In June.",
        "Bo: I see.",
        "Ann: How about you?",
        "Bo: I bought a boat. It cost 900 euros.",
    ];

    /// Chooses statements that fit into `room` tokens, drops statements to free `dropped` tokens,
    /// and returns the remaining ones in order.
    fn told(room: u64, dropped: u64) -> Vec<String> {
        let ledger = ledger(&TALK);
        let talk = Talk::of(&ledger.index);
        let mut chooser = Chooser::greedy(&talk, Encoding::Chars4.counter());
        chooser.more(room);
        chooser.drop_last(dropped);
        let all = talk.statements.iter().zip(&chooser.chosen);
        let told = all.filter(|(_, told)| **told);
        told.map(|(one, _)| one.text.to_owned()).collect()
    }

    #[test]
    fn the_best_is_told_first_and_courtesies_never() {
        let few = told(30, 0);
        assert!(few[0].starts_with("I moved to Oslo"), "{few:?}");
        let all = told(1_000, 0);
        for text in ["Hey Bo!", "Wow!", "That's so cool.", "I see."] {
            assert!(!all.contains(&text.to_owned()), "{all:?}");
        }
        assert!(all.contains(&"In June.".to_owned()), "{all:?}");
        assert_eq!(told(0, 0), [""; 0]);
    }

    #[test]
    fn a_short_answer_comes_with_its_question() {
        for room in 0..120 {
            let told = told(room, 0);
            let has = |text: &str| told.iter().any(|one| one.starts_with(text));
            assert!(has("When did you find") || !has("In June."), "{told:?}");
            assert!(has("I bought a boat.") || !has("It cost"), "{told:?}");
        }
    }

    #[test]
    fn a_question_comes_with_its_answer() {
        let talk = [
            "Where can I get a parcel that the postman took back on Tuesday?",
            "At the branch.",
            "Good.",
            "Right.",
        ];
        let ledger = ledger(&talk);
        let talk = Talk::of(&ledger.index);
        let mut chooser = Chooser::greedy(&talk, Encoding::Chars4.counter());
        chooser.more(30);
        assert_eq!(chooser.chosen, [true, true, false, false]);
    }

    #[test]
    fn what_is_chosen_is_told_before_what_was_offered() {
        let talk = [
            "附近有什么安静一点的餐馆？",
            "有红灯笼饭庄、老码头面馆和西街小厨，都不错。",
            "那我去老码头面馆吧，它家电话是多少？",
            "电话是84273030。",
            "好的。",
            "不客气。",
        ];
        let ledger = ledger(&talk);
        let talk = Talk::of(&ledger.index);
        let mut chooser = Chooser::greedy(&talk, Encoding::default().counter());
        chooser.more(50);
        let all = talk.statements.iter().zip(&chooser.chosen);
        let told: Vec<&str> = all.filter(|(_, told)| **told).map(|(one, _)| one.text).collect();
        assert!(told.contains(&"那我去老码头面馆吧，"), "{told:?}");
        assert!(told.contains(&"电话是84273030。"), "{told:?}");
        assert!(!told.iter().any(|text| text.contains("西街小厨")), "{told:?}");
    }

    #[test]
    fn the_last_ones_are_given_back_first() {
        let (all, fewer) = (told(1_000, 0), told(1_000, 1));
        assert_eq!(fewer.len() + 1, all.len());
        assert_eq!(told(1_000, 10_000), [""; 0]);
    }
}

#[cfg(test)]
mod needs_tests {
    use super::super::fixtures::ledger;
    use super::{Talk, Words, needs};

    fn of(texts: &[&str]) -> Vec<Option<usize>> {
        let ledger = ledger(texts);
        let talk = Talk::of(&ledger.index);
        let statements = talk.statements.iter();
        let words = Words::of(statements.map(|one| (one.text, true)));
        needs(&talk, &words)
    }

    #[test]
    fn what_refers_to_something_needs_it() {
        assert_eq!(
            of(&["I bought a boat. It is blue. The sails are from my uncle in Genoa."]),
            [None, Some(0), None]
        );
        assert_eq!(of(&["我买了一条船。它是蓝色的。"]), [None, Some(0)]);
        // If a dialogue has only one statement, that statement does not need any other.
        assert_eq!(of(&["It is blue."]), [None]);
    }

    #[test]
    fn a_short_answer_needs_its_question() {
        assert_eq!(of(&["I am tired. When do you leave?", "In May."]), [None, None, Some(1)]);
        assert_eq!(
            of(&[
                "When do you leave?",
                "Our boat leaves Genoa in May, together with the whole choir."
            ]),
            [None, None]
        );
        assert_eq!(of(&["电话是多少？", "84273030。"]), [None, Some(0)]);
        assert_eq!(of(&["I leave.", "In May."]), [None, None]);
    }
}
