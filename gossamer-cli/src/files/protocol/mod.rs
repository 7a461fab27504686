//! What sender and receiver say to each other. It does no I/O, and trusts nothing that it decodes.
//!
//! | part | |
//! |---|---|
//! | [`manifest`], [`message`] | what is to be sent, and what of that the receiver takes; messages on the control connection |
//! | [`block`], [`record`] | the blocks of the memory stream; how files lie in them |

pub mod block;
pub mod manifest;
pub mod message;
pub mod record;
