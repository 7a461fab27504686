//! What tests are made of: connected ends, work requests, and waits that end.
//!
//! Invariants, by which each `SAFETY` comment of the tests is proved
//! - T1: an `Object` was made by the library. Its owner keeps the objects that it was made of, and is the only one to
//!   destroy it: when it is dropped. So a function of the library that is called with it gets what X1 asks for.
//! - T2: any thread may call any function of the library. Only `ibv_modify_qp` changes what C sees of an object: the
//!   state, which is accessed under a lock.
//! - T3: an object exists until the events about it that were taken are acknowledged: destroying it waits for that.
//! - T4: the library accesses memory of regions only, by atomic operations; and what is sent inline, during the call.

mod contexts;
mod events;
mod objects;

pub use contexts::*;
pub use events::*;
pub use objects::*;

use crate::symbols::verbs_sim_counter;
use crate::types::*;
use std::ffi::{CStr, c_int};
use std::os::fd::RawFd;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub const WORDS: usize = 4096;
pub const ALL: u32 = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
pub const SIGNALED: u32 = IBV_SEND_SIGNALED;
pub const INLINE: u32 = IBV_SEND_INLINE;

/// What an end is made with.
#[derive(Clone)]
pub struct Plan {
    pub device: usize,
    pub port: u8,
    pub gid: u8,
    pub cqe: c_int,
    pub cap: ibv_qp_cap,
    pub access: u32,
    pub timeout: u8,
    pub retries: u8,
    pub rnr_retries: u8,
    pub reads: u8,
    pub psn: u32,
}

impl Default for Plan {
    fn default() -> Self {
        let cap = ibv_qp_cap {
            max_send_wr: 64,
            max_recv_wr: 64,
            max_send_sge: 4,
            max_recv_sge: 1,
            max_inline_data: 64,
        };
        let (cqe, access, reads) = (256, ALL, 4);
        Self {
            device: 0,
            port: 1,
            gid: 3,
            cqe,
            cap,
            access,
            timeout: 1,
            retries: 1,
            rnr_retries: 7,
            reads,
            psn: 7,
        }
    }
}

/// What one end tells the other.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub number: u32,
    pub psn: u32,
    pub gid: [u8; 16],
    pub address: u64,
    pub rkey: u32,
}

/// A queue pair with all that belongs to it, and registered memory. The first field is dropped first.
pub struct End {
    pub plan: Plan,
    pub pair: Pair,
    pub queue: Arc<Queue>,
    pub channel: Arc<Channel>,
    pub region: Region,
    pub domain: Arc<Domain>,
    pub context: Arc<Context>,
    pub memory: Arc<[AtomicU64]>,
}

/// What was made, or the reason why it was not, as a panic.
pub fn made<T>(made: Option<T>) -> T {
    made.unwrap_or_else(|| panic!("{}", errno()))
}

/// A context of a device by its place in the list.
pub fn open(device: usize) -> Arc<Context> {
    made(made(Devices::new(None)).open(device))
}

pub fn errno() -> c_int {
    std::io::Error::last_os_error().raw_os_error().unwrap()
}

impl End {
    pub fn new(plan: Plan) -> Self {
        let context = open(plan.device);
        let domain = made(Domain::new(&context));
        let channel = made(Channel::new(&context));
        let queue = made(Queue::new(&context, plan.cqe, Some(&channel), 0));
        let pair = made(Pair::new(&domain, &queue, plan.cap));
        let memory: Arc<[AtomicU64]> = (0..WORDS).map(|_| AtomicU64::new(0)).collect();
        let region = made(Region::of(&domain, &memory, ALL));
        Self { plan, pair, queue, channel, region, domain, context, memory }
    }

    pub fn place(&self) -> Place {
        let gid = self.context.gid(self.plan.port, self.plan.gid.into());
        let (number, rkey) = (self.pair.number, self.region.remote_key());
        Place { number, psn: self.plan.psn, gid, address: self.memory.as_ptr() as u64, rkey }
    }

    pub fn modify(&self, attributes: &mut ibv_qp_attr, mask: u32) -> c_int {
        self.pair.modify(attributes, mask | IBV_QP_STATE)
    }

    pub fn init(&self) {
        let mut a = ibv_qp_attr { qp_state: IBV_QPS_INIT, port_num: self.plan.port, ..Default::default() };
        a.qp_access_flags = self.plan.access;
        assert_eq!(self.modify(&mut a, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), 0);
    }

