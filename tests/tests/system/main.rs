//! What a program has done for it while its fibers wait: by threads that may block, with files, processes and signals.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by it")]

mod copying;
mod files;
mod halves;
mod listeners;
mod metrics;
mod processes;
mod serving;
mod signals;
mod sockets;
mod traces;
mod unblock;
mod unix;
