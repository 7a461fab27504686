//! Bodies for the slots that frames are copied into. A lane has one for each batch under way, of the size that the
//! batch needs.
//!
//! The worker that lands a frame takes a body that was given back, or a new one. The worker that reads the slot gives
//! the body back before it lets the writer know that the slot is free. So a lane with one small batch at a time has one
//! small body, whichever slot holds the batch, and a busy lane allocates the bodies that it lacks.
//!
//! Invariants
//! - M4: the body of a slot belongs to the landing thread while `is_held` is false, and to the reader from when it
//!   finds the header (M2) until `give_back` stores false.
//! - M5: in `spare`, the places from `taken` up to `given` belong to the landing thread, the others to the reader. The
//!   landing thread stores `taken`, the reader stores `given`. `kept` belongs to the landing thread.

use crate::atomic::{AtomicBool, AtomicU32, Ordering, SharedCell};
use crate::wire::batch::FAR_BODY_WORDS;
use crate::wire::refusal::Malformed;
use crate::wire::word::Word;

/// Words of the smallest body.
const SMALLEST: usize = 32;
/// Words of the largest body that an idle lane keeps.
const KEPT: usize = 128;

type Body = Box<[Word]>;

struct HeldBody {
    is_held: AtomicBool,
    /// M4.
    body: SharedCell<Body>,
}

/// The bodies of the slots of one direction of one lane.
pub(super) struct Bodies {
    slots: Box<[HeldBody]>,
    /// M5.
    spare: Box<[SharedCell<Body>]>,
    given: AtomicU32,
    taken: AtomicU32,
    /// M5.
    kept: SharedCell<Body>,
}

impl Bodies {
    /// No bodies yet, for this many slots (a power of two).
    pub(super) fn new(slots: usize) -> Self {
        let held = || HeldBody { is_held: AtomicBool::new(false), body: SharedCell::new(Body::default()) };
        Self {
            slots: (0..slots).map(|_| held()).collect(),
            spare: (0..slots).map(|_| SharedCell::new(Body::default())).collect(),
            given: AtomicU32::new(0),
            taken: AtomicU32::new(0),
            kept: SharedCell::new(Body::default()),
        }
    }

