//! Finds the values in a call's arguments without which the model could not have made the call.

use std::collections::HashSet;
use std::sync::LazyLock;

use ctx_format::Call;
use ctx_text::regex;
use regex::Regex;

use crate::ledger::call::is_shell;
use crate::ledger::score::future::is_common;
use crate::ledger::{Arguments, LISTS};

/// The minimum length of a value. Shorter values are too common to be informative.
const SHORTEST: usize = 4;
/// The maximum length of an argument that is a single value. A longer argument is text that may
/// contain values.
const LONGEST_VALUE: usize = 60;
/// The maximum number of spaces in an argument that is a single value. An argument with more spaces
/// is text.
const MOST_BLANKS: usize = 5;

/// Patterns for values, tried in this order. Matches are removed from the text before it is
/// searched for names and numbers.
static WHOLE: LazyLock<[Regex; 3]> = LazyLock::new(|| {
    let extensions = LISTS.pattern("extensions");
    [
        // A URL.
        regex(r#"https?://[^\s'"<>)\]},]+"#),
        // A path, which consists of names separated by slashes.
        regex(r"(?:~|\.{1,2})?/?(?:[\w.@+-]+/)+[\w.@+-]*\w"),
        // A file name with a known extension.
        regex(&format!(r"\b[\w-]+(?:\.[\w-]+)*\.(?:{extensions})\b")),
    ]
});
/// Matches numbers, dates, times and sums of money. A match has at least two digits, possibly with
/// punctuation between the digits, and no adjacent letters.
static NUMBER: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?:^|[^\w.])(\$?[0-9][0-9.,:/-]*[0-9]\b(?:%\B)?)"));
static NAME: LazyLock<Regex> = LazyLock::new(|| regex("[A-Za-z_][A-Za-z0-9_]{3,}"));
static MIXED: LazyLock<Regex> = LazyLock::new(|| regex(r"\b[A-Za-z0-9][\w-]{3,}\b"));
static CAMEL: LazyLock<Regex> = LazyLock::new(|| regex("[a-z][A-Z]|[A-Z]{2}[a-z]"));

/// Returns the distinct values in the arguments of a call.
pub(super) fn of_call(call: &Call<'_>) -> Vec<String> {
    let mut values = Vec::new();
    match Arguments::parse(&call.arguments) {
        None => free(&call.arguments, &mut values),
        Some(arguments) => {
            let is_text = call.arguments.trim_start().starts_with('"');
            let is_shell = is_text || is_shell(&call.name);
            for leaf in arguments.leaves {
                let value = leaf.value.trim();
                let is_prose = value.contains('\n')
                    || value.chars().count() > LONGEST_VALUE
                    || value.matches(' ').count() > MOST_BLANKS;
                if is_shell || is_prose {
                    free(value, &mut values);
                } else {
                    values.push(value.to_owned());
                }
            }
        }
    }
    let mut seen = HashSet::new();
    values.retain(|value| {
        value.chars().count() >= SHORTEST && !is_common(value) && seen.insert(value.clone())
    });
    values
}

/// Finds the values in a command or other text: URLs, paths, file names, names in code, ids and
/// numbers.
fn free(text: &str, values: &mut Vec<String>) {
    let mut rest = text.to_owned();
    for pattern in WHOLE.iter() {
        let whole = pattern.find_iter(&rest);
        let bare = |value: &str| value.trim_end_matches(['.', ',', ';', ':']).to_owned();
        values.extend(whole.map(|found| bare(found.as_str())));
        rest = pattern.replace_all(&rest, " ").into_owned();
    }
    let names = NAME.find_iter(&rest).map(|found| found.as_str());
    values.extend(names.filter(|name| is_code(name)).map(str::to_owned));
    let mixed = MIXED.find_iter(&rest).map(|found| found.as_str());
    let both = |value: &&str| {
        value.contains(|c: char| c.is_ascii_alphabetic()) && value.contains(char::is_numeric)
    };
    values.extend(mixed.filter(both).map(str::to_owned));
    values.extend(NUMBER.captures_iter(&rest).map(|found| found[1].to_owned()));
}

fn is_code(name: &str) -> bool {
    name.trim_matches('_').contains('_')
        || name.contains(|c: char| c.is_ascii_digit())
        || CAMEL.is_match(name)
}

#[cfg(test)]
mod tests {
    use ctx_format::Call;

    use super::{NUMBER, free, of_call};

    fn values(name: &str, arguments: &str) -> Vec<String> {
        of_call(&Call { id: None, name: name.into(), arguments: arguments.into(), slot: None })
    }

    #[test]
    fn short_arguments_are_values_and_long_ones_hold_some() {
        assert_eq!(
            values("get_order", r##"{"order_id":"#W123","n":2,"ok":true,"zip":"10115"}"##),
            ["#W123", "10115"]
        );
        assert_eq!(
            values("note", r#"{"text":"please look at src/main.rs and at user_12 by 2026-11-22"}"#),
            ["src/main.rs", "user_12", "2026-11-22"]
        );
    }

    #[test]
    fn commands_are_taken_apart() {
        assert_eq!(
            values(
                "Bash",
                r#"{"command":"cargo test -p my-crate2 && cat Cargo.toml; curl https://x.org/a."}"#
            ),
            ["https://x.org/a", "Cargo.toml", "crate2", "my-crate2"]
        );
        assert_eq!(values("Bash", "ls some_dir"), ["some_dir"]);
    }

    #[test]
    fn numbers_have_no_letters_beside_them() {
        let found = |text: &str| -> Vec<String> {
            NUMBER.captures_iter(text).map(|found| found[1].to_owned()).collect()
        };
        assert_eq!(found("at 12:30, $1,204.50 (45%)"), ["12:30", "$1,204.50", "45%"]);
        assert_eq!(found("12:30pm v1.25 x77 5"), ["12"]);
        assert_eq!(found("45%x 中12"), ["45"]);
        assert_eq!(found("$"), Vec::<String>::new());
    }

    #[test]
    fn words_are_no_values() {
        let mut found = Vec::new();
        free("the quick brown fox HTTPServer", &mut found);
        assert_eq!(found, ["HTTPServer"]);
    }
}
