//! Operations for one shard that travel as one request, and their replies.

use crate::protocol::reply::Replies;
use crate::store::operation::Operation;
use crate::store::table::FETCHED;
use crate::store::{Shard, now};
use gossamer::NoRef;
use std::ops::Range;

/// Operations with this many arguments, or fewer, need no allocation.
const FEW: usize = 8;
/// A batch that has replied this much is given back, so that its client can take the replies first.
const ENOUGH_REPLIES: usize = 1 << 20;
/// A number of arguments that does not fit in one byte follows this value, in four bytes.
const MANY: u8 = 255;
/// An argument of this length or more has its length in eight bytes, after this value in four: a whole collection that
/// gets another key may be longer than four bytes can tell.
const LONG: usize = if cfg!(test) { 300 } else { u32::MAX as usize };
/// Marks an operation that the same command continues: nothing may come in between.
const GOES_ON: u8 = 0x80;

/// Operations and replies, each stored one after another.
#[derive(NoRef, Default)]
pub struct Batch {
    /// For each operation: its code, the number of its arguments, and their lengths and bytes.
    operations: Vec<u8>,
    /// How many of these bytes were served.
    served: usize,
    replies: Vec<u8>,
    /// Where each reply ends.
    ends: Vec<usize>,
    /// The database that it concerns.
    pub database: u16,
    /// The transaction that it belongs to, or 0.
    pub transaction: u64,
    pub is_resp3: bool,
    /// Whether all of it is to be served, however long the replies are.
    pub is_whole: bool,
    /// Whether another transaction held the shard.
    pub is_refused: bool,
}

impl Batch {
    #[inline]
    pub fn push(&mut self, operation: Operation, arguments: &[&[u8]], goes_on: bool) {
        let length: usize = arguments.iter().map(|argument| 12 + argument.len()).sum();
        self.operations.reserve(6 + length);
        self.operations.push(operation as u8 | if goes_on { GOES_ON } else { 0 });
        if arguments.len() < usize::from(MANY) {
            self.operations.push(arguments.len() as u8);
        } else {
            self.operations.push(MANY);
            self.operations.extend_from_slice(&(arguments.len() as u32).to_le_bytes());
        }
        for argument in arguments {
            self.operations.extend_from_slice(&(argument.len().min(LONG) as u32).to_le_bytes());
            if argument.len() >= LONG {
                self.operations.extend_from_slice(&argument.len().to_le_bytes());
            }
            self.operations.extend_from_slice(argument);
        }
    }

    /// Whether there is something to serve.
    #[inline]
    pub fn is_pending(&self) -> bool {
        self.served < self.operations.len()
    }

    /// How many replies there are.
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// The bytes of this many replies, from one of them on.
    #[inline]
    pub fn replies(&self, from: usize, count: usize) -> &[u8] {
        let end = |index: usize| index.checked_sub(1).map_or(0, |last| self.ends[last]);
        &self.replies[end(from)..end(from + count)]
    }

    pub fn forget_replies(&mut self) {
        self.replies.clear();
        self.ends.clear();
    }

    /// Makes it empty; it keeps its memory, unless that is much.
    pub fn clear(&mut self, most: usize) {
        self.forget_replies();
        self.operations.clear();
        if self.operations.capacity().max(self.replies.capacity()).max(8 * self.ends.capacity()) > most {
            *self = Self::default();
        }
        self.served = 0;
    }

    /// The first arguments of the operations to come: nearly all are keys.
    fn keys(&self) -> impl Iterator<Item = &[u8]> {
        let mut at = self.served;
        std::iter::from_fn(move || {
            let (count, mut next) = self.count_at(at)?;
            let mut first = None;
            for _ in 0..count {
                let argument = self.argument_at(next);
                next = argument.end;
                first = first.or(Some(&self.operations[argument]));
            }
            at = next;
            Some(first.unwrap_or_default())
        })
    }

    #[inline]
    fn number(&self, at: usize) -> usize {
        let bytes = &self.operations[at..at + 4];
        u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize
    }

