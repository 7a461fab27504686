//! What happens when memory runs out: some keys are sampled, and the least valuable of them is removed.

use crate::protocol::refusal::{self, Refusal};
use crate::protocol::reply::Replies;
use crate::store::table::Slot;
use crate::store::value::Encodings;
use crate::store::{Shard, now};
use gossamer::NoRef;
use std::cell::Cell;

/// How many keys are compared for each that is removed, unless `maxmemory-samples` says otherwise.
pub const SAMPLES: usize = 5;
/// After this many minutes, a counter of uses is lower by one.
const DECAY_MINUTES: u32 = 1;
/// The larger this is, the more uses a counter stands for.
const LOGARITHM_FACTOR: f64 = 10.0;
/// The counter of a new key.
const FIRST_COUNTER: u32 = 5;

/// `maxmemory-policy`.
#[derive(NoRef, Clone, Copy, Debug, Default, PartialEq)]
pub struct Policy {
    pub order: Option<Order>,
    /// Whether only keys that expire are removed.
    pub is_volatile: bool,
}

/// Which key is the least valuable.
#[derive(NoRef, Clone, Copy, Debug, PartialEq)]
pub enum Order {
    /// The one that was not used for longest.
    Age,
    /// The one that was used least often.
    Frequency,
    Random,
    /// The one that expires first.
    Expiry,
}

impl Policy {
    const NAMES: [(&'static str, Option<Order>, bool); 8] = [
        ("noeviction", None, false),
        ("allkeys-lru", Some(Order::Age), false),
        ("allkeys-lfu", Some(Order::Frequency), false),
        ("allkeys-random", Some(Order::Random), false),
        ("volatile-lru", Some(Order::Age), true),
        ("volatile-lfu", Some(Order::Frequency), true),
        ("volatile-random", Some(Order::Random), true),
        ("volatile-ttl", Some(Order::Expiry), true),
    ];

    pub fn named(name: &str) -> Option<Self> {
        let (_, order, is_volatile) =
            Self::NAMES.into_iter().find(|(other, ..)| other.eq_ignore_ascii_case(name))?;
        Some(Self { order, is_volatile })
    }

    pub fn name(self) -> &'static str {
        let is_it =
            |(_, order, is_volatile): &(_, _, _)| (*order, *is_volatile) == (self.order, self.is_volatile);
        Self::NAMES.into_iter().find(is_it).map_or("noeviction", |(name, ..)| name)
    }
}

/// How much memory a shard may take, and what is removed when it takes more.
#[derive(NoRef, Clone, Default)]
pub struct Eviction {
    /// Bytes of this shard; 0 for no limit.
    pub limit: usize,
    pub policy: Policy,
    pub samples: usize,
}

impl Shard {
    pub fn set_up(&mut self, (eviction, encodings): (Eviction, Encodings)) {
        (self.eviction, self.encodings) = (eviction, encodings);
    }

    /// Removes keys until there is memory; returns false if that does not help.
    #[cold]
    pub fn make_room(&mut self) -> bool {
        while self.memory() > self.eviction.limit {
            if !self.eviction.policy.order.is_some_and(|order| self.evict(order)) {
                return false;
            }
        }
        true
    }

    /// Removes the least valuable key, from whichever database; returns false if there is none.
    fn evict(&mut self, order: Order) -> bool {
        let (selected, mut least) = (self.selected, None::<(u64, u16, Slot)>);
        self.in_each_database(|shard| {
            if let Some((worth, slot)) = shard.worth_least(order)
                && least.is_none_or(|(other, ..)| worth < other)
            {
                least = Some((worth, shard.selected, slot));
            }
        });
        let Some((_, database, slot)) = least else { return false };
        self.select(database);
        self.counts.evicted += 1;
        self.remove(slot);
        self.select(selected);
        true
    }

    /// Whether a command that takes memory would be executed now.
    pub fn has_room(&mut self, to: &mut Replies<'_>) {
        let has_room = self.eviction.limit == 0 || self.make_room();
        to.integer(i64::from(has_room));
    }

