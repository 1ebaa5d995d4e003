//! For what a rule or a wish holds: the words of it that say so.

use std::sync::LazyLock;

use ctx_ledger::text::regex;
use regex::Regex;

/// Words that confine a rule to a time, a place or a case, or extend it to all of them.
const SCOPES: &str = concat!(
    r"(?i)\b(?:from now on|from here on|going forward|in (?:the )?future|in general|by default|everywhere|every time|always|never|for now|for the moment|this time|just this once|today|for the rest of (?:this|the) \w+|(?:in|for|on) (?:this|our|the whole|the entire|all|any|every|each) (?:[\w-]+ )?(?:project|repo|repository|codebase|branch|pr|release|session|task|trip|booking|reservation|file|folder|package|crate|module|tests?))\b",
    r"|\b(?:in|under|within|inside|outside) (?:`[^`]+`|[\w.~-]*/[\w./~*-]+|[\w-]+\.[a-z]{1,5}\b)",
    r"|\b(?:when(?:ever)?|while|if|unless|until|before|after|once|except) [^,.;:!?]{4,60}",
    r"|永远|总是|始终|一律|以后|今后|每次|从现在起|默认|暂时|目前|这次|本次|總是|永遠|從現在起|以後|今後|這次|暫時|(?:在|对|對|当|當|如果)[^，。；：]{2,20}(?:里|裡|中|时|時|之前|之后|之後|来说|來說)",
);

/// The words of a rule that say for what it holds: `from now on`, `` in `tests/` ``,
/// `before you commit`.
pub(crate) fn scope(rule: &str) -> Option<&str> {
    static SCOPE: LazyLock<Regex> = LazyLock::new(|| regex(SCOPES));
    SCOPE.find(rule).map(|found| found.as_str().trim_end())
}

#[cfg(test)]
mod tests {
    use super::scope;

    /// 16: a rule has its scope, where it names one.
    #[test]
    fn a_rule_says_for_what_it_holds() {
        for (rule, expected) in [
            ("From now on, answer in English.", "From now on"),
            ("Never push to main.", "Never"),
            (
                "Run the linter before you commit anything, please.",
                "before you commit anything",
            ),
            (
                "Use tabs in `src/legacy`, spaces elsewhere.",
                "in `src/legacy`",
            ),
            (
                "Don't touch anything in src/gen/api.rs",
                "in src/gen/api.rs",
            ),
            ("Use short names for this branch.", "for this branch"),
            ("Just leave it for now.", "for now"),
            ("以后都用中文回答。", "以后"),
            ("在测试里不要用 mock。", "在测试里"),
        ] {
            assert_eq!(scope(rule), Some(expected), "{rule}");
        }
        assert_eq!(scope("I prefer tabs."), None);
        assert_eq!(scope("Both types must stay in sync."), None);
    }
}
