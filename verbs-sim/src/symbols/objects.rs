//! Protection domains, memory regions, completion channels and completion queues.

use super::{CONDITION, EventChannel, MUTEX, PolledQueue, handle_of, object, status};
use crate::events::EventQueue;
use crate::memory::{self, Region};
use crate::state::{Channel, Domain, lock, simulation};
use crate::types::*;
use libc::{EBUSY, EINVAL, ENOMEM, EOPNOTSUPP, c_int, c_void};

/// Rights that can be asked for; and those that a device may ignore.
const KNOWN_RIGHTS: u32 = 0xf;
const OPTIONAL_RIGHTS: u32 = 0x3ff << 20;

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ibv_alloc_pd(context: *mut ibv_context) -> *mut ibv_pd {
    // SAFETY: X1.
    let owner = unsafe { handle_of(context) };
    let mut state = lock();
    let made = state.device_of(owner).and_then(|device| {
        let of_device =
            state.domains.values().filter(|domain| state.contexts[&domain.context].device == device);
        if of_device.count() >= state.devices[device].config.limits.max_pd as usize {
            return Err(ENOMEM);
        }
        let handle = state.new_handle();
        state.domains.insert(handle, Domain { context: owner });
        Ok(Box::new(ibv_pd { context, handle }))
    });
    object(made)
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ibv_dealloc_pd(pd: *mut ibv_pd) -> c_int {
    // SAFETY: X1.
    let handle = unsafe { (*pd).handle };
    let mut state = lock();
    let has_regions = state.regions.iter().any(|(_, region)| region.domain == handle);
    if has_regions || state.pairs.values().any(|pair| pair.domain == handle) {
        return EBUSY;
    }
    state.domains.remove(&handle);
    // SAFETY: X1, X3.
    drop(unsafe { Box::from_raw(pd) });
    0
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ibv_reg_mr(
    pd: *mut ibv_pd,
    address: *mut c_void,
    length: usize,
    access: c_int,
) -> *mut ibv_mr {
    // SAFETY: X1.
    let context = unsafe { (*pd).context };
    // SAFETY: X1.
    let domain = unsafe { (*pd).handle };
    // SAFETY: X1.
    let owner = unsafe { handle_of(context) };
    let made = register(owner, domain, address as u64, length as u64, access as u32);
    object(made.map(|(handle, lkey, rkey)| {
        Box::new(ibv_mr { context, pd, addr: address, length, handle, lkey, rkey })
    }))
}

/// The region's handle, and its local and its remote key.
fn register(
    context: u32,
    domain: u32,
    address: u64,
    length: u64,
    access: u32,
) -> Result<(u32, u32, u32), c_int> {
    let mut state = lock();
    let device = state.device_of(context)?;
    if access & !(KNOWN_RIGHTS | OPTIONAL_RIGHTS) != 0 {
        return Err(EOPNOTSUPP);
    }
    memory::check_registration(address, length, access)?;
    let limits = &state.devices[device].config.limits;
    let of_device =
        || state.regions.iter().map(|(_, region)| region).filter(|region| region.device == device);
    let pinned: u64 = of_device().map(Region::pinned).sum();
    let too_much = pinned + memory::pinned(address, length) > limits.memlock;
    if too_much || of_device().count() >= limits.max_mr as usize {
        return Err(ENOMEM);
    }
    let local_key = state.regions.free_key();
    let remote_key = loop {
        let key = state.regions.free_key();
        if key != local_key {
            break key;
        }
    };
    let handle = state.new_handle();
    let region = Region { device, context, domain, address, length, access, local_key, remote_key };
    state.regions.insert(handle, region);
    Ok((handle, local_key, remote_key))
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ibv_dereg_mr(region: *mut ibv_mr) -> c_int {
    // SAFETY: X1, X3.
    let region = unsafe { Box::from_raw(region) };
    lock().regions.remove(region.handle);
    0
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ibv_create_comp_channel(context: *mut ibv_context) -> *mut ibv_comp_channel {
    // SAFETY: X1.
    let owner = unsafe { handle_of(context) };
    let mut state = lock();
    let made = state.device_of(owner).and_then(|_| {
        let events = EventQueue::new().map_err(|error| error.raw_os_error())?;
        let base = ibv_comp_channel { context, fd: events.descriptor(), refcnt: 0 };
        let handle = state.new_handle();
        state.channels.insert(handle, Channel { context: owner, events });
        Ok(Box::new(EventChannel { base, handle }))
    });
    object(made)
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ibv_destroy_comp_channel(channel: *mut ibv_comp_channel) -> c_int {
    // SAFETY: X1, X3.
    let handle = unsafe { (*channel.cast::<EventChannel>()).handle };
    let mut state = lock();
    if state.queues.values().any(|queue| queue.channel == Some(handle)) {
        return EBUSY;
    }
    state.channels.remove(&handle);
    // SAFETY: X1, X3.
    drop(unsafe { Box::from_raw(channel.cast::<EventChannel>()) });
    0
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ibv_create_cq(
    context: *mut ibv_context,
    cqe: c_int,
    cq_context: *mut c_void,
    channel: *mut ibv_comp_channel,
    vector: c_int,
) -> *mut ibv_cq {
    // SAFETY: X1.
    let owner = unsafe { handle_of(context) };
    // SAFETY: X1, X3: null, or one of ours.
    let events = unsafe { channel.cast::<EventChannel>().as_ref() }.map(|channel| channel.handle);
    let mut state = lock();
    let made = if vector == 0 { state.create_queue(owner, cqe, events) } else { Err(EINVAL) };
    let made = made.map(|handle| {
        let queue = state.queues.get_mut(&handle).unwrap_or_else(|| unreachable!("just made"));
        let base = ibv_cq {
            context,
            channel,
            cq_context,
            handle,
            cqe: queue.capacity() as c_int,
            mutex: MUTEX,
            cond: CONDITION,
            comp_events_completed: 0,
            async_events_completed: 0,
        };
        let made = Box::new(PolledQueue { base, available: queue.available() });
        queue.address = &raw const *made as usize;
        made
    });
    object(made)
}

/// Waits until all events about it that were taken are acknowledged.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ibv_destroy_cq(cq: *mut ibv_cq) -> c_int {
    // SAFETY: X1.
    let handle = unsafe { (*cq).handle };
    let mut state = lock();
    if let Err(error) = state.remove_queue(handle) {
        return status(Err(error));
    }
    simulation().wait_for_acknowledgement(state, handle);
    // SAFETY: X1, X3.
    drop(unsafe { Box::from_raw(cq.cast::<PolledQueue>()) });
    0
}
