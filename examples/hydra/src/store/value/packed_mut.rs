//! Changing packed strings: the memory grows and shrinks with them.

use crate::store::value::list::End;
use crate::store::value::packed::{HEAD, Packed, Strings, size_of_string, write};

/// A piece of memory with packed strings, for changes.
pub struct PackedMut<'a> {
    memory: &'a mut Box<[u8]>,
    start: usize,
}

/// How much memory a piece of this length gets: what the allocator has room for anyway, and a little more for large
/// pieces, which then are not copied for each string.
fn room(length: usize) -> usize {
    let length = length + if length > 256 { (length / 16).min(128) } else { 0 };
    ((length + 8).next_multiple_of(16) - 8).max(24)
}

/// How many bytes may be unused after a string was removed.
fn most_spare(length: usize) -> usize {
    (32 + length / 8).min(usize::from(u8::MAX))
}

fn resize(memory: &mut Box<[u8]>, length: usize) {
    let mut bytes = std::mem::take(memory).into_vec();
    bytes.reserve_exact(length.saturating_sub(bytes.len()));
    bytes.resize(length, 0);
    *memory = bytes.into_boxed_slice();
}

/// Memory that begins with this, and has no strings after it.
pub fn memory_after(head: Vec<u8>) -> Box<[u8]> {
    let length = room(head.len() + HEAD);
    let spare = length - head.len() - HEAD;
    let mut memory = head;
    memory.reserve_exact(length - memory.len());
    memory.extend_from_slice(&[0, 0, spare as u8]);
    memory.resize(length, 0);
    memory.into_boxed_slice()
}

impl<'a> PackedMut<'a> {
    pub fn of(memory: &'a mut Box<[u8]>, start: usize) -> Self {
        Self { memory, start }
    }

