//! Selectors for records, written as `role:NAME`, `line:N`, `line:N-M` or `re:REGEX`.

use std::ops::RangeInclusive;
use std::str::FromStr;

use ctx_format::{Message, Record, Role};
use regex::Regex;

/// A selector for records that must stay, as given in a flag.
#[derive(Clone, Debug, derive_more::Display)]
#[display("{text}")]
pub struct Pin {
    text: String,
    kind: Selector,
}

#[derive(Clone, Debug)]
enum Selector {
    Role(Role),
    Lines(RangeInclusive<u64>),
    Text(Regex),
}

impl Pin {
    /// Returns true if the selector matches the record. A regex is searched for in the texts,
    /// arguments and results in the message or, if the line is not a message, in the whole line.
    pub fn selects<'a>(
        &self,
        record: &Record<'a>,
        role: Role,
        message: impl FnOnce() -> Option<Message<'a>>,
    ) -> bool {
        match &self.kind {
            Selector::Role(wanted) => *wanted == role,
            Selector::Lines(lines) => lines.contains(&record.line),
            Selector::Text(regex) => match message() {
                Some(message) => message.texts().into_iter().any(|text| regex.is_match(text)),
                None => regex.is_match(&String::from_utf8_lossy(record.bytes)),
            },
        }
    }
}

/// Returns the first selector in `pins` that matches a record.
pub(crate) fn first<'p, 'a>(
    pins: &'p [Pin],
    record: &Record<'a>,
    role: Role,
    message: impl Fn() -> Option<Message<'a>>,
) -> Option<&'p Pin> {
    pins.iter().find(|pin| pin.selects(record, role, &message))
}

impl FromStr for Pin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let kind = match text.split_once(':') {
            Some(("role", name)) => match Role::from_word(name) {
                Role::Other => return Err(format!("no role {name}")),
                role => Selector::Role(role),
            },
            Some(("line", lines)) => Selector::Lines(parse_lines(lines)?),
            Some(("re", pattern)) => {
                Selector::Text(Regex::new(pattern).map_err(|error| error.to_string())?)
            }
            _ => return Err("expected role:NAME, line:N, line:N-M or re:REGEX".to_owned()),
        };
        Ok(Self { text: text.to_owned(), kind })
    }
}

fn parse_lines(text: &str) -> Result<RangeInclusive<u64>, String> {
    let number = |text: &str| text.parse::<u64>().ok().filter(|line| *line > 0);
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => Ok(first..=last),
        _ => Err(format!("expected a line number (1 or more) or a range such as 3-9, not {text}")),
    }
}

#[cfg(test)]
mod tests {
    use ctx_format::dialect::Chat;
    use ctx_format::{Dialect, Origin, Role};

    use super::{Pin, first};

    /// Returns the first selector that matches a record with these bytes at this line.
    fn selects(pins: &[&str], bytes: &str, line: u64) -> Option<String> {
        let pins: Vec<Pin> = pins.iter().map(|pin| pin.parse().expect(pin)).collect();
        let origin = Origin { line, ..Origin::ALONE };
        let record = origin.record(bytes.as_bytes());
        let dialect: &dyn Dialect = &Chat;
        let outline = record.outline(Some(dialect));
        let role = outline.map_or(Role::Other, |outline| outline.role);
        let pin = first(&pins, &record, role, || record.message(Some(dialect)));
        pin.map(ToString::to_string)
    }

    #[test]
    fn the_first_selector_that_fits_is_told() {
        let user = r#"{"role":"user","content":"We decided \u0041."}"#;
        let of = |pins: &[&str]| selects(pins, user, 4);
        assert_eq!(of(&["role:tool", "line:5", "re:no"]), None);
        assert_eq!(of(&["line:4", "role:user"]).as_deref(), Some("line:4"));
        assert_eq!(of(&["line:2-4"]).as_deref(), Some("line:2-4"));
        assert_eq!(of(&["line:1-3", "line:5-9"]), None);
    }

    #[test]
    fn a_pattern_looks_at_what_is_said_and_without_a_message_at_the_line() {
        let user = r#"{"role":"user","content":"We decided \u0041."}"#;
        assert!(selects(&["re:decided A"], user, 1).is_some());
        assert!(selects(&["re:content"], user, 1).is_none());
        assert!(selects(&["re:^bro.en$"], "broken", 1).is_some());
    }

    #[test]
    fn selectors_are_read() {
        for good in ["role:user", "line:7", "line:3-9", "re:(?i)decided", "re:a:b"] {
            assert_eq!(good.parse::<Pin>().expect(good).to_string(), good);
        }
        for bad in ["", "user", "role:king", "line:0", "line:9-3", "line:x", "re:("] {
            assert!(bad.parse::<Pin>().is_err(), "{bad}");
        }
    }
}
