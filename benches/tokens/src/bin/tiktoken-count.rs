//! The smallest program that counts a file's tokens with tiktoken-rs; the start-up of ctx-count is
//! compared with it.

fn main() {
    let path = std::env::args_os().nth(1).expect("a file");
    let text = std::fs::read_to_string(path).expect("readable text");
    let engine = tiktoken_rs::o200k_base().expect("the vocabulary");
    println!("{}", engine.count_ordinary(&text));
}
