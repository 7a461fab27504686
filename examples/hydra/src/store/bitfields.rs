//! BITFIELD: integers of any width, at any bit of a string.

use crate::protocol::number;
use crate::protocol::refusal::{self, Refusal};
use crate::protocol::reply::Replies;
use crate::store::Shard;
use crate::store::entry::Entry;
use crate::store::lists::integer;
use crate::store::ranges::LONGEST_VALUE;

/// Where an integer is, and its type.
#[derive(Clone, Copy)]
struct Field {
    is_signed: bool,
    /// How many bits it has; at most 63 if it is unsigned.
    width: usize,
    /// Its first bit, which is its highest.
    offset: usize,
}

/// What happens to an integer that does not fit in its field.
#[derive(Clone, Copy)]
enum Overflow {
    /// Its lower bits are kept.
    Wrap,
    /// It becomes the least or the greatest number that fits.
    Saturate,
    /// Nothing is changed.
    Fail,
}

#[derive(Clone, Copy)]
enum Action {
    Get,
    Set(i64, Overflow),
    Increase(i64, Overflow),
}

impl Field {
    fn parse(kind: &[u8], offset: &[u8]) -> Result<Self, Refusal> {
        let (is_signed, width) = match kind {
            [b'i', width @ ..] => (true, width),
            [b'u', width @ ..] => (false, width),
            _ => return Err(refusal::FIELD_TYPE),
        };
        let most = if is_signed { 64 } else { 63 };
        let width = number::parse(width).filter(|width| (1..=most).contains(width));
        let width = width.ok_or(refusal::FIELD_TYPE)?;
        // Counted in fields, or in bits.
        let (offset, unit) = offset.strip_prefix(b"#").map_or((offset, 1), |offset| (offset, width));
        let offset = number::parse(offset).and_then(|offset| offset.checked_mul(unit));
        let offset = offset.and_then(|offset| usize::try_from(offset).ok());
        let offset = offset.filter(|offset| offset / 8 < LONGEST_VALUE).ok_or(refusal::BIT_OFFSET)?;
        Ok(Self { is_signed, width: width as usize, offset })
    }

    /// The least and the greatest number that fit.
    fn bounds(self) -> (i128, i128) {
        if self.is_signed {
            let half = 1 << (self.width - 1);
            (-half, half - 1)
        } else {
            (0, (1 << self.width) - 1)
        }
    }

    /// The number that these bits are.
    fn number_of(self, bits: u64) -> i128 {
        let unsigned = i128::from(bits) & ((1 << self.width) - 1);
        if unsigned > self.bounds().1 { unsigned - (1 << self.width) } else { unsigned }
    }

    /// Bits after the end of the string count as zeros.
    fn read(self, string: &[u8]) -> i128 {
        let bits = (self.offset..self.offset + self.width).fold(0, |bits, at| {
            let byte = string.get(at / 8).copied().unwrap_or(0);
            bits << 1 | u64::from(byte >> (7 - at % 8) & 1)
        });
        self.number_of(bits)
    }

    fn write(self, string: &mut [u8], number: i128) {
        for (distance, at) in (self.offset..self.offset + self.width).rev().enumerate() {
            let mask = 0x80 >> (at % 8);
            let byte = &mut string[at / 8];
            *byte = if number >> distance & 1 == 1 { *byte | mask } else { *byte & !mask };
        }
    }

    /// The number that fits; nothing if the operation is to fail.
    fn fit(self, number: i128, overflow: Overflow) -> Option<i128> {
        let (least, greatest) = self.bounds();
        if (least..=greatest).contains(&number) {
            return Some(number);
        }
        match overflow {
            Overflow::Wrap => Some(self.number_of(number as u64)),
            Overflow::Saturate => Some(number.clamp(least, greatest)),
            Overflow::Fail => None,
        }
    }

