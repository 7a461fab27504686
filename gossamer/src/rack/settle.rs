//! [`wait_all`]: quiescence.

use crate::rack::topology::in_fiber;
use crate::structures::oneshot;
use crate::sys::fibers::wait::{Wait, WaitsOn};
use crate::trust::refuse_while_unwinding;
use crate::worker::fibers::wake::block_on_as;

/// Waits until all work is done, on all nodes: every fiber has ended, except those that wait here, and every request
/// has been answered, even those that nobody waits for. Use it for work that is started and not joined.
///
/// ```
/// # use gossamer::{Config, entrust, rack, spawn_with};
/// #[gossamer::delegate]
/// fn count() -> u64 {
///     let count = entrust(0_u64);
///     for _ in 0..100 {
///         let _detached = spawn_with(|count| count.apply_then(|count| *count += 1, drop), count.clone());
///     }
///     rack::wait_all();
///     count.apply(|count| *count)
/// }
/// assert_eq!(rack::run_in_process(2, Config::default(), count), 100);
/// ```
///
/// A fiber that waits for a timer, for a socket or for another fiber has not ended; so a fiber that others join must
/// not wait here meanwhile. Work that other threads send counts once it has arrived.
///
/// # Panics
/// In a delegated closure or a callback, which cannot wait, on a thread that is not a worker, and in a fiber that
/// unwinds from a panic, which keeps other fibers of its worker from ending.
#[track_caller]
pub fn wait_all() {
    refuse_while_unwinding("waits until all work is done", "wait before");
    let (sender, receiver) = oneshot::channel();
    let call = "rack::wait_all";
    let _waiting = in_fiber(call, |here| here.when_settled(move |outcome| sender.send(outcome)));
    // Closed only when the runtime ends, which unwinds this fiber.
    let _settled = block_on_as(receiver, Wait::in_call(call).on(WaitsOn::Others));
}
