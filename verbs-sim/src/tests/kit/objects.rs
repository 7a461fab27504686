//! Domains, channels, queues, queue pairs and regions: each keeps what it was made of, and is destroyed when it is
//! dropped.

use super::contexts::{Context, Object};
use super::events::QueueEvent;
use crate::symbols::*;
use crate::types::*;
use std::ffi::{c_int, c_void};
use std::os::fd::RawFd;
use std::ptr::null_mut;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

/// The error with which destroying was refused. Where it was not, a test cannot go on.
fn refused(error: c_int) -> c_int {
    if error == 0 {
        eprintln!("an object in use was destroyed");
        std::process::abort();
    }
    error
}

pub struct Domain {
    object: Object<ibv_pd>,
    context: Arc<Context>,
}

impl Domain {
    pub fn new(context: &Arc<Context>) -> Option<Arc<Self>> {
        // SAFETY: T1.
        let object = Object::new(unsafe { ibv_alloc_pd(context.raw()) })?;
        Some(Arc::new(Self { object, context: context.clone() }))
    }

    /// Tries to destroy it while it is in use.
    pub fn destroy_in_use(&self) -> c_int {
        // SAFETY: T1: it was not destroyed; if it is now, the process ends.
        refused(unsafe { ibv_dealloc_pd(self.object.raw()) })
    }
}

impl Drop for Domain {
    fn drop(&mut self) {
        // SAFETY: T1: the last use.
        assert_eq!(unsafe { ibv_dealloc_pd(self.object.raw()) }, 0);
    }
}

pub struct Channel {
    object: Object<ibv_comp_channel>,
    _context: Arc<Context>,
}

impl Channel {
    pub fn new(context: &Arc<Context>) -> Option<Arc<Self>> {
        // SAFETY: T1.
        let object = Object::new(unsafe { ibv_create_comp_channel(context.raw()) })?;
        Some(Arc::new(Self { object, _context: context.clone() }))
    }

    pub fn descriptor(&self) -> RawFd {
        self.object.fields().fd
    }

    /// Waits for an event of a queue; or what the library returns instead.
    pub fn take_event(&self) -> Result<QueueEvent, c_int> {
        let (mut queue, mut user) = (null_mut(), null_mut());
        // SAFETY: T1; it writes two pointers.
        let status = unsafe { ibv_get_cq_event(self.object.raw(), &mut queue, &mut user) };
        if status == 0 { Ok(QueueEvent::new(queue)) } else { Err(status) }
    }

    /// Tries to destroy it while it is in use.
    pub fn destroy_in_use(&self) -> c_int {
        // SAFETY: T1: it was not destroyed; if it is now, the process ends.
        refused(unsafe { ibv_destroy_comp_channel(self.object.raw()) })
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        // SAFETY: T1: the last use.
        assert_eq!(unsafe { ibv_destroy_comp_channel(self.object.raw()) }, 0);
    }
}

pub struct Queue {
    object: Object<ibv_cq>,
    context: Arc<Context>,
    _channel: Option<Arc<Channel>>,
}

impl Queue {
    pub fn new(
        context: &Arc<Context>,
        entries: c_int,
        channel: Option<&Arc<Channel>>,
        vector: c_int,
    ) -> Option<Arc<Self>> {
        let to = channel.map_or(null_mut(), |channel| channel.object.raw());
        // SAFETY: T1.
        let object = Object::new(unsafe { ibv_create_cq(context.raw(), entries, null_mut(), to, vector) })?;
        Some(Arc::new(Self { object, context: context.clone(), _channel: channel.cloned() }))
    }

    pub(super) fn raw(&self) -> *mut ibv_cq {
        self.object.raw()
    }

    pub fn entries(&self) -> c_int {
        self.object.fields().cqe
    }

    pub fn arm(&self, solicited_only: bool) -> c_int {
        let arm = self.context.calls().req_notify_cq.unwrap();
        // SAFETY: T1.
        unsafe { arm(self.object.raw(), solicited_only.into()) }
    }

    pub fn poll(&self) -> Option<ibv_wc> {
        let (poll, mut wc) = (self.context.calls().poll_cq.unwrap(), ibv_wc::default());
        // SAFETY: T1; it writes one completion.
        match unsafe { poll(self.object.raw(), 1, &mut wc) } {
            0 => None,
            count => {
                assert_eq!(count, 1);
                Some(wc)
            }
        }
    }

