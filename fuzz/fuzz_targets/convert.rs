#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ctx_fuzz::run("convert", bytes));
