//! Times and durations: see `herdscope_fuzz::grammar`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| herdscope_fuzz::grammar::check(bytes));
