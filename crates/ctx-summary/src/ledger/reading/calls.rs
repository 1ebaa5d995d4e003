//! Reads tool calls. Each call is quoted as a line that says what it does, and its long arguments
//! are quoted separately.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::LazyLock;

use ctx_format::Call;
use ctx_text::{WordSet, first_chars};
use serde_json::{Map, Value};

use crate::ledger::form::OUTCOME;
use crate::ledger::json::with_short_values;
use crate::ledger::output::names_something;
use crate::ledger::reading::quotes::Reader;
use crate::ledger::{
    Action, Arguments, Event, LISTS, Leaf, Origin, Outcome, SegmentKind, Shape, Target, identifier,
    segments,
};

/// The maximum length, in bytes, of an argument with blanks that shares a line with its call.
const SHORT_ARGUMENT: usize = 120;
/// The maximum length, in bytes, of an argument without blanks, such as a path, that shares a line
/// with its call.
const LONGEST_NAME: usize = 400;
/// The maximum length, in bytes, of a line with several arguments.
const LINE: usize = 260;
/// The maximum length of a line with a single argument, in bytes. A longer line is split into
/// segments.
const LONGEST_LINE: usize = LONGEST_NAME + 80;
/// The maximum length, in bytes, of an argument that is a value by itself, such as a name or a
/// number.
const LONGEST_VALUE: usize = 40;

impl Reader {
    pub(super) fn call(&mut self, call: &Call<'_>) {
        // Redact the arguments first, while each name still precedes its value.
        let mut clean = self.clean_arguments(&call.arguments);
        let mut parsed = Arguments::parse(&clean);
        if parsed.is_none() {
            clean = self.clean(&call.arguments);
        }
        // Redact the values again, because a secret on its own line or in quotes is visible only
        // after parsing.
        for leaf in parsed.iter_mut().flat_map(|parsed| &mut parsed.leaves) {
            if let Cow::Owned(value) = self.clean(&leaf.value) {
                leaf.value = value;
            }
        }
        let leaves = parsed.as_ref().map(|parsed| parsed.leaves.as_slice());
        let action = self.leaves.then(|| Action::of(call, &clean, leaves));
        let kind = action.as_ref().map_or(SegmentKind::Call, kind_of);
        let is_list = action.as_ref().is_some_and(|it| it.tasks.is_some());
        let quote = if let Some(leaves) = leaves.filter(|_| is_list) {
            // Each task in the list becomes an item with its state, so the call is not quoted.
            self.values(leaves);
            None
        } else if let Some(leaves) = leaves {
            self.arguments(&call.name, leaves, kind)
        } else {
            let text = format!("{} {clean}", call.name);
            self.call_lines(&text, kind)
        };
        if let Some(action) = action {
            self.reading.events.push(Event::Call(action, quote));
        }
    }

    /// Quotes a call as a line such as `Read path: a.rs; limit: 20`, followed by its long
    /// arguments.
    pub(super) fn arguments(
        &mut self,
        name: &str,
        leaves: &[Leaf],
        kind: SegmentKind,
    ) -> Option<usize> {
        let mut short = name.to_owned();
        let mut long = Vec::new();
        // The lines that an edit replaces.
        let mut old = HashSet::new();
        self.values(leaves);
        for leaf in leaves {
            let value = leaf.value.as_str();
            let is_long = is_long(value);
            if is_long && kind == SegmentKind::Command && long.is_empty() {
                // A long command is represented by the first line that runs something.
                let first = value.lines().map(str::trim).find(|line| !is_prelude(line));
                let first = first_chars(first.unwrap_or_default(), SHORT_ARGUMENT);
                let _ = write!(short, " {}: {first} …;", leaf.key);
            }
            if is_long {
                if kind == SegmentKind::Change && leaf.key.starts_with("old") {
                    old.extend(value.lines().map(str::trim));
                } else {
                    long.push(value);
                }
            } else if tells(value) && !(leaves.len() > 1 && is_aside(&leaf.key)) {
                let _ = write!(short, " {}: {value};", leaf.key);
            }
        }
        let call = self.call_lines(short.trim_end_matches(';'), kind);
        for text in long {
            let is_patch = text.starts_with("*** Begin Patch") || text.starts_with("--- ");
            segments(text, |line| {
                // Only what an edit adds is quoted.
                if !(old.contains(line) || is_patch && is_no_addition(line)) {
                    let line = if is_patch { line.trim_start_matches('+') } else { line };
                    self.parts(line, kind == SegmentKind::Change, call);
                }
            });
        }
        call
    }