    #[inline]
    pub fn view(&self) -> Packed<'_> {
        Packed::of(self.memory, self.start)
    }

    /// Replaces some bytes by others, which the caller writes to the returned place; then there are this many strings.
    pub fn open(&mut self, at: usize, removed: usize, added: usize, count: usize) -> &mut [u8] {
        let before = self.view().bytes.len();
        let begin = self.start + HEAD;
        let length = begin + before - removed + added;
        if length > self.memory.len() {
            resize(self.memory, room(length));
        }
        if removed != added {
            self.memory.copy_within(begin + at + removed..begin + before, begin + at + added);
        }
        if self.memory.len() - length > most_spare(length) {
            resize(self.memory, room(length));
        }
        self.memory[self.start..self.start + 2].copy_from_slice(&(count as u16).to_le_bytes());
        self.memory[self.start + 2] = (self.memory.len() - length) as u8;
        &mut self.memory[begin + at..begin + at + added]
    }

    pub fn push(&mut self, strings: &[&[u8]]) {
        self.insert_at(self.view().bytes.len(), strings);
    }

    pub fn insert_at(&mut self, offset: usize, strings: &[&[u8]]) {
        let added = Packed::size_of(strings);
        let to = self.open(offset, 0, added, self.view().count + strings.len());
        strings.iter().fold(to, |to, string| write(to, string));
    }

    /// Replaces the string that begins here.
    pub fn replace_at(&mut self, offset: usize, string: &[u8]) {
        let view = self.view();
        let removed = view.at(offset).1 - offset;
        let to = self.open(offset, removed, size_of_string(string), view.count);
        write(to, string);
    }

    /// Removes this many strings, from here on.
    pub fn remove_at(&mut self, offset: usize, count: usize) {
        let view = self.view();
        let removed = Strings(&view.bytes[offset..]).take(count).map(size_of_string).sum();
        self.open(offset, removed, 0, view.count - count);
    }

    /// As `insert_at`, for one string, before the string at this index or at the end.
    pub fn insert(&mut self, index: usize, string: &[u8]) {
        self.insert_at(self.view().offset(index), &[string]);
    }

    pub fn replace(&mut self, index: usize, string: &[u8]) {
        self.replace_at(self.view().offset(index), string);
    }

    pub fn remove(&mut self, index: usize, count: usize) {
        self.remove_at(self.view().offset(index), count);
    }

    pub fn pop(&mut self, end: End) -> Option<Vec<u8>> {
        let view = self.view();
        let index = if end == End::Left { 0 } else { view.count.checked_sub(1)? };
        let popped = view.get(index)?.to_vec();
        self.remove(index, 1);
        Some(popped)
    }

    /// Removes this many strings that equal this one, starting at one of the ends; returns how many there were.
    pub fn remove_equal(&mut self, string: &[u8], most: usize, from: End) -> usize {
        let view = self.view();
        let equal = view.iter().filter(|other| *other == string).count();
        let removed = equal.min(most);
        if removed == 0 {
            return 0;
        }
        // The strings that stay come before those to remove, or after them.
        let first = if from == End::Left { 0 } else { equal - removed };
        let (mut kept, mut met) = (Vec::with_capacity(view.bytes.len()), 0);
        for other in view.iter() {
            let goes = other == string && (first..first + removed).contains(&met);
            met += usize::from(other == string);
            if !goes {
                let at = kept.len();
                kept.resize(at + size_of_string(other), 0);
                write(&mut kept[at..], other);
            }
        }
        let count = view.count - removed;
        self.set_bytes(&kept, count);
        removed
    }

    /// Other strings with their lengths, and their number.
    pub fn set_bytes(&mut self, bytes: &[u8], count: usize) {
        let before = self.view().bytes.len();
        self.open(0, before, bytes.len(), count).copy_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::eviction::random;

    #[test]
    fn strings_are_those_that_a_vector_would_have() {
        for head in [&b""[..], b"of another"] {
            change_both(head);
        }
    }

    fn change_both(head: &[u8]) {
        let (mut memory, mut vector) = (memory_after(head.to_vec()), Vec::<Vec<u8>>::new());
        for step in 0..5000 {
            let mut packed = PackedMut::of(&mut memory, head.len());
            let index = random() as usize % (vector.len() + 1);
            let at = packed.view().offset(index);
            let lengths = [0, 1, 3, 254, 255, 300];
            let string = vec![step as u8; lengths[random() as usize % lengths.len()]];
            match random() % 6 {
                0 | 1 => {
                    packed.insert_at(at, &[&string, b"second"]);
                    vector.splice(index..index, [string, b"second".to_vec()]);
                }
                2 => {
                    packed.push(&[&string]);
                    vector.push(string);
                }
                3 if index < vector.len() => {
                    packed.replace_at(at, &string);
                    vector[index] = string;
                }
                4 => {
                    let count = random() as usize % (vector.len() - index + 1).min(5);
                    packed.remove_at(at, count);
                    vector.drain(index..index + count);
                }
                _ if step % 10 == 0 => {
                    let mut equal: Vec<_> = (0..vector.len()).filter(|at| vector[*at] == b"second").collect();
                    let from = if step % 20 == 0 { End::Left } else { End::Right };
                    if from == End::Right {
                        equal.reverse();
                    }
                    equal.truncate(2);
                    assert_eq!(packed.remove_equal(b"second", 2, from), equal.len());
                    equal.sort_unstable();
                    equal.iter().rev().for_each(|at| drop(vector.remove(*at)));
                }
                _ => {
                    assert_eq!(packed.pop(End::Right), vector.pop());
                    let first = (!vector.is_empty()).then(|| vector.remove(0));
                    assert_eq!(packed.pop(End::Left), first);
                }
            }
            if vector.len() > 60 {
                let at = packed.view().offset(5);
                packed.remove_at(at, 50);
                vector.drain(5..55);
            }
            let view = packed.view();
            assert_eq!(view.len(), vector.len());
            assert!(view.iter().eq(vector.iter().map(Vec::as_slice)));
            assert!(view.iter().rev().eq(vector.iter().rev().map(Vec::as_slice)));
            assert_eq!(view.get(index), vector.get(index).map(Vec::as_slice));
            let pairs = vector.len() / 2;
            assert!(view.pairs_of(0..pairs).rev().eq((0..pairs).rev().map(|at| {
                let [first, second] = [2 * at, 2 * at + 1].map(|at| vector[at].as_slice());
                (first, second)
            })));
            let found = view.find(b"second", 1).map(|at| view.at(at).0);
            assert_eq!(found, vector.iter().map(Vec::as_slice).find(|string| *string == b"second"));
            let spare = usize::from(memory[head.len() + 2]);
            assert!(memory.starts_with(head) && spare <= most_spare(memory.len()));
        }
    }
}
