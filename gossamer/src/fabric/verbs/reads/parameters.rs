//! What the two ends of a queue pair for reads tell each other.

use crate::fabric::verbs::memory::RemoteAddress;
use gossamer_macros::NoRef;

/// What one end says.
#[derive(NoRef, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadParameters {
    /// The number of its queue pair.
    pub(crate) number: u32,
    /// The number of the first packet that it sends.
    pub(crate) first_packet: u32,
    /// The most bytes that a message of its port has.
    pub(crate) largest_message: u32,
    /// Reads under way that its device starts, and that it answers.
    pub(crate) reads_sent: u8,
    pub(crate) reads_received: u8,
    /// Where its memory is; zeros if it cannot be read.
    pub(crate) memory: RemoteAddress,
}
