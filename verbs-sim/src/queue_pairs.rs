//! Queue pairs: making, changing and destroying them.

use crate::completion_queues::{Completion, Retires};
use crate::config::PortConfig;
use crate::events::Subject;
use crate::packet::{Address, Body};
use crate::requester::Requester;
use crate::responder::Responder;
use crate::state::State;
use crate::types::*;
use libc::{EINVAL, EIO, ENETUNREACH, ENOMEM, EOPNOTSUPP, c_int};

/// Numbers of packets have 24 bits.
pub(crate) const PSN_MASK: u32 = 0xff_ffff;

/// One of the type reliable connected.
pub(crate) struct QueuePair {
    pub number: u32,
    /// In C.
    pub address: usize,
    pub context: u32,
    pub device: usize,
    pub domain: u32,
    /// Completion queues.
    pub send_queue: u32,
    pub receive_queue: u32,
    pub capacity: ibv_qp_cap,
    pub are_all_signalled: bool,
    pub state: u32,
    pub attributes: ibv_qp_attr,
    /// Where it is, and where its peer is.
    pub own_address: Address,
    pub peer_address: Address,
    pub requester: Requester,
    pub responder: Responder,
}

/// What a new queue pair belongs to.
pub(crate) struct Owners {
    pub context: u32,
    pub domain: u32,
    pub send_queue: u32,
    pub receive_queue: u32,
}

/// What a change to a state must be given, and what it may be given in addition.
fn attributes_of(from: u32, to: u32) -> Option<(u32, u32)> {
    let path = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    let reader = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    let sender =
        IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
    let place = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    match (from, to) {
        (_, IBV_QPS_RESET | IBV_QPS_ERR) => Some((0, 0)),
        (IBV_QPS_RESET, IBV_QPS_INIT) => Some((place, 0)),
        (IBV_QPS_INIT, IBV_QPS_INIT) => Some((0, place)),
        (IBV_QPS_INIT, IBV_QPS_RTR) => Some((path | reader, IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS)),
        (IBV_QPS_RTR, IBV_QPS_RTS) => Some((sender, IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER)),
        (IBV_QPS_RTS, IBV_QPS_RTS) => Some((0, IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER)),
        _ => None,
    }
}

impl QueuePair {
    pub(crate) fn is_connected(&self) -> bool {
        matches!(self.state, IBV_QPS_RTR | IBV_QPS_RTS)
    }

    /// How many packets a message has.
    pub(crate) fn packets(&self, length: u64) -> u32 {
        let mtu = 128_u64 << self.attributes.path_mtu;
        length.div_ceil(mtu).max(1) as u32
    }

    pub(crate) fn completion(
        &self,
        handle: u32,
        id: u64,
        status: u32,
        opcode: u32,
        retires: Retires,
    ) -> Completion {
        let wc = ibv_wc { wr_id: id, status, opcode, qp_num: self.number, ..ibv_wc::default() };
        Completion { wc, pair: handle, retires, is_solicited: false }
    }

    fn take_attributes(&mut self, from: &ibv_qp_attr, mask: u32) {
        let own = &mut self.attributes;
        let mut set = |bit: u32, copy: fn(&mut ibv_qp_attr, &ibv_qp_attr)| {
            if mask & bit != 0 {
                copy(own, from);
            }
        };
        set(IBV_QP_ACCESS_FLAGS, |own, from| own.qp_access_flags = from.qp_access_flags);
        set(IBV_QP_PORT, |own, from| own.port_num = from.port_num);
        set(IBV_QP_AV, |own, from| own.ah_attr = from.ah_attr);
        set(IBV_QP_PATH_MTU, |own, from| own.path_mtu = from.path_mtu);
        set(IBV_QP_DEST_QPN, |own, from| own.dest_qp_num = from.dest_qp_num);
        set(IBV_QP_RQ_PSN, |own, from| own.rq_psn = from.rq_psn & PSN_MASK);
        set(IBV_QP_SQ_PSN, |own, from| own.sq_psn = from.sq_psn & PSN_MASK);
        set(IBV_QP_MAX_DEST_RD_ATOMIC, |own, from| own.max_dest_rd_atomic = from.max_dest_rd_atomic);
        set(IBV_QP_MAX_QP_RD_ATOMIC, |own, from| own.max_rd_atomic = from.max_rd_atomic);
        set(IBV_QP_MIN_RNR_TIMER, |own, from| own.min_rnr_timer = from.min_rnr_timer);
        set(IBV_QP_TIMEOUT, |own, from| own.timeout = from.timeout);
        set(IBV_QP_RETRY_CNT, |own, from| own.retry_cnt = from.retry_cnt);
        set(IBV_QP_RNR_RETRY, |own, from| own.rnr_retry = from.rnr_retry);
    }
}

