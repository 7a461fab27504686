//! Memory for sealed copies of blocks, which are sent without another copy: they stay until the receiver has given the block up.

use memmap2::MmapMut;
use std::collections::VecDeque;

/// Bytes of copies that stay. With more under way the next ones are copied once more, into the socket.
const ROOM: usize = 16 << 20;

/// A sealed copy.
pub(crate) enum SealedCopy<'a> {
    /// It stays as it is until a credit has arrived for the block.
    Stays(&'a [u8]),
    /// The next one is written over it.
    Passes(&'a [u8]),
}

/// The copies that were made for one connection, in a circle.
///
/// It is a mapping of its own: when it goes away with a connection that has failed, what the socket still has of it is not used for
/// anything else before it was sent.
#[derive(Default)]
pub(crate) struct SealedCopies {
    memory: Option<MmapMut>,
    /// Where the next one goes.
    next: usize,
    /// Bytes of all that are in `staying`.
    used: usize,
    /// The end of each one's bytes in the stream, and how much room is free when it goes: the oldest is first.
    staying: VecDeque<(u64, usize)>,
    /// For one that passes.
    passing: Vec<u8>,
}

impl SealedCopies {
    /// Makes a copy of this many bytes, which end there in the stream. The receiver has given up what lies before `given_up`.
    ///
    /// # Errors
    /// Those of `seal`.
    pub(crate) fn make<T, E>(
        &mut self,
        bytes: usize,
        end: u64,
        given_up: u64,
        seal: impl FnOnce(&mut [u8]) -> Result<T, E>,
    ) -> Result<(T, SealedCopy<'_>), E> {
        if let Some(at) = self.room(bytes, end, given_up)
            && let Some(memory) = &mut self.memory
        {
            let copy = &mut memory[at..at + bytes];
            return Ok((seal(copy)?, SealedCopy::Stays(copy)));
        }
        if self.passing.len() < bytes {
            self.passing.resize(bytes, 0);
        }
        let copy = &mut self.passing[..bytes];
        Ok((seal(copy)?, SealedCopy::Passes(copy)))
    }

    /// Takes room, if there is as much.
    fn room(&mut self, bytes: usize, end: u64, given_up: u64) -> Option<usize> {
        while let Some((_, freed)) = self.staying.pop_front_if(|(end, _)| *end <= given_up) {
            self.used -= freed;
        }
        if self.used == 0 {
            // Which the caches have.
            self.next = 0;
        }
        // What is left before the end of the memory is not enough for it.
        let skipped = if self.next + bytes > ROOM { ROOM - self.next } else { 0 };
        if self.used + skipped + bytes > ROOM {
            return None;
        }
        if self.memory.is_none() {
            self.memory = Some(MmapMut::map_anon(ROOM).ok()?);
        }
        let at = (self.next + skipped) % ROOM;
        self.next = at + bytes;
        self.used += skipped + bytes;
        self.staying.push_back((end, skipped + bytes));
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where a copy of this many bytes lies, all of which become `byte`, and whether it stays.
    fn copy(copies: &mut SealedCopies, bytes: usize, end: u64, given_up: u64, byte: u8) -> (*const u8, bool) {
        let fill = |copy: &mut [u8]| {
            copy.fill(byte);
            Ok::<_, ()>(())
        };
        match copies.make(bytes, end, given_up, fill).unwrap().1 {
            SealedCopy::Stays(copy) => (copy.as_ptr(), true),
            SealedCopy::Passes(copy) => (copy.as_ptr(), false),
        }
    }

    #[test]
    fn a_copy_stays_until_its_block_is_given_up() {
        let mut copies = SealedCopies::default();
        let bytes = 5 << 20;
        let end = |copy: u64| copy * bytes as u64;
        let [first, second, third] =
            [1, 2, 3].map(|copy_| copy(&mut copies, bytes, end(copy_), 0, copy_ as u8));
        assert!(first.1 && second.1 && third.1);
        let is_at = |copies: &SealedCopies, place: *const u8, byte| {
            let memory = copies.memory.as_ref().unwrap();
            let at = place.addr() - memory.as_ptr().addr();
            memory[at..at + bytes].iter().all(|found| *found == byte)
        };
        // 15 of 16 MiB are in use, whatever is left before the end.
        for given_up in [0, end(1) - 1] {
            assert!(!copy(&mut copies, bytes, end(4), given_up, 4).1);
        }
        assert!(is_at(&copies, first.0, 1) && is_at(&copies, second.0, 2) && is_at(&copies, third.0, 3));
        // In place of the first one, as soon as that is given up.
        assert_eq!(copy(&mut copies, bytes, end(5), end(1), 5), first);
        assert!(is_at(&copies, second.0, 2) && is_at(&copies, third.0, 3));
        assert!(!copy(&mut copies, bytes, end(6), end(1), 6).1);
        // All are given up: all is free, and what was used last is used again.
        assert_eq!(copy(&mut copies, ROOM, end(9), end(5), 9), first);
        assert!(!copy(&mut copies, 1, end(10), end(5), 9).1);
    }
}
