//! Finds statements of the model that were later found to be wrong, such as a first guess at a
//! cause. A summary that quotes such a statement says so.

use std::collections::{HashSet, VecDeque};
use std::sync::LazyLock;

use ctx_text::{Matcher, Phrases, WordSet, words_and_pairs};

use super::segment_worth::LISTS;
use super::terms::is_wide;
use crate::ledger::form::REFUTED;
use crate::ledger::{Index, Origin, Segment};

/// The number of preceding statements in which a refutation looks for what it refutes, and the same
/// for a refutation without a name, such as "I was wrong".
const LOOKED_BACK: usize = 80;
const LOOKED_BACK_UNNAMED: usize = 12;
/// The maximum length of a refuted statement, in bytes.
const LONGEST: usize = 400;
/// The minimum length of a word by which a refutation names what it refutes, in bytes. An acronym
/// may be shorter.
const LEAST_WORD: usize = 4;
/// The minimum number of words, and the minimum percentage of its words, that a statement shares
/// with its refutation, unless it is a guess or a finding.
const LEAST_SHARED: usize = 2;
const LEAST_SHARE: usize = 40;
/// How many shared words it is worth if a statement is a guess or a finding.
const CLAIM: f64 = 1.5;

static HINTS: LazyLock<Phrases> = LazyLock::new(|| LISTS.phrases("refutations, hints"));
static REFUTES: LazyLock<Matcher> = LazyLock::new(|| LISTS.matcher("refutes"));
static REFUTES_THAT: LazyLock<Matcher> = LazyLock::new(|| LISTS.matcher("refutes that"));
static SETTLES: LazyLock<Matcher> = LazyLock::new(|| LISTS.matcher("settles"));
static TAKES_BACK: LazyLock<Matcher> = LazyLock::new(|| LISTS.matcher("takes back, unnamed"));
static CLAIMS: LazyLock<Matcher> = LazyLock::new(|| LISTS.matcher("claims"));
static CAUSES: LazyLock<Matcher> = LazyLock::new(|| LISTS.matcher("causes"));
static PLANS: LazyLock<Matcher> = LazyLock::new(|| LISTS.matcher("plans"));
static COMMON: LazyLock<WordSet> = LazyLock::new(|| LISTS.words("common in claims"));

/// Returns the indexes of the segments that a later statement refutes.
pub(super) fn refuted(index: &Index) -> HashSet<usize> {
    let is_said = |segment: &Segment| {
        segment.kind.is_said() && matches!(segment.origin, Origin::Said | Origin::User)
    };
    let all = (0..index.segments.len()).filter(|number| is_said(&index.segments[*number]));
    let mut all = all.peekable();
    let mut refuted = HashSet::new();
    let mut before: VecDeque<usize> = VecDeque::new();
    while let Some(number) = all.next() {
        let text = index.text(&index.segments[number]);
        let refutation = Refutation::of(text);
        if let Some(refutation) = refutation {
            let mut words = words(text);
            // "That was wrong" says in the next statement what was wrong.
            if let (Refutation::That, Some(next)) = (refutation, all.peek()) {
                words.extend(self::words(index.text(&index.segments[*next])));
            }
            let turn = index.segments[number].turn;
            refuted.extend(refutation.target(index, &before, &refuted, turn, &words));
        } else if index.segments[number].origin == Origin::Said {
            before.push_back(number);
            if before.len() > LOOKED_BACK {
                before.pop_front();
            }
        }
    }
    refuted
}

/// How a statement refutes an earlier one.
#[derive(Clone, Copy)]
enum Refutation {
    /// The statement says that something was wrong, or was not the cause.
    Named,
    /// The statement says that the preceding one was wrong, as in "That was wrong".
    That,
    /// The statement only says that no statement before it was right.
    Unnamed,
    /// The statement names the real cause in place of another.
    Settled,
}

impl Refutation {
    fn of(text: &str) -> Option<Self> {
        // Most statements refute nothing, and in a short session no pattern is compiled.
        if !HINTS.occur_in(text) {
            None
        } else if REFUTES_THAT.is_match(text) {
            Some(Self::That)
        } else if TAKES_BACK.is_match(text) {
            Some(Self::Unnamed)
        } else if REFUTES.is_match(text) {
            Some(Self::Named)
        } else {
            SETTLES.is_match(text).then_some(Self::Settled)
        }
    }

