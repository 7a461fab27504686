//! `gossamer send`, as one chain of steps.
//!
//! ```text
//!   list the files ─▶ connect and offer them ─▶ take the answers ─▶ open the stream ─▶ each entry: file or pipe ─▶ conclude
//!   listing           negotiation                                                     transfer, contents          transfer
//! ```
//!
//! | part | |
//! |---|---|
//! | [`listing`], [`source`], [`input`] | what is to be sent; a file; standard input |
//! | [`outgoing`], [`compression`], [`rate_limit`] | the stream, into whose blocks contents are read |
//! | [`negotiation`] | up to the open stream: offer, manifest, answers |
//! | [`tally`], [`feedback`] | which entries have failed; what the receiver says meanwhile |
//! | [`contents`], [`entry`] | what is handed from step to step of one entry; those steps |
//! | [`retry`] | when it is tried again |
//! | [`transfer`], [`run`] | all entries, up to the receiver's last word; the whole |

pub mod compression;
pub mod contents;
pub mod entry;
pub mod feedback;
pub mod input;
pub mod listing;
pub mod negotiation;
pub mod outgoing;
pub mod rate_limit;
pub mod retry;
pub mod run;
pub mod source;
pub mod tally;
pub mod transfer;
