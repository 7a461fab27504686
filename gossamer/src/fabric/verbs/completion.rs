//! How completed work is reported: completion queues, and the channel on which they wake a sleeper.

use crate::fabric::verbs::abi::types::*;
use crate::fabric::verbs::context::DeviceContext;
use crate::fabric::verbs::words;
use rustix::io::ioctl_fionbio;
use std::ffi::{c_int, c_void};
use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

/// The channel that a sleeper watches.
pub(crate) struct CompletionChannel {
    raw: NonNull<ibv_comp_channel>,
    context: Arc<DeviceContext>,
}

// SAFETY: V4.
unsafe impl Send for CompletionChannel {}
// SAFETY: V4.
unsafe impl Sync for CompletionChannel {}

impl CompletionChannel {
    /// # Errors
    /// The process has no descriptor left, or the device is gone.
    pub(crate) fn new(context: &Arc<DeviceContext>) -> io::Result<Arc<Self>> {
        // SAFETY: V2, V3.
        let raw = unsafe { (context.verbs().ibv_create_comp_channel)(context.raw()) };
        let raw = NonNull::new(raw).ok_or_else(|| context.error("ibv_create_comp_channel", ""))?;
        let channel = Self { raw, context: Arc::clone(context) };
        ioctl_fionbio(channel.descriptor(), true)?;
        Ok(Arc::new(channel))
    }

    /// The descriptor that becomes readable when an armed completion queue gets a completion.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        // SAFETY: V3.
        let number = unsafe { self.raw.as_ref() }.fd;
        // SAFETY: V3: open as long as the channel is.
        unsafe { BorrowedFd::borrow_raw(number) }
    }

    /// Takes an event, if one has arrived. Returns whether one had.
    ///
    /// # Errors
    /// The device is gone.
    pub(crate) fn take_event(&self) -> io::Result<bool> {
        let (mut queue, mut of_queue): (*mut ibv_cq, *mut c_void) = (null_mut(), null_mut());
        let verbs = self.context.verbs();
        // SAFETY: V2, V3; it writes two pointers, and does not wait (`new`).
        if unsafe { (verbs.ibv_get_cq_event)(self.raw.as_ptr(), &mut queue, &mut of_queue) } != 0 {
            let error = io::Error::last_os_error();
            let is_none = matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted);
            return if is_none { Ok(false) } else { Err(self.context.error("ibv_get_cq_event", "")) };
        }
        // SAFETY: V7: the queue of the event that was taken, acknowledged once.
        unsafe { (verbs.ibv_ack_cq_events)(queue, 1) };
        Ok(true)
    }
}

impl Drop for CompletionChannel {
    fn drop(&mut self) {
        if self.context.is_here() {
            // SAFETY: V3: its completion queues are gone, since they kept it.
            unsafe { (self.context.verbs().ibv_destroy_comp_channel)(self.raw.as_ptr()) };
        }
    }
}

/// Where the completions of queue pairs are found.
pub(crate) struct CompletionQueue {
    raw: NonNull<ibv_cq>,
    poll: unsafe extern "C" fn(*mut ibv_cq, c_int, *mut ibv_wc) -> c_int,
    arm: unsafe extern "C" fn(*mut ibv_cq, c_int) -> c_int,
    context: Arc<DeviceContext>,
    _channel: Option<Arc<CompletionChannel>>,
}

// SAFETY: V4.
unsafe impl Send for CompletionQueue {}
// SAFETY: V4.
unsafe impl Sync for CompletionQueue {}

impl CompletionQueue {
    /// A queue with room for at least this many completions: no more than that may be under way. With a channel, it can
    /// be armed.
    ///
    /// # Errors
    /// The device cannot have so many entries, or is gone.
    ///
    /// # Panics
    /// If the channel belongs to another context.
    pub(crate) fn new(
        context: &Arc<DeviceContext>,
        entries: u32,
        channel: Option<&Arc<CompletionChannel>>,
    ) -> io::Result<Arc<Self>> {
        let operations = context.operations();
        let (Some(poll), Some(arm)) = (operations.poll_cq, operations.req_notify_cq) else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        let is_of_context = |channel: &Arc<CompletionChannel>| Arc::ptr_eq(&channel.context, context);
        assert!(channel.is_none_or(is_of_context), "a completion queue is of one context");
        let events = channel.map_or(null_mut(), |channel| channel.raw.as_ptr());
        let count = c_int::try_from(entries).unwrap_or(c_int::MAX);
        // SAFETY: V2, V3.
        let raw = unsafe { (context.verbs().ibv_create_cq)(context.raw(), count, null_mut(), events, 0) };
        let advice = || format!(" (a completion queue of {entries} entries)");
        let raw = NonNull::new(raw).ok_or_else(|| context.error("ibv_create_cq", &advice()))?;
        let (context, channel) = (Arc::clone(context), channel.map(Arc::clone));
        Ok(Arc::new(Self { raw, poll, arm, context, _channel: channel }))
    }