    /// Seconds since a key was used, as far as that was noted.
    pub fn idle_time_of(&mut self, key: &[u8], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let usage = self.find(key).map(|slot| self.database.table.at(slot).usage());
        if usage.is_some() && self.eviction.policy.order == Some(Order::Frequency) {
            return Err(refusal::NO_IDLE_TIME);
        }
        match usage {
            None => to.null(),
            Some(0) => to.integer(0),
            Some(usage) => to.integer(i64::from(seconds().wrapping_sub(usage) & 0xff_ffff)),
        }
        Ok(())
    }

    /// The counter of uses of a key.
    pub fn frequency_of(&mut self, key: &[u8], to: &mut Replies<'_>) -> Result<(), Refusal> {
        let usage = self.find(key).map(|slot| self.database.table.at(slot).usage());
        if usage.is_some() && self.eviction.policy.order != Some(Order::Frequency) {
            return Err(refusal::NO_FREQUENCY);
        }
        match usage {
            None => to.null(),
            Some(usage) => to.integer(i64::from(counter(usage))),
        }
        Ok(())
    }

    /// The candidate of this database, and its value compared with those of others.
    fn worth_least(&mut self, order: Order) -> Option<(u64, Slot)> {
        if order == Order::Expiry {
            // They are in this order already.
            let slot = self.database.table.due(u64::MAX)?;
            return Some((self.database.table.at(slot).expiry().unwrap_or(u64::MAX), slot));
        }
        let is_volatile = self.eviction.policy.is_volatile;
        let any = || {
            if is_volatile {
                self.database.table.any_expiring(random())
            } else {
                self.database.table.any(random())
            }
        };
        let count = if order == Order::Random { 1 } else { self.eviction.samples.max(1) };
        let samples = (0..count).map_while(|_| any());
        let length = self.database.table.length().max(1) as u64;
        let worth = |slot: Slot| {
            let entry = self.database.table.at(slot);
            match order {
                Order::Age => u64::MAX - u64::from(seconds().wrapping_sub(entry.usage()) & 0xff_ffff),
                Order::Frequency => u64::from(counter(entry.usage())),
                // The more keys a database has, the more likely it is that one of them is removed.
                Order::Random | Order::Expiry => random() / length,
            }
        };
        samples.map(|slot| (worth(slot), slot)).min_by_key(|(worth, _)| *worth)
    }

    /// Notes that a key was used, if the policy needs that.
    #[inline]
    pub fn note_use(&mut self, slot: Slot) {
        if self.eviction.limit != 0 {
            self.note_use_for_policy(slot);
        }
    }

    #[cold]
    fn note_use_for_policy(&mut self, slot: Slot) {
        let usage = match self.eviction.policy.order {
            Some(Order::Age) => seconds(),
            Some(Order::Frequency) => {
                let before = self.database.table.at(slot).usage();
                let counter = if before == 0 { FIRST_COUNTER } else { counter(before) };
                minutes() << 8 | raised(counter)
            }
            _ => return,
        };
        self.database.table.set_usage(slot, usage);
    }
}

fn seconds() -> u32 {
    (now() / 1000) as u32 & 0xff_ffff
}

fn minutes() -> u32 {
    (now() / 60_000) as u32 & 0xffff
}

/// The counter of uses, less what time has taken from it.
fn counter(usage: u32) -> u32 {
    let idle = minutes().wrapping_sub(usage >> 8) & 0xffff;
    (usage & 0xff).saturating_sub(idle / DECAY_MINUTES)
}

/// The counter after one more use: the higher it is, the less likely it is raised.
fn raised(counter: u32) -> u32 {
    let above = counter.saturating_sub(FIRST_COUNTER);
    let chance = 1.0 / (f64::from(above) * LOGARITHM_FACTOR + 1.0);
    let is_raised = (random() >> 11) as f64 / (1_u64 << 53) as f64 <= chance;
    (counter + u32::from(is_raised)).min(255)
}

/// A random number that is good enough for samples (splitmix64).
pub fn random() -> u64 {
    thread_local! {
        static STATE: Cell<u64> = const { Cell::new(0) };
    }
    let state = STATE.get();
    let state = if state == 0 { now() ^ STATE.with(|cell| cell.as_ptr().addr() as u64) } else { state };
    let state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    STATE.set(state);
    let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}
