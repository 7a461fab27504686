//! Work requests gathered to be posted by one call.

use crate::fabric::verbs::abi::types::*;
use crate::fabric::verbs::memory::{GatherEntry, RemoteAddress};
use std::ffi::c_int;
use std::ptr::null_mut;

/// Where the bytes of a write are.
#[derive(Clone, Copy)]
pub(crate) enum Payload<'a> {
    /// Copied now: they belong to the caller again at once.
    Inline(&'a [u8]),
    /// In regions: they must not change until this work request, or a later one, completes.
    Registered(&'a [GatherEntry]),
}

/// How the completion of a work request is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signal {
    /// The name in its completion. A failed work request is always reported.
    pub(crate) id: u64,
    /// Whether it is reported even if it succeeds: then it and all before it in the queue are done.
    pub(crate) always: bool,
}

/// Work requests in the order in which they will be posted. It allocates nothing once it is made.
pub(crate) struct SendChain {
    requests: Box<[ibv_send_wr]>,
    /// `gather` for each request.
    entries: Box<[ibv_sge]>,
    gather: usize,
    /// `inline` for each request.
    copies: Box<[u8]>,
    inline: usize,
    length: usize,
}

// SAFETY: V6: its pointers lead into its own boxes.
unsafe impl Send for SendChain {}

