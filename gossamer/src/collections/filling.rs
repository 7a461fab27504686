//! [`Filling`]: a batch of updates that is being filled.

/// Bytes of updates that are gathered for a part before they are sent.
const GATHERED_BYTES: usize = 64 * 1024;
/// Updates that are gathered, if they have fewer bytes.
pub(super) const MOST_GATHERED: usize = 4096;
/// Updates that are gathered for the fiber's own worker: as many as have their elements in the first-level cache, which
/// are fetched meanwhile.
const MOST_NEAR: usize = 512;

/// Places of elements in their part, and an argument for each. Both come back empty, to be reused by their sender.
pub(super) type Gathered<A> = (Vec<u32>, Vec<A>);

/// How many updates a batch has room for.
pub(super) const fn room<A>() -> usize {
    match GATHERED_BYTES / (size_of::<u32>() + size_of::<A>()) {
        0 => 1,
        room if room > MOST_GATHERED => MOST_GATHERED,
        room => room,
    }
}

pub(super) fn empty<A>() -> Gathered<A> {
    (Vec::with_capacity(room::<A>()), Vec::with_capacity(room::<A>()))
}

/// A batch for one part.
pub(super) struct Filling<A> {
    gathered: Gathered<A>,
    /// How many updates fill it.
    most: usize,
}

impl<A> Filling<A> {
    pub(super) fn new(is_near: bool) -> Self {
        let most = if is_near { room::<A>().min(MOST_NEAR) } else { room::<A>() };
        Self { gathered: empty(), most }
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
        let combined = combine(earlier, argument);
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
