//! The calls of `ibv_context.ops`: what is posted, what is polled.

use super::PolledQueue;
use crate::state::lock;
use crate::types::*;
use libc::{EINVAL, c_int};
use std::sync::atomic::Ordering;

/// # Safety
/// X1.
pub(super) unsafe extern "C" fn poll_cq(cq: *mut ibv_cq, count: c_int, into: *mut ibv_wc) -> c_int {
    // SAFETY: X1, X3.
    let queue = unsafe { &*cq.cast::<PolledQueue>() };
    // Pairs with the Release store under the lock, which is taken next if there is something.
    if queue.available.load(Ordering::Acquire) == 0 {
        return 0;
    }
    let mut state = lock();
    let mut polled = 0;
    while polled < count
        && let Some(completion) = state.poll(queue.base.handle)
    {
        // SAFETY: X1: there is room for `count` of them.
        let place = unsafe { into.add(polled as usize) };
        // SAFETY: likewise.
        unsafe { place.write(completion) };
        polled += 1;
    }
    polled
}

/// # Safety
/// X1.
pub(super) unsafe extern "C" fn req_notify_cq(cq: *mut ibv_cq, solicited_only: c_int) -> c_int {
    // SAFETY: X1.
    let handle = unsafe { (*cq).handle };
    lock().arm(handle, solicited_only != 0).err().unwrap_or(0)
}

/// # Safety
/// X1.
pub(super) unsafe extern "C" fn post_send(
    qp: *mut ibv_qp,
    first: *mut ibv_send_wr,
    bad: *mut *mut ibv_send_wr,
) -> c_int {
    // SAFETY: X1.
    let handle = unsafe { (*qp).handle };
    let mut state = lock();
    state.counters.post_send += 1;
    let mut next = first;
    let mut error = 0;
    // SAFETY: X1: a list that ends with a null pointer.
    while let Some(wr) = unsafe { next.as_ref() } {
        // SAFETY: X1.
        let list = unsafe { elements(wr.sg_list, wr.num_sge) };
        // SAFETY: X1.
        let posted = list.and_then(|list| unsafe { state.post_send(handle, wr, list) });
        if let Err(found) = posted {
            // SAFETY: X1.
            unsafe { bad.write(next) };
            error = found;
            break;
        }
        next = wr.next;
    }
    state.wake();
    error
}

/// # Safety
/// X1.
pub(super) unsafe extern "C" fn post_recv(
    qp: *mut ibv_qp,
    first: *mut ibv_recv_wr,
    bad: *mut *mut ibv_recv_wr,
) -> c_int {
    // SAFETY: X1.
    let handle = unsafe { (*qp).handle };
    let mut state = lock();
    state.counters.post_recv += 1;
    let mut next = first;
    let mut error = 0;
    // SAFETY: X1: a list that ends with a null pointer.
    while let Some(wr) = unsafe { next.as_ref() } {
        if let Err(found) = state.post_receive(handle, wr) {
            // SAFETY: X1.
            unsafe { bad.write(next) };
            error = found;
            break;
        }
        next = wr.next;
    }
    state.wake();
    error
}

/// The scatter and gather list of a work request.
///
/// # Safety
/// X1.
unsafe fn elements<'a>(list: *const ibv_sge, count: c_int) -> Result<&'a [ibv_sge], c_int> {
    match usize::try_from(count) {
        Err(_) => Err(EINVAL),
        Ok(0) => Ok(&[]),
        // SAFETY: the caller's.
        Ok(count) => Ok(unsafe { std::slice::from_raw_parts(list, count) }),
    }
}
