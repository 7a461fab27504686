//! Queue pairs.

use super::{CONDITION, MUTEX, handle_of, object};
use crate::queue_pairs::Owners;
use crate::state::{lock, simulation};
use crate::types::*;
use libc::{EINVAL, c_int};

/// What the newer form of `ibv_query_qp_data_in_order` is asked with, and what it answers: the whole message, and each
/// 128 bytes.
const RETURN_CAPABILITIES: u32 = 1;
const ALL_IN_ORDER: c_int = 3;

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ibv_create_qp(pd: *mut ibv_pd, init: *mut ibv_qp_init_attr) -> *mut ibv_qp {
    // SAFETY: X1.
    let init = unsafe { &mut *init };
    // SAFETY: X1.
    let send = unsafe { init.send_cq.as_ref() };
    // SAFETY: X1.
    let receive = unsafe { init.recv_cq.as_ref() };
    let (Some(send), Some(receive)) = (send, receive) else {
        return object::<ibv_qp, _>(Err(EINVAL));
    };
    // SAFETY: X1.
    let domain = unsafe { &*pd };
    // SAFETY: X1.
    let context = unsafe { handle_of(domain.context) };
    let owners =
        Owners { context, domain: domain.handle, send_queue: send.handle, receive_queue: receive.handle };
    let mut state = lock();
    let made = state.create_pair(&owners, init).map(|handle| {
        let pair = state.pairs.get_mut(&handle).unwrap_or_else(|| unreachable!("just made"));
        let made = Box::new(ibv_qp {
            context: domain.context,
            qp_context: init.qp_context,
            pd,
            send_cq: init.send_cq,
            recv_cq: init.recv_cq,
            srq: std::ptr::null_mut(),
            handle,
            qp_num: pair.number,
            state: pair.state,
            qp_type: init.qp_type,
            mutex: MUTEX,
            cond: CONDITION,
            events_completed: 0,
        });
        pair.address = &raw const *made as usize;
        made
    });
    object(made)
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ibv_modify_qp(
    qp: *mut ibv_qp,
    attributes: *mut ibv_qp_attr,
    mask: c_int,
) -> c_int {
    // SAFETY: X1.
    let handle = unsafe { (*qp).handle };
    // SAFETY: X1.
    let attributes = unsafe { &*attributes };
    let mut state = lock();
    match state.modify(handle, attributes, mask as u32) {
        Ok(entered) => {
            // SAFETY: X1; other calls access the field with this lock only.
            unsafe { (*qp).state = entered };
            0
        }
        Err(error) => error,
    }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ibv_query_qp(
    qp: *mut ibv_qp,
    attributes: *mut ibv_qp_attr,
    _mask: c_int,
    init: *mut ibv_qp_init_attr,
) -> c_int {
    // Before it looks at the whole of it, of which `ibv_modify_qp` may change a field.
    let state = lock();
    // SAFETY: X1.
    let qp = unsafe { &*qp };
    let Some(pair) = state.pairs.get(&qp.handle) else { return EINVAL };
    let (now, cap) = (pair.state, pair.capacity);
    let told = ibv_qp_attr { qp_state: now, cur_qp_state: now, cap, ..pair.attributes };
    let made = ibv_qp_init_attr {
        qp_context: qp.qp_context,
        send_cq: qp.send_cq,
        recv_cq: qp.recv_cq,
        cap,
        qp_type: qp.qp_type,
        sq_sig_all: pair.are_all_signalled.into(),
        ..ibv_qp_init_attr::default()
    };
    // SAFETY: X1.
    unsafe { attributes.write(told) };
    // SAFETY: X1.
    unsafe { init.write(made) };
    0
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ibv_query_qp_data_in_order(
    qp: *mut ibv_qp,
    _operation: u32,
    flags: u32,
) -> c_int {
    // SAFETY: X1.
    let handle = unsafe { (*qp).handle };
    let state = lock();
    let is_in_order = state.pairs.get(&handle).is_some_and(|pair| state.devices[pair.device].config.in_order);
    match (is_in_order, flags) {
        (false, _) => 0,
        (true, RETURN_CAPABILITIES) => ALL_IN_ORDER,
        (true, _) => 1,
    }
}

/// Waits until all events about it that were taken are acknowledged.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ibv_destroy_qp(qp: *mut ibv_qp) -> c_int {
    // SAFETY: X1.
    let handle = unsafe { (*qp).handle };
    let mut state = lock();
    state.remove_pair(handle);
    state.wake();
    simulation().wait_for_acknowledgement(state, handle);
    // SAFETY: X1, X3.
    drop(unsafe { Box::from_raw(qp) });
    0
}