    /// Records the arguments that are values by themselves, such as names and numbers.
    fn values(&mut self, leaves: &[Leaf]) {
        for value in leaves.iter().map(|leaf| leaf.value.as_str()) {
            if is_value(value) {
                let mentions = &mut self.reading.mentions;
                mentions.seen(value, Shape::Argument, None, Origin::Call);
            }
        }
    }

    /// Quotes a line from a long argument. If `may_name` is set, a line that looks like a name is
    /// marked as a name.
    pub(super) fn parts(&mut self, line: &str, may_name: bool, call: Option<usize>) {
        let kind =
            if may_name && names_something(line) { SegmentKind::Name } else { SegmentKind::Line };
        self.quote(line, Origin::Call, kind, call);
    }

    /// Quotes each line of a call, and returns the quote of the first line; that quote stands for
    /// the whole call.
    pub(super) fn call_lines(&mut self, text: &str, kind: SegmentKind) -> Option<usize> {
        let mut first = None;
        for line in argument_lines(text) {
            let kind = if first.is_none() { kind } else { SegmentKind::Line };
            let quote = self.quote(line, Origin::Call, kind, first);
            first = first.or(quote);
        }
        first
    }

    /// Reads a call that an earlier summary quotes, such as `Edit path: a.rs; limit: 20`.
    pub(super) fn call_again(&mut self, text: &str) {
        let (text, outcome) = match text.rsplit_once(OUTCOME) {
            Some((text, outcome)) => (text, Some(Outcome::of_earlier(outcome))),
            None => (text, None),
        };
        let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
        let pairs = rest.split("; ").filter_map(|pair| pair.split_once(": "));
        let arguments: Map<String, Value> =
            pairs.map(|(key, value)| (key.to_owned(), Value::from(value))).collect();
        let arguments = Value::from(arguments).to_string();
        let call =
            Call { id: None, name: name.into(), arguments: arguments.as_str().into(), slot: None };
        let action = Action::of(&call, &arguments, None);
        self.call = self.call_lines(text, kind_of(&action));
        self.reading.events.push(Event::Call(action, self.call));
        if let Some(outcome) = outcome {
            let none = self.reading.quotes.len()..self.reading.quotes.len();
            self.reading.events.push(Event::Result(outcome, none));
        }
    }

    /// Finds the latest call in an earlier summary that contains `text`, in which `…` stands for
    /// anything.
    pub(super) fn call_of(&self, text: &str) -> Option<usize> {
        let is_it = |quote: &usize| {
            self.reading.quotes[*quote].origin == Origin::Call
                && text.split('…').all(|part| self.text(*quote).contains(part.trim()))
        };
        (0..self.reading.quotes.len()).rev().find(is_it)
    }

    /// Redacts secrets that are recognized by argument name. Long values are searched separately.
    pub(super) fn clean_arguments<'t>(&mut self, arguments: &'t str) -> Cow<'t, str> {
        match with_short_values(arguments) {
            Some(short) if ctx_redact::find(&short).is_empty() => Cow::Borrowed(arguments),
            _ => self.clean(arguments),
        }
    }
}

/// Returns true if an argument only says how a call runs or shows its result.
fn is_aside(key: &str) -> bool {
    static ASIDES: LazyLock<WordSet> = LazyLock::new(|| LISTS.words("arguments aside"));
    ASIDES.contains(key)
}

/// Returns true if an argument is too long to share a line with its call, and is therefore quoted
/// separately.
fn is_long(value: &str) -> bool {
    let most = if value.contains(char::is_whitespace) { SHORT_ARGUMENT } else { LONGEST_NAME };
    value.len() > most || value.contains('\n')
}

/// Splits a quoted call into lines that contain as many arguments as fit. Only an argument that is
/// too long for a line is split itself.
fn argument_lines(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let ends = rest.match_indices("; ").map(|(at, _)| at);
        let mut ends = ends.chain([rest.len()]);
        let first = ends.next().unwrap_or_default();
        let end = ends.take_while(|end| *end <= LINE).last();
        let (line, after) = rest.split_at(end.unwrap_or(first));
        rest = after.trim_start_matches("; ");
        if line.len() > LONGEST_LINE || line.contains('\n') {
            segments(line, |segment| lines.push(segment));
        } else {
            lines.push(line);
        }
    }
    lines
}

