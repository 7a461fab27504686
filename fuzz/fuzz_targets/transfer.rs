//! What the other side of a transfer of files sends: on the link, and in the blocks of the stream.
#![no_main]

use gossamer_cli::files::protocol::manifest::Manifest;
use gossamer_cli::files::protocol::message::{Offer, ReceiverMessage, SenderMessage};
use gossamer_cli::files::protocol::record::Records;
use gossamer_cli::secure::codec::{decode, encode};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = decode::<Offer>(bytes);
    if let Ok(answered) = decode::<ReceiverMessage>(bytes) {
        assert_eq!(decode::<ReceiverMessage>(&encode(&answered).unwrap()).unwrap(), answered);
    }
    if let Ok(said) = decode::<SenderMessage>(bytes) {
        assert_eq!(decode::<SenderMessage>(&encode(&said).unwrap()).unwrap(), said);
        if let SenderMessage::Entries(entries) = said {
            let mut manifest = Manifest::default();
            if manifest.add(entries).is_ok() {
                for entry in manifest.into_entries() {
                    let path = std::path::Path::new(std::str::from_utf8(&entry.path).unwrap_or("a"));
                    assert!(path.components().all(|part| matches!(part, std::path::Component::Normal(_))));
                    let _ = entry.leads_out();
                }
            }
        }
    }
    for record in Records::of(bytes).flatten() {
        let (head, contents) = record.parts();
        assert_eq!(Records::of(&[&head[..], contents].concat()).next(), Some(Ok(record)));
    }
});
