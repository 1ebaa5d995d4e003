//! A position in a source: its name and a line, written as `NAME:LINE`.

use std::fmt;

/// A line of a source. Where one line holds several messages, which of them: a session that
/// is one JSON document may have no line ends at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) line: u64,
    /// How many messages begin before it in this line.
    pub(crate) nth: u64,
}

/// The index has one number for a place.
const LINE_BITS: u32 = 40;

impl Place {
    pub(crate) fn of_line(line: u64) -> Self {
        Self { line, nth: 0 }
    }

    pub(crate) fn to_number(self) -> u64 {
        self.nth << LINE_BITS | self.line
    }

    pub(crate) fn from_number(number: u64) -> Self {
        Self { line: number & ((1 << LINE_BITS) - 1), nth: number >> LINE_BITS }
    }

    /// Reads `NAME:LINE`, or `NAME:LINE.N`.
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

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.nth {
            0 => write!(f, "{}", self.line),
            nth => write!(f, "{}.{}", self.line, nth + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Place;

    #[test]
    fn what_is_written_is_read() {
        for (line, nth, text) in [(7, 0, "a:b:7"), (1, 2, "a:b:1.3")] {
            let place = Place { line, nth };
            assert_eq!(format!("a:b:{place}"), text);
            assert_eq!(Place::parse(text), Some(("a:b", place)));
            assert_eq!(Place::from_number(place.to_number()), place);
        }
        for bad in ["", "a", "a:", "a:x", "a:0", "a:1.0", "a:+1", "a:1.", "a:1.2.3"] {
            assert_eq!(Place::parse(bad), None, "{bad}");
        }
    }
}
