//! The send queue of a queue pair: what is posted, sent, answered and completed.

use crate::completion_queues::Retires;
use crate::landing::Landing;
use crate::memory::Span;
use crate::packet::{Body, Packet};
use crate::queue_pairs::{PSN_MASK, QueuePair};
use crate::retries::Retry;
use crate::send_work::SendWork;
use crate::state::State;
use crate::types::*;
use fastrand::Rng;
use libc::{EINVAL, EIO, ENOMEM, c_int};
use std::collections::VecDeque;

/// The most bytes that are under way without an answer, so that memory is read late.
const BYTES_UNDER_WAY: u64 = 256 << 10;

#[derive(Default)]
pub(crate) struct Requester {
    /// Work requests that were posted, and those that have left room for others.
    posted: u64,
    pub retired: u64,
    /// Those without a completion.
    work: VecDeque<SendWork>,
    /// How many of them, from the front, are under way.
    sent: usize,
    bytes_under_way: u64,
    /// How many messages may be under way.
    window: usize,
    next_psn: u32,
    /// The status with which the next work request is to end.
    pub fault: Option<u32>,
    /// Answers that were not handled yet.
    arrivals: VecDeque<Packet>,
    /// The data of a READ, on its way into memory; and whether it is the last of it.
    landings: VecDeque<Landing>,
    is_read_ending: bool,
    pub retry: Retry,
}

impl Requester {
    /// Nothing is posted.
    pub(crate) fn is_idle(&self) -> bool {
        self.work.is_empty()
    }

    /// Work requests that have not ended.
    pub(crate) fn under_way(&self) -> usize {
        self.work.len()
    }

    pub(crate) fn is_waiting_for_answer(&self) -> bool {
        self.sent > 0
    }

    /// It may send from now on. The fewer messages may be under way, the later memory is read.
    pub(crate) fn start(&mut self, psn: u32, random: &mut Rng) {
        (self.next_psn, self.window) = (psn, 4 << random.u8(..5));
    }

    pub(crate) fn push_arrival(&mut self, packet: Packet) {
        self.arrivals.push_back(packet);
    }

    /// Begins again with the oldest work request that has no answer.
    pub(crate) fn rewind(&mut self) -> usize {
        self.bytes_under_way = 0;
        self.landings.clear();
        self.is_read_ending = false;
        std::mem::take(&mut self.sent)
    }

    /// Ends all work requests; returns their numbers and names.
    pub(crate) fn take_work(&mut self) -> Vec<(u64, u64)> {
        self.rewind();
        self.arrivals.clear();
        self.retry = Retry::default();
        self.work.drain(..).map(|work| (work.index, work.id)).collect()
    }

    fn reads_under_way(&self) -> usize {
        self.work.iter().take(self.sent).filter(|work| work.is_read()).count()
    }

    /// Whether the next work request may be sent now.
    fn may_send(&self, max_reads: u8) -> bool {
        let Some(next) = self.work.get(self.sent) else { return false };
        let is_full = self.sent >= self.window || self.bytes_under_way >= BYTES_UNDER_WAY;
        let waits_for_reads = next.is_fenced && self.reads_under_way() > 0;
        let has_too_many_reads = next.is_read() && self.reads_under_way() >= usize::from(max_reads.max(1));
        !(is_full || waits_for_reads || has_too_many_reads || self.retry.is_waiting())
    }
}

impl State {
    /// Accepts a work request.
    ///
    /// # Safety
    /// X1: what it names inline is readable.
    pub(crate) unsafe fn post_send(
        &mut self,
        handle: u32,
        wr: &ibv_send_wr,
        list: &[ibv_sge],
    ) -> Result<(), c_int> {
        let pair = self.pairs.get_mut(&handle).ok_or(EINVAL)?;
        if self.devices[pair.device].is_fatal {
            return Err(EIO);
        }
        // SAFETY: the caller's.
        let mut work = unsafe { SendWork::new(pair, wr, list)? };
        let requester = &mut pair.requester;
        if requester.posted - requester.retired >= u64::from(pair.capacity.max_send_wr) {
            return Err(ENOMEM);
        }
        requester.posted += 1;
        let (index, id, length) = (requester.posted, work.id, work.length);
        self.counters.count(&work);
        if pair.state == IBV_QPS_ERR {
            let queue = pair.send_queue;
            self.flush(handle, queue, id, Retires::Send(index));
            return Ok(());
        }
        let psn = requester.next_psn;
        (work.index, work.psn) = (index, psn);
        requester.work.push_back(work);
        let packets = pair.packets(length);
        pair.requester.next_psn = (psn + packets) & PSN_MASK;
        self.active.insert(handle);
        Ok(())
    }

    /// Does one step for the requests of a queue pair, if there is one to do.
    pub(crate) fn request(&mut self, handle: u32) -> bool {
        self.land_response(handle) || self.take_answer(handle) || self.transmit(handle)
    }

