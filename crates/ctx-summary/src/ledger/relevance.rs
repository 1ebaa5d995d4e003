//! Estimates how likely a later call is to need an identifier, based on the identifier's history.

use crate::ledger::{Origin, Origins, Shape};

/// The history of an identifier. Message numbers start at 1, and 0 means no message.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Facts {
    shape: Shape,
    length: u32,
    /// The number of messages that contain the identifier.
    count: u32,
    /// The number of messages with a call that has the identifier in its arguments.
    calls: u32,
    first: u32,
    last: u32,
    last_call: u32,
    last_said: u32,
    by_user: bool,
    by_tool: bool,
    in_first_request: bool,
    /// The smallest number of identifiers in any message that contains this identifier.
    crowd: u32,
}

/// The current position in the session.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SessionPosition {
    /// The number of messages so far, except system messages.
    pub(crate) messages: u32,
    /// True if the user has made only one request so far.
    pub(crate) first_request: bool,
}

impl Facts {
    pub(crate) fn new(shape: Shape, length: usize, now: SessionPosition) -> Self {
        Self {
            shape,
            length: u32::try_from(length).unwrap_or(u32::MAX),
            first: now.messages,
            crowd: u32::MAX,
            ..Self::default()
        }
    }

    /// Returns the length of the identifier's name in bytes.
    pub(crate) fn length(&self) -> usize {
        self.length as usize
    }

    /// Records that the identifier occurs in the current message, which contains `crowd` different
    /// identifiers.
    pub(crate) fn seen(
        &mut self,
        origins: Origins,
        shape: Shape,
        crowd: usize,
        now: SessionPosition,
    ) {
        self.count += 1;
        self.last = now.messages;
        if self.shape == Shape::Argument {
            self.shape = shape;
        }
        let by_user = origins.has(Origin::User) || origins.has(Origin::Pasted);
        let is_said = origins.has(Origin::Said) || origins.has(Origin::Earlier);
        self.by_user |= by_user;
        self.in_first_request |= by_user && now.first_request;
        self.by_tool |= origins.has(Origin::Result);
        if is_said {
            self.last_said = now.messages;
        }
        if origins.has(Origin::Call) {
            self.calls += 1;
            self.last_call = now.messages;
        }
        self.crowd = self.crowd.min(u32::try_from(crowd).unwrap_or(u32::MAX));
    }

    /// Returns the probability that a later call needs the identifier. In this logistic model, each
    /// weight is added to the log-odds, where 0.7 doubles the odds. Earlier use in arguments
    /// matters most, depending on how often and how recently it happened. Ids and dates come next,
    /// then mentions in the first request. Long values count less, and so do values that occur only
    /// once or only among many others. The half-lives, 6 and 4, are measured in messages.
    ///
    /// The weights were fitted to recorded sessions of Claude Code and tau-bench, and then rounded.
    /// Each session was split in two, and the values used by calls in the second part counted as
    /// needed. No sessions were held out, and the code that fitted the weights is not part of this
    /// repository. `ctx-score BEFORE AFTER --future FULL` measures the effect of other weights. See
    /// "What a summary keeps" in `docs/benchmarks.md`.
    pub(crate) fn chance(&self, now: SessionPosition) -> f64 {
        let n = f64::from(now.messages.max(1));
        let fades =
            |at: u32, half: f64| if at == 0 { 0.0 } else { (-(n - f64::from(at)) / half).exp2() };
        let flag = |holds: bool, weight: f64| if holds { weight } else { 0.0 };
        let mut z = -2.45;
        z += 0.6 * f64::from(self.calls.min(3)) + 1.2 * fades(self.last_call, 6.0);
        z += 0.6 * fades(self.last, 4.0) + 0.45 * fades(self.last_said, 6.0);
        z += flag(self.in_first_request, 0.9) + flag(self.by_user && self.by_tool, 0.25);
        z += flag(self.by_tool, -0.4) + flag(self.by_user, -0.2) + flag(self.count == 1, -0.5);
        z += match self.shape {
            Shape::Keyed => 2.8,
            Shape::Code | Shape::Date => 1.9,
            Shape::Name => 0.4,
            Shape::Term => -0.8,
            _ => 0.0,
        };
        z -= 0.45 * (1.0 - f64::from(self.first) / n);
        z -= 0.45 * (f64::from(self.length) / 20.0).min(3.0);
        z -= 0.25 * f64::from(self.crowd).ln_1p().min(10.0);
        1.0 / (1.0 + (-z).exp())
    }
}

#[cfg(test)]
mod tests {
    use super::{Facts, SessionPosition};
    use crate::ledger::identifier::Shape;
    use crate::ledger::segment::{Origin, Origins};

    const ALL: [Origin; 5] =
        [Origin::User, Origin::Pasted, Origin::Said, Origin::Call, Origin::Result];

    fn now(messages: u32) -> SessionPosition {
        SessionPosition { messages, first_request: false }
    }

    fn origins(list: &[Origin]) -> Origins {
        let mut origins = Origins::default();
        for origin in list {
            origins.add(*origin);
        }
        origins
    }

