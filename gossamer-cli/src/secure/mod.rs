//! Encrypted connections between peers that share a key.
//!
//! Given a [`key`] and a socket, it proves to each side that the other knows the key, and carries messages. It knows
//! nothing about their contents: [`codec`] turns any message into bytes.
//!
//! | part | |
//! |---|---|
//! | [`random`], [`key`] | random names and tokens; the shared key and its file |
//! | [`noise`] | handshake and frames (Noise), without I/O |
//! | [`gate`], [`knock`] | too many peers without proof of the key; how a peer that has it gets through among them |
//! | [`channel`] | connections of tokio |
//! | [`codec`] | messages as bytes |

pub mod channel;
pub mod codec;
pub mod gate;
pub mod key;
pub mod knock;
pub mod noise;
pub mod random;
