//! Large lists: chunks of packed strings, so that both ends are near, and small elements take little more than their
//! bytes.

use crate::store::value::list::{End, is_overfull};
use crate::store::value::packed::{Packed, size_of_string};
use crate::store::value::packed_mut::{PackedMut, memory_after};
use crate::store::value::{Encodings, allocation};
use std::collections::VecDeque;

struct Chunk(Box<[u8]>);

impl Chunk {
    /// As packed strings.
    fn of(bytes: &[u8], count: usize) -> Self {
        let mut chunk = Self(memory_after(Vec::new()));
        chunk.edit().set_bytes(bytes, count);
        chunk
    }

    fn view(&self) -> Packed<'_> {
        Packed::of(&self.0, 0)
    }

    fn edit(&mut self) -> PackedMut<'_> {
        PackedMut::of(&mut self.0, 0)
    }

    fn memory(&self) -> usize {
        allocation(self.0.len())
    }
}

#[derive(Default)]
pub struct Chunks {
    /// None is empty.
    chunks: VecDeque<Chunk>,
    length: usize,
    /// Bytes of the allocations of chunks.
    bytes: usize,
}

impl Chunks {
    /// From the elements of a small list.
    pub fn of(packed: Packed<'_>) -> Self {
        let (mut chunks, chunk) = (VecDeque::new(), Chunk::of(packed.bytes(), packed.len()));
        let bytes = chunk.memory();
        if !packed.is_empty() {
            chunks.push_back(chunk);
        }
        Self { bytes: if chunks.is_empty() { 0 } else { bytes }, chunks, length: packed.len() }
    }

    pub fn len(&self) -> usize {
        self.length
    }

    pub fn memory(&self) -> usize {
        allocation(size_of::<Self>()) + self.bytes + allocation(size_of::<Chunk>() * self.chunks.capacity())
    }

    /// Changes a chunk, which is removed if it is then empty.
    fn change<U>(&mut self, index: usize, change: impl FnOnce(PackedMut<'_>) -> U) -> U {
        let chunk = &mut self.chunks[index];
        let (bytes, length) = (chunk.memory(), chunk.view().len());
        let changed = change(chunk.edit());
        self.bytes = self.bytes - bytes + chunk.memory();
        self.length = self.length - length + chunk.view().len();
        if chunk.view().is_empty() {
            self.bytes -= chunk.memory();
            self.chunks.remove(index);
        }
        changed
    }

    /// Splits a chunk in two if it is too long.
    fn split(&mut self, index: usize, encodings: &Encodings) {
        let chunk = self.chunks[index].view();
        if is_overfull(chunk, 0, 0, encodings) {
            let count = chunk.len() / 2;
            let (first, second) = chunk.bytes().split_at(chunk.offset(count));
            let second = Chunk::of(second, chunk.len() - count);
            let first = Chunk::of(first, count);
            self.bytes = self.bytes - self.chunks[index].memory() + first.memory() + second.memory();
            self.chunks[index] = first;
            self.chunks.insert(index + 1, second);
        }
    }

    pub fn push(&mut self, end: End, element: &[u8], encodings: &Encodings) {
        let chunk = if end == End::Left { self.chunks.front() } else { self.chunks.back() };
        if chunk.is_none_or(|chunk| is_overfull(chunk.view(), 1, size_of_string(element), encodings)) {
            let chunk = Chunk::of(&[], 0);
            self.bytes += chunk.memory();
            match end {
                End::Left => self.chunks.push_front(chunk),
                End::Right => self.chunks.push_back(chunk),
            }
        }
        match end {
            End::Left => self.change(0, |mut chunk| chunk.insert_at(0, &[element])),
            End::Right => self.change(self.chunks.len() - 1, |mut chunk| chunk.push(&[element])),
        }
    }

    pub fn pop(&mut self, end: End) -> Option<Vec<u8>> {
        let last = self.chunks.len().checked_sub(1)?;
        self.change(if end == End::Left { 0 } else { last }, |mut chunk| chunk.pop(end))
    }

    /// The chunk that has an element, and the element's place in it; the element exists.
    fn place(&self, index: usize) -> (usize, usize) {
        if index < self.length / 2 {
            let mut rest = index;
            for (at, chunk) in self.chunks.iter().enumerate() {
                if rest < chunk.view().len() {
                    return (at, rest);
                }
                rest -= chunk.view().len();
            }
        }
        let mut behind = self.length - index;
        for (at, chunk) in self.chunks.iter().enumerate().rev() {
            if behind <= chunk.view().len() {
                return (at, chunk.view().len() - behind);
            }
            behind -= chunk.view().len();
        }
        (0, 0)
    }

    pub fn get(&self, index: usize) -> Option<&[u8]> {
        if index >= self.length {
            return None;
        }
        let (chunk, place) = self.place(index);
        self.chunks[chunk].view().get(place)
    }

    /// The elements from one of them on.
    pub fn iter_from(&self, index: usize) -> impl Iterator<Item = &[u8]> {
        let (chunk, place) = if index < self.length { self.place(index) } else { (self.chunks.len(), 0) };
        let rest = self.chunks.iter().skip(chunk + 1).flat_map(|chunk| chunk.view().iter());
        let first = self.chunks.get(chunk).map(|chunk| chunk.view().iter_from(place));
        first.into_iter().flatten().chain(rest)
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.chunks.iter().flat_map(|chunk| chunk.view().iter())
    }

    /// Changes an element, which exists.
    pub fn set(&mut self, index: usize, element: &[u8], encodings: &Encodings) {
        let (chunk, place) = self.place(index);
        self.change(chunk, |mut chunk| chunk.replace(place, element));
        self.split(chunk, encodings);
    }

    /// Inserts an element before another, which exists.
    pub fn insert(&mut self, index: usize, element: &[u8], encodings: &Encodings) {
        let (chunk, place) = self.place(index);
        self.change(chunk, |mut chunk| chunk.insert(place, element));
        self.split(chunk, encodings);
    }

    /// Removes elements, which exist.
    pub fn remove(&mut self, index: usize, count: usize) {
        let mut left = count;
        while left > 0 {
            let (chunk, place) = self.place(index);
            let here = left.min(self.chunks[chunk].view().len() - place);
            self.change(chunk, |mut chunk| chunk.remove(place, here));
            left -= here;
        }
    }

    /// Removes this many elements with a value, starting at one of the ends; returns how many there were.
    pub fn remove_equal(&mut self, element: &[u8], most: usize, from: End) -> usize {
        let (mut removed, mut at) = (0, if from == End::Left { 0 } else { self.chunks.len() });
        while removed < most {
            if from == End::Right {
                let Some(before) = at.checked_sub(1) else { break };
                at = before;
            } else if at == self.chunks.len() {
                break;
            }
            let before = self.chunks.len();
            removed += self.change(at, |mut chunk| chunk.remove_equal(element, most - removed, from));
            if from == End::Left && self.chunks.len() == before {
                at += 1;
            }
        }
        removed
    }
}

#[cfg(test)]
impl Chunks {
    /// Checks that what is counted is what is there.
    pub fn assert_counts(&self) {
        assert_eq!(self.bytes, self.chunks.iter().map(Chunk::memory).sum());
        assert_eq!(self.length, self.chunks.iter().map(|chunk| chunk.view().len()).sum());
    }
}
