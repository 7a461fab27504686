//! Frames of a peer that knows the key but not the protocol, followed by bytes of a peer that knows neither.
#![no_main]

use gossamer_cli::secure::key::Key;
use gossamer_cli::secure::noise::{Handshake, LONGEST};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|pieces: (Vec<Vec<u8>>, Vec<u8>)| {
    let key = Key::new([1; 32]);
    let (mut one, mut two) = (Handshake::initiator(&key).unwrap(), Handshake::responder(&key).unwrap());
    two.read(&one.write().unwrap()).unwrap();
    one.read(&two.write().unwrap()).unwrap();
    let ((mut sealer, _), (_, mut frames)) = (one.finish().unwrap(), two.finish().unwrap());
    for plain in pieces.0 {
        frames.received().extend(sealer.seal_frame(&plain).unwrap());
        match frames.take() {
            Ok(message) => assert!(message.is_none_or(|message| message.len() <= LONGEST)),
            Err(_) => return,
        }
    }
    frames.received().extend(pieces.1);
    assert!(!matches!(frames.take(), Ok(Some(_))), "a forged message was taken");
});
