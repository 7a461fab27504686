//! The window: addresses for all bytes of a stream. The blocks in use are mapped there by whoever is told of a fault.
//!
//! Invariants
//! - U7: what is mapped in a window is at any time a block that by U3 is this end's, or a hole's zeros, or a failure; a block is
//!   taken away before it is handed over or released.
//! - U8: raw users of a window touch it only while it lives, and not what lies behind the comeback; that is the contract
//!   of its pointers. So nobody refers to what is replaced.
#![expect(unsafe_code, reason = "mappings replace each other")]

use crate::stream::blocks::flow::{Failure, Flow};
use crate::stream::blocks::ring::{ALIGNMENT, Ring};
use crate::stream::ends::stream_end::StreamEnd;
use crate::stream::error::End;
use crate::stream::{Error, Geometry};
use crate::sys::memory::range::{Access, Range};
use crate::sys::memory::segment::sealed_file;
use crate::sys::process::forked::Process;
use crate::sys::signals::faults::{Fault, Resolve};
use crate::sys::signals::line::Line;
use std::fmt::Write;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Why a block cannot be had. Small and without memory of its own: it is made in handlers of signals.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TouchError {
    Failed(Failure),
    Behind { offset: u64, first: u64 },
    Overrun { offset: u64, end: u64 },
    System(Option<i32>),
}

impl TouchError {
    pub(crate) fn to_error(self, flow: &Flow, geometry: &Geometry) -> Error {
        match self {
            Self::Failed(failure) => flow.error(failure, geometry),
            Self::Behind { offset, first } => Error::BehindComeback { offset, first },
            Self::Overrun { offset, end } => Error::Overrun { offset, end },
            Self::System(number) => Error::io("mapping a block")(
                number.map_or_else(|| io::ErrorKind::Other.into(), io::Error::from_raw_os_error),
            ),
        }
    }
}

impl From<io::Error> for TouchError {
    fn from(error: io::Error) -> Self {
        Self::System(error.raw_os_error())
    }
}

/// What changes under the lock. No user code runs while it is held, and none of the window is touched.
#[derive(Default)]
struct WindowState {
    /// The first error there was.
    error: Option<TouchError>,
    /// Blocks that cannot be had read as zeros instead of raising signals: whoever set this asks for `error` before trusting what was read.
    forgiving: bool,
    /// The block that has such zeros.
    scratch: Option<u64>,
}

/// The part of a window that was dealt with: the waiter there may look again.
pub(crate) struct ResolvedRange {
    pub(crate) start: *const u8,
    pub(crate) bytes: usize,
}

/// A window and what is mapped in it.
pub(crate) struct Window {
    range: Range,
    ring: Arc<Ring>,
    /// The ring's slots, as what is mapped in the window is mapped.
    template: Range,
    /// What this end may do with its blocks.
    access: Access,
    end: End,
    length: u64,
    patience: Option<Duration>,
    process: Process,
    /// Of no length: what is mapped from it cannot be touched.
    failure: File,
    state: Mutex<WindowState>,
}

impl Window {
    /// One for `length` bytes; nothing is mapped. Behind it lies a part that is never mapped.
    ///
    /// # Errors
    /// If there are not so many addresses.
    pub(crate) fn new(stream: &StreamEnd, end: End, length: u64) -> Result<Self, Error> {
        let doing = || Error::io(format!("a window of {length} bytes"));
        let bytes = stream.geometry().blocks_of(length) as usize * stream.geometry().block_bytes();
        let access = match end {
            End::Sender => Access::Write,
            End::Receiver => Access::Read,
        };
        let range = Range::reserve(bytes + ALIGNMENT, ALIGNMENT).map_err(doing())?;
        Ok(Self {
            range,
            template: stream.ring.template(access).map_err(doing())?,
            access,
            ring: Arc::clone(&stream.ring),
            end,
            length,
            patience: stream.patience(),
            process: stream.process(),
            failure: sealed_file(c"gossamer-failure", 0).map_err(doing())?,
            state: Mutex::default(),
        })
    }

    pub(crate) fn range(&self) -> &Range {
        &self.range
    }

