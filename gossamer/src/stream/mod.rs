//! Memory streams: a *sender* writes a stream of any length as memory, and a *receiver* reads it as memory, in the same
//! process, in another one, or on another machine. The idea is that of E. Gluck, *Network Vortex: Distributed Virtual
//! Memory for Streaming Applications* (thesis, Texas A&M University, 2022).
//!
//! A stream is cut into *blocks*. Each end has a *ring* of a few of them in memory ([`Geometry`]: 16 MiB by default),
//! however long the stream is: a sender that gets too far ahead of its receiver waits. [`pair`] makes both ends in
//! one process; otherwise one end listens (`bind`) and the other connects, and both prove a [`Key`]. Ends of one
//! machine and one user share one ring, and nothing is copied; between machines the receiver reads blocks by RDMA if
//! both have a port for it, which copies nothing either; otherwise blocks go over TCP, each with a checksum.
//! [`Options::protection`] authenticates or encrypts the data on TCP. `GOSSAMER_FABRIC` in the environment restricts
//! the choice to one fabric: `shm`, `tcp` or `verbs` (RDMA), instead of `auto`.
//!
//! ```
//! use gossamer::stream::{Geometry, Key, Options, Receiver, Sender};
//! use std::io::{Read, Write};
//!
//! let key = Key::from_hex("00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff")?;
//! let options = Options::from(Geometry::default()).key(key); // or GOSSAMER_STREAM_KEY in the environment
//! let listener = Receiver::bind("127.0.0.1:0", options.clone())?;
//! let address = listener.local_addr()?;
//! let sending = std::thread::spawn(move || {
//!     let mut sender = Sender::connect(address, 12, options)?;
//!     sender.write_everything(b"hello, world")?;
//!     sender.finish() // returns when the receiver has all of it
//! });
//! let mut text = String::new();
//! listener.accept()?.read_to_string(&mut text)?;
//! assert_eq!(text, "hello, world");
//! sending.join().unwrap()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Safe calls
//! [`Sender`] and [`Receiver`] give their blocks as slices ([`next_block`](Sender::next_block)), and have `Read`,
//! `BufRead`, `Write`, and `Seek` within the *comeback*: as many blocks behind the foremost one stay in memory. There
//! are no page faults, and a call that waits blocks only its fiber. Reading to the end or calling `finish` confirms all
//! data; dropping an end before that aborts the stream, and the other end gets an [`Error`].
//!
//! # Cost
//! Memory for a ring at each end, or for one ring within a machine, where a block is handed over by a few atomic
//! operations and never copied. Over TCP each block has a frame of 48 bytes; over RDMA it is one READ of the receiver,
//! and its frame goes over TCP. A frame of the same size comes back when the receiver has released blocks.
//!
//! # Raw windows
//! [`Sender::into_window`] and [`Receiver::into_window`] show the whole stream as one range of addresses, though only
//! the ring is in memory: page faults move blocks into the window and out of it. The pointers and slices have this
//! contract:
//!
//! - The window is alive, and no other method of it runs meanwhile, except `try_with` around its closure.
//! - Bytes are used from the front to the back. Going back is allowed within the comeback of the foremost block that
//!   was touched, by any thread. `memcpy`, `memset` and what compiles to them (`copy_from_slice`, `fill`) may touch the
//!   end of their range first, and a system call may touch all of its buffer first, or keep it for a while: each such
//!   call covers no more bytes than the comeback has, or lies in one block.
//! - The sender writes every byte of each block it touches: bytes that it leaves out are those of an earlier block of
//!   the same stream. This also applies to the few blocks that are mapped together with a touched one. Whole blocks
//!   that are skipped read as zeros.
//! - In the window of a receiver nothing is written.
//! - A touch blocks its thread until the block is there: it belongs on a thread of its own, not in a fiber.
//! - Touching a byte that cannot be provided (the other end is lost, the byte is gone or after the end) raises
//!   SIGBUS, after a message, and gives `EFAULT` in a system call. In the closure of `try_with` the error is
//!   returned.
//! - A forked child has no part in it: a touch there is a SIGSEGV, after a message.
//! - A handler of SIGSEGV or SIGBUS that is installed later passes on the faults that are not its own.
//!
//! With userfaultfd ([`Faults`]) pointers into the window can be passed to system calls. Without it, a system call
//! that meets a block that is not there fails with `EFAULT` (an `O_DIRECT` read returns zero bytes, as at the end of
//! a file): use the slices of the safe calls instead, which are mapped.
#![deny(unsafe_code)]

mod blocking;
mod blocks;
mod checksum;
mod connect;
mod ends;
mod error;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod geometry;
mod limits;
mod options;
mod pump;
mod windows;

pub use connect::channel::{ReceiveEnd, SendEnd, channel};
pub use connect::listener::Listener;
pub use connect::pair::pair;
pub use ends::receiver::{Block, Receiver, Values};
pub use ends::sender::{BlockMut, Sender};
pub use error::{End, Error};
pub use geometry::{Geometry, Length};
pub use options::{Faults, Key, Options, Route};
pub use windows::receive_window::ReceiveWindow;
pub use windows::send_window::SendWindow;
