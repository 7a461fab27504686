//! [`Filling`]: a batch of updates that is being filled.

/// Bytes of updates that are gathered for a part before they are sent.
const GATHERED_BYTES: usize = 64 * 1024;
/// Updates that are gathered, if they have fewer bytes.
pub(super) const MOST_GATHERED: usize = 4096;
/// So many parts have batches of that length; if there are more, theirs are shorter, which bounds the memory.
const FULL_PARTS: usize = 16;
/// Updates that are gathered for a part in any case: fewer would cost less than the request itself.
const FEWEST: usize = 64;
/// Updates that are gathered for the fiber's own worker: as many as have their elements in the first-level cache, which
/// are fetched meanwhile.
const MOST_NEAR: usize = 512;

/// Places of elements in their part, and an argument for each. Both come back empty, to be reused by their sender.
pub(super) type Gathered<A> = (Vec<u32>, Vec<A>);

/// How many updates a batch for one of so many parts has room for.
pub(super) fn room<A>(parts: usize) -> usize {
    let fit = GATHERED_BYTES / (size_of::<u32>() + size_of::<A>());
    fit.clamp(1, share(MOST_GATHERED, parts))
}

/// How many updates of a batch that may have `most` each of so many parts gets.
pub(super) fn share(most: usize, parts: usize) -> usize {
    (FULL_PARTS * most / parts).clamp(FEWEST, most)
}

pub(super) fn empty<A>(room: usize) -> Gathered<A> {
    (Vec::with_capacity(room), Vec::with_capacity(room))
}

/// A batch for one part.
pub(super) struct Filling<A> {
    gathered: Gathered<A>,
    /// How many updates fill it.
    most: usize,
}

impl<A> Filling<A> {
    pub(super) fn new(room: usize, is_near: bool) -> Self {
        let most = if is_near { room.min(MOST_NEAR) } else { room };
        Self { gathered: empty(room), most }
    }

    /// Adds an update; whether the batch is full.
    #[inline]
    pub(super) fn add(&mut self, offset: u32, argument: A) -> bool {
        self.gathered.0.push(offset);
        self.gathered.1.push(argument);
        self.gathered.0.len() >= self.most
    }

    /// Combines an argument with that of the update at a position. If that panics, both are gone.
    #[inline]
    pub(super) fn combine(&mut self, at: usize, argument: A, combine: impl FnOnce(A, A) -> A) {
        let (offsets, arguments) = &mut self.gathered;
        // Taken out of its row meanwhile, so that both rows have the same length after a panic.
        let earlier = arguments.swap_remove(at);
        let offset = offsets.swap_remove(at);
        let left = LastAt { gathered: &mut self.gathered, at };
        let combined = combine(earlier, argument);
        std::mem::forget(left);
        let (offsets, arguments) = &mut self.gathered;
        let last = offsets.len();
        offsets.push(offset);
        arguments.push(combined);
        offsets.swap(at, last);
        arguments.swap(at, last);
    }

    /// Takes what is gathered, and goes on with an empty batch.
    pub(super) fn replace(&mut self, empty: Gathered<A>) -> Gathered<A> {
        std::mem::replace(&mut self.gathered, empty)
    }

    pub(super) fn offsets(&self) -> &[u32] {
        &self.gathered.0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.offsets().is_empty()
    }
}

/// Updates of which the last one has taken the place of one that is gone: with this it goes back behind the others.
struct LastAt<'a, A> {
    gathered: &'a mut Gathered<A>,
    at: usize,
}

impl<A> Drop for LastAt<'_, A> {
    fn drop(&mut self) {
        let (offsets, arguments) = &mut *self.gathered;
        // The one that is gone may have been the last one itself.
        let moved = usize::from(self.at < offsets.len());
        offsets[self.at..].rotate_left(moved);
        arguments[self.at..].rotate_left(moved);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{FEWEST, MOST_GATHERED, room};

    #[test]
    fn what_is_gathered_for_many_parts_is_bounded() {
        assert_eq!([1, 2, 16].map(room::<u64>), [MOST_GATHERED; 3]);
        for parts in [17, 64, 1000, 1024] {
            assert!(room::<u64>(parts) * parts <= 16 * MOST_GATHERED, "{parts}");
        }
        assert_eq!(room::<u64>(100_000), FEWEST);
        assert_eq!(room::<[u64; 1000]>(1), 8);
        assert_eq!(room::<[u64; 1000]>(1024), 8);
        assert_eq!(room::<[u64; 100_000]>(1), 1);
    }
}
