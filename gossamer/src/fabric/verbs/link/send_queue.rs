//! The sending side of a queue pair: writes are gathered in a chain and posted by one call. Only some of them are
//! signalled when they are done. What the queue has no room for is refused here, not by the device.

use crate::fabric::verbs::link::source_ring::SourceRing;
use crate::fabric::verbs::link::unconnected::SENDS;
use crate::fabric::verbs::memory::{GatherEntry, RemoteAddress};
use crate::fabric::verbs::queue_pair::QueuePair;
use crate::fabric::verbs::send_chain::{Payload, SendChain, Signal};
use std::collections::VecDeque;
use std::io;

/// Of a full queue, at least one in this many work requests is signalled.
const SIGNALS: u64 = 8;

/// Bytes of the largest write that accompanies another one: a message, a header.
const SMALL: usize = 64;

/// The sending side of one queue pair.
pub(super) struct SendQueue {
    pair: QueuePair,
    /// Work requests that are not posted yet.
    chain: SendChain,
    ring: SourceRing,
    /// Work requests that may be under way.
    depth: u64,
    /// Bytes that go inline.
    inline: usize,
    /// Work requests so far, numbered from one, and the last that is known to be done.
    added: u64,
    done: u64,
    /// The signalled ones that are not done: their numbers, and the position in the ring after each.
    signalled: VecDeque<(u64, u64)>,
    /// The last signalled one, done or not.
    last_signal: (u64, u64),
}

impl SendQueue {
    pub(super) fn new(pair: QueuePair, ring: SourceRing) -> Self {
        let granted = pair.granted();
        // The completion queue has no room for more, even if a device grants more.
        let (depth, inline) = (granted.sends.min(SENDS) as usize, granted.inline as usize);
        Self {
            chain: SendChain::new(depth, 1, inline),
            pair,
            ring,
            depth: depth as u64,
            inline,
            added: 0,
            done: 0,
            signalled: VecDeque::with_capacity(depth),
            last_signal: (0, 0),
        }
    }

    pub(super) fn pair(&self) -> &QueuePair {
        &self.pair
    }

    /// Whether there is room for this many work requests: one writes this many bytes, the others are small.
    pub(super) fn has_room(&self, requests: usize, bytes: usize) -> bool {
        self.added - self.done + requests as u64 <= self.depth
            && self.chain.room() >= requests
            && self.ring.has_room(bytes + requests * SMALL)
    }

    /// Adds a write of bytes, which belong to the caller again at once. Returns its place in the chain. There is room
    /// (`has_room`).
    pub(super) fn write(&mut self, bytes: &[u8], to: RemoteAddress, immediate: Option<u32>) -> Option<usize> {
        let place = self.chain.len();
        if bytes.len() <= self.inline {
            let signal = self.next_signal();
            self.chain.write(Payload::Inline(bytes), to, immediate, signal);
        } else {
            let entry = self.ring.copy(bytes)?;
            let signal = self.next_signal();
            self.chain.write(Payload::Registered(&[entry]), to, immediate, signal);
        }
        Some(place)
    }

    /// Adds a write of registered bytes, which must not change until it is done. There is room (`has_room`).
    pub(super) fn write_registered(&mut self, entry: GatherEntry, to: RemoteAddress) {
        let signal = self.next_signal();
        self.chain.write(Payload::Registered(&[entry]), to, None, signal);
    }

    /// Adds a read into registered bytes. Returns its number, which is reported when it is done. There is room
    /// (`has_room`).
    pub(super) fn read(&mut self, into: GatherEntry, from: RemoteAddress) -> u64 {
        self.added += 1;
        self.last_signal = (self.added, self.ring.position());
        self.signalled.push_back(self.last_signal);
        self.chain.read(&[into], from, Signal { id: self.added, always: true });
        self.added
    }

    /// Makes the remote side hear of a write that was not posted yet.
    pub(super) fn tell(&mut self, place: usize, immediate: u32) {
        self.chain.tell(place, immediate);
    }

    /// The name of the next work request, and whether it is signalled: so that neither the queue nor the ring can fill
    /// up with unsignalled ones.
    fn next_signal(&mut self) -> Signal {
        self.added += 1;
        let (number, position) = self.last_signal;
        let always = self.added - number >= (self.depth / SIGNALS).max(1)
            || self.ring.position() - position >= self.ring.bytes() as u64 / SIGNALS;
        if always {
            self.last_signal = (self.added, self.ring.position());
            self.signalled.push_back(self.last_signal);
        }
        Signal { id: self.added, always }
    }

    /// A work request is done, and so are all before it.
    pub(super) fn complete(&mut self, number: u64) {
        self.done = self.done.max(number);
        while let Some((signalled, position)) = self.signalled.front().copied() {
            if signalled > number {
                return;
            }
            self.ring.give_back(position);
            self.signalled.pop_front();
        }
    }

    /// Whether some may not be done yet. If so, an empty write is added behind them, which is signalled.
    #[cfg(all(test, not(loom)))]
    pub(super) fn fence(&mut self, to: RemoteAddress) -> bool {
        if self.added > self.last_signal.0 && self.has_room(1, 0) {
            self.added += 1;
            self.last_signal = (self.added, self.ring.position());
            self.signalled.push_back(self.last_signal);
            self.chain.write(Payload::Inline(&[]), to, None, Signal { id: self.added, always: true });
        }
        self.added > self.done
    }

    /// Whether something waits to be posted.
    pub(super) fn is_empty(&self) -> bool {
        self.chain.len() == 0
    }

    /// Posts what was added.
    ///
    /// # Errors
    /// The device is gone.
    pub(super) fn post(&mut self) -> io::Result<()> {
        self.pair.post(&mut self.chain)
    }
}
