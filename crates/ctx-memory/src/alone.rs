//! What an item needs so that it can be read alone, without the session around it.

use std::sync::LazyLock;

use ctx_ledger::sentence::sentences;
use ctx_ledger::text::{QUOTE_MAX, cut, regex};
use regex::Regex;

/// The line around what was said, without the sentences in it that ask, announce a step or
/// lead to what follows; `said` always stays.
pub(crate) fn trimmed(line: &str, said: &str) -> String {
    static LEADS: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i)[?？:：][*_]*$|^(?:now,? )?(?:let me|I'll|I will|want me|moving (?:to|on)|would you|can you|could you|please confirm|let's (?:see|check|run|try)|here's|found it|fixed|done|ah|great|good)\b[^,]{0,60}$|^(?:let me|moving (?:to|on)|please confirm|want me|can you|could you)\b",
        )
    });
    let parts = sentences(line);
    let stays =
        |part: &&String| part.contains(said) || said.contains(*part) || !LEADS.is_match(part);
    let kept: Vec<&str> = parts.iter().filter(stays).map(String::as_str).collect();
    let kept = kept.join(" ");
    if kept.contains(said) {
        kept
    } else {
        said.to_owned()
    }
}

/// Without the cry at its beginning: `Ah! The port is 80`.
pub(crate) fn without_cry(text: &str) -> &str {
    static CRY: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i)^(?:(?:ah|oh|good|great|perfect|excellent|hm+|exactly)(?:[!,.]| [-–—]) |you're (?:absolutely )?right[!,.]? (?:[-–—] )?)+",
        )
    });
    let start = CRY.find(text).map_or(0, |cry| cry.end());
    &text[start..]
}

/// What begins as the second half of something said above it.
pub(crate) fn is_second_half(text: &str) -> bool {
    static SECOND: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i)^[*_]*(?:fixed|resolved|solved|addressed|handled)[*_]* (?:by|to|with|using|in)\b",
        )
    });
    SECOND.is_match(text)
}

/// A finding of a list with what was done about it, which stands below it; `None` where what
/// stands above is the title of a section.
pub(crate) fn joined(above: &str, below: &str) -> Option<String> {
    static TITLE: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i)^[*_\d. ]*(?:errors?|fix(?:es)?|problems?|issues?|changes|files|solutions?|key|current|pending|next|all)(?: \w+){0,4}[*_:]*$",
        )
    });
    if TITLE.is_match(above) {
        return None;
    }
    let above = above.trim_end_matches([':', '：', ' ']);
    let stop = if above.ends_with(['.', '。', '!', '?']) {
        ""
    } else {
        "."
    };
    let room = QUOTE_MAX.saturating_sub(below.chars().count() + stop.len() + 1);
    Some(format!("{}{stop} {below}", cut(above.to_owned(), room)))
}

/// Whether a consent does not say to what: "Yes, please proceed with the change."
pub(crate) fn is_bare(text: &str) -> bool {
    static CONSENT: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i)^(?:(?:yes|ok|okay|sure|alright|great|perfect|then|in that case|thank you|thanks|I confirm(?: that)?)[,.!]? )*(?:please |let's |I'd |I would |like to |I'll |just |that I |go ahead and )*(?:proceed|go|continue|stick|book|use|cancel)(?: ahead)?(?: with)?\b(.*)$",
        )
    });
    let plain = text.replace('’', "'");
    let Some(consent) = CONSENT.captures(&plain) else {
        return false;
    };
    let named = consent.get(1).map_or("", |rest| rest.as_str());
    let mut words = named.split(|c: char| !c.is_alphanumeric());
    words.all(|word| {
        let word = word.to_lowercase();
        word.is_empty() || VAGUE.split(' ').any(|vague| vague == word)
    })
}

/// Words that name nothing: what they stand for was said before.
const VAGUE: &str = "\
    a all amount an and any approach arrangement as be book booking bookings both cancel \
    canceling cancellation cancellations cancelling change changes changing choice confirm \
    current d flight flights following for from get go i idea in is it itinerary like ll make \
    making me method methods my new now of on one option options payment plan please proceed \
    receive refund request reservation reservations rest step steps suggestion that the them \
    then these this those to transaction update upgrade upgrades upgrading with yes your";

#[cfg(test)]
mod tests {
    use super::{is_bare, is_second_half, joined, trimmed, without_cry};

    #[test]
    fn a_line_is_quoted_without_what_leads_on() {
        let said = "The fix is to raise the limit.";
        let line = "Which do you prefer? The fix is to raise the limit. Let me check it:";
        assert_eq!(trimmed(line, said), said);
        let line = "The lock is taken twice. The fix is to raise the limit. Nothing else changes.";
        assert_eq!(trimmed(line, said), line);
        assert_eq!(trimmed("Another line?", said), said);
    }

    #[test]
    fn a_cry_says_nothing() {
        assert_eq!(without_cry("Ah! The port is 80."), "The port is 80.");
        assert_eq!(
            without_cry("You're right - the hooks run it."),
            "the hooks run it."
        );
        assert_eq!(
            without_cry("Good practice is a matter of taste."),
            "Good practice is a matter of taste."
        );
    }

    #[test]
    fn what_was_done_stands_behind_what_was_wrong() {
        assert!(is_second_half("Fixed by renaming it"));
        assert!(!is_second_half("Fixed colours are used"));
        let whole = joined("**`a` redeclared**:", "Fixed by renaming it");
        assert_eq!(
            whole.as_deref(),
            Some("**`a` redeclared**. Fixed by renaming it")
        );
        let long = joined(&"x".repeat(400), "Fixed by b");
        assert_eq!(long.map(|text| text.chars().count()), Some(300));
        assert_eq!(joined("**Errors and fixes:**", "Fixed by b"), None);
    }

    /// 16: a consent is kept where it says to what.
    #[test]
    fn a_consent_says_to_what() {
        for text in [
            "Yes, please proceed with the change.",
            "Let's go with that.",
            "I’d like to proceed with these changes.",
            "Yes, I'd like to proceed with the change and receive the refund.",
            "Please proceed with those payment methods.",
            "Yes, I confirm I would like to proceed with this change.",
        ] {
            assert!(is_bare(text), "{text}");
        }
        for text in [
            "Yes, please proceed with the upgrade to economy.",
            "Yes, please proceed with canceling reservation NQNU5R.",
            "Let's use the gift card.",
            "We decided to use it.",
        ] {
            assert!(!is_bare(text), "{text}");
        }
    }
}
