//! What a fuzz target calls: decoders of what another end sends.

use crate::stream::connect::parameters::{self, StreamParameters};
use crate::stream::pump::frame::{self, PumpFrame};

/// Bytes as frames and as parameters, with checksums that fit, since what does not get past those is not looked at.
pub fn streams(bytes: &[u8]) {
    for text in bytes.as_chunks().0 {
        let sealed = frame::with_hash(*text);
        if let Ok(frame) = PumpFrame::from_bytes(sealed) {
            assert_eq!(frame.to_bytes(), sealed);
        }
    }
    let Some(text) = bytes.first_chunk() else { return };
    if let Some(theirs) = StreamParameters::from_bytes(parameters::with_hash(*text)) {
        assert_eq!(StreamParameters::from_bytes(theirs.to_bytes()), Some(theirs));
        let _refused = (theirs.check(&theirs), theirs.geometry.check());
    }
}