    /// Finds the statement that is refuted. `before` holds the statements to consider, and `words`
    /// the words of the refutation.
    fn target(
        self,
        index: &Index,
        before: &VecDeque<usize>,
        refuted: &HashSet<usize>,
        turn: u32,
        words: &HashSet<String>,
    ) -> Option<usize> {
        let mut best = None;
        let mut latest_claim = None;
        for number in before.iter().filter(|number| !refuted.contains(number)) {
            let text = index.text(&index.segments[*number]);
            if text.len() > LONGEST || text.contains(REFUTED) || PLANS.is_match(text) {
                continue;
            }
            let own = self::words(text);
            let is_claim = CLAIMS.is_match(text);
            if is_claim && !own.is_empty() {
                latest_claim = Some(*number);
            }
            let shared = own.intersection(words).count();
            let is_meant = match self {
                Self::Settled => {
                    shared > 0 && index.segments[*number].turn == turn && CAUSES.is_match(text)
                }
                _ if is_claim => shared > 0,
                _ => shared >= LEAST_SHARED && shared * 100 >= own.len() * LEAST_SHARE,
            };
            let worth = shared as f64 + if is_claim { CLAIM } else { 0.0 };
            if is_meant && best.is_none_or(|(known, _)| worth >= known) {
                best = Some((worth, *number));
            }
        }
        let is_unnamed = matches!(self, Self::That | Self::Unnamed);
        let near = before.len().checked_sub(LOOKED_BACK_UNNAMED).map_or(0, |at| before[at]);
        let latest = latest_claim.filter(|claim| is_unnamed && *claim >= near);
        best.map(|(_, number)| number).or(latest)
    }
}

/// Returns the words that say what a statement is about, in lower case.
fn words(text: &str) -> HashSet<String> {
    let words = words_and_pairs(text, is_wide).map(|word| &text[word]);
    let is_acronym = |word: &str| word.len() == 3 && word.bytes().all(|b| b.is_ascii_uppercase());
    let says = |word: &&str| word.len() >= LEAST_WORD || is_acronym(word);
    words.filter(says).map(str::to_lowercase).filter(|word| !COMMON.contains(word)).collect()
}

#[cfg(test)]
mod tests {
    use ctx_format::{Role, Zone};
    use ctx_testkit::texts_of;

    use super::{HINTS, REFUTES, REFUTES_THAT, SETTLES, TAKES_BACK, refuted};
    use crate::ledger::Ledger;
    use crate::ledger::fixtures::says;

    /// Returns the refuted statements of a model that makes these statements.
    fn of<'t>(texts: &[&'t str]) -> Vec<&'t str> {
        let mut ledger = Ledger::default();
        for (line, text) in (1..).zip(texts) {
            ledger.push(line, &says(Role::Assistant, text), Zone::Old);
        }
        let refuted = refuted(&ledger.index);
        let segments = ledger.index.segments.iter().enumerate();
        let found = segments.filter(|(number, _)| refuted.contains(number));
        let lines: Vec<u64> = found.map(|(_, segment)| segment.line).collect();
        (1..).zip(texts).filter(|(line, _)| lines.contains(line)).map(|(_, text)| *text).collect()
    }

    #[test]
    fn a_guess_that_was_wrong_is_found() {
        for (guess, refutation) in [
            ("The cause is probably the cache in store.rs.", "The cache is not the cause."),
            ("I think the problem is a stale lock.", "I was wrong: no lock is held there."),
            ("This is likely a DNS issue.", "The DNS theory did not hold up."),
            ("The timeout is probably too short.", "So the timeout was not the problem."),
            ("The failure is caused by the proxy.", "The proxy is ruled out, it sees no call."),
            ("The limit is 100 requests a minute.", "Correction: the limit is 600 requests."),
            ("The migration deletes the audit rows.", "I misread the migration and its rows."),
            ("The queue loses the oldest jobs.", "That was wrong. The queue keeps its jobs."),
            ("The build hangs since the pool is full.", "It is not the pool after all."),
            ("The issue is the slow disk.", "The real issue is the lock, not the disk."),
            ("原因应该是缓存过期。", "缓存不是原因，问题在锁。"),
            ("我怀疑是连接池太小。", "之前关于连接池的判断错了。"),
        ] {
            assert_eq!(of(&[guess, "I look at the code.", refutation]), [guess], "{refutation}");
        }
    }

    #[test]
    fn every_refutation_has_a_hint() {
        for matcher in [&REFUTES, &REFUTES_THAT, &TAKES_BACK, &SETTLES] {
            let without = texts_of(matcher.pattern())
                .find(|text| matcher.is_match(text) && !HINTS.occur_in(text));
            assert_eq!(without, None);
        }
    }

    #[test]
    fn what_nobody_refutes_stands() {
        for texts in [
            ["The cause is the cache in store.rs.", "Tests are green.", "The lock is not held."],
            ["The cause is the cache.", "It was wrong of the spec to say so.", "Done."],
            ["The file has ten rows.", "The tables are wrong.", "It has nine columns."],
            ["The cause is the cache.", "The proxy is not the cause.", "It is old."],
            ["The cause is the cache.", "My guess was right.", "The cache is the real one."],
        ] {
            assert!(of(&texts).is_empty(), "{texts:?}");
        }
    }
}
