//! The events of a descriptor that a poller watches, and their waiters.
//!
//! # No wake-up is lost
//! Sources are edge-triggered: the kernel reports a change once. Each direction of a source counts its events. A
//! reader takes that count *first*, tries the operation, and if it would block waits until the count differs
//! ([`Readiness::event_after`]).
//!
//! - What arrives before the attempt is seen by the attempt. What arrives after it makes an event after it, hence a
//!   count that differs. The count and the flag that somebody waits are one word, whose changes have one order:
//!   either the waiter's flag comes before the event, which then takes the list of waiters, or the waiter sees
//!   the event. The list is behind a lock, which an event takes only if the flag is set. Counting an event is a `Release`
//!   and taking the count an `Acquire`: an attempt sees what the events that were counted before it reported.
//! - Nobody consumes an event: each of any number of readers compares with its own count, and all are woken. A reader
//!   that takes half of the data leaves the other half to those that try later.
//! - Events that were counted late (for what an attempt saw already) cost one more attempt.
//! - Registering reports what is already there, so a source may be registered after its first attempt.
//!
//! # No second read after one that has taken all
//! A read of a stream that does not fill its buffer has drained it. The reader notes the count that it took before
//! ([`Readiness::note_drained`]); as long as the count is the same, a read would block, and is not tried
//! ([`Readiness::is_drained`]).
//!
//! - What arrives after that read makes an event after it, and an event whose count the note does not have.
//! - **The end** may be told by the same event as the last data: if it came before that event was taken from the kernel, no
//!   other follows. But then the event says so (EPOLLRDHUP, EPOLLHUP), as one with an error does (EPOLLERR). An end that
//!   comes later is a change, and makes an event. So after an event that tells of an end or of an error a note counts no more.
//! - **Urgent data** of TCP ends a read before its mark, whatever follows it. The event of its arrival says so
//!   (EPOLLPRI), and counts like an end. An event that is still to come has another count than the note.
//! - For descriptors of another kind, whose reads end early for other reasons (as on a Unix socket where a message
//!   with descriptors begins), nothing is noted.

use crate::atomic::{AtomicU64, Ordering};
use crate::worker::fibers::waiters::Waiters;
use std::future::Future;
use std::pin::Pin;
use std::sync::PoisonError;
use std::task::{Context, Poll, Waker};

#[cfg(loom)]
use loom::sync::{Mutex, MutexGuard};
#[cfg(not(loom))]
use std::sync::{Mutex, MutexGuard};

/// Which directions of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Read,
    Write,
}

/// The events of one source, and their waiters.
#[derive(Default)]
pub(crate) struct Readiness {
    read: Side,
    write: Side,
    /// The state of `read` before a read that drained the source.
    drained: AtomicU64,
}

/// One direction.
#[derive(Default)]
struct Side {
    /// The flags below, and above them the number of events.
    state: AtomicU64,
    waiting: Mutex<Waiters>,
}

/// Somebody waits: set and cleared under the lock of the list, and set when the list is not empty.
const IS_AWAITED: u64 = 1;
/// An event told of an end, an error or urgent data.
const IS_SPECIAL: u64 = 2;
/// One event.
const EVENT: u64 = 4;

impl Readiness {
    /// Resets this for a new source, while nobody else uses it.
    pub(crate) fn begin(&self) {
        self.read.state.store(0, Ordering::Relaxed);
        self.write.state.store(0, Ordering::Relaxed);
        self.drained.store(u64::MAX, Ordering::Relaxed);
    }

    #[inline]
    fn side(&self, direction: Direction) -> &Side {
        match direction {
            Direction::Read => &self.read,
            Direction::Write => &self.write,
        }
    }

    /// The number of events: to be taken before an operation is tried.
    #[inline]
    pub(crate) fn events(&self, direction: Direction) -> u64 {
        self.side(direction).events()
    }