    /// Changes the integer of a string; returns what to reply, unless it fails.
    fn apply(self, action: Action, string: &mut [u8]) -> Option<i128> {
        let before = self.read(string);
        match action {
            Action::Get => Some(before),
            Action::Set(number, overflow) => {
                // As in redis, a negative number counts as a large unsigned one.
                let given = if self.is_signed { i128::from(number) } else { i128::from(number as u64) };
                let after = self.fit(given, overflow)?;
                self.write(string, after);
                Some(before)
            }
            Action::Increase(by, overflow) => {
                let after = self.fit(before + i128::from(by), overflow)?;
                self.write(string, after);
                Some(after)
            }
        }
    }
}

fn parse(arguments: &[&[u8]]) -> Result<Vec<(Field, Action)>, Refusal> {
    let (mut parsed, mut overflow, mut rest) = (Vec::new(), Overflow::Wrap, arguments);
    while let [name, behind @ ..] = rest {
        rest = match (name.to_ascii_lowercase().as_slice(), behind) {
            (b"get", [kind, offset, behind @ ..]) => {
                parsed.push((Field::parse(kind, offset)?, Action::Get));
                behind
            }
            (b"set", [kind, offset, number, behind @ ..]) => {
                let field = Field::parse(kind, offset)?;
                parsed.push((field, Action::Set(integer(number)?, overflow)));
                behind
            }
            (b"incrby", [kind, offset, number, behind @ ..]) => {
                let field = Field::parse(kind, offset)?;
                parsed.push((field, Action::Increase(integer(number)?, overflow)));
                behind
            }
            (b"overflow", [how, behind @ ..]) => {
                overflow = match how.to_ascii_lowercase().as_slice() {
                    b"wrap" => Overflow::Wrap,
                    b"sat" => Overflow::Saturate,
                    b"fail" => Overflow::Fail,
                    _ => return Err(refusal::FIELD_OVERFLOW),
                };
                behind
            }
            _ => return Err(refusal::SYNTAX),
        };
    }
    Ok(parsed)
}

fn reply(replied: &[Option<i128>], to: &mut Replies<'_>) {
    to.array(replied.len());
    for number in replied {
        match number {
            // At most 64 bits, with a sign if they are as many.
            Some(number) => to.integer(*number as i64),
            None => to.null(),
        }
    }
}

impl Shard {
    pub fn bit_fields(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let (key, actions) = (arguments[0], parse(&arguments[1..])?);
        let written = actions.iter().filter(|(_, action)| !matches!(action, Action::Get));
        let Some(end) = written.map(|(field, _)| field.offset + field.width).max() else {
            return self.read_fields(key, &actions, to);
        };
        let length = end.div_ceil(8);
        if length > LONGEST_VALUE {
            return Err(refusal::TOO_LONG);
        }
        let write = |entry: &mut Entry| {
            let mut is_changed = entry.string().is_ok_and(|string| string.len() < length);
            let string = entry.string_of_length(length);
            let apply = |(field, action): &(Field, Action)| {
                let before = field.read(string);
                let replied = field.apply(*action, string);
                is_changed |= field.read(string) != before;
                replied
            };
            (actions.iter().map(apply).collect::<Vec<_>>(), is_changed)
        };
        let replied = match self.find(key) {
            Some(slot) => {
                self.database.table.at(slot).string()?;
                self.change_if(slot, write)
            }
            None => {
                let mut entry = Entry::new(key, &[], None);
                let (replied, _) = write(&mut entry);
                self.insert(entry);
                replied
            }
        };
        reply(&replied, to);
        Ok(())
    }

    /// BITFIELD_RO.
    pub fn bit_fields_to_read(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let actions = parse(&arguments[1..])?;
        if actions.iter().any(|(_, action)| !matches!(action, Action::Get)) {
            return Err(refusal::FIELD_READ_ONLY);
        }
        self.read_fields(arguments[0], &actions, to)
    }

    fn read_fields(
        &mut self,
        key: &[u8],
        actions: &[(Field, Action)],
        to: &mut Replies<'_>,
    ) -> Result<(), Refusal> {
        let string = self.string_to_read(key)?.unwrap_or_default();
        let read: Vec<_> = actions.iter().map(|(field, _)| Some(field.read(string))).collect();
        reply(&read, to);
        Ok(())
    }
}
