//! What fibers ask of the kernel besides sockets: files, processes, signals, and bytes from one of them to another.
#![deny(unsafe_code)]

pub mod fs;
pub mod io;
pub mod process;
pub mod signal;
mod travel;
