//! Pops by clients that may wait, and by LMPOP and ZMPOP: from the first of several keys that has something.

use crate::protocol::number;
use crate::protocol::refusal::{Refusal, WRONG_TYPE};
use crate::protocol::reply::Replies;
use crate::store::Shard;
use crate::store::value::Kind;
use crate::store::value::list::{End, List};
use crate::store::value::sorted::SortedSet;

/// The end to pop from.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(u8)]
pub enum From {
    Left,
    Right,
    Lowest,
    Highest,
}

impl From {
    fn decode(code: u8) -> Self {
        [Self::Left, Self::Right, Self::Lowest, Self::Highest][usize::from(code) % 4]
    }

    pub fn kind(self) -> Kind {
        match self {
            Self::Left | Self::Right => Kind::List,
            Self::Lowest | Self::Highest => Kind::SortedSet,
        }
    }
}

impl Shard {
    /// Pops from a key for a client, unless others have waited longer for it. The arguments are the client's number, or
    /// 0 if it does not wait for its turn; the end to pop from; and how many elements to pop, or none for a single one
    /// that is replied alone. Replies with the key and what was popped, or with nothing. A wrong type is told even to a
    /// client whose turn it is not: for others who wait, the key is not there.
    pub fn pop_for(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let &[key, waiter, from, count] = arguments else { return Ok(()) };
        let from = From::decode(from.first().copied().unwrap_or(0));
        let waiter = number::parse(waiter).unwrap_or(0) as u64;
        if waiter != 0 && !self.database.waiting.is_turn(key, from.kind(), waiter) {
            let kind = self.find(key).map(|slot| self.database.table.at(slot).kind());
            return if kind.is_some_and(|kind| kind != from.kind()) { Err(WRONG_TYPE) } else { Ok(()) };
        }
        let count = number::parse(count).map(|count| count as usize);
        match from {
            From::Left | From::Right => {
                let end = if from == From::Left { End::Left } else { End::Right };
                let popped = self.update_existing::<List, _>(key, |mut list, _| {
                    (0..count.unwrap_or(1)).map_while(|_| list.pop(end)).collect::<Vec<_>>()
                })?;
                let Some(popped) = popped else { return Ok(()) };
                to.array(2);
                to.bulk(key);
                if count.is_some() {
                    to.array(popped.len());
                }
                popped.iter().for_each(|element| to.bulk(element));
            }
            From::Lowest | From::Highest => {
                let popped = self.update_existing::<SortedSet, _>(key, |mut set, _| {
                    set.pop(count.unwrap_or(1), from == From::Highest)
                })?;
                let Some(popped) = popped else { return Ok(()) };
                to.array(if count.is_some() { 2 } else { 3 });
                to.bulk(key);
                if count.is_some() {
                    to.array(popped.len());
                }
                for (name, score) in popped {
                    if count.is_some() {
                        to.array(2);
                    }
                    to.bulk(&name);
                    to.double(score);
                }
            }
        }
        Ok(())
    }
}
