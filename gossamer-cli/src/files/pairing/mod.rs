//! How the two sides find and recognise each other: given a code or a key and an address, it yields a control
//! connection.
//!
//! | part | |
//! |---|---|
//! | [`code`] | the one-time code, and the keys that come of it |
//! | [`control`] | the encrypted connection between those who know it |
//! | [`listener`] | where the receiver waits for the sender |

pub mod code;
pub mod control;
pub mod listener;
