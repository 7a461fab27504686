//! `gossamer send` and `gossamer recv`: files, directories and pipes, from one machine to another.
//!
//! ```text
//!   sender                                        receiver
//!     ── control connection (encrypted): offer, manifest ─▶ checks every name, looks what is there already
//!     ◀───────────── an answer for each entry ──────
//!     ══ memory stream: records, in blocks ═════════▶       writes `NAME.gossamer-part`
//!     ◀──────── failures, as they happen; the end ──        syncs, renames
//! ```
//!
//! | room | |
//! |---|---|
//! | [`reporter`], [`interruption`] | what the user sees meanwhile; what he hears if it ends before its time |
//! | [`content`] | the contents of files on disk, and how they are compared |
//! | [`protocol`] | what both sides say to each other |
//! | [`pairing`] | how they find and know each other |
//! | `arguments` | the command lines |
//! | [`sender`], [`receiver`] | the two sides, which share only the rooms above |

pub(crate) mod arguments;
pub mod content;
pub mod interruption;
pub mod pairing;
pub mod protocol;
pub mod receiver;
pub mod reporter;
pub mod sender;
