//! What the integration tests share: a watchdog, runtimes of a given size, counts of drops, figures of the process,
//! ports and child processes.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a helper of tests fails the test")]

mod child;
mod crosswise;
mod figures;
mod hangs;
mod ports;
mod rdma;
mod tally;
mod token;
mod traced;
mod watchdog;

pub use child::{Ended, in_child, isolated};
pub use crosswise::launch_crosswise;
pub use figures::{anonymous_bytes, cpu_time, descriptors, resident_bytes, threads};
pub use hangs::hang;
pub use ports::free_ports;
pub use rdma::{rdma_is_simulated, simulate_rdma, simulated_counter, with_rdma};
pub use tally::{Counted, Tally};
pub use token::token;
pub use traced::{SystemCalls, count_system_calls};
pub use watchdog::watched;

use gossamer::{Config, FabricChoice, Trustee, rack};
use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;
use std::time::Duration;

/// A configuration of `threads` workers that float over the processors, since tests run beside each other.
pub fn workers(threads: usize) -> Config {
    Config::default().threads(threads).pin(false)
}

/// Runs `body` as the first fiber of a runtime with `threads` workers, under the watchdog.
pub fn in_runtime(threads: usize, body: impl FnOnce() + Send + 'static) {
    watched(move || gossamer::run(workers(threads), body));
}

/// Runs `body` in a runtime of two workers, once with the caller's own trustee and once with the other: the local
/// and the remote path.
pub fn near_and_far(body: fn(Trustee)) {
    in_runtime(2, move || Trustee::all().into_iter().for_each(body));
}

/// Runs `body` on worker 0 of a rack of nodes, under the watchdog: with lanes in shared memory, over TCP, and over a simulated RDMA
/// device.
pub fn on_nodes(nodes: usize, threads: usize, body: impl Fn() + Copy + Send + 'static) {
    for fabric in fabrics() {
        watched(move || rack::run_in_process(nodes, workers(threads).fabric(fabric), body));
    }
}

/// The fabrics that join nodes, with a simulated device for RDMA. `GOSSAMER_TEST_FABRIC=shm`, `tcp` or `verbs` chooses
/// one of them.
pub fn fabrics() -> Vec<FabricChoice> {
    simulate_rdma();
    let all = [FabricChoice::Shm, FabricChoice::Tcp, FabricChoice::Verbs];
    all.into_iter().filter(|fabric| is_tested(*fabric)).collect()
}

/// Whether `GOSSAMER_TEST_FABRIC` allows this fabric.
pub fn is_tested(fabric: FabricChoice) -> bool {
    std::env::var("GOSSAMER_TEST_FABRIC").map_or(true, |only| fabric.to_string() == only)
}

/// The last of all workers; if there are several nodes, it belongs to another node.
///
/// # Panics
/// On a thread that is not a worker.
pub fn far() -> Trustee {
    Trustee::all().pop().expect("a runtime has workers")
}

/// Keeps a value until the process ends, without what a leak checker would call a leak, unlike `std::mem::forget`.
pub fn keep_for_ever(value: impl Any + Send) {
    static KEPT: Mutex<Vec<Box<dyn Any + Send>>> = Mutex::new(Vec::new());
    KEPT.lock().unwrap().push(Box::new(value));
}

/// Waits, as a fiber or a thread, until `done`; if that never comes, the watchdog ends the wait.
pub fn wait_until(mut done: impl FnMut() -> bool) {
    while !done() {
        gossamer::sleep(Duration::from_millis(1));
    }
}

/// The text of the panic in which `body` ends.
///
/// # Panics
/// If `body` does not panic, or the panic has no text.
pub fn panic_text<R>(body: impl FnOnce() -> R) -> String {
    let Err(payload) = panic::catch_unwind(AssertUnwindSafe(body)) else { panic!("there was no panic") };
    text_of(payload)
}

/// The message of a panic.
pub fn text_of(payload: Box<dyn Any + Send>) -> String {
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => (*payload.downcast::<&str>().expect("a panic whose payload is not text")).to_owned(),
    }
}
