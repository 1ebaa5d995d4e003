//! What is known of each identifier, and the chance that it is needed again.

use crate::identifier::Shape;

/// Who wrote the text that an identifier stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The user.
    User,
    /// The model, in words.
    Said,
    /// The model, as an argument of a tool call.
    Call,
    /// A tool.
    Result,
}

impl Origin {
    const ALL: [Self; 4] = [Self::User, Self::Said, Self::Call, Self::Result];
}

/// Several origins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origins(u8);

impl Origins {
    pub(crate) fn add(&mut self, origin: Origin) {
        self.0 |= 1 << origin as u8;
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    fn iter(self) -> impl Iterator<Item = Origin> {
        let all = Origin::ALL.into_iter();
        all.filter(move |origin| self.0 & 1 << *origin as u8 != 0)
    }
}

/// What is known of one identifier. Messages are counted from 1; 0 is never.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    shape: Shape,
    length: u32,
    /// How many messages hold it.
    count: u32,
    /// How many of them in a call's arguments.
    calls: u32,
    first: u32,
    last: u32,
    last_call: u32,
    last_said: u32,
    by_user: bool,
    by_tool: bool,
    in_first_request: bool,
    /// The fewest identifiers in a message that holds it.
    crowd: u32,
}

/// Where the session stands.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Now {
    /// Messages so far, without system messages.
    pub(crate) messages: u32,
    /// Whether only one request of the user came so far.
    pub(crate) first_request: bool,
}

impl Facts {
    pub(crate) fn new(shape: Shape, length: usize, now: Now) -> Self {
        Self {
            shape,
            length: u32::try_from(length).unwrap_or(u32::MAX),
            count: 0,
            calls: 0,
            first: now.messages,
            last: 0,
            last_call: 0,
            last_said: 0,
            by_user: false,
            by_tool: false,
            in_first_request: false,
            crowd: u32::MAX,
        }
    }

    /// Bytes of the name.
    pub(crate) fn length(&self) -> usize {
        self.length as usize
    }

    /// It stands in the current message, which has so many different ones.
    pub(crate) fn seen(&mut self, origins: Origins, shape: Shape, crowd: usize, now: Now) {
        self.count += 1;
        self.last = now.messages;
        if self.shape == Shape::Argument {
            self.shape = shape;
        }
        for origin in origins.iter() {
            match origin {
                Origin::User => {
                    self.by_user = true;
                    self.in_first_request |= now.first_request;
                }
                Origin::Said => self.last_said = now.messages,
                Origin::Result => self.by_tool = true,
                Origin::Call => {
                    self.calls += 1;
                    self.last_call = now.messages;
                }
            }
        }
        self.crowd = self.crowd.min(u32::try_from(crowd).unwrap_or(u32::MAX));
    }

    /// The chance that a later call needs it, by a logistic rule. The signals are
    /// those that recorded sessions of agents show: used as an argument before, how
    /// often and how lately, counts most; then ids and dates, then what the first
    /// request names; long ones, and those seen once in a crowd, count less. The
    /// weights were fitted and then rounded.
    pub(crate) fn chance(&self, now: Now) -> f64 {
        let n = f64::from(now.messages.max(1));
        let fades = |at: u32, half: f64| match at {
            0 => 0.0,
            at => (-(n - f64::from(at)) / half).exp2(),
        };
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
