//! A link and a file, drawn: see `herdscope_fuzz::page`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| herdscope_fuzz::page::check(bytes));
