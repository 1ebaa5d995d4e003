//! The encodings and their names, and the interface for counting tokens.

use std::fmt;
use std::str::FromStr;

use crate::native::Tokenizer;

/// A way to convert text to tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Encoding {
    /// The encoding of GPT-4o, GPT-4.1, GPT-5 and the o series.
    #[default]
    O200kBase,
    /// The encoding of gpt-oss, with the tokens of `o200k_base` but different control tokens. Plain
    /// text has the same number of tokens in both encodings.
    O200kHarmony,
    /// The encoding of GPT-4 and GPT-3.5.
    Cl100kBase,
    /// The encoding of text-davinci-002 and -003, and of code models from the same period.
    P50kBase,
    /// The encoding of GPT-3 and GPT-2.
    R50kBase,
    /// An estimate without a tokenizer: the number of characters divided by 4, rounded up.
    Chars4,
}

/// The error for an unknown encoding name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown encoding {0:?}; use one of {list}", list = Encoding::list())]
pub struct UnknownEncoding(pub String);

impl Encoding {
    /// All encodings. The first encoding is the default.
    pub const ALL: &'static [Self] = &[
        Self::O200kBase,
        Self::O200kHarmony,
        Self::Cl100kBase,
        Self::P50kBase,
        Self::R50kBase,
        Self::Chars4,
    ];

    /// OpenAI's name for the encoding, or our own name if the encoding is not from OpenAI.
    pub const fn name(self) -> &'static str {
        match self {
            Self::O200kBase => "o200k_base",
            Self::O200kHarmony => "o200k_harmony",
            Self::Cl100kBase => "cl100k_base",
            Self::P50kBase => "p50k_base",
            Self::R50kBase => "r50k_base",
            Self::Chars4 => "chars4",
        }
    }

    /// The counter for this encoding. Calling this method is cheap, because the counters are
    /// constants.
    pub fn counter(self) -> &'static dyn TokenCounter {
        match self {
            Self::O200kBase | Self::O200kHarmony => const { &Tokenizer::o200k_base() },
            Self::Cl100kBase => const { &Tokenizer::cl100k_base() },
            Self::P50kBase => const { &Tokenizer::p50k_base() },
            Self::R50kBase => const { &Tokenizer::r50k_base() },
            Self::Chars4 => &Chars4,
        }
    }

    fn list() -> String {
        Self::ALL.iter().map(|encoding| encoding.name()).collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Encoding {
    type Err = UnknownEncoding;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .iter()
            .copied()
            .find(|encoding| encoding.name() == name)
            .ok_or_else(|| UnknownEncoding(name.to_owned()))
    }
}

/// Counts the tokens in text.
///
/// Each text is counted separately, so the count for two joined texts may differ from the sum of
/// their separate counts. Text that looks like a control token (`<|endoftext|>`) is counted as
/// plain text.
pub trait TokenCounter: Send + Sync {
    /// The number of tokens in `text`. An empty text has 0 tokens.
    fn count(&self, text: &str) -> u64;

    /// The number of tokens in `text`; `None` if there are more than `limit`.
    ///
    /// Use this method to check a budget, because the counter may stop as soon as the limit is
    /// exceeded.
    fn count_up_to(&self, text: &str, limit: u64) -> Option<u64> {
        let tokens = self.count(text);
        (tokens <= limit).then_some(tokens)
    }
}

/// Estimates the number of tokens as the number of characters (Unicode scalar values) divided by 4,
/// rounded up.
pub(crate) struct Chars4;

impl TokenCounter for Chars4 {
    fn count(&self, text: &str) -> u64 {
        (text.chars().count() as u64).div_ceil(4)
    }
}

#[cfg(test)]
mod tests {
    use super::Chars4;
    use super::Encoding;
    use crate::TokenCounter;

    #[test]
    fn every_name_is_read_back() {
        for &encoding in Encoding::ALL {
            assert_eq!(encoding.to_string().parse(), Ok(encoding));
        }
        assert_eq!(Encoding::default(), Encoding::ALL[0]);
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_list() {
        let error = "o300k".parse::<Encoding>().expect_err("unknown");
        assert_eq!(
            error.to_string(),
            "unknown encoding \"o300k\"; use one of o200k_base, o200k_harmony, \
             cl100k_base, p50k_base, r50k_base, chars4"
        );
    }

    #[test]
    fn the_encodings_differ_where_they_should() {
        let text = "我们决定使用 Rust 来写这个工具。";
        let counts = Encoding::ALL.iter().map(|encoding| encoding.counter().count(text));
        assert_eq!(counts.collect::<Vec<_>>(), [9, 9, 14, 26, 26, 5]);
    }

    #[test]
    fn four_characters_are_a_token_and_a_rest_is_one_more() {
        for (text, tokens) in [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("决定使用", 1)] {
            assert_eq!(Chars4.count(text), tokens, "{text}");
        }
    }
}
