//! Lists: chunks of packed strings, so that both ends are near, and small elements take little more than their bytes.

use crate::store::value::packed::{Packed, size_of_string};
use crate::store::value::{Encodings, allocation};
use std::collections::VecDeque;

/// Bytes of a chunk, if its size is -1; each further step down doubles it.
const LEAST: usize = 4096;

/// Whether a chunk with so many more elements, and bytes, would be longer than it should be: `list-max-listpack-size`
/// says how many elements a chunk has at most, or, if it is negative, how many bytes, as a power of two.
fn is_overfull(chunk: &Packed, elements: usize, bytes: usize, encodings: &Encodings) -> bool {
    let count = chunk.len() + elements;
    match encodings.list_chunk {
        most @ 1.. => count > most as usize,
        size => count > 1 && chunk.size() + bytes > LEAST << (-size - 1).clamp(0, 4),
    }
}

#[derive(Default)]
pub struct List {
    /// None is empty.
    chunks: VecDeque<Packed>,
    length: usize,
    /// Bytes of the chunks' allocations.
    bytes: usize,
}

/// One of its ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    Left,
    Right,
}

impl List {
    pub fn len(&self) -> usize {
        self.length
    }

    pub fn memory(&self) -> usize {
        self.bytes + allocation(size_of::<Packed>() * self.chunks.capacity())
    }

    /// Changes a chunk, which goes when it is empty.
    fn change<U>(&mut self, index: usize, change: impl FnOnce(&mut Packed) -> U) -> U {
        let chunk = &mut self.chunks[index];
        let (bytes, length) = (allocation(chunk.capacity()), chunk.len());
        let changed = change(chunk);
        self.bytes = self.bytes - bytes + allocation(chunk.capacity());
        self.length = self.length - length + chunk.len();
        if chunk.is_empty() {
            self.bytes -= allocation(chunk.capacity());
            self.chunks.remove(index);
        }
        changed
    }

    /// Makes a chunk two, if it is too long.
    fn split(&mut self, index: usize, encodings: &Encodings) {
        let chunk = &mut self.chunks[index];
        if is_overfull(chunk, 0, 0, encodings) {
            let bytes = allocation(chunk.capacity());
            let half = chunk.split_off(chunk.len() / 2);
            self.bytes = self.bytes - bytes + allocation(chunk.capacity()) + allocation(half.capacity());
            self.chunks.insert(index + 1, half);
        }
    }

    pub fn push(&mut self, end: End, element: &[u8], encodings: &Encodings) {
        let chunk = if end == End::Left { self.chunks.front() } else { self.chunks.back() };
        if chunk.is_none_or(|chunk| is_overfull(chunk, 1, size_of_string(element), encodings)) {
            if self.chunks.is_empty() {
                // Most lists have no second one.
                self.chunks.reserve_exact(1);
            }
            self.bytes += allocation(0);
            match end {
                End::Left => self.chunks.push_front(Packed::default()),
                End::Right => self.chunks.push_back(Packed::default()),
            }
        }
        match end {
            End::Left => self.change(0, |chunk| chunk.insert(0, element)),
            End::Right => self.change(self.chunks.len() - 1, |chunk| chunk.push(element)),
        }
    }

    pub fn pop(&mut self, end: End) -> Option<Vec<u8>> {
        let last = self.chunks.len().checked_sub(1)?;
        let take = |chunk: &mut Packed, index: usize| {
            let element = chunk.get(index).map(<[u8]>::to_vec);
            chunk.remove(index, 1);
            element
        };
        match end {
            End::Left => self.change(0, |chunk| take(chunk, 0)),
            End::Right => self.change(last, |chunk| take(chunk, chunk.len() - 1)),
        }
    }

    /// The chunk of an element that is there, and its place in it.
    fn place(&self, index: usize) -> (usize, usize) {
        if index < self.length / 2 {
            let mut rest = index;
            for (at, chunk) in self.chunks.iter().enumerate() {
                if rest < chunk.len() {
                    return (at, rest);
                }
                rest -= chunk.len();
            }
        }
        let mut behind = self.length - index;
        for (at, chunk) in self.chunks.iter().enumerate().rev() {
            if behind <= chunk.len() {
                return (at, chunk.len() - behind);
            }
            behind -= chunk.len();
        }
        (0, 0)
    }

    pub fn get(&self, index: usize) -> Option<&[u8]> {
        if index >= self.length {
            return None;
        }
        let (chunk, place) = self.place(index);
        self.chunks[chunk].get(place)
    }

    /// The elements from one on.
    pub fn iter_from(&self, index: usize) -> impl Iterator<Item = &[u8]> {
        let (chunk, place) = if index < self.length { self.place(index) } else { (self.chunks.len(), 0) };
        let rest = self.chunks.iter().skip(chunk + 1).flat_map(Packed::iter);
        self.chunks.get(chunk).map(|chunk| chunk.iter_from(place)).into_iter().flatten().chain(rest)
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.chunks.iter().flat_map(Packed::iter)
    }