    fn state(&self) -> MutexGuard<'_, WindowState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn flow(&self) -> &Flow {
        self.ring.flow()
    }

    fn geometry(&self) -> &Geometry {
        &self.ring.geometry
    }

    /// The first block that this end still has.
    fn first(&self) -> u64 {
        match self.end {
            End::Sender => self.flow().written(),
            End::Receiver => self.flow().released(),
        }
    }

    fn blocks(&self) -> u64 {
        self.geometry().blocks_of(self.length)
    }

    /// Makes the block at an address accessible, and some behind it; waits for it. If it cannot be had, what is mapped there
    /// tells whoever touches it. Neither allocates nor takes a lock that a user of the window may hold.
    ///
    /// # Errors
    /// If nothing can be mapped at all.
    pub(crate) fn touch(&self, address: usize) -> io::Result<ResolvedRange> {
        let batch = self.geometry().batch();
        self.deal(address, batch, |block, error| self.give_up(block, error))
    }

    /// Like `touch`, for a fault that was told a while ago: by now another one of the same block may have been dealt with, and the block
    /// be gone. Who still waits there makes its access again, which is a signal then.
    ///
    /// # Errors
    /// Like `touch`.
    pub(crate) fn touch_late(&self, address: usize) -> io::Result<ResolvedRange> {
        let batch = self.geometry().small_batch();
        self.deal(address, batch, |block, error| match error {
            TouchError::Behind { .. } => Ok((block, block + 1)),
            _ => self.give_up(block, error),
        })
    }

    fn deal(
        &self,
        address: usize,
        batch: u64,
        give_up: impl FnOnce(u64, TouchError) -> io::Result<(u64, u64)>,
    ) -> io::Result<ResolvedRange> {
        let Some(offset) = self.range.offset_of(address) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let block = self.geometry().block_of(offset as u64);
        let (first, end) = match self.grant(block, batch, offset as u64) {
            Ok(end) => (block, end),
            Err(error) => give_up(block, error)?,
        };
        let (start, end) = (self.place(first), self.place(end).max(self.place(first) + 1));
        Ok(ResolvedRange { start: self.range.at(start), bytes: end - start })
    }

    /// Where a block begins in the range; that of blocks behind the last is its end.
    fn place(&self, block: u64) -> usize {
        usize::try_from(self.geometry().start_of(block)).unwrap_or(usize::MAX).min(self.range.len())
    }

    /// Whether `touch` would wait for nobody at this address.
    pub(crate) fn is_ready(&self, address: usize) -> bool {
        let offset = self.range.offset_of(address);
        offset.is_none_or(|offset| self.has_come(self.geometry().block_of(offset as u64)))
    }

    /// Whether the wait for a block is over.
    fn has_come(&self, block: u64) -> bool {
        let (flow, geometry) = (self.flow(), self.geometry());
        match self.end {
            End::Sender => flow.has_room_for(block, geometry),
            End::Receiver => {
                flow.written() > block
                    || flow.length().is_some_and(|length| geometry.blocks_of(length) <= block)
            }
        }
    }

    /// Waits for a block and maps it with some of those behind it; returns the first that is not. If it was mapped before, it is
    /// mapped again, to the same memory.
    fn grant(&self, block: u64, batch: u64, offset: u64) -> Result<u64, TouchError> {
        let (flow, geometry) = (self.flow(), self.geometry());
        let behind = |first| TouchError::Behind { offset, first: geometry.start_of(first) };
        if block >= self.blocks() {
            return Err(TouchError::Overrun { offset, end: self.length });
        }
        self.pass(block.saturating_sub(geometry.comeback_blocks()))?;
        if !self.has_come(block) {
            self.end.counters().note_wait();
        }
        self.ring.wait(self.patience, |_| self.has_come(block)).map_err(TouchError::Failed)?;
        let _turn = self.state();
        if block < self.first() {
            return Err(behind(self.first()));
        }
        match self.end {
            End::Sender => {
                let follows = block == 0 || flow.is_labelled(block - 1, geometry);
                let batch = if follows { batch } else { 1 };
                let end = flow
                    .released()
                    .saturating_add(geometry.slots() as u64)
                    .min(block + batch)
                    .min(self.blocks());
                (block..end).for_each(|block| flow.label(block, geometry));
                self.map(block, end)?;
                Ok(end)
            }
            End::Receiver => {
                let end = flow.written().min(block + batch).min(self.blocks());
                if end <= block {
                    let end = flow.length().unwrap_or_default();
                    return Err(TouchError::Overrun { offset, end });
                }
                self.map_written(block, end)?;
                Ok(end)
            }
        }
    }

    /// Takes the blocks below `blocks` away and gives them to the other party (U7).
    fn pass(&self, blocks: u64) -> io::Result<()> {
        let _turn = self.state();
        let first = self.first();
        if blocks <= first {
            return Ok(());
        }
        let (start, end) = (self.place(first), self.place(blocks));
        self.end.counters().note_bytes((end - start) as u64);
        // SAFETY: U8: these lie behind the comeback.
        unsafe { self.range.clear(start, end - start, Access::None) }?;
        match self.end {
            End::Sender => self.flow().hand_over(blocks),
            End::Receiver => self.flow().release(blocks),
        }
        Ok(())
    }

    /// Maps blocks that have memory: neighbours with one call.
    fn map(&self, mut block: u64, end: u64) -> io::Result<()> {
        let slots = self.geometry().slots() as u64;
        while block < end {
            let neighbours = (slots - block % slots).min(end - block);
            let bytes = neighbours as usize * self.geometry().block_bytes();
            // SAFETY: U8: nobody refers to what was there, unless it was this very block.
            unsafe {
                self.range.map_as(self.place(block), bytes, &self.template, self.ring.offset_of(block))
            }?;
            block += neighbours;
        }
        Ok(())
    }

    /// Maps written blocks and holes.
    fn map_written(&self, mut block: u64, end: u64) -> io::Result<()> {
        while block < end {
            let memory = self.flow().next_labelled(block, end, self.geometry());
            if memory > block {
                let (start, bytes) = (self.place(block), self.place(memory) - self.place(block));
                // SAFETY: U8, as in `map`.
                unsafe { self.range.clear(start, bytes, Access::Read) }?;
            }
            let has_memory = |block: &u64| *block < end && self.flow().is_labelled(*block, self.geometry());
            block = (memory..).find(|block| !has_memory(block)).unwrap_or(end);
            self.map(memory, block)?;
        }
        Ok(())
    }

    /// Maps what tells of an error: failures to the end of the window, or of one block that is gone; zeros if somebody
    /// asks later. Returns which blocks these are.
    fn give_up(&self, block: u64, error: TouchError) -> io::Result<(u64, u64)> {
        let mut state = self.state();
        state.error.get_or_insert(error);
        if state.forgiving {
            self.forget(&mut state)?;
            let (start, end) = (self.place(block), self.place(block + 1));
            // SAFETY: U8, as in `map`: this block could not be had.
            unsafe { self.range.clear(start, end - start, self.access) }?;
            state.scratch = Some(block);
            return Ok((block, block + 1));
        }
        let end = if matches!(error, TouchError::Behind { .. }) { block + 1 } else { self.blocks() + 1 };
        let end = end.max(block + 1);
        let (start, bytes) = (self.place(block), self.place(end) - self.place(block));
        // SAFETY: as above. Blocks behind it cannot be had either.
        unsafe { self.range.map_failure(start, bytes, self.failure.as_fd(), self.access) }?;
        Ok((block, end))
    }

    /// Takes the zeros that stand for an error away.
    fn forget(&self, state: &mut WindowState) -> io::Result<()> {
        let Some(block) = state.scratch.take() else { return Ok(()) };
        let (start, bytes) = (self.place(block), self.place(block + 1) - self.place(block));
        // SAFETY: U8: whoever touched it, by the contract of `forgive`, does not believe it.
        unsafe { self.range.map_failure(start, bytes, self.failure.as_fd(), self.access) }
    }

    /// Has errors give zeros, or not any more. Returns the first error that there was.
    ///
    /// # Errors
    /// If that cannot be mapped.
    pub(crate) fn forgive(&self, forgiving: bool) -> io::Result<Option<TouchError>> {
        let mut state = self.state();
        state.forgiving = forgiving;
        if !forgiving {
            self.forget(&mut state)?;
        }
        Ok(state.error)
    }

    /// Makes every address accessible, so that a userfaultfd is told of the pages that are missing.
    ///
    /// # Errors
    /// If the system refuses.
    pub(crate) fn open(&self) -> io::Result<()> {
        // SAFETY: nothing is mapped yet.
        unsafe { self.range.clear(0, self.range.len(), self.access) }
    }

    /// Takes everything away: nothing in it can be touched any more.
    ///
    /// # Errors
    /// If the system refuses.
    pub(crate) fn close(&self) -> io::Result<()> {
        let _turn = self.state();
        // SAFETY: U8: its user is done with it.
        unsafe { self.range.clear(0, self.range.len(), Access::None) }
    }

    fn explain(&self, fault: Fault, line: &mut Line) -> std::fmt::Result {
        let end = self.end;
        if !self.process.is_this() {
            let error = Error::Forked;
            return writeln!(line, "gossamer: the window of a {end} was touched after a fork: {error}");
        }
        let offset = self.range.offset_of(fault.address).unwrap_or_default();
        match self.state().error {
            _ if fault.write && end == End::Receiver => {
                writeln!(
                    line,
                    "gossamer: byte {offset} of the window of a receiver was written: it is for reading"
                )
            }
            Some(error) if !matches!(error, TouchError::System(_)) => {
                let error = error.to_error(self.flow(), self.geometry());
                writeln!(line, "gossamer: byte {offset} of the window of a {end} cannot be had: {error}")
            }
            _ => writeln!(line, "gossamer: byte {offset} of the window of a {end} cannot be mapped"),
        }
    }
}

impl Resolve for Window {
    fn resolve(&self, fault: Fault, line: &mut Line) -> bool {
        let refused = !self.process.is_this() || fault.write && self.end == End::Receiver;
        let known = fault.bus && !self.state().forgiving;
        if !refused && !known && self.touch(fault.address).is_ok() {
            return true;
        }
        let _cut_off = self.explain(fault, line);
        false
    }
}
