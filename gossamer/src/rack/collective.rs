//! What all nodes do together. Each of these is called by one fiber of each node, in the same order everywhere, as
//! collectives of MPI are; [`on_each_node`] starts such fibers.

use crate::NoRef;
use crate::rack::topology::{nodes, on_worker, this_node};
use crate::structures::oneshot;
use crate::trust::{refuse_while_unwinding, spawn_on_with};
use crate::wire::captured::Captured;
use crate::wire::decoder::Decoder;
use crate::wire::encoder::Encoder;
use crate::worker::fibers::wake::block_on;
use foldhash::fast::FixedState;
use std::any::{TypeId, type_name};
use std::hash::BuildHasher;

/// Runs `f` in a fiber on each node, on its first worker, and returns the results in the order of nodes. `arguments` are
/// cloned for each.
///
/// ```
/// # use gossamer::{Config, rack};
/// let sums = rack::run_in_process(3, Config::default(), || {
///     rack::on_each_node(
///         const { |base: usize| rack::all_reduce(base + rack::this_node().index(), |one, other| one + other) },
///         10,
///     )
/// });
/// assert_eq!(sums, [33, 33, 33]);
/// ```
///
/// # Panics
/// If `f` panics, captures, or does not go to other nodes ([Delegated closures](crate::Trust#delegated-closures)); where the caller
/// cannot wait; on a thread that is no worker; and while the caller unwinds from a panic.
#[track_caller]
pub fn on_each_node<C: NoRef + Clone, U: NoRef, F>(f: F, arguments: C) -> Vec<U>
where
    F: FnOnce(C) -> U + Send + Copy + 'static,
{
    refuse_while_unwinding("starts fibers on each node and waits for them", "do it before");
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

/// As the macros write it (`trust::arguments_first`).
#[doc(hidden)]
#[inline(always)]
#[track_caller]
pub fn on_each_node_with_arguments_first<C: Captured + Clone, U: NoRef, F>(arguments: C, f: F) -> Vec<U>
where
    F: FnOnce(C) -> U + Send + Copy + 'static,
{
    on_each_node(f, arguments)
}

/// Waits until every node has come here.
///
/// # Panics
/// In a delegated closure or a callback, which cannot wait, on a thread that is no worker, and in a fiber that unwinds from a
/// panic, since the other nodes may need fibers of its worker to come here.
#[track_caller]
pub fn barrier() {
    meet("barrier", ());
}

/// Gives every node what each of them brings, in the order of nodes.
///
/// # Panics
/// As [`barrier`]; and if the value cannot leave its node.
#[track_caller]
pub fn gather<U: NoRef + Clone>(value: U) -> Vec<U> {
    meet("gather", value)
}

/// Combines what the nodes bring, in their order, and gives every node the result.
///
/// # Panics
/// As [`gather`].
#[track_caller]
pub fn all_reduce<U: NoRef + Clone>(value: U, combine: impl FnMut(U, U) -> U) -> U {
    match meet("all_reduce", value).into_iter().reduce(combine) {
        Some(combined) => combined,
        None => unreachable!("this node has brought a value"),
    }
}

/// Gives every node the value that one of them brings: the others bring `None`.
///
/// # Panics
/// As [`gather`]; and if no node brings a value. If several do, the first counts.
#[track_caller]
pub fn broadcast<U: NoRef + Clone>(value: Option<U>) -> U {
    match meet("broadcast", value).into_iter().flatten().next() {
        Some(value) => value,
        None => panic!("`rack::broadcast`: no node has brought a value"),
    }
}

/// What a node brings to a round.
#[derive(NoRef)]
struct Brought {
    /// What is called there, and with which type: the same on all nodes.
    call: String,
    kind: u64,
    /// The value for each node; one for all if it can be had twice.
    values: Vec<Vec<u8>>,
}

/// Comes to the next round of this node, and waits for the others.
#[track_caller]
fn meet<U: NoRef + Clone>(call: &str, value: U) -> Vec<U> {
    refuse_while_unwinding("waits for all nodes", "come to the collective before");
    let node = this_node().index();
    let own = Brought {
        call: format!("rack::{call}::<{}>", type_name::<U>()),
        kind: FixedState::with_seed(0).hash_one((TypeId::of::<U>(), call)),
        values: Encoder::encoded_for(nodes().len(), &value)
            .unwrap_or_else(|refused| panic!("`rack`: {}", refused.into_refusal())),
    };
    let (own_call, kind) = (own.call.clone(), own.kind);
    let bytes = Encoder::encoded(own).unwrap_or_else(|refused| panic!("{}", refused.into_refusal()));
    let decode = |(other, bytes): (usize, Vec<u8>)| {
        let brought = Decoder::decoded::<Brought>(&bytes).unwrap_or_else(|malformed| panic!("{malformed}"));
        // Before a value is looked at: it is of this type only if this is the same.
        assert!(
            brought.kind == kind,
            "node {node} came to `{own_call}` and node {other} to `{}`: collectives are called by one fiber of each node, in \
             the same order everywhere",
            brought.call
        );
        let value = brought.values.get(node).or(brought.values.first()).map(Vec::as_slice);
        Decoder::decoded(value.unwrap_or_default()).unwrap_or_else(|malformed| panic!("{malformed}"))
    };
    gather_bytes(bytes).into_iter().enumerate().map(decode).collect()
}

fn gather_bytes(bytes: Vec<u8>) -> Vec<Vec<u8>> {
    let (sender, receiver) = oneshot::channel();
    on_worker("rack::gather", |here| {
        here.require_fiber("rack::gather");
        here.meet_all(bytes, move |outcome| sender.send(outcome));
    });
    let outcome = block_on(receiver, "rack::gather");
    let mut all = match outcome {
        Ok(Ok(all)) => all,
        Ok(Err(error)) => panic!("{error}"),
        Err(_closed) => panic!("the runtime ended before all nodes had come to `rack::gather`"),
    };
    Decoder::decoded_rows(&mut all).unwrap_or_else(|malformed| panic!("{malformed}"))
}
