//! What all nodes do together. Each of these is called by one fiber of each node, in the same order everywhere, as
//! collectives of MPI are; [`on_each_node`] starts such fibers.

use crate::rack::topology::{nodes, on_worker};
use crate::sys::oneshot;
use crate::trust::{NoRef, spawn_on_with};
use crate::wire::value::{Decoder, Encoder};
use crate::worker::wake::block_on;

/// Runs `f` in a fiber on each node, on its first worker, and returns the results in the order of nodes. `arguments` are
/// cloned for each.
///
/// ```
/// # use gossamer::{Config, rack};
/// let sums = rack::run_in_process(3, Config::default(), || {
///     rack::on_each_node(
///         |base: usize| rack::all_reduce(base + rack::this_node().index(), |one, other| one + other),
///         10,
///     )
/// });
/// assert_eq!(sums, [33, 33, 33]);
/// ```
///
/// # Panics
/// If `f` panics or captures; where the caller cannot wait; and on a thread that is no worker.
#[track_caller]
pub fn on_each_node<C: NoRef + Clone, U: NoRef, F>(f: F, arguments: C) -> Vec<U>
where
    F: FnOnce(C) -> U + Send + Copy + 'static,
{
    let mut fibers = Vec::new();
    // Not `map`, whose closure would stand for the caller in the report of a panic.
    for node in nodes() {
        let first = node.workers()[0];
        fibers.push(spawn_on_with(first, f, arguments.clone()));
    }
    let mut results = Vec::new();
    for fiber in fibers {
        results.push(fiber.join());
    }
    results
}

/// Waits until every node has come here.
///
/// # Panics
/// In a delegated closure or a callback, which cannot wait, and on a thread that is no worker.
pub fn barrier() {
    gather(());
}

/// Gives every node what each of them brings, in the order of nodes.
///
/// # Panics
/// As [`barrier`]; and if the value cannot leave its node.
pub fn gather<U: NoRef>(value: U) -> Vec<U> {
    let bytes =
        Encoder::encoded(value).unwrap_or_else(|refused| panic!("{}", crate::lane::encoded::stays(refused)));
    let decode = |bytes: Vec<u8>| {
        Decoder::decoded::<U>(&bytes)
            .unwrap_or_else(|malformed| panic!("another node brought something else: {malformed}"))
    };
    gather_bytes(bytes).into_iter().map(decode).collect()
}

/// Combines what the nodes bring, in their order, and gives every node the result.
///
/// # Panics
/// As [`gather`].
pub fn all_reduce<U: NoRef>(value: U, combine: impl FnMut(U, U) -> U) -> U {
    match gather(value).into_iter().reduce(combine) {
        Some(combined) => combined,
        None => unreachable!("this node has brought a value"),
    }
}

/// Gives every node the value that one of them brings: the others bring `None`.
///
/// # Panics
/// As [`gather`]; and if no node brings a value. If several do, the first counts.
pub fn broadcast<U: NoRef>(value: Option<U>) -> U {
    match gather(value).into_iter().flatten().next() {
        Some(value) => value,
        None => panic!("`rack::broadcast`: no node has brought a value"),
    }
}

fn gather_bytes(bytes: Vec<u8>) -> Vec<Vec<u8>> {
    let (sender, receiver) = oneshot::channel();
    on_worker("gather", |here| {
        here.require_fiber("rack::gather");
        here.meet_all(bytes, move |outcome| sender.send(outcome));
    });
    let outcome = block_on(receiver, "rack::gather");
    let bytes = match outcome {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(error)) => panic!("{error}"),
        Err(_closed) => panic!("the runtime ended before all nodes had come to `rack::gather`"),
    };
    Decoder::decoded(&bytes).unwrap_or_else(|malformed| panic!("{malformed}"))
}
