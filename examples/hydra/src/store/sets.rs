//! Sets.

use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Replies;
use crate::store::Shard;
use crate::store::value::set::Set;

impl Shard {
    pub fn add_members(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let members = &arguments[1..];
        let added = self.update::<Set, _>(arguments[0], |mut set, encodings| {
            members.iter().filter(|member| set.insert(member, encodings)).count()
        })?;
        to.length(added);
        Ok(())
    }

    pub fn remove_members(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let members = &arguments[1..];
        let removed = self.update_existing::<Set, _>(arguments[0], |mut set, _| {
            members.iter().filter(|member| set.remove(member)).count()
        })?;
        to.length(removed.unwrap_or(0));
        Ok(())
    }

    pub fn set_length(&mut self, key: &[u8], to: &mut Replies<'_>) -> Result<(), Refusal> {
        to.length(self.read::<Set>(key)?.map_or(0, Set::len));
        Ok(())
    }

    pub fn is_member(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let is_member = self.read::<Set>(arguments[0])?.is_some_and(|set| set.contains(arguments[1]));
        to.integer(i64::from(is_member));
        Ok(())
    }

    pub fn are_members(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let set = self.read::<Set>(arguments[0])?;
        to.array(arguments.len() - 1);
        for member in &arguments[1..] {
            to.integer(i64::from(set.is_some_and(|set| set.contains(member))));
        }
        Ok(())
    }

    pub fn members(&mut self, key: &[u8], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let set = self.read::<Set>(key)?;
        to.set(set.map_or(0, Set::len));
        set.into_iter().flat_map(Set::iter).for_each(|member| to.bulk(&member));
        Ok(())
    }
}
