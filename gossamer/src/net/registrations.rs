//! A descriptor's entries in pollers: one for each runtime whose fibers had to wait for it, and one for tasks of other executors.

use crate::lane::context::{self, Context};
use crate::net::outside_poller;
use crate::structures::slot_table::TableSlot;
use crate::worker::fibers::readiness::Readiness;
use crate::worker::fibers::sources::Sources;
use crate::worker::shared::Shared;
use crate::worker::{self, Worker};
use std::io;
use std::ops::Deref;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

/// The entries of one descriptor, which stays open as long as they exist.
#[derive(Default)]
pub(crate) struct Registrations {
    /// The first entry, found without a lock; most descriptors have no other.
    first: OnceLock<Registration>,
    others: Mutex<Vec<Arc<Registration>>>,
}

/// An entry in one poller.
pub(crate) struct Registration {
    owner: PollerOwner,
    readiness: TableSlot<Readiness>,
    descriptor: RawFd,
}

/// The entry in the caller's poller.
pub(crate) enum WatchedSource<'a> {
    First(&'a Registration),
    Other(Arc<Registration>),
}

impl Deref for WatchedSource<'_> {
    type Target = Readiness;

    #[inline]
    fn deref(&self) -> &Readiness {
        match self {
            Self::First(entry) => &entry.readiness,
            Self::Other(entry) => &entry.readiness,
        }
    }
}

/// Whose poller it is.
enum PollerOwner {
    Worker { runtime: Weak<Shared>, worker: usize },
    Outside(&'static Sources),
}

/// Calls `f` with the worker that runs the caller; on a thread that is not a worker, with `None`.
pub(crate) fn with_caller<R>(f: impl FnOnce(Option<&Worker>) -> R) -> R {
    worker::with(|worker| f(worker.filter(|_| context::current() != Context::Outside)))
}

impl Registrations {
    fn others(&self) -> MutexGuard<'_, Vec<Arc<Registration>>> {
        // No user code runs under the lock, so none can poison it.
        self.others.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The entry in the caller's poller: on a worker, the first one of its runtime; otherwise that of the process.
    #[inline]
    pub(crate) fn find(&self) -> Option<WatchedSource<'_>> {
        let first = self.first.get()?;
        with_caller(|caller| match first.owner.is_of(caller) {
            true => Some(WatchedSource::First(first)),
            false => find_other(&self.others(), caller),
        })
    }

    /// Like `find`; makes the entry if there is none.
    ///
    /// # Errors
    /// If the kernel refuses.
    #[cold]
    pub(crate) fn register(&self, descriptor: BorrowedFd<'_>) -> io::Result<WatchedSource<'_>> {
        with_caller(|caller| {
            // Held until the entry exists: others wait instead of making a second one.
            let mut others = self.others();
            if let Some(first) = self.first.get().filter(|first| first.owner.is_of(caller)) {
                return Ok(WatchedSource::First(first));
            }
            if let Some(found) = find_other(&others, caller) {
                return Ok(found);
            }
            others.retain(|entry| entry.owner.lives());
            let entry = Registration::new(descriptor.as_raw_fd(), caller)?;
            if self.first.get().is_none() {
                return Ok(WatchedSource::First(self.first.get_or_init(|| entry)));
            }
            let entry = Arc::new(entry);
            others.push(Arc::clone(&entry));
            Ok(WatchedSource::Other(entry))
        })
    }
}

fn find_other(others: &[Arc<Registration>], caller: Option<&Worker>) -> Option<WatchedSource<'static>> {
    let found = others.iter().find(|entry| entry.owner.is_of(caller))?;
    Some(WatchedSource::Other(Arc::clone(found)))
}

impl Registration {
    fn new(descriptor: RawFd, caller: Option<&Worker>) -> io::Result<Self> {
        let (owner, readiness) = match caller {
            Some(here) => {
                let owner = PollerOwner::Worker { runtime: Arc::downgrade(&here.shared), worker: here.index };
                (owner, here.shared.mailbox(here.index).sources.register(descriptor)?)
            }
            None => {
                let sources = outside_poller::sources()?;
                (PollerOwner::Outside(sources), sources.register(descriptor)?)
            }
        };
        Ok(Self { owner, readiness, descriptor })
    }
}

impl PollerOwner {
    #[inline]
    fn is_of(&self, caller: Option<&Worker>) -> bool {
        match (self, caller) {
            (Self::Worker { runtime, .. }, Some(here)) => runtime.as_ptr() == Arc::as_ptr(&here.shared),
            (Self::Outside(_), None) => true,
            _ => false,
        }
    }

    fn lives(&self) -> bool {
        match self {
            Self::Worker { runtime, .. } => runtime.strong_count() > 0,
            Self::Outside(_) => true,
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        match &self.owner {
            PollerOwner::Worker { runtime, worker } => {
                if let Some(runtime) = runtime.upgrade() {
                    runtime.mailbox(*worker).sources.deregister(self.descriptor, &self.readiness);
                }
            }
            PollerOwner::Outside(sources) => sources.deregister(self.descriptor, &self.readiness),
        }
    }
}
