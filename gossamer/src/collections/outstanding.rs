//! [`Outstanding`]: what a loop over a [`DistQueue`](crate::collections::DistQueue) still has to do, and its claim to
//! the queue.

use crate::collections::call_id::CallId;
use crate::{FiberLocal, Trust, sleep};
use std::cell::Cell;
use std::time::Duration;

/// How long a loop waits before it looks again whether another one has ended: at first, and at most.
const WAITS: [Duration; 2] = [Duration::from_micros(20), Duration::from_millis(2)];

/// The loop that is under way over a queue.
pub(super) type CurrentLoop = Option<CallId>;

/// How many items there are, in parts and being worked on. It lives as long as a fiber of the loop.
pub(super) struct Outstanding {
    pub(super) items: usize,
    /// After a panic, or when nobody waits any more.
    pub(super) is_stopped: bool,
    /// Dropped with it: after the last fiber of a loop that was cancelled.
    pub(super) _claim: Claim,
}

impl Outstanding {
    /// What a worker has added and done, and whether it has failed. Returns whether the loop is over.
    pub(super) fn count(&mut self, (added, done, failed): (usize, usize, bool)) -> bool {
        self.items = (self.items + added).saturating_sub(done);
        self.is_stopped |= failed;
        self.is_stopped || self.items == 0
    }
}

/// No worker takes another item once this is dropped.
pub(super) struct StopOnDrop(pub(super) Trust<Outstanding>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.apply_then(const { |remaining: &mut Outstanding| remaining.is_stopped = true }, drop);
    }
}

/// The right to go through a queue. A queue has one loop at a time: two would each wait until all items are done, of
/// which each does only some.
pub(super) struct Claim {
    under_way: Trust<CurrentLoop>,
    id: CallId,
}

/// The loop whose items this fiber does.
static DOES_ITEMS_OF: FiberLocal<Cell<CurrentLoop>> = FiberLocal::new("DOES_ITEMS_OF", || Cell::new(None));

/// From here on, this fiber does items of that loop.
pub(super) fn does_items_of(id: CallId) {
    DOES_ITEMS_OF.with(|own| own.set(Some(id)));
}

impl Claim {
    /// Waits until no other loop is under way.
    ///
    /// # Panics
    /// If the caller is an item of that loop.
    #[track_caller]
    pub(super) fn wait_for(under_way: &Trust<CurrentLoop>) -> Self {
        // Made first, so that it is given back even if the caller is cancelled while it waits for the answer.
        let claim = Self { under_way: under_way.clone(), id: CallId::new() };
        let take = const { |under_way: &mut CurrentLoop, id: CallId| *under_way.get_or_insert(id) };
        let mut wait = WAITS[0];
        loop {
            let current = under_way.apply_with(take, claim.id);
            if current == claim.id {
                return claim;
            }
            assert!(
                DOES_ITEMS_OF.with(Cell::get) != Some(current),
                "an item of a queue would wait for itself: it starts a loop over its own queue or drains it, which \
                 begins when the loop that it belongs to has ended; give new items to the loop instead, by its second \
                 argument"
            );
            sleep(wait);
            wait = (2 * wait).min(WAITS[1]);
        }
    }

    pub(super) fn id(&self) -> CallId {
        self.id
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.under_way.apply_with_then(give_back, self.id, drop);
    }
}

/// Lets the next loop begin.
pub(super) fn give_back(under_way: &mut CurrentLoop, id: CallId) {
    under_way.take_if(|under_way| *under_way == id);
}