    pub(crate) fn context(&self) -> &Arc<DeviceContext> {
        &self.context
    }

    pub(crate) fn raw(&self) -> *mut ibv_cq {
        self.raw.as_ptr()
    }

    /// Takes completions, as many as there are and as fit. Returns how many of the first elements are new.
    ///
    /// # Errors
    /// The device is gone.
    pub(crate) fn poll(&self, completions: &mut [WorkCompletion]) -> io::Result<usize> {
        let room = c_int::try_from(completions.len()).unwrap_or(c_int::MAX);
        // SAFETY: V3; it writes at most this many completions, of the layout of `ibv_wc` (transparent).
        let found = unsafe { (self.poll)(self.raw(), room, completions.as_mut_ptr().cast()) };
        usize::try_from(found).map_err(|_| self.context.error("ibv_poll_cq", ""))
    }

    /// Makes the channel report the next completion. One that came before the queue was armed may go unreported: look
    /// once more.
    ///
    /// # Errors
    /// The device is gone.
    pub(crate) fn arm(&self) -> io::Result<()> {
        // SAFETY: V3.
        let status = unsafe { (self.arm)(self.raw(), 0) };
        self.context.checked("ibv_req_notify_cq", status, "")
    }
}

impl Drop for CompletionQueue {
    fn drop(&mut self) {
        if self.context.is_here() {
            // SAFETY: V3: its queue pairs are gone, since they kept it. V7: it does not wait.
            unsafe { (self.context.verbs().ibv_destroy_cq)(self.raw()) };
        }
    }
}

/// The completion of a work request.
#[repr(transparent)]
#[derive(Clone, Copy, Default)]
pub(crate) struct WorkCompletion(ibv_wc);

impl WorkCompletion {
    /// For tests of the code that handles completions.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn of(completion: ibv_wc) -> Self {
        Self(completion)
    }

    /// The name that the work request was given.
    pub(crate) fn id(&self) -> u64 {
        self.0.wr_id
    }

    /// The number of its queue pair.
    pub(crate) fn queue_pair(&self) -> u32 {
        self.0.qp_num
    }

    /// Why it failed, if it did.
    pub(crate) fn failure(&self) -> Option<CompletionFailure> {
        let (status, vendor) = (self.0.status, self.0.vendor_err);
        (status != IBV_WC_SUCCESS).then_some(CompletionFailure { status, vendor })
    }

    /// The immediate of the write that has taken a receive. Only for a work request that did not fail.
    pub(crate) fn immediate(&self) -> Option<u32> {
        let has = self.0.opcode == IBV_WC_RECV_RDMA_WITH_IMM && self.0.wc_flags & IBV_WC_WITH_IMM != 0;
        // SAFETY: any bytes are a valid number.
        has.then(|| u32::from_be(unsafe { self.0.__bindgen_anon_1.imm_data }))
    }
}

/// Why a work request failed. The first failure of a queue pair that is not a flush says why the queue pair failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CompletionFailure {
    /// `IBV_WC_…`.
    pub(crate) status: u32,
    /// The code that the maker of the device gives it.
    pub(crate) vendor: u32,
}

impl CompletionFailure {
    /// Whether it failed only because another work request had failed.
    pub(crate) fn is_flush(self) -> bool {
        self.status == IBV_WC_WR_FLUSH_ERR
    }
}

impl std::fmt::Display for CompletionFailure {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words = words::completion_status(self.status);
        write!(to, "{words} (status {}, vendor error {:#x})", self.status, self.vendor)
    }
}
