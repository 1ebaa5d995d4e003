//! The public interface of the engine.

use super::layout::LONGEST;
use super::memo::{self, Memo};
use super::merge::Merger;
use super::pieces::{cl100k, gpt2, o200k};
use super::vocabulary::{self, Vocabulary};
use crate::TokenCounter;

/// An exact tokenizer for one encoding. Creating a tokenizer costs nothing, because its tables are
/// built into the program. A tokenizer can be copied, and several threads can use it at the same
/// time.
///
/// Text that looks like a control token (`<|endoftext|>`) is treated as plain text.
///
/// ```
/// use ctx_tokens::Tokenizer;
///
/// let tokenizer = Tokenizer::o200k_base();
/// assert_eq!(tokenizer.encode("hello world"), [24912, 2375]);
/// assert_eq!(tokenizer.truncate("hello world", 1), "hello");
/// ```
#[derive(Clone, Copy)]
pub struct Tokenizer {
    vocabulary: &'static Vocabulary,
    encoding: Which,
}

#[derive(Clone, Copy)]
enum Which {
    O200k,
    Cl100k,
    P50k,
    R50k,
}

/// The error for a number that does not identify a token of the encoding. The numbers of control
/// tokens also count as unknown, because control tokens have no text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no token has the number {0}")]
pub struct UnknownToken(pub u32);

impl Tokenizer {
    /// The tokenizer of GPT-4o and later models. `o200k_harmony` has the same tokens, but different
    /// control tokens.
    pub const fn o200k_base() -> Self {
        Self::new(&vocabulary::O200K, Which::O200k)
    }

    /// The tokenizer of GPT-4 and GPT-3.5.
    pub const fn cl100k_base() -> Self {
        Self::new(&vocabulary::CL100K, Which::Cl100k)
    }

    /// The tokenizer of text-davinci-002 and -003, and of code models from the same period.
    pub const fn p50k_base() -> Self {
        Self::new(&vocabulary::P50K, Which::P50k)
    }

    /// The tokenizer of GPT-3 and GPT-2.
    pub const fn r50k_base() -> Self {
        Self::new(&vocabulary::R50K, Which::R50k)
    }

    // The caller passes the vocabulary rather than just the encoding, so that a program contains
    // only the tables for the encodings that it uses.
    const fn new(vocabulary: &'static Vocabulary, encoding: Which) -> Self {
        Self { vocabulary, encoding }
    }

    /// The number of tokens in text given as bytes, which should be UTF-8. Invalid bytes are
    /// replaced as in `String::from_utf8_lossy`: U+FFFD replaces each incomplete character, and
    /// each byte that cannot begin a character.
    pub fn count_bytes(&self, bytes: &[u8]) -> u64 {
        self.count(&String::from_utf8_lossy(bytes))
    }

    /// Returns the numbers of all tokens in `text`.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        self.tokens(text, usize::MAX)
    }

    /// The bytes of the given tokens. The result is not always valid UTF-8, because a token may end
    /// inside a character.
    pub fn decode(&self, tokens: &[u32]) -> Result<Vec<u8>, UnknownToken> {
        let mut text = Vec::new();
        for &rank in tokens {
            if !self.vocabulary.has(rank) {
                return Err(UnknownToken(rank));
            }
            self.vocabulary.decode(rank, &mut text);
        }
        Ok(text)
    }

    /// The beginning of `text` that has at most `limit` tokens: all characters that lie entirely
    /// within its first `limit` tokens. (If the result has more than `limit` tokens when it is
    /// encoded alone, it is cut again.)
    pub fn truncate<'t>(&self, text: &'t str, limit: u64) -> &'t str {
        let mut rest = text;
        while let Some(mut cut) = self.cut(rest, limit) {
            while !rest.is_char_boundary(cut) {
                cut -= 1;
            }
            rest = &rest[..cut];
        }
        rest
    }

    /// The end of the first `limit` tokens of `text`; `None` if `text` does not have more tokens.
    fn cut(&self, text: &str, limit: u64) -> Option<usize> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let tokens = self.tokens(text, limit);
        let length = |rank: &u32| self.vocabulary.length(*rank);
        (tokens.len() > limit).then(|| tokens[..limit].iter().map(length).sum())
    }

    /// The number of tokens in `text`. If there are more than `limit` tokens, any number above
    /// `limit` may be returned.
    #[allow(clippy::redundant_closure, reason = "measured: a closure is inlined into the loop")]
    fn count_within(&self, text: &str, limit: u64) -> u64 {
        let text = text.as_bytes();
        Memo::with(self.encoding as usize, |memo| match self.encoding {
            Which::O200k => self.count_pieces(|text, at| o200k(text, at), text, limit, memo),
            Which::Cl100k => self.count_pieces(|text, at| cl100k(text, at), text, limit, memo),
            Which::P50k | Which::R50k => {
                self.count_pieces(|text, at| gpt2(text, at), text, limit, memo)
            }
        })
    }

    fn count_pieces(
        &self,
        piece_end: impl Fn(&[u8], usize) -> usize,
        text: &[u8],
        limit: u64,
        memo: &mut Memo,
    ) -> u64 {
        let mut merger = Merger::new(self.vocabulary);
        let mut tokens = 0;
        let mut start = 0;
        while start < text.len() && tokens <= limit {
            let end = piece_end(text, start);
            let mut count = || count_piece(&mut merger, text, start, end);
            tokens += if end - start <= memo::LONGEST {
                memo.tokens(text, start, end, count)
            } else {
                count()
            };
            start = end;
        }
        tokens
    }

    /// The tokens of `text`. If there are more than `limit` tokens, encoding stops soon after the
    /// limit is reached.
    fn tokens(&self, text: &str, limit: usize) -> Vec<u32> {
        match self.encoding {
            Which::O200k => self.tokens_of(o200k, text.as_bytes(), limit),
            Which::Cl100k => self.tokens_of(cl100k, text.as_bytes(), limit),
            Which::P50k | Which::R50k => self.tokens_of(gpt2, text.as_bytes(), limit),
        }
    }

    fn tokens_of(
        &self,
        piece_end: impl Fn(&[u8], usize) -> usize,
        text: &[u8],
        limit: usize,
    ) -> Vec<u32> {
        let mut merger = Merger::new(self.vocabulary);
        let mut tokens = Vec::new();
        let mut start = 0;
        while start < text.len() && tokens.len() <= limit {
            let end = piece_end(text, start);
            tokens.extend_from_slice(merger.encode(&text[start..end]));
            start = end;
        }
        tokens
    }
}

#[cold]
fn count_piece(merger: &mut Merger, text: &[u8], start: usize, end: usize) -> u64 {
    merger.encode(&text[start..end]).len() as u64
}

impl TokenCounter for Tokenizer {
    fn count(&self, text: &str) -> u64 {
        self.count_within(text, u64::MAX)
    }

    fn count_up_to(&self, text: &str, limit: u64) -> Option<u64> {
        if (text.len() as u64).div_ceil(LONGEST as u64) > limit {
            return None;
        }
        let tokens = self.count_within(text, limit);
        (tokens <= limit).then_some(tokens)
    }
}
