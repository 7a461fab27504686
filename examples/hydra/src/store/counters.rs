//! Values that are numbers.

use crate::protocol::extended::Extended;
use crate::protocol::number;
use crate::protocol::refusal::{self, Refusal};
use crate::protocol::reply::Replies;
use crate::store::Shard;

impl Shard {
    pub fn increment(&mut self, key: &[u8], by: i64, to: &mut Replies<'_>) -> Result<(), Refusal> {
        let slot = self.find(key);
        let (before, expiry) = match slot.map(|slot| self.database.table.at(slot)) {
            Some(entry) => (number::parse(entry.string()?).ok_or(refusal::NO_INTEGER)?, entry.expiry()),
            None => (0, None),
        };
        let after = before.checked_add(by).ok_or(refusal::OVERFLOW)?;
        self.put(slot, key, &number::text(after), expiry);
        to.integer(after);
        Ok(())
    }

    pub fn increment_by(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let by = number::parse(arguments[1]).ok_or(refusal::NO_INTEGER)?;
        self.increment(arguments[0], by, to)
    }

    pub fn decrement_by(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let by = number::parse(arguments[1]).ok_or(refusal::NO_INTEGER)?;
        let by = by.checked_neg().ok_or(refusal::DECREMENT_OVERFLOW)?;
        self.increment(arguments[0], by, to)
    }

    pub fn increment_by_float(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let (key, by) = (arguments[0], arguments[1]);
        let slot = self.find(key);
        let (before, expiry) = match slot.map(|slot| self.database.table.at(slot)) {
            Some(entry) => (Extended::parse(entry.string()?).ok_or(refusal::NO_FLOAT)?, entry.expiry()),
            None => (Extended::default(), None),
        };
        let by = Extended::parse(by).ok_or(refusal::NO_FLOAT)?;
        let text = before.plus(&by).ok_or(refusal::NO_FINITE_SUM)?.text();
        self.put(slot, key, text.as_bytes(), expiry);
        to.bulk(text.as_bytes());
        Ok(())
    }
}
