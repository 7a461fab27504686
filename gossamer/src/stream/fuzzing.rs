//! Called by a fuzz target: decoders of what another end sends.

use crate::fabric::verbs::choice::offer::PortOffer;
use crate::fabric::verbs::choice::pairs::pairs;
use crate::fabric::verbs::reads::parameters::ReadParameters;
use crate::stream::checksum::with_checksum;
use crate::stream::connect::parameters::{self, StreamParameters};
use crate::stream::connect::statement;
use crate::stream::pump::frame::{self, PumpFrame};
use crate::wire::decoder::Decoder;

/// Bytes as frames and as parameters, with correct checksums, since anything else is rejected before it is decoded.
pub fn streams(bytes: &[u8]) {
    for text in bytes.as_chunks::<{ frame::TEXT }>().0 {
        let sealed = with_checksum(*text);
        if let Ok(frame) = PumpFrame::from_bytes(sealed) {
            assert_eq!(frame.to_bytes(), sealed);
        }
    }
    decode_statements(bytes);
    let Some(text) = bytes.first_chunk::<{ parameters::TEXT }>() else { return };
    if let Some(theirs) = StreamParameters::from_bytes(with_checksum(*text)) {
        assert_eq!(StreamParameters::from_bytes(theirs.to_bytes()), Some(theirs));
        let _refused = (theirs.check(&theirs), theirs.geometry.check());
    }
}

/// Bytes as messages that prepare RDMA.
fn decode_statements(bytes: &[u8]) {
    let _refused = statement::read::<Vec<PortOffer>>(&mut &bytes[..]);
    let _refused = Decoder::decoded::<Result<ReadParameters, String>>(bytes);
    let _refused = Decoder::decoded::<Result<(), String>>(bytes);
    if let Ok(Ok(offers)) = Decoder::decoded::<Result<Vec<PortOffer>, String>>(bytes) {
        let _reasons = pairs(&offers, &offers).map(|pairs| assert!(pairs.len() <= offers.len()));
    }
}
