//! Starting a runtime, running a program in it, ending it.

pub(crate) mod embedded;

use crate::blocking::pool;
use crate::counters::trace::{self, TraceRing};
use crate::counters::worker::WorkerCounters;
use crate::inspect::watcher::Watching;
use crate::lane::catch;
use crate::metrics::server::MetricsServer;
use crate::structures::inline_closure::InlineClosure;
use crate::sys::fibers::job::{Job, NotStarted};
use crate::sys::signals::fault_handler;
use crate::sys::sync::doorbell::Doorbell;
use crate::sys::threads::bystander::Bystander;
use crate::sys::threads::{affinity, ownership};
use crate::trace::NodeTrace;
use crate::trace::file::TraceFile;
use crate::trust::fiber_local::drop_locals;
use crate::worker;
use crate::worker::backlog::LongBacklog;
use crate::worker::config::Config;
use crate::worker::end::activity::Activity;
use crate::worker::end::quiet::wait_until_quiet;
use crate::worker::end::{last_trace, last_words};
use crate::worker::fibers::sources::{Sources, WAKE};
use crate::worker::mailbox::Mailbox;
use crate::worker::mailbox::inbox::{Inbox, Message};
use crate::worker::misspelt;
use crate::worker::nodes::peers::Peers;
use crate::worker::shared::{Phase, Shared};
use crate::worker::watch::turn_log::TurnLog;
use crate::worker::watch::view::View;
use mio::Interest;
use mio::unix::SourceFd;
use std::any::Any;
use std::fmt;
use std::io;
use std::iter;
use std::os::fd::{AsFd, AsRawFd};
use std::panic::{self, AssertUnwindSafe, Location};
use std::process;
use std::slice;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

/// Stack of a worker's own thread, where delegated closures from lanes run, and of the first fiber: as large as that
/// of a program's `main`. With four times as much, a blocking call to another worker took a quarter longer (bench
/// `fibers-1`).
pub(crate) const THREAD_STACK: usize = 8 << 20;
/// Exit status of `#[gossamer::main]` when the runtime cannot start.
pub(crate) const CANNOT_START: i32 = 2;

/// Why a runtime did not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// A setting of the program or of the environment is wrong; the text names it and says what it should be.
    Config(String),
    /// The nodes of a rack did not connect; the text says which, and what to do.
    Rack(String),
    /// The system refused something; the text says what.
    #[non_exhaustive]
    System {
        /// What was tried.
        step: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(text) | Self::Rack(text) => write!(f, "cannot start: {text}"),
            Self::System { step, source } => write!(f, "cannot start: {step}: {source}"),
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Config(_) | Self::Rack(_) => None,
            Self::System { source, .. } => Some(source),
        }
    }
}

/// Runs `f` in a runtime of this process alone.
///
/// # Errors
/// If the system gives no threads or no poller.
pub(crate) fn run_alone<R: Send + 'static>(
    config: Config,
    f: impl FnOnce() -> R + Send + 'static,
    spawned_at: &'static Location<'static>,
) -> Result<R, StartError> {
    let runtime = NodeThreads::start(config, None, None)?;
    runtime.offer_trace(Vec::new);
    let outcome = NodeThreads::run_first(slice::from_ref(&runtime), f, spawned_at);
    runtime.end();
    Ok(outcome.unwrap_or_else(|payload| panic::resume_unwind(payload)))
}

/// A configuration, overridden by the settings of the environment.
pub(crate) fn from_environment(config: Config) -> Result<Config, StartError> {
    misspelt::warn();
    config.overridden_by(|name| std::env::var(name).ok()).map_err(StartError::Config)
}

/// How many workers, and where.
#[derive(Clone, Debug)]
pub(crate) struct Placement {
    pub(crate) workers: usize,
    /// The processors of the workers, in turn, if they are pinned.
    pub(crate) processors: Option<Vec<usize>>,
    /// These workers, and those of other nodes on their processors, are more than the processors.
    pub(crate) is_crowded: bool,
}

