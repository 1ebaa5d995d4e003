//! The interface of an engine, and the heuristic of four characters per token.

/// Counts the tokens of a text.
///
/// Each text is counted as its own document: the counts of two texts do not add up to the count of
/// their concatenation. Text that looks like a control token (`<|endoftext|>`) counts as plain
/// text.
pub trait TokenCounter: Send + Sync {
    /// The number of tokens of `text`; 0 for the empty text.
    fn count(&self, text: &str) -> u64;

    /// The number of tokens of `text` if it is at most `limit`, otherwise `None`.
    ///
    /// This is for budgets: an engine may stop as soon as the limit is exceeded.
    fn count_up_to(&self, text: &str, limit: u64) -> Option<u64> {
        let tokens = self.count(text);
        (tokens <= limit).then_some(tokens)
    }
}

/// Characters / 4, rounded up; characters are Unicode scalar values.
pub(crate) struct Chars4;

impl TokenCounter for Chars4 {
    fn count(&self, text: &str) -> u64 {
        (text.chars().count() as u64).div_ceil(4)
    }
}

#[cfg(test)]
mod tests {
    use super::Chars4;
    use crate::TokenCounter;

    #[test]
    fn four_characters_are_a_token_and_a_rest_is_one_more() {
        for (text, tokens) in [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("决定使用", 1)] {
            assert_eq!(Chars4.count(text), tokens, "{text}");
        }
    }
}