    fn transmit(&mut self, handle: u32) -> bool {
        let Some(pair) = self.pairs.get_mut(&handle) else { return false };
        let max_reads = pair.attributes.max_rd_atomic;
        if pair.state != IBV_QPS_RTS || !pair.requester.may_send(max_reads) {
            return false;
        }
        self.begin(handle);
        let Some(pair) = self.pairs.get_mut(&handle) else { return true };
        let Some(work) = pair.requester.work.get(pair.requester.sent) else { return true };
        let device = &self.devices[pair.device];
        let port = device.config.ports.get(usize::from(pair.attributes.port_num).wrapping_sub(1));
        let status = match work.fault {
            Some(status) => Some(status),
            None if work.length > port.map_or(0, |port| port.max_message.into()) => Some(IBV_WC_LOC_LEN_ERR),
            None if work.is_read() && max_reads == 0 => Some(IBV_WC_LOC_QP_OP_ERR),
            None if !work.is_allowed(&self.regions, pair.domain) => Some(IBV_WC_LOC_PROT_ERR),
            None => None,
        };
        if let Some(status) = status {
            // Completions come in the order of work requests.
            let is_first = pair.requester.sent == 0;
            if is_first {
                self.fail_request(handle, status);
            }
            return is_first;
        }
        // SAFETY: X2: the regions were just found.
        let bodies = unsafe { work.bodies() };
        let (psn, length) = (work.psn, work.length);
        pair.requester.sent += 1;
        pair.requester.bytes_under_way += length;
        let packets: Vec<Packet> = bodies.into_iter().map(|body| pair.packet(psn, body)).collect();
        for packet in packets {
            if !self.route(packet) {
                self.lose(handle);
                break;
            }
        }
        true
    }

    /// Counts the next work request, once, and finds out what may go wrong with it.
    fn begin(&mut self, handle: u32) {
        let Some(pair) = self.pairs.get_mut(&handle) else { return };
        let (device, fault) = (pair.device, pair.requester.fault.take());
        let Some(work) = pair.requester.work.get_mut(pair.requester.sent) else { return };
        work.fault = work.fault.or(fault);
        if std::mem::replace(&mut work.is_begun, true) {
            return;
        }
        let fault = self.take_fault(device);
        let Some(pair) = self.pairs.get_mut(&handle) else { return };
        if let Some(work) = pair.requester.work.get_mut(pair.requester.sent) {
            work.fault = work.fault.or(fault);
        }
    }

    fn take_answer(&mut self, handle: u32) -> bool {
        let Some(pair) = self.pairs.get_mut(&handle) else { return false };
        let Some(packet) = pair.requester.arrivals.pop_front() else { return false };
        let is_stale = packet.attempt != pair.requester.retry.attempt || pair.requester.sent == 0;
        let oldest = pair.requester.work.front().filter(|_| !is_stale);
        let Some(oldest) = oldest else { return true };
        match packet.body {
            Body::Lost => self.lose(handle),
            _ if packet.psn != oldest.psn => {}
            Body::Acknowledge => self.finish(handle),
            Body::Refuse { status } => self.fail_request(handle, u32::from(status)),
            Body::NotReady { timer } => self.wait_for_receive(handle, timer),
            Body::ReadResponse { offset, last, bytes } => {
                let in_order = self.devices[pair.device].config.in_order;
                for (key, address, bytes) in oldest.scatter(offset, &bytes) {
                    let landing = Landing::new(key, address, bytes, &mut self.random, in_order);
                    pair.requester.landings.push_back(landing);
                }
                pair.requester.is_read_ending = last;
                if last && pair.requester.landings.is_empty() {
                    self.finish(handle);
                }
            }
            Body::Write(_) | Body::Read { .. } => {}
        }
        true
    }

    fn land_response(&mut self, handle: u32) -> bool {
        let Some(pair) = self.pairs.get_mut(&handle) else { return false };
        let Some(landing) = pair.requester.landings.front_mut() else { return false };
        let span = Span { key: landing.key, address: landing.address, length: landing.length() };
        if !self.regions.allows_local(pair.domain, span, true) {
            self.fail_request(handle, IBV_WC_LOC_PROT_ERR);
            return true;
        }
        let words = self.random.usize(1..1024);
        // SAFETY: X2: the region was just found.
        unsafe { landing.land(words) };
        if landing.is_done() {
            pair.requester.landings.pop_front();
            if pair.requester.landings.is_empty() && pair.requester.is_read_ending {
                self.finish(handle);
            }
        }
        true
    }

    /// The oldest work request is done.
    fn finish(&mut self, handle: u32) {
        let Some(pair) = self.pairs.get_mut(&handle) else { return };
        let Some(work) = pair.requester.work.pop_front() else { return };
        pair.requester.sent -= 1;
        pair.requester.bytes_under_way -= work.length;
        pair.requester.is_read_ending = false;
        pair.requester.retry.succeed();
        if work.is_signalled {
            let (queue, retires) = (pair.send_queue, Retires::Send(work.index));
            let mut completion = pair.completion(handle, work.id, IBV_WC_SUCCESS, work.operation(), retires);
            completion.wc.byte_len = work.length as u32;
            self.complete(queue, completion);
        }
    }

    /// The oldest work request ends with an error, and the queue pair with it.
    pub(crate) fn fail_request(&mut self, handle: u32, status: u32) {
        let Some(pair) = self.pairs.get_mut(&handle) else { return };
        if let Some(work) = pair.requester.work.pop_front() {
            let queue = pair.send_queue;
            pair.requester.sent = pair.requester.sent.saturating_sub(1);
            self.end(handle, queue, work.id, status, Retires::Send(work.index));
        }
        self.fail_pair(handle, None);
    }
}

impl QueuePair {
    fn packet(&self, psn: u32, body: Body) -> Packet {
        Packet {
            from: self.number,
            to: self.attributes.dest_qp_num,
            from_address: self.own_address,
            to_address: self.peer_address,
            psn,
            attempt: self.requester.retry.attempt,
            body,
        }
    }
}