impl Placement {
    /// The placement of the only node of this machine.
    pub(crate) fn alone(config: &Config) -> Self {
        let processors = affinity::allowed().unwrap_or_default();
        let are_own = ownership::are_own(&processors);
        Self::among(config, processors, are_own)
    }

    /// The placement of a node that shares these processors with no other node, and with no other program if they
    /// `are_own`.
    pub(crate) fn among(config: &Config, processors: Vec<usize>, are_own: bool) -> Self {
        let workers = config.worker_count(processors.len());
        let pinned = config.pins(workers, processors.len(), are_own);
        // Not if it is unknown which there are.
        let is_crowded = (1..workers).contains(&processors.len());
        let processors = Some(processors).filter(|processors| pinned && !processors.is_empty());
        Self { workers, processors, is_crowded }
    }
}

/// The threads of a runtime.
pub(crate) struct NodeThreads {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// Until the workers end.
    metrics: Option<MetricsServer>,
    trace: Option<Arc<TraceFile>>,
    _watching: Watching,
}

impl NodeThreads {
    /// Starts the workers of a runtime, or with `peers` those of one node of a runtime.
    pub(crate) fn start(
        config: Config,
        placement: Option<Placement>,
        peers: Option<Peers>,
    ) -> Result<Self, StartError> {
        let system = |step| move |source| StartError::System { step, source };
        config.blocking_threads.into_iter().for_each(pool::bound_to);
        let placement = placement.unwrap_or_else(|| Placement::alone(&config));
        let count = placement.workers;
        let (mut polls, mut mailboxes) = (Vec::new(), Vec::new());
        for index in 0..count {
            let poll = mio::Poll::new().map_err(system("making a poller"))?;
            mailboxes.push(mailbox(&poll, &config).map_err(system("making a poller"))?);
            let eventfd = peers.as_ref().map(|peers| peers.eventfd(index).as_fd().as_raw_fd());
            if let Some(eventfd) = eventfd {
                let eventfd = &mut SourceFd(&eventfd);
                poll.registry()
                    .register(eventfd, WAKE, Interest::READABLE)
                    .map_err(system("making a poller"))?;
            }
            polls.push(poll);
        }
        let shared = Shared::register(config, mailboxes.into_boxed_slice(), placement.is_crowded, peers);
        let shared = shared.ok_or_else(|| {
            StartError::Config("this process has started 2^32 workers; no numbers are left".into())
        })?;
        let trace = TraceFile::of(&shared).map_err(StartError::Config)?;
        if trace.is_some() {
            trace::trace_outside();
        }
        catch::install_hook();
        fault_handler::install();
        last_words::install(&shared);
        let first = shared.first;
        let watching = Watching::begin().map_err(system("starting the thread that watches the workers"))?;
        let metrics = MetricsServer::start(&shared).map_err(|error| StartError::Config(error.to_string()))?;
        let mut runtime =
            Self { shared, threads: Vec::with_capacity(count), metrics, trace, _watching: watching };
        for (index, poll) in polls.into_iter().enumerate() {
            let processor = placement.processors.as_ref().map(|some| some[index % some.len()]);
            let thread = runtime.spawn_worker(first + index, poll, processor);
            match thread {
                Ok(thread) => runtime.threads.push(thread),
                Err(error) => {
                    runtime.shared.advance_to(Phase::Ended);
                    return Err(system("starting a worker thread")(error));
                }
            }
        }
        Ok(runtime)
    }

