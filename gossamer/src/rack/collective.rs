//! Collective operations of all nodes. Each is called by one fiber of each node, in the same order everywhere, like
//! the collectives of MPI; [`on_each_node`] starts such fibers.

use crate::rack::round::{Collective, CollectiveRound, Participants};
use crate::rack::topology::{in_fiber, nodes};
use crate::trust::{FibersOfCall, refuse_while_unwinding, spawn_on_with};
use crate::wire::captured::Captured;
use crate::wire::encoder::Encoder;
use crate::worker::nodes::rounds::NODES;
use crate::worker::{Worker, with_worker};
use crate::{NoRef, WithoutCaptures};

/// Runs `f` in a fiber on each node, on its first worker, and returns the results in the order of nodes. `arguments`
/// are cloned for each node. If one of the fibers panics, or the caller is cancelled, the others are cancelled.
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
/// If `f` panics, or cannot go to other nodes ([Delegated closures](crate::Trust#delegated-closures)); where the caller
/// cannot wait; on a thread that is not a worker; and while the caller unwinds from a panic.
#[track_caller]
pub fn on_each_node<C: NoRef + Clone, U: NoRef, F>(f: F, arguments: C) -> Vec<U>
where
    F: FnOnce(C) -> U + Send + WithoutCaptures + 'static,
{
    refuse_while_unwinding("starts fibers on each node and waits for them", "do it before");
    let mut fibers = FibersOfCall::new();
    // Not `map`, whose closure would be named as the caller when a panic is reported.
    for node in nodes() {
        let first = node.workers()[0];
        fibers.push(spawn_on_with(first, f, arguments.clone()));
    }
    fibers.joined()
}

/// As written by the macros (see `trust::arguments_first`).
#[doc(hidden)]
#[inline(always)]
#[track_caller]
pub fn on_each_node_with_arguments_first<C: Captured + Clone, U: NoRef, F>(arguments: C, f: F) -> Vec<U>
where
    F: FnOnce(C) -> U + Send + Copy + 'static,
{
    on_each_node(f, arguments)
}

/// Waits until every node has called it: in a closure that [`on_each_node`] runs, for example. `main` runs on node 0
/// only, so if it calls this itself, no other node does, and it waits for ever.
///
/// With `n` nodes a collective takes `2 (n - 1)` messages, at most `2 log2 n - 1` of them one after another (`log2 n`
/// rounded up), and a node sends and receives at most `log2 n`: a reduction up a binomial tree, and the result down. A
/// message carries the contribution, the names of the call and the type, and 40 bytes; messages of a fiber that is not
/// on the first worker of its node go through that worker.
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// use gossamer::rack;
/// rack::on_each_node(|()| rack::barrier(), ()); // here there is one node; with several they wait for each other
/// # });
/// ```
///
/// # Panics
/// If another node calls a different collective, on all nodes; or if the fiber of another node leaves this one, by a
/// panic or because it is cancelled, before it has contributed what this node needs. The message names the node. In a
/// delegated closure or a callback, which cannot wait, on a thread that is not a worker, and in a fiber that unwinds
/// from a panic, since other nodes may depend on fibers of its worker.
#[track_caller]
pub fn barrier() {
    meet(Collective::of::<()>("rack::barrier"), (), |(), ()| ());
}

/// Gives every node the values of all, in the order of nodes. It takes the messages of a [`barrier`].
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// use gossamer::rack;
/// let indices = rack::on_each_node(|()| rack::gather(rack::this_node().index()), ());
/// assert_eq!(indices, [[0]]); // alone; with more nodes each gets all indices
/// # });
/// ```
///
/// # Panics
/// Like [`barrier`]; and if the value cannot leave its node.
#[track_caller]
pub fn gather<U: NoRef + Clone>(value: U) -> Vec<U> {
    meet(Collective::of::<U>("rack::gather"), vec![value], |mut all, more| {
        all.extend(more);
        all
    })
}

/// Combines the values of the nodes, in order, and gives every node the result. It takes the messages of a
/// [`barrier`], with one value in each.
///
/// `combine` must be associative: the grouping depends only on the number of nodes. Two of the nodes each combine the
/// last two halves, so `combine` must also be deterministic.
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// use gossamer::rack;
/// let workers = rack::on_each_node(|()| rack::all_reduce(rack::this_node().workers().len(), |one, other| one + other), ());
/// assert_eq!(workers, [2]); // every node gets the sum over all nodes
/// # });
/// ```
///
/// # Panics
/// Like [`gather`], and if `combine` panics.
#[track_caller]
pub fn all_reduce<U: NoRef + Clone>(value: U, combine: impl FnMut(U, U) -> U) -> U {
    meet(Collective::of::<U>("rack::all_reduce"), value, combine)
}

/// Gives every node the value of one of them; the others pass `None`. It takes the messages of a [`barrier`].
///
/// ```
/// use gossamer::{Config, rack};
/// let plans = rack::run_in_process(2, Config::default().threads(1), || {
///     rack::on_each_node(
///         const {
///             |()| {
///                 let plan = (rack::this_node().index() == 0).then(|| "go north".to_owned()); // made once
///                 rack::broadcast(plan)
///             }
///         },
///         (),
///     )
/// });
/// assert_eq!(plans, ["go north", "go north"]);
/// ```
///
/// # Panics
/// Like [`gather`]; and if no node passes a value. If several do, the first one wins.
#[track_caller]
pub fn broadcast<U: NoRef + Clone>(value: Option<U>) -> U {
    match meet(Collective::of::<U>("rack::broadcast"), value, Option::or) {
        Some(value) => value,
        None => panic!("`rack::broadcast`: no node passed a value: pass `Some` on one of them"),
    }
}

/// Takes part in the next round of this node.
#[track_caller]
fn meet<U: NoRef + Clone>(call: Collective, value: U, combine: impl FnMut(U, U) -> U) -> U {
    refuse_while_unwinding("waits for all nodes", "come to the collective before");
    let round = in_fiber(call.name, |here| {
        let participants = Participants {
            team: NODES,
            worker_of: |here: &Worker, node| here.first_of_node(node as usize),
            one: "node",
            rule: "collectives are called by one fiber of each node, in the same order everywhere",
        };
        Leaving(CollectiveRound::new(participants, here.tree_of_nodes(), here.come_to_round(), call), call)
    });
    if round.0.is_alone() {
        // The same error as with several nodes, where the value would have to travel.
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

/// Tells the others if this node leaves a round before it has the result.
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
