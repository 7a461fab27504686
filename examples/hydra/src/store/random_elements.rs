//! Random elements: SPOP, SRANDMEMBER, HRANDFIELD, ZRANDMEMBER.

use crate::protocol::number;
use crate::protocol::refusal::{self, Refusal};
use crate::protocol::reply::Replies;
use crate::store::Shard;
use crate::store::eviction::random;
use crate::store::value::hash::Hash;
use crate::store::value::set::Set;
use crate::store::value::sorted::SortedSet;
use std::collections::HashMap;

/// How many elements one reply may have if they may repeat: more would take all memory.
const MOST_REPEATED: i64 = 1 << 24;

/// This many places in a collection: all different or, if the count is negative, any places.
fn places(count: i64, length: usize) -> Vec<usize> {
    let any = |below: usize| (random() % below as u64) as usize;
    if length == 0 {
        return Vec::new();
    }
    if count < 0 {
        return (0..count.unsigned_abs()).map(|_| any(length)).collect();
    }
    // The first ones of a shuffle; only what has moved is noted.
    let mut moved = HashMap::new();
    let mut take = |at: usize| {
        let other = at + any(length - at);
        let taken = moved.get(&other).copied().unwrap_or(other);
        moved.insert(other, moved.get(&at).copied().unwrap_or(at));
        taken
    };
    (0..length.min(count as usize)).map(&mut take).collect()
}

/// How many elements, nothing for a single one that is replied alone; and whether to reply with their values, too,
/// which `option` asks for.
fn parse(arguments: &[&[u8]], option: &str) -> Result<Option<(i64, bool)>, Refusal> {
    let Some(count) = arguments.get(1) else { return Ok(None) };
    if option.is_empty() && arguments.len() > 2 {
        return Err(refusal::SYNTAX);
    }
    let count = number::parse(count).ok_or(refusal::NO_INTEGER)?;
    if count == i64::MIN {
        return Err(refusal::out_of_bounds(-i64::MAX, i64::MAX));
    }
    let with_both = match &arguments[2..] {
        [] => false,
        [given] if given.eq_ignore_ascii_case(option.as_bytes()) => true,
        _ => return Err(refusal::SYNTAX),
    };
    // Twice as many can be counted.
    if with_both && count.unsigned_abs() > i64::MAX as u64 / 2 {
        return Err(refusal::OUT_OF_RANGE);
    }
    Ok(Some((count, with_both)))
}

/// The places of so many elements, or of one, in a collection of this length.
fn chosen(count: Option<(i64, bool)>, length: usize) -> Result<Vec<usize>, Refusal> {
    let count = count.map_or(1, |(count, _)| count);
    if count < -MOST_REPEATED && length > 0 { Err(refusal::OUT_OF_RANGE) } else { Ok(places(count, length)) }
}

impl Shard {
    pub fn random_members(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let count = parse(arguments, "")?;
        let set = self.read::<Set>(arguments[0])?;
        let places = chosen(count, set.map_or(0, Set::len))?;
        match (set, count) {
            (None, None) => to.null(),
            (Some(set), None) => to.bulk(&set.at(places[0])),
            (set, Some(_)) => {
                to.array(places.len());
                set.into_iter().for_each(|set| places.iter().for_each(|place| to.bulk(&set.at(*place))));
            }
        }
        Ok(())
    }

    pub fn random_fields(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let count = parse(arguments, "WITHVALUES")?;
        let hash = self.read::<Hash>(arguments[0])?;
        let places = chosen(count, hash.map_or(0, Hash::len))?;
        let Some((_, with_values)) = count else {
            match hash {
                Some(hash) => to.bulk(hash.at(places[0]).0),
                None => to.null(),
            }
            return Ok(());
        };
        if with_values {
            to.pairs(places.len())
        } else {
            to.array(places.len())
        }
        for (field, value) in
            hash.into_iter().flat_map(|hash| places.iter().map(move |place| hash.at(*place)))
        {
            if with_values {
                to.pair();
            }
            to.bulk(field);
            if with_values {
                to.bulk(value);
            }
        }
        Ok(())
    }

    pub fn random_ranked(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let count = parse(arguments, "WITHSCORES")?;
        let set = self.read::<SortedSet>(arguments[0])?;
        let places = chosen(count, set.map_or(0, SortedSet::len))?;
        let Some((_, with_scores)) = count else {
            match set {
                Some(set) => to.bulk(set.at(places[0]).name),
                None => to.null(),
            }
            return Ok(());
        };
        if with_scores {
            to.pairs(places.len())
        } else {
            to.array(places.len())
        }
        for member in set.into_iter().flat_map(|set| places.iter().map(move |place| set.at(*place))) {
            if with_scores {
                to.pair();
            }
            to.bulk(member.name);
            if with_scores {
                to.double(member.score);
            }
        }
        Ok(())
    }

    /// SPOP.
    pub fn pop_members(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let count = match arguments {
            [_] => None,
            [_, count] => {
                Some(number::parse(count).filter(|count| *count >= 0).ok_or(refusal::NOT_POSITIVE)?)
            }
            _ => return Err(refusal::SYNTAX),
        };
        let popped = self.update_existing::<Set, _>(arguments[0], |mut set, _| {
            let view = set.view();
            let places = places(count.unwrap_or(1), view.len());
            let popped: Vec<_> = places.into_iter().map(|place| view.at(place).into_owned()).collect();
            for member in &popped {
                set.remove(member);
            }
            popped
        })?;
        match (popped, count) {
            (None, None) => to.null(),
            (Some(popped), None) => popped.iter().for_each(|member| to.bulk(member)),
            (popped, Some(_)) => {
                let popped = popped.unwrap_or_default();
                to.set(popped.len());
                popped.iter().for_each(|member| to.bulk(member));
            }
        }
        Ok(())
    }
}