    fn spawn_worker(
        &self,
        index: usize,
        poll: mio::Poll,
        processor: Option<usize>,
    ) -> io::Result<JoinHandle<()>> {
        let shared = Arc::clone(&self.shared);
        thread::Builder::new().name(format!("gossamer-{index}")).stack_size(THREAD_STACK).spawn(move || {
            let _bystander = Bystander::here();
            if let Some(error) = processor.and_then(|cpu| affinity::pin_to(cpu).err()) {
                eprintln!("gossamer: worker {index} is not pinned: {error}");
            }
            let outcome = panic::catch_unwind(AssertUnwindSafe(|| worker::start(shared, index, poll)));
            if outcome.is_err() {
                eprintln!("gossamer: worker {index} failed: this is a bug in gossamer; the process ends");
                process::abort();
            }
        })
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Runs `f` as a fiber of worker 0 of the first of these nodes, and waits for it.
    pub(crate) fn run_first<R: Send + 'static>(
        nodes: &[Self],
        f: impl FnOnce() -> R + Send + 'static,
        spawned_at: &'static Location<'static>,
    ) -> Result<R, Box<dyn Any + Send>> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let first = Box::new(move |here: &worker::Worker| {
            let start = InlineClosure::new(move |start: Result<(), NotStarted>| {
                let outcome = match start {
                    Ok(()) => panic::catch_unwind(AssertUnwindSafe(f)),
                    Err(why) => Err(Box::new(why.to_string()) as Box<dyn Any + Send>),
                };
                drop_locals();
                // The receiver waits below until it has this.
                let _received = sender.send(outcome);
            });
            here.fibers.scheduler.submit_main(Job { start, spawned_at, id: 0 }, THREAD_STACK);
        });
        // If it is refused, the sender is dropped with it.
        let _refused = nodes[0].shared.mailboxes[0].send(Message::Request(first));
        let _waits = Bystander::here();
        receiver.recv().unwrap_or_else(|_| Err(Box::new("the runtime ended before its first fiber did")))
    }

    /// Cancels fibers, serves what is in flight, drops the properties, joins the workers.
    pub(crate) fn end(self) {
        for phase in [Phase::Draining, Phase::Dropping] {
            self.shared.advance_to(phase);
            wait_until_quiet(iter::once(&*self.shared), || self.shared.look(), String::new);
        }
        self.leave(Vec::new());
    }

    /// Makes the trace, if there is one, available on request and when a node is lost, with the traces of `others`.
    pub(crate) fn offer_trace(&self, others: impl Fn() -> Vec<NodeTrace> + Send + 'static) {
        let Some(trace) = self.trace.clone() else { return };
        let shared = Arc::clone(&self.shared);
        last_trace::set(Some(Box::new(move || trace.write(NodeTrace::of(&shared), others()))));
    }

    /// Whether events are kept.
    pub(crate) fn is_traced(&self) -> bool {
        self.trace.is_some()
    }

    /// Tells the workers to end, whatever they have left to do, without waiting for them. The thread of a worker with
    /// fibers stays, and so do the fibers: what they have borrowed, and what others have borrowed from them, must
    /// live.
    pub(crate) fn abandon(self) {
        last_trace::write_last();
        self.shared.advance_to(Phase::Ended);
    }

    /// Ends the workers, which have nothing left to do, and joins them. Node 0 writes the trace, if there is one: its
    /// own and those of the others.
    pub(crate) fn leave(mut self, others: Vec<NodeTrace>) {
        drop(self.metrics.take());
        self.shared.advance_to(Phase::Ended);
        for thread in self.threads {
            // A worker that fails aborts the process, so there is no error to handle here.
            let _ended = thread.join();
        }
        if let Some(trace) = self.trace {
            last_trace::set(None);
            let own = NodeTrace::of(&self.shared);
            if own.node == 0 {
                trace.write(own, others);
            }
        }
    }
}

fn mailbox(poll: &mio::Poll, config: &Config) -> io::Result<Mailbox> {
    let trace = config.traced().map(|sampling| Arc::new(TraceRing::new(sampling)));
    Ok(Mailbox {
        doorbell: Doorbell::new(),
        inbox: Inbox::new(),
        incoming: Arc::default(),
        waker: mio::Waker::new(poll.registry(), WAKE)?,
        sources: Sources::new(poll.registry().try_clone()?),
        view: Arc::new(View::new()),
        counters: Arc::new(WorkerCounters::traced(trace)),
        activity: Activity::new(),
        turn_log: TurnLog::default(),
        long_backlog: LongBacklog::none(),
    })
}
