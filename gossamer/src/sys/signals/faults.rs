//! Which addresses have their faults resolved, and by what: the table that the handler of SIGSEGV and SIGBUS reads
//! (`fault_handler`).
//!
//! Invariants
//! - U1: an entry of the list is never freed, and its `version` is odd while it is being changed, under the lock. What a handler read
//!   between two equal, even versions belongs together.
//! - U2: a resolver lives at least as long as its addresses are watched, and nothing touches these while the watch
//!   ends. So a handler that finds its own address in an entry finds a living resolver there.

use crate::atomic::Ordering;
use crate::atomic::fixed::{AtomicPtr, AtomicU32, AtomicUsize};
use crate::sys::memory::range::Range;
use crate::sys::signals::line::Line;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, PoisonError};

/// An access that the processor could not make.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) address: usize,
    /// It was a write.
    pub(crate) write: bool,
    /// There is a mapping with nothing behind it (SIGBUS).
    pub(crate) bus: bool,
}

/// Makes addresses accessible when they are touched. Called in a signal handler: it neither allocates nor takes a lock
/// that code might hold while it touches these addresses.
pub(crate) trait Resolve: Send + Sync {
    /// Whether to repeat the access; if not, the reason is written into `line`.
    fn resolve(&self, fault: Fault, line: &mut Line) -> bool;
}

struct WatchedRange {
    next: Option<&'static WatchedRange>,
    version: AtomicU32,
    start: AtomicUsize,
    end: AtomicUsize,
    resolver: AtomicPtr<Arc<dyn Resolve>>,
}

static FIRST: AtomicPtr<WatchedRange> = AtomicPtr::new(null_mut());
/// Held to change entries, never by a handler.
static CHANGES: Mutex<()> = Mutex::new(());

fn first() -> Option<&'static WatchedRange> {
    // Acquire: pairs with the Release in `register`, so that the entry is seen whole.
    let first = FIRST.load(Ordering::Acquire);
    // SAFETY: U1: null, or an entry, which is never freed.
    unsafe { first.as_ref() }
}

fn watched() -> impl Iterator<Item = &'static WatchedRange> {
    std::iter::successors(first(), |entry| entry.next)
}

impl WatchedRange {
    fn set(&self, start: usize, end: usize, resolver: *mut Arc<dyn Resolve>) -> *mut Arc<dyn Resolve> {
        // SeqCst, all: a look-up between two even versions must not see a part of this (U1). Watches are rare.
        self.version.fetch_add(1, Ordering::SeqCst);
        self.start.store(start, Ordering::SeqCst);
        self.end.store(end, Ordering::SeqCst);
        let before = self.resolver.swap(resolver, Ordering::SeqCst);
        self.version.fetch_add(1, Ordering::SeqCst);
        before
    }

    /// The resolver, if the address is watched.
    fn resolver_of(&self, address: usize) -> Option<&Arc<dyn Resolve>> {
        // SeqCst: as in `set`.
        let version = self.version.load(Ordering::SeqCst);
        let within =
            self.start.load(Ordering::SeqCst) <= address && address < self.end.load(Ordering::SeqCst);
        let resolver = self.resolver.load(Ordering::SeqCst);
        let whole = version.is_multiple_of(2) && self.version.load(Ordering::SeqCst) == version;
        if !within || !whole {
            return None;
        }
        // SAFETY: U1 and U2: null, or the living resolver of this address.
        unsafe { resolver.as_ref() }
    }
}

/// Arranges that the faults of a range are resolved, until it is dropped.
pub(crate) struct Watch(&'static WatchedRange);

/// Enters a range for the handler, which has to be installed.
pub(super) fn register(range: &Range, resolver: Arc<dyn Resolve>) -> Watch {
    let (start, end) = (range.start().as_ptr() as usize, range.start().as_ptr() as usize + range.len());
    let resolver = Box::into_raw(Box::new(resolver));
    let _changes = CHANGES.lock().unwrap_or_else(PoisonError::into_inner);
    // Relaxed: changed only under the lock.
    if let Some(free) = watched().find(|entry| entry.resolver.load(Ordering::Relaxed).is_null()) {
        free.set(start, end, resolver);
        return Watch(free);
    }
    let entry: &'static WatchedRange = Box::leak(Box::new(WatchedRange {
        next: first(),
        version: AtomicU32::new(0),
        start: AtomicUsize::new(start),
        end: AtomicUsize::new(end),
        resolver: AtomicPtr::new(resolver),
    }));
    // Release: pairs with the Acquire in `watched`.
    FIRST.store((&raw const *entry).cast_mut(), Ordering::Release);
    Watch(entry)
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _changes = CHANGES.lock().unwrap_or_else(PoisonError::into_inner);
        let resolver = self.0.set(0, 0, null_mut());
        if !resolver.is_null() {
            // SAFETY: made by `Box::into_raw` in `register`; U2: nothing uses it any more.
            drop(unsafe { Box::from_raw(resolver) });
        }
    }
}

/// Resolves a fault, if its address is watched. Otherwise returns `None`. For handlers.
pub(crate) fn resolve(fault: Fault, line: &mut Line) -> Option<bool> {
    let resolver = watched().find_map(|entry| entry.resolver_of(fault.address))?;
    Some(resolver.resolve(fault, line))
}
