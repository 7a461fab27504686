//! Strings one after another in one piece of memory, for small values: redis calls this a listpack. The memory may
//! begin with something of its owner's, such as the key, so that a small value and its key take a single allocation.

/// A length that does not fit in one byte follows this value, in four bytes.
const LONG: u8 = 255;
/// Before the strings: their number (2 bytes), and how many bytes at the end of the memory are not used (1 byte).
pub(super) const HEAD: usize = 3;
/// The most strings that can be counted.
const MOST: usize = u16::MAX as usize;

/// The strings of a value. Each has its length before it and after it, so that it can be found from both ends.
#[derive(Clone, Copy, Default)]
pub struct Packed<'a> {
    pub(super) count: usize,
    pub(super) bytes: &'a [u8],
}

/// How many bytes a string takes in it.
pub fn size_of_string(string: &[u8]) -> usize {
    string.len() + if string.len() < usize::from(LONG) { 2 } else { 10 }
}

fn number(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]) as usize
}

/// The string that begins here.
#[inline]
fn first(bytes: &[u8]) -> &[u8] {
    match bytes[0] {
        LONG => &bytes[5..5 + number(bytes, 1)],
        length => &bytes[1..1 + usize::from(length)],
    }
}

/// The string that ends here.
#[inline]
fn last(bytes: &[u8]) -> &[u8] {
    let end = bytes.len() - 1;
    match bytes[end] {
        LONG => &bytes[end - 4 - number(bytes, end - 4)..end - 4],
        length => &bytes[end - usize::from(length)..end],
    }
}

/// Writes a string, and returns what comes after it.
pub(super) fn write<'a>(to: &'a mut [u8], string: &[u8]) -> &'a mut [u8] {
    let (own, behind) = to.split_at_mut(size_of_string(string));
    if string.len() < usize::from(LONG) {
        own[0] = string.len() as u8;
        own[1..1 + string.len()].copy_from_slice(string);
        own[1 + string.len()] = string.len() as u8;
    } else {
        let length = (string.len() as u32).to_le_bytes();
        own[0] = LONG;
        own[1..5].copy_from_slice(&length);
        own[5..5 + string.len()].copy_from_slice(string);
        own[5 + string.len()..9 + string.len()].copy_from_slice(&length);
        own[9 + string.len()] = LONG;
    }
    behind
}

/// Strings from both ends.
#[derive(Clone)]
pub struct Strings<'a>(pub(super) &'a [u8]);

impl<'a> Iterator for Strings<'a> {
    type Item = &'a [u8];

    #[inline]
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
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let string = last(self.0);
        self.0 = &self.0[..self.0.len() - size_of_string(string)];
        Some(string)
    }
}

/// Strings that belong together, from both ends.
#[derive(Clone)]
pub struct Pairs<'a>(Strings<'a>);

impl<'a> Iterator for Pairs<'a> {
    type Item = (&'a [u8], &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().zip(self.0.next())
    }
}

impl DoubleEndedIterator for Pairs<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        let second = self.0.next_back();
        self.0.next_back().zip(second)
    }
}

impl<'a> Packed<'a> {
    /// The strings in a piece of memory, from here on.
    #[inline]
    pub fn of(memory: &'a [u8], start: usize) -> Self {
        let (count, spare) = ([memory[start], memory[start + 1]], usize::from(memory[start + 2]));
        Self {
            count: usize::from(u16::from_le_bytes(count)),
            bytes: &memory[start + HEAD..memory.len() - spare],
        }
    }

    pub fn len(self) -> usize {
        self.count
    }

    pub fn is_empty(self) -> bool {
        self.count == 0
    }

    /// All strings with their lengths, or whatever else is stored here.
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// How many bytes these strings take.
    pub fn size_of(strings: &[&[u8]]) -> usize {
        strings.iter().map(|string| size_of_string(string)).sum()
    }

    /// Whether this many more strings can be counted.
    pub fn has_room_for(self, more: usize) -> bool {
        self.count + more <= MOST
    }

    pub fn iter(self) -> Strings<'a> {
        Strings(self.bytes)
    }

    pub fn pairs(self) -> Pairs<'a> {
        Pairs(self.iter())
    }

    /// Where a string begins; for the one after the last, where the strings end.
    pub fn offset(self, index: usize) -> usize {
        if index <= self.count / 2 {
            self.iter().take(index).map(size_of_string).sum()
        } else {
            self.bytes.len() - self.iter().rev().take(self.count - index).map(size_of_string).sum::<usize>()
        }
    }

    pub fn iter_from(self, index: usize) -> Strings<'a> {
        Strings(&self.bytes[self.offset(index)..])
    }

    /// The pairs at some places, which exist.
    pub fn pairs_of(self, places: std::ops::Range<usize>) -> Pairs<'a> {
        Pairs(Strings(&self.bytes[self.offset(2 * places.start)..self.offset(2 * places.end)]))
    }

    pub fn get(self, index: usize) -> Option<&'a [u8]> {
        self.iter_from(index.min(self.count)).next()
    }

    /// Where a string begins that is the first of this many which belong together.
    #[inline]
    pub fn find(self, string: &[u8], step: usize) -> Option<usize> {
        let mut rest = self.iter();
        loop {
            let at = self.bytes.len() - rest.0.len();
            if rest.next()? == string {
                return Some(at);
            }
            for _ in 1..step {
                rest.next();
            }
        }
    }

    /// The string that begins here, and where it ends.
    pub fn at(self, offset: usize) -> (&'a [u8], usize) {
        let string = first(&self.bytes[offset..]);
        (string, offset + size_of_string(string))
    }
}
