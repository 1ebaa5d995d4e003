//! The heuristic of four characters a token.

use crate::TokenCounter;

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
