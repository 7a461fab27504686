//! A few blocks in one file that lives in memory, mapped once where pumps and safe calls use them, and the flow behind them.
//!
//! This *home mapping* never moves, so a fabric can register it once; what moves through a window are further mappings of the same
//! slots.
//!
//! Invariant U6: a ring's file is as long as its slots and a page, and is mapped whole as long as the ring lives; the flow
//! is at the start of the page behind the slots.
#![expect(unsafe_code, reason = "the flow lies in the memory of the ring")]

use crate::fabric::verbs::memory::RegisteredMemory;
use crate::stream::blocks::flow::{Failure, Flow};
use crate::stream::blocks::peer::Peer;
use crate::stream::{Error, Geometry};
use crate::sys::memory::range::{Access, FilePart, Range};
use crate::sys::memory::segment::{checked_file, sealed_file};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::time::Duration;

const PAGE: usize = 4096;
const _: () = assert!(size_of::<Flow>() <= PAGE);
/// Mappings begin at multiples of this, for huge pages.
pub(crate) const ALIGNMENT: usize = 2 << 20;

/// The memory of an end, or of both ends inside a machine.
#[derive(Debug)]
pub(crate) struct Ring {
    file: File,
    home: Range,
    pub(crate) geometry: Geometry,
    pub(crate) peer: Peer,
    /// Why its fabric has failed, in words.
    trouble: OnceLock<String>,
}

impl Ring {
    /// A new, empty ring.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub(crate) fn create(geometry: Geometry) -> Result<Self, Error> {
        let doing = || Error::io(format!("memory for the ring of a stream, {} bytes", geometry.ring_bytes()));
        let file = sealed_file(c"gossamer-stream", geometry.ring_bytes() + PAGE).map_err(doing())?;
        let ring = Self::map(file, geometry).map_err(doing())?;
        if geometry.block_bytes() >= ALIGNMENT {
            ring.home.collapse(0, geometry.ring_bytes());
        }
        Ok(ring)
    }

    /// The ring that the other end has made.
    ///
    /// # Errors
    /// If its size is wrong or could change, or it cannot be mapped.
    pub(crate) fn attach(descriptor: OwnedFd, geometry: Geometry) -> Result<Self, Error> {
        checked_file(descriptor, geometry.ring_bytes() + PAGE)
            .and_then(|file| Self::map(file, geometry))
            .map_err(Error::io("mapping the ring of the other end"))
    }

    fn map(file: File, geometry: Geometry) -> io::Result<Self> {
        let bytes = geometry.ring_bytes() + PAGE;
        let home = mapped(&file, bytes, Access::Write)?;
        Ok(Self { file, home, geometry, peer: Peer::default(), trouble: OnceLock::new() })
    }

    /// Another mapping of its slots, parts of which can be mapped elsewhere.
    ///
    /// # Errors
    /// If the process has too many mappings.
    pub(crate) fn template(&self, access: Access) -> io::Result<Range> {
        mapped(&self.file, self.geometry.ring_bytes(), access)
    }

    /// Its flow; in a forked child, which has no part in the stream, an unused one.
    pub(crate) fn flow(&self) -> &Flow {
        static NOBODYS: Flow = Flow::new();
        if !self.home.is_here() {
            return &NOBODYS;
        }
        let flow = self.home.at(self.geometry.ring_bytes()).cast::<Flow>();
        // SAFETY: U6: mapped as long as the ring, aligned to a page, and zeros are a valid flow; it is atomics throughout.
        unsafe { &*flow }
    }

    /// What ended the stream early.
    pub(crate) fn failure(&self) -> Option<Failure> {
        let lost = || (self.peer.is_gone() && !self.flow().is_taken()).then_some(Failure::PeerLost);
        self.flow().failure().or_else(lost)
    }

    /// Sleeps until `ready`, as the flow does.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn wait(
        &self,
        patience: Option<Duration>,
        ready: impl Fn(&Flow) -> bool,
    ) -> Result<(), Failure> {
        self.flow().wait(&self.peer, patience, ready)
    }

    /// Says why its fabric fails, before the flow does.
    pub(crate) fn explain(&self, why: String) {
        // The first reason is the one that counts.
        let _later = self.trouble.set(why);
    }

    /// A failure as users see it.
    pub(crate) fn error(&self, failure: Failure) -> Error {
        self.in_words(self.flow().error(failure, &self.geometry))
    }

    /// An error of the flow, with the known details.
    pub(crate) fn in_words(&self, error: Error) -> Error {
        match (error, self.trouble.get()) {
            (Error::Rdma { at, .. }, Some(why)) => Error::Rdma { at, why: why.clone() },
            (error, _) => error,
        }
    }

    /// Where a block lies in the ring.
    pub(crate) fn offset_of(&self, block: u64) -> usize {
        (block % self.geometry.slots() as u64) as usize * self.geometry.block_bytes()
    }

    /// Where a block lies in the home mapping. Only the party that owns it, as the flow says, reads or writes there (U3).
    pub(crate) fn at(&self, block: u64) -> *mut u8 {
        self.home.at(self.offset_of(block))
    }
}

fn mapped(file: &File, bytes: usize, access: Access) -> io::Result<Range> {
    let range = Range::reserve(bytes, ALIGNMENT)?;
    // SAFETY: a new range: nobody refers to anything in it.
    unsafe { range.map(0, bytes, FilePart { file: file.as_fd(), offset: 0 }, access) }?;
    Ok(range)
}

// SAFETY: U6: the slots are mapped at home as long as the ring lives, and are memory of a file, which is zeros at first. The only writes of
// a device are reads that the pump of a receiver has posted: it is the ring's producer, which by U3 alone has those bytes, and refers to
// none of them until the read is done.
unsafe impl RegisteredMemory for Ring {
    fn start(&self) -> NonNull<u8> {
        self.home.start()
    }

    /// The slots: the flow behind them is nobody's to read or write from elsewhere.
    fn bytes(&self) -> usize {
        self.geometry.ring_bytes()
    }
}

impl AsFd for Ring {
    /// What `attach` needs.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn patience_ends_also_when_all_was_taken_and_the_other_end_is_not_told() {
        let ring = Ring::create(Geometry::new().block(4096).ahead(2).comeback(0)).unwrap();
        ring.flow().end();
        ring.flow().take();
        let waited = ring.wait(Some(Duration::from_millis(1)), Flow::is_settled);
        assert_eq!(waited, Err(Failure::Timeout));
        assert_eq!(ring.flow().failure(), None);
    }
}
