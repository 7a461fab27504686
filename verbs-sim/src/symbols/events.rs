//! Taking and acknowledging events.

use super::{EventChannel, OpenContext, set_errno};
use crate::events::Subject;
use crate::state::{lock, simulation};
use crate::types::*;
use libc::{c_int, c_void};
use std::os::fd::{BorrowedFd, RawFd};

/// Waits until a descriptor has counted an event, and takes it from the count; or fails, and `errno` says why:
/// `EAGAIN`, if there is none and the descriptor is not to wait.
fn count_down(descriptor: RawFd) -> bool {
    // SAFETY: X1: its object, which is not destroyed during the call, has it open.
    let counter = unsafe { BorrowedFd::borrow_raw(descriptor) };
    let counted = rustix::io::read(counter, &mut [0; 8]);
    if let Err(error) = counted {
        set_errno(error.raw_os_error());
    }
    counted.is_ok()
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ibv_get_cq_event(
    channel: *mut ibv_comp_channel,
    cq: *mut *mut ibv_cq,
    cq_context: *mut *mut c_void,
) -> c_int {
    // SAFETY: X1, X3.
    let channel = unsafe { &*channel.cast::<EventChannel>() };
    let found = loop {
        if !count_down(channel.base.fd) {
            return -1;
        }
        let mut state = lock();
        let events = state.channels.get_mut(&channel.handle).map(|channel| &mut channel.events);
        let Some(handle) = events.and_then(|events| events.take()) else { continue };
        *state.unacknowledged.entry(handle).or_default() += 1;
        if let Some(queue) = state.queues.get(&handle) {
            break queue.address as *mut ibv_cq;
        }
    };
    // SAFETY: X1.
    unsafe { cq.write(found) };
    // SAFETY: X3: it is not destroyed before this event is acknowledged.
    let user = unsafe { (*found).cq_context };
    // SAFETY: X1.
    unsafe { cq_context.write(user) };
    0
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ibv_ack_cq_events(cq: *mut ibv_cq, count: u32) {
    // SAFETY: X1.
    let handle = unsafe { (*cq).handle };
    lock().acknowledge(handle, count);
    simulation().acknowledged.notify_all();
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ibv_get_async_event(
    context: *mut ibv_context,
    into: *mut ibv_async_event,
) -> c_int {
    // SAFETY: X1, X3.
    let context = unsafe { &*context.cast::<OpenContext>() };
    let found = loop {
        if !count_down(context.base.async_fd) {
            return -1;
        }
        let mut state = lock();
        let events = state.contexts.get_mut(&context.handle).map(|context| &mut context.events);
        let Some(event) = events.and_then(|events| events.take()) else { continue };
        if let Some(handle) = event.subject.handle() {
            *state.unacknowledged.entry(handle).or_default() += 1;
        }
        break event;
    };
    let element = match found.subject {
        Subject::Queue { address, .. } => ibv_async_event__bindgen_ty_1 { cq: address as *mut ibv_cq },
        Subject::Pair { address, .. } => ibv_async_event__bindgen_ty_1 { qp: address as *mut ibv_qp },
        Subject::Port(port) => ibv_async_event__bindgen_ty_1 { port_num: port.into() },
        Subject::Device => ibv_async_event::default().element,
    };
    // SAFETY: X1.
    unsafe { into.write(ibv_async_event { element, event_type: found.kind }) };
    0
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ibv_ack_async_event(event: *mut ibv_async_event) {
    // SAFETY: X1.
    let event = unsafe { &*event };
    let handle = match event.event_type {
        IBV_EVENT_CQ_ERR => {
            // SAFETY: X1: such an event has a completion queue.
            let cq = unsafe { event.element.cq };
            // SAFETY: X3: it is not destroyed before this.
            unsafe { (*cq).handle }
        }
        IBV_EVENT_QP_FATAL | IBV_EVENT_QP_REQ_ERR | IBV_EVENT_QP_ACCESS_ERR | IBV_EVENT_COMM_EST => {
            // SAFETY: X1: such an event has a queue pair.
            let qp = unsafe { event.element.qp };
            // SAFETY: X3: it is not destroyed before this.
            unsafe { (*qp).handle }
        }
        _ => return,
    };
    lock().acknowledge(handle, 1);
    simulation().acknowledged.notify_all();
}
