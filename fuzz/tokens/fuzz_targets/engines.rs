//! `cargo +nightly fuzz run engines`: any bytes, as text.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    ctx_tokens_fuzz::compare(&String::from_utf8_lossy(bytes));
});
