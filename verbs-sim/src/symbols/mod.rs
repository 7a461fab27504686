//! The exported symbols: objects of C, and calls that find what belongs to them in the state.

mod control;
mod devices;
mod events;
mod objects;
mod queue_pairs;
mod work;

#[cfg(test)]
pub(crate) use {control::*, devices::*, events::*, objects::*, queue_pairs::*};

use crate::types::*;
use libc::c_int;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

/// A device in a list.
#[repr(C)]
struct ListedDevice {
    base: ibv_device,
    index: usize,
}

#[repr(C)]
struct OpenContext {
    base: ibv_context,
    handle: u32,
    /// To which `base` points.
    device: Box<ListedDevice>,
}

#[repr(C)]
struct EventChannel {
    base: ibv_comp_channel,
    handle: u32,
}

#[repr(C)]
struct PolledQueue {
    base: ibv_cq,
    available: Arc<AtomicU32>,
}

const MUTEX: pthread_mutex_t = pthread_mutex_t([0; _]);
const CONDITION: pthread_cond_t = pthread_cond_t([0; _]);

fn set_errno(error: c_int) {
    // SAFETY: this thread's own.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: likewise.
    unsafe { place.write(error) };
}

/// The result of a call that returns an object: null, and the reason in `errno`.
fn object<T, B>(made: Result<Box<T>, c_int>) -> *mut B {
    match made {
        Ok(made) => Box::into_raw(made).cast(),
        Err(error) => {
            set_errno(error);
            std::ptr::null_mut()
        }
    }
}

/// The result of a call that returns an error number.
fn status(done: Result<(), c_int>) -> c_int {
    done.err().unwrap_or(0)
}

/// The handle of an open context.
///
/// # Safety
/// X1.
unsafe fn handle_of(context: *mut ibv_context) -> u32 {
    // SAFETY: the caller's; each context is one of ours (X3).
    unsafe { (*context.cast::<OpenContext>()).handle }
}
