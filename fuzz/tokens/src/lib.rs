//! The token engine against two other implementations, token for token.

use ctx_tokens::{TokenCounter, Tokenizer};

#[path = "../../../crates/ctx-tokens/tests/it/random/mod.rs"]
mod random;

/// Record `number` of the random texts that the tests of ctx-tokens use too.
pub fn record(number: u64) -> String {
    random::record(number)
}

/// Compares the encodings of a text, and panics where one differs.
pub fn compare(text: &str) {
    let o200k = Some(bpe_openai::o200k_base());
    let cl100k = Some(bpe_openai::cl100k_base());
    compare_with(text, Tokenizer::o200k_base(), tiktoken_rs::o200k_base_singleton(), o200k);
    compare_with(text, Tokenizer::cl100k_base(), tiktoken_rs::cl100k_base_singleton(), cl100k);
    compare_with(text, Tokenizer::p50k_base(), tiktoken_rs::p50k_base_singleton(), None);
    compare_with(text, Tokenizer::r50k_base(), tiktoken_rs::r50k_base_singleton(), None);
}

fn compare_with(
    text: &str,
    own: Tokenizer,
    tiktoken: &tiktoken_rs::CoreBPE,
    openai: Option<&bpe_openai::Tokenizer>,
) {
    let tokens = own.encode(text);
    if let Some(openai) = openai {
        assert_eq!(tokens, openai.encode(text), "bpe-openai: {text:?}");
    }
    // It panics on long runs of white space.
    if text.len() < 100_000 {
        assert_eq!(tokens, tiktoken.encode_ordinary(text), "tiktoken-rs: {text:?}");
    }
    assert_eq!(own.decode(&tokens).as_deref(), Ok(text.as_bytes()));
    let count = tokens.len() as u64;
    assert_eq!(own.count(text), count);
    assert_eq!(own.count_up_to(text, count), Some(count));
    let half = own.truncate(text, count / 2);
    assert!(text.starts_with(half) && own.count(half) <= count / 2, "{text:?}");
}
