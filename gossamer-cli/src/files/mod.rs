//! `gossamer send` and `gossamer recv`: files, directories and pipes, from one machine to another.
//!
//! ```text
//!   sender                                        receiver
//!     ── link (encrypted): hello, manifest ─────────▶       checks every name, looks what is there already
//!     ◀───────────── an answer for each entry ──────
//!     ══ memory stream: records, in blocks ═════════▶       writes `NAME.gossamer-part`
//!     ◀──────── failures, as they happen; the end ──        syncs, renames
//! ```
//!
//! | part | |
//! |---|---|
//! | `arguments`, [`show`] | the command line; what the user sees meanwhile |
//! | [`code`], [`link`], [`door`] | the one-time code; the link between those who know it; waiting for the sender |
//! | [`manifest`], [`message`] | what is to be sent, and what of that the receiver takes; what is said on the link |
//! | [`record`], [`digest`] | how files lie in the blocks of the stream; how their contents are compared |
//! | [`walk`], [`source`], [`input`], [`outgoing`], [`send`] | the sender: its list, a file, standard input, the stream, the whole |
//! | [`tree`], [`part`], [`writeback`], [`output`], [`incoming`], [`recv`] | the receiver: its directory, a file, its way to disk, standard output, the stream, the whole |

pub(crate) mod arguments;
pub mod code;
pub mod digest;
pub mod door;
pub mod incoming;
pub mod input;
pub mod link;
pub mod manifest;
pub mod message;
pub mod outgoing;
pub mod output;
pub mod part;
pub mod record;
pub mod recv;
pub mod send;
pub mod show;
pub mod source;
pub mod tree;
pub mod walk;
pub mod writeback;
