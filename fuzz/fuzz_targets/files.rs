//! The configuration and the key file.
#![no_main]

use gossamer_cli::rack::config::Rack;
use gossamer_cli::secure::key::Key;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = Key::parse(bytes);
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Err(failure) = Rack::parse(text, "rack.toml")
    {
        assert!(failure.message.starts_with("rack.toml:"), "{failure}");
    }
});
