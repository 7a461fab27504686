//! Up to 64 places, which threads take and give back without locks. A thread that finds none is told when there is one
//! again.

use crate::atomic::{AtomicU64, Ordering, fence};

/// Which places are free, and which threads wait for one.
pub(crate) struct PlacePool {
    /// A bit for each place.
    free: AtomicU64,
    /// A bit for each waiter.
    waiting: AtomicU64,
}

impl PlacePool {
    /// This many free places.
    pub(crate) fn new(places: u32) -> Self {
        let free = if places < u64::BITS { (1 << places) - 1 } else { u64::MAX };
        Self { free: AtomicU64::new(free), waiting: AtomicU64::new(0) }
    }

    /// Whether a place is free. If not, `waiter` (below 64) is told when one is.
    pub(crate) fn has_free(&self, waiter: usize) -> bool {
        if self.free.load(Ordering::Relaxed) != 0 {
            return true;
        }
        self.waiting.fetch_or(1 << waiter, Ordering::Relaxed);
        // Pairs with the fence in `give_back`: either this side sees the place, or that side sees the waiter.
        fence(Ordering::SeqCst);
        self.free.load(Ordering::Relaxed) != 0
    }

    /// Takes a place. It belongs to the caller until it is given back.
    pub(crate) fn take(&self) -> Option<u32> {
        // Acquire: pairs with the Release in `give_back`: the previous owner of the place is done with it.
        let taken = self.free.fetch_update(Ordering::Acquire, Ordering::Relaxed, |free| {
            (free != 0).then(|| free & (free - 1))
        });
        taken.ok().map(u64::trailing_zeros)
    }

    /// Gives back places that were taken, a bit for each. Returns the waiters, a bit for each.
    pub(crate) fn give_back(&self, places: u64) -> u64 {
        // Release: pairs with the Acquire in `take`.
        self.free.fetch_or(places, Ordering::Release);
        // Pairs with the fence in `has_free`.
        fence(Ordering::SeqCst);
        if self.waiting.load(Ordering::Relaxed) == 0 { 0 } else { self.waiting.swap(0, Ordering::Relaxed) }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_place_is_taken_once_until_it_is_given_back() {
        for count in [1, 4, 64] {
            let pool = PlacePool::new(count);
            let taken: Vec<_> = std::iter::from_fn(|| pool.take()).collect();
            assert_eq!(taken, (0..count).collect::<Vec<_>>());
            assert!(!pool.has_free(63) && !pool.has_free(0));
            assert_eq!(pool.give_back(1 << (count - 1)), 1 << 63 | 1, "both are told");
            assert_eq!((pool.take(), pool.take()), (Some(count - 1), None));
            assert_eq!(pool.give_back(1), 0, "nobody waits any more");
        }
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use crate::atomic::SharedCell;
    use loom::sync::Arc;
    use loom::thread::{spawn, yield_now};

    /// Three threads use two places: no place is ever used by two at once.
    #[test]
    fn a_place_is_one_takers_until_it_is_given_back() {
        loom::model(|| {
            let shared = Arc::new((PlacePool::new(2), [SharedCell::new(0_u32), SharedCell::new(0)]));
            let used = || {
                let (pool, places) = &*shared;
                let place = loop {
                    match pool.take() {
                        Some(place) => break place,
                        None => yield_now(),
                    }
                };
                places[place as usize].with_mut(|place| {
                    // SAFETY: the place belongs to this thread, or the model reports it.
                    unsafe { *place += 1 }
                });
                pool.give_back(1 << place);
            };
            let others = [0, 1].map(|_| {
                let shared = Arc::clone(&shared);
                spawn(move || {
                    let (pool, places) = &*shared;
                    let Some(place) = pool.take() else { return 0 };
                    places[place as usize].with_mut(|place| {
                        // SAFETY: likewise.
                        unsafe { *place += 1 }
                    });
                    pool.give_back(1 << place);
                    1
                })
            });
            used();
            let all = 1 + others.into_iter().map(|other| other.join().unwrap()).sum::<u32>();
            let uses = shared.1.each_ref().map(|place| {
                place.with(|place| {
                    // SAFETY: no other thread is left.
                    unsafe { *place }
                })
            });
            assert_eq!(uses.iter().sum::<u32>(), all);
        });
    }

    /// The only place is given back while two look for one: both find it free, or are told.
    #[test]
    fn who_found_no_place_is_told_of_the_next() {
        loom::model(|| {
            let pool = Arc::new(PlacePool::new(1));
            assert_eq!(pool.take(), Some(0));
            let waiters = [0, 1].map(|waiter| {
                let pool = Arc::clone(&pool);
                spawn(move || pool.has_free(waiter))
            });
            let told = pool.give_back(1);
            for (waiter, found) in waiters.into_iter().enumerate() {
                assert!(found.join().unwrap() || told >> waiter & 1 != 0, "{waiter} would wait for ever");
            }
        });
    }
}
