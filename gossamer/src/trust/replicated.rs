//! [`Replicated`]: a value that each node has a copy of.
//!
//! Its home is a latch at the worker that made it. Replacements are launched there, so they come one after the other;
//! each is sent to one worker of every other node, and is complete once all of them have answered. A handle is a
//! trust of the home, which counts handles as it counts all trusts, together with this node's copy, which readers
//! use. When the home is dropped, no handle is left anywhere, and the nodes are told to drop their copies.

use crate::lane::catch;
use crate::lane::error::{DelegationError, Origin, Reason};
use crate::lane::operation::Delegated;
use crate::lane::property::{ROOT, Root};
use crate::trust::apply::rethrow;
use crate::trust::call::Target;
use crate::trust::snapshot::{Snapshot, Version};
use crate::trust::{Latch, NoRef, Pending, Trust, entrust};
use crate::wire::decoder::Decoder;
use crate::wire::encoder::Encoder;
use crate::worker::nodes::replicas::ReplicaId;
use crate::worker::shared::{Phase, Shared};
use crate::worker::{self, no_runtime, with_worker};
use arc_swap::ArcSwap;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;

/// Encoded values that are under way to other nodes at once, in bytes; beyond that they are sent one after the other.
const UNDER_WAY: usize = 16 << 20;

/// A value that every node has a copy of: made once, read anywhere without a request, replaced as a whole.
///
/// It is for data that is read often and changed seldom: settings, a routing table, a dictionary, the weights of a
/// model. A handle travels as a trust and a number; the value does not go with it, since the other node already has
/// it.
///
/// ```
/// use gossamer::{Config, Replicated, rack, spawn_on_with};
/// use std::collections::HashMap;
///
/// # rack::run_in_process(2, Config::default().threads(2), || {
/// let rates = Replicated::new(HashMap::from([("EUR".to_owned(), 100_u64)]));
/// let far = rack::workers()[3]; // of the other node
/// let price = const { |rates: Replicated<HashMap<String, u64>>| rates.read()["EUR"] };
/// assert_eq!(spawn_on_with(far, price, rates.clone()).join(), 100);
///
/// rates.replace(HashMap::from([("EUR".to_owned(), 108)]));
/// assert_eq!(spawn_on_with(far, price, rates).join(), 108);
/// # });
/// ```
///
/// # What readers see
/// - Once [`replace`](Self::replace) has returned, every later [`read`](Self::read) on any node sees its value or
///   that of a later replacement.
/// - Once a version has been read on a node, no fiber of that node reads an older one.
/// - While a replacement is under way, some nodes show the new value and others still the previous one.
/// - What was read does not change: a [`Snapshot`] is one complete version, for as long as it is kept.
///
/// Replacements happen one after the other, in the order in which they reach the value's home. Nothing is merged: of
/// two that were computed from the same version, the later wins. If that matters, keep the value in a property,
/// change it there, and replace the replicated value by a clone of it.
///
/// # Cost
/// A read takes no request and no lock, and writes no memory that other workers write: tens of nanoseconds at most.
/// Making or replacing the value takes a message to each other node and its answer. The value is encoded once (once
/// for each node if it holds trusts), and at most 16 MiB are under way at once. Each node keeps one copy for all its
/// workers, and the older ones that snapshots hold. Cloning or sending a handle costs the same as for a [`Trust`].
///
/// # The end
/// When the last handle in the rack is gone, each node drops its copy, on one of its workers. They also do when the
/// runtime ends; a handle that is kept longer can be read, but not replaced. A value that holds a handle of itself is
/// kept until then.
pub struct Replicated<T: 'static> {
    home: Trust<Latch<ReplicaHome<T>>>,
    replica: Arc<Replica<T>>,
}

/// The copy of a node.
pub(super) struct Replica<T> {
    id: ReplicaId,
    current: ArcSwap<Version<T>>,
}

/// Where replacements meet.
pub(super) struct ReplicaHome<T> {
    replica: Arc<Replica<T>>,
    /// The newest version that any node may have.
    numbered: u64,
    _copies: KeptCopies,
}

