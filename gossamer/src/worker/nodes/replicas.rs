//! The copies that a node has of replicated values, each by its number.
//!
//! A copy exists from before the first handle of its value arrives at this node until the last handle in the rack is
//! gone, or the runtime ends. So decoding a handle always finds it.

use foldhash::fast::FixedState;
use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A copy, whatever the layer above makes of it.
pub(crate) type AnyReplica = dyn Any + Send + Sync;

/// A replicated value: the worker that made it, and its number among those of that worker's node. It is never reused.
pub(crate) type ReplicaId = (u32, u64);

/// The copies of one node.
#[derive(Default)]
pub(crate) struct Replicas {
    made: AtomicU64,
    copies: Mutex<HashMap<ReplicaId, Arc<AnyReplica>, FixedState>>,
}

impl Replicas {
    fn copies(&self) -> MutexGuard<'_, HashMap<ReplicaId, Arc<AnyReplica>, FixedState>> {
        // No user code runs under the lock, so none can poison it.
        self.copies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of a value that a worker of this node makes.
    pub(crate) fn new_id(&self, worker: usize) -> ReplicaId {
        // Relaxed: it is only a number.
        (worker as u32, self.made.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn keep(&self, id: ReplicaId, copy: Arc<AnyReplica>) {
        let replaced = self.copies().insert(id, copy);
        debug_assert!(replaced.is_none(), "a number is given once");
    }

    /// The copy with this number, if it is of this type.
    pub(crate) fn get<R: Any + Send + Sync>(&self, id: ReplicaId) -> Option<Arc<R>> {
        let copy = self.copies().get(&id).cloned()?;
        copy.downcast().ok()
    }

    /// Removes a copy. Dropping it runs code of the program.
    pub(crate) fn take(&self, id: ReplicaId) -> Option<Arc<AnyReplica>> {
        self.copies().remove(&id)
    }

    /// Removes all copies, because the runtime has ended.
    pub(crate) fn take_all(&self) -> Vec<Arc<AnyReplica>> {
        self.copies().drain().map(|(_, copy)| copy).collect()
    }
}
