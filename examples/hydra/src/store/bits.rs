//! BITCOUNT and BITPOS.

use crate::protocol::number;
use crate::protocol::refusal::{self, Refusal};
use crate::protocol::reply::Replies;
use crate::store::Shard;
use crate::store::lists::integer;
use std::ops::Range;

/// A range of bits: the bytes that it is in, and which of their bits.
struct Bits<'a> {
    bytes: &'a [u8],
    /// Starting with the highest bit of the first byte.
    bits: Range<usize>,
}

/// Whether the bounds are bits; otherwise they are bytes.
fn unit(text: Option<&&[u8]>) -> Result<bool, Refusal> {
    match text.map(|text| text.to_ascii_lowercase()).as_deref() {
        None | Some(b"byte") => Ok(false),
        Some(b"bit") => Ok(true),
        Some(_) => Err(refusal::SYNTAX),
    }
}

/// As in redis: if both bounds of BITCOUNT count from the end, they are compared before they are limited to the string,
/// unlike those of BITPOS, and before their unit is read.
fn is_reversed(first: i64, last: i64) -> bool {
    first < 0 && last < 0 && first > last
}

impl<'a> Bits<'a> {
    fn new(string: &'a [u8], first: i64, last: i64, in_bits: bool) -> Self {
        let scale = if in_bits { 1 } else { 8 };
        let length = (string.len() * 8 / scale) as i64;
        // A bound before the first one counts as the first one.
        let from_start = |index: i64| if index < 0 { index.saturating_add(length).max(0) } else { index };
        let (start, end) = (from_start(first), from_start(last).min(length - 1) + 1);
        let bits = if start >= end { 0..0 } else { start as usize * scale..end as usize * scale };
        Self { bytes: string, bits }
    }

    /// Each byte, with the bits outside of the range set to those of `outside`; and how many bits come before it.
    fn masked(&self, outside: u8) -> impl DoubleEndedIterator<Item = (u8, usize)> {
        let bytes = self.bits.start / 8..self.bits.end.div_ceil(8);
        let (first, last) = (bytes.start, bytes.end.saturating_sub(1));
        bytes.map(move |at| {
            let mut mask = 0xff_u8;
            if at == first {
                mask &= 0xff >> (self.bits.start % 8);
            }
            if at == last && !self.bits.end.is_multiple_of(8) {
                mask &= !(0xff >> (self.bits.end % 8));
            }
            (self.bytes[at] & mask | outside & !mask, at * 8)
        })
    }

    fn count(&self) -> usize {
        let Some(first) = self.masked(0).next() else { return 0 };
        let last = self.masked(0).next_back().unwrap_or(first);
        let ones = |byte: u8| byte.count_ones() as usize;
        if first.1 == last.1 {
            return ones(first.0);
        }
        let (words, rest) = self.bytes[first.1 / 8 + 1..last.1 / 8].as_chunks();
        let of_words: usize = words.iter().map(|word| u64::from_ne_bytes(*word).count_ones() as usize).sum();
        ones(first.0) + of_words + rest.iter().map(|byte| ones(*byte)).sum::<usize>() + ones(last.0)
    }

    fn position(&self, of_one: bool) -> Option<usize> {
        let skipped = if of_one { 0 } else { 0xff };
        // The bits outside of the range do not keep a word from being passed over: they count as `skipped` anyway.
        let (words, _) = self.bytes[self.bits.start / 8..self.bits.end.div_ceil(8)].as_chunks::<8>();
        let passed = words.iter().take_while(|word| **word == [skipped; 8]).count() * 8;
        let found = self.masked(skipped).skip(passed).find(|(byte, _)| *byte != skipped);
        found.map(|(byte, before)| before + (byte ^ skipped).leading_zeros() as usize)
    }
}

impl Shard {
    pub fn string_to_read(&mut self, key: &[u8]) -> Result<Option<&[u8]>, Refusal> {
        let Some(slot) = self.find_to_read(key) else { return Ok(None) };
        self.database.table.at(slot).string().map(Some)
    }

    pub fn count_bits(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        // As in redis: if there is no such key, nothing more is read.
        let Some(string) = self.string_to_read(arguments[0])? else {
            to.integer(0);
            return Ok(());
        };
        let (first, last, in_bits) = match &arguments[1..] {
            [] => (0, -1, false),
            [first, last] => (integer(first)?, integer(last)?, false),
            [first, last, given] => {
                let (first, last) = (integer(first)?, integer(last)?);
                (first, last, if is_reversed(first, last) { false } else { unit(Some(given))? })
            }
            _ => return Err(refusal::SYNTAX),
        };
        let is_empty = is_reversed(first, last);
        to.length(if is_empty { 0 } else { Bits::new(string, first, last, in_bits).count() });
        Ok(())
    }

    pub fn position_of_bit(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let is_one = match number::parse(arguments[1]).ok_or(refusal::NO_INTEGER)? {
            0 => false,
            1 => true,
            _ => return Err(refusal::BIT_VALUE),
        };
        let Some(string) = self.string_to_read(arguments[0])? else {
            to.integer(if is_one { -1 } else { 0 });
            return Ok(());
        };
        if arguments.len() > 5 {
            return Err(refusal::SYNTAX);
        }
        let first = arguments.get(2).map_or(Ok(0), |first| integer(first))?;
        let in_bits = unit(arguments.get(4))?;
        let last = arguments.get(3).map(|last| integer(last)).transpose()?;
        let bits = Bits::new(string, first, last.unwrap_or(-1), in_bits);
        let position = bits.position(is_one).map(|position| position as i64);
        // Bits after the string count as zeros, unless the client has said where it ends.
        let behind =
            if is_one || last.is_some() || bits.bits.is_empty() { -1 } else { 8 * string.len() as i64 };
        to.integer(position.unwrap_or(behind));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Bits;

    #[test]
    fn words_and_what_is_left_of_them_are_counted_and_searched_like_single_bits() {
        for filling in [0x00, 0xff, 0xa7] {
            let mut bytes = [filling; 37];
            (bytes[5], bytes[29]) = (0x41, 0xbe);
            let is_set = |bit: usize| bytes[bit / 8] & 0x80 >> (bit % 8) != 0;
            for start in 0..bytes.len() * 8 {
                for end in start..=bytes.len() * 8 {
                    let bits = Bits { bytes: &bytes, bits: start..end };
                    assert_eq!(
                        bits.count(),
                        (start..end).filter(|bit| is_set(*bit)).count(),
                        "{start}..{end}"
                    );
                    for of_one in [false, true] {
                        let expected = (start..end).find(|bit| is_set(*bit) == of_one);
                        assert_eq!(bits.position(of_one), expected, "{start}..{end} {of_one}");
                    }
                }
            }
        }
    }
}
