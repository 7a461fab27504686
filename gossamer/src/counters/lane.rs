//! What the two ends of a lane count.

use crate::counters::Count;
use crate::counters::distribution::BucketCounts;
use crate::counters::trace::{EventKind, Sampling, TraceEvent, TraceRing};
use std::cell::Cell;
use std::sync::Arc;
use std::time::Instant;

/// Classes of batches by their number of requests: class `n` begins at 2^n, and the last one has all larger ones.
pub(crate) const FILLS: usize = 8;

/// One of this many batches of a lane is timed: two looks at the clock among this many round trips.
const TIMED: Sampling = Sampling::one_of(64);

/// Requests of one lane, as counted by their sender.
#[repr(align(128))]
#[derive(Debug, Default)]
pub(crate) struct SentCounters {
    pub(crate) requests: Count,
    /// Batches, by how full they were.
    pub(crate) fills: [Count; FILLS],
    pub(crate) bytes: Count,
    pub(crate) answered: Count,
    /// Of these, the ones that were answered with an error.
    pub(crate) failed: Count,
    pub(crate) answer_bytes: Count,
    pub(crate) large_values: Count,
    pub(crate) large_bytes: Count,
    /// Requests that wait for a slot now.
    pub(crate) backlog: Count,
}

/// Requests of one lane, as counted by their server.
#[repr(align(128))]
#[derive(Debug, Default)]
pub(crate) struct ServedCounters {
    pub(crate) requests: Count,
    pub(crate) failed: Count,
    pub(crate) batches: Count,
    pub(crate) bytes: Count,
    pub(crate) answer_bytes: Count,
}

/// Bytes of a slot with this many words in its body.
#[inline(always)]
fn bytes_of(words: usize) -> u64 {
    (words as u64 + 1) * size_of::<u64>() as u64
}

impl SentCounters {
    #[inline(always)]
    fn note_batch(&self, requests: usize, words: usize) {
        self.requests.add(requests as u64);
        let class = (requests | 1).ilog2() as usize;
        self.fills[class.min(FILLS - 1)].add(1);
        self.bytes.add(bytes_of(words));
    }

    #[inline(always)]
    fn note_answers(&self, requests: usize, words: usize) {
        self.answered.add(requests as u64);
        self.answer_bytes.add(bytes_of(words));
    }

    /// A value is sent apart from its request.
    pub(crate) fn note_large(&self, bytes: usize) {
        self.large_values.add(1);
        self.large_bytes.add(bytes as u64);
    }
}

impl ServedCounters {
    #[inline(always)]
    pub(crate) fn note_batch(&self, requests: usize, words: usize, answer_words: usize) {
        self.requests.add(requests as u64);
        self.batches.add(1);
        self.bytes.add(bytes_of(words));
        self.answer_bytes.add(bytes_of(answer_words));
    }
}

/// What the client of a lane notes: its counters, how long some batches take, and events of some.
#[derive(Debug)]
pub(crate) struct SentNotes {
    pub(crate) counters: Arc<SentCounters>,
    /// Shared by all lanes of the worker with the same route; `None` in tests of lanes alone.
    latency: Option<Arc<BucketCounts>>,
    /// When the timed batch was published.
    published: Cell<Option<Instant>>,
    /// Batches that are timed or recorded.
    looked_at: Sampling,
    /// The worker at the other end, and where events are kept.
    trace: Option<(u32, Arc<TraceRing>)>,
}

impl Default for SentNotes {
    fn default() -> Self {
        Self {
            counters: Arc::default(),
            latency: None,
            published: Cell::default(),
            looked_at: TIMED,
            trace: None,
        }
    }
}

impl SentNotes {
    pub(crate) fn new(latency: Arc<BucketCounts>, trace: Option<(u32, Arc<TraceRing>)>) -> Self {
        let traced = trace.as_ref().map_or(Sampling::NONE, |(_, ring)| ring.sampling);
        Self { latency: Some(latency), looked_at: TIMED.or(traced), trace, ..Self::default() }
    }

    /// A batch of this many requests and words is about to be published under a number.
    #[inline(always)]
    pub(crate) fn note_batch(&self, sequence: u32, requests: usize, words: usize) {
        self.counters.note_batch(requests, words);
        if self.looked_at.picks(sequence) {
            self.start(sequence, requests);
        }
    }

    /// The answers to the batch with this number have arrived, and none was taken yet.
    #[inline(always)]
    pub(crate) fn note_answers(&self, sequence: u32, requests: usize, words: usize) {
        self.counters.note_answers(requests, words);
        if self.looked_at.picks(sequence) {
            self.stop(sequence, requests);
        }
    }

    #[cold]
    fn start(&self, sequence: u32, requests: usize) {
        if TIMED.picks(sequence) {
            self.published.set(Some(Instant::now()));
        }
        self.trace(EventKind::Sent, sequence, requests);
    }

    #[cold]
    fn stop(&self, sequence: u32, requests: usize) {
        let published = if TIMED.picks(sequence) { self.published.take() } else { None };
        if let (Some(latency), Some(published)) = (&self.latency, published) {
            // It wraps after five centuries.
            latency.record(published.elapsed().as_nanos() as u64, requests as u64);
        }
        self.trace(EventKind::Answered, sequence, requests);
    }

    fn trace(&self, kind: EventKind, sequence: u32, requests: usize) {
        let Some((peer, ring)) = self.trace.as_ref().filter(|(_, ring)| ring.sampling.picks(sequence)) else {
            return;
        };
        ring.push(TraceEvent {
            peer: *peer,
            count: requests as u16,
            number: sequence.into(),
            ..TraceEvent::now(kind)
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn batches_are_counted_by_how_full_they_are() {
        let notes = SentNotes::default();
        for (sequence, requests) in [1, 1, 2, 3, 4, 127, 128, 600].into_iter().enumerate() {
            notes.note_batch(sequence as u32, requests, 2 * requests);
        }
        assert_eq!(notes.counters.fills.each_ref().map(Count::get), [2, 2, 1, 0, 0, 0, 1, 2]);
        assert_eq!(notes.counters.requests.get(), 866);
        assert_eq!(notes.counters.bytes.get(), 8 * (8 + 2 * 866));
    }

    #[test]
    fn one_batch_of_many_is_timed_for_each_of_its_requests() {
        let latency = Arc::new(BucketCounts::default());
        let notes = SentNotes::new(Arc::clone(&latency), None);
        for sequence in 1..=64 {
            notes.note_batch(sequence, 3, 3);
            notes.note_answers(sequence, 3, 3);
        }
        let mut buckets = [0; crate::counters::distribution::BUCKETS];
        latency.add_to(&mut buckets);
        assert_eq!(buckets.iter().sum::<u64>(), 3);
    }
}
