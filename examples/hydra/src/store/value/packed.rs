//! Strings one after another in one allocation, for small values: redis calls this a listpack.

/// The length of a string that does not fit one byte follows this one, in four.
const LONG: u8 = 255;

/// Each string has its length before it and after it, so that it can be found from both ends.
#[derive(Default)]
pub struct Packed {
    bytes: Vec<u8>,
    count: u32,
}

/// Bytes of a string in it.
pub fn size_of_string(string: &[u8]) -> usize {
    string.len() + if string.len() < usize::from(LONG) { 2 } else { 10 }
}

fn number(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]) as usize
}

/// The string that begins here.
fn first(bytes: &[u8]) -> &[u8] {
    match bytes[0] {
        LONG => &bytes[5..5 + number(bytes, 1)],
        length => &bytes[1..1 + usize::from(length)],
    }
}

/// The string that ends here.
fn last(bytes: &[u8]) -> &[u8] {
    let end = bytes.len() - 1;
    match bytes[end] {
        LONG => &bytes[end - 4 - number(bytes, end - 4)..end - 4],
        length => &bytes[end - usize::from(length)..end],
    }
}

fn write(to: &mut Vec<u8>, string: &[u8]) {
    if string.len() < usize::from(LONG) {
        to.push(string.len() as u8);
        to.extend_from_slice(string);
        to.push(string.len() as u8);
    } else {
        let length = (string.len() as u32).to_le_bytes();
        to.push(LONG);
        to.extend_from_slice(&length);
        to.extend_from_slice(string);
        to.extend_from_slice(&length);
        to.push(LONG);
    }
}

/// Strings from both ends.
pub struct Strings<'a>(&'a [u8]);

impl<'a> Iterator for Strings<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.0.is_empty() {
            return None;
        }
        let string = first(self.0);
        self.0 = &self.0[size_of_string(string)..];
        Some(string)
    }
}

impl DoubleEndedIterator for Strings<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let string = last(self.0);
        self.0 = &self.0[..self.0.len() - size_of_string(string)];
        Some(string)
    }
}

impl Packed {
    pub fn len(&self) -> usize {
        self.count as usize
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes of all strings with their lengths.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    pub fn iter(&self) -> Strings<'_> {
        Strings(&self.bytes)
    }

    /// Where a string begins; the end for the one after the last.
    fn offset(&self, index: usize) -> usize {
        if index <= self.len() / 2 {
            self.iter().take(index).map(size_of_string).sum()
        } else {
            self.size() - self.iter().rev().take(self.len() - index).map(size_of_string).sum::<usize>()
        }
    }

    pub fn iter_from(&self, index: usize) -> Strings<'_> {
        Strings(&self.bytes[self.offset(index)..])
    }

    pub fn get(&self, index: usize) -> Option<&[u8]> {
        self.iter_from(index.min(self.len())).next()
    }

    pub fn push(&mut self, string: &[u8]) {
        write(&mut self.bytes, string);
        self.count += 1;
    }

    pub fn insert(&mut self, index: usize, string: &[u8]) {
        self.splice(index, 0, Some(string));
    }

    pub fn replace(&mut self, index: usize, string: &[u8]) {
        self.splice(index, 1, Some(string));
    }

    pub fn remove(&mut self, index: usize, count: usize) {
        self.splice(index, count, None);
    }

    /// Replaces some strings by one, or by none.
    fn splice(&mut self, index: usize, removed: usize, string: Option<&[u8]>) {
        let from = self.offset(index);
        let to = from + Strings(&self.bytes[from..]).take(removed).map(size_of_string).sum::<usize>();
        let mut new = Vec::with_capacity(string.map_or(0, size_of_string));
        if let Some(string) = string {
            write(&mut new, string);
        }
        self.bytes.splice(from..to, new);
        self.count = self.count - removed as u32 + u32::from(string.is_some());
        if self.bytes.capacity() > 64 && self.bytes.len() < self.bytes.capacity() / 4 {
            self.bytes.shrink_to(self.bytes.len() * 2);
        }
    }

    /// Leaves so many strings, and gives the others.
    pub fn split_off(&mut self, index: usize) -> Self {
        let count = self.count - index as u32;
        let bytes = self.bytes.split_off(self.offset(index));
        self.count = index as u32;
        Self { bytes, count }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::eviction::random;

    #[test]
    fn strings_are_those_that_a_vector_would_have() {
        let (mut packed, mut vector) = (Packed::default(), Vec::<Vec<u8>>::new());
        for step in 0..3000 {
            let at = random() as usize % (vector.len() + 1);
            let lengths = [0, 1, 3, 254, 255, 300];
            let string = vec![step as u8; lengths[random() as usize % lengths.len()]];
            match random() % 6 {
                0 | 1 => {
                    packed.insert(at, &string);
                    vector.insert(at, string);
                }
                2 => {
                    packed.push(&string);
                    vector.push(string);
                }
                3 if at < vector.len() => {
                    packed.replace(at, &string);
                    vector[at] = string;
                }
                4 => {
                    let count = random() as usize % (vector.len() - at + 1).min(5);
                    packed.remove(at, count);
                    vector.drain(at..at + count);
                }
                _ => {
                    let (other, rest) = (packed.split_off(at), vector.split_off(at));
                    assert!(other.iter().eq(rest.iter().map(Vec::as_slice)));
                    other.iter().for_each(|string| packed.push(string));
                    vector.extend(rest);
                }
            }
            assert_eq!(packed.len(), vector.len());
            assert!(packed.iter().eq(vector.iter().map(Vec::as_slice)));
            assert!(packed.iter().rev().eq(vector.iter().rev().map(Vec::as_slice)));
            assert_eq!(packed.get(at), vector.get(at).map(Vec::as_slice));
            if vector.len() > 60 {
                packed.remove(5, 50);
                vector.drain(5..55);
            }
        }
    }
}
