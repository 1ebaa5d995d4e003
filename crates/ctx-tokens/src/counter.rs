//! The interface of an engine.

/// Counts the tokens of a text.
///
/// A text is counted as its own document: counts of two texts do not add up to
/// the count of their concatenation. Words that look like control tokens
/// (`<|endoftext|>`) are counted as the plain text they are.
pub trait TokenCounter: Send + Sync {
    /// The number of tokens of `text`; 0 for the empty text.
    fn count(&self, text: &str) -> u64;

    /// The number of tokens of `text` if it is `limit` or less, else `None`.
    ///
    /// For budgets: an engine may stop as soon as the limit is passed.
    fn count_up_to(&self, text: &str, limit: u64) -> Option<u64> {
        let tokens = self.count(text);
        (tokens <= limit).then_some(tokens)
    }
}
