//! [`Emitted`]: what a loop has emitted and not sent yet.

use crate::NoRef;
use crate::collections::dist_vec::out_of_range;
use crate::collections::emission::update_handle::UpdateHandle;
use crate::collections::layout::Spread;
use crate::lane::catch::{Caught, caught};
use crate::worker::Cancelled;
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Bytes that are emitted before a loop pauses to sort them by destination: they are still in the first-level cache.
const BYTES: usize = 16 * 1024;
/// Pairs that are emitted before a loop pauses, if they have fewer bytes, and if they have more.
const MOST: usize = 1024;
const FEWEST: usize = 16;

/// Takes what a loop [emits](crate::collections::Emission) for other elements: pairs of an index or a key, and an
/// argument.
pub struct Emitted<K, A> {
    pairs: Vec<(K, A)>,
    room: usize,
    /// Above all indices, of a vector.
    end: usize,
    spread: Option<Spread>,
    sent: u64,
    failed: Option<Caught>,
}

impl<K: NoRef, A: NoRef> Emitted<K, A> {
    pub(super) fn new(spread: Option<Spread>) -> Self {
        let room = (BYTES / size_of::<(K, A)>().max(1)).clamp(FEWEST, MOST);
        Self {
            pairs: Vec::with_capacity(room),
            room,
            end: spread.map_or(usize::MAX, Spread::len),
            spread,
            sent: 0,
            failed: None,
        }
    }

    /// Adds a pair: a closure will be applied to the element with this index, or the value of this key, with this
    /// argument.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, par_emit};
    /// let divisors = DistVec::filled(101, 0_u64);
    /// par_emit(1..101, |divisor, out| (divisor..101).step_by(divisor).for_each(|number| out.push(number, 1)))
    ///     .apply_to(&divisors, |divisors, more| *divisors += more);
    /// assert_eq!(divisors.range(10..14), [4, 2, 6, 2]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If there is no such element in a vector that this goes to.
    #[inline]
    #[track_caller]
    pub fn push(&mut self, key: K, argument: A) {
        // Which type it is, the compiler knows.
        if let Some(index) = (&key as &dyn Any).downcast_ref::<usize>()
            && *index >= self.end
        {
            self.refuse(*index);
        }
        self.pairs.push((key, argument));
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn refuse(&self, index: usize) {
        // A map has all keys.
        if let Some(spread) = self.spread {
            out_of_range(index, spread);
        }
    }

    /// Whether it is time to send.
    pub(super) fn is_full(&self) -> bool {
        self.pairs.len() >= self.room
    }

    /// Hands over everything. May wait. If what combines arguments panics here, or a key when it is hashed or compared,
    /// the others are handed over all the same, and the first such panic is kept.
    pub(super) fn send(&mut self, handle: &mut impl UpdateHandle<K, A>) {
        self.sent += self.pairs.len() as u64;
        let mut pairs = self.pairs.drain(..);
        while let Err(payload) = catch_unwind(AssertUnwindSafe(|| handle.add_all(pairs.by_ref()))) {
            if payload.is::<Cancelled>() {
                resume_unwind(payload);
            }
            let caught = caught(payload);
            self.failed.get_or_insert(caught);
        }
        drop(pairs);
        // One element may have emitted very many.
        self.pairs.shrink_to(4 * self.room);
    }

    /// The first panic while pairs were handed over.
    pub(super) fn take_failed(&mut self) -> Option<Caught> {
        self.failed.take()
    }

    /// How many pairs were handed over.
    pub(super) fn sent(&self) -> u64 {
        self.sent
    }
}

impl<K: NoRef, A: NoRef> Extend<(K, A)> for Emitted<K, A> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = (K, A)>>(&mut self, pairs: I) {
        for (key, argument) in pairs {
            self.push(key, argument);
        }
    }
}

impl<K, A> fmt::Debug for Emitted<K, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Emitted").field("pairs", &self.pairs.len()).field("sent", &self.sent).finish()
    }
}
