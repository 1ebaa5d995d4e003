//! Compares the engine with tiktoken-rs token by token.
//!
//! In `fuzz/`, the engine is compared with a third implementation, on any number of records.

use std::path::{Path, PathBuf};

use ctx_tokens::{TokenCounter, Tokenizer};
use tiktoken_rs::CoreBPE;

use crate::random;

fn engines() -> [(&'static str, Tokenizer, &'static CoreBPE); 4] {
    [
        ("o200k_base", Tokenizer::o200k_base(), tiktoken_rs::o200k_base_singleton()),
        ("cl100k_base", Tokenizer::cl100k_base(), tiktoken_rs::cl100k_base_singleton()),
        ("p50k_base", Tokenizer::p50k_base(), tiktoken_rs::p50k_base_singleton()),
        ("r50k_base", Tokenizer::r50k_base(), tiktoken_rs::r50k_base_singleton()),
    ]
}

#[track_caller]
fn check(text: &str) {
    for (name, tokenizer, reference) in engines() {
        let tokens = tokenizer.encode(text);
        let expected = reference.encode_ordinary(text);
        if tokens != expected {
            let place = tokens.iter().zip(&expected).take_while(|(a, b)| a == b).count();
            let before = tokenizer.decode(&tokens[..place]).expect("its own tokens").len();
            let around = &text.as_bytes()[before.saturating_sub(20)..text.len().min(before + 60)];
            panic!("{name}: token {place} differs near {:?}", String::from_utf8_lossy(around));
        }
        assert_eq!(tokenizer.count(text), expected.len() as u64, "{name}: {text:?}");
    }
}

#[test]
fn random_records_are_encoded_alike() {
    for number in 0..20_000 {
        check(&random::record(number));
    }
}

#[test]
#[ignore = "takes minutes; CTX_RECORDS says how many records"]
fn many_random_records_are_encoded_alike() {
    let records = std::env::var("CTX_RECORDS").map_or(2_000_000, |n| n.parse().expect("a number"));
    for number in 20_000..20_000 + records {
        check(&random::record(number));
    }
}

/// Encodes all pairs and triples of characters from a set that covers every character class.
#[test]
fn short_texts_of_every_class_are_encoded_alike() {
    let chars = [
        'a', 'B', 'ǅ', 'ʰ', '中', '\u{301}', '1', '½', ' ', '\t', '\u{a0}', '\n', '\r', '!', '/',
        '\'', 's', 'ſ', 'l', '😀',
    ];
    for a in chars {
        for b in chars {
            for c in chars {
                check(&String::from_iter([a, b, c]));
                check(&String::from_iter(['x', a, b, c, 'Y']));
                check(&String::from_iter(['X', a, b, c, ' ', 'y']));
            }
        }
    }
}

#[test]
fn every_character_has_its_class() {
    // Each character is tried between upper- and lower-case letters, numbers and spaces. Planes 4
    // to 16 have no letters, numbers or spaces so far, so only one in 128 of their characters is
    // tried.
    let is_tried = |c: &char| u32::from(*c) < 0x4_0000 || u32::from(*c).is_multiple_of(128);
    let chars: Vec<char> = ('\0'..=char::MAX).filter(is_tried).collect();
    for chars in chars.chunks(512) {
        let texts = chars.iter().map(|c| format!("A{c}a{c}1{c} {c}B{c}"));
        check(&texts.collect::<String>());
    }
}

/// `p50k_base` and `r50k_base` differ in runs of spaces, which are also the longest tokens.
#[test]
fn runs_of_every_length_are_encoded_alike() {
    for unit in [" ", "\t", "\n", "\u{a0}", "-", "=", "*", "a", "0", "中", "\u{3000}"] {
        for length in 0..150 {
            let run = unit.repeat(length);
            for (before, after) in [("", ""), ("x", "y"), ("\n", "\n"), (" ", "'s"), ("!", " 1")] {
                check(&format!("{before}{run}{after}"));
            }
        }
        check(&unit.repeat(100_000));
    }
}

/// The files are crate sources and READMEs, which every Rust developer has.
#[test]
fn files_of_the_cargo_registry_are_encoded_alike() {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let Some(registry) = home.map(|home| home.join("registry/src")) else { return };
    let mut left = 4 << 20;
    each_file(&registry, &mut |path| {
        let known = ["rs", "md", "toml", "txt", "json", "py", "c", "h"];
        let known = path.extension().is_some_and(|name| known.iter().any(|known| name == *known));
        if known
            && left > 0
            && let Ok(text) = std::fs::read_to_string(path)
        {
            // Only the beginning of each file is tested, so that many files can be tested.
            let text: String = text.chars().take(20_000).collect();
            check(&text);
            left -= text.len().min(left);
        }
    });
}

/// Encodes the sessions in the folder named by `CTX_TRANSCRIPTS`, if that variable is set.
#[test]
fn transcripts_are_encoded_alike() {
    let Some(folder) = std::env::var_os("CTX_TRANSCRIPTS") else { return };
    each_file(Path::new(&folder), &mut |path| {
        if let Ok(text) = std::fs::read_to_string(path) {
            text.lines().for_each(check);
        }
    });
}

fn each_file(folder: &Path, take: &mut impl FnMut(&Path)) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            each_file(&path, take);
        } else {
            take(&path);
        }
    }
}