    /// Where the bytes of the argument are whose length begins at a place.
    #[inline]
    fn argument_at(&self, at: usize) -> Range<usize> {
        match self.number(at) {
            LONG => {
                let length = self.operations[at + 4..].first_chunk().copied().unwrap_or_default();
                at + 12..at + 12 + usize::from_le_bytes(length)
            }
            length => at + 4..at + 4 + length,
        }
    }

    /// How many arguments the operation at a place has, and where they begin.
    #[inline]
    fn count_at(&self, at: usize) -> Option<(usize, usize)> {
        match self.operations.get(at + 1)? {
            &MANY => Some((self.number(at + 2), at + 6)),
            count => Some((usize::from(*count), at + 2)),
        }
    }

    /// The next operation: whether its command continues, its arguments, and where it ends.
    #[inline]
    fn next<'a>(&'a self, few: &mut [&'a [u8]; FEW], many: &mut Vec<&'a [u8]>) -> (u8, usize, usize) {
        let code = self.operations[self.served];
        let (count, mut at) = self.count_at(self.served).unwrap_or_default();
        let mut take = || {
            let argument = self.argument_at(at);
            at = argument.end;
            &self.operations[argument]
        };
        if count <= FEW {
            few[..count].iter_mut().for_each(|argument| *argument = take());
        } else {
            many.extend((0..count).map(|_| take()));
        }
        (code, count, at)
    }
}

impl Shard {
    /// Serves a batch, all of it or until there are enough replies; returns nothing if another transaction holds this
    /// shard.
    pub fn serve(&mut self, mut batch: Batch) -> Batch {
        self.serve_here(&mut batch);
        batch
    }

    pub fn serve_here(&mut self, batch: &mut Batch) {
        batch.is_refused = self.is_held_by_another(batch.transaction);
        if batch.is_refused {
            return;
        }
        self.select(batch.database);
        let (mut replies, mut ends) = (std::mem::take(&mut batch.replies), std::mem::take(&mut batch.ends));
        let mut served = 0;
        while batch.is_pending() {
            if served % FETCHED == 0 {
                self.database.table.fetch(batch.keys());
            }
            served += 1;
            let (mut few, mut many) = ([&[][..]; FEW], Vec::new());
            let (code, count, next) = batch.next(&mut few, &mut many);
            let arguments = if count <= FEW { &few[..count] } else { &many };
            let operation = Operation::decode(code & !GOES_ON);
            self.execute(operation, arguments, &mut Replies::new(&mut replies, batch.is_resp3));
            ends.push(replies.len());
            batch.served = next;
            if replies.len() > ENOUGH_REPLIES && code & GOES_ON == 0 && !batch.is_whole {
                break;
            }
        }
        (batch.replies, batch.ends) = (replies, ends);
    }

    #[inline]
    pub fn is_held_by_another(&self, transaction: u64) -> bool {
        self.held_by != 0 && self.held_by != transaction
    }

    /// Reserves the shard for this transaction, if no other has it; returns whether it is reserved.
    pub fn hold(&mut self, transaction: u64) -> bool {
        let is_free = !self.is_held_by_another(transaction);
        if is_free && self.held_by == 0 {
            (self.held_by, self.held_since) = (transaction, now());
        }
        is_free
    }

    pub fn release(&mut self, transaction: u64) {
        if self.held_by == transaction {
            self.held_by = 0;
            self.give_turns_everywhere();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_any_length_come_back() {
        let lengths = [0, 1, LONG - 1, LONG, LONG + 1, 5 * LONG];
        let bytes: Vec<_> = lengths.iter().map(|length| vec![b'a'; *length]).collect();
        let mut batch = Batch::default();
        for bytes in &bytes {
            batch.push(Operation::Set, &[bytes, b"b"], false);
        }
        assert_eq!(batch.keys().collect::<Vec<_>>(), bytes);
        for bytes in &bytes {
            let (mut few, mut many) = ([&[][..]; FEW], Vec::new());
            let (_, count, next) = batch.next(&mut few, &mut many);
            assert_eq!(few[..count], [bytes, &b"b"[..]]);
            batch.served = next;
        }
        assert!(!batch.is_pending());
    }
}