/// The copies that nodes keep. When this is dropped, the nodes drop them.
struct KeptCopies(ReplicaId);

/// The name in reports.
struct Replication<T>(PhantomData<T>);

impl<T: NoRef + Sync + Clone> Replicated<T> {
    /// Gives every node a copy of a value; the caller waits until all nodes have it.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{Replicated, Trustee, spawn_on_with};
    /// let routes = Replicated::new(vec!["north".to_owned(), "south".to_owned()]);
    /// let route = |(routes, key): (Replicated<Vec<String>>, usize)| routes.read()[key % 2].clone(); // no request
    /// assert_eq!(spawn_on_with(Trustee::all()[1], route, (routes, 7)).join(), "south");
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the value cannot leave this node and there are others; where the caller cannot wait; and on a thread that is not a worker.
    #[track_caller]
    pub fn new(value: T) -> Self {
        match Self::try_new(value) {
            Ok(replicated) => replicated,
            Err(error) => rethrow(error, Location::caller()),
        }
    }

    /// Like [`new`](Self::new), but returns an error instead of panicking. No node keeps a copy then.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// match gossamer::Replicated::try_new(10_u32) {
    ///     Ok(limit) => assert_eq!(*limit.read(), 10),
    ///     Err(error) => println!("each node has to ask for the limit, since it cannot have a copy: {error}"),
    /// }
    /// # });
    /// ```
    ///
    /// # Errors
    /// If something in the value cannot leave this node and there are others, or its `decode` panics on one.
    ///
    /// # Panics
    /// If its `encode` does; where the caller cannot wait; and on a thread that is not a worker.
    #[track_caller]
    pub fn try_new(value: T) -> Result<Self, DelegationError> {
        worker::require_fiber("Replicated::new");
        let made = worker::with(|worker| {
            let here = worker?;
            let replica = Arc::new(Replica::new(here.shared.replicas.new_id(here.index), 1, value));
            here.shared.replicas.keep(replica.id, Arc::<Replica<T>>::clone(&replica) as _);
            Some(replica)
        });
        let Some(replica) = made else { no_runtime("Replicated::new", "") };
        let home =
            ReplicaHome { replica: Arc::clone(&replica), numbered: 1, _copies: KeptCopies(replica.id) };
        let first = replica.current.load();
        replica.give_others(first.number, &first.value)?;
        Ok(Self { home: entrust(Latch::new(home)), replica })
    }

    /// Replaces the value on all nodes; the caller waits until all have the new one.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let limit = gossamer::Replicated::new(10_u32);
    /// let before = limit.read();
    /// limit.replace(20);
    /// assert_eq!((*before, *limit.read()), (10, 20));
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the value cannot leave its node and there are others, or the runtime has ended; in a delegated closure or a callback, which
    /// cannot wait; and in a fiber that unwinds from a panic.
    #[track_caller]
    pub fn replace(&self, value: T) {
        if let Err(error) = self.try_replace(value) {
            rethrow(error, Location::caller());
        }
    }

    /// Like [`replace`](Self::replace), but returns an error instead of panicking.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let limit = gossamer::Replicated::new(10_u32);
    /// if let Err(error) = limit.try_replace(20) {
    ///     eprintln!("the old limit stays: {error}");
    /// }
    /// assert_eq!(*limit.read(), 20);
    /// # });
    /// ```
    ///
    /// # Errors
    /// If something in the value cannot leave its node: all nodes then keep their value. If its own `encode` or
    /// `decode` panics: after a panic in `decode`, some nodes may have the new value. And if the runtime has ended.
    ///
    /// # Panics
    /// Where the caller cannot wait.
    #[track_caller]
    pub fn try_replace(&self, value: T) -> Result<(), DelegationError> {
        let replace = const { |home: &mut ReplicaHome<T>, value: T| home.replace(value) };
        let (outcome, at) = (self.home.try_launch_with(replace, value), Location::caller());
        outcome.flatten().map_err(|error| error.with_sender(at))
    }

