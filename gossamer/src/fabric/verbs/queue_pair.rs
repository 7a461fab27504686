//! Queue pairs: reliable connections between two ports, to which work is posted.

use crate::fabric::verbs::abi::types::*;
use crate::fabric::verbs::choice::address::{AddressVector, Destination, Mtu};
use crate::fabric::verbs::completion::CompletionQueue;
use crate::fabric::verbs::context::DeviceContext;
use crate::fabric::verbs::errors::{checked, failed};
use crate::fabric::verbs::memory::ProtectionDomain;
use crate::fabric::verbs::send_chain::SendChain;
use std::ffi::c_int;
use std::io;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

type SendFunction = unsafe extern "C" fn(*mut ibv_qp, *mut ibv_send_wr, *mut *mut ibv_send_wr) -> c_int;
type ReceiveFunction = unsafe extern "C" fn(*mut ibv_qp, *mut ibv_recv_wr, *mut *mut ibv_recv_wr) -> c_int;

/// Packet numbers have this many bits set.
const PACKET_NUMBERS: u32 = (1 << 24) - 1;
/// Receives that one call posts.
const RECEIVES_AT_ONCE: usize = 16;
/// The least time this side makes the remote side wait before it repeats a write that found no receive: 5.12 ms.
const RNR_TIMER: u8 = 18;
/// Routers that a packet may pass.
const HOP_LIMIT: u8 = 64;
/// How often the remote side retries; one more would mean for ever.
const RNR_RETRIES: u8 = 6;

/// What a queue pair can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueuePairCapacity {
    /// Work requests of its send queue.
    pub(crate) sends: u32,
    pub(crate) receives: u32,
    /// Gather entries of a work request.
    pub(crate) gather: u32,
    /// Inline bytes of a work request.
    pub(crate) inline: u32,
}

/// What a queue pair has to know of its remote side to take its writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RemoteQueuePair {
    pub(crate) number: u32,
    /// The number of the first packet that arrives: 24 random bits.
    pub(crate) first_packet: u32,
    pub(crate) address: AddressVector,
    /// The smaller one of both sides.
    pub(crate) mtu: Mtu,
    /// Reads of the remote side that may be under way.
    pub(crate) reads: u8,
}

/// When this side gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Persistence {
    /// It waits at least 4.096 µs, doubled this many times, for an answer.
    pub(crate) timeout: u8,
    /// How often it retries, up to 7.
    pub(crate) retries: u8,
}

/// One end of a reliable connection.
pub(crate) struct QueuePair {
    raw: NonNull<ibv_qp>,
    post_send: SendFunction,
    post_receive: ReceiveFunction,
    granted: QueuePairCapacity,
    domain: Arc<ProtectionDomain>,
    _completions: [Arc<CompletionQueue>; 2],
}

// SAFETY: V4.
unsafe impl Send for QueuePair {}
// SAFETY: V4.
unsafe impl Sync for QueuePair {}

impl QueuePair {
    /// A queue pair of about the wished capacity: no more work requests and gather entries than the device supports,
    /// and as many inline bytes as it grants.
    ///
    /// # Errors
    /// The device has no queue pair left, or cannot pin its memory.
    ///
    /// # Panics
    /// If the queues belong to another context.
    pub(crate) fn new(
        domain: &Arc<ProtectionDomain>,
        sends: &Arc<CompletionQueue>,
        receives: &Arc<CompletionQueue>,
        wished: QueuePairCapacity,
    ) -> io::Result<Self> {
        let context = domain.context();
        let is_of_context = |queue: &CompletionQueue| Arc::ptr_eq(queue.context(), context);
        assert!(is_of_context(sends) && is_of_context(receives), "a queue pair is of one context");
        let operations = context.operations();
        let (Some(post_send), Some(post_receive)) = (operations.post_send, operations.post_recv) else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        let limits = context.limits()?;
        let mut attributes = ibv_qp_init_attr {
            send_cq: sends.raw(),
            recv_cq: receives.raw(),
            qp_type: IBV_QPT_RC,
            ..ibv_qp_init_attr::default()
        };
        attributes.cap = ibv_qp_cap {
            max_send_wr: wished.sends.min(limits.work_requests),
            max_recv_wr: wished.receives.min(limits.work_requests),
            max_send_sge: wished.gather.min(limits.gather_entries),
            // None is used, but not every device accepts zero.
            max_recv_sge: 1,
            max_inline_data: wished.inline,
        };
        let (raw, cap) = create(domain, attributes)?;
        let granted = QueuePairCapacity {
            sends: cap.max_send_wr,
            receives: cap.max_recv_wr,
            gather: cap.max_send_sge,
            inline: cap.max_inline_data,
        };
        let (domain, completions) = (Arc::clone(domain), [Arc::clone(sends), Arc::clone(receives)]);
        Ok(Self { raw, post_send, post_receive, granted, domain, _completions: completions })
    }