/// The addresses of a port, and of the peer that it is told to send to. RoCE looks for the peer before it succeeds.
fn addresses(port: &PortConfig, attributes: &ibv_qp_attr) -> Result<(Address, Address), c_int> {
    let vector = &attributes.ah_attr;
    if port.link_layer == IBV_LINK_LAYER_INFINIBAND && vector.is_global == 0 {
        let lid = |lid: u16| {
            let mut address = Address::default();
            address.bytes[..2].copy_from_slice(&lid.to_be_bytes());
            address
        };
        return Ok((lid(port.lid), lid(vector.dlid)));
    }
    if vector.is_global == 0 {
        return Err(EINVAL);
    }
    let own = port.gids.get(&u32::from(vector.grh.sgid_index)).ok_or(EINVAL)?;
    // SAFETY: all bytes are a value of either variant.
    let peer = unsafe { vector.grh.dgid.raw };
    if port.unreachable.contains(&peer) {
        return Err(ENETUNREACH);
    }
    // A LID has the kind 0.
    let kind = own.kind as u8 + 1;
    Ok((Address { kind, bytes: own.gid }, Address { kind, bytes: peer }))
}

impl State {
    /// Grants at least what is asked for, or nothing; says what was granted.
    pub(crate) fn create_pair(&mut self, owners: &Owners, init: &mut ibv_qp_init_attr) -> Result<u32, c_int> {
        let device = self.device_of(owners.context)?;
        let limits = self.devices[device].config.limits.clone();
        if init.qp_type != IBV_QPT_RC || !init.srq.is_null() {
            return Err(EOPNOTSUPP);
        }
        let cap = &mut init.cap;
        let too_many = cap.max_send_wr.max(cap.max_recv_wr) > limits.max_qp_wr;
        if too_many
            || cap.max_send_sge.max(cap.max_recv_sge) > limits.max_sge
            || cap.max_inline_data > limits.max_inline
        {
            return Err(EINVAL);
        }
        if self.pairs.values().filter(|pair| pair.device == device).count() >= limits.max_qp as usize {
            return Err(ENOMEM);
        }
        let more = if self.devices[device].config.generous { 2 } else { 1 };
        let granted = |asked: u32| (asked.next_power_of_two() * more).min(limits.max_qp_wr);
        (cap.max_send_wr, cap.max_recv_wr) = (granted(cap.max_send_wr), granted(cap.max_recv_wr));
        cap.max_inline_data = cap.max_inline_data.next_multiple_of(16).min(limits.max_inline);
        let capacity = *cap;
        let number = self.network.new_number().map_err(|error| error.raw_os_error().unwrap_or(EIO))?;
        let handle = self.new_handle();
        let pair = QueuePair {
            number,
            address: 0,
            context: owners.context,
            device,
            domain: owners.domain,
            send_queue: owners.send_queue,
            receive_queue: owners.receive_queue,
            capacity,
            are_all_signalled: init.sq_sig_all != 0,
            state: IBV_QPS_RESET,
            attributes: ibv_qp_attr::default(),
            own_address: Address::default(),
            peer_address: Address::default(),
            requester: Requester::default(),
            responder: Responder::default(),
        };
        self.pairs.insert(handle, pair);
        self.numbers.insert(number, handle);
        Ok(handle)
    }

    /// Some devices drop its completions, others leave them to be polled.
    pub(crate) fn remove_pair(&mut self, handle: u32) {
        self.silence(handle);
        let Some(pair) = self.pairs.remove(&handle) else { return };
        self.numbers.remove(&pair.number);
        self.active.remove(&handle);
        self.waiting.remove(&handle);
        if self.random.bool() {
            self.forget(pair.send_queue, handle);
            self.forget(pair.receive_queue, handle);
        }
        self.withdraw_events(pair.context, handle);
    }

