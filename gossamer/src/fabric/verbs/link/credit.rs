//! Credit between the two ends of a queue pair: each write with an immediate takes a receive that the reader has posted.
//!
//! A side has at most as many writes of that kind under way as the other side has posted receives. Each message of the
//! other side tells how many it has posted again. The last credit is kept for a message that tells only that, so that
//! neither side waits for ever (`README.md`).

use crate::fabric::verbs::link::message::MailboxMessage;
use crate::fabric::verbs::link::received::RECEIVES;
use crate::wire::refusal::Malformed;
use std::cell::Cell;

/// Receives that were posted again before the other side is told, if there is nothing else to tell.
const UNTOLD: u32 = RECEIVES / 2;

/// The credit of one end, and what it grants the other. All counts wrap.
#[derive(Default)]
pub(super) struct Credit {
    /// Writes with an immediate, and how many of their receives were posted again.
    spent: Cell<u32>,
    confirmed: Cell<u32>,
    /// Receives that writes have taken and that were not posted again.
    taken: Cell<u32>,
    /// Receives that were posted again, and how many of them the other side knows of.
    posted: Cell<u32>,
    told: Cell<u32>,
}

impl Credit {
    /// Writes with an immediate that the other side can take.
    fn left(&self) -> u32 {
        RECEIVES - self.spent.get().wrapping_sub(self.confirmed.get())
    }

    /// Whether there is credit besides that for a message about credit.
    #[inline]
    pub(super) fn is_there(&self) -> bool {
        self.left() > 1
    }

    /// Whether there is credit for a message about credit.
    pub(super) fn is_there_to_tell(&self) -> bool {
        self.left() > 0
    }

    /// A write with an immediate goes out.
    pub(super) fn spend(&self) {
        self.spent.set(self.spent.get().wrapping_add(1));
    }

    /// The other side has said how many receives it has posted again.
    ///
    /// # Errors
    /// It cannot have posted so many.
    pub(super) fn confirm(&self, posted: u32) -> Result<(), Malformed> {
        let under_way = self.spent.get().wrapping_sub(posted);
        if under_way > self.spent.get().wrapping_sub(self.confirmed.get()) {
            return Err(Malformed::instead_of::<MailboxMessage>());
        }
        self.confirmed.set(posted);
        Ok(())
    }

    /// A write has taken a receive.
    pub(super) fn take(&self) {
        self.taken.set(self.taken.get() + 1);
    }

    /// How many receives to post again: they count as posted.
    pub(super) fn post_again(&self) -> u32 {
        let count = self.taken.take();
        self.posted.set(self.posted.get().wrapping_add(count));
        count
    }

    /// Whether the other side may wait to hear of receives that were posted again.
    pub(super) fn has_to_tell(&self) -> bool {
        self.posted.get().wrapping_sub(self.told.get()) >= UNTOLD
    }

    /// The number to tell the other side.
    pub(super) fn tell(&self) -> u32 {
        self.told.set(self.posted.get());
        self.posted.get()
    }
}
