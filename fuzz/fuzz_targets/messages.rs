//! Messages of peers that know the key: whatever decodes can be encoded again. And what daemons pass on from nodes: it
//! decodes or is refused, and a text of metrics is still valid with one more label.
#![no_main]

use gossamer::inspect::{NodeActivity, NodeReport};
use gossamer_cli::metrics::labels::labelled;
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
    let _understood = (NodeReport::all_from_bytes(bytes), NodeActivity::all_from_bytes(bytes));
    if let Some(text) = str::from_utf8(bytes).ok().and_then(|text| labelled(text, "0123abcd")) {
        assert!(labelled(&text, "0").is_some(), "{text}");
    }
});
