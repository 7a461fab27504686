//! Who waits for which socket of a worker's poller.
//!
//! # No wake-up is lost
//! Sources are edge-triggered: the kernel tells of a change once. Each direction of a source counts the events it
//! had. Who wants to read takes that count *first*, tries the operation, and if it would block waits for the count to
//! differ from what it took ([`Readiness::event_after`]).
//!
//! - What arrives before the attempt is seen by the attempt. What arrives after it makes an event after it, hence a
//!   count that differs; the count is compared and the waker stored under one lock, which the event takes too.
//! - Nobody consumes an event: with any number of readers each compares with a count of its own, and all are woken.
//!   One of them that takes half of the data leaves the other half to those that try after it.
//! - Events that were counted late (for what an attempt saw already) cost one more attempt.
//! - Registering reports what is there already, so a source may be registered after its first attempt.

use mio::event::Event;
use mio::unix::SourceFd;
use mio::{Events, Interest, Registry, Token};
use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::os::fd::RawFd;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

#[cfg(loom)]
use loom::sync::{Mutex, MutexGuard};
#[cfg(not(loom))]
use std::sync::{Mutex, MutexGuard};

/// The token of the worker's own waker; sources have others.
pub(crate) const WAKE: Token = Token(usize::MAX);

/// The sources registered with one worker's poller. Usable from any thread.
pub(crate) struct Sources {
    registry: Registry,
    waiting: std::sync::Mutex<HashMap<Token, Arc<Readiness>>>,
    next: AtomicUsize,
    /// Number of entries, to look at without the lock.
    count: AtomicUsize,
}

/// Which directions of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Read,
    Write,
}

/// What happened to one source, and who waits for more.
pub(crate) struct Readiness {
    read: Mutex<Side>,
    write: Mutex<Side>,
}

#[derive(Default)]
struct Side {
    events: u64,
    waiting: Vec<Waker>,
}

impl Readiness {
    fn new() -> Self {
        Self { read: Mutex::new(Side::default()), write: Mutex::new(Side::default()) }
    }

    fn side(&self, direction: Direction) -> MutexGuard<'_, Side> {
        let side = match direction {
            Direction::Read => &self.read,
            Direction::Write => &self.write,
        };
        // No user code runs under the lock, so it cannot be poisoned by one.
        side.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many events there were: to be taken before an operation is tried.
    pub(crate) fn events(&self, direction: Direction) -> u64 {
        self.side(direction).events
    }

    /// Ready once there was an event that `events` had not counted yet when it returned `seen`.
    pub(crate) fn event_after(&self, direction: Direction, seen: u64) -> EventAfter<'_> {
        EventAfter { readiness: self, direction, seen, waker: None }
    }

    /// Counts an event and wakes all who wait for one.
    fn count_event(&self, direction: Direction) {
        let waiting = {
            let mut side = self.side(direction);
            side.events += 1;
            std::mem::take(&mut side.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    fn note(&self, event: &Event) {
        if event.is_readable() || event.is_read_closed() || event.is_error() {
            self.count_event(Direction::Read);
        }
        if event.is_writable() || event.is_write_closed() || event.is_error() {
            self.count_event(Direction::Write);
        }
    }
}

/// The future of [`Readiness::event_after`]. Dropping it leaves nothing behind.
#[must_use]
pub(crate) struct EventAfter<'a> {
    readiness: &'a Readiness,
    direction: Direction,
    seen: u64,
    /// What `poll` has put on the list.
    waker: Option<Waker>,
}

impl Future for EventAfter<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let mut side = this.readiness.side(this.direction);
        if side.events != this.seen {
            return Poll::Ready(());
        }
        let waker = context.waker();
        if this.waker.as_ref().is_none_or(|stored| !stored.will_wake(waker)) {
            side.forget(this.waker.take());
            side.waiting.push(waker.clone());
            this.waker = Some(waker.clone());
        }
        Poll::Pending
    }
}

impl Drop for EventAfter<'_> {
    fn drop(&mut self) {
        if self.waker.is_some() {
            self.readiness.side(self.direction).forget(self.waker.take());
        }
    }
}

impl Side {
    /// Takes one entry of `waker` off the list, if an event has not done so.
    fn forget(&mut self, waker: Option<Waker>) {
        let place = waker.and_then(|waker| self.waiting.iter().position(|other| other.will_wake(&waker)));
        if let Some(place) = place {
            self.waiting.swap_remove(place);
        }
    }
}