impl SendChain {
    /// A chain of at most `requests` requests, each with at most this many gather entries, or this many inline bytes.
    pub(crate) fn new(requests: usize, gather: usize, inline: usize) -> Self {
        // Inline bytes are an entry, too.
        let gather = gather.max(1);
        Self {
            requests: vec![ibv_send_wr::default(); requests].into(),
            entries: vec![ibv_sge::default(); requests * gather].into(),
            gather,
            copies: vec![0; requests * inline].into(),
            inline,
            length: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// How many more requests it takes.
    pub(crate) fn room(&self) -> usize {
        self.requests.len() - self.length
    }

    /// Adds a write. With an immediate, it takes a receive of the remote side, and is reported there.
    ///
    /// # Panics
    /// If there is no room, or the payload is larger than the chain's requests can be.
    pub(crate) fn write(
        &mut self,
        payload: Payload<'_>,
        to: RemoteAddress,
        immediate: Option<u32>,
        signal: Signal,
    ) {
        let opcode = if immediate.is_some() { IBV_WR_RDMA_WRITE_WITH_IMM } else { IBV_WR_RDMA_WRITE };
        let request = self.add(opcode, payload, to, signal);
        request.__bindgen_anon_1.imm_data = immediate.unwrap_or(0).to_be();
    }

    /// Makes the remote side hear of a write that was added, as if it had been added with the immediate.
    ///
    /// # Panics
    /// If there is no write at this place.
    pub(crate) fn tell(&mut self, place: usize, immediate: u32) {
        assert!(place < self.length, "work request {place} of {}", self.length);
        let request = &mut self.requests[place];
        request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
        request.__bindgen_anon_1.imm_data = immediate.to_be();
    }

    /// Adds a read of the bytes there, which land in regions that were registered for it.
    ///
    /// # Panics
    /// Like `write`.
    pub(crate) fn read(&mut self, into: &[GatherEntry], from: RemoteAddress, signal: Signal) {
        self.add(IBV_WR_RDMA_READ, Payload::Registered(into), from, signal);
    }

    fn add(
        &mut self,
        opcode: u32,
        payload: Payload<'_>,
        remote: RemoteAddress,
        signal: Signal,
    ) -> &mut ibv_send_wr {
        assert!(self.room() > 0, "a chain of {} work requests has room for no more", self.length);
        let (count, is_inline) = match payload {
            Payload::Inline(bytes) => (self.copy(bytes), true),
            Payload::Registered(entries) => (self.gather(entries), false),
        };
        let signaled = if signal.always { IBV_SEND_SIGNALED } else { 0 };
        let inline = if is_inline { IBV_SEND_INLINE } else { 0 };
        let request = &mut self.requests[self.length];
        (request.wr_id, request.opcode, request.num_sge) = (signal.id, opcode, count as c_int);
        request.send_flags = signaled | inline;
        request.wr.rdma =
            ibv_send_wr__bindgen_ty_2__bindgen_ty_1 { remote_addr: remote.address, rkey: remote.key };
        self.length += 1;
        request
    }

    /// Copies the inline bytes of the next request. Returns how many entries it has.
    fn copy(&mut self, bytes: &[u8]) -> usize {
        assert!(bytes.len() <= self.inline, "{} bytes inline, of {} at most", bytes.len(), self.inline);
        self.copies[self.length * self.inline..][..bytes.len()].copy_from_slice(bytes);
        self.entries[self.length * self.gather].length = bytes.len() as u32;
        // Some devices take an entry of 0 bytes for 2 GiB.
        usize::from(!bytes.is_empty())
    }

    /// Notes the entries of the next request. Returns how many there are.
    fn gather(&mut self, entries: &[GatherEntry]) -> usize {
        assert!(entries.len() <= self.gather, "{} gather entries, of {} at most", entries.len(), self.gather);
        let places = &mut self.entries[self.length * self.gather..];
        places.iter_mut().zip(entries).for_each(|(place, entry)| *place = entry.raw());
        entries.len()
    }

    /// Empties it, and returns the first of its work requests, linked to the others; null if there is none. What the
    /// pointer leads to stays until something is added.
    pub(crate) fn take(&mut self) -> *mut ibv_send_wr {
        let count = std::mem::take(&mut self.length);
        if count == 0 {
            return null_mut();
        }
        let (first, entries) = (self.requests.as_mut_ptr(), self.entries.as_mut_ptr());
        for index in 0..count {
            // SAFETY: V6: inside the box, which is borrowed only here.
            let request = unsafe { &mut *first.wrapping_add(index) };
            request.sg_list = entries.wrapping_add(index * self.gather);
            request.next = if index + 1 < count { first.wrapping_add(index + 1) } else { null_mut() };
            if request.send_flags & IBV_SEND_INLINE != 0 {
                // SAFETY: V6: likewise.
                let entry = unsafe { &mut *request.sg_list };
                entry.addr = self.copies.as_ptr().wrapping_add(index * self.inline) as u64;
            }
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TO: RemoteAddress = RemoteAddress { address: 0x1000, key: 9 };

    fn signal(id: u64, always: bool) -> Signal {
        Signal { id, always }
    }

    /// The requests of a chain from `at` on, and the bytes of those that are inline.
    fn linked(mut at: *const ibv_send_wr) -> Vec<(ibv_send_wr, Vec<u8>)> {
        let mut found = Vec::new();
        while !at.is_null() {
            // SAFETY: V6.
            let request = unsafe { *at };
            let mut bytes = Vec::new();
            if request.send_flags & IBV_SEND_INLINE != 0 && request.num_sge == 1 {
                // SAFETY: V6.
                let entry = unsafe { *request.sg_list };
                // SAFETY: V6.
                bytes = unsafe { std::slice::from_raw_parts(entry.addr as *const u8, entry.length as usize) }
                    .to_vec();
            }
            found.push((request, bytes));
            at = request.next;
        }
        found
    }

    #[test]
    fn requests_are_linked_in_order_with_their_bytes() {
        let mut chain = SendChain::new(3, 2, 16);
        let entry = |length| ibv_sge { addr: 0x2000, length, lkey: 4 };
        chain.write(
            Payload::Registered(&[GatherEntry::of(entry(64)), GatherEntry::of(entry(32))]),
            TO,
            None,
            signal(1, false),
        );
        let mut header = [7; 8];
        chain.write(
            Payload::Inline(&header),
            RemoteAddress { address: 0x1040, ..TO },
            None,
            signal(2, false),
        );
        header.fill(0);
        chain.write(Payload::Inline(&[]), TO, Some(0x0102_0304), signal(3, true));
        assert_eq!((chain.len(), chain.room()), (3, 0));
        let requests = linked(chain.take());
        let described = requests.iter().map(|(request, bytes)| {
            // SAFETY: each is a write.
            let rdma = unsafe { request.wr.rdma };
            (
                request.wr_id,
                request.opcode,
                request.send_flags,
                request.num_sge,
                rdma.remote_addr,
                bytes.len(),
            )
        });
        let expected = [
            (1, IBV_WR_RDMA_WRITE, 0, 2, 0x1000, 0),
            (2, IBV_WR_RDMA_WRITE, IBV_SEND_INLINE, 1, 0x1040, 8),
            (3, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_SEND_INLINE | IBV_SEND_SIGNALED, 0, 0x1000, 0),
        ];
        assert_eq!(described.collect::<Vec<_>>(), expected);
        assert_eq!(requests[1].1, [7; 8], "copied when it was added");
        // SAFETY: any bytes are a valid number.
        assert_eq!(unsafe { requests[2].0.__bindgen_anon_1.imm_data }.to_ne_bytes(), [1, 2, 3, 4]);
    }

    #[test]
    fn a_chain_begins_anew_when_it_was_taken() {
        let mut chain = SendChain::new(2, 1, 8);
        assert!(chain.take().is_null());
        for round in 0..3 {
            chain.read(
                &[GatherEntry::of(ibv_sge { addr: 0x2000, length: 8, lkey: 4 })],
                TO,
                signal(round, true),
            );
            let requests = linked(chain.take());
            assert_eq!(requests.len(), 1);
            assert_eq!((requests[0].0.wr_id, requests[0].0.opcode), (round, IBV_WR_RDMA_READ));
        }
    }

    #[test]
    fn more_than_a_chain_was_made_for_is_a_mistake_of_its_user() {
        use std::panic::{AssertUnwindSafe, catch_unwind};
        let mut chain = SendChain::new(1, 1, 8);
        let mut write = |bytes: &[u8]| {
            catch_unwind(AssertUnwindSafe(|| chain.write(Payload::Inline(bytes), TO, None, signal(0, true))))
        };
        assert!(write(&[0; 9]).is_err(), "too long");
        assert!(write(&[0; 8]).is_ok());
        assert!(write(&[0; 8]).is_err(), "full");
    }
}
