//! The messages between nodes, for the fuzz targets.

use crate::rack::control::Control;
use crate::rack::hello::{Hello, Reply};
use crate::rack::socket::Address;
use crate::wire::value::Decoder;

/// Bytes as any message of a node.
pub(crate) fn decode_messages(bytes: &[u8]) {
    let _refused = Decoder::decoded::<Control>(bytes);
    let _refused = Decoder::decoded::<Hello>(bytes);
    let _refused = Decoder::decoded::<Reply>(bytes);
    let _refused = Decoder::decoded::<(usize, usize)>(bytes);
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _refused = text.parse::<Address>();
    }
}
