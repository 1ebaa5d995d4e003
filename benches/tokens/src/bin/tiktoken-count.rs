//! The least program that counts a file's tokens by tiktoken-rs: what start-up is measured against.

fn main() {
    let path = std::env::args_os().nth(1).expect("a file");
    let text = std::fs::read_to_string(path).expect("readable text");
    let engine = tiktoken_rs::o200k_base().expect("the vocabulary");
    println!("{}", engine.count_ordinary(&text));
}