    /// Returns the probability, at message 20, for a name that occurs in the given messages. Each
    /// message is given as its number, its origins, and its number of identifiers.
    fn chance(shape: Shape, length: usize, seen: &[(u32, &[Origin], usize)]) -> f64 {
        let first = seen.first().map_or(1, |(message, ..)| *message);
        let mut facts = Facts::new(shape, length, now(first));
        for (message, by, crowd) in seen {
            facts.seen(origins(by), shape, *crowd, now(*message));
        }
        facts.chance(now(20))
    }

    #[test]
    fn several_origins_are_kept_once_each() {
        let mut some = Origins::default();
        assert!(some.is_empty());
        for origin in [Origin::Result, Origin::User, Origin::Result] {
            some.add(origin);
        }
        assert!(!some.is_empty());
        assert_eq!(ALL.map(|origin| some.has(origin)), [true, false, false, false, true]);
        assert!(ALL.iter().all(|origin| origins(&ALL).has(*origin)));
    }

    #[test]
    fn what_a_call_used_often_and_lately_is_likely_to_be_needed() {
        let by_call: &[Origin] = &[Origin::Call];
        let once = chance(Shape::Name, 8, &[(5, by_call, 3)]);
        let lately = chance(Shape::Name, 8, &[(5, &[Origin::Said], 3), (19, by_call, 3)]);
        let often = chance(Shape::Name, 8, &[(5, by_call, 3), (12, by_call, 3), (19, by_call, 3)]);
        let said = chance(Shape::Name, 8, &[(5, &[Origin::Said], 3)]);
        assert!(said < once && once < lately && lately < often, "{said} {once} {lately} {often}");
        // A fourth call does not increase the probability.
        let seen = |calls: u32| -> Vec<(u32, &[Origin], usize)> {
            let early = (1..=calls).map(|message| (message, by_call, 3));
            early.chain([(19, by_call, 3)]).collect()
        };
        let (three, nine) = (chance(Shape::Name, 8, &seen(2)), chance(Shape::Name, 8, &seen(8)));
        assert!((three - nine).abs() < 1e-12, "{three} {nine}");
    }

    #[test]
    fn ids_come_before_names_and_names_before_terms() {
        let of = |shape| chance(shape, 8, &[(5, &[Origin::Result], 3)]);
        let order = [Shape::Keyed, Shape::Code, Shape::Name, Shape::Path, Shape::Term].map(of);
        assert!(order.is_sorted_by(|a, b| a > b), "{order:?}");
        assert!((of(Shape::Code) - of(Shape::Date)).abs() < 1e-12);
    }

    #[test]
    fn long_names_and_those_in_a_crowd_count_less() {
        let of = |length, crowd| chance(Shape::Path, length, &[(5, &[Origin::Result], crowd)]);
        assert!(of(8, 2) > of(40, 2));
        assert!(of(8, 2) > of(8, 200));
        // Only the message with the fewest identifiers counts.
        let seen: [(u32, &[Origin], usize); 2] =
            [(5, &[Origin::Result], 200), (6, &[Origin::Result], 2)];
        let turned = [seen[1], seen[0]].map(|(_, by, crowd)| (5, by, crowd));
        let straight = seen.map(|(_, by, crowd)| (5, by, crowd));
        let (one, other) = (chance(Shape::Path, 8, &straight), chance(Shape::Path, 8, &turned));
        assert!((one - other).abs() < 1e-12, "{one} {other}");
        // The penalty for length does not increase beyond three times the usual length.
        assert!((of(60, 2) - of(100_000, 2)).abs() < 1e-12);
    }

    #[test]
    fn what_the_first_request_names_is_more_likely() {
        let of = |first_request| {
            let mut facts = Facts::new(Shape::Name, 8, now(1));
            let at = SessionPosition { messages: 1, first_request };
            facts.seen(origins(&[Origin::User]), Shape::Name, 1, at);
            facts.chance(now(20))
        };
        assert!(of(true) > of(false));
    }

    #[test]
    fn an_argument_takes_the_shape_that_says_more() {
        let seen = |first, then| {
            let mut facts = Facts::new(first, 8, now(1));
            facts.seen(origins(&[Origin::Call]), then, 1, now(1));
            facts.chance(now(1))
        };
        let code = seen(Shape::Code, Shape::Code);
        assert!((seen(Shape::Argument, Shape::Code) - code).abs() < 1e-12);
        assert!((seen(Shape::Code, Shape::Argument) - code).abs() < 1e-12);
    }

    #[test]
    fn a_chance_is_one_at_the_limits_too() {
        for length in [0, 1, usize::MAX] {
            let mut facts = Facts::new(Shape::Argument, length, SessionPosition::default());
            for at in [SessionPosition::default(), now(u32::MAX)] {
                for crowd in [0, usize::MAX] {
                    let before = facts.chance(at);
                    assert!(before > 0.0 && before < 1.0, "{length} {before}");
                    facts.seen(origins(&ALL), Shape::Number, crowd, at);
                    let after = facts.chance(at);
                    assert!(after > 0.0 && after < 1.0, "{length} {crowd} {after}");
                }
            }
        }
    }
}
