//! Lane memory that both ends have mapped, in one process or in two of one machine, and the fabric that writes it by plain
//! stores.
//!
//! Invariants
//! - M1: the body of a slot is written by one thread at a time, and only between the reader's last read of it
//!   and the Release store of the next header in `announce` (`Fabric::write`'s contract).
//! - M2: the body is read only after an Acquire load of `header` has returned the sequence awaited; that load
//!   pairs with the Release store in `announce`.
//! - M3: `slots` are valid for as long as `home` is: leaked from a box of this handle alone, or in a mapping that it keeps,
//!   aligned (a page, and whole slots behind it), `stride` bytes behind one another. Each is a `Slot` of `inside` words; where
//!   the bodies are in `bodies`, only the header word of one.

use crate::atomic::{AtomicU64, Ordering, SharedCell};
use crate::fabric::bodies::Bodies;
use crate::fabric::{Busy, Fabric, Fragment};
use crate::sys::memory::device_memory::DeviceMemory;
use crate::sys::memory::prefetch;
use crate::sys::memory::segment::Segment;
use crate::wire::batch::{BODY_WORDS, FAR_BODY_WORDS};
use crate::wire::refusal::Malformed;
use crate::wire::word::Word;
use std::mem::offset_of;
use std::ptr::NonNull;
use std::sync::Arc;

/// Slots of each direction of a lane inside a machine: the batches it can have in flight.
pub(crate) const SLOTS: usize = if cfg!(loom) { 2 } else { 16 };
/// Slots of each direction of a lane that a device writes from another machine. A batch costs more there than its bytes: fewer
/// slots, and larger ones.
pub(crate) const FAR_SLOTS: usize = 8;
/// The same where frames are copied into them. An empty slot takes next to no memory, so a thousand fibers find room.
pub(crate) const FRAME_SLOTS: usize = 64;

/// Any content is valid, so that a slot may lie in memory that another process writes, too.
#[repr(C, align(128))]
struct Slot<Body: ?Sized = [Word]> {
    header: AtomicU64,
    body: SharedCell<Body>,
}

impl<const WORDS: usize> Slot<[Word; WORDS]> {
    fn empty() -> Self {
        Self { header: AtomicU64::new(0), body: SharedCell::new([Word::new(0); WORDS]) }
    }
}

/// Drops slots on the heap.
///
/// # Safety
/// The slots were leaked from a box of `count` slots of this type, and there is no other handle.
unsafe fn free<S>(slots: NonNull<u8>, count: usize) {
    let slots = std::ptr::slice_from_raw_parts_mut(slots.as_ptr().cast::<S>(), count);
    // SAFETY: guaranteed by the caller.
    drop(unsafe { Box::from_raw(slots) });
}

/// The slots of one direction of one lane, in the memory of the worker that reads them.
pub(crate) struct SlotMemory {
    /// M3.
    slots: NonNull<u8>,
    /// One less than the number of slots, which is a power of two.
    mask: usize,
    /// Words that a body may have.
    words: usize,
    /// Words of a slot.
    inside: usize,
    /// Bytes from one slot to the next.
    stride: usize,
    home: Home,
    /// Replaces the slots' own bodies where a body exists only while it is needed.
    bodies: Option<Bodies>,
}

/// What keeps the slots where they are.
enum Home {
    Heap {
        free: unsafe fn(NonNull<u8>, usize),
    },
    Segment {
        _mapped: Arc<Segment>,
    },
    /// `_registered` lets a device write it.
    Device {
        _mapped: Arc<DeviceMemory>,
        _registered: Arc<dyn Send + Sync>,
    },
}

// SAFETY: M1 and M2: bodies are handed between two threads by the header word.
unsafe impl Sync for SlotMemory {}
// SAFETY: plain words and an atomic, at an address that is the same on every thread.
unsafe impl Send for SlotMemory {}

impl SlotMemory {
    /// Bytes that the slots of one direction take in a segment.
    pub(crate) const BYTES: usize = SLOTS * size_of::<Slot<[Word; BODY_WORDS]>>();

    /// Slots on the heap, for two workers of this process.
    pub(crate) fn new() -> Arc<Self> {
        let inside = Slot::<[Word; BODY_WORDS]>::empty;
        Arc::new(Self::on_the_heap((SLOTS, inside), (BODY_WORDS, BODY_WORDS), None))
    }

    /// Slots on the heap that a worker of another machine writes by its frames.
    pub(crate) fn far() -> Arc<Self> {
        let header = || AtomicU64::new(0);
        Arc::new(Self::on_the_heap(
            (FRAME_SLOTS, header),
            (FAR_BODY_WORDS, 0),
            Some(Bodies::new(FRAME_SLOTS)),
        ))
    }

