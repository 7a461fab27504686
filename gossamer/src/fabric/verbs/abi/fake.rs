//! Functions of libibverbs that do nothing but record their calls: for tests of the owners.

use crate::fabric::verbs::abi::{Verbs, types::*};
use std::cell::{Cell, RefCell};
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::ptr::null_mut;
use std::sync::{Mutex, OnceLock};

thread_local! {
    static CALLS: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
    static REFUSED: Cell<Option<&'static str>> = const { Cell::new(None) };
    static EVENTS: Cell<usize> = const { Cell::new(0) };
    static INLINE: Cell<u32> = const { Cell::new(u32::MAX) };
    static ACCESS: Cell<u32> = const { Cell::new(u32::MAX) };
}

/// The functions called since the last time, on this thread.
pub(crate) fn calls() -> Vec<&'static str> {
    CALLS.take()
}

/// Makes a function that frees something fail, on this thread.
pub(crate) fn refuse(call: Option<&'static str>) {
    REFUSED.set(call);
}

/// Makes this many events arrive, on this thread.
pub(crate) fn bring_events(count: usize) {
    EVENTS.set(count);
}

/// Makes queue pairs with more inline bytes than this fail, on this thread.
pub(crate) fn limit_inline(bytes: u32) {
    INLINE.set(bytes);
}

/// How the last region was registered, on this thread.
pub(crate) fn last_access() -> u32 {
    ACCESS.get()
}

fn note(call: &'static str) {
    CALLS.with_borrow_mut(|calls| calls.push(call));
}

/// An object of the library, whose fields nothing reads, and which nothing frees.
fn object<T>(value: T) -> *mut T {
    // The pointer to it is kept, or the address sanitizer would call it a leak.
    static OBJECTS: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    let object = Box::into_raw(Box::new(value));
    OBJECTS.lock().unwrap().push(object.expose_provenance());
    object
}

fn free(call: &'static str) -> c_int {
    note(call);
    // EBUSY.
    if REFUSED.get() == Some(call) { 16 } else { 0 }
}

/// The number of a descriptor that a test does not need: one for all, which is never closed.
fn descriptor() -> c_int {
    static DESCRIPTOR: OnceLock<File> = OnceLock::new();
    DESCRIPTOR.get_or_init(|| File::open("/dev/null").unwrap()).as_raw_fd()
}

unsafe extern "C" fn list(count: *mut c_int) -> *mut *mut ibv_device {
    // SAFETY: guaranteed by the caller.
    unsafe { count.write(1) };
    // SAFETY: integers.
    let device: ibv_device = unsafe { std::mem::zeroed() };
    object(object(device))
}

unsafe extern "C" fn free_list(_: *mut *mut ibv_device) {}

unsafe extern "C" fn name(_: *mut ibv_device) -> *const c_char {
    c"fake0".as_ptr()
}

#[cfg(feature = "ibverbs")]
unsafe extern "C" fn guid(_: *mut ibv_device) -> u64 {
    1
}

#[cfg(feature = "ibverbs")]
unsafe extern "C" fn index(_: *mut ibv_device) -> c_int {
    0
}

unsafe extern "C" fn open(_: *mut ibv_device) -> *mut ibv_context {
    // SAFETY: integers, pointers and absent functions.
    let mut context: ibv_context = unsafe { std::mem::zeroed() };
    context.async_fd = descriptor();
    context.ops.poll_cq = Some(poll);
    context.ops.req_notify_cq = Some(arm);
    context.ops.post_send = Some(post_send);
    context.ops.post_recv = Some(post_receive);
    object(context)
}

unsafe extern "C" fn close(_: *mut ibv_context) -> c_int {
    free("close")
}

unsafe extern "C" fn query_device(_: *mut ibv_context, to: *mut ibv_device_attr) -> c_int {
    let attributes = ibv_device_attr { max_qp_wr: 256, max_sge: 4, phys_port_cnt: 2, ..Default::default() };
    // SAFETY: guaranteed by the caller.
    unsafe { to.write(attributes) };
    0
}

