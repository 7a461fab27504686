//! Which requests the commands of one read have sent to which shards, and in which order their replies come.

use crate::protocol::number;
use crate::protocol::reply::Replies;
use crate::store::Shard;
use crate::store::batch::Batch;
use crate::store::operation::Operation;
use gossamer::{Pending, Trust};
use std::cell::RefCell;
use std::time::Duration;

/// How long a request waits, at first and at most, before it asks a shard again that a transaction holds.
const WAITS: [Duration; 2] = [Duration::from_micros(20), Duration::from_millis(1)];

/// A buffer that is larger than this is given back at once.
const MOST_KEPT: usize = 64 * 1024;

/// A piece of the answer.
enum Piece {
    /// This many bytes of `text`.
    Text(usize),
    /// This many replies of a shard.
    Replies(usize, usize),
    /// The sum of integers: one from each of the next `parts`.
    Sum(usize),
    /// OK, or the first error, of as many parts.
    All(usize),
}

/// How many plans a worker keeps that no connection needs.
const MOST_SPARE: usize = 64;

thread_local! {
    /// The plans of this worker; nothing in them is under way.
    static SPARE: RefCell<Vec<Plan>> = const { RefCell::new(Vec::new()) };
}

/// Operations of commands that are under way, by shard.
#[derive(Default)]
pub struct Plan {
    /// The shard of this worker, if it has one.
    here: usize,
    batches: Vec<Batch>,
    /// How many replies of each batch were merged.
    merged: Vec<usize>,
    pieces: Vec<Piece>,
    /// Shards with a part in commands of several keys.
    parts: Vec<usize>,
    /// Replies that no shard has made, or that this worker's own shard has made at once.
    text: Vec<u8>,
    text_merged: usize,
    /// Requests under way.
    sent: Vec<(usize, Pending<Batch>)>,
    /// Where pieces are put together.
    pub output: Vec<u8>,
    pub is_resp3: bool,
    /// The database that commands concern.
    pub database: u16,
    /// The transaction of this connection, or 0.
    pub transaction: u64,
    /// More commands have arrived: they are served together.
    pub has_more: bool,
}

impl Plan {
    /// A plan of this worker that is not in use; `here` is the worker's own shard, if it has one.
    pub fn lent(shards: usize, here: usize) -> Self {
        let new = || Self {
            here,
            batches: (0..shards).map(|_| Batch::default()).collect(),
            merged: vec![0; shards],
            ..Self::default()
        };
        // The client before may have used another version, and another database.
        Self { is_resp3: false, database: 0, ..SPARE.with_borrow_mut(Vec::pop).unwrap_or_else(new) }
    }

    /// Another plan in place of this one, which was given back, for the same client.
    pub fn lend_again(&mut self, shards: usize, here: usize) {
        let (is_resp3, database) = (self.is_resp3, self.database);
        *self = Self { is_resp3, database, ..Self::lent(shards, here) };
    }

    /// Lets other connections use its buffers while this one waits for its client.
    pub fn give_back(&mut self) {
        let (is_resp3, database) = (self.is_resp3, self.database);
        let plan = std::mem::replace(self, Self { is_resp3, database, ..Self::default() });
        SPARE.with_borrow_mut(|spare| {
            if spare.len() < MOST_SPARE {
                spare.push(plan);
            }
        });
    }

