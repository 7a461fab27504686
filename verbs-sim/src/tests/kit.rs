//! What tests are made of: connected ends, work requests, and waits that end.

use crate::symbols::*;
use crate::types::*;
use std::ffi::{CStr, c_int};
use std::os::fd::RawFd;
use std::process::Command;
use std::ptr::null_mut;
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

/// A queue pair with all that belongs to it, and registered memory.
pub struct End {
    pub plan: Plan,
    pub context: *mut ibv_context,
    pub domain: *mut ibv_pd,
    pub channel: *mut ibv_comp_channel,
    pub queue: *mut ibv_cq,
    pub pair: *mut ibv_qp,
    pub region: *mut ibv_mr,
    pub memory: Box<[AtomicU64]>,
    pub granted: ibv_qp_cap,
}

// The calls of libibverbs may come from any thread.
unsafe impl Sync for End {}

/// A context of a device by its place in the list.
pub fn open(device: usize) -> *mut ibv_context {
    unsafe {
        let list = ibv_get_device_list(null_mut());
        assert!(!list.is_null());
        let context = ibv_open_device(*list.add(device));
        ibv_free_device_list(list);
        assert!(!context.is_null());
        context
    }
}

pub fn errno() -> c_int {
    std::io::Error::last_os_error().raw_os_error().unwrap()
}

impl End {
    pub fn new(plan: Plan) -> Self {
        unsafe {
            let context = open(plan.device);
            let domain = ibv_alloc_pd(context);
            let channel = ibv_create_comp_channel(context);
            let queue = ibv_create_cq(context, plan.cqe, null_mut(), channel, 0);
            let mut init = ibv_qp_init_attr {
                send_cq: queue,
                recv_cq: queue,
                qp_type: IBV_QPT_RC,
                cap: plan.cap,
                ..Default::default()
            };
            let pair = ibv_create_qp(domain, &mut init);
            assert!(!pair.is_null(), "{}", errno());
            let memory: Box<[AtomicU64]> = (0..WORDS).map(|_| AtomicU64::new(0)).collect();
            let region = ibv_reg_mr(domain, memory.as_ptr() as *mut _, WORDS * 8, ALL as c_int);
            Self { plan, context, domain, channel, queue, pair, region, memory, granted: init.cap }
        }
    }

    pub fn place(&self) -> Place {
        let mut gid = ibv_gid::default();
        unsafe {
            assert_eq!(ibv_query_gid(self.context, self.plan.port, self.plan.gid.into(), &mut gid), 0);
            let (number, rkey) = ((*self.pair).qp_num, (*self.region).rkey);
            Place { number, psn: self.plan.psn, gid: gid.raw, address: self.memory.as_ptr() as u64, rkey }
        }
    }

    pub fn modify(&self, attributes: &mut ibv_qp_attr, mask: u32) -> c_int {
        unsafe { ibv_modify_qp(self.pair, attributes, (mask | IBV_QP_STATE) as c_int) }
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
        let lkey = unsafe { (*self.region).lkey };
        ibv_sge { addr: self.memory[first..].as_ptr() as u64, length: count as u32 * 8, lkey }
    }

    pub fn set(&self, first: usize, values: impl IntoIterator<Item = u64>) {
        for (word, value) in self.memory[first..].iter().zip(values) {
            word.store(value, Ordering::Relaxed);
        }
    }

    pub fn get(&self, word: usize) -> u64 {
        self.memory[word].load(Ordering::Acquire)
    }

    /// Posts a chain. If it is refused, returns the error and the place of the work request.
    pub fn try_post(&self, works: &[Work]) -> Result<(), (c_int, usize)> {
        let mut lists: Vec<Vec<ibv_sge>> = works.iter().map(|work| work.from.clone()).collect();
        let chain = works.iter().zip(&mut lists).map(|(work, list)| work.request(list));
        let mut chain: Vec<ibv_send_wr> = chain.collect();
        for index in 1..chain.len() {
            chain[index - 1].next = &raw mut chain[index];
        }
        let (first, mut bad) = (chain.as_mut_ptr(), null_mut());
        let error = unsafe { (*self.context).ops.post_send.unwrap()(self.pair, first, &mut bad) };
        let place = (bad as usize).wrapping_sub(first as usize) / size_of::<ibv_send_wr>();
        if error == 0 { Ok(()) } else { Err((error, place)) }
    }

    pub fn post(&self, works: &[Work]) {
        assert_eq!(self.try_post(works), Ok(()));
    }

    pub fn receive(&self, id: u64) -> c_int {
        let mut wr = ibv_recv_wr { wr_id: id, ..Default::default() };
        unsafe { (*self.context).ops.post_recv.unwrap()(self.pair, &mut wr, &mut null_mut()) }
    }

    pub fn arm(&self, solicited_only: bool) {
        let armed = unsafe { (*self.context).ops.req_notify_cq.unwrap()(self.queue, solicited_only.into()) };
        assert_eq!(armed, 0);
    }

    pub fn poll(&self) -> Option<ibv_wc> {
        let mut wc = ibv_wc::default();
        match unsafe { (*self.context).ops.poll_cq.unwrap()(self.queue, 1, &mut wc) } {
            0 => None,
            count => {
                assert_eq!(count, 1);
                Some(wc)
            }
        }
    }

    pub fn wait(&self) -> ibv_wc {
        wait_for(|| self.poll())
    }

    /// The next completions as name and status.
    pub fn statuses(&self, count: usize) -> Vec<(u64, u32)> {
        (0..count).map(|_| self.wait()).map(|wc| (wc.wr_id, wc.status)).collect()
    }

    /// The next event that is not about a completion; it is acknowledged.
    pub fn event(&self) -> u32 {
        unsafe {
            assert!(is_readable((*self.context).async_fd, 20_000), "no event came");
            let mut event = ibv_async_event::default();
            assert_eq!(ibv_get_async_event(self.context, &mut event), 0);
            ibv_ack_async_event(&mut event);
            event.event_type
        }
    }

    /// Takes an event of the completion queue.
    pub fn take_event(&self) {
        unsafe {
            assert!(is_readable((*self.channel).fd, 20_000), "no event came");
            let (mut queue, mut user) = (null_mut(), null_mut());
            assert_eq!(ibv_get_cq_event(self.channel, &mut queue, &mut user), 0);
            assert_eq!(queue, self.queue);
        }
    }
}

impl Drop for End {
    fn drop(&mut self) {
        unsafe {
            assert_eq!(ibv_destroy_qp(self.pair), 0);
            assert_eq!(ibv_destroy_cq(self.queue), 0);
            assert_eq!(ibv_destroy_comp_channel(self.channel), 0);
            assert_eq!(ibv_dereg_mr(self.region), 0);
            assert_eq!(ibv_dealloc_pd(self.domain), 0);
            assert_eq!(ibv_close_device(self.context), 0);
        }
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
    unsafe { libc::poll(&mut entry, 1, milliseconds) == 1 }
}

pub fn counter(name: &CStr) -> u64 {
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
