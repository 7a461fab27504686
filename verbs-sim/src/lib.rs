//! A simulated RDMA device: the symbols and calls of libibverbs over plain memory, for tests. `README.md` says what it
//! is true to.
//!
//! Invariants, by which each `SAFETY` comment of the crate is proved
//! - X1: what a caller of an exported symbol hands over is what the manual page of the call asks for: an object that
//!   this library made and that was not destroyed since, or memory that is valid for the length of the call.
//! - X2: the memory of a region is mapped until the region is deregistered, which takes the lock of the state. Code
//!   that accesses it has held that lock since it found the region. Each access is atomic: the process may write there,
//!   too.
//! - X3: an object of C was made by `Box::into_raw`, and its destroying call is its last.

mod completion_queues;
mod config;
mod delivery;
mod events;
mod faults;
mod landing;
mod memory;
mod packet;
mod queue_pairs;
mod requester;
mod responder;
mod retries;
mod send_work;
mod state;
mod symbols;
mod transport;
#[allow(dead_code, reason = "the library that is tested uses others of them")]
#[path = "../../gossamer/src/fabric/verbs/abi/types.rs"]
mod types;

#[cfg(test)]
mod tests;
