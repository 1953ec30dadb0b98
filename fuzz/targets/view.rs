//! Links: see `herdscope_fuzz::view`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| herdscope_fuzz::view::check(bytes));
