//! Parts of values: bytes and bits.

use crate::protocol::number;
use crate::protocol::refusal::{self, Refusal};
use crate::protocol::reply::Replies;
use crate::store::Shard;
use crate::store::entry::Entry;

/// The longest that a value may become.
pub const LONGEST_VALUE: usize = 512 << 20;

impl Shard {
    pub fn append(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let (key, more) = (arguments[0], arguments[1]);
        let length = match self.find(key) {
            Some(slot) => {
                let before = self.database.table.at(slot).string()?.len();
                let length = checked(before + more.len())?;
                self.change(slot, |entry| entry.string_of_length(length)[before..].copy_from_slice(more));
                length
            }
            None => {
                self.put(None, key, more, None);
                more.len()
            }
        };
        to.length(length);
        Ok(())
    }

    pub fn get_range(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let first = number::parse(arguments[1]).ok_or(refusal::NO_INTEGER)?;
        let last = number::parse(arguments[2]).ok_or(refusal::NO_INTEGER)?;
        let value = match self.find_to_read(arguments[0]) {
            Some(slot) => self.database.table.at(slot).string()?,
            None => &[],
        };
        if first < 0 && last < 0 && first > last {
            to.bulk(&[]);
            return Ok(());
        }
        let length = value.len() as i64;
        let from_start = |index: i64| if index < 0 { index.saturating_add(length).max(0) } else { index };
        let (first, last) = (from_start(first), from_start(last).min(length - 1));
        to.bulk(if first > last { &[] } else { &value[first as usize..=last as usize] });
        Ok(())
    }

    pub fn set_range(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let (key, part) = (arguments[0], arguments[2]);
        let offset = number::parse(arguments[1]).ok_or(refusal::NO_INTEGER)?;
        let offset = usize::try_from(offset).map_err(|_| refusal::OFFSET)?;
        let slot = self.find(key);
        let length = slot.map_or(Ok(0), |slot| self.database.table.at(slot).string().map(<[u8]>::len))?;
        if part.is_empty() {
            to.length(length);
            return Ok(());
        }
        let end = checked(offset.saturating_add(part.len()))?;
        let write = |entry: &mut Entry| {
            let string = entry.string_of_length(end);
            string[offset..end].copy_from_slice(part);
            string.len()
        };
        let length = match slot {
            Some(slot) => self.change(slot, write),
            None => {
                let mut entry = Entry::new(key, &[], None);
                let length = write(&mut entry);
                self.insert(entry);
                length
            }
        };
        to.length(length);
        Ok(())
    }

    pub fn get_bit(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let (byte, mask) = bit(arguments[1])?;
        let value = match self.find_to_read(arguments[0]) {
            Some(slot) => self.database.table.at(slot).string()?.get(byte).copied(),
            None => None,
        };
        to.integer(i64::from(value.unwrap_or(0) & mask != 0));
        Ok(())
    }

    pub fn set_bit(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let key = arguments[0];
        let (byte, mask) = bit(arguments[1])?;
        let is_one = match arguments[2] {
            b"0" => false,
            b"1" => true,
            _ => return Err(refusal::NO_BIT),
        };
        let write = |entry: &mut Entry| {
            let is_longer = entry.string().is_ok_and(|string| string.len() <= byte);
            let value = &mut entry.string_of_length(byte + 1)[byte];
            let before = *value & mask != 0;
            *value = if is_one { *value | mask } else { *value & !mask };
            (before, is_longer || before != is_one)
        };
        let before = match self.find(key) {
            Some(slot) => {
                self.database.table.at(slot).string()?;
                self.change_if(slot, write)
            }
            None => {
                let mut entry = Entry::new(key, &[], None);
                let (before, _) = write(&mut entry);
                self.insert(entry);
                before
            }
        };
        to.integer(i64::from(before));
        Ok(())
    }
}

fn checked(length: usize) -> Result<usize, Refusal> {
    if length > LONGEST_VALUE { Err(refusal::TOO_LONG) } else { Ok(length) }
}

/// The byte that has a bit, and the place of the bit in it: the first bit is the highest.
fn bit(offset: &[u8]) -> Result<(usize, u8), Refusal> {
    let offset = number::parse(offset).and_then(|offset| usize::try_from(offset).ok());
    let offset = offset.filter(|offset| offset / 8 < LONGEST_VALUE).ok_or(refusal::BIT_OFFSET)?;
    Ok((offset / 8, 0x80 >> (offset % 8)))
}
