//! Notices that a worker stands still: something outside this library has blocked its thread. The same watch makes
//! workers look for memory that they no longer use.

use crate::lane::error;
use crate::worker::Worker;
use crate::worker::mailbox::Mailbox;
use crate::worker::mailbox::inbox::Message;
use crate::worker::shared::Shared;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time between two looks.
const LOOK: Duration = Duration::from_millis(2500);
/// This many looks in a row must find a worker where the look before found it.
const LOOKS: u32 = 2;

/// Looks at the workers of all runtimes of this process.
#[derive(Default)]
pub(crate) struct StallWatch {
    workers: Vec<Seen>,
    looked: Option<Instant>,
}

/// What was seen of a worker.
struct Seen {
    runtime: Arc<Shared>,
    index: usize,
    turns: u64,
    processor_time: Option<u64>,
    /// Looks that have found it standing still, and when the first of them was.
    still: u32,
    since: Instant,
}

impl StallWatch {
    /// Looks, unless it has just done so, and reports each worker that stands still, once each time.
    pub(crate) fn look(&mut self, runtimes: &[Arc<Shared>]) {
        if self.looked.is_some_and(|looked| looked.elapsed() < LOOK) {
            return;
        }
        self.looked = Some(Instant::now());
        self.follow(runtimes);
        for worker in &mut self.workers {
            if worker.mailbox().view.take_unswept() {
                // Refused only when the runtime has ended.
                let _ended = worker.mailbox().send(Message::Act(Box::new(Worker::sweep)));
            }
            worker.look();
            if worker.still == LOOKS {
                worker.report();
            }
        }
    }

    /// Forgets the workers of runtimes that have ended, and begins with those of new ones.
    fn follow(&mut self, runtimes: &[Arc<Shared>]) {
        self.workers.retain(|seen| runtimes.iter().any(|runtime| Arc::ptr_eq(runtime, &seen.runtime)));
        let known =
            |workers: &[Seen], runtime| workers.iter().any(|seen| Arc::ptr_eq(runtime, &seen.runtime));
        for runtime in runtimes {
            if !known(&self.workers, runtime) {
                let indices = runtime.first..runtime.first + runtime.mailboxes.len();
                self.workers.extend(indices.map(|index| Seen::new(Arc::clone(runtime), index)));
            }
        }
    }
}

impl Seen {
    fn new(runtime: Arc<Shared>, index: usize) -> Self {
        Self { runtime, index, turns: u64::MAX, processor_time: None, still: 0, since: Instant::now() }
    }

    fn mailbox(&self) -> &Mailbox {
        self.runtime.mailbox(self.index)
    }

    fn look(&mut self) {
        let turns = self.mailbox().view.turns();
        if turns != self.turns || self.mailbox().doorbell.is_asleep() {
            (self.turns, self.processor_time, self.still) = (turns, None, 0);
            self.since = Instant::now();
            return;
        }
        // Only for a worker that seems to stand still: this asks the kernel.
        let processor_time = self.mailbox().view.thread().filter(|thread| thread.is_waiting());
        let processor_time = processor_time.and_then(|thread| thread.processor_time());
        let first = self.processor_time.is_none();
        if processor_time.is_some() && (first || processor_time == self.processor_time) {
            self.still = self.still.saturating_add(1);
        } else {
            self.still = 0;
        }
        self.processor_time = processor_time;
    }

    fn report(&self) {
        error::print(&format!(
            "gossamer: worker {} has stood still for {} s, in {}: something outside of gossamer blocks its thread, such as a \
             lock of `std`, a `OnceLock` or `LazyLock` whose initialiser has suspended its fiber, a file, the `join` of a \
             thread, or `std::thread::sleep`. No other fiber of this worker runs meanwhile, and no request to it is served. \
             Move blocking calls to `gossamer::unblock`, use `gossamer::sleep`, `sync`, `net` and `fs`, and wrap initialisers in \
             `gossamer::without_suspending`.\n",
            self.index,
            self.since.elapsed().as_secs(),
            self.mailbox().view.running(),
        ));
    }
}
