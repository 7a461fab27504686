//! What travels in a slot: the header words of batches and requests. No I/O, no pointers followed.
#![forbid(unsafe_code)]

pub(crate) mod batch;
pub(crate) mod request;