    /// Copies words into a body for a slot.
    ///
    /// # Errors
    /// If the slot holds a batch that its reader has not finished with.
    ///
    /// # Safety
    /// The caller is the landing thread, of which there is one.
    pub(super) unsafe fn land(&self, slot: usize, words: &[Word]) -> Result<(), Malformed> {
        let held = &self.slots[slot];
        // Acquire: pairs with the Release store in `give_back`.
        if held.is_held.load(Ordering::Acquire) {
            return Err(Malformed::instead_of::<Self>());
        }
        // SAFETY: guaranteed by the caller.
        let mut body = unsafe { self.take_spare() }.unwrap_or_else(|| unsafe { self.take_kept() });
        if body.len() < words.len() {
            let most = words.len().max(FAR_BODY_WORDS);
            body = vec![Word::new(0); words.len().next_power_of_two().clamp(SMALLEST, most)].into();
        }
        body[..words.len()].copy_from_slice(words);
        // SAFETY: M4: it is not held.
        held.body.with_mut(|place| unsafe { *place = body });
        // Relaxed: the reader relies on the header, which is stored after this.
        held.is_held.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// The address of a slot's words.
    ///
    /// # Safety
    /// The caller is the reader, has found the header of a batch there, and has not given it back.
    pub(super) unsafe fn start(&self, slot: usize) -> *const Word {
        // SAFETY: M4: the body belongs to the caller.
        self.slots[slot].body.with(|body| unsafe { (*body).as_ptr() })
    }

    /// Takes back the body of a slot once nothing reads it any more.
    ///
    /// # Safety
    /// Like `start`.
    pub(super) unsafe fn give_back(&self, slot: usize) {
        let held = &self.slots[slot];
        // SAFETY: M4: the body belongs to the caller.
        let body = held.body.with_mut(|place| unsafe { std::mem::take(&mut *place) });
        let given = self.given.load(Ordering::Relaxed);
        // Acquire: pairs with the Release store in `take_spare`.
        if given.wrapping_sub(self.taken.load(Ordering::Acquire)) < self.spare.len() as u32 {
            // SAFETY: M5: not all places are the landing thread's, so this one is ours.
            self.place(given).with_mut(|place| unsafe { *place = body });
            // Release: pairs with the Acquire load in `take_spare`.
            self.given.store(given.wrapping_add(1), Ordering::Release);
        }
        // Release: pairs with the Acquire load in `land`.
        held.is_held.store(false, Ordering::Release);
    }

    /// Keeps one spare body, if there is a small one, and frees the others. Returns whether a slot still holds a batch.
    ///
    /// # Safety
    /// Like `land`.
    pub(super) unsafe fn shrink(&self) -> bool {
        // SAFETY: guaranteed by the caller.
        let mut kept = unsafe { self.take_kept() };
        // SAFETY: guaranteed by the caller.
        while let Some(body) = unsafe { self.take_spare() } {
            if body.len() <= KEPT {
                kept = body;
            }
        }
        // SAFETY: M5.
        self.kept.with_mut(|place| unsafe { *place = kept });
        // Relaxed: a caller that gets `true` asks again.
        self.slots.iter().any(|slot| slot.is_held.load(Ordering::Relaxed))
    }

    /// # Safety
    /// Like `land`.
    unsafe fn take_kept(&self) -> Body {
        // SAFETY: M5: the caller is the landing thread.
        self.kept.with_mut(|place| unsafe { std::mem::take(&mut *place) })
    }

    /// A body that was given back.
    ///
    /// # Safety
    /// Like `land`.
    unsafe fn take_spare(&self) -> Option<Body> {
        let taken = self.taken.load(Ordering::Relaxed);
        // Acquire: pairs with the Release store in `give_back`.
        if taken == self.given.load(Ordering::Acquire) {
            return None;
        }
        // SAFETY: M5.
        let body = self.place(taken).with_mut(|place| unsafe { std::mem::take(&mut *place) });
        // Release: pairs with the Acquire load in `give_back`.
        self.taken.store(taken.wrapping_add(1), Ordering::Release);
        Some(body)
    }

    fn place(&self, index: u32) -> &SharedCell<Body> {
        &self.spare[index as usize & (self.spare.len() - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(number: u64, count: usize) -> Vec<Word> {
        (0..count).map(|_| Word::new(number)).collect()
    }

    /// Takes a batch that a slot holds.
    fn read(bodies: &Bodies, slot: usize, count: usize) -> Vec<u64> {
        // SAFETY: the slot holds a batch.
        let start = unsafe { bodies.start(slot) }.cast::<u64>();
        // SAFETY: it has at least this many words.
        let found = (0..count).map(|word| unsafe { start.wrapping_add(word).read() }).collect();
        // SAFETY: as above.
        unsafe { bodies.give_back(slot) };
        found
    }

    fn land(bodies: &Bodies, slot: usize, words: &[Word]) -> Result<(), Malformed> {
        // SAFETY: each test lands in one thread.
        unsafe { bodies.land(slot, words) }
    }

    fn shrink(bodies: &Bodies) -> bool {
        // SAFETY: as above.
        unsafe { bodies.shrink() }
    }

    /// The address of the body of a slot that holds a batch.
    #[cfg(not(loom))]
    fn place(bodies: &Bodies, slot: usize) -> *const Word {
        // SAFETY: it does.
        unsafe { bodies.start(slot) }
    }

    #[cfg(not(loom))]
    #[test]
    fn a_lane_has_as_many_bodies_as_it_has_batches_under_way() {
        let bodies = Bodies::new(8);
        let mut places = Vec::new();
        for batch in 0..100 {
            let slot = batch % 8;
            assert_eq!(land(&bodies, slot, &words(batch as u64, 20)), Ok(()));
            places.push(place(&bodies, slot));
            assert_eq!(read(&bodies, slot, 20), [batch as u64; 20]);
        }
        assert!(places.iter().all(|place| *place == places[0]), "one at a time is one body");
        for round in 0..3 {
            for slot in 0..8 {
                assert_eq!(land(&bodies, (100 + slot) % 8, &words(round, 800)), Ok(()));
            }
            assert!((0..8).all(|slot| read(&bodies, (100 + slot) % 8, 800) == [round; 800]));
        }
        assert!(!shrink(&bodies));
        let is_empty = |cell: &SharedCell<Body>| {
            // SAFETY: no other thread has these bodies.
            cell.with(|body| unsafe { (&*body).is_empty() })
        };
        assert!(bodies.spare.iter().chain([&bodies.kept]).all(is_empty), "large ones are not kept");
        assert_eq!(land(&bodies, 4, &words(1, 3)), Ok(()));
        assert!(shrink(&bodies), "it holds a batch");
        let small = place(&bodies, 4);
        assert_eq!(read(&bodies, 4, 3), [1; 3]);
        assert!(!shrink(&bodies));
        assert_eq!(land(&bodies, 5, &words(2, 3)), Ok(()));
        assert_eq!(place(&bodies, 5), small, "a small one is");
    }

    #[cfg(not(loom))]
    #[test]
    fn a_batch_for_a_slot_that_is_in_use_is_refused_and_the_one_there_stays() {
        let bodies = Bodies::new(2);
        assert_eq!(land(&bodies, 0, &words(1, 3)), Ok(()));
        assert!(land(&bodies, 0, &words(2, 3)).is_err());
        assert_eq!(read(&bodies, 0, 3), [1; 3]);
        // Whatever order a peer that follows no rules writes in.
        for slot in [1, 0, 1, 1, 0, 0, 1] {
            if land(&bodies, slot, &words(3, 3)).is_ok() {
                assert_eq!(read(&bodies, slot, 3), [3; 3]);
            }
        }
    }

    /// A lane of two slots by hand: headers, and the credit that a response is.
    #[cfg(loom)]
    #[test]
    fn bodies_are_one_threads_at_a_time() {
        use crate::atomic::AtomicU64;
        use loom::sync::Arc;
        use loom::thread;

        loom::model(|| {
            let lane = Arc::new((Bodies::new(2), [AtomicU64::new(0), AtomicU64::new(0)], AtomicU64::new(0)));
            let reading = Arc::clone(&lane);
            let reader = thread::spawn(move || {
                let (bodies, headers, answered) = &*reading;
                for batch in 1..=3 {
                    let slot = batch as usize % 2;
                    while headers[slot].load(Ordering::Acquire) != batch {
                        thread::yield_now();
                    }
                    assert_eq!(read(bodies, slot, 2), [batch; 2]);
                    // A real answer goes over the network and through the other process, so this store orders nothing.
                    answered.store(batch, Ordering::Relaxed);
                }
            });
            let (bodies, headers, answered) = &*lane;
            for batch in 1..=3 {
                while answered.load(Ordering::Relaxed) + 2 < batch {
                    thread::yield_now();
                }
                let slot = batch as usize % 2;
                // The order of these stores decides nothing: the slot's own flag does, and it may come later than the
                // answer.
                while land(bodies, slot, &words(batch, 2)).is_err() {
                    thread::yield_now();
                }
                headers[slot].store(batch, Ordering::Release);
                if batch == 2 {
                    shrink(bodies);
                }
            }
            reader.join().unwrap();
        });
    }
}
