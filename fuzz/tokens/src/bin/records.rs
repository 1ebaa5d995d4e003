//! Compares the engines on random records, or on the lines of files.
//!
//! `records FROM TO` compares records FROM to TO - 1; `records FILE…` each line of the
//! files that are UTF-8, and each of them up to a megabyte as a whole.

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [from, to] = args.as_slice()
        && let (Ok(from), Ok(to)) = (from.parse::<u64>(), to.parse())
    {
        for number in from..to {
            ctx_tokens_fuzz::compare(&ctx_tokens_fuzz::record(number));
        }
        println!("{} records are encoded alike", to - from);
        return;
    }
    let (mut texts, mut bytes) = (0, 0);
    for path in &args {
        let Ok(text) = std::fs::read_to_string(path) else {
            continue;
        };
        let whole = &text[..text.floor_char_boundary(1 << 20)];
        for text in text.lines().chain([whole]) {
            ctx_tokens_fuzz::compare(text);
            texts += 1;
            bytes += text.len();
        }
    }
    println!("{texts} texts, {bytes} bytes, are encoded alike");
}
