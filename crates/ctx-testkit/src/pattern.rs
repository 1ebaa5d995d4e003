//! Generates texts that a regular expression matches.

use proptest::strategy::{Strategy, ValueTree};
use proptest::string::string_regex;
use proptest::test_runner::TestRunner;

/// The number of texts to generate; large enough that each of a few hundred alternatives occurs.
const COUNT: usize = 3000;

/// Returns texts that a pattern matches, alone and inside words. Every run returns the same texts.
///
/// Some of the texts do not match, because word boundaries and the ends of the text are ignored
/// when they are generated. If the pattern ignores case, the texts have the case of the pattern.
pub fn texts_of(pattern: &str) -> impl Iterator<Item = String> {
    let strategy = string_regex(&without_assertions(pattern)).expect("a pattern");
    let mut runner = TestRunner::deterministic();
    (0..COUNT).flat_map(move |_| {
        let text = strategy.new_tree(&mut runner).expect("a text").current();
        [format!("a{text}"), format!("{text}a"), text]
    })
}

/// Removes what the generator does not support: `^`, `$`, `\b` and the flag that ignores case.
fn without_assertions(pattern: &str) -> String {
    let pattern = pattern.replace("(?i)", "").replace("(?i:", "(?:");
    let mut kept = String::new();
    let mut is_class = false;
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                let escaped = chars.next().expect("an escaped character");
                if is_class || escaped != 'b' {
                    kept.extend([c, escaped]);
                }
                continue;
            }
            '^' | '$' if !is_class => continue,
            '[' => is_class = true,
            ']' => is_class = false,
            _ => {}
        }
        kept.push(c);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::{texts_of, without_assertions};

    #[test]
    fn assertions_are_left_out_but_not_in_classes() {
        let pattern = r"(?i)^\b(?:a|[^$\]^]\^)(?i:b)$";
        assert_eq!(without_assertions(pattern), r"(?:a|[^$\]^]\^)(?:b)");
        assert!(
            ["ab", "aab", "aba", "b"].iter().all(|text| texts_of("^a?b").any(|it| it == *text))
        );
    }
}