unsafe extern "C" fn query_port(_: *mut ibv_context, number: u8, to: *mut ibv_port_attr) -> c_int {
    let state = if number == 1 { IBV_PORT_ACTIVE } else { IBV_PORT_DOWN };
    let (link_layer, active_mtu) = (IBV_LINK_LAYER_ETHERNET, IBV_MTU_4096);
    let port = ibv_port_attr { state, link_layer, active_mtu, gid_tbl_len: 2, ..Default::default() };
    // SAFETY: guaranteed by the caller.
    unsafe { to.write(port) };
    0
}

unsafe extern "C" fn gids(
    _: *mut ibv_context,
    to: *mut ibv_gid_entry,
    most: usize,
    _: u32,
    _: usize,
) -> isize {
    assert_eq!(most, 4, "two of each port");
    let mut entry =
        ibv_gid_entry { port_num: 1, gid_index: 1, gid_type: IBV_GID_TYPE_ROCE_V2, ..Default::default() };
    entry.gid.raw = *b"\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\x07";
    // SAFETY: guaranteed by the caller.
    unsafe { to.write(entry) };
    1
}

/// Whether an event has arrived.
fn event() -> c_int {
    let left = EVENTS.get();
    EVENTS.set(left.saturating_sub(1));
    if left > 0 {
        return 0;
    }
    leave_try_again();
    -1
}

/// Leaves EAGAIN in `errno`, by a non-blocking read of an empty pipe.
fn leave_try_again() {
    use std::io::Read;
    let (reader, _writer) = std::io::pipe().unwrap();
    rustix::io::ioctl_fionbio(&reader, true).unwrap();
    assert!((&reader).read(&mut [0]).is_err());
}

unsafe extern "C" fn get_async(_: *mut ibv_context, to: *mut ibv_async_event) -> c_int {
    let mut event = ibv_async_event { event_type: IBV_EVENT_PORT_ERR, ..Default::default() };
    event.element.port_num = 1;
    // SAFETY: guaranteed by the caller.
    unsafe { to.write(event) };
    self::event()
}

unsafe extern "C" fn ack_async(_: *mut ibv_async_event) {
    note("ack async");
}

unsafe extern "C" fn alloc_pd(context: *mut ibv_context) -> *mut ibv_pd {
    object(ibv_pd { context, handle: 0 })
}

unsafe extern "C" fn dealloc_pd(_: *mut ibv_pd) -> c_int {
    free("domain")
}

unsafe extern "C" fn register(
    pd: *mut ibv_pd,
    addr: *mut c_void,
    length: usize,
    access: c_int,
) -> *mut ibv_mr {
    ACCESS.set(access as u32);
    object(ibv_mr { context: null_mut(), pd, addr, length, handle: 0, lkey: 7, rkey: 8 })
}

unsafe extern "C" fn deregister(_: *mut ibv_mr) -> c_int {
    free("region")
}

unsafe extern "C" fn create_channel(context: *mut ibv_context) -> *mut ibv_comp_channel {
    object(ibv_comp_channel { context, fd: descriptor(), refcnt: 0 })
}

unsafe extern "C" fn destroy_channel(_: *mut ibv_comp_channel) -> c_int {
    free("channel")
}

unsafe extern "C" fn create_cq(
    context: *mut ibv_context,
    cqe: c_int,
    _: *mut c_void,
    channel: *mut ibv_comp_channel,
    _: c_int,
) -> *mut ibv_cq {
    // SAFETY: integers and pointers.
    let queue: ibv_cq = unsafe { std::mem::zeroed() };
    object(ibv_cq { context, channel, cqe, ..queue })
}

unsafe extern "C" fn destroy_cq(_: *mut ibv_cq) -> c_int {
    free("completion queue")
}

unsafe extern "C" fn get_event(_: *mut ibv_comp_channel, _: *mut *mut ibv_cq, _: *mut *mut c_void) -> c_int {
    event()
}

unsafe extern "C" fn ack_events(_: *mut ibv_cq, count: c_uint) {
    assert_eq!(count, 1);
    note("ack");
}