impl Sources {
    pub(crate) fn new(registry: Registry) -> Self {
        Self {
            registry,
            waiting: std::sync::Mutex::default(),
            next: AtomicUsize::new(0),
            count: AtomicUsize::new(0),
        }
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, HashMap<Token, Arc<Readiness>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether any source is registered.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    /// Registers a descriptor for both directions, edge-triggered. What it is ready for already counts as an event.
    ///
    /// # Errors
    /// If the kernel refuses, for example because the user has too many.
    pub(crate) fn register(&self, descriptor: RawFd) -> io::Result<(Token, Arc<Readiness>)> {
        let token = Token(self.next.fetch_add(1, Ordering::Relaxed));
        let readiness = Arc::new(Readiness::new());
        self.waiting().insert(token, Arc::clone(&readiness));
        self.count.fetch_add(1, Ordering::Relaxed);
        let both = Interest::READABLE | Interest::WRITABLE;
        if let Err(error) = self.registry.register(&mut SourceFd(&descriptor), token, both) {
            self.forget(token);
            return Err(error);
        }
        Ok((token, readiness))
    }

    /// Undoes `register`. The descriptor is still open.
    pub(crate) fn deregister(&self, descriptor: RawFd, token: Token) {
        self.forget(token);
        // A refusal is of no concern: an event of a forgotten token wakes nobody.
        let _closing = self.registry.deregister(&mut SourceFd(&descriptor));
    }

    fn forget(&self, token: Token) {
        if self.waiting().remove(&token).is_some() {
            self.count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Wakes those who wait for one of `events`.
    pub(crate) fn dispatch(&self, events: &Events) {
        for event in events.iter().filter(|event| event.token() != WAKE) {
            let readiness = self.waiting().get(&event.token()).cloned();
            if let Some(readiness) = readiness {
                readiness.note(event);
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::worker::fibers::wake_count::WakeCount;
    use std::pin::pin;

    #[test]
    fn one_event_reaches_every_reader_and_a_dropped_wait_leaves_no_waker() {
        let readiness = Readiness::new();
        let counts: Vec<_> = (0..3).map(|_| Arc::new(WakeCount::default())).collect();
        let wakers: Vec<_> = counts.iter().map(|count| Waker::from(Arc::clone(count))).collect();
        let seen = readiness.events(Direction::Read);
        let mut first = pin!(readiness.event_after(Direction::Read, seen));
        let mut second = pin!(readiness.event_after(Direction::Read, seen));
        assert!(first.as_mut().poll(&mut Context::from_waker(&wakers[0])).is_pending());
        assert!(second.as_mut().poll(&mut Context::from_waker(&wakers[1])).is_pending());
        {
            let mut third = pin!(readiness.event_after(Direction::Read, seen));
            assert!(third.as_mut().poll(&mut Context::from_waker(&wakers[2])).is_pending());
        }
        readiness.count_event(Direction::Write);
        assert!(first.as_mut().poll(&mut Context::from_waker(&wakers[0])).is_pending());
        readiness.count_event(Direction::Read);
        assert!(first.as_mut().poll(&mut Context::from_waker(&wakers[0])).is_ready());
        assert!(second.as_mut().poll(&mut Context::from_waker(&wakers[1])).is_ready());
        let woken: Vec<_> = counts.iter().map(|count| count.wakes()).collect();
        assert_eq!(woken, [1, 1, 0]);
        assert!(readiness.side(Direction::Read).waiting.is_empty());
    }
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use crate::atomic::{AtomicU64, Ordering::Relaxed};
    use loom::future::block_on;
    use loom::sync::Arc;

    #[test]
    fn two_readers_of_one_source_miss_no_event() {
        loom::model(|| {
            // The bytes in the kernel's buffer.
            let shared = Arc::new((Readiness::new(), AtomicU64::new(0)));
            let reader = |shared: Arc<(Readiness, AtomicU64)>| {
                let (readiness, bytes) = &*shared;
                loop {
                    let seen = readiness.events(Direction::Read);
                    if bytes.fetch_update(Relaxed, Relaxed, |bytes| bytes.checked_sub(1)).is_ok() {
                        return;
                    }
                    block_on(readiness.event_after(Direction::Read, seen));
                }
            };
            let other = Arc::clone(&shared);
            let other = loom::thread::spawn(move || reader(other));
            let kernel = Arc::clone(&shared);
            let kernel = loom::thread::spawn(move || {
                kernel.1.fetch_add(2, Relaxed);
                kernel.0.count_event(Direction::Read);
            });
            reader(shared);
            other.join().unwrap();
            kernel.join().unwrap();
        });
    }
}
