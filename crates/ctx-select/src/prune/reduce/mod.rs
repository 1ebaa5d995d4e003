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
