//! When keys expire.

use crate::protocol::number;
use crate::protocol::refusal::{self, Refusal};
use crate::protocol::reply::Replies;
use crate::store::table::Slot;
use crate::store::{Shard, now};
use gossamer::sync::Notify;

/// How many expired keys are removed before others get a turn.
const REMOVED_AT_ONCE: usize = 256;

impl Shard {
    pub fn expire(
        &mut self,
        arguments: &[&[u8]],
        to: &mut Replies<'_>,
        unit: i64,
        is_relative: bool,
        command: &str,
    ) -> Result<(), Refusal> {
        let conditions = Conditions::parse(&arguments[2..])?;
        let time = number::parse(arguments[1]).ok_or(refusal::NO_INTEGER)?;
        let (now, invalid) = (self.now() as i64, || refusal::expire_time(command));
        let at = time.checked_mul(unit).ok_or_else(invalid)?;
        let at = at.checked_add(if is_relative { now } else { 0 }).ok_or_else(invalid)?;
        let slot = self.find(arguments[0]);
        let slot = slot.filter(|slot| conditions.allow(self.database.table.at(*slot).expiry(), at));
        match slot {
            Some(slot) if at <= now => drop(self.remove(slot)),
            Some(slot) => self.change(slot, |entry| entry.set_expiry(Some(at as u64))),
            None => {}
        }
        to.integer(i64::from(slot.is_some()));
        Ok(())
    }

    /// Given in units of this many milliseconds; counted from now, or from 1970.
    pub fn time_to_live(&mut self, key: &[u8], to: &mut Replies<'_>, unit: u64, is_relative: bool) {
        let time = match self.find(key).map(|slot| self.database.table.at(slot).expiry()) {
            None => -2,
            Some(None) => -1,
            Some(Some(at)) => {
                let time = at.saturating_sub(if is_relative { self.now() } else { 0 });
                (time.saturating_add(unit / 2) / unit) as i64
            }
        };
        to.integer(time);
    }

    pub fn persist(&mut self, key: &[u8], to: &mut Replies<'_>) {
        let slot = self.find(key).filter(|slot| self.database.table.at(*slot).expiry().is_some());
        if let Some(slot) = slot {
            self.change(slot, |entry| entry.set_expiry(None));
        }
        to.integer(i64::from(slot.is_some()));
    }

    /// If this key expires before the fiber that removes expired keys would look, wakes that fiber.
    #[inline]
    pub(super) fn note_expiry(&mut self, slot: Slot) {
        if let Some(expiry) = self.database.table.at(slot).expiry()
            && self.remover.looks_at.is_none_or(|next| expiry < next)
        {
            self.remover.looks_at = Some(expiry);
            self.remover.woken.notify_one();
        }
    }

    /// What wakes the fiber that removes expired keys.
    pub fn expiry_notice(&mut self) -> Notify {
        self.remover.woken.clone()
    }

    /// Removes some of the keys that have expired. If more keys expire, returns when to continue, in milliseconds since
    /// 1970.
    pub fn remove_expired(&mut self) -> Option<u64> {
        if self.held_by != 0 {
            // Not before the end of the transaction.
            return Some(now() + 1);
        }
        let (now, mut left, mut next) = (now(), REMOVED_AT_ONCE, None);
        self.in_each_database(|shard| {
            while left > 0
                && let Some(slot) = shard.database.table.due(now)
            {
                shard.counts.expired += 1;
                shard.remove(slot);
                left -= 1;
            }
            next = next.into_iter().chain(shard.database.table.next_expiry()).min();
        });
        self.remover.looks_at = next;
        next
    }
}

/// What a shard knows about the fiber that removes its expired keys.
#[derive(Default)]
pub struct Remover {
    /// When it looks next, in milliseconds since 1970; nothing if it waits until it is woken.
    looks_at: Option<u64>,
    woken: Notify,
}

/// NX, XX, GT and LT.
#[derive(Default)]
struct Conditions {
    if_none: bool,
    if_some: bool,
    if_later: bool,
    if_earlier: bool,
}

impl Conditions {
    fn parse(arguments: &[&[u8]]) -> Result<Self, Refusal> {
        let mut conditions = Self::default();
        for argument in arguments {
            let condition = match argument.to_ascii_uppercase().as_slice() {
                b"NX" => &mut conditions.if_none,
                b"XX" => &mut conditions.if_some,
                b"GT" => &mut conditions.if_later,
                b"LT" => &mut conditions.if_earlier,
                _ => return Err(refusal::quoting("ERR Unsupported option ", argument, "")),
            };
            *condition = true;
        }
        if conditions.if_none && (conditions.if_some || conditions.if_later || conditions.if_earlier) {
            return Err(refusal::CLASHING_CONDITIONS);
        }
        if conditions.if_later && conditions.if_earlier {
            return Err(refusal::CLASHING_BOUNDS);
        }
        Ok(conditions)
    }

    /// A key that does not expire counts as the last to expire.
    fn allow(&self, before: Option<u64>, at: i64) -> bool {
        let before = before.map(|before| before as i64);
        !(self.if_none && before.is_some()
            || self.if_some && before.is_none()
            || self.if_later && before.is_none_or(|before| at <= before)
            || self.if_earlier && before.is_some_and(|before| at >= before))
    }
}