    /// A reply that needs no shard.
    #[inline]
    pub fn reply(&mut self) -> Replies<'_> {
        Replies::new(&mut self.text, self.is_resp3)
    }

    /// Bytes of replies that wait to be written.
    #[inline]
    pub fn length(&self) -> usize {
        self.text.len() + self.output.len()
    }

    #[inline]
    fn close_text(&mut self) {
        let length = self.text.len() - self.text_merged;
        if length > 0 {
            self.pieces.push(Piece::Text(length));
            self.text_merged = self.text.len();
        }
    }

    /// Asks one shard for one reply; the worker's own shard replies at once, unless more commands have arrived: a shard
    /// serves many together in less time.
    #[inline]
    pub fn ask(&mut self, shards: &[Trust<Shard>], shard: usize, operation: Operation, arguments: &[&[u8]]) {
        if shard == self.here && !self.has_more && !self.batches[shard].is_pending() {
            let (transaction, database) = (self.transaction, self.database);
            let (text, is_resp3) = (&mut self.text, self.is_resp3);
            let is_served = shards[shard].apply_here(|shard| {
                let is_free = !shard.is_held_by_another(transaction);
                if is_free {
                    shard.select(database);
                    shard.execute(operation, arguments, &mut Replies::new(text, is_resp3));
                }
                is_free
            });
            if is_served {
                return;
            }
        }
        self.close_text();
        self.push(shard, operation, arguments, false);
        match self.pieces.last_mut() {
            Some(Piece::Replies(last, count)) if *last == shard => *count += 1,
            _ => self.pieces.push(Piece::Replies(shard, 1)),
        }
    }

    #[inline]
    fn push(&mut self, shard: usize, operation: Operation, arguments: &[&[u8]], goes_on: bool) {
        self.batches[shard].push(operation, arguments, goes_on);
    }

    /// Asks for a part of the reply to a command with several keys; `finish_sum`, `finish_all` or `finish_each`
    /// follows.
    pub fn ask_part(&mut self, shard: usize, operation: Operation, arguments: &[&[u8]]) {
        self.push(shard, operation, arguments, true);
        self.parts.push(shard);
    }

    /// The sum of the last this many parts.
    pub fn finish_sum(&mut self, count: usize) {
        self.close_text();
        self.pieces.push(Piece::Sum(count));
    }

    pub fn finish_all(&mut self, count: usize) {
        self.close_text();
        self.pieces.push(Piece::All(count));
    }

    /// All of the last this many parts, one after another.
    pub fn finish_each(&mut self, count: usize) {
        self.close_text();
        for shard in self.parts.drain(self.parts.len() - count..) {
            self.pieces.push(Piece::Replies(shard, 1));
        }
    }

    /// Lets all shards serve what they were asked, and puts the replies into `output`: all of them, if the plan belongs
    /// to a transaction, otherwise until there are enough for one write. Returns whether that was all.
    pub fn run(&mut self, shards: &[Trust<Shard>], is_whole: bool) -> bool {
        if self.pieces.is_empty() && self.output.is_empty() {
            // Everything was done at once.
            std::mem::swap(&mut self.text, &mut self.output);
            self.text_merged = 0;
            return true;
        }
        self.close_text();
        let mut wait = WAITS[0];
        loop {
            let is_refused = self.exchange(shards, is_whole);
            if !is_refused {
                let is_done = self.merge();
                if is_done || !is_whole {
                    return is_done;
                }
                continue;
            }
            gossamer::sleep(wait);
            wait = (2 * wait).min(WAITS[1]);
        }
    }

    /// Sends each shard its batch; returns true if another transaction holds one of them.
    fn exchange(&mut self, shards: &[Trust<Shard>], is_whole: bool) -> bool {
        let (mut last, mut others) = (None, 0);
        for (index, batch) in self.batches.iter_mut().enumerate() {
            if batch.is_pending() {
                (batch.transaction, batch.is_resp3, batch.is_whole) =
                    (self.transaction, self.is_resp3, is_whole);
                batch.database = self.database;
                if index != self.here {
                    (last, others) = (Some(index), others + 1);
                }
            }
        }
        let is_here = self.batches.get(self.here).is_some_and(Batch::is_pending);
        let mut is_refused = false;
        match last {
            // It is the only one: waited for in place.
            Some(index) if others == 1 && !is_here => {
                let batch = std::mem::take(&mut self.batches[index]);
                self.batches[index] = shards[index].apply_with(Shard::serve, batch);
                is_refused = self.batches[index].is_refused;
            }
            _ => {
                for (index, batch) in self.batches.iter_mut().enumerate() {
                    if batch.is_pending() && index != self.here {
                        let batch = std::mem::take(batch);
                        self.sent.push((index, shards[index].apply_with_async(Shard::serve, batch)));
                    }
                }
                if is_here {
                    let batch = &mut self.batches[self.here];
                    shards[self.here].apply_here(|shard| shard.serve_here(batch));
                    is_refused = batch.is_refused;
                }
                for (index, pending) in self.sent.drain(..) {
                    self.batches[index] = pending.wait();
                    is_refused |= self.batches[index].is_refused;
                }
            }
        }
        is_refused
    }

    /// Puts pieces into the output whose replies are there; returns whether those are all.
    fn merge(&mut self) -> bool {
        let (mut done, mut parts, mut text) = (0, 0, 0);
        while let Some(piece) = self.pieces.get_mut(done) {
            match piece {
                Piece::Text(length) => {
                    self.output.extend_from_slice(&self.text[text..text + *length]);
                    text += *length;
                }
                Piece::Replies(shard, count) => {
                    let (batch, merged) = (&self.batches[*shard], &mut self.merged[*shard]);
                    let ready = (*count).min(batch.count() - *merged);
                    self.output.extend_from_slice(batch.replies(*merged, ready));
                    *merged += ready;
                    *count -= ready;
                    if *count > 0 {
                        break;
                    }
                }
                Piece::Sum(count) | Piece::All(count) => {
                    let (count, is_sum) = (*count, matches!(piece, Piece::Sum(_)));
                    let shards = &self.parts[parts..parts + count];
                    if !self.are_ready(shards) {
                        break;
                    }
                    self.merge_parts(parts..parts + count, is_sum);
                    parts += count;
                }
            }
            done += 1;
        }
        self.pieces.drain(..done);
        self.parts.drain(..parts);
        self.text.drain(..text);
        self.text_merged = self.text.len();
        for (batch, merged) in self.batches.iter_mut().zip(&mut self.merged) {
            if *merged > 0 && *merged == batch.count() {
                *merged = 0;
                if batch.is_pending() { batch.forget_replies() } else { batch.clear(MOST_KEPT) }
            }
        }
        self.pieces.is_empty()
    }

    /// Whether each of these shards has replied as often as it was asked.
    fn are_ready(&self, shards: &[usize]) -> bool {
        // Pending replies come after the others, so this is rarely more than one look.
        if shards.iter().all(|shard| !self.batches[*shard].is_pending()) {
            return true;
        }
        let mut left: Vec<_> =
            self.batches.iter().zip(&self.merged).map(|(batch, merged)| batch.count() - merged).collect();
        shards.iter().all(|shard| {
            let is_ready = left[*shard] > 0;
            left[*shard] -= usize::from(is_ready);
            is_ready
        })
    }

    fn merge_parts(&mut self, parts: std::ops::Range<usize>, is_sum: bool) {
        let (mut sum, mut error) = (0, None);
        for &shard in &self.parts[parts] {
            let merged = &mut self.merged[shard];
            let reply = self.batches[shard].replies(*merged, 1);
            *merged += 1;
            match reply {
                [b'-', ..] => error = error.or(Some(reply)),
                [b':', number @ .., _, _] => sum += number::parse(number).unwrap_or(0),
                _ => {}
            }
        }
        match error {
            Some(error) => self.output.extend_from_slice(error),
            None if is_sum => Replies::new(&mut self.output, false).integer(sum),
            None => Replies::new(&mut self.output, false).ok(),
        }
    }

    /// Whether nothing is under way.
    pub fn is_done(&self) -> bool {
        self.pieces.is_empty() && self.text.is_empty()
    }

    /// Whether no shard has to reply.
    pub fn is_settled(&self) -> bool {
        self.pieces.is_empty()
    }

    /// To be called after a write: large buffers are given back at once.
    #[inline]
    pub fn is_written(&mut self) {
        self.output.clear();
        if self.output.capacity().max(self.text.capacity()) > MOST_KEPT {
            self.output = Vec::new();
            self.text.shrink_to_fit();
        }
    }
}
