//! The slots of this node that workers of one remote node write: cut from chunks, which are registered when the first
//! lane in them is made. To register all possible lanes would pin gibibytes in a large rack.

use crate::fabric::verbs::memory::{MemoryRegion, ProtectionDomain, RegionAccess, RemoteAddress};
use crate::fabric::{Lane, SlotMemory, Slots};
use crate::sys::memory::device_memory::DeviceMemory;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of a chunk: a huge page.
const CHUNK: usize = 2 << 20;

/// Slots, and how the remote node reaches them.
#[derive(Clone)]
pub(super) struct RegisteredSlots {
    pub(super) slots: Arc<SlotMemory>,
    pub(super) address: RemoteAddress,
}

/// All slots that one remote node writes.
pub(super) struct LanePool {
    domain: Arc<ProtectionDomain>,
    /// The workers of this node.
    readers: Range<usize>,
    lanes: Mutex<RegisteredLanes>,
}

#[derive(Default)]
struct RegisteredLanes {
    slots: HashMap<Lane, RegisteredSlots>,
    /// The chunk that slots are cut from, and how much of it is used.
    chunk: Option<Chunk>,
}

struct Chunk {
    memory: Arc<DeviceMemory>,
    region: Arc<MemoryRegion>,
    used: usize,
}

impl LanePool {
    pub(super) fn new(domain: &Arc<ProtectionDomain>, readers: Range<usize>) -> Self {
        Self { domain: Arc::clone(domain), readers, lanes: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, RegisteredLanes> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn has_reader(&self, worker: usize) -> bool {
        self.readers.contains(&worker)
    }

    /// The slots of a lane, which are made if there are none.
    ///
    /// # Errors
    /// If there is no memory for them, or it cannot be pinned.
    pub(super) fn register(&self, lane: Lane) -> io::Result<RegisteredSlots> {
        let mut lanes = self.lock();
        let RegisteredLanes { slots, chunk } = &mut *lanes;
        match slots.entry(lane) {
            Entry::Occupied(known) => Ok(known.get().clone()),
            Entry::Vacant(new) => Ok(new.insert(self.cut(chunk)?).clone()),
        }
    }

    /// The slots that a writer asks for, and whether they are new. Responses go only to workers that asked.
    ///
    /// # Errors
    /// Like `register`.
    pub(super) fn find(&self, lane: Lane) -> io::Result<Option<(RegisteredSlots, bool)>> {
        let known = self.lock().slots.get(&lane).cloned();
        match known {
            Some(known) => Ok(Some((known, false))),
            None if lane.slots == Slots::Responses || !self.has_reader(lane.reader) => Ok(None),
            // A lane has one writer, whose question only one worker hears: nobody else makes it meanwhile.
            None => Ok(Some((self.register(lane)?, true))),
        }
    }

    fn cut(&self, chunk: &mut Option<Chunk>) -> io::Result<RegisteredSlots> {
        let fits = |chunk: &Chunk| chunk.used + SlotMemory::FAR_BYTES <= CHUNK;
        let chunk = match chunk.take().filter(fits) {
            Some(old) => chunk.insert(old),
            None => {
                let memory = DeviceMemory::map(CHUNK)?;
                let region = MemoryRegion::new(&self.domain, memory.clone(), RegionAccess::RemoteWrite)?;
                chunk.insert(Chunk { memory, region, used: 0 })
            }
        };
        let offset = chunk.used;
        chunk.used += SlotMemory::FAR_BYTES;
        let slots = SlotMemory::in_device_memory(&chunk.memory, offset, chunk.region.clone());
        Ok(RegisteredSlots { slots, address: chunk.region.remote(offset) })
    }
}
