//! [`Node`]: a process of the application.

use crate::trust::{NoRef, Trustee};
use crate::wire::decoder::Decoder;
use crate::wire::encoder::Encoder;
use crate::wire::refusal::Malformed;
use crate::worker::{self, Worker, no_runtime, require_fiber};

/// One process of an application. A program that runs alone is node 0 of 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Node(u32);

// SAFETY: a plain number, the same on all nodes.
#[expect(unsafe_code, reason = "`NoRef` is an unsafe trait; no memory is touched here")]
unsafe impl NoRef for Node {
    fn encode(self, to: &mut Encoder) {
        self.0.encode(to);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        u32::decode(from).map(Self)
    }
}

impl Node {
    /// Its index in [`nodes`], from 0.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::rack;
    /// let indices: Vec<_> = rack::nodes().into_iter().map(rack::Node::index).collect();
    /// assert_eq!(indices, [0]); // alone
    /// # });
    /// ```
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Its workers, in order.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::rack;
    /// assert_eq!(rack::this_node().workers(), gossamer::Trustee::all()); // alone
    /// # });
    /// ```
    ///
    /// # Panics
    /// On a thread that is not a worker.
    pub fn workers(self) -> Vec<Trustee> {
        on_worker("rack::Node::workers", |here| match &here.shared.peers {
            Some(peers) if self.index() < peers.nodes() => trustees(here, peers.workers_of(self.index())),
            None if self.0 == 0 => trustees(here, 0..here.shared.workers()),
            _ => Vec::new(),
        })
    }
}

fn trustees(here: &Worker, workers: std::ops::Range<usize>) -> Vec<Trustee> {
    workers.map(|worker| Trustee::numbered(here.shared.base + worker as u32)).collect()
}

/// All nodes of the application, in order.
///
/// ```
/// # use gossamer::{Config, rack};
/// let workers = rack::run_in_process(2, Config::default().threads(3), || {
///     rack::nodes().into_iter().map(|node| node.workers().len()).collect::<Vec<_>>()
/// });
/// assert_eq!(workers, [3, 3]);
/// ```
///
/// # Panics
/// On a thread that is not a worker.
#[track_caller]
pub fn nodes() -> Vec<Node> {
    on_worker("rack::nodes", |here| {
        let nodes = here.shared.peers.as_ref().map_or(1, |peers| peers.nodes());
        (0..nodes as u32).map(Node).collect()
    })
}

/// The node that runs the caller.
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// use gossamer::rack;
/// assert_eq!(rack::this_node().index(), 0);
/// # });
/// ```
///
/// # Panics
/// On a thread that is not a worker.
#[track_caller]
pub fn this_node() -> Node {
    on_worker("rack::this_node", |here| {
        Node(here.shared.peers.as_ref().map_or(0, |peers| peers.node()) as u32)
    })
}

/// The workers of all nodes, in order, as [`Trustee::all`] gives them.
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// use gossamer::rack;
/// assert_eq!(rack::workers().len(), 2); // of all nodes
/// # });
/// ```
///
/// # Panics
/// On a thread that is not a worker.
#[track_caller]
pub fn workers() -> Vec<Trustee> {
    Trustee::all()
}

impl Trustee {
    /// The node of this worker.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::rack;
    /// let worker = gossamer::Trustee::all()[1];
    /// assert_eq!(worker.node(), rack::this_node());
    /// # });
    /// ```
    ///
    /// # Panics
    /// On a thread that is not a worker.
    #[track_caller]
    pub fn node(&self) -> Node {
        let index = self.index();
        on_worker("Trustee::node", |here| {
            Node(here.shared.peers.as_ref().map_or(0, |peers| peers.node_of(index)) as u32)
        })
    }
}

/// Like [`on_worker`], in a fiber.
#[track_caller]
pub(super) fn in_fiber<R>(call: &str, f: impl FnOnce(&Worker) -> R) -> R {
    // Not in the closure, whose line would be named.
    on_worker(call, |_| ());
    require_fiber(call);
    on_worker(call, f)
}

#[track_caller]
pub(super) fn on_worker<R>(call: &str, f: impl FnOnce(&Worker) -> R) -> R {
    match worker::with(|worker| worker.map(f)) {
        Some(result) => result,
        None => no_runtime(call, ""),
    }
}
