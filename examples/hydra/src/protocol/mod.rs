//! What clients and this server say to each other: RESP2 and RESP3.

pub mod extended;
pub mod float;
mod natural;
pub mod number;
pub mod parser;
pub mod refusal;
pub mod reply;