/// Returns the kind of the segment that quotes a call.
fn kind_of(action: &Action) -> SegmentKind {
    match action.target {
        Target::File { is_changed: true, .. } => SegmentKind::Change,
        Target::Command => SegmentKind::Command,
        Target::File { .. } | Target::Other => SegmentKind::Call,
    }
}

/// Returns true if a line in a script only prepares for the actual command.
fn is_prelude(line: &str) -> bool {
    let begins = ["#", "set ", "cd ", "export "];
    line.is_empty() || !line.contains("&&") && begins.iter().any(|begin| line.starts_with(begin))
}

/// Returns true if a line of a patch neither adds anything nor names a file.
fn is_no_addition(line: &str) -> bool {
    line.starts_with(['-', '@']) || matches!(line, "*** Begin Patch" | "*** End Patch")
}

/// Returns true if a short argument helps to understand what a call does.
fn tells(value: &str) -> bool {
    !matches!(value, "" | "true" | "false" | "null")
}

/// Returns true if an argument is a value by itself, such as a name, a number or an address.
fn is_value(text: &str) -> bool {
    let spaces = text.bytes().filter(|b| *b == b' ').count();
    (identifier::SHORTEST..=LONGEST_VALUE).contains(&text.len())
        && spaces < 3
        && !text.contains('\n')
        && tells(text)
}

#[cfg(test)]
mod tests {
    use ctx_format::Zone;

    use super::{LINE, LONGEST_NAME, LONGEST_VALUE, SHORT_ARGUMENT, argument_lines, is_value};
    use crate::ledger::fixtures::calls;
    use crate::ledger::identifier::SHORTEST;
    use crate::ledger::reading::Reading;

    #[test]
    fn a_value_is_one_thing_of_a_few_words() {
        for text in ["W812", "src/main.rs", "New York City", "订单十七"] {
            assert!(is_value(text), "{text}");
        }
        assert!(is_value(&"x".repeat(SHORTEST)));
        assert!(is_value(&"x".repeat(LONGEST_VALUE)));
        for text in ["", "abc", "true", "null", "a b c d", "two\nlines", "订"] {
            assert!(!is_value(text), "{text}");
        }
        assert!(!is_value(&"x".repeat(LONGEST_VALUE + 1)));
    }

    #[test]
    fn a_long_path_is_whole_and_in_the_line_of_its_call() {
        for length in [SHORT_ARGUMENT + 1, LONGEST_NAME, LONGEST_NAME + 1] {
            let path = format!("/{}", "work/".repeat(length))[..length].to_owned();
            let arguments = format!(r#"{{"file_path":"{path}","offset":120}}"#);
            let reading = Reading::of(&calls("Read", &arguments), Zone::Old);
            let first = reading.mentions.text(&reading.quotes[0].text);
            let told = match length {
                _ if length > LONGEST_NAME => "/work/",
                LONGEST_NAME => &*format!("Read file_path: {path}"),
                _ => &*format!("Read file_path: {path}; offset: 120"),
            };
            assert!(first.starts_with(told), "{first}");
        }
    }

    #[test]
    fn the_lines_of_a_call_end_with_arguments() {
        let long = "x".repeat(LINE);
        for (text, expected) in [
            ("Read a: 1; b: 2", vec!["Read a: 1; b: 2"]),
            ("", vec![]),
            ("Bash ls\nnext line", vec!["Bash ls", "next line"]),
            (
                &format!("Read a: {long}; b: 2; c: 3"),
                vec![&*format!("Read a: {long}"), "b: 2; c: 3"],
            ),
            (&format!("Read a: 1; b: {long}"), vec!["Read a: 1", &*format!("b: {long}")]),
        ] {
            assert_eq!(argument_lines(text), expected, "{text}");
        }
    }

    #[test]
    fn an_argument_stands_with_its_call_up_to_its_limit() {
        for length in [1, SHORT_ARGUMENT, SHORT_ARGUMENT + 1] {
            let value = &"word ".repeat(length)[..length];
            let arguments = format!(r#"{{"path":"a.rs","text":"{value}"}}"#);
            let reading = Reading::of(&calls("Write", &arguments), Zone::Old);
            let first = reading.mentions.text(&reading.quotes[0].text);
            if length > SHORT_ARGUMENT {
                assert_eq!(first, "Write path: a.rs");
            } else {
                assert!(first.starts_with("Write path: a.rs; text: w"), "{first}");
            }
        }
    }
}
