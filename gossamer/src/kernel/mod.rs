//! What fibers ask of the kernel besides sockets: files, processes, signals, and copying bytes between them.
#![deny(unsafe_code)]

pub mod fs;
pub mod io;
pub mod process;
pub mod signal;
mod travel;
