//! [`Semaphore`]: a limit on how many run at once.

use crate::sync::{AcquireError, TryAcquireError, awaited, wait};
use std::future::Future;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;

/// A number of permits, given out first come, first served. A clone is the same semaphore.
///
/// ```
/// use gossamer::sync::Semaphore;
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// let slots = Semaphore::new(2);
/// for _ in 0..10 {
///     let slot = slots.acquire().unwrap(); // waits while two are at work
///     let _detached = gossamer::spawn_with(|_slot| gossamer::yield_now(), slot);
/// }
/// let _both = slots.acquire_many(2).unwrap();
/// assert_eq!(slots.available_permits(), 0);
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct Semaphore(Arc<tokio::sync::Semaphore>);

/// One or more permits of a [`Semaphore`], given back when it is dropped.
#[derive(Debug)]
#[must_use = "a permit that is dropped is given back"]
pub struct Permit(OwnedSemaphorePermit);

impl Semaphore {
    /// A semaphore with this many permits.
    ///
    /// ```
    /// use gossamer::sync::Semaphore;
    /// let connections = Semaphore::new(2);
    /// let (_one, _another) = (connections.try_acquire().unwrap(), connections.try_acquire().unwrap());
    /// assert!(connections.try_acquire().is_err()); // both are in use
    /// ```
    ///
    /// # Panics
    /// If there are more than `usize::MAX >> 3`.
    pub fn new(permits: usize) -> Self {
        Self(Arc::new(tokio::sync::Semaphore::new(permits)))
    }

    /// Waits for a permit.
    ///
    /// ```
    /// use gossamer::sync::Semaphore;
    /// let slots = Semaphore::new(1);
    /// let slot = slots.acquire().unwrap();
    /// assert_eq!(slots.available_permits(), 0);
    /// drop(slot); // the next one gets it
    /// ```
    ///
    /// # Errors
    /// If the semaphore is [closed](Self::close).
    ///
    /// # Panics
    /// In a delegated closure or a callback.
    #[track_caller]
    pub fn acquire(&self) -> Result<Permit, AcquireError> {
        self.acquire_many(1)
    }

    /// Waits for `permits` permits at once. Later callers get none before.
    ///
    /// ```
    /// use gossamer::sync::Semaphore;
    /// let slots = Semaphore::new(4);
    /// let three = slots.acquire_many(3).unwrap();
    /// assert_eq!(slots.available_permits(), 1);
    /// # drop(three);
    /// ```
    ///
    /// # Errors
    /// If the semaphore is [closed](Self::close).
    ///
    /// # Panics
    /// In a delegated closure or a callback.
    #[track_caller]
    pub fn acquire_many(&self, permits: u32) -> Result<Permit, AcquireError> {
        wait(Arc::clone(&self.0).acquire_many_owned(permits), "acquire").map(Permit)
    }

    /// Like [`acquire`](Self::acquire), as a future. Dropping it only loses its place in the queue.
    ///
    /// ```
    /// use gossamer::sync::Semaphore;
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let slots = Semaphore::new(1);
    /// let _slot = slots.acquire_async().await.unwrap();
    /// # });
    /// ```
    pub fn acquire_async(&self) -> impl Future<Output = Result<Permit, AcquireError>> + Send + use<> {
        let permit = awaited(Arc::clone(&self.0).acquire_owned(), "acquire");
        async { permit.await.map(Permit) }
    }

    /// A permit, if one is available and nobody waits for it.
    ///
    /// ```
    /// use gossamer::sync::Semaphore;
    /// let slots = Semaphore::new(1);
    /// let _slot = slots.try_acquire().unwrap();
    /// assert!(slots.try_acquire().is_err());
    /// ```
    ///
    /// # Errors
    /// If there is none, or the semaphore is closed.
    pub fn try_acquire(&self) -> Result<Permit, TryAcquireError> {
        Arc::clone(&self.0).try_acquire_owned().map(Permit)
    }

    /// The number of permits that are available.
    ///
    /// ```
    /// use gossamer::sync::Semaphore;
    /// let slots = Semaphore::new(3);
    /// let taken = slots.acquire_many(2).unwrap();
    /// assert_eq!(slots.available_permits(), 1);
    /// drop(taken); // gives both back
    /// assert_eq!(slots.available_permits(), 3);
    /// ```
    pub fn available_permits(&self) -> usize {
        self.0.available_permits()
    }

    /// Adds permits.
    ///
    /// ```
    /// use gossamer::sync::Semaphore;
    /// let slots = Semaphore::new(0);
    /// slots.add_permits(2);
    /// assert_eq!(slots.available_permits(), 2);
    /// ```
    ///
    /// # Panics
    /// If there would be more than `usize::MAX >> 3`.
    pub fn add_permits(&self, permits: usize) {
        self.0.add_permits(permits);
    }

    /// Refuses permits from now on. Waiters get an error.
    ///
    /// ```
    /// use gossamer::sync::Semaphore;
    /// let slots = Semaphore::new(1);
    /// slots.close();
    /// assert!(slots.acquire().is_err());
    /// ```
    pub fn close(&self) {
        self.0.close();
    }
}

impl Permit {
    /// Removes the permits from the semaphore: they are not given back.
    ///
    /// ```
    /// use gossamer::sync::Semaphore;
    /// let slots = Semaphore::new(2);
    /// slots.acquire().unwrap().forget();
    /// assert_eq!(slots.available_permits(), 1); // for good
    /// ```
    pub fn forget(self) {
        self.0.forget();
    }
}
