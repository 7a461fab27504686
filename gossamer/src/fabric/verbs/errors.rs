//! Errors of calls of libibverbs: which call, on which device, why, and what to do.

use std::ffi::c_int;
use std::io;

/// The text of an error of a call.
pub(crate) fn failed(device: &str, call: &str, error: &io::Error, advice: &str) -> io::Error {
    io::Error::new(error.kind(), format!("RDMA device {device}: {call}: {error}{advice}"))
}

/// The result of a call that returns zero or an error number; a few return -1, and leave the number to the C library.
pub(crate) fn checked(status: c_int) -> io::Result<()> {
    match status {
        0 => Ok(()),
        number if number > 0 => Err(io::Error::from_raw_os_error(number)),
        _ => Err(io::Error::last_os_error()),
    }
}
