//! [`block_on`]: waiting for a future in a fiber.

use crate::sys::fibers::wait::Wait;
use crate::worker::fibers::wake;
use std::future::Future;

/// Waits for a future: a fiber lets the other fibers of its worker run meanwhile; a thread that is not a worker
/// sleeps.
///
/// So a fiber can use libraries that are written with futures, unless they need the reactor of another runtime (as
/// the sockets and timers of tokio do). The future is polled on the stack of its caller, so it need not be `Send` and
/// may borrow.
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(1), || {
/// let numbers = gossamer::entrust(vec![1, 2, 3]);
/// let (first, sum) = gossamer::block_on(async {
///     let first = numbers.apply_async(|numbers| numbers[0]);
///     let sum = numbers.apply_async(|numbers| numbers.iter().sum::<i32>());
///     (first.await, sum.await)
/// });
/// assert_eq!((first, sum), (1, 6));
/// # });
/// ```
///
/// # Panics
/// In a delegated closure or a callback, which cannot wait; and if the future does.
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    wake::block_on_in_turn(future, Wait::in_call("block_on"))
}