    /// Ready once there was an event that `events` had not counted yet when it returned `seen`.
    pub(crate) fn event_after(&self, direction: Direction, seen: u64) -> EventAfter<'_> {
        EventAfter { side: self.side(direction), seen, number: None }
    }

    /// A read of a stream, before which `events` had returned `seen`, has drained it.
    #[inline]
    pub(crate) fn note_drained(&self, seen: u64) {
        self.drained.store(seen * EVENT, Ordering::Relaxed);
    }

    /// Whether a read would block for sure; `events` has returned `seen`.
    #[inline]
    pub(crate) fn is_drained(&self, seen: u64) -> bool {
        let unawaited = self.read.state.load(Ordering::Relaxed) & !IS_AWAITED;
        unawaited == seen * EVENT && unawaited == self.drained.load(Ordering::Relaxed)
    }

    /// Counts an event and wakes all that wait to read. `is_special`: it tells of an end, an error or urgent data.
    #[inline]
    pub(crate) fn count_readable(&self, is_special: bool) {
        if is_special {
            self.read.state.fetch_or(IS_SPECIAL, Ordering::Relaxed);
        }
        self.read.count_event();
    }

    /// Counts an event and wakes all that wait to write.
    #[inline]
    pub(crate) fn count_writable(&self) {
        self.write.count_event();
    }
}

impl Side {
    #[inline]
    fn events(&self) -> u64 {
        // Acquire: pairs with the Release in `count_event`.
        self.state.load(Ordering::Acquire) / EVENT
    }

    fn list(&self) -> MutexGuard<'_, Waiters> {
        // No user code runs under the lock, so none can poison it.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    fn count_event(&self) {
        // Release: pairs with the Acquire in `events`.
        if self.state.fetch_add(EVENT, Ordering::Release) & IS_AWAITED != 0 {
            self.wake_all();
        }
    }

    fn wake_all(&self) {
        let all = {
            let mut list = self.list();
            self.state.fetch_and(!IS_AWAITED, Ordering::Relaxed);
            list.take_all()
        };
        all.for_each(Waker::wake);
    }

    /// Takes an entry off the list, if an event has not done so.
    fn forget(&self, number: u32) {
        // An event that took the list has cleared the flag after this entry had set it.
        if self.state.load(Ordering::Relaxed) & IS_AWAITED == 0 {
            return;
        }
        let mut list = self.list();
        let entry = list.take(number);
        if list.is_empty() {
            self.state.fetch_and(!IS_AWAITED, Ordering::Relaxed);
        }
        drop(list);
        // Its destructor may be a user's.
        drop(entry);
    }
}

/// The future of [`Readiness::event_after`]. Dropping it leaves nothing behind.
#[must_use]
pub(crate) struct EventAfter<'a> {
    side: &'a Side,
    seen: u64,
    /// Of what `poll` has put on the list.
    number: Option<u32>,
}

impl Future for EventAfter<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        if this.side.events() != this.seen {
            return Poll::Ready(());
        }
        let waker = context.waker().clone();
        // Dropped after the lock, since its destructor may be a user's.
        let mut replaced = None;
        let mut list = this.side.list();
        match this.number.and_then(|number| list.find(number)) {
            Some(listed) => replaced = Some(std::mem::replace(listed, waker)),
            None => this.number = Some(list.add(waker)),
        }
        let state = this.side.state.fetch_or(IS_AWAITED, Ordering::Relaxed);
        drop(list);
        drop(replaced);
        if state / EVENT == this.seen { Poll::Pending } else { Poll::Ready(()) }
    }
}