    pub fn ready_to_receive(&self, peer: Place) -> c_int {
        let mut a = ibv_qp_attr { qp_state: IBV_QPS_RTR, path_mtu: IBV_MTU_1024, ..Default::default() };
        (a.dest_qp_num, a.rq_psn, a.max_dest_rd_atomic, a.min_rnr_timer) =
            (peer.number, peer.psn, self.plan.reads, 1);
        (a.ah_attr.is_global, a.ah_attr.port_num) = (1, self.plan.port);
        (a.ah_attr.grh.sgid_index, a.ah_attr.grh.dgid.raw) = (self.plan.gid, peer.gid);
        let path = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
        self.modify(&mut a, path | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
    }

    pub fn ready_to_send(&self) {
        let mut a = ibv_qp_attr { qp_state: IBV_QPS_RTS, sq_psn: self.plan.psn, ..Default::default() };
        (a.timeout, a.retry_cnt, a.rnr_retry) = (self.plan.timeout, self.plan.retries, self.plan.rnr_retries);
        a.max_rd_atomic = self.plan.reads;
        let retries = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY;
        assert_eq!(self.modify(&mut a, retries | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC), 0);
    }

    pub fn connect(&self, peer: Place) {
        self.init();
        assert_eq!(self.ready_to_receive(peer), 0);
        self.ready_to_send();
    }

    pub fn fail(&self) {
        let mut a = ibv_qp_attr { qp_state: IBV_QPS_ERR, ..Default::default() };
        assert_eq!(self.modify(&mut a, 0), 0);
    }

    /// Some of its words.
    pub fn words(&self, first: usize, count: usize) -> ibv_sge {
        let (addr, lkey) = (self.memory[first..].as_ptr() as u64, self.region.local_key());
        ibv_sge { addr, length: count as u32 * 8, lkey }
    }

    pub fn set(&self, first: usize, values: impl IntoIterator<Item = u64>) {
        for (word, value) in self.memory[first..].iter().zip(values) {
            word.store(value, Ordering::Relaxed);
        }
    }

    pub fn get(&self, word: usize) -> u64 {
        self.memory[word].load(Ordering::Acquire)
    }

    /// Posts a chain. If it is refused, returns the error and the place of the work request. Inline data is of its own
    /// memory.
    pub fn try_post(&self, works: &[Work]) -> Result<(), (c_int, usize)> {
        let own = self.words(0, WORDS);
        let is_own = |part: &ibv_sge| {
            let offset = part.addr.checked_sub(own.addr);
            offset.is_some_and(|offset| offset + u64::from(part.length) <= own.length.into())
        };
        let mut inline = works.iter().filter(|work| work.flags & INLINE != 0);
        assert!(inline.all(|work| work.from.iter().all(is_own)));
        // SAFETY: as was just seen: its memory lives as long as it does.
        unsafe { self.try_post_inline(works) }
    }

    /// Likewise, with inline data from anywhere.
    ///
    /// # Safety
    /// What is sent inline is readable.
    pub unsafe fn try_post_inline(&self, works: &[Work]) -> Result<(), (c_int, usize)> {
        let mut lists: Vec<Vec<ibv_sge>> = works.iter().map(|work| work.from.clone()).collect();
        let chain = works.iter().zip(&mut lists).map(|(work, list)| work.request(list));
        let mut chain: Vec<ibv_send_wr> = chain.collect();
        let first = chain.as_mut_ptr();
        for index in 1..chain.len() {
            // SAFETY: inside the chain.
            unsafe { (*first.wrapping_add(index - 1)).next = first.wrapping_add(index) };
        }
        // SAFETY: the chain and the lists live until the end of this function; the rest is the caller's.
        let (error, bad) = unsafe { self.pair.post(first) };
        let place = (bad as usize).wrapping_sub(first as usize) / size_of::<ibv_send_wr>();
        if error == 0 { Ok(()) } else { Err((error, place)) }
    }

    pub fn post(&self, works: &[Work]) {
        assert_eq!(self.try_post(works), Ok(()));
    }

    pub fn receive(&self, id: u64) -> c_int {
        self.pair.receive(id)
    }

    pub fn arm(&self, solicited_only: bool) {
        assert_eq!(self.queue.arm(solicited_only), 0);
    }

    pub fn poll(&self) -> Option<ibv_wc> {
        self.queue.poll()
    }

    pub fn wait(&self) -> ibv_wc {
        wait_for(|| self.poll())
    }

    /// The next completions as name and status.
    pub fn statuses(&self, count: usize) -> Vec<(u64, u32)> {
        (0..count).map(|_| self.wait()).map(|wc| (wc.wr_id, wc.status)).collect()
    }

    /// The next event that is not about a completion.
    pub fn take_async_event(&self) -> AsyncEvent {
        assert!(is_readable(self.context.descriptor(), 20_000), "no event came");
        self.context.take_event().unwrap_or_else(|status| panic!("{status}"))
    }

    /// Its kind; it is acknowledged.
    pub fn event(&self) -> u32 {
        let event = self.take_async_event();
        let kind = event.kind();
        event.acknowledge();
        kind
    }

    /// Takes an event of the completion queue.
    pub fn take_event(&self) -> QueueEvent {
        assert!(is_readable(self.channel.descriptor(), 20_000), "no event came");
        let event = self.channel.take_event().unwrap_or_else(|status| panic!("{status}"));
        assert!(event.is_about(&self.queue));
        event
    }
}

/// A work request.
#[derive(Clone)]
pub struct Work {
    pub id: u64,
    pub opcode: u32,
    pub flags: u32,
    pub from: Vec<ibv_sge>,
    pub address: u64,
    pub rkey: u32,
    pub immediate: u32,
}

impl Work {
    fn new(opcode: u32, id: u64, flags: u32, from: ibv_sge, to: Place, word: usize) -> Self {
        let address = to.address + word as u64 * 8;
        Self { id, opcode, flags, from: vec![from], address, rkey: to.rkey, immediate: 0 }
    }

