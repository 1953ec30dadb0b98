//! Files: see `herdscope_fuzz::reader`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| herdscope_fuzz::reader::check(bytes));
