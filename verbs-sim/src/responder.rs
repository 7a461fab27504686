//! The receiving side of a queue pair: requests of the peer are checked, landed and answered.

use crate::completion_queues::Retires;
use crate::events::Subject;
use crate::landing::Landing;
use crate::memory::{Span, load};
use crate::packet::{Body, FRAGMENT_BYTES, Packet, Write};
use crate::queue_pairs::{PSN_MASK, QueuePair};
use crate::state::State;
use crate::types::*;
use libc::{EINVAL, EIO, ENOMEM, c_int};
use std::collections::VecDeque;

#[derive(Default)]
pub(crate) struct Responder {
    /// Receives that were posted, and those that have left room for others.
    posted: u64,
    pub retired: u64,
    /// Those without a completion: number and name.
    receives: VecDeque<(u64, u64)>,
    /// Requests that were not handled yet.
    arrivals: VecDeque<Packet>,
    /// The fragment of a WRITE that lands.
    current: Option<Current>,
    /// The number of the next packet, and how many there were before it.
    expected: u32,
    executed: u64,
    /// How far the message that lands has come: of which attempt, to which offset.
    progress: Option<(u32, u32)>,
    is_established: bool,
}

struct Current {
    request: Packet,
    /// Its bytes are in `landing`.
    write: Write,
    is_last: bool,
    landing: Landing,
}

/// What the number of a packet means.
#[derive(PartialEq)]
enum Place {
    Next,
    /// The requester did not get the answer.
    Again,
    Foreign,
}

impl Responder {
    pub(crate) fn expect(&mut self, psn: u32) {
        (self.expected, self.executed) = (psn, 0);
    }

    pub(crate) fn push_arrival(&mut self, packet: Packet) {
        self.arrivals.push_back(packet);
    }

    pub(crate) fn take_arrivals(&mut self) -> Vec<Packet> {
        self.progress = None;
        self.current
            .take()
            .map(|current| current.request)
            .into_iter()
            .chain(self.arrivals.drain(..))
            .collect()
    }

    pub(crate) fn take_receives(&mut self) -> Vec<(u64, u64)> {
        self.receives.drain(..).collect()
    }

    fn place(&self, psn: u32) -> Place {
        let behind = u64::from(self.expected.wrapping_sub(psn) & PSN_MASK);
        match behind {
            0 => Place::Next,
            _ if behind <= self.executed.min(1 << 23) => Place::Again,
            _ => Place::Foreign,
        }
    }

    fn advance(&mut self, packets: u32) {
        self.expected = (self.expected + packets) & PSN_MASK;
        self.executed += u64::from(packets);
        self.progress = None;
    }
}

impl QueuePair {
    /// Whether a request comes from the peer of this queue pair.
    fn accepts(&self, packet: &Packet) -> bool {
        let is_path = packet.to_address == self.own_address && packet.from_address == self.peer_address;
        self.is_connected() && is_path
    }
}

impl State {
    pub(crate) fn post_receive(&mut self, handle: u32, wr: &ibv_recv_wr) -> Result<(), c_int> {
        let pair = self.pairs.get_mut(&handle).ok_or(EINVAL)?;
        if self.devices[pair.device].is_fatal {
            return Err(EIO);
        }
        let elements = u32::try_from(wr.num_sge).map_err(|_| EINVAL)?;
        if pair.state == IBV_QPS_RESET || elements > pair.capacity.max_recv_sge {
            return Err(EINVAL);
        }
        let responder = &mut pair.responder;
        if responder.posted - responder.retired >= u64::from(pair.capacity.max_recv_wr) {
            return Err(ENOMEM);
        }
        responder.posted += 1;
        let index = responder.posted;
        if pair.state == IBV_QPS_ERR {
            let queue = pair.receive_queue;
            self.flush(handle, queue, wr.wr_id, Retires::Receive(index));
        } else {
            responder.receives.push_back((index, wr.wr_id));
        }
        Ok(())
    }

    /// Does one step for the requests of the peer, if there is one to do.
    pub(crate) fn respond(&mut self, handle: u32) -> bool {
        let Some(pair) = self.pairs.get_mut(&handle) else { return false };
        if let Some(current) = pair.responder.current.take() {
            self.land(handle, current);
            return true;
        }
        let Some(mut packet) = pair.responder.arrivals.pop_front() else { return false };
        let port = pair.attributes.port_num;
        let is_silent = !pair.accepts(&packet) || !self.is_port_active(handle, port);
        if is_silent {
            self.drop_request(&packet);
            return true;
        }
        self.tell_of_first_packet(handle);
        let Some(pair) = self.pairs.get(&handle) else { return true };
        let place = pair.responder.place(packet.psn);
        match std::mem::replace(&mut packet.body, Body::Lost) {
            _ if place == Place::Foreign => self.drop_request(&packet),
            Body::Read { address, key, length } => {
                self.read(handle, &packet, place, Span { address, key, length: length.into() })
            }
            Body::Write(write) if place == Place::Again && write.is_last() => {
                self.route(packet.answer(Body::Acknowledge));
            }
            Body::Write(_) if place == Place::Again => {}
            Body::Write(write) => self.write(handle, packet, write),
            _ => {}
        }
        true
    }

    /// Leaves a request without an answer.
    pub(crate) fn drop_request(&mut self, packet: &Packet) {
        self.counters.dropped += 1;
        self.route(packet.answer(Body::Lost));
    }

