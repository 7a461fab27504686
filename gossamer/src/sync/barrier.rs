//! [`Barrier`]: everybody waits until all have arrived.

use crate::sync::{awaited, wait_as};
use crate::sys::fibers::wait::{Wait, WaitsOn};
use std::future::Future;
use std::sync::Arc;

pub use tokio::sync::BarrierWaitResult;

/// A fixed number of fibers, threads or tasks of one node wait here until all of them have arrived. It can be used
/// again. A clone is the same barrier.
///
/// Between nodes there is [`rack::barrier`](crate::rack::barrier).
///
/// ```
/// use gossamer::sync::Barrier;
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// let both = Barrier::new(2);
/// let other = gossamer::spawn_with(|both| both.wait().is_leader(), both.clone());
/// let leads = both.wait().is_leader();
/// assert!(leads ^ other.join()); // one of them
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct Barrier(Arc<SharedBarrier>);

#[derive(Debug)]
struct SharedBarrier {
    barrier: tokio::sync::Barrier,
    parties: usize,
}

impl Barrier {
    /// A barrier for `parties` parties; 0 counts as 1.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::sync::Barrier;
    /// let loaded = Barrier::new(3); // two fibers and this one
    /// let load = |loaded: Barrier| { /* its part */ loaded.wait(); };
    /// let fibers = [(); 2].map(|()| gossamer::spawn_with(load, loaded.clone()));
    /// loaded.wait(); // all parts are there
    /// fibers.map(|fiber| fiber.join());
    /// # });
    /// ```
    pub fn new(parties: usize) -> Self {
        Self(Arc::new(SharedBarrier { barrier: tokio::sync::Barrier::new(parties), parties }))
    }

    /// Waits until all parties have arrived. One of them is the leader.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::sync::Barrier;
    /// let barrier = Barrier::new(2);
    /// let other = gossamer::spawn_with(|barrier: Barrier| barrier.wait().is_leader(), barrier.clone());
    /// let leads = barrier.wait().is_leader(); // both are here
    /// assert!(leads ^ other.join()); // one of the two leads
    /// # });
    /// ```
    ///
    /// # Panics
    /// In a delegated closure or a callback.
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        let others =
            WaitsOn::Barrier { address: Arc::as_ptr(&self.0).addr(), parties: self.0.parties as u32 };
        wait_as(self.0.barrier.wait(), Wait::in_call("Barrier::wait").on(others))
    }

    /// Like [`wait`](Self::wait), as a future. Once polled it has arrived, even if it is dropped after that.
    ///
    /// ```
    /// use gossamer::{JoinSet, sync::Barrier};
    /// let barrier = Barrier::new(3);
    /// let parties: JoinSet<_> = (0..3).map(|_| Box::pin(barrier.wait_async())).collect();
    /// let leaders = parties.join_all().iter().filter(|party| party.is_leader()).count();
    /// assert_eq!(leaders, 1);
    /// ```
    pub fn wait_async(&self) -> impl Future<Output = BarrierWaitResult> + Send + use<> {
        let shared = Arc::clone(&self.0);
        async move { awaited(shared.barrier.wait(), "Barrier::wait").await }
    }
}
