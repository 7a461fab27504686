//! What travels: the header words of batches and requests, and the values between them. No I/O.
#![deny(unsafe_code)]

pub(crate) mod batch;
pub(crate) mod field;
mod noref;
mod owned;
mod plain;
pub(crate) mod request;
pub(crate) mod run;
#[cfg(feature = "serde")]
mod serde;
#[cfg(all(test, not(loom)))]
#[expect(clippy::unwrap_used, reason = "a test fails by it")]
mod tests;
pub(crate) mod value;

pub use noref::NoRef;
#[cfg(feature = "serde")]
pub use serde::Serde;
