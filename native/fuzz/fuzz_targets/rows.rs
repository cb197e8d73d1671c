//! Any bytes as streams of rows: `cargo +nightly fuzz run rows fuzz/corpus/rows ../testdata/rowcodec`, in `native/`.

#![no_main]

use headrace_native::rowcodec::check::check;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let _ = check(input);
});
