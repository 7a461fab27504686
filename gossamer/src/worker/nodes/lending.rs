//! Counting the trusts that other nodes hold.
//!
//! A trust that is sent to another node is *lent*: the worker that encodes it keeps its own handle, and counts how
//! often it has lent it. The node that decodes it counts its own clones, as every node does, and notes how often it was
//! lent the property. When the last clone is gone, it gives all of them back at once. So each node counts for the nodes
//! that it sent a trust to, whatever they did with it, and the owner drops the property when its own handle is gone,
//! and with it all that were lent: an indirect count (Piquer, "Indirect reference counting", 1991). No message has to
//! arrive before another. The thesis (3.2.6) sends one to the owner for each clone and each drop.
//!
//! A worker knows the handles that it has lent or was lent. If it is lent the same property again, it clones the handle
//! that it knows: otherwise a trust that goes to and fro would leave a chain of handles, each kept by the one before.

use foldhash::fast::FixedState;
use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

/// A handle, of whatever type the layer above makes it.
pub(crate) type AnyHandle = dyn Any + Send + Sync;

/// A property: its trustee among the workers of all nodes, and its index in that trustee's table. The key names the
/// same property as long as there is a handle.
pub(crate) type PropertyKey = (u32, u32);

/// What one worker has lent, and the handles that it knows.
#[derive(Default)]
pub(crate) struct Lending {
    lent: RefCell<HashMap<PropertyKey, Lent, FixedState>>,
    known: RefCell<HashMap<PropertyKey, Weak<AnyHandle>, FixedState>>,
}

struct Lent {
    handle: Arc<AnyHandle>,
    /// How often it was lent, less what was given back.
    times: u64,
}

impl Lending {
    /// Lends a property once more: keeps `handle` until the loan is given back.
    pub(crate) fn lend<H: Any + Send + Sync>(&self, property: PropertyKey, handle: &Arc<H>) {
        let mut lent = self.lent.borrow_mut();
        let entry = lent.entry(property).or_insert_with(|| {
            let handle: Arc<AnyHandle> = Arc::<H>::clone(handle);
            self.know(property, &handle);
            Lent { handle, times: 0 }
        });
        entry.times += 1;
    }

    /// Notes that a property was given back this many times.
    pub(crate) fn give_back(&self, property: PropertyKey, times: u64) {
        let mut lent = self.lent.borrow_mut();
        let Some(entry) = lent.get_mut(&property) else { return };
        entry.times = entry.times.saturating_sub(times);
        let last = if entry.times == 0 { lent.remove(&property) } else { None };
        drop(lent);
        // Outside the borrow: the last handle tells the trustee when it is dropped.
        drop(last.map(|last| last.handle));
    }

    /// The handle of a property that this worker knows, if it is alive.
    pub(crate) fn known<H: Any + Send + Sync>(&self, property: PropertyKey) -> Option<Arc<H>> {
        let handle = self.known.borrow().get(&property).and_then(Weak::upgrade)?;
        handle.downcast().ok()
    }

    /// Remembers a handle, as long as it is alive.
    pub(crate) fn know(&self, property: PropertyKey, handle: &Arc<AnyHandle>) {
        let mut known = self.known.borrow_mut();
        if known.len() == known.capacity() {
            // This runs when the table is full, and at most half of the new capacity is dead: so it costs as little as
            // growing does.
            known.retain(|_, handle| handle.strong_count() > 0);
            let alive = known.len();
            known.reserve(alive + 1);
        }
        known.insert(property, Arc::downgrade(handle));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn alive(handle: &Arc<u64>) -> usize {
        Arc::strong_count(handle)
    }

    #[test]
    fn what_was_lent_is_kept_until_all_of_it_is_given_back() {
        let (lending, handle) = (Lending::default(), Arc::new(7_u64));
        for _ in 0..5 {
            lending.lend((1, 2), &handle);
        }
        lending.lend((1, 3), &handle);
        assert_eq!(alive(&handle), 3);
        lending.give_back((1, 2), 4);
        assert_eq!(alive(&handle), 3);
        lending.give_back((1, 2), 1);
        lending.give_back((1, 2), 1);
        assert_eq!(alive(&handle), 2);
        lending.give_back((1, 3), 1);
        assert_eq!(alive(&handle), 1);
    }

    #[test]
    fn a_handle_is_known_while_it_lives_and_dead_ones_do_not_pile_up() {
        let (lending, handle) = (Lending::default(), Arc::new(7_u64));
        lending.lend((1, 2), &handle);
        assert_eq!(lending.known::<u64>((1, 2)).as_deref(), Some(&7));
        lending.give_back((1, 2), 1);
        drop(handle);
        assert!(lending.known::<u64>((1, 2)).is_none());
        for property in 0..10_000 {
            lending.lend((0, property), &Arc::new(0_u64));
            lending.give_back((0, property), 1);
        }
        assert!(lending.known.borrow().capacity() < 100);
    }
}
