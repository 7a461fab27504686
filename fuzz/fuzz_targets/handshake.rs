//! The first bytes of a peer, and of somebody who answers in place of a daemon: nothing is accepted without the key.
#![no_main]

use gossamer_cli::secure::key::Key;
use gossamer_cli::secure::noise::Handshake;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|message: [u8; 48]| {
    let key = Key::new([1; 32]);
    assert!(Handshake::responder(&key).unwrap().read(&message).is_err());
    let mut initiator = Handshake::initiator(&key).unwrap();
    initiator.write().unwrap();
    assert!(initiator.read(&message).is_err());
});
