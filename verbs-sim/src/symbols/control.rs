//! Symbols that libibverbs does not have: counters, and faults on demand.

use super::status;
use crate::events::Subject;
use crate::state::{State, lock};
use libc::{EINVAL, c_char, c_int};
use std::ffi::CStr;

/// A counter by its name, or the largest number, if there is none of that name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn verbs_sim_counter(name: *const c_char) -> u64 {
    // SAFETY: X1: a string.
    let name = unsafe { CStr::from_ptr(name) };
    name.to_str().ok().and_then(|name| lock().counter(name)).unwrap_or(u64::MAX)
}

/// Work requests of a queue pair that have not ended, and completions in its queues that were not polled.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn verbs_sim_under_way(number: u32) -> u64 {
    lock().under_way(number)
}

/// Ends the oldest, or the next, work request of a queue pair with a status; with 0 the queue pair fails by itself.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn verbs_sim_break(number: u32, with: u32) -> c_int {
    status(lock().break_pair(number, with))
}

/// A device, by its place in the configuration, fails for good.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn verbs_sim_device_fatal(device: c_int) -> c_int {
    status(with_device(device, |state, device| {
        state.fail_device(device);
        Ok(())
    }))
}

/// A port goes down, or comes up.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn verbs_sim_port(device: c_int, port: u8, is_active: c_int) -> c_int {
    status(with_device(device, |state, device| state.set_port(device, port, is_active != 0)))
}

/// Tells of an event at a port, of which nothing else follows: `IBV_EVENT_GID_CHANGE`, for one.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn verbs_sim_event(device: c_int, port: u8, kind: u32) -> c_int {
    status(with_device(device, |state, device| {
        state.tell_device(device, kind, Subject::Port(port));
        Ok(())
    }))
}

fn with_device(device: c_int, act: impl FnOnce(&mut State, usize) -> Result<(), c_int>) -> Result<(), c_int> {
    let mut state = lock();
    let device = usize::try_from(device).ok().filter(|device| *device < state.devices.len());
    act(&mut state, device.ok_or(EINVAL)?)
}