unsafe extern "C" fn create_qp(pd: *mut ibv_pd, attributes: *mut ibv_qp_init_attr) -> *mut ibv_qp {
    // SAFETY: guaranteed by the caller.
    let attributes = unsafe { &mut *attributes };
    if attributes.cap.max_inline_data > INLINE.get() {
        // Leaves EINVAL in `errno`.
        assert!(std::fs::File::open("/dev/null").unwrap().set_len(0).is_err());
        return null_mut();
    }
    // SAFETY: integers and pointers.
    let pair: ibv_qp = unsafe { std::mem::zeroed() };
    object(ibv_qp { pd, qp_num: 17, ..pair })
}

unsafe extern "C" fn modify_qp(_: *mut ibv_qp, attributes: *mut ibv_qp_attr, _: c_int) -> c_int {
    // SAFETY: guaranteed by the caller.
    note(match unsafe { (*attributes).qp_state } {
        IBV_QPS_INIT => "init",
        IBV_QPS_RTR => "ready to receive",
        IBV_QPS_RTS => "ready to send",
        _ => "error",
    });
    0
}

unsafe extern "C" fn destroy_qp(_: *mut ibv_qp) -> c_int {
    free("queue pair")
}

unsafe extern "C" fn poll(_: *mut ibv_cq, room: c_int, to: *mut ibv_wc) -> c_int {
    let mut wc = ibv_wc {
        wr_id: 5,
        opcode: IBV_WC_RECV_RDMA_WITH_IMM,
        wc_flags: IBV_WC_WITH_IMM,
        ..Default::default()
    };
    wc.__bindgen_anon_1.imm_data = 0x0102_0304_u32.to_be();
    // SAFETY: guaranteed by the caller.
    unsafe { to.write(wc) };
    let next = to.wrapping_add(1);
    let failed = ibv_wc { status: IBV_WC_RETRY_EXC_ERR, vendor_err: 0x81, qp_num: 17, ..Default::default() };
    if room > 1 {
        // SAFETY: guaranteed by the caller.
        unsafe { next.write(failed) };
    }
    room.min(2)
}

unsafe extern "C" fn arm(_: *mut ibv_cq, _: c_int) -> c_int {
    note("arm");
    0
}

unsafe extern "C" fn post_send(_: *mut ibv_qp, _: *mut ibv_send_wr, _: *mut *mut ibv_send_wr) -> c_int {
    free("post send")
}

unsafe extern "C" fn post_receive(
    _: *mut ibv_qp,
    mut at: *mut ibv_recv_wr,
    _: *mut *mut ibv_recv_wr,
) -> c_int {
    while !at.is_null() {
        note("receive");
        // SAFETY: guaranteed by the caller.
        at = unsafe { (*at).next };
    }
    0
}

/// All of it.
pub(crate) static VERBS: Verbs = Verbs {
    ibv_get_device_list: list,
    ibv_free_device_list: free_list,
    ibv_get_device_name: name,
    #[cfg(feature = "ibverbs")]
    ibv_get_device_guid: guid,
    #[cfg(feature = "ibverbs")]
    ibv_get_device_index: index,
    ibv_open_device: open,
    ibv_close_device: close,
    ibv_query_device: query_device,
    ibv_query_port: query_port,
    _ibv_query_gid_table: gids,
    ibv_get_async_event: get_async,
    ibv_ack_async_event: ack_async,
    ibv_alloc_pd: alloc_pd,
    ibv_dealloc_pd: dealloc_pd,
    ibv_reg_mr: register,
    ibv_dereg_mr: deregister,
    ibv_create_comp_channel: create_channel,
    ibv_destroy_comp_channel: destroy_channel,
    ibv_create_cq: create_cq,
    ibv_destroy_cq: destroy_cq,
    ibv_get_cq_event: get_event,
    ibv_ack_cq_events: ack_events,
    ibv_create_qp: create_qp,
    ibv_modify_qp: modify_qp,
    ibv_destroy_qp: destroy_qp,
};
