//! What a fiber that unwinds from a panic must not do: wait for other fibers of its worker, none of which runs
//! meanwhile.

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