    /// Its capacity, which may exceed what was wished.
    pub(crate) fn granted(&self) -> QueuePairCapacity {
        self.granted
    }

    /// Its number, by which the remote side knows it.
    pub(crate) fn number(&self) -> u32 {
        // SAFETY: V3; it never changes.
        unsafe { (*self.raw.as_ptr()).qp_num }
    }

    fn context(&self) -> &DeviceContext {
        self.domain.context()
    }

    /// Ties it to a port. Receives may be posted from now on.
    ///
    /// # Errors
    /// There is no such port, or the device is gone.
    pub(crate) fn initialize(&self, port: u8) -> io::Result<()> {
        let mut attributes = ibv_qp_attr { qp_state: IBV_QPS_INIT, port_num: port, ..Default::default() };
        // Each region decides what may be done.
        attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
        let mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
        self.modify(attributes, mask, "to state INIT", &format!(" (port {port})"))
    }

    /// Makes it take what the remote side sends.
    ///
    /// # Errors
    /// There is no way to the port of the remote side.
    pub(crate) fn receive_from(&self, remote: &RemoteQueuePair) -> io::Result<()> {
        let attributes = ibv_qp_attr {
            qp_state: IBV_QPS_RTR,
            path_mtu: remote.mtu.code(),
            dest_qp_num: remote.number,
            rq_psn: remote.first_packet & PACKET_NUMBERS,
            max_dest_rd_atomic: remote.reads,
            min_rnr_timer: RNR_TIMER,
            ah_attr: raw_address(&remote.address),
            ..Default::default()
        };
        let mask = IBV_QP_STATE
            | IBV_QP_AV
            | IBV_QP_PATH_MTU
            | IBV_QP_DEST_QPN
            | IBV_QP_RQ_PSN
            | IBV_QP_MAX_DEST_RD_ATOMIC
            | IBV_QP_MIN_RNR_TIMER;
        let advice = format!(" (to {}: is there a route, and has the port the GID?)", remote.address);
        self.modify(attributes, mask, "to state RTR", &advice)
    }

    /// Makes it send what is posted from now on. Called after `receive_from`. Its packet numbers begin at
    /// `first_packet`, and up to `reads` reads of this side may be under way.
    ///
    /// # Errors
    /// The device is gone.
    pub(crate) fn send_from(&self, first_packet: u32, reads: u8, persistence: Persistence) -> io::Result<()> {
        let attributes = ibv_qp_attr {
            qp_state: IBV_QPS_RTS,
            sq_psn: first_packet & PACKET_NUMBERS,
            timeout: persistence.timeout,
            retry_cnt: persistence.retries,
            rnr_retry: RNR_RETRIES,
            max_rd_atomic: reads,
            ..Default::default()
        };
        let mask = IBV_QP_STATE
            | IBV_QP_SQ_PSN
            | IBV_QP_TIMEOUT
            | IBV_QP_RETRY_CNT
            | IBV_QP_RNR_RETRY
            | IBV_QP_MAX_QP_RD_ATOMIC;
        self.modify(attributes, mask, "to state RTS", "")
    }

    /// Makes it fail: what is posted now or later completes as flushed.
    ///
    /// # Errors
    /// The device is gone.
    #[cfg(test)]
    pub(crate) fn fail(&self) -> io::Result<()> {
        let attributes = ibv_qp_attr { qp_state: IBV_QPS_ERR, ..Default::default() };
        self.modify(attributes, IBV_QP_STATE, "to state ERR", "")
    }

