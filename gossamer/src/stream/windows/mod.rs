//! Raw windows: all bytes of a stream at their addresses, of which page faults map the blocks in use.
//!
//! A new way to learn of faults calls `Window::touch`, as `userfault` and the signal handler do.

mod faulting;
mod raw;
pub(crate) mod receive_window;
pub(crate) mod send_window;
mod userfault;
mod window;
