//! Whether a decision takes back an earlier one.

use std::sync::LazyLock;

use ctx_transcript::Role;
use regex::Regex;

use crate::rules::{MemoryKind, find};
use crate::text::regex;

/// Words that say so.
static TAKES_BACK: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(?:instead|no longer|rather than|switch(?:ed|ing)? (?:\w+ ){0,3}to|changed? (?:my|our) mind|not .{1,40} any ?more|replac(?:e|es|ed|ing))\b|改用|改为|不再|换成|改成",
    )
});

/// Whether a decision takes back an earlier one, each with who said it: both have a word
/// for deciding, and one of the same things in them.
pub fn supersedes(later: (&str, Role), earlier: (&str, Role)) -> bool {
    let is_decided = |(text, role): (&str, Role)| find(MemoryKind::Decision, text, role).is_some();
    takes_back(later.0)
        && share_a_subject(later.0, earlier.0)
        && is_decided(later)
        && is_decided(earlier)
}

/// Whether a decision says that it takes something back.
pub(crate) fn takes_back(decision: &str) -> bool {
    TAKES_BACK.is_match(decision)
}

/// Whether two decisions are about one of the same things.
pub(crate) fn share_a_subject(later: &str, earlier: &str) -> bool {
    subjects(later).any(|word| subjects(earlier).any(|w| w == word))
}

/// What a decision is about: longer words, less those of deciding itself.
fn subjects(sentence: &str) -> impl Iterator<Item = String> {
    const OF_DECIDING: [&str; 20] = [
        "about", "chose", "choose", "decide", "decided", "decision", "going", "instead", "longer",
        "rather", "replace", "should", "switch", "switched", "there", "these", "using", "which",
        "will", "would",
    ];
    let words = sentence.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.'));
    words
        .map(|word| word.trim_matches('.').to_lowercase())
        .filter(|word| word.chars().count() >= 4 && !OF_DECIDING.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::{share_a_subject, takes_back};

    fn supersedes(later: &str, earlier: &str) -> bool {
        takes_back(later) && share_a_subject(later, earlier)
    }

    #[test]
    fn a_decision_takes_back_what_is_about_the_same() {
        let earlier = "We decided to use SQLite for the cache.";
        assert!(supersedes("Let's use Redis instead of SQLite.", earlier));
        assert!(!supersedes("Let's use Redis for queues.", earlier));
        assert!(!supersedes("Let's use tabs instead of spaces.", earlier));
    }
}
