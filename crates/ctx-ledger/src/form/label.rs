//! Who speaks in a line of a summary.

use crate::{Kind, Origin};

/// Who speaks in a line of a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// The user.
    User,
    /// The model.
    Agent,
    /// The model, in a summary of what was before.
    Earlier,
    /// A call of the model's.
    Call,
    /// A line of a long argument of the call above.
    Part,
    /// A tool, or whom the user or the model quotes.
    Quote,
}

impl Label {
    const ALL: [Self; 6] = [
        Self::User,
        Self::Agent,
        Self::Earlier,
        Self::Call,
        Self::Part,
        Self::Quote,
    ];

    /// Of a segment.
    pub fn of(origin: Origin, kind: Kind) -> Self {
        match (origin, kind) {
            (_, Kind::Quoted) | (Origin::Pasted | Origin::Result, _) => Self::Quote,
            (Origin::User, _) => Self::User,
            (Origin::Said, _) => Self::Agent,
            (Origin::Earlier, _) => Self::Earlier,
            (Origin::Call, Kind::Name | Kind::Line | Kind::Reason) => Self::Part,
            (Origin::Call, _) => Self::Call,
        }
    }

    /// As it stands before the words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user: ",
            Self::Agent => "agent: ",
            Self::Earlier => "earlier: ",
            Self::Call => "call: ",
            Self::Part => "+ ",
            Self::Quote => "> ",
        }
    }

    /// Whether one who says more goes on without another label.
    pub fn goes_on(self) -> bool {
        matches!(self, Self::User | Self::Agent | Self::Earlier)
    }
}

/// A line with a label, perhaps with the line of the session before it: `[12] user: fix it`.
pub fn labelled(line: &str) -> Option<(Label, Option<u64>, &str)> {
    let number = || {
        let (number, rest) = line.strip_prefix('[')?.split_once("] ")?;
        Some((number.parse().ok()?, rest))
    };
    let (number, line) = number().map_or((None, line), |(number, rest)| (Some(number), rest));
    let mut labels = Label::ALL.into_iter();
    labels.find_map(|label| Some((label, number, line.strip_prefix(label.as_str())?)))
}
