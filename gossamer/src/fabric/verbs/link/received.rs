//! The mailbox of one end of a connection.

use crate::fabric::verbs::link::message::{MESSAGE_BYTES, MESSAGE_WORDS, MailboxMessage};
use crate::fabric::verbs::memory::{MemoryRegion, ProtectionDomain, RegionAccess, RemoteAddress};
use crate::sys::memory::device_memory::DeviceMemory;
use crate::wire::refusal::Malformed;
use std::io;
use std::sync::Arc;

/// Entries, and receives that each side has posted: a message takes one of each.
pub(super) const RECEIVES: u32 = 64;

/// Where the other end writes messages.
pub(super) struct ReceivedMessages {
    memory: Arc<DeviceMemory>,
    region: Arc<MemoryRegion>,
}

impl ReceivedMessages {
    /// # Errors
    /// If there is no such memory, or it cannot be pinned.
    pub(super) fn new(domain: &Arc<ProtectionDomain>) -> io::Result<Self> {
        let memory = DeviceMemory::map(RECEIVES as usize * MESSAGE_BYTES)?;
        let region = MemoryRegion::new(domain, memory.clone(), RegionAccess::RemoteWrite)?;
        Ok(Self { memory, region })
    }

    pub(super) fn remote(&self) -> RemoteAddress {
        self.region.remote(0)
    }

    /// The message in an entry.
    ///
    /// # Errors
    /// If there is no message in it, or no such entry.
    pub(super) fn read(&self, entry: u32) -> Result<MailboxMessage, Malformed> {
        if entry >= RECEIVES {
            return Err(Malformed::instead_of::<MailboxMessage>());
        }
        let start = self.memory.at(entry as usize * MESSAGE_BYTES, MESSAGE_BYTES).cast::<u64>();
        let mut words = [0; MESSAGE_WORDS];
        for (index, word) in words.iter_mut().enumerate() {
            // SAFETY: I3: inside the memory, and aligned. It is copied once before it is looked at, whatever writes it
            // meanwhile.
            *word = unsafe { start.wrapping_add(index).read_volatile() };
        }
        MailboxMessage::unpack(words)
    }
}
