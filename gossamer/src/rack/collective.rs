//! What all nodes do together. Each of these is called by one fiber of each node, in the same order everywhere, as
//! collectives of MPI are; [`on_each_node`] starts such fibers.

use crate::NoRef;
use crate::rack::round::{Collective, CollectiveRound, Participants};
use crate::rack::topology::{nodes, on_worker};
use crate::trust::{refuse_while_unwinding, spawn_on_with};
use crate::wire::captured::Captured;
use crate::wire::encoder::Encoder;
use crate::worker::nodes::rounds::NODES;
use crate::worker::{Worker, with_worker};

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
/// With `n` nodes a collective takes `2 (n - 1)` messages, at most `2 log2 n - 1` of them one after another (`log2 n` rounded up), and a node
/// sends and receives at most `log2 n`: a reduction up a binomial tree, and the result down. A message carries what is brought, the
/// names of the call and the type, and 40 bytes; from and to a fiber that is not on the first worker of its node it goes by way of that.
///
/// # Panics
/// If another node comes to another collective, on all nodes; or if its fiber leaves this one, by a panic or because it is cancelled,
/// before it has brought what this node needs. They say which node it was. In a delegated closure or a callback, which cannot wait, on a thread that is no worker, and in a fiber that unwinds from a
/// panic, since the other nodes may need fibers of its worker to come here.
#[track_caller]
pub fn barrier() {
    meet(Collective::of::<()>("rack::barrier"), (), |(), ()| ());
}

/// Gives every node what each of them brings, in the order of nodes. Messages as of [`barrier`].
///
/// # Panics
/// As [`barrier`]; and if the value cannot leave its node.
#[track_caller]
pub fn gather<U: NoRef + Clone>(value: U) -> Vec<U> {
    meet(Collective::of::<U>("rack::gather"), vec![value], |mut all, more| {
        all.extend(more);
        all
    })
}

/// Combines what the nodes bring, in their order, and gives every node the result. Messages as of [`barrier`], with one value in each.
///
/// `combine` is to be associative: which neighbours are combined first depends on the number of nodes, and on nothing else. Two of the
/// nodes combine the last two halves, each for itself, so it is to give the same for the same.
///
/// # Panics
/// As [`gather`], and if `combine` does.
#[track_caller]
pub fn all_reduce<U: NoRef + Clone>(value: U, combine: impl FnMut(U, U) -> U) -> U {
    meet(Collective::of::<U>("rack::all_reduce"), value, combine)
}

/// Gives every node the value that one of them brings: the others bring `None`. Messages as of [`barrier`].
///
/// # Panics
/// As [`gather`]; and if no node brings a value. If several do, the first counts.
#[track_caller]
pub fn broadcast<U: NoRef + Clone>(value: Option<U>) -> U {
    match meet(Collective::of::<U>("rack::broadcast"), value, Option::or) {
        Some(value) => value,
        None => panic!("`rack::broadcast`: no node has brought a value"),
    }
}

/// Comes to the next round of this node.
#[track_caller]
fn meet<U: NoRef + Clone>(call: Collective, value: U, combine: impl FnMut(U, U) -> U) -> U {
    refuse_while_unwinding("waits for all nodes", "come to the collective before");
    let round = on_worker(call.name, |here| {
        here.require_fiber(call.name);
        let participants = Participants {
            team: NODES,
            worker_of: |here: &Worker, node| here.first_of_node(node as usize),
            one: "node",
            rule: "collectives are called by one fiber of each node, in the same order everywhere",
        };
        Leaving(CollectiveRound::new(participants, here.tree_of_nodes(), here.come_to_round(), call), call)
    });
    if round.0.is_alone() {
        // As with others, to whom it would have to go.
        if let Err(refused) = Encoder::marshal(value.clone()) {
            panic!("`{}`: {}", call.name, refused.into_refusal());
        }
    }
    match round.0.meet(value, combine) {
        Ok(result) => result,
        Err(why) => {
            with_worker(|here| round.0.fail(here, &why));
            panic!("{why}")
        }
    }
}

/// A node that leaves a round before it has the result: the others are told.
struct Leaving<F: Fn(&Worker, u32) -> usize>(CollectiveRound<F>, Collective);

impl<F: Fn(&Worker, u32) -> usize> Drop for Leaving<F> {
    fn drop(&mut self) {
        with_worker(|here| {
            // When all end, all are cancelled.
            if std::thread::panicking() && !here.fibers.are_cancelled() {
                let node = here.tree_of_nodes().number;
                let Collective { name, .. } = self.1;
                self.0.fail(
                    here,
                    &format!("node {node} has left `{name}`: its fiber has panicked or was cancelled"),
                );
            }
        });
    }
}