    /// Tries to destroy it while it is in use.
    pub fn destroy_in_use(&self) -> c_int {
        // SAFETY: T1: it was not destroyed; if it is now, the process ends.
        refused(unsafe { ibv_destroy_cq(self.object.raw()) })
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: T1: the last use.
        assert_eq!(unsafe { ibv_destroy_cq(self.object.raw()) }, 0);
    }
}

pub struct Pair {
    object: Object<ibv_qp>,
    domain: Arc<Domain>,
    _queue: Arc<Queue>,
    /// Held by who accesses the state in C's structure.
    state: Mutex<()>,
    pub number: u32,
    pub granted: ibv_qp_cap,
}

impl Pair {
    /// One whose completions all go to the same queue.
    pub fn new(domain: &Arc<Domain>, queue: &Arc<Queue>, cap: ibv_qp_cap) -> Option<Self> {
        let (send_cq, recv_cq) = (queue.raw(), queue.raw());
        let mut init = ibv_qp_init_attr { send_cq, recv_cq, qp_type: IBV_QPT_RC, cap, ..Default::default() };
        // SAFETY: T1; it writes what is granted.
        let object = Object::new(unsafe { ibv_create_qp(domain.object.raw(), &mut init) })?;
        let (number, granted, state) = (object.fields().qp_num, init.cap, Mutex::new(()));
        Some(Self { object, domain: domain.clone(), _queue: queue.clone(), state, number, granted })
    }

    pub(super) fn raw(&self) -> *mut ibv_qp {
        self.object.raw()
    }

    pub fn state(&self) -> u32 {
        let _guard = self.state.lock().unwrap();
        self.object.fields().state
    }

    pub fn modify(&self, attributes: &mut ibv_qp_attr, mask: u32) -> c_int {
        let _guard = self.state.lock().unwrap();
        // SAFETY: T1; T2: it has the lock.
        unsafe { ibv_modify_qp(self.object.raw(), attributes, mask as c_int) }
    }

    /// The error, and the work request that was refused.
    ///
    /// # Safety
    /// A chain of work requests that ends with null, with their lists. What they send inline is readable.
    pub unsafe fn post(&self, first: *mut ibv_send_wr) -> (c_int, *mut ibv_send_wr) {
        let (post, mut bad) = (self.domain.context.calls().post_send.unwrap(), null_mut());
        // SAFETY: T1; the caller's.
        let error = unsafe { post(self.object.raw(), first, &mut bad) };
        (error, bad)
    }

    pub fn receive(&self, id: u64) -> c_int {
        let post = self.domain.context.calls().post_recv.unwrap();
        let mut wr = ibv_recv_wr { wr_id: id, ..Default::default() };
        // SAFETY: T1; a chain of one, without a list; it writes a pointer.
        unsafe { post(self.object.raw(), &mut wr, &mut null_mut()) }
    }

    pub fn data_in_order(&self) -> c_int {
        // SAFETY: T1.
        unsafe { ibv_query_qp_data_in_order(self.object.raw(), 0, 0) }
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        // SAFETY: T1: the last use.
        assert_eq!(unsafe { ibv_destroy_qp(self.object.raw()) }, 0);
    }
}

pub struct Region {
    object: Object<ibv_mr>,
    _domain: Arc<Domain>,
    /// Unless its maker sees to that.
    memory: Option<Arc<[AtomicU64]>>,
}

impl Region {
    /// # Safety
    /// As long as it exists, the memory is mapped, and others access it by atomic operations only; or its keys are not
    /// used.
    pub unsafe fn new(domain: &Arc<Domain>, address: *mut c_void, bytes: usize, access: u32) -> Option<Self> {
        // SAFETY: T1. It asks the kernel about the memory; T4 is the caller's.
        let made = unsafe { ibv_reg_mr(domain.object.raw(), address, bytes, access as c_int) };
        Some(Self { object: Object::new(made)?, _domain: domain.clone(), memory: None })
    }

    /// A region of all these words.
    pub fn of(domain: &Arc<Domain>, memory: &Arc<[AtomicU64]>, access: u32) -> Option<Self> {
        let address = memory.as_ptr().cast_mut().cast();
        // SAFETY: T4: atomics, which it keeps.
        let mut made = unsafe { Self::new(domain, address, size_of_val(&**memory), access) }?;
        made.memory = Some(memory.clone());
        Some(made)
    }

    pub fn local_key(&self) -> u32 {
        self.object.fields().lkey
    }

    pub fn remote_key(&self) -> u32 {
        self.object.fields().rkey
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: T1: the last use.
        assert_eq!(unsafe { ibv_dereg_mr(self.object.raw()) }, 0);
    }
}
