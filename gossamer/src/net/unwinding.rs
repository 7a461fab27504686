//! What is refused to a fiber that unwinds from a panic: waiting for others of its worker, none of which runs meanwhile.

use crate::lane::context::{self, Context};
use crate::net::fiber_socket::refused_while_unwinding;
use std::io;
use std::thread;

/// # Errors
/// `WouldBlock` in a fiber that unwinds.
pub(crate) fn refuse_while_unwinding(call: &str) -> io::Result<()> {
    if thread::panicking() && context::current() != Context::Outside {
        return Err(refused_while_unwinding(call));
    }
    Ok(())
}
