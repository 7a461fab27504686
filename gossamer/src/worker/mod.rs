//! A worker: one kernel thread with its fibers, its trustee and its lanes.
//!
//! # Ownership
//! Everything in [`Worker`] belongs to its thread; [`Shared`](shared::Shared) is what other threads may touch.
//! User code runs from only three places, none inside another: serving (delegated closures), taking responses
//! (callbacks), and fibers. No cell of the worker is borrowed while user code runs, except the list of inbound lanes
//! while delegated closures run, and nothing reachable from these touches that list.
//!
//! # The world around a worker
//! - X1: (other runtimes) several may live in one process, and values move freely between them. The number of a
//!   worker, a property, a ticket or a lent trust has a meaning only in the runtime that assigned it; so only a
//!   worker of that runtime writes one into a message, or reads one (`Handle::lend`, `Trustee::encode`). Process-wide
//!   numbers are never given twice.
//! - X2: (other processes) nothing appears in a process except what `NoRef::encode` has made in another, and
//!   constants. A closure is sent only as its identity, and is created in another process only if it is a constant
//!   (`lane/constant.rs`).
//! - X3: (thread-locals) those of this crate are made by constants, and none is borrowed while a fiber is suspended.
//!   Fibers never leave their worker, so a fiber always sees the same ones; but fibers of one worker share them, and
//!   the authors of other thread-locals, above all in `std`, expect one function at a time on a thread.
//! - X4: (other people's macros) a macro below one of ours changes the item after ours has seen it. So the code that
//!   ours generate names each type that it relies on (D1), and such a change does not compile.
//! - X5: (destructors) those of the program run wherever one of its values is dropped, may panic, and may call
//!   anything public. No cell is borrowed while such a value is dropped, and panics are contained where they would do
//!   harm. A worker's thread does not end while it has fibers: they, and whatever borrows from them, may refer to the
//!   worker and to its thread-locals.
#![deny(unsafe_code)]

pub(crate) mod backlog;
pub(crate) mod config;
pub(crate) mod end;
pub(crate) mod fibers;
mod lanes;
pub(crate) mod mailbox;
pub(crate) mod misspelt;
mod names;
pub(crate) mod nodes;
mod overrides;
mod room;
mod run;
mod send_now;
pub(crate) mod shared;
pub(crate) mod watch;

use crate::counters::worker::WorkerCounters;
use crate::lane::context::{self, Context};
use crate::lane::property::Properties;
use crate::structures::scoped::scoped_thread_local;
use crate::worker::end::Ending;
use crate::worker::fibers::Fibers;
use crate::worker::lanes::Lanes;
use crate::worker::mailbox::HeldMessages;
use crate::worker::names::Names;
use crate::worker::nodes::Nodes;
use crate::worker::nodes::connections::Connections;
use crate::worker::shared::Shared;
use std::cell::Cell;
use std::sync::Arc;

pub(crate) use fibers::Cancelled;
pub(crate) use run::start;

/// The fabric between workers of one process.
pub(crate) type Local = Arc<crate::fabric::SlotMemory>;

scoped_thread_local! {
    /// This thread's worker.
    mod current: Worker
}

pub(crate) use current::{get, with};

/// Runs `f` with this thread's worker, in code that only runs on workers: operations on a trustee itself.
pub(crate) fn with_worker(f: impl FnOnce(&Worker)) {
    with(|worker| worker.map(f));
}

/// One worker, as its own thread sees it.
pub(crate) struct Worker {
    pub(crate) shared: Arc<Shared>,
    /// Its index among the workers of all nodes.
    pub(crate) index: usize,
    /// Its process-wide number.
    pub(crate) number: u32,
    /// Copied from `shared`, about the workers of this node: the index of the first, and their number.
    first: usize,
    neighbours: usize,
    pub(crate) properties: Properties,
    lanes: Lanes,
    pub(crate) counters: Arc<WorkerCounters>,
    pub(crate) fibers: Fibers,
    pub(crate) nodes: Nodes,
    /// Messages taken from the mailbox.
    held: HeldMessages,
    pub(crate) end: Ending,
    pub(crate) names: Names,
    /// Where `spawn` sends the next fiber.
    next_spawn: Cell<usize>,
    /// The same, counted from the first worker of this node, for fibers that have to stay on it.
    next_spawn_here: Cell<usize>,
}

