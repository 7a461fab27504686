//! Values of hashes that are numbers.

use crate::protocol::extended::Extended;
use crate::protocol::number;
use crate::protocol::refusal::{self, Refusal};
use crate::protocol::reply::Replies;
use crate::store::Shard;
use crate::store::lists::integer;
use crate::store::value::hash::Hash;

impl Shard {
    fn field_or<U>(
        &mut self,
        key: &[u8],
        field: &[u8],
        read: impl FnOnce(&[u8]) -> Result<U, Refusal>,
        default: U,
    ) -> Result<U, Refusal> {
        self.read::<Hash>(key)?.and_then(|hash| hash.get(field)).map_or(Ok(default), read)
    }

    pub fn increment_field(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let &[key, field, by] = arguments else { return Err(refusal::SYNTAX) };
        let by = integer(by)?;
        let before =
            self.field_or(key, field, |text| number::parse(text).ok_or(refusal::NO_HASH_INTEGER), 0)?;
        let after = before.checked_add(by).ok_or(refusal::OVERFLOW)?;
        self.update::<Hash, _>(key, |mut hash, encodings| {
            hash.set(field, &number::text(after), encodings);
        })?;
        to.integer(after);
        Ok(())
    }

    pub fn increment_field_by_float(
        &mut self,
        arguments: &[&[u8]],
        to: &mut Replies<'_>,
    ) -> Result<(), Refusal> {
        let &[key, field, by] = arguments else { return Err(refusal::SYNTAX) };
        let by = Extended::parse(by).ok_or(refusal::NO_FLOAT)?;
        if by.is_infinite() {
            return Err(refusal::NO_INFINITE);
        }
        let read = |text: &[u8]| Extended::parse(text).ok_or(refusal::NO_HASH_FLOAT);
        let before = self.field_or(key, field, read, Extended::default())?;
        let text = before.plus(&by).ok_or(refusal::NO_FINITE_SUM)?.text();
        self.update::<Hash, _>(key, |mut hash, encodings| {
            hash.set(field, text.as_bytes(), encodings);
        })?;
        to.bulk(text.as_bytes());
        Ok(())
    }
}