    pub fn write(id: u64, flags: u32, from: ibv_sge, to: Place, word: usize) -> Self {
        Self::new(IBV_WR_RDMA_WRITE, id, flags, from, to, word)
    }

    pub fn immediate(id: u64, flags: u32, from: ibv_sge, to: Place, word: usize, immediate: u32) -> Self {
        Self { immediate, ..Self::new(IBV_WR_RDMA_WRITE_WITH_IMM, id, flags, from, to, word) }
    }

    pub fn read(id: u64, flags: u32, into: ibv_sge, from: Place, word: usize) -> Self {
        Self::new(IBV_WR_RDMA_READ, id, flags, into, from, word)
    }

    fn request(&self, list: &mut [ibv_sge]) -> ibv_send_wr {
        let (remote_addr, rkey) = (self.address, self.rkey);
        ibv_send_wr {
            wr_id: self.id,
            sg_list: list.as_mut_ptr(),
            num_sge: list.len() as c_int,
            opcode: self.opcode,
            send_flags: self.flags,
            __bindgen_anon_1: ibv_send_wr__bindgen_ty_1 { imm_data: self.immediate },
            wr: ibv_send_wr__bindgen_ty_2 {
                rdma: ibv_send_wr__bindgen_ty_2__bindgen_ty_1 { remote_addr, rkey },
            },
            ..Default::default()
        }
    }
}

/// Two connected ends in one process.
pub fn connected(plan: Plan) -> (End, End) {
    let (one, two) = (End::new(plan.clone()), End::new(plan));
    one.connect(two.place());
    two.connect(one.place());
    (one, two)
}

pub fn wait_for<T>(mut found: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "it never came");
        std::thread::yield_now();
    }
}

/// Whether a descriptor becomes readable within milliseconds.
pub fn is_readable(descriptor: RawFd, milliseconds: c_int) -> bool {
    let mut entry = libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
    // SAFETY: it accesses one entry.
    unsafe { libc::poll(&mut entry, 1, milliseconds) == 1 }
}

/// From now on, who takes an event from there does not wait for one.
pub fn do_not_wait(descriptor: RawFd) {
    // SAFETY: it accesses no memory.
    assert_eq!(unsafe { libc::fcntl(descriptor, libc::F_SETFL, libc::O_NONBLOCK) }, 0);
}

/// The immediate data of a completion.
pub fn immediate(wc: &ibv_wc) -> u32 {
    // SAFETY: any bytes are a valid number.
    unsafe { wc.__bindgen_anon_1.imm_data }
}

pub fn counter(name: &CStr) -> u64 {
    // SAFETY: it reads a string.
    let count = unsafe { verbs_sim_counter(name.as_ptr()) };
    assert_ne!(count, u64::MAX, "{name:?}");
    count
}

const CHILD: &str = "VERBS_SIM_TEST_CHILD";

/// Whether this process was started for the rest of a test, as `role`.
pub fn is_child(role: &str) -> bool {
    std::env::var(CHILD).is_ok_and(|child| child == role)
}

/// A process that runs this test again, as `role`.
pub fn child(test: &str, role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(CHILD, role);
    command
}

/// Runs a test in a process of its own, with these devices.
pub fn with_devices(test: &str, devices: &str, body: impl FnOnce()) {
    if is_child("alone") {
        return body();
    }
    let status = child(test, "alone").env("VERBS_SIM", devices).status().unwrap();
    assert!(status.success(), "{status}");
}
