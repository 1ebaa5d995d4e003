//! Tests everything that the tokenizer promises except the tokens themselves: see `exact.rs`.

use ctx_tokens::{TokenCounter, Tokenizer, UnknownToken};

use crate::random;

const ALL: [fn() -> Tokenizer; 4] =
    [Tokenizer::o200k_base, Tokenizer::cl100k_base, Tokenizer::p50k_base, Tokenizer::r50k_base];

fn texts() -> impl Iterator<Item = String> {
    (0..3_000).map(random::record)
}

#[test]
fn the_empty_text_has_no_tokens() {
    for tokenizer in ALL.map(|make| make()) {
        assert_eq!(tokenizer.count(""), 0);
        assert_eq!(tokenizer.count_up_to("", 0), Some(0));
        assert!(tokenizer.encode("").is_empty());
        assert_eq!(tokenizer.truncate("", 5), "");
    }
}

#[test]
fn control_tokens_are_text() {
    assert_eq!(Tokenizer::o200k_base().count("<|endoftext|>"), 7);
}

#[test]
fn decoding_gives_the_text_back() {
    for tokenizer in ALL.map(|make| make()) {
        for text in texts() {
            let tokens = tokenizer.encode(&text);
            assert_eq!(tokenizer.decode(&tokens), Ok(text.into_bytes()));
        }
    }
}

#[test]
fn numbers_that_are_no_tokens_are_named() {
    let o200k = Tokenizer::o200k_base();
    assert_eq!(o200k.decode(&[0, 199_997]).map(|bytes| bytes[0]), Ok(b'!'));
    for unknown in [199_998, 199_999, u32::MAX] {
        assert_eq!(o200k.decode(&[0, unknown]), Err(UnknownToken(unknown)));
    }
    let cl100k = Tokenizer::cl100k_base();
    assert!(cl100k.decode(&[100_255]).is_ok());
    let error = cl100k.decode(&[100_256]).expect_err("unknown");
    assert_eq!(error.to_string(), "no token has the number 100256");
    // In p50k, there is a control token between the tokens of r50k and the added runs of spaces.
    let p50k = Tokenizer::p50k_base();
    assert_eq!(p50k.decode(&[50_257]), Ok(b"  ".to_vec()));
    assert_eq!(p50k.decode(&[50_280]), Ok(vec![b' '; 25]));
    let r50k = Tokenizer::r50k_base();
    assert!(r50k.decode(&[50_255]).is_ok());
    for (tokenizer, unknown) in [(p50k, 50_256), (p50k, 50_281), (r50k, 50_256), (r50k, 50_257)] {
        assert_eq!(tokenizer.decode(&[unknown]), Err(UnknownToken(unknown)));
    }
}

#[test]
fn the_limit_of_a_count_is_inclusive() {
    for tokenizer in ALL.map(|make| make()) {
        for text in texts() {
            let tokens = tokenizer.count(&text);
            assert_eq!(tokenizer.count_up_to(&text, tokens), Some(tokens));
            assert_eq!(tokenizer.count_up_to(&text, tokens + 1), Some(tokens));
            if tokens > 0 {
                assert_eq!(tokenizer.count_up_to(&text, tokens - 1), None);
                assert_eq!(tokenizer.count_up_to(&text, 0), None);
            }
        }
    }
}

#[test]
fn a_truncated_text_keeps_to_its_limit_and_is_as_long_as_its_tokens() {
    for tokenizer in ALL.map(|make| make()) {
        for text in texts() {
            let tokens = tokenizer.encode(&text);
            for limit in [0, 1, 2, 5, 10, tokens.len() / 2, tokens.len()] {
                let start = tokenizer.truncate(&text, limit as u64);
                assert!(text.starts_with(start));
                assert!(tokenizer.count(start) <= limit as u64, "{text:?} to {limit}");
                if limit >= tokens.len() {
                    assert_eq!(start, text);
                    continue;
                }
                let whole = tokenizer.decode(&tokens[..limit]).expect("its own tokens");
                let whole = match str::from_utf8(&whole) {
                    Ok(whole) => whole,
                    Err(cut) => &text[..cut.valid_up_to()],
                };
                if tokenizer.count(whole) <= limit as u64 {
                    assert_eq!(start, whole);
                }
            }
        }
    }
}

#[test]
fn a_token_that_holds_a_part_of_a_character_is_cut_off() {
    let o200k = Tokenizer::o200k_base();
    // Each of these characters consists of several tokens.
    let text = "\u{1f9d1}\u{200d}\u{1f52c}";
    assert!(o200k.encode(text).len() > 3);
    for limit in 0..6 {
        let start = o200k.truncate(text, limit);
        assert!(o200k.count(start) <= limit);
    }
    assert_eq!(o200k.truncate("𒀀", 1), "");
}

#[test]
fn bytes_that_are_not_utf_8_count_as_the_replacement_character() {
    for tokenizer in ALL.map(|make| make()) {
        for (bytes, text) in [
            (&b"plain"[..], "plain"),
            (b"a\xffb", "a\u{fffd}b"),
            (b"a\xe4\xb8 b", "a\u{fffd} b"),
            (b"\xc0\x80", "\u{fffd}\u{fffd}"),
            (b"cut \xf0\x9f\x98", "cut \u{fffd}"),
        ] {
            assert_eq!(tokenizer.count_bytes(bytes), tokenizer.count(text), "{bytes:?}");
        }
    }
}

/// For o200k and cl100k, the expected numbers are those of bpe-openai 0.3.2. For the other
/// encodings, the numbers are extrapolated from tiktoken-rs counts for 250,000 bytes, because
/// tiktoken-rs panics on a megabyte of whitespace.
#[test]
fn a_megabyte_of_one_character_is_counted() {
    for (unit, expected) in [
        (" ", [8_192, 8_192, 65_536, 1_048_576]),
        ("a", [131_072, 131_072, 262_144, 262_144]),
        ("\n", [65_536, 32_768, 524_288, 524_288]),
        ("中", [349_526, 349_526, 349_526, 349_526]),
    ] {
        let text = unit.repeat((1usize << 20).div_ceil(unit.len()));
        let then_word = format!("{text}x");
        for (tokenizer, expected) in ALL.map(|make| make()).iter().zip(expected) {
            assert_eq!(tokenizer.count(&text), expected, "{unit:?}");
            assert!(tokenizer.count(&then_word) >= expected);
        }
    }
}

#[test]
fn a_limit_that_the_length_alone_breaks_costs_nothing() {
    let letters = "a".repeat(16 << 20);
    for tokenizer in ALL.map(|make| make()) {
        assert_eq!(tokenizer.count_up_to(&letters, 1_000), None);
    }
}