    /// Like [`replace`](Self::replace), without waiting: `then` is called once all nodes have the value, in a fiber of this worker. If it
    /// was not replaced, the error is printed and `then` is dropped. So it may be called in delegated closures and callbacks. On a thread
    /// that is not a worker this waits.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{Replicated, sync::oneshot};
    /// let limit = Replicated::new(10_u32);
    /// let (sender, receiver) = oneshot::channel();
    /// limit.replace_then(20, move || sender.send("all nodes have it").unwrap()); // goes on at once
    /// assert_eq!(receiver.recv(), Ok("all nodes have it"));
    /// assert_eq!(*limit.read(), 20);
    /// # });
    /// ```
    #[track_caller]
    pub fn replace_then<R: FnOnce() + 'static>(&self, value: T, then: R) {
        let replace = const { |home: &mut ReplicaHome<T>, value: T| home.replace_or_panic(value) };
        self.home.launch_with_then(replace, value, |()| then());
    }

    /// Like [`replace`](Self::replace), without waiting: the [`Pending`] is ready once all nodes have the value.
    /// Dropping it does not stop the replacement.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let (limit, name) = (gossamer::Replicated::new(10_u32), gossamer::Replicated::new("old".to_owned()));
    /// let (one, other) = (limit.replace_async(20), name.replace_async("new".to_owned())); // both are under way
    /// one.wait();
    /// other.wait();
    /// assert_eq!((*limit.read(), name.read().as_str()), (20, "new"));
    /// # });
    /// ```
    #[track_caller]
    pub fn replace_async(&self, value: T) -> Pending<()> {
        let replace = const { |home: &mut ReplicaHome<T>, value: T| home.replace_or_panic(value) };
        self.home.launch_with_async(replace, value)
    }
}

impl<T> Replicated<T> {
    /// This node's version of the value. Never waits, so it may be called in delegated closures and callbacks, and on
    /// any thread.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::Replicated;
    /// let limit = Replicated::new(10_u64);
    /// let before = limit.read();
    /// limit.replace(20);
    /// assert_eq!((*before, *limit.read()), (10, 20)); // what was read stays
    /// # });
    /// ```
    #[inline]
    pub fn read(&self) -> Snapshot<T> {
        Snapshot(self.replica.current.load())
    }

    pub(super) fn parts(&self) -> (&Trust<Latch<ReplicaHome<T>>>, ReplicaId) {
        (&self.home, self.replica.id)
    }
}

impl<T: Send + Sync> Replicated<T> {
    /// The handle of a value of which this node has a copy.
    pub(super) fn found(home: Trust<Latch<ReplicaHome<T>>>, id: ReplicaId) -> Option<Self> {
        let replica = worker::with(|worker| worker?.shared.replicas.get(id))?;
        Some(Self { home, replica })
    }
}

impl<T> Replica<T> {
    fn new(id: ReplicaId, number: u64, value: T) -> Self {
        Self { id, current: ArcSwap::from_pointee(Version { number, value }) }
    }

    /// Shows a newer version from now on. Only one thread of the node does this: that of the home, or the one that
    /// the home notifies.
    fn show(&self, number: u64, value: T) {
        if self.current.load().number < number {
            let old = self.current.swap(Arc::new(Version { number, value }));
            catch::contained(|| drop(old));
        }
    }
}

