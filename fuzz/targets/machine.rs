//! The breaker: see `herdscope_fuzz::machine`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| herdscope_fuzz::machine::check(bytes));
