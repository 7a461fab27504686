//! Large values that arrive: fragments lie in places of the pool, rows are read from the remote node straight into the
//! memory that becomes their vector's. They are reported in the order in which they were sent (W7).
//!
//! Invariant V10: the memory of a row under way belongs to its region and to this list; nobody looks at it or fills it
//! until its last read is done and it is deregistered.

use crate::fabric::verbs::link::remote_node::Rail;
use crate::fabric::verbs::link::send_queue::SendQueue;
use crate::fabric::verbs::memory::{MemoryRegion, RegionAccess, RegisteredMemory, RemoteAddress};
use crate::fabric::{Event, Fragment};
use crate::wire::refusal::Malformed;
use crate::wire::row::{Row, RowLayout};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;

/// The values that one remote worker has announced, and that are not reported yet.
#[derive(Default)]
pub(super) struct ArrivingValues {
    queue: RefCell<VecDeque<Arriving>>,
    /// The numbers of reads that are under way, in their order.
    reads: RefCell<VecDeque<u64>>,
    /// Places that are free again, which the remote node does not know yet.
    free_places: Cell<u64>,
}

/// A worker of this node, and the writer's number for a value.
#[derive(Clone, Copy)]
pub(super) struct Addressee {
    pub(super) reader: usize,
    pub(super) ticket: u64,
}

enum Arriving {
    Fragment { to: Addressee, row: RowLayout, place: u32, bytes: usize },
    Row(ReadRow),
}

/// A row that is being read.
struct ReadRow {
    to: Addressee,
    from: RemoteAddress,
    region: Arc<MemoryRegion>,
    memory: Arc<TargetRow>,
    /// Bytes that reads were posted for, and the number of the last of these reads.
    posted: usize,
    last: u64,
}

/// The memory of a row that has not arrived yet.
struct TargetRow(Row);

// SAFETY: D2: it stays where it is while the row lives. It is not initialised, but the device only writes it; V10:
// nothing else reads or writes it meanwhile.
unsafe impl RegisteredMemory for TargetRow {
    fn start(&self) -> NonNull<u8> {
        self.0.start()
    }

    fn bytes(&self) -> usize {
        self.0.room()
    }
}

impl ReadRow {
    fn is_posted(&self) -> bool {
        self.posted == self.memory.0.room()
    }

    /// The row, whose reads are done.
    fn finish(self) -> io::Result<Row> {
        let Self { region, memory, .. } = self;
        drop(region);
        // A region that could not be deregistered still keeps it (V5).
        let memory = Arc::into_inner(memory);
        let TargetRow(mut row) = memory.ok_or_else(|| io::Error::other("ibv_dereg_mr has failed"))?;
        // SAFETY: V10: all of it was read, and the device cannot reach it any more.
        unsafe { row.assume_full() };
        Ok(row)
    }
}

impl ArrivingValues {
    /// Free places to report; they count as reported from now on.
    pub(super) fn take_free_places(&self) -> u64 {
        self.free_places.take()
    }

    pub(super) fn has_free_places(&self) -> bool {
        self.free_places.get() != 0
    }

    /// A fragment has arrived.
    pub(super) fn add_fragment(&self, to: Addressee, row: RowLayout, place: u32, bytes: usize) {
        self.queue.borrow_mut().push_back(Arriving::Fragment { to, row, place, bytes });
    }

    /// A row is ready to be read.
    ///
    /// # Errors
    /// There is no such memory (`InvalidData`), or it cannot be pinned.
    pub(super) fn add_row(
        &self,
        rail: &Rail,
        to: Addressee,
        row: RowLayout,
        from: RemoteAddress,
    ) -> io::Result<()> {
        let row = row.allocate().filter(|row| row.room() > 0 && rail.reads().0 > 0);
        let row =
            row.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, Malformed::instead_of::<Row>()))?;
        let memory = Arc::new(TargetRow(row));
        let region = MemoryRegion::new(rail.domain(), memory.clone(), RegionAccess::ReadTarget);
        let region = region.map_err(|error| {
            io::Error::new(error.kind(), format!("{error}; GOSSAMER_VERBS_RENDEZVOUS=never pins no values"))
        })?;
        let row = ReadRow { to, from, region, memory, posted: 0, last: 0 };
        self.queue.borrow_mut().push_back(Arriving::Row(row));
        Ok(())
    }

    /// Adds reads to the chain, as many as may be under way.
    pub(super) fn post_reads(&self, rail: &Rail, sends: &mut SendQueue) {
        let (mut queue, mut reads) = (self.queue.borrow_mut(), self.reads.borrow_mut());
        let (most, largest) = rail.reads();
        for arriving in queue.iter_mut() {
            let Arriving::Row(row) = arriving else { continue };
            while !row.is_posted() {
                // One work request is left for a message.
                if reads.len() >= most || !sends.has_room(2, 0) {
                    return;
                }
                let end = row.memory.0.room().min(row.posted.saturating_add(largest));
                row.last = sends.read(row.region.entry(row.posted..end), row.from.behind(row.posted));
                row.posted = end;
                reads.push_back(row.last);
            }
        }
    }

    /// A work request is done, and so are all before it. Returns whether a read is.
    #[inline]
    pub(super) fn complete(&self, number: u64) -> bool {
        let mut reads = self.reads.borrow_mut();
        let before = reads.len();
        while reads.front().is_some_and(|read| *read <= number) {
            reads.pop_front();
        }
        reads.len() < before
    }

    /// Reports what has arrived whole. Returns how many of these were rows, which the remote node still keeps.
    ///
    /// # Errors
    /// Those of `told`; or a row cannot be taken back from the device.
    pub(super) fn deliver(
        &self,
        rail: &Rail,
        writer: usize,
        told: &mut impl FnMut(Event<'_>) -> Result<(), Malformed>,
    ) -> io::Result<u32> {
        let refused = |malformed| io::Error::new(io::ErrorKind::InvalidData, malformed);
        let mut rows = 0;
        while let Some(next) = self.next() {
            match next {
                Arriving::Fragment { to: Addressee { reader, ticket }, row, place, bytes } => {
                    // SAFETY: V9: it has arrived, and is given back below.
                    let bytes = unsafe { rail.pool().fragment(place, bytes) };
                    let fragment = Fragment { ticket, row, bytes };
                    told(Event::Fragment { writer, reader, fragment }).map_err(refused)?;
                    self.free_places.set(self.free_places.get() | 1 << place);
                }
                Arriving::Row(row) => {
                    let Addressee { reader, ticket } = row.to;
                    let row = row.finish()?;
                    told(Event::Row { writer, reader, ticket, row }).map_err(refused)?;
                    rows += 1;
                }
            }
        }
        Ok(rows)
    }

    /// Takes the first value, if it is whole.
    fn next(&self) -> Option<Arriving> {
        let reads = self.reads.borrow();
        let is_whole = |arriving: &mut Arriving| match arriving {
            Arriving::Fragment { .. } => true,
            Arriving::Row(row) => row.is_posted() && reads.front().is_none_or(|read| row.last < *read),
        };
        self.queue.borrow_mut().pop_front_if(is_whole)
    }
}
