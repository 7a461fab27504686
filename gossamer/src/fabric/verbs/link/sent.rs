//! Large values that were sent, until the remote node has taken them: fragments in places of its pool, and rows that it
//! reads directly from their place.

use crate::fabric::verbs::link::lane_writes::LaneWrites;
use crate::fabric::verbs::link::remote_node::Rail;
use crate::fabric::verbs::memory::{MemoryRegion, RegionAccess, RegisteredMemory, RemoteAddress};
use crate::wire::row::Row;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;

/// How many rows at most are pinned for one queue pair: further rows go in fragments meanwhile.
const MOST_ROWS: usize = 16;

/// The values sent to one remote worker. Writes to the same reader wait for them (W7).
#[derive(Default)]
pub(super) struct SentValues {
    /// By their places.
    fragments: RefCell<Vec<(u32, Rc<LaneWrites>)>>,
    /// In the order in which they are taken.
    rows: RefCell<VecDeque<SentRow>>,
}

struct SentRow {
    lane: Rc<LaneWrites>,
    /// It keeps the row.
    _region: Arc<MemoryRegion>,
}

/// The memory of a row that was sent.
struct SourceRow(Row);

// SAFETY: D2: it stays where it is while the row lives, its bytes are initialised, and nothing writes them.
unsafe impl RegisteredMemory for SourceRow {
    fn start(&self) -> NonNull<u8> {
        self.0.start()
    }

    fn bytes(&self) -> usize {
        self.0.bytes().len()
    }
}

impl SentValues {
    /// The fragment in this place is being sent.
    pub(super) fn add_fragment(&self, lane: &Rc<LaneWrites>, place: u32) {
        lane.hold();
        self.fragments.borrow_mut().push((place, Rc::clone(lane)));
    }

    /// Lets the remote node read a row. Returns where it is.
    ///
    /// # Errors
    /// The row: it cannot be pinned, or enough rows are.
    pub(super) fn add_row(&self, rail: &Rail, lane: &Rc<LaneWrites>, row: Row) -> Result<RemoteAddress, Row> {
        let mut rows = self.rows.borrow_mut();
        if rows.len() >= MOST_ROWS {
            return Err(row);
        }
        let memory = Arc::new(SourceRow(row));
        match MemoryRegion::new(rail.domain(), memory.clone(), RegionAccess::RemoteRead) {
            Ok(region) => {
                lane.hold();
                let from = region.remote(0);
                rows.push_back(SentRow { lane: Rc::clone(lane), _region: region });
                Ok(from)
            }
            Err(_) => Err(Arc::into_inner(memory).map_or_else(Row::default, |memory| memory.0)),
        }
    }

    /// The remote node has taken the fragment in a place. Returns whether there was one.
    pub(super) fn release_fragment(&self, place: u32) -> bool {
        let mut fragments = self.fragments.borrow_mut();
        let Some(index) = fragments.iter().position(|(taken, _)| *taken == place) else { return false };
        fragments.swap_remove(index).1.release();
        true
    }

    /// The remote node has taken this many rows. Returns whether there were that many.
    pub(super) fn release_rows(&self, count: u32) -> bool {
        let mut rows = self.rows.borrow_mut();
        let released = (0..count).map_while(|_| rows.pop_front()).map(|row| row.lane.release()).count();
        released == count as usize
    }
}
