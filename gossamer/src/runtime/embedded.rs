//! [`Runtime`]: a runtime that is started and stopped by a handle, to be embedded in programs and tests.

use crate::runtime::{NodeThreads, StartError, from_environment};
use crate::sys::image::address;
use crate::trust::{JoinHandle, Trustee, start_in_process};
use crate::worker;
use crate::worker::config::Config;
use std::fmt;
use std::panic::{self, Location};
use std::slice;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// A runtime of this process that runs until it is shut down or dropped: for tests, and for use beside other
/// runtimes.
///
/// [`run`](crate::run) is the same for one closure. Threads of the program, and tasks of an async runtime, use the trusts and
/// [`Pending`](crate::Pending)s that they get from it.
///
/// It is always a runtime of this process alone, even in a process that is a node of a [rack](crate::rack): only
/// `#[gossamer::main]` and [`run`](crate::run) join the rack.
///
/// ```
/// use gossamer::{Config, Runtime};
/// let runtime = Runtime::start(Config::default().threads(2))?;
/// let counter = runtime.run(|| gossamer::entrust(0_u64));
/// let mine = counter.clone();
/// let fiber = runtime.spawn(move || mine.apply(|count| *count += 1)); // captures what is `Send`
/// fiber.join(); // on this thread, or `.await`
/// assert_eq!(counter.apply(|count| *count), 1);
/// runtime.shutdown();
/// # Ok::<(), gossamer::StartError>(())
/// ```
pub struct Runtime {
    /// Until the end.
    threads: Option<NodeThreads>,
    /// The worker that gets the next fiber.
    next: AtomicUsize,
}

impl Runtime {
    /// Starts the workers; settings of the environment take precedence over those of `config`, as everywhere.
    ///
    /// ```
    /// use gossamer::{Config, Runtime};
    /// let runtime = Runtime::start(Config::default().threads(2))?;
    /// assert_eq!(runtime.trustees().len(), 2);
    /// # Ok::<(), gossamer::StartError>(())
    /// ```
    ///
    /// # Errors
    /// If a setting is wrong, or the system gives no threads or no poller.
    pub fn start(config: Config) -> Result<Self, StartError> {
        address::check_single().map_err(|text| StartError::Config(text.into()))?;
        let threads = NodeThreads::start(from_environment(config)?, None, None)?;
        Ok(Self { threads: Some(threads), next: AtomicUsize::new(0) })
    }

    /// Runs `f` as a fiber of worker 0, with a stack as large as that of `main`, and waits for its result. Several
    /// threads may do so at the same time.
    ///
    /// Fibers that `f` has started go on after it returns.
    ///
    /// ```
    /// use gossamer::{Config, Runtime};
    /// let runtime = Runtime::start(Config::default().threads(2))?;
    /// let count = runtime.run(|| gossamer::entrust(40_u64)); // as if in `main`
    /// assert_eq!(count.apply(|count| *count + 2), 42);
    /// # Ok::<(), gossamer::StartError>(())
    /// ```
    ///
    /// # Panics
    /// If `f` panics, with its payload; the runtime goes on. And on a worker, which it would block: spawn a fiber
    /// there instead.
    #[track_caller]
    pub fn run<R: Send + 'static>(&self, f: impl FnOnce() -> R + Send + 'static) -> R {
        refuse_workers("run", "spawn a fiber");
        NodeThreads::run_first(slice::from_ref(self.threads()), f, Location::caller())
            .unwrap_or_else(|payload| panic::resume_unwind(payload))
    }

    /// Starts a fiber on one of the workers, in turn. It stays in this process, so it may capture and return anything
    /// that is `Send`, and needs no macro. Usable from any thread.
    ///
    /// ```
    /// use gossamer::{Config, Runtime};
    /// let runtime = Runtime::start(Config::default().threads(2))?;
    /// let fiber = runtime.spawn(|| gossamer::Trustee::here().index());
    /// assert!(fiber.join() < 2);
    /// # Ok::<(), gossamer::StartError>(())
    /// ```
    #[track_caller]
    pub fn spawn<U, F>(&self, f: F) -> JoinHandle<U>
    where
        U: Send + 'static,
        F: FnOnce() -> U + Send + 'static,
    {
        let trustees = self.trustees();
        // Relaxed: it does not matter which worker it is.
        let next = self.next.fetch_add(1, Ordering::Relaxed) % trustees.len();
        start_in_process(trustees[next], f, Location::caller())
    }

    /// The workers, in order.
    ///
    /// ```
    /// use gossamer::{Config, Runtime};
    /// let runtime = Runtime::start(Config::default().threads(2))?;
    /// let list = runtime.trustees()[1].entrust(vec![1, 2]);
    /// assert_eq!(list.apply(|list| list.len()), 2);
    /// # Ok::<(), gossamer::StartError>(())
    /// ```
    pub fn trustees(&self) -> Vec<Trustee> {
        let shared = self.threads().shared();
        (0..shared.workers() as u32).map(|index| Trustee::numbered(shared.base + index)).collect()
    }

    fn threads(&self) -> &NodeThreads {
        match &self.threads {
            Some(threads) => threads,
            None => unreachable!("they are taken when this is dropped"),
        }
    }

    /// Ends the runtime and waits for the end: fibers are cancelled, requests in flight are served, properties are
    /// dropped.
    ///
    /// ```
    /// use gossamer::{Config, Runtime};
    /// let runtime = Runtime::start(Config::default().threads(2))?;
    /// let count = runtime.run(|| gossamer::entrust(0_u64));
    /// runtime.shutdown();
    /// assert!(count.try_apply(|count| *count).is_err()); // it has ended
    /// # Ok::<(), gossamer::StartError>(())
    /// ```
    ///
    /// # Panics
    /// On a worker, which it would block.
    #[track_caller]
    pub fn shutdown(self) {
        refuse_workers("shutdown", "drop it, which does not wait there");
        drop(self);
    }
}

impl Drop for Runtime {
    /// Like [`shutdown`](Runtime::shutdown); on a worker, which must not wait for itself, a separate thread ends the
    /// runtime.
    fn drop(&mut self) {
        let Some(threads) = self.threads.take() else { return };
        if worker::with(|worker| worker.is_none()) {
            return threads.end();
        }
        let ending = thread::Builder::new().name("gossamer-end".to_owned()).spawn(move || threads.end());
        if let Err(error) = ending {
            eprintln!(
                "gossamer: no thread can be started that ends a runtime: {error}; it goes on until the process ends"
            );
        }
    }
}

#[track_caller]
fn refuse_workers(call: &str, instead: &str) {
    assert!(
        worker::with(|worker| worker.is_none()),
        "`Runtime::{call}` on a worker of a runtime, which it would block: {instead}"
    );
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime").field("workers", &self.threads().shared().workers()).finish_non_exhaustive()
    }
}