impl<T: NoRef + Sync + Clone> Replica<T> {
    /// Gives every other node a version, and waits until they have it. If something in it cannot leave, none gets it.
    #[track_caller]
    fn give_others(&self, number: u64, value: &T) -> Result<(), DelegationError> {
        let Some((shared, here)) =
            worker::with(|worker| worker.map(|here| (here.shared.clone(), here.index)))
        else {
            unreachable!("this is a fiber")
        };
        let others = other_nodes(&shared);
        if others.is_empty() {
            return Ok(());
        }
        let origin = Origin::of::<Replication<T>>(here as u32, Location::caller());
        let encoded = Encoder::encoded_for(others.len(), value)
            .map_err(|refused| origin.error(Reason::Stays { message: refused.into_refusal().to_string() }))?;
        let at_once = (UNDER_WAY / encoded[0].len().max(1)).max(1);
        let (mut copies, mut outcome) = (one_for_each(others.len(), encoded), Ok(()));
        for workers in others.chunks(at_once) {
            let send = |(worker, bytes): (&usize, Vec<u8>)| {
                self.send(&shared, *worker, (self.id, number, bytes), origin)
            };
            let sent: Vec<_> = workers.iter().zip(&mut copies).map(send).collect();
            // Wait for all, even after an error: later messages must not overtake them.
            for sent in sent {
                outcome = outcome.and(sent.try_wait());
            }
        }
        outcome
    }

    /// Sends a version to a worker of another node.
    fn send(
        &self,
        shared: &Arc<Shared>,
        worker: usize,
        version: (ReplicaId, u64, Vec<u8>),
        origin: Origin,
    ) -> Pending<()> {
        let target: Target<'_, Root> =
            Target { shared, number: shared.base + worker as u32, property: ROOT, of: PhantomData };
        let arrive = |_: &mut Root, version: (ReplicaId, u64, Vec<u8>)| Self::arrive(version);
        target.call_async::<Replication<T>, _, _, _>(arrive, version, origin)
    }

    /// At another node: a version has arrived.
    fn arrive((id, number, bytes): (ReplicaId, u64, Vec<u8>)) {
        let value: T = Decoder::decoded(&bytes).unwrap_or_else(|malformed| panic!("{malformed}"));
        with_worker(|here| match here.shared.replicas.get::<Self>(id) {
            Some(replica) => replica.show(number, value),
            None => here.shared.replicas.keep(id, Arc::new(Self::new(id, number, value))),
        });
    }
}

impl<T: NoRef + Sync + Clone> ReplicaHome<T> {
    fn replace(&mut self, value: T) -> Result<(), DelegationError> {
        self.numbered += 1;
        self.replica.give_others(self.numbered, &value)?;
        self.replica.show(self.numbered, value);
        Ok(())
    }

    fn replace_or_panic(&mut self, value: T) {
        self.replace(value).unwrap_or_else(|error| panic!("{error}"));
    }
}

impl Drop for KeptCopies {
    fn drop(&mut self) {
        worker::with(|worker| {
            // Once properties are dropped because the runtime ends, handles may still be under way: then the copies stay to the end.
            let Some(here) = worker.filter(|here| here.shared.phase() < Phase::Dropping) else { return };
            for other in other_nodes(&here.shared) {
                let give_up = |_: &mut Root, id: ReplicaId| give_up(id);
                here.tell_worker(other, Delegated::travelling::<Root, _>(give_up), self.0);
            }
            give_up(self.0);
        });
    }
}

/// Drops the copy of this node.
fn give_up(id: ReplicaId) {
    let copy = worker::with(|worker| worker?.shared.replicas.take(id));
    catch::contained(|| drop(copy));
}

/// The bytes for each of `nodes` nodes; `encoded` has one entry for each, or one for all.
fn one_for_each(nodes: usize, mut encoded: Vec<Vec<u8>>) -> impl Iterator<Item = Vec<u8>> {
    (1..=nodes).rev().filter_map(
        move |left| {
            if encoded.len() == left { encoded.pop() } else { encoded.last().cloned() }
        },
    )
}

/// The first worker of every other node.
fn other_nodes(shared: &Shared) -> Vec<usize> {
    let Some(peers) = &shared.peers else { return Vec::new() };
    let others = (0..peers.nodes()).filter(|node| *node != peers.node());
    others.map(|node| peers.workers_of(node).start).collect()
}

impl<T> Clone for Replicated<T> {
    fn clone(&self) -> Self {
        Self { home: self.home.clone(), replica: Arc::clone(&self.replica) }
    }
}

impl<T: fmt::Debug> fmt::Debug for Replicated<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Replicated").field(&*self.read()).finish()
    }
}
