//! Tokens counted per second, on one thread, by several implementations.
//!
//! `throughput [--cl100k] [--passes N] FILE…` prints a row of a Markdown table for each file: MB/s
//! of processor time, best of N passes. The engines take turns. The program fails if their counts
//! differ.

use ctx_tokens::{TokenCounter, Tokenizer};
use rustix::time::{ClockId, clock_gettime};

type Count<'e> = (&'static str, Box<dyn Fn(&str) -> u64 + 'e>);

fn main() {
    let mut files = Vec::new();
    let (mut cl100k, mut passes) = (false, 5);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--cl100k" => cl100k = true,
            "--passes" => passes = args.next().expect("a number").parse().expect("a number"),
            _ => files.push(arg),
        }
    }
    let engines = if cl100k { engines_cl100k() } else { engines_o200k() };
    print!("| MB/s, best of {passes} |");
    engines.iter().for_each(|(name, _)| print!(" {name} |"));
    print!("\n|---|{}\n", "--:|".repeat(engines.len()));
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a text");
        let mut best = vec![u64::MAX; engines.len()];
        let mut counts = vec![0; engines.len()];
        for _ in 0..passes {
            for (at, (_, count)) in engines.iter().enumerate() {
                let start = processor_time();
                counts[at] = count(&text);
                best[at] = best[at].min(processor_time() - start);
            }
        }
        assert!(counts.iter().all(|count| *count == counts[0]), "{file}: {counts:?}");
        let name = file.rsplit('/').next().unwrap_or(&file);
        print!("| {name}, {:.1} MB |", text.len() as f64 / 1e6);
        best.iter().for_each(|ns| print!(" {:.1} |", text.len() as f64 * 1e3 / *ns as f64));
        println!();
    }
}

fn engines_o200k() -> Vec<Count<'static>> {
    let own = Tokenizer::o200k_base();
    let toktok = toktok::Tokenizer::builtin("o200k_base").expect("a vocabulary");
    vec![
        ("ctx-tokens", Box::new(move |text| own.count(text))),
        ("toktok-rs", Box::new(move |text| toktok.count(text.as_bytes()) as u64)),
        ("bpe-openai", Box::new(|text| bpe_openai::o200k_base().count(text) as u64)),
        (
            "tiktoken-rs",
            Box::new(|text| tiktoken_rs::o200k_base_singleton().count_ordinary(text) as u64),
        ),
    ]
}

fn engines_cl100k() -> Vec<Count<'static>> {
    let own = Tokenizer::cl100k_base();
    let toktok = toktok::Tokenizer::builtin("cl100k_base").expect("a vocabulary");
    vec![
        ("ctx-tokens", Box::new(move |text| own.count(text))),
        ("toktok-rs", Box::new(move |text| toktok.count(text.as_bytes()) as u64)),
        ("bpe-openai", Box::new(|text| bpe_openai::cl100k_base().count(text) as u64)),
        (
            "tiktoken-rs",
            Box::new(|text| tiktoken_rs::cl100k_base_singleton().count_ordinary(text) as u64),
        ),
    ]
}

/// Returns the nanoseconds that this thread has run, which other programs hardly change.
fn processor_time() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    (time.tv_sec * 1_000_000_000 + time.tv_nsec) as u64
}