impl Drop for EventAfter<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.side.forget(number);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::worker::fibers::wake_count::WakeCount;
    use std::pin::pin;
    use std::sync::Arc;

    #[test]
    fn one_event_reaches_every_reader_and_a_dropped_wait_leaves_no_waker() {
        let readiness = Readiness::default();
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
        readiness.count_writable();
        assert!(first.as_mut().poll(&mut Context::from_waker(&wakers[0])).is_pending());
        readiness.count_readable(false);
        assert!(first.as_mut().poll(&mut Context::from_waker(&wakers[0])).is_ready());
        assert!(second.as_mut().poll(&mut Context::from_waker(&wakers[1])).is_ready());
        let woken: Vec<_> = counts.iter().map(|count| count.wakes()).collect();
        assert_eq!(woken, [1, 1, 0]);
        assert_eq!(readiness.read.state.load(Ordering::Relaxed), EVENT, "nobody waits any more");
        assert!(counts.iter().zip(wakers).all(|(count, waker)| {
            drop(waker);
            Arc::strong_count(count) == 1
        }));
    }

    #[test]
    fn a_wait_that_another_task_goes_on_with_wakes_that_one() {
        let readiness = Readiness::default();
        let counts = [(); 2].map(|()| Arc::new(WakeCount::default()));
        let mut wait = pin!(readiness.event_after(Direction::Write, 0));
        for count in &counts {
            let waker = Waker::from(Arc::clone(count));
            assert!(wait.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        }
        readiness.count_writable();
        assert_eq!(counts.map(|count| count.wakes()), [0, 1]);
    }

    #[test]
    fn a_note_counts_until_the_next_event_and_not_at_all_once_an_end_was_told() {
        let readiness = Readiness::default();
        readiness.begin();
        assert!(!readiness.is_drained(0), "nobody has read");
        readiness.note_drained(0);
        assert!(readiness.is_drained(0));
        readiness.count_writable();
        assert!(readiness.is_drained(0));
        readiness.count_readable(false);
        assert!(!readiness.is_drained(0) && !readiness.is_drained(1));
        // A read that began before the event and ended after it.
        readiness.note_drained(0);
        assert!(!readiness.is_drained(1));
        readiness.count_readable(true);
        readiness.note_drained(2);
        assert!(!readiness.is_drained(2), "the end may be all that is left to read");
        readiness.begin();
        assert!(!readiness.is_drained(0), "another source");
    }
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use crate::atomic::Ordering::Relaxed;
    use loom::future::block_on;
    use loom::sync::Arc;
    use loom::thread::spawn;

    /// A socket: the bytes in the kernel's buffer, and whether the end has arrived.
    #[derive(Default)]
    struct Socket {
        readiness: Readiness,
        bytes: AtomicU64,
        ended: AtomicU64,
    }

    #[test]
    fn two_readers_of_one_source_miss_no_event() {
        loom::model(|| {
            let shared = Arc::new(Socket::default());
            let reader = |socket: Arc<Socket>| {
                loop {
                    let seen = socket.readiness.events(Direction::Read);
                    if socket.bytes.fetch_update(Relaxed, Relaxed, |bytes| bytes.checked_sub(1)).is_ok() {
                        return;
                    }
                    block_on(socket.readiness.event_after(Direction::Read, seen));
                }
            };
            let other = Arc::clone(&shared);
            let other = spawn(move || reader(other));
            let kernel = Arc::clone(&shared);
            let kernel = spawn(move || {
                kernel.bytes.fetch_add(2, Relaxed);
                kernel.readiness.count_readable(false);
            });
            reader(shared);
            other.join().unwrap();
            kernel.join().unwrap();
        });
    }

    /// Reads until the end, without a second attempt after one that has taken all; how many bytes.
    fn read_to_end(socket: &Socket) -> u64 {
        let mut total = 0;
        loop {
            let seen = socket.readiness.events(Direction::Read);
            if !socket.readiness.is_drained(seen) {
                // An update, so that it is the latest, as under the socket's lock.
                let ended = socket.ended.fetch_add(0, Relaxed);
                match socket.bytes.swap(0, Relaxed) {
                    0 if ended != 0 => return total,
                    0 => {}
                    bytes => {
                        total += bytes;
                        socket.readiness.note_drained(seen);
                        continue;
                    }
                }
            }
            block_on(socket.readiness.event_after(Direction::Read, seen));
        }
    }

    #[test]
    fn a_reader_that_skips_attempts_misses_neither_bytes_nor_the_end() {
        for one_event in [false, true] {
            loom::model(move || {
                let shared = Arc::new(Socket::default());
                shared.readiness.begin();
                let kernel = Arc::clone(&shared);
                let kernel = spawn(move || {
                    kernel.bytes.fetch_add(1, Relaxed);
                    if !one_event {
                        kernel.readiness.count_readable(false);
                    }
                    kernel.bytes.fetch_add(1, Relaxed);
                    kernel.ended.fetch_add(1, Relaxed);
                    kernel.readiness.count_readable(true);
                });
                assert_eq!(read_to_end(&shared), 2);
                kernel.join().unwrap();
            });
        }
    }
}
