//! [`AppendBuffer`]: a list that is appended to, and cleared as a whole.
//!
//! J2: `end` and `limit` are in the allocation of `memory`, or one past its end: `limit` after all that fits, `end` not
//! behind it. What lies before `end` has values. `memory` itself has length 0.

use std::fmt;

/// Like a vector, but it keeps the address of its end instead of its length, so that appending loads two words instead
/// of three, and waits for one that was stored before instead of computing an address from it. A lookup that lists
/// what it asks for takes about 0.9 of the time for it.
pub(crate) struct AppendBuffer<T: Copy> {
    end: *mut T,
    limit: *mut T,
    memory: Vec<T>,
}

impl<T: Copy> AppendBuffer<T> {
    pub(crate) const fn new() -> Self {
        const { assert!(size_of::<T>() > 0, "a length that is a difference of addresses") };
        let mut memory = Vec::new();
        let end: *mut T = memory.as_mut_ptr();
        Self { end, limit: end, memory }
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, value: T) {
        if self.end == self.limit {
            self.grow();
        }
        // SAFETY: J2, and there is room: `end` is not `limit`, or was moved away from it.
        unsafe { self.end.write(value) };
        // SAFETY: as above: at most one past the end.
        self.end = unsafe { self.end.add(1) };
    }

    pub(crate) fn len(&self) -> usize {
        // SAFETY: J2: both are of one allocation, and `end` is not before its start.
        unsafe { self.end.offset_from_unsigned(self.memory.as_ptr()) }
    }

    pub(crate) fn as_slice(&self) -> &[T] {
        // SAFETY: J2: so many have values. Nobody writes to them while this is borrowed.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr(), self.len()) }
    }

    pub(crate) fn clear(&mut self) {
        self.end = self.memory.as_mut_ptr();
    }

    pub(crate) fn capacity(&self) -> usize {
        self.memory.capacity()
    }

    /// Frees room beyond this many values.
    pub(crate) fn shrink_to(&mut self, capacity: usize) {
        self.with_memory(|memory| memory.shrink_to(capacity));
    }

    /// Makes room for another value.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.with_memory(|memory| memory.reserve(1));
    }

    /// Changes the room of the vector that has the values.
    fn with_memory(&mut self, change: impl FnOnce(&mut Vec<T>)) {
        let len = self.len();
        let mut memory = std::mem::take(&mut self.memory);
        // SAFETY: J2: so many have values.
        unsafe { memory.set_len(len) };
        // Should this panic, the list is empty, as J2 says of one without memory.
        (self.end, self.limit) = (self.memory.as_mut_ptr(), self.memory.as_mut_ptr());
        change(&mut memory);
        debug_assert_eq!(memory.len(), len, "the values stay");
        memory.clear();
        self.memory = memory;
        let start = self.memory.as_mut_ptr();
        // SAFETY: so many values were there; as they are `Copy`, they still are.
        self.end = unsafe { start.add(len) };
        // SAFETY: one past the end of the allocation.
        self.limit = unsafe { start.add(self.memory.capacity()) };
    }
}

impl<T: Copy> Default for AppendBuffer<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Copy + fmt::Debug> fmt::Debug for AppendBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::AppendBuffer;

    #[test]
    fn it_has_what_a_vector_has() {
        let (mut random, mut buffer, mut expected) =
            (fastrand::Rng::with_seed(3), AppendBuffer::new(), vec![]);
        for _ in 0..20_000 {
            match random.u32(..1000) {
                0 => {
                    buffer.clear();
                    expected.clear();
                }
                1..5 => {
                    let capacity = random.usize(..1000);
                    buffer.shrink_to(capacity);
                    assert!(buffer.capacity() >= expected.len());
                    assert!(buffer.capacity() <= capacity.max(expected.len()));
                }
                value => {
                    buffer.push(value);
                    expected.push(value);
                }
            }
            assert_eq!((buffer.len(), buffer.as_slice()), (expected.len(), &expected[..]));
        }
    }

    #[test]
    fn it_keeps_its_room_when_it_is_cleared() {
        let mut buffer = AppendBuffer::new();
        assert_eq!((buffer.capacity(), buffer.as_slice()), (0, &[][..]));
        (0..100_u64).for_each(|value| buffer.push(value));
        let capacity = buffer.capacity();
        buffer.clear();
        assert_eq!((buffer.capacity(), buffer.len()), (capacity, 0));
        (0..100).for_each(|value| buffer.push(value));
        assert_eq!(buffer.capacity(), capacity);
        assert!(buffer.as_slice().iter().copied().eq(0..100));
    }
}
