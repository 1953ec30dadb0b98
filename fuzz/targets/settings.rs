//! Settings as text: see `herdscope_fuzz::settings`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| herdscope_fuzz::settings::check(bytes));