    fn modify(&self, mut attributes: ibv_qp_attr, mask: u32, state: &str, advice: &str) -> io::Result<()> {
        let context = self.context();
        // SAFETY: V2, V3; what the mask names is set.
        let status =
            unsafe { (context.verbs().ibv_modify_qp)(self.raw.as_ptr(), &mut attributes, mask as c_int) };
        let name = context.name();
        checked(status).map_err(|error| failed(name, &format!("ibv_modify_qp {state}"), &error, advice))
    }

    /// Posts a whole chain by one call, and empties it. No more may be under way than was granted.
    ///
    /// # Errors
    /// The send queue is full, or the device is gone. Some work requests may have been posted.
    pub(crate) fn post(&self, chain: &mut SendChain) -> io::Result<()> {
        let (first, mut refused) = (chain.take(), null_mut());
        if first.is_null() {
            return Ok(());
        }
        // SAFETY: V3; V6: the chain is linked and stays for the call.
        let status = unsafe { (self.post_send)(self.raw.as_ptr(), first, &mut refused) };
        self.context().checked("ibv_post_send", status, "")
    }

    /// Posts receives without memory, one for each write with an immediate. All have this name.
    ///
    /// # Errors
    /// The receive queue is full, or the device is gone. Some receives may have been posted.
    pub(crate) fn post_receives(&self, count: usize, id: u64) -> io::Result<()> {
        let mut receives = [ibv_recv_wr { wr_id: id, ..Default::default() }; RECEIVES_AT_ONCE];
        let mut left = count;
        while left > 0 {
            let some = left.min(RECEIVES_AT_ONCE);
            let first = receives.as_mut_ptr();
            for index in 0..some {
                // SAFETY: V6: inside the array, which is borrowed only here.
                let receive = unsafe { &mut *first.wrapping_add(index) };
                receive.next = if index + 1 < some { first.wrapping_add(index + 1) } else { null_mut() };
            }
            let mut refused = null_mut();
            // SAFETY: V3; V6: linked, and on the stack for the call.
            let status = unsafe { (self.post_receive)(self.raw.as_ptr(), first, &mut refused) };
            self.context().checked("ibv_post_recv", status, "")?;
            left -= some;
        }
        Ok(())
    }
}

impl Drop for QueuePair {
    fn drop(&mut self) {
        let context = self.context();
        if context.is_here() {
            // SAFETY: V3. V7: it does not wait.
            unsafe { (context.verbs().ibv_destroy_qp)(self.raw.as_ptr()) };
        }
    }
}

/// Makes a queue pair, and returns its capacity, too. If so many inline bytes are refused, it has fewer.
fn create(domain: &ProtectionDomain, wished: ibv_qp_init_attr) -> io::Result<(NonNull<ibv_qp>, ibv_qp_cap)> {
    let context = domain.context();
    let mut inline = wished.cap.max_inline_data;
    loop {
        let mut attributes = wished;
        attributes.cap.max_inline_data = inline;
        // SAFETY: V2, V3; it writes what is granted.
        let raw = unsafe { (context.verbs().ibv_create_qp)(domain.raw(), &mut attributes) };
        if let Some(raw) = NonNull::new(raw) {
            return Ok((raw, attributes.cap));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::InvalidInput || inline == 0 {
            let advice = " (no queue pairs are left, or their memory cannot be pinned: see `ulimit -l`)";
            return Err(failed(context.name(), "ibv_create_qp", &error, advice));
        }
        inline /= 2;
    }
}

/// An address in the library's form.
fn raw_address(address: &AddressVector) -> ibv_ah_attr {
    let mut raw = ibv_qp_attr::default().ah_attr;
    (raw.port_num, raw.sl) = (address.port, address.service_level);
    match address.destination {
        Destination::Lid(lid) => raw.dlid = lid,
        Destination::Gid { gid, index, traffic_class } => {
            raw.is_global = 1;
            raw.grh.dgid.raw = gid.bytes();
            raw.grh.sgid_index = index;
            raw.grh.traffic_class = traffic_class;
            raw.grh.hop_limit = HOP_LIMIT;
        }
    }
    raw
}