    pub(crate) fn modify(&mut self, handle: u32, attributes: &ibv_qp_attr, mask: u32) -> Result<u32, c_int> {
        let pair = self.pairs.get_mut(&handle).ok_or(EINVAL)?;
        let to = if mask & IBV_QP_STATE == 0 { pair.state } else { attributes.qp_state };
        let (required, optional) = attributes_of(pair.state, to).ok_or(EINVAL)?;
        let told = mask & !IBV_QP_STATE;
        if told & required != required || told & !(required | optional) != 0 {
            return Err(EINVAL);
        }
        let device = &self.devices[pair.device];
        if device.is_fatal && !matches!(to, IBV_QPS_RESET | IBV_QPS_ERR) {
            return Err(EIO);
        }
        let before = pair.attributes;
        pair.take_attributes(attributes, told);
        let now = pair.attributes;
        let index = usize::from(now.port_num).wrapping_sub(1);
        let port = device.config.ports.get(index);
        let accepted = match (to, port) {
            (IBV_QPS_RESET | IBV_QPS_ERR, _) => Ok(None),
            (_, None) => Err(EINVAL),
            (IBV_QPS_RTR, Some(port)) if now.path_mtu == 0 || now.path_mtu > port.active_mtu => Err(EINVAL),
            (IBV_QPS_RTR, Some(port)) => addresses(port, &now).map(Some),
            _ if now.max_rd_atomic.max(now.max_dest_rd_atomic) > device.config.limits.max_rd_atomic => {
                Err(EINVAL)
            }
            _ => Ok(None),
        };
        match accepted {
            Ok(Some(addresses)) => (pair.own_address, pair.peer_address) = addresses,
            Ok(None) => {}
            Err(error) => {
                pair.attributes = before;
                return Err(error);
            }
        }
        self.enter(handle, to);
        Ok(to)
    }

    fn enter(&mut self, handle: u32, to: u32) {
        let Some(pair) = self.pairs.get_mut(&handle) else { return };
        let from = std::mem::replace(&mut pair.state, to);
        match to {
            IBV_QPS_RTR => pair.responder.expect(pair.attributes.rq_psn),
            IBV_QPS_RTS if from == IBV_QPS_RTR => {
                pair.requester.start(pair.attributes.sq_psn, &mut self.random);
            }
            IBV_QPS_ERR if from != IBV_QPS_ERR => self.fail_pair(handle, None),
            IBV_QPS_RESET => self.reset(handle),
            _ => {}
        }
        self.active.insert(handle);
        self.wake();
    }

    fn reset(&mut self, handle: u32) {
        self.silence(handle);
        let Some(pair) = self.pairs.get_mut(&handle) else { return };
        pair.requester = Requester::default();
        pair.responder = Responder::default();
        pair.attributes = ibv_qp_attr::default();
        let (send, receive) = (pair.send_queue, pair.receive_queue);
        self.forget(send, handle);
        self.forget(receive, handle);
    }

    /// Leaves the requests of the peer without an answer.
    fn silence(&mut self, handle: u32) {
        let Some(pair) = self.pairs.get_mut(&handle) else { return };
        for request in pair.responder.take_arrivals() {
            self.route(request.answer(Body::Lost));
        }
    }

    /// Enters the error state: all work requests end, in order, each with a completion.
    pub(crate) fn fail_pair(&mut self, handle: u32, event: Option<u32>) {
        self.silence(handle);
        let Some(pair) = self.pairs.get_mut(&handle) else { return };
        pair.state = IBV_QPS_ERR;
        let (context, subject) = (pair.context, Subject::Pair { handle, address: pair.address });
        let (send, receive) = (pair.send_queue, pair.receive_queue);
        let sends = pair.requester.take_work();
        let receives = pair.responder.take_receives();
        self.waiting.remove(&handle);
        for (index, id) in sends {
            self.flush(handle, send, id, Retires::Send(index));
        }
        for (index, id) in receives {
            self.flush(handle, receive, id, Retires::Receive(index));
        }
        if let Some(kind) = event {
            self.tell(context, kind, subject);
        }
        self.wake();
    }

    /// Ends a work request that was not carried out.
    pub(crate) fn flush(&mut self, handle: u32, queue: u32, id: u64, retires: Retires) {
        self.end(handle, queue, id, IBV_WC_WR_FLUSH_ERR, retires);
    }

    /// Ends a work request with an error. The operation in its completion means nothing then.
    pub(crate) fn end(&mut self, handle: u32, queue: u32, id: u64, status: u32, retires: Retires) {
        let opcode = self.random.u32(..256);
        let Some(pair) = self.pairs.get(&handle) else { return };
        let completion = pair.completion(handle, id, status, opcode, retires);
        self.complete(queue, completion);
    }
}
