//! Holding a latch: one fiber, or several that read, first come, first served.
//!
//! Invariants
//! - H1: the value is reachable only through a `Held`. Under the lock, `exclusive` and `readers` count those that exist or that a waiter
//!   named in `granted` may make: at most one that is exclusive, or any number that read.
//! - H2: the value lives in an `Arc` of its own, so moving or dropping the `Latch` does not move or drop what a
//!   `Held` refers to.
//! - H3: a latch may be moved to another worker while fibers of this one hold it. So those that read may be of several threads: they
//!   are made only where `T` is `Sync`.

use crate::sys::fibers::fiber::Fiber;
use crate::sys::fibers::wait::{Wait, WaitsOn};
use crate::worker::fibers::wake::block_on_as;
use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// A value, and its holders.
pub(super) struct HeldCell<T> {
    state: Mutex<HoldState>,
    value: UnsafeCell<T>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HoldKind {
    Exclusive,
    Read,
}

#[derive(Default)]
struct HoldState {
    exclusive: bool,
    readers: usize,
    /// The numbers of waiters whose turn has come.
    granted: Vec<u64>,
    /// Numbers given to waiters so far.
    numbers: u64,
    waiting: VecDeque<LatchWaiter>,
}

struct LatchWaiter {
    number: u64,
    access: HoldKind,
    waker: Waker,
}

// SAFETY: H1 and H3: the lock hands the value from one holder to the next; it may move between threads if `T` may.
unsafe impl<T: Send> Sync for HeldCell<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for HeldCell<T> {}

impl HoldState {
    /// Takes the latch if the present holders allow it.
    fn take(&mut self, access: HoldKind) -> bool {
        let free = !self.exclusive && (access == HoldKind::Read || self.readers == 0);
        match access {
            _ if !free => {}
            HoldKind::Exclusive => self.exclusive = true,
            HoldKind::Read => self.readers += 1,
        }
        free
    }

    /// Grants the latch to those that have waited longest: one, or all readers before the next waiter that is
    /// not a reader.
    fn grant(&mut self) -> Vec<Waker> {
        let mut wakers = Vec::new();
        while let Some(first) = self.waiting.pop_front() {
            if !self.take(first.access) {
                self.waiting.push_front(first);
                break;
            }
            self.granted.push(first.number);
            wakers.push(first.waker);
        }
        wakers
    }

    fn take_grant(&mut self, number: u64) -> bool {
        let place = self.granted.iter().position(|granted| *granted == number);
        place.map(|place| self.granted.swap_remove(place)).is_some()
    }
}

impl<T> HeldCell<T> {
    pub(super) fn new(value: T) -> Self {
        Self { state: Mutex::default(), value: UnsafeCell::new(value) }
    }

    pub(super) fn into_inner(self) -> T {
        self.value.into_inner()
    }

    fn state(&self) -> MutexGuard<'_, HoldState> {
        // No user code runs under the lock, so none can poison it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, and wakes those whose turn has come.
    fn change(&self, change: impl FnOnce(&mut HoldState)) {
        let wakers = {
            let mut state = self.state();
            change(&mut state);
            state.grant()
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    fn release(&self, access: HoldKind) {
        self.change(|state| match access {
            HoldKind::Exclusive => state.exclusive = false,
            HoldKind::Read => state.readers -= 1,
        });
    }
}

impl<T> fmt::Debug for HeldCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Latch")
            .field("held", &state.exclusive)
            .field("readers", &state.readers)
            .finish_non_exhaustive()
    }
}

/// What identifies a latch in reports.
pub(super) fn address<T>(cell: &Arc<HeldCell<T>>) -> usize {
    Arc::as_ptr(cell).addr()
}

/// Waits for exclusive access, in a call of this name.
pub(super) fn hold<T>(cell: Arc<HeldCell<T>>, call: &'static str) -> HeldAlone<T> {
    HeldAlone(wait_for(cell, HoldKind::Exclusive, call))
}

/// Waits for shared access, beside other readers.
pub(super) fn hold_to_read<T: Sync>(cell: Arc<HeldCell<T>>, call: &'static str) -> HeldToRead<T> {
    HeldToRead(wait_for(cell, HoldKind::Read, call))
}

fn wait_for<T>(cell: Arc<HeldCell<T>>, access: HoldKind, call: &'static str) -> Held<T> {
    let wait = Wait::in_call(call).on(WaitsOn::Latch(address(&cell)));
    block_on_as(Hold { cell, access, number: None }, wait)
}

/// Waiting for a latch: first come, first served.
struct Hold<T> {
    cell: Arc<HeldCell<T>>,
    access: HoldKind,
    /// Its number, if this is one of those that wait.
    number: Option<u64>,
}

impl<T> Future for Hold<T> {
    type Output = Held<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Held<T>> {
        let (cell, access) = (Arc::clone(&self.cell), self.access);
        let mut state = cell.state();
        match self.number {
            // Not past those that wait: a waiter for exclusive access would wait for ever behind a stream of
            // readers.
            None if state.waiting.is_empty() && state.take(access) => {}
            None => {
                let number = state.numbers;
                state.numbers += 1;
                state.waiting.push_back(LatchWaiter { number, access, waker: context.waker().clone() });
                self.number = Some(number);
                return Poll::Pending;
            }
            Some(number) if state.take_grant(number) => self.number = None,
            // Woken for another reason; the waker of a fiber is always the same.
            Some(_) => return Poll::Pending,
        }
        drop(state);
        if let Some(fiber) = Fiber::running() {
            fiber.add_latch(address(&cell));
        }
        Poll::Ready(Held { cell, access })
    }
}

impl<T> Drop for Hold<T> {
    fn drop(&mut self) {
        let (Some(number), access) = (self.number, self.access) else { return };
        let mut was_granted = false;
        self.cell.change(|state| {
            state.waiting.retain(|other| other.number != number);
            was_granted = state.take_grant(number);
        });
        if was_granted {
            self.cell.release(access);
        }
    }
}

/// The right to use the value of a latch (H1).
struct Held<T> {
    cell: Arc<HeldCell<T>>,
    access: HoldKind,
}

impl<T> Drop for Held<T> {
    fn drop(&mut self) {
        if let Some(fiber) = Fiber::running() {
            fiber.remove_latch(address(&self.cell));
        }
        self.cell.release(self.access);
    }
}

/// Exclusive access.
pub(super) struct HeldAlone<T>(Held<T>);

impl<T> HeldAlone<T> {
    pub(super) fn value(&mut self) -> &mut T {
        // SAFETY: H1: this is the only `Held` of the latch, and it is borrowed exclusively. H2: the value stays.
        unsafe { &mut *self.0.cell.value.get() }
    }
}

/// Shared access, to read.
pub(super) struct HeldToRead<T>(Held<T>);

impl<T: Sync> HeldToRead<T> {
    pub(super) fn value(&self) -> &T {
        // SAFETY: H1: all others that exist read, too; H3. H2: the value stays.
        unsafe { &*self.0.cell.value.get() }
    }
}
