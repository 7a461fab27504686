//! Hashes: their fields and values.

use crate::protocol::refusal::{self, Refusal};
use crate::protocol::reply::Replies;
use crate::store::Shard;
use crate::store::value::hash::Hash;

/// What HGETALL and the like reply for each field.
#[derive(Clone, Copy, PartialEq)]
pub enum Parts {
    Fields,
    Values,
    Both,
}

impl Shard {
    /// HSET, and HMSET, which has another reply.
    pub fn set_fields(
        &mut self,
        arguments: &[&[u8]],
        to: &mut Replies<'_>,
        command: &str,
    ) -> Result<(), Refusal> {
        let pairs = &arguments[1..];
        if !pairs.len().is_multiple_of(2) {
            return Err(refusal::arity(command));
        }
        let mut added = 0;
        self.update::<Hash, _>(arguments[0], |mut hash, encodings| {
            added = pairs.chunks_exact(2).filter(|pair| hash.set(pair[0], pair[1], encodings)).count();
        })?;
        if command == "hset" {
            to.length(added)
        } else {
            to.ok()
        }
        Ok(())
    }

    pub fn set_field_if_absent(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let &[key, field, value] = arguments else { return Err(refusal::SYNTAX) };
        let is_absent = self.read::<Hash>(key)?.is_none_or(|hash| hash.get(field).is_none());
        if is_absent {
            self.update::<Hash, _>(key, |mut hash, encodings| {
                hash.set(field, value, encodings);
            })?;
        }
        to.integer(i64::from(is_absent));
        Ok(())
    }

    pub fn get_field(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        match self.read::<Hash>(arguments[0])?.and_then(|hash| hash.get(arguments[1])) {
            Some(value) => to.bulk(value),
            None => to.null(),
        }
        Ok(())
    }

    pub fn get_fields(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let (hash, fields) = (self.read::<Hash>(arguments[0])?, &arguments[1..]);
        to.array(fields.len());
        for field in fields {
            match hash.and_then(|hash| hash.get(field)) {
                Some(value) => to.bulk(value),
                None => to.null(),
            }
        }
        Ok(())
    }

    pub fn remove_fields(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let fields = &arguments[1..];
        let removed = self.update_existing::<Hash, _>(arguments[0], |mut hash, _| {
            fields.iter().filter(|field| hash.remove(field)).count()
        })?;
        to.length(removed.unwrap_or(0));
        Ok(())
    }

    pub fn hash_length(&mut self, key: &[u8], to: &mut Replies<'_>) -> Result<(), Refusal> {
        to.length(self.read::<Hash>(key)?.map_or(0, Hash::len));
        Ok(())
    }

    pub fn field_length(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let value = self.read::<Hash>(arguments[0])?.and_then(|hash| hash.get(arguments[1]));
        to.length(value.map_or(0, <[u8]>::len));
        Ok(())
    }

    pub fn has_field(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let value = self.read::<Hash>(arguments[0])?.and_then(|hash| hash.get(arguments[1]));
        to.integer(i64::from(value.is_some()));
        Ok(())
    }

    pub fn all_fields(&mut self, key: &[u8], to: &mut Replies<'_>, parts: Parts) -> Result<(), Refusal> {
        let hash = self.read::<Hash>(key)?;
        let length = hash.map_or(0, Hash::len);
        if parts == Parts::Both {
            to.map(length)
        } else {
            to.array(length)
        }
        for (field, value) in hash.into_iter().flat_map(Hash::iter) {
            if parts != Parts::Values {
                to.bulk(field);
            }
            if parts != Parts::Fields {
                to.bulk(value);
            }
        }
        Ok(())
    }
}
