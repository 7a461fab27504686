//! Random bytes of the system, for keys, nonces and names.

use rustix::rand::{GetRandomFlags, getrandom};
use std::io;

/// This many random bytes.
///
/// # Errors
/// If the system has none.
pub(crate) fn random<const COUNT: usize>() -> io::Result<[u8; COUNT]> {
    let mut bytes = [0; COUNT];
    let mut filled = 0;
    while filled < COUNT {
        filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty())?;
    }
    Ok(bytes)
}