    fn on_the_heap<S>(
        (count, empty): (usize, fn() -> S),
        (words, inside): (usize, usize),
        bodies: Option<Bodies>,
    ) -> Self {
        assert!(count.is_power_of_two(), "{count} slots");
        // One by one: all of them at once would not fit the stack of the fiber that connects a lane.
        let slots: Box<[S]> = (0..count).map(|_| empty()).collect();
        let slots = NonNull::from(Box::leak(slots)).cast();
        let (home, stride) = (Home::Heap { free: free::<S> }, size_of::<S>());
        Self { slots, mask: count - 1, words, inside, stride, home, bodies }
    }

    /// The slots that begin `offset` bytes into a segment, for two workers, possibly of two processes. All handles of
    /// one place are the same memory; new segments are as empty as new slots.
    ///
    /// # Panics
    /// If the segment is too small, or the slots would not be aligned.
    pub(crate) fn in_segment(segment: &Arc<Segment>, offset: usize) -> Arc<Self> {
        let end = offset + Self::BYTES;
        assert!(end <= segment.len(), "{} bytes of lane memory end before {end}", segment.len());
        assert!(offset.is_multiple_of(align_of::<Slot<[Word; BODY_WORDS]>>()), "slots are aligned");
        // SAFETY: inside the mapping (asserted).
        let slots = unsafe { segment.start().byte_add(offset) }.cast();
        let (home, stride) = (Home::Segment { _mapped: Arc::clone(segment) }, Self::BYTES / SLOTS);
        Arc::new(Self {
            slots,
            mask: SLOTS - 1,
            words: BODY_WORDS,
            inside: BODY_WORDS,
            stride,
            home,
            bodies: None,
        })
    }

    #[inline(always)]
    fn start(&self, index: usize) -> NonNull<u8> {
        // SAFETY: M3: there are as many.
        unsafe { self.slots.byte_add((index & self.mask) * self.stride) }
    }

    /// The header of a slot, with which it begins.
    #[inline(always)]
    fn header_of(&self, index: usize) -> &AtomicU64 {
        // SAFETY: M3.
        unsafe { self.start(index).cast().as_ref() }
    }

    /// A slot that has its body inside.
    #[inline(always)]
    fn slot(&self, index: usize) -> &Slot {
        debug_assert!(self.bodies.is_none(), "there is only a header");
        let start = self.start(index).as_ptr().cast::<Word>();
        // The length of a slot is that of its body.
        let slot = std::ptr::slice_from_raw_parts(start, self.inside) as *const Slot;
        // SAFETY: M3; the shared parts of a slot are in cells.
        unsafe { &*slot }
    }

    /// Words that a body may have.
    #[inline(always)]
    pub(crate) fn words(&self) -> usize {
        self.words
    }

    /// The number of slots, a power of two.
    #[inline(always)]
    pub(crate) fn slots(&self) -> u32 {
        self.mask as u32 + 1
    }

    /// Bytes of all slots, without bodies that exist only while they are needed.
    pub(crate) fn bytes(&self) -> usize {
        (self.mask + 1) * self.stride
    }

    /// The header word of a slot, as last landed (M2).
    #[inline]
    pub(crate) fn header(&self, slot: usize) -> u64 {
        // Acquire: pairs with the Release store in `announce`.
        self.header_of(slot).load(Ordering::Acquire)
    }

    /// Calls `read` with the address of a slot's body.
    ///
    /// # Safety
    /// The caller is the reader of the slots, the header of this one has the sequence awaited (M2), and it was not
    /// given back.
    #[inline]
    pub(crate) unsafe fn read<R>(&self, slot: usize, read: impl FnOnce(*const u64) -> R) -> R {
        match &self.bodies {
            None => self.slot(slot).body.with(|body| read(body.cast())),
            // SAFETY: guaranteed by the caller.
            Some(bodies) => read(unsafe { bodies.start(slot & self.mask) }.cast()),
        }
    }

    /// Gives a slot's body back: nothing reads it any more, and its writer does not know yet that the slot is free.
    ///
    /// # Safety
    /// Like `read`.
    #[inline]
    pub(crate) unsafe fn give_back(&self, slot: usize) {
        if let Some(bodies) = &self.bodies {
            // SAFETY: guaranteed by the caller.
            unsafe { bodies.give_back(slot & self.mask) };
        }
    }

    /// Lands words of a slot's body, from the `offset`th on.
    ///
    /// # Safety
    /// M1.
    #[inline(always)]
    pub(super) unsafe fn land(&self, slot: usize, offset: usize, words: &[Word]) {
        debug_assert!(offset + words.len() <= self.inside);
        self.slot(slot).body.with_mut(|body| {
            let target = body.cast::<Word>().wrapping_add(offset);
            // SAFETY: M1: nobody else reads or writes the body; it has room (asserted above: both ends build batches of
            // at most as many words, and frames are checked before they are landed).
            unsafe { std::ptr::copy_nonoverlapping(words.as_ptr(), target, words.len()) };
        });
    }

