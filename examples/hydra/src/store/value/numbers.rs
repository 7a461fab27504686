//! Integers in order, each in as many bytes as the one that needs most of them, for small sets: redis calls this an
//! intset.

use crate::store::value::packed::Packed;
use crate::store::value::packed_mut::PackedMut;

/// They are stored where strings would be.
#[derive(Clone, Copy)]
pub struct Numbers<'a>(pub Packed<'a>);

/// How many bytes a number needs.
fn width(number: i64) -> usize {
    match number {
        number if i16::try_from(number).is_ok() => 2,
        number if i32::try_from(number).is_ok() => 4,
        _ => 8,
    }
}

impl Numbers<'_> {
    pub fn len(self) -> usize {
        self.0.len()
    }

    /// How many bytes each of them has.
    fn width(self) -> usize {
        self.0.bytes().len().checked_div(self.len()).unwrap_or(0)
    }

    /// The number at a place, which exists.
    #[inline]
    pub fn at(self, place: usize) -> i64 {
        let bytes = self.0.bytes();
        match self.width() {
            2 => i64::from(i16::from_le_bytes([bytes[2 * place], bytes[2 * place + 1]])),
            4 => {
                let own = &bytes[4 * place..4 * place + 4];
                i64::from(i32::from_le_bytes([own[0], own[1], own[2], own[3]]))
            }
            _ => bytes[8 * place..].first_chunk().map_or(0, |own| i64::from_le_bytes(*own)),
        }
    }

    /// The place of a number, or the place where it would be.
    #[inline]
    pub fn search(self, number: i64) -> Result<usize, usize> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.at(middle) < number {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if low < self.len() && self.at(low) == number { Ok(low) } else { Err(low) }
    }
}

/// Inserts a number where `search` has said.
pub fn insert(packed: &mut PackedMut<'_>, place: usize, number: i64) {
    let numbers = Numbers(packed.view());
    let (count, before) = (numbers.len(), numbers.width());
    let width = before.max(width(number));
    if width > before {
        let wider: Vec<u8> =
            (0..count).flat_map(|place| numbers.at(place).to_le_bytes().into_iter().take(width)).collect();
        packed.set_bytes(&wider, count);
    }
    packed.open(width * place, 0, width, count + 1).copy_from_slice(&number.to_le_bytes()[..width]);
}

pub fn remove(packed: &mut PackedMut<'_>, place: usize) {
    let numbers = Numbers(packed.view());
    let (count, width) = (numbers.len(), numbers.width());
    packed.open(width * place, width, 0, count - 1);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::eviction::random;
    use crate::store::value::packed_mut::memory_after;
    use std::collections::BTreeSet;

    #[test]
    fn numbers_are_those_of_a_tree() {
        let extremes = [i64::MIN, i64::MAX, i64::from(i32::MIN), 1 << 31, -1 << 15, 1 << 15, 0];
        for bits in [8, 20, 40, 63] {
            let (mut memory, mut tree) = (memory_after(b"key".to_vec()), BTreeSet::new());
            for step in 0..3000 {
                let mut packed = PackedMut::of(&mut memory, 3);
                let number = (random() as i64) >> (63 - bits);
                let number = if bits == 63 && step % 9 == 0 { extremes[step / 9 % 7] } else { number };
                match Numbers(packed.view()).search(number) {
                    Ok(place) => {
                        assert!(tree.remove(&number));
                        remove(&mut packed, place);
                    }
                    Err(place) if tree.len() < 300 => {
                        assert!(tree.insert(number));
                        insert(&mut packed, place, number);
                    }
                    Err(_) => {
                        tree.pop_first();
                        remove(&mut packed, 0);
                    }
                }
                let numbers = Numbers(packed.view());
                assert!((0..numbers.len()).map(|place| numbers.at(place)).eq(tree.iter().copied()));
            }
        }
    }
}
