//! Compares the counters with tiktoken-rs on ordinary text and on random text.

use std::fmt::Write as _;

use ctx_tokens::Encoding;
use proptest::prelude::*;
use tiktoken_rs::CoreBPE;

fn engine(encoding: Encoding) -> &'static CoreBPE {
    match encoding {
        Encoding::O200kBase | Encoding::Chars4 => tiktoken_rs::o200k_base_singleton(),
        Encoding::O200kHarmony => tiktoken_rs::o200k_harmony_singleton(),
        Encoding::Cl100kBase => tiktoken_rs::cl100k_base_singleton(),
        Encoding::P50kBase => tiktoken_rs::p50k_base_singleton(),
        Encoding::R50kBase => tiktoken_rs::r50k_base_singleton(),
        other => panic!("{other} is compared with nothing"),
    }
}

fn tokenizers() -> impl Iterator<Item = Encoding> {
    Encoding::ALL.iter().copied().filter(|encoding| *encoding != Encoding::Chars4)
}

/// Returns a text of many pieces, some of them long.
fn long_ordinary_text() -> String {
    let mut text = String::new();
    for n in 0..6_000 {
        let _ = writeln!(
            text,
            "fn step_{n}() {{\n    let sum = {n} + 1; // 第 {n} 步\n}}{}",
            " ".repeat(n % 40)
        );
    }
    text
}

#[test]
fn long_ordinary_text_is_counted_exactly() {
    let text = long_ordinary_text();
    assert!(text.len() > 300_000, "{}", text.len());
    for encoding in tokenizers() {
        let tokens = engine(encoding).encode_ordinary(&text).len() as u64;
        assert_eq!(encoding.counter().count(&text), tokens, "{encoding}");
        assert_eq!(encoding.counter().count_up_to(&text, tokens), Some(tokens));
        assert_eq!(encoding.counter().count_up_to(&text, tokens - 1), None);
    }
}

#[test]
fn counters_are_shared_by_threads() {
    let text = long_ordinary_text();
    let counter = Encoding::O200kBase.counter();
    let alone = counter.count(&text);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| counter.count(&text))).collect();
        for thread in threads {
            assert_eq!(thread.join().expect("no panic"), alone);
        }
    });
}

proptest! {
    #[test]
    fn random_text_is_counted_exactly(text in "\\PC*|[ \\t\\r\\na'sSLl/0-9é中ſ\u{301}]*") {
        for encoding in tokenizers() {
            let tokens = engine(encoding).encode_ordinary(&text).len() as u64;
            prop_assert_eq!(encoding.counter().count(&text), tokens);
        }
    }

    #[test]
    fn the_limit_agrees_with_the_count(text in "\\PC{0,200}", limit in 0u64..80) {
        for &encoding in Encoding::ALL {
            let tokens = encoding.counter().count(&text);
            let expected = (tokens <= limit).then_some(tokens);
            prop_assert_eq!(encoding.counter().count_up_to(&text, limit), expected);
        }
    }
}
