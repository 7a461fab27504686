//! What a process reports of itself.

use crate::NoRef;
use crate::inspect::identity::NodeIdentity;

/// A process, or the part of it that is one node.
#[derive(NoRef, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeReport {
    /// Which node.
    pub identity: NodeIdentity,
    /// Its workers, in order.
    pub workers: Vec<WorkerReport>,
    /// Threads that may end what a fiber waits for: those of the process that this library has not started, besides those
    /// that wait for a runtime to end, and those of `unblock` that work. `None` if the kernel does not tell.
    pub other_threads: Option<u64>,
    /// Its fibers: those that do the same are one entry.
    pub fibers: Vec<FiberGroup>,
    /// The fibers that wait for others, or that others wait for.
    pub links: Vec<FiberLink>,
}

/// A worker.
#[derive(NoRef, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerReport {
    /// Its index, among those of all nodes.
    pub worker: u32,
    /// Whether it reported its fibers when it was asked. If not, what it runs keeps it.
    pub answered: bool,
    /// Whether it slept because it had nothing to do.
    pub is_asleep: bool,
    /// What it ran when it did not answer.
    pub runs: String,
    /// The least time for which it has been in the same turn of its loop, in milliseconds, if it did not answer.
    pub still_for: u64,
    /// Its fibers that have not ended.
    pub fibers: u64,
    /// Jobs that no fiber has begun.
    pub jobs: u64,
    /// Its requests without an answer.
    pub unanswered: u64,
}

/// Fibers that do the same.
#[derive(NoRef, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FiberGroup {
    /// How many.
    pub count: u64,
    /// The indices of their workers, in order.
    pub workers: Vec<u32>,
    /// The line that started them.
    pub spawned_at: String,
    /// `waits`, `is ready`, `runs` or `unwinds`.
    pub state: String,
    /// The call that they wait in.
    pub wait: Option<WaitReport>,
    /// Milliseconds for which they have waited, the least and the most. Each is a lower bound.
    pub waited: (u64, u64),
    /// Where one of them is, if backtraces were asked for and they wait: the functions of the program, the innermost
    /// first, with their lines.
    pub backtrace: Vec<String>,
}

/// A call in which fibers wait.
#[derive(NoRef, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct WaitReport {
    /// Its name.
    pub call: String,
    /// The line of the program that made it, where it is known.
    pub at: Option<String>,
    /// What has to happen, if it is known, in words that follow `waits for`.
    pub what: Option<String>,
    /// The closure, or the fiber, whose result is awaited.
    pub closure: Option<String>,
    /// The type of the property that it is applied to.
    pub property: Option<String>,
    /// The index of the worker that will do what is awaited.
    pub worker: Option<u32>,
    /// Whether only the program itself can end it, by one of its fibers or threads: it is for a message, a lock, an
    /// answer or another fiber, and not for a socket, a time or a system call.
    pub is_internal: bool,
}

/// Names a fiber among those of all nodes, for as long as its job takes.
#[derive(NoRef, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct FiberId {
    /// The index of its worker.
    pub worker: u32,
    /// Counts the jobs of that worker.
    pub serial: u64,
}

/// A fiber that waits for others, or that others wait for.
#[derive(NoRef, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FiberLink {
    /// The fiber.
    pub fiber: FiberId,
    /// Its job.
    pub job: u64,
    /// The line that started it.
    pub spawned_at: String,
    /// The turn of its worker in which it ran last: if this is unchanged, it has not run since.
    pub resumed: u64,
    /// The call that it waits in.
    pub wait: Option<WaitReport>,
    /// What it waits for.
    pub dependency: Dependency,
    /// The latches that it holds.
    pub latches: Vec<u64>,
    /// The least time for which it has waited, in milliseconds.
    pub waited: u64,
}

/// What a fiber waits for.
#[derive(NoRef, Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dependency {
    /// No other fiber, as far as is known.
    Unknown,
    /// The fiber that does this job on the worker of this index.
    Job(u32, u64),
    /// The fibers that hold this latch, on its own node.
    Latch(u64),
}
