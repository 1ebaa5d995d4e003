//! What is left of the text of a result that is not taken out as a whole.

mod errors;
mod noise;
mod trim;

use std::borrow::Cow;

use super::policy::Policy;
use super::rule::Rule;
pub(super) use errors::begins_with_error;

/// The text with less noise, or trimmed too; `again` when it was reduced before.
pub(super) fn reduced(policy: &Policy, text: &str, again: bool) -> Option<(Rule, String)> {
    let quiet = if policy.drops(Rule::Noise) {
        noise::without_noise(text)
    } else {
        Cow::Borrowed(text)
    };
    let trim = policy.trim.as_ref();
    match (trim.and_then(|trim| trim.apply(&quiet, again)), quiet) {
        (Some(trimmed), _) => Some((Rule::Trim, trimmed)),
        (None, Cow::Owned(quiet)) if quiet != text => Some((Rule::Noise, quiet)),
        (None, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::reduced;
    use crate::prune::{Policy, Rule, Trim};

    fn policy(max_chars: Option<usize>, drop: &[Rule]) -> Policy {
        Policy {
            trim: max_chars.map(|max_chars| Trim {
                max_chars,
                ..Trim::default()
            }),
            drop: drop.to_vec(),
            ..Policy::default()
        }
    }

    #[test]
    fn noise_goes_first_and_what_is_short_then_is_not_trimmed() {
        let text = format!("\x1b[31m{}\x1b[0m", "word ".repeat(20));
        let rule = |max_chars, drop: &[Rule]| {
            let reduced = reduced(&policy(max_chars, drop), &text, false);
            reduced.map(|(rule, _)| rule)
        };
        assert_eq!(rule(None, &[]), None);
        assert_eq!(rule(None, &[Rule::Noise]), Some(Rule::Noise));
        assert_eq!(rule(Some(100), &[]), Some(Rule::Trim));
        assert_eq!(rule(Some(100), &[Rule::Noise]), Some(Rule::Noise));
        assert_eq!(rule(Some(50), &[Rule::Noise]), Some(Rule::Trim));
    }

    #[test]
    fn without_noise_nothing_is_reduced() {
        let policy = policy(None, &[Rule::Noise]);
        assert_eq!(reduced(&policy, "plain", false), None);
        let (_, text) = reduced(&policy, "\x1b[1mbold", false).expect("an escape");
        assert_eq!(text, "bold");
    }
}