    /// Lands the header of a slot, behind its body.
    #[inline(always)]
    pub(super) fn announce(&self, slot: usize, header: u64) {
        // Release: pairs with the Acquire load in `header` (W1).
        self.header_of(slot).store(header, Ordering::Release);
    }

    /// Lands a whole batch, for a writer that has no such memory itself.
    ///
    /// # Safety
    /// M1.
    #[inline]
    pub(crate) unsafe fn land_batch(&self, slot: usize, header: u64, body: &[Word]) {
        // SAFETY: guaranteed by the caller.
        unsafe { self.land(slot, 0, body) };
        self.announce(slot, header);
    }

    /// Lands the batch of a frame, which has no more words than a body may have.
    ///
    /// # Errors
    /// If the slot still holds another batch: no lane of this program writes into such a slot.
    ///
    /// # Safety
    /// The frames of the lane are landed by one thread.
    #[inline]
    pub(super) unsafe fn land_frame(&self, slot: usize, header: u64, body: &[Word]) -> Result<(), Malformed> {
        let Some(bodies) = &self.bodies else {
            unreachable!("frames are for slots of another machine's lanes")
        };
        // SAFETY: guaranteed by the caller.
        unsafe { bodies.land(slot & self.mask, body) }?;
        self.announce(slot, header);
        Ok(())
    }

    /// Frees what an idle lane does not need. Returns whether a slot still holds a batch.
    ///
    /// # Safety
    /// Like `land_frame`.
    pub(super) unsafe fn shrink(&self) -> bool {
        // SAFETY: guaranteed by the caller.
        self.bodies.as_ref().is_some_and(|bodies| unsafe { bodies.shrink() })
    }

    /// Hints that `words` of a slot's body will be read.
    #[inline]
    pub(crate) fn prefetch(&self, slot: usize, words: usize) {
        self.slot(slot).body.with(|body| {
            for line in (0..words).step_by(8) {
                prefetch::read(body.cast::<u64>().wrapping_add(line));
            }
        });
    }
}

/// Slots that a device writes.
impl SlotMemory {
    /// Bytes of the slots of one direction that are written from another machine.
    pub(crate) const FAR_BYTES: usize = FAR_SLOTS * Self::FAR_STRIDE;
    /// Bytes from one of those to the next.
    pub(crate) const FAR_STRIDE: usize = size_of::<Slot<[Word; FAR_BODY_WORDS]>>();
    /// Bytes of a slot before its body: the header.
    pub(crate) const BODY_OFFSET: usize = offset_of!(Slot<[Word; FAR_BODY_WORDS]>, body);

    /// The slots that begin `offset` bytes into device memory, which a worker of another machine writes through one of
    /// the devices. `registered` is kept as long as the slots are. New memory is as empty as new slots.
    ///
    /// # Panics
    /// Like `in_segment`.
    pub(crate) fn in_device_memory(
        memory: &Arc<DeviceMemory>,
        offset: usize,
        registered: Arc<dyn Send + Sync>,
    ) -> Arc<Self> {
        assert!(offset.is_multiple_of(align_of::<Slot<[Word; FAR_BODY_WORDS]>>()), "slots are aligned");
        let start = memory.at(offset, Self::FAR_BYTES);
        let Some(slots) = NonNull::new(start) else { unreachable!("memory is never mapped at address zero") };
        let home = Home::Device { _mapped: Arc::clone(memory), _registered: registered };
        let (mask, stride, words) = (FAR_SLOTS - 1, Self::FAR_STRIDE, FAR_BODY_WORDS);
        Arc::new(Self { slots, mask, words, inside: words, stride, home, bodies: None })
    }
}

impl Drop for SlotMemory {
    fn drop(&mut self) {
        if let Home::Heap { free } = self.home {
            // SAFETY: M3: they came from a box of this type, and nobody has another handle.
            unsafe { free(self.slots, self.mask + 1) };
        }
    }
}

impl Fabric for Arc<SlotMemory> {
    #[inline]
    unsafe fn write(&self, slot: usize, header: u64, body: &[Word]) {
        // SAFETY: M1 is the caller's.
        unsafe { self.land_batch(slot, header, body) };
    }

    #[inline]
    fn prepare(&self, slot: usize, words: usize) {
        let start = std::ptr::from_ref(self.slot(slot)).cast::<u64>();
        for line in (0..=words).step_by(8) {
            prefetch::write(start.wrapping_add(line));
        }
    }

    fn send(&self, _fragment: Fragment<'_>) -> Result<(), Busy> {
        unreachable!("large values of one process go by the address of their box")
    }

    fn has_room(&self) -> bool {
        true
    }
}
