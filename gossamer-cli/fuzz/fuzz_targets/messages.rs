//! Messages of peers that know the key: whatever is understood can be said again.
#![no_main]

use gossamer_cli::rack::protocol::{Hello, Reply, Request};
use gossamer_cli::secure::codec::{decode, encode};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(hello) = decode::<Hello>(bytes) {
        assert_eq!(decode::<Hello>(&encode(&hello).unwrap()).unwrap(), hello);
    }
    if let Ok(request) = decode::<Request>(bytes) {
        assert_eq!(decode::<Request>(&encode(&request).unwrap()).unwrap(), request);
    }
    if let Ok(reply) = decode::<Reply>(bytes) {
        assert_eq!(decode::<Reply>(&encode(&reply).unwrap()).unwrap(), reply);
    }
});
