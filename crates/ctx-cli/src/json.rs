//! The output for programs: one JSON object per line.

use std::fmt::Write as _;

use serde::Serialize;

use crate::{Failure, STDIN_NAME};

/// An object for programs: one line of JSON.
pub fn json_line(value: &impl Serialize) -> String {
    let line = serde_json::to_string(value).expect("keys are strings, numbers are finite");
    escaped(line) + "\n"
}

/// The JSON with escapes for the control characters that it may hold as they are, but a
/// terminal obeys.
fn escaped(line: String) -> String {
    if !line.contains(char::is_control) {
        return line;
    }
    let mut escaped = String::with_capacity(line.len() + 8);
    for c in line.chars() {
        if c.is_control() {
            // Writing to a string cannot fail.
            let _ = write!(escaped, "\\u{:04x}", u32::from(c));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// An object for an input, or a line of one, with which nothing was done.
pub fn json_failure(name: &str, line: Option<u64>, failure: &Failure) -> String {
    #[derive(Serialize)]
    struct Failed<'a> {
        name: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        line: Option<u64>,
        error: String,
    }
    json_line(&Failed { name: json_name(name), line, error: failure.to_string() })
}

/// The name of an input for programs; stdin has none.
pub fn json_name(name: &str) -> Option<&str> {
    Some(name).filter(|name| *name != STDIN_NAME)
}

#[cfg(test)]
mod tests {
    use super::{json_line, json_name};
    use crate::STDIN_NAME;

    #[test]
    fn no_control_character_leaves_as_it_is() {
        let line = json_line(&"\u{7f}\u{9b}2J\né");
        assert_eq!(line, "\"\\u007f\\u009b2J\\né\"\n");
    }

    #[test]
    fn stdin_has_no_name() {
        assert_eq!(json_name(STDIN_NAME), None);
        assert_eq!(json_name("a.jsonl"), Some("a.jsonl"));
    }
}