    /// Gives an element that is there another value.
    pub fn set(&mut self, index: usize, element: &[u8], encodings: &Encodings) {
        let (chunk, place) = self.place(index);
        self.change(chunk, |chunk| chunk.replace(place, element));
        self.split(chunk, encodings);
    }

    /// Puts an element before one that is there.
    pub fn insert(&mut self, index: usize, element: &[u8], encodings: &Encodings) {
        let (chunk, place) = self.place(index);
        self.change(chunk, |chunk| chunk.insert(place, element));
        self.split(chunk, encodings);
    }

    /// Removes elements, which are there.
    pub fn remove(&mut self, index: usize, count: usize) {
        let mut left = count;
        while left > 0 {
            let (chunk, place) = self.place(index);
            let here = left.min(self.chunks[chunk].len() - place);
            self.change(chunk, |chunk| chunk.remove(place, here));
            left -= here;
        }
    }

    /// Removes so many elements of a value, from one of the ends on; tells how many there were.
    pub fn remove_equal(&mut self, element: &[u8], most: usize, from: End) -> usize {
        let mut removed = 0;
        let mut chunks: Vec<usize> = (0..self.chunks.len()).collect();
        if from == End::Left {
            // Removing a chunk moves only those after it.
            chunks.reverse();
        }
        while let Some(at) = chunks.pop() {
            if removed == most {
                break;
            }
            let chunk = &self.chunks[at];
            let equal =
                chunk.iter().enumerate().filter(|(_, other)| *other == element).map(|(index, _)| index);
            let equal: Vec<usize> = equal.collect();
            let wanted = equal.len().min(most - removed);
            let wanted = if from == End::Left { &equal[..wanted] } else { &equal[equal.len() - wanted..] };
            if wanted.is_empty() {
                continue;
            }
            let is_gone = wanted.len() == chunk.len();
            self.change(at, |chunk| {
                let mut rest = Packed::default();
                let kept = chunk.iter().enumerate().filter(|(index, _)| wanted.binary_search(index).is_err());
                kept.for_each(|(_, element)| rest.push(element));
                *chunk = rest;
            });
            removed += wanted.len();
            if is_gone && from == End::Left {
                chunks.iter_mut().for_each(|other| *other -= 1);
            }
        }
        removed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::eviction::random;

    #[test]
    fn a_list_is_what_a_vector_would_be() {
        for list_chunk in [-2, 3] {
            change_both(&Encodings { list_chunk, ..Encodings::default() });
        }
    }

    fn change_both(encodings: &Encodings) {
        let (mut list, mut vector) = (List::default(), Vec::<Vec<u8>>::new());
        for step in 0..2500_usize {
            let lengths = [1, 5, 300, 3000, 9000];
            let element = vec![(step % 7) as u8; lengths[random() as usize % lengths.len()]];
            let at = random() as usize % (vector.len() + 1);
            match random() % 9 {
                0 | 1 => {
                    list.push(End::Right, &element, encodings);
                    vector.push(element);
                }
                2 | 3 => {
                    list.push(End::Left, &element, encodings);
                    vector.insert(0, element);
                }
                4 if at < vector.len() => {
                    list.insert(at, &element, encodings);
                    vector.insert(at, element);
                }
                5 if at < vector.len() => {
                    list.set(at, &element, encodings);
                    vector[at] = element;
                }
                6 => {
                    assert_eq!(list.pop(End::Right), vector.pop());
                    let first = (!vector.is_empty()).then(|| vector.remove(0));
                    assert_eq!(list.pop(End::Left), first);
                }
                7 if step % 5 == 0 => {
                    let count = random() as usize % (vector.len() - at + 1);
                    list.remove(at, count);
                    vector.drain(at..at + count);
                }
                8 if !vector.is_empty() => {
                    let value = vector[random() as usize % vector.len()].clone();
                    let from = if random().is_multiple_of(2) { End::Left } else { End::Right };
                    let mut equal: Vec<_> = (0..vector.len()).filter(|at| vector[*at] == value).collect();
                    if from == End::Right {
                        equal.reverse();
                    }
                    equal.truncate(2);
                    assert_eq!(list.remove_equal(&value, 2, from), equal.len());
                    equal.sort_unstable();
                    equal.iter().rev().for_each(|at| drop(vector.remove(*at)));
                }
                _ => {}
            }
            assert_eq!(list.len(), vector.len());
            assert!(list.iter().eq(vector.iter().map(Vec::as_slice)));
            let at = at.min(vector.len());
            assert!(list.iter_from(at).eq(vector[at..].iter().map(Vec::as_slice)));
            let bytes: usize = list.chunks.iter().map(|chunk| allocation(chunk.capacity())).sum();
            assert_eq!(list.bytes, bytes);
        }
    }
}
