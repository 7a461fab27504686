//! What travels: the header words of batches and requests, and the values between them. No I/O.
#![deny(unsafe_code)]

pub(crate) mod batch;
pub(crate) mod captured;
pub(crate) mod decoder;
pub(crate) mod encoder;
pub(crate) mod errors;
mod failures;
pub(crate) mod field;
pub(crate) mod length;
mod net;
mod noref;
mod owned;
mod plain;
mod range;
pub(crate) mod refusal;
pub(crate) mod request;
pub(crate) mod row;
pub(crate) mod rows;
#[cfg(feature = "serde")]
mod serde;
#[cfg(feature = "serde")]
mod serde_whole;
pub(crate) mod shape;
#[cfg(all(test, not(loom)))]
#[expect(clippy::unwrap_used, reason = "a test fails by it")]
mod tests;
mod time;
pub(crate) mod word;

pub use noref::NoRef;
#[cfg(feature = "serde")]
pub use serde::Serde;
