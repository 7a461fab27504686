//! What a fuzz target calls: decoders of what another end sends.

use crate::stream::connect::parameters::{self, Hello};
use crate::stream::pump::frame::{self, Frame};

/// Bytes as frames and as a hello, with checksums that fit, since what does not get past those is not looked at.
pub fn streams(bytes: &[u8]) {
    for text in bytes.as_chunks().0 {
        let sealed = frame::with_hash(*text);
        if let Ok(frame) = Frame::from_bytes(sealed) {
            assert_eq!(frame.to_bytes(), sealed);
        }
    }
    let Some(text) = bytes.first_chunk() else { return };
    if let Some(theirs) = Hello::from_bytes(hello::with_hash(*text)) {
        assert_eq!(Hello::from_bytes(theirs.to_bytes()), Some(theirs));
        let _refused = (theirs.check(&theirs), theirs.geometry.check());
    }
}
