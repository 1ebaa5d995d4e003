//! The position of a result in a source, as a user names it and as the index stores it.

use std::fmt;

/// A line of a source, and the number of the message if the line has several. A session that is one
/// JSON document may have no line ends at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SourceLine {
    pub(crate) line: u64,
    /// The number of messages in this line that start before it.
    pub(crate) nth: u64,
}

/// The number of bits for the line, because the index has one number for both.
const LINE_BITS: u32 = 40;

impl SourceLine {
    pub(crate) fn of_line(line: u64) -> Self {
        Self { line, nth: 0 }
    }

    pub(crate) fn to_number(self) -> u64 {
        self.nth << LINE_BITS | self.line
    }

    pub(crate) fn from_number(number: u64) -> Self {
        Self { line: number & ((1 << LINE_BITS) - 1), nth: number >> LINE_BITS }
    }

    /// Parses `NAME:LINE` or `NAME:LINE.N`.
    pub(crate) fn parse(text: &str) -> Option<(&str, Self)> {
        let (name, place) = text.rsplit_once(':')?;
        let (line, nth) = place.split_once('.').unwrap_or((place, "1"));
        let number = |digits: &str| {
            let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse().ok().filter(|number: &u64| is_number && *number > 0)
        };
        let nth = number(nth)? - 1;
        let line = number(line)?;
        Some((name, Self { line, nth }))
    }
}

impl fmt::Display for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.nth {
            0 => write!(f, "{}", self.line),
            nth => write!(f, "{}.{}", self.line, nth + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SourceLine;

    #[test]
    fn what_is_written_is_read() {
        for (line, nth, text) in [(7, 0, "a:b:7"), (1, 2, "a:b:1.3")] {
            let place = SourceLine { line, nth };
            assert_eq!(format!("a:b:{place}"), text);
            assert_eq!(SourceLine::parse(text), Some(("a:b", place)));
            assert_eq!(SourceLine::from_number(place.to_number()), place);
        }
        for bad in ["", "a", "a:", "a:x", "a:0", "a:1.0", "a:+1", "a:1.", "a:1.2.3"] {
            assert_eq!(SourceLine::parse(bad), None, "{bad}");
        }
    }
}