    /// A queue pair that only receives as yet is informed that its peer sends.
    fn tell_of_first_packet(&mut self, handle: u32) {
        let Some(pair) = self.pairs.get_mut(&handle) else { return };
        let was_established = std::mem::replace(&mut pair.responder.is_established, true);
        if pair.state == IBV_QPS_RTR && !was_established {
            let (context, subject) = (pair.context, Subject::Pair { handle, address: pair.address });
            self.tell(context, IBV_EVENT_COMM_EST, subject);
        }
    }

    fn write(&mut self, handle: u32, request: Packet, mut write: Write) {
        let Some(pair) = self.pairs.get_mut(&handle) else { return };
        if write.offset > 0 && pair.responder.progress != Some((request.attempt, write.offset)) {
            // The rest of a message whose beginning was not accepted.
            return;
        }
        if write.offset == 0 && write.immediate.is_some() && pair.responder.receives.is_empty() {
            self.counters.rnr += 1;
            let timer = pair.attributes.min_rnr_timer;
            self.route(request.answer(Body::NotReady { timer }));
            return;
        }
        let whole = Span { key: write.key, address: write.address, length: write.length.into() };
        let may_write = pair.attributes.qp_access_flags & IBV_ACCESS_REMOTE_WRITE != 0;
        if !may_write || !self.regions.allows_remote(pair.domain, whole, IBV_ACCESS_REMOTE_WRITE) {
            self.refuse(handle, &request, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
            return;
        }
        let (is_last, bytes) = (write.is_last(), std::mem::take(&mut write.bytes));
        let in_order = self.devices[pair.device].config.in_order;
        let address = write.address + u64::from(write.offset);
        let landing = Landing::new(write.key, address, bytes, &mut self.random, in_order);
        pair.responder.current = Some(Current { request, write, is_last, landing });
    }

    /// Lets some words of a WRITE land.
    fn land(&mut self, handle: u32, mut current: Current) {
        let Some(pair) = self.pairs.get_mut(&handle) else { return };
        let landing = &mut current.landing;
        let span = Span { key: landing.key, address: landing.address, length: landing.length() };
        if !self.regions.allows_remote(pair.domain, span, IBV_ACCESS_REMOTE_WRITE) {
            // It was deregistered meanwhile.
            self.refuse(handle, &current.request, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
            return;
        }
        let words = if self.random.bool() { 1024 } else { self.random.usize(1..16) };
        // SAFETY: X2: the region was just found.
        unsafe { landing.land(words) };
        if !landing.is_done() {
            pair.responder.current = Some(current);
        } else if current.is_last {
            self.finish_write(handle, &current);
        } else {
            let offset = current.write.offset + landing.length() as u32;
            pair.responder.progress = Some((current.request.attempt, offset));
        }
    }

    fn finish_write(&mut self, handle: u32, current: &Current) {
        let Some(pair) = self.pairs.get_mut(&handle) else { return };
        let write = &current.write;
        let packets = pair.packets(write.length.into());
        pair.responder.advance(packets);
        if let Some(immediate) = write.immediate {
            let Some((index, id)) = pair.responder.receives.pop_front() else { return };
            let (queue, retires) = (pair.receive_queue, Retires::Receive(index));
            let mut completion =
                pair.completion(handle, id, IBV_WC_SUCCESS, IBV_WC_RECV_RDMA_WITH_IMM, retires);
            completion.is_solicited = write.solicited;
            completion.wc.byte_len = write.length;
            completion.wc.wc_flags = IBV_WC_WITH_IMM;
            completion.wc.__bindgen_anon_1.imm_data = immediate;
            if !self.complete(queue, completion) {
                // It cannot report what it did.
                self.route(current.request.answer(Body::Refuse { status: IBV_WC_REM_OP_ERR as u8 }));
                return;
            }
        }
        self.route(current.request.answer(Body::Acknowledge));
    }

    fn read(&mut self, handle: u32, request: &Packet, place: Place, span: Span) {
        let Some(pair) = self.pairs.get_mut(&handle) else { return };
        if pair.attributes.max_dest_rd_atomic == 0 {
            self.refuse(handle, request, IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
            return;
        }
        let may_read = pair.attributes.qp_access_flags & IBV_ACCESS_REMOTE_READ != 0;
        if !may_read || !self.regions.allows_remote(pair.domain, span, IBV_ACCESS_REMOTE_READ) {
            self.refuse(handle, request, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
            return;
        }
        if place == Place::Next {
            let packets = pair.packets(span.length);
            pair.responder.advance(packets);
        }
        let mut bytes = Vec::with_capacity(span.length as usize);
        // SAFETY: X2: the region was just found.
        unsafe { load(span.address, span.length as usize, &mut bytes) };
        let count = bytes.len().div_ceil(FRAGMENT_BYTES).max(1);
        for index in 0..count {
            let offset = index * FRAGMENT_BYTES;
            let fragment = bytes[offset..].iter().copied().take(FRAGMENT_BYTES).collect();
            let (offset, last) = (offset as u32, index + 1 == count);
            self.route(request.answer(Body::ReadResponse { offset, last, bytes: fragment }));
        }
    }

    /// A wrong request ends both queue pairs.
    fn refuse(&mut self, handle: u32, request: &Packet, status: u32, event: u32) {
        self.route(request.answer(Body::Refuse { status: status as u8 }));
        self.fail_pair(handle, Some(event));
    }
}
