//! The worth of a segment for somebody who must continue the work: by speaker, wording and
//! position.

use crate::ledger::{Index, Kind, Origin, Segment};
use ctx_text::is_prose;

use super::patterns::{CODE_LINE, COURTESY, FINDING, NAMED, OFFER, PROMISE, RULE, SETTLED, WHY};

/// What an earlier summary says is repeated unless something later says more.
const EARLIER: f64 = 0.35;

/// An earlier summary had room only for the best of a long past: its requests and statements come
/// before new ones.
const ASKED_BEFORE: f64 = 2.0;
const SAID_BEFORE: f64 = 1.5;
/// So many statements of a request say what it is about.
const FIRST_WORDS: u32 = 3;

/// Polite words say nothing.
const POLITE: f64 = 0.0;

/// The worth of each segment, 0 for what is only worth the names in it.
pub(super) fn worths(index: &Index) -> Vec<f64> {
    let segments = index.segments();
    let places = Places::of(segments);
    let worth = |(number, segment): (usize, &Segment)| {
        let text = index.text(segment);
        let again = |worth| if segment.is_earlier { worth } else { 1.0 };
        match segment.origin {
            _ if segment.is_covered => 0.0,
            Origin::User => again(ASKED_BEFORE) * places.asked(number, segment, text),
            Origin::Said => again(SAID_BEFORE) * places.said(number, segment, text),
            Origin::Pasted if segment.is_earlier => 0.35,
            Origin::Earlier => EARLIER * places.said(number, segment, text),
            Origin::Pasted => 0.06,
            Origin::Call => match segment.kind {
                Kind::Change => 0.9,
                Kind::Name => 0.5,
                Kind::Command => 0.3,
                Kind::Line | Kind::Reason if is_prose(text) && !CODE_LINE.is_match(text) => 0.3,
                _ => 0.0,
            },
            Origin::Result if segment.kind == Kind::Outcome => 0.12,
            Origin::Result if segment.kind == Kind::Reason => 0.08,
            Origin::Result => 0.0,
        }
    };
    segments.iter().enumerate().map(worth).collect()
}

/// Which segments are of a request and not among its first statements.
pub(super) fn later_words(index: &Index) -> Vec<bool> {
    let (mut turn, mut count) = (0, 0);
    let segments = index.segments().iter();
    let is_later = |segment: &Segment| {
        if segment.turn != turn {
            (turn, count) = (segment.turn, 0);
        }
        let is_asked = segment.origin == Origin::User;
        count += u32::from(is_asked);
        is_asked && count > FIRST_WORDS
    };
    segments.map(is_later).collect()
}

/// Whether there are tool calls; without them the words matter.
pub(super) fn has_tools(segments: &[Segment]) -> bool {
    let is_tools = |segment: &Segment| matches!(segment.origin, Origin::Call | Origin::Result);
    segments.iter().any(is_tools)
}

/// Whether files are changed, or commands run: what they hold can be read again. An agent without
/// a call of a tool writes its commands in its words.
pub(super) fn has_files(segments: &[Segment]) -> bool {
    let is_change = |segment: &Segment| matches!(segment.kind, Kind::Change | Kind::Command);
    let is_call = |segment: &Segment| segment.origin == Origin::Call;
    segments.iter().any(is_change) || !segments.iter().any(is_call)
}

/// The positions of the segments.
struct Places {
    /// For each request the number of its first segment, and of those that follow of it.
    asks: Vec<(usize, usize)>,
    /// For each turn the line of the model's last words in it.
    closing: Vec<u64>,
    count: usize,
    last_turn: u32,
    has_tools: bool,
}

impl Places {
    fn of(segments: &[Segment]) -> Self {
        let turns = segments.iter().map(|segment| segment.turn).max();
        let last_turn = turns.unwrap_or(0);
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
            Kind::Heading => return 0.0,
            Kind::Quoted => return 0.35,
            _ if COURTESY.is_match(text) => return POLITE,
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
        if RULE.is_match(text) {
            worth *= 1.3;
        }
        if WHY.is_match(text) {
            worth *= 1.4;
        }
        if SETTLED.is_match(text) {
            worth *= 1.5;
        }
        if segment.turn <= 1 || segment.turn == self.last_turn {
            worth *= 1.3;
        }
        worth
    }

    fn said(&self, number: usize, segment: &Segment, text: &str) -> f64 {
        let mut worth = match segment.kind {
            Kind::Heading => return 0.0,
            Kind::Quoted => 0.35,
            Kind::Command => return 0.3,
            Kind::Lead => 0.2,
            _ if COURTESY.is_match(text) => return POLITE,
            _ if PROMISE.is_match(text) => 0.3,
            _ if segment.turn < self.last_turn && OFFER.is_match(text) => 0.3,
            _ => 1.0,
        };
        if segment.kind.is_said() {
            if FINDING.is_match(text) {
                worth *= 1.25;
            }
            let names = u8::try_from(NAMED.find_iter(text).take(3).count()).unwrap_or(3);
            worth *= 1.0 + if self.has_tools { 0.12 } else { 0.3 } * f64::from(names);
        }
        if segment.line == self.closing[segment.turn as usize] {
            worth *= 1.4;
        }
        #[allow(clippy::cast_precision_loss)] // There are at most so many segments.
        let place = number as f64 / self.count as f64;
        worth * (0.75 + 0.5 * place)
    }
}

#[cfg(test)]
mod tests {
    use crate::ledger::Ledger;
    use ctx_format::{Message, Part, Role, Zone};

    use super::worths;

    /// Messages in turn, the user's first, and the worth of each.
    fn of<'t>(texts: &[&'t str]) -> Vec<(&'t str, f64)> {
        let mut ledger = Ledger::new();
        for (line, text) in (1..).zip(texts) {
            let role = [Role::Assistant, Role::User][usize::from(line % 2 == 1)];
            let message = Message::new(role, vec![Part::Text((*text).into())]);
            ledger.push(line, &message, Zone::Old);
        }
        texts.iter().copied().zip(worths(ledger.index())).collect()
    }

    #[test]
    fn polite_words_and_promises_say_little() {
        let told = of(&[
            "Hello there!",
            "The cause is a lock that nobody frees.",
            "好的，谢谢！",
            "Let me look at the file first.",
            "Please repair the login.",
            "Done.",
        ]);
        let worth = |text: &str| {
            let found = told.iter().find(|(of, _)| *of == text);
            found.expect("it was said").1
        };
        assert!(worth("Hello there!") < 0.1 && worth("好的，谢谢！") < 0.1);
        let (cause, promise) = (
            worth("The cause is a lock that nobody frees."),
            worth("Let me look at the file first."),
        );
        assert!(promise < cause / 2.0, "{told:?}");
        assert!(worth("Please repair the login.") > cause, "{told:?}");
    }

    #[test]
    fn a_reason_is_worth_more_than_other_words() {
        let told = of(&[
            "We start today.",
            "Yes.",
            "It fails because of a row.",
            "Right.",
            "It is a table of rows.",
            "Well.",
            "It goes on.",
            "So.",
        ]);
        assert!(told[2].1 > told[4].1, "{told:?}");
    }

    #[test]
    fn a_rule_is_worth_more_than_other_words() {
        let told = of(&[
            "We start today.",
            "Yes.",
            "Never write to the table.",
            "Right.",
            "It is a table of rows.",
            "Well.",
            "It goes on.",
            "So.",
        ]);
        assert!(told[2].1 > told[4].1, "{told:?}");
    }
}
