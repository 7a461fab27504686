//! Reading into memory that all connections of a thread share, so that none needs a buffer while it waits.

use std::cell::RefCell;
use std::io::{self, Read};

/// Bytes of one read.
pub(crate) const MOST_AVAILABLE: usize = 64 * 1024;

thread_local! {
    /// Used only during a single read; empty in between.
    static ARRIVED: RefCell<Box<[u8]>> = RefCell::new(vec![0; MOST_AVAILABLE].into_boxed_slice());
}

/// Reads once, and appends the bytes.
///
/// # Errors
/// Those of the read.
pub(crate) fn append_available(mut from: impl Read, to: &mut Vec<u8>) -> io::Result<usize> {
    ARRIVED.with_borrow_mut(|arrived| {
        let count = from.read(arrived)?;
        to.extend_from_slice(&arrived[..count]);
        Ok(count)
    })
}
