//! Starting a runtime, running a program in it, ending it.

use crate::lane::catch;
use crate::sys::doorbell::Doorbell;
use crate::sys::fiber::Job;
use crate::sys::once::Once;
use crate::sys::{affinity, overflow};
use crate::worker;
use crate::worker::config::Config;
use crate::worker::inbox::{Inbox, Message};
use crate::worker::readiness::{Sources, WAKE};
use crate::worker::shared::{Phase, Post, Shared};
use std::any::Any;
use std::fmt;
use std::io;
use std::panic::{self, AssertUnwindSafe, Location};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Stack of a worker's own thread, where delegated closures run that came by a lane, and of the first fiber: what a
/// program's `main` has anyway.
const THREAD_STACK: usize = 8 << 20;
/// How often the end of a runtime looks whether all is quiet.
const QUIET_LOOK: Duration = Duration::from_micros(50);
/// Exit status of `#[gossamer::main]` when the runtime cannot start.
const CANNOT_START: i32 = 2;

/// Why a runtime did not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// A setting of the program or of the environment is wrong; the text names it and says what it should be.
    Config(String),
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
            Self::Config(text) => write!(f, "cannot start: {text}"),
            Self::System { step, source } => write!(f, "cannot start: {step}: {source}"),
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Config(_) => None,
            Self::System { source, .. } => Some(source),
        }
    }
}

/// Starts a runtime, runs `f` in it as its first fiber, on worker 0, and returns what `f` returns.
///
/// When `f` returns, fibers that nobody joined are cancelled at their next blocking call, requests in flight are
/// served, and all properties are dropped on their trustees. `f` may capture anything that is `Send`: it stays on
/// this machine. Several runtimes may live in one process.
///
/// ```
/// use gossamer::{Config, Trustee};
/// let total = gossamer::run(Config::default().threads(2), || {
///     let sum = Trustee::all()[1].entrust(0_u64);
///     let fibers: Vec<_> = (1..=10_u64)
///         .map(|n| gossamer::spawn_with(|(sum, n)| sum.apply_with(|sum, n| *sum += n, n), (sum.clone(), n)))
///         .collect();
///     fibers.into_iter().for_each(|fiber| fiber.join());
///     sum.apply(|sum| *sum)
/// });
/// assert_eq!(total, 55);
/// ```
///
/// # Panics
/// If `f` panics, with its payload; if the runtime cannot start (see [`try_run`]); and when called from a fiber.
#[track_caller]
pub fn run<R: Send + 'static>(config: Config, f: impl FnOnce() -> R + Send + 'static) -> R {
    match try_run(config, f) {
        Ok(result) => result,
        Err(error) => panic!("{error}"),
    }
}

/// As [`run`], but returns why the runtime did not start.
///
/// # Errors
/// If a setting is wrong, or the system gives no threads or no poller.
///
/// # Panics
/// If `f` panics, with its payload, and when called from a fiber.
#[track_caller]
pub fn try_run<R: Send + 'static>(
    config: Config,
    f: impl FnOnce() -> R + Send + 'static,
) -> Result<R, StartError> {
    assert!(
        worker::with(|worker| worker.is_none()),
        "`gossamer::run` inside a runtime: spawn a fiber instead"
    );
    let config = config.overridden_by(|name| std::env::var(name).ok()).map_err(StartError::Config)?;
    let runtime = Runtime::start(config)?;
    let outcome = runtime.run_first(f, Location::caller());
    runtime.end();
    Ok(outcome.unwrap_or_else(|payload| panic::resume_unwind(payload)))
}

/// What `#[gossamer::main]` calls.
#[doc(hidden)]
#[track_caller]
pub fn main<R: Send + 'static>(threads: Option<usize>, f: impl FnOnce() -> R + Send + 'static) -> R {
    let config = threads.into_iter().fold(Config::default(), Config::threads);
    try_run(config, f).unwrap_or_else(|error| {
        eprintln!("gossamer: {error}");
        process::exit(CANNOT_START)
    })
}

/// The threads of a runtime.
struct Runtime {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Runtime {
    fn start(config: Config) -> Result<Self, StartError> {
        let system = |step| move |source| StartError::System { step, source };
        let processors = affinity::allowed().unwrap_or_default();
        let count = config.worker_count(processors.len());
        let pinned = config.pins(count, processors.len());
        let (mut polls, mut posts) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let poll = mio::Poll::new().map_err(system("making a poller"))?;
            posts.push(post(&poll).map_err(system("making a poller"))?);
            polls.push(poll);
        }
        let shared = Shared::register(config, posts.into_boxed_slice()).ok_or_else(|| {
            StartError::Config("this process has started 2^32 workers; no numbers are left".into())
        })?;
        catch::install_hook();
        overflow::install();
        let mut runtime = Self { shared, threads: Vec::with_capacity(count) };
        for (index, poll) in polls.into_iter().enumerate() {
            let processor = pinned.then(|| processors[index % processors.len()]);
            let thread = runtime.spawn_worker(index, poll, processor);
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

    /// Runs `f` as a fiber of worker 0 and waits for it.
    fn run_first<R: Send + 'static>(
        &self,
        f: impl FnOnce() -> R + Send + 'static,
        spawned_at: &'static Location<'static>,
    ) -> Result<R, Box<dyn Any + Send>> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let first = Box::new(move |here: &worker::Worker| {
            let start = Once::new(move |start: Result<(), crate::sys::stack::StackError>| {
                let outcome = match start {
                    Ok(()) => panic::catch_unwind(AssertUnwindSafe(f)),
                    Err(error) => Err(Box::new(error.to_string()) as Box<dyn Any + Send>),
                };
                // The receiver waits below until it has this.
                let _received = sender.send(outcome);
            });
            here.scheduler.submit_main(Job { start, spawned_at }, THREAD_STACK);
        });
        let refused = self.shared.posts[0].send(Message::Request(first)).is_err();
        match receiver.recv() {
            Ok(outcome) if !refused => outcome,
            _ => Err(Box::new("the runtime ended before its first fiber did")),
        }
    }

    /// Cancels fibers, serves what is in flight, drops the properties, joins the workers.
    fn end(self) {
        for phase in [Phase::Draining, Phase::Dropping] {
            self.shared.advance_to(phase);
            while !self.shared.is_quiescent() {
                thread::sleep(QUIET_LOOK);
            }
        }
        self.shared.advance_to(Phase::Ended);
        for thread in self.threads {
            // A worker that fails aborts the process, so there is nothing to hear of here.
            let _ended = thread.join();
        }
    }
}

fn post(poll: &mio::Poll) -> io::Result<Post> {
    Ok(Post {
        doorbell: Doorbell::new(),
        inbox: Inbox::new(),
        waker: mio::Waker::new(poll.registry(), WAKE)?,
        sources: Sources::new(poll.registry().try_clone()?),
        activity: AtomicU64::new(0),
        quiet: AtomicU8::new(Phase::Running as u8),
    })
}
