#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| gil_fuzz::cuda::dispatch(data));
