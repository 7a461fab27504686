//! Lists.

use crate::store::entry::{Entry, Form};
use crate::store::value::chunks::Chunks;
use crate::store::value::packed::{Packed, size_of_string};
use crate::store::value::{Elements, Encodings, Kind, Value};

/// The bytes of a chunk if its size is given as -1; each further step down doubles it.
const LEAST: usize = 4096;

/// Longer elements do not move with their key.
const LONGEST_IN_SMALL: usize = 8192;

/// Whether a chunk with this many more elements, and bytes, would be too long. `list-max-listpack-size` says how many
/// elements a chunk may have or, if it is negative, how many bytes, as a power of two. A small list is one chunk.
pub fn is_overfull(chunk: Packed<'_>, elements: usize, bytes: usize, encodings: &Encodings) -> bool {
    let count = chunk.len() + elements;
    !chunk.has_room_for(elements)
        || match encodings.list_chunk {
            most @ 1.. => count > most as usize,
            size => count > 1 && chunk.bytes().len() + bytes > LEAST << (-size - 1).clamp(0, 4),
        }
}

#[derive(Clone, Copy)]
pub enum List<'a> {
    Small(Packed<'a>),
    Large(&'a Chunks),
}

/// A list, for changes.
pub struct ListMut<'a>(&'a mut Entry);

/// One of its ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    Left,
    Right,
}

impl Elements for List<'_> {
    const KIND: Kind = Kind::List;
    type View<'a> = List<'a>;
    type Mut<'a> = ListMut<'a>;

    fn view(entry: &Entry) -> Option<List<'_>> {
        match entry.form(Kind::List)? {
            Form::Small(packed) => Some(List::Small(packed)),
            Form::Large(Value::List(chunks)) => Some(List::Large(chunks)),
            Form::Large(_) => None,
        }
    }

    fn edit(entry: &mut Entry) -> ListMut<'_> {
        ListMut(entry)
    }

    fn length(of: List<'_>) -> usize {
        of.len()
    }
}

impl<'a> List<'a> {
    pub fn len(self) -> usize {
        match self {
            Self::Small(packed) => packed.len(),
            Self::Large(chunks) => chunks.len(),
        }
    }

    pub fn get(self, index: usize) -> Option<&'a [u8]> {
        match self {
            Self::Small(packed) => packed.get(index),
            Self::Large(chunks) => chunks.get(index),
        }
    }

    /// The elements from one of them on.
    pub fn iter_from(self, index: usize) -> impl Iterator<Item = &'a [u8]> {
        let (small, large) = match self {
            Self::Small(packed) => (Some(packed.iter_from(index.min(packed.len()))), None),
            Self::Large(chunks) => (None, Some(chunks.iter_from(index))),
        };
        small.into_iter().flatten().chain(large.into_iter().flatten())
    }

    pub fn iter(self) -> impl DoubleEndedIterator<Item = &'a [u8]> {
        let (small, large) = match self {
            Self::Small(packed) => (Some(packed.iter()), None),
            Self::Large(chunks) => (None, Some(chunks.iter())),
        };
        small.into_iter().flatten().chain(large.into_iter().flatten())
    }
}

impl ListMut<'_> {
    pub fn view(&self) -> List<'_> {
        List::view(self.0).unwrap_or(List::Small(Packed::default()))
    }

    /// Makes it large, if this many more elements, with this many bytes, do not fit in a small one.
    fn make_room(&mut self, elements: usize, bytes: usize, encodings: &Encodings) {
        if let List::Small(packed) = self.view()
            && (bytes > LONGEST_IN_SMALL || is_overfull(packed, elements, bytes, encodings))
        {
            let chunks = Chunks::of(packed);
            self.0.grow(Value::List(Box::new(chunks)));
        }
    }

    fn large(&mut self) -> Option<&mut Chunks> {
        match self.0.large_mut() {
            Some(Value::List(chunks)) => Some(chunks),
            _ => None,
        }
    }

    pub fn push(&mut self, end: End, element: &[u8], encodings: &Encodings) {
        self.make_room(1, size_of_string(element), encodings);
        if let Some(mut packed) = self.0.packed_mut() {
            match end {
                End::Left => packed.insert_at(0, &[element]),
                End::Right => packed.push(&[element]),
            }
        } else if let Some(chunks) = self.large() {
            chunks.push(end, element, encodings);
        }
    }

    pub fn pop(&mut self, end: End) -> Option<Vec<u8>> {
        match self.0.packed_mut() {
            Some(mut packed) => packed.pop(end),
            None => self.large()?.pop(end),
        }
    }

    /// Changes an element, which exists.
    pub fn set(&mut self, index: usize, element: &[u8], encodings: &Encodings) {
        self.make_room(0, size_of_string(element), encodings);
        if let Some(mut packed) = self.0.packed_mut() {
            packed.replace(index, element);
        } else if let Some(chunks) = self.large() {
            chunks.set(index, element, encodings);
        }
    }

    /// Inserts an element before another, which exists.
    pub fn insert(&mut self, index: usize, element: &[u8], encodings: &Encodings) {
        self.make_room(1, size_of_string(element), encodings);
        if let Some(mut packed) = self.0.packed_mut() {
            packed.insert(index, element);
        } else if let Some(chunks) = self.large() {
            chunks.insert(index, element, encodings);
        }
    }

    /// Removes elements, which exist.
    pub fn remove(&mut self, index: usize, count: usize) {
        if let Some(mut packed) = self.0.packed_mut() {
            packed.remove(index, count);
        } else if let Some(chunks) = self.large() {
            chunks.remove(index, count);
        }
    }

    /// Removes this many elements with a value, starting at one of the ends; returns how many there were.
    pub fn remove_equal(&mut self, element: &[u8], most: usize, from: End) -> usize {
        match self.0.packed_mut() {
            Some(mut packed) => packed.remove_equal(element, most, from),
            None => self.large().map_or(0, |chunks| chunks.remove_equal(element, most, from)),
        }
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
        let (mut entry, mut vector) = (Entry::empty(b"key", Kind::List, Some(9)), Vec::<Vec<u8>>::new());
        let mut was_large = false;
        for step in 0..2500_usize {
            let lengths = [1, 5, 300, 3000, 9000];
            let element = vec![(step % 7) as u8; lengths[random() as usize % lengths.len()]];
            let at = random() as usize % (vector.len() + 1);
            let mut list = List::edit(&mut entry);
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
            let view = list.view();
            assert_eq!(view.len(), vector.len());
            assert!(view.iter().eq(vector.iter().map(Vec::as_slice)));
            assert!(view.iter().rev().eq(vector.iter().rev().map(Vec::as_slice)));
            let at = at.min(vector.len());
            assert!(view.iter_from(at).eq(vector[at..].iter().map(Vec::as_slice)));
            assert_eq!(view.get(at), vector.get(at).map(Vec::as_slice));
            if let List::Large(chunks) = view {
                was_large = true;
                chunks.assert_counts();
            }
            assert_eq!((entry.key(), entry.expiry()), (&b"key"[..], Some(9)));
            if vector.is_empty() {
                entry = Entry::empty(b"key", Kind::List, Some(9));
            }
        }
        assert!(was_large);
    }
}
