//! What a statement needs to be understood: the one before it, or the question that it answers.

use std::sync::LazyLock;

use regex::Regex;

use super::super::terms::is_wide;
use super::super::worth::pattern;
use super::talk::{Statement, Talk};
use super::words::Words;
use super::worth::is_question;

/// An answer of this many words says too little without its question; in Chinese two characters are
/// a word.
const SHORT: (usize, usize) = (4, 8);

/// The beginning of a statement that refers to what was said before.
static REFERS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:(?:and|but|so) )?(?:it|it['’]s|that|that['’]s|this|these|those|they|they['’]re|he|he['’]s|she|she['’]s|the one|one|which|there)\b|^(?:他|她|它|这|那|其中|所以|但是|不过|而且)",
    )
});
/// How an answer begins that needs its question.
static ANSWERS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)^(?:yes|yeah|yep|no|nope|sure|just|because|about)\b"));

/// For each statement the one that it needs.
pub(super) fn needs(talk: &Talk<'_>, words: &Words) -> Vec<Option<usize>> {
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

/// The last question of the message before.
fn asked_before(talk: &Talk<'_>, statement: &Statement<'_>) -> Option<usize> {
    let before = talk.said.get(statement.said.checked_sub(1)?)?;
    let mut numbers = before.statements.clone().rev();
    numbers.find(|number| is_question(talk.statements[*number].text))
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::ledger;
    use super::super::talk::Talk;
    use super::super::words::Words;
    use super::needs;

    fn of(texts: &[&str]) -> Vec<Option<usize>> {
        let ledger = ledger(texts);
        let talk = Talk::of(ledger.index());
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
        // Nothing precedes it.
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