impl Worker {
    pub(crate) fn new(shared: Arc<Shared>, index: usize, poll: mio::Poll, connections: Connections) -> Self {
        let mailbox = shared.mailbox(index);
        let (view, counters) = (Arc::clone(&mailbox.view), Arc::clone(&mailbox.counters));
        Self {
            properties: Properties::new(),
            lanes: Lanes::new(shared.workers(), counters.sampling()),
            fibers: Fibers::new(shared.config.stack_bytes(), index as u32, view, &counters, poll),
            counters,
            nodes: Nodes::new(connections, &mailbox.incoming),
            held: HeldMessages::default(),
            end: Ending::default(),
            names: Names::default(),
            next_spawn: Cell::new(index),
            next_spawn_here: Cell::new(index - shared.first),
            number: shared.base + index as u32,
            first: shared.first,
            neighbours: shared.mailboxes.len(),
            shared,
            index,
        }
    }

    /// The index of the worker with this process-wide number, if it is of this runtime.
    #[inline(always)]
    pub(crate) fn index_of(&self, number: u32) -> Option<usize> {
        let index = number.wrapping_sub(self.shared.base) as usize;
        (index < self.lanes.trustees()).then_some(index)
    }

    /// Whether a worker is on this node.
    #[inline(always)]
    pub(crate) fn is_neighbour(&self, index: usize) -> bool {
        index.wrapping_sub(self.first) < self.neighbours
    }

    /// The worker that the next spawned fiber goes to: all in turn, starting with the one after this.
    pub(crate) fn next_spawn(&self) -> usize {
        let next = (self.next_spawn.get() + 1) % self.lanes.trustees();
        self.next_spawn.set(next);
        next
    }

    /// Like `next_spawn`, for the workers of this node.
    pub(crate) fn next_spawn_here(&self) -> usize {
        let next = (self.next_spawn_here.get() + 1) % self.neighbours;
        self.next_spawn_here.set(next);
        self.first + next
    }

    /// A quick check whether the caller may block: it is the body of a fiber, and the runtime is not ending. If it
    /// returns false, `require_fiber` says why.
    #[inline(always)]
    pub(crate) fn may_block(&self) -> bool {
        context::current() == Context::Fiber && !self.fibers.interrupt()
    }

    /// Checks that the caller may block: that it is the body of a fiber.
    ///
    /// # Panics
    /// If it is a delegated closure or a callback. If the runtime is ending, the fiber is unwound.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn require_fiber(&self, call: &str) {
        if context::current() != Context::Fiber {
            cannot_block(call);
        }
        self.unwind_if_cancelled();
    }
}

/// Checks that the caller may block, if it runs on a worker: [`Worker::require_fiber`].
#[inline(always)]
#[track_caller]
pub(crate) fn require_fiber(call: &str) {
    let suspends = with(|worker| worker.is_none()) || context::current() == Context::Fiber;
    if !suspends {
        cannot_block(call);
    }
    with_worker(Worker::unwind_if_cancelled);
}

/// Panics with the message that a call needs a runtime, and how to start one.
#[cold]
#[inline(never)]
#[track_caller]
pub(crate) fn no_runtime(call: &str, from_a_thread: &str) -> ! {
    panic!(
        "`{call}` on a thread that is not a worker of a runtime: call it in a function marked #[gossamer::main], inside of \
         `gossamer::run`, or in what these start{from_a_thread}"
    )
}

#[cold]
#[inline(never)]
#[track_caller]
fn cannot_block(call: &str) -> ! {
    let place = match context::current() {
        Context::Steady => panic!(
            "blocking `{call}` inside `gossamer::without_suspending`: another fiber of this worker would come to what is not \
             finished yet; get what it needs before, or use `gossamer::fiber_local!`, whose initialisers may wait"
        ),
        Context::Delegated => "a delegated closure",
        _ => "a callback",
    };
    panic!(
        "blocking `{call}` inside {place}: its trustee cannot wait, it would wait for itself; {}",
        instead_of(call)
    )
}

/// What to write where a call cannot wait.
fn instead_of(call: &str) -> String {
    let latch = "make the property a `Latch` and `launch` the closure";
    match call {
        "apply" | "try_apply" => format!("use `apply_then`, or {latch}"),
        "launch" => "use `launch_then`".to_owned(),
        "contains" | "contains_key" | "get" | "remove" | "replace" => {
            format!("use `{call}_then`, and `rack::wait_all` where you need all of them to be done")
        }
        "insert" | "set" | "update" => format!(
            "use `{call}_then`, and `rack::wait_all` where you need all of them to be done; a loop over a collection that \
             changes another one is a `par_emit`"
        ),
        _ => format!("leave it to a fiber (`spawn_local`), or {latch}"),
    }
}
