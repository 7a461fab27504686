//! Running a program: alone, or as one of several nodes.

use crate::rack::bootstrap::{self, Met};
use crate::rack::connections::{Joining, at_least_a_moment};
use crate::rack::control::{Follower, Leader};
use crate::rack::device_events::DeviceWatch;
use crate::rack::environment::Membership;
use crate::rack::greeting::problem;
use crate::rack::neighbours;
use crate::rack::survivors::Survivors;
use crate::runtime::{CANNOT_START, NodeThreads, Placement, StartError, from_environment, run_alone};
use crate::sys::image::address;
use crate::worker;
use crate::worker::config::Config;
use crate::worker::end::quiet::wait_until_quiet;
use crate::worker::end::{fate, last_trace};
use crate::worker::shared::Phase;
use std::iter;
use std::panic::{self, Location};
use std::process;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long nodes wait for each other to start, unless `GOSSAMER_START_SECONDS` says.
pub(crate) const START: u64 = 60;

/// Starts a runtime, runs `f` in it as its first fiber, on worker 0, and returns what `f` returns.
///
/// If the process is one of several nodes of a [`rack`](crate::rack), as its environment says, the first call is the
/// runtime of all of them: `f` runs on node 0; on the others the call waits for the end and ends the process. So code
/// before the call runs on every node, code after it only on node 0.
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
/// If `f` panics, with its payload; if the runtime cannot start (see [`try_run`]), after the reason is printed; and
/// when called from a fiber.
///
/// If `f` panics on a rack of several processes, the other nodes end. If the program catches that panic, it goes on
/// without them: the properties of this node are dropped, and waiters for an answer get the error that the runtime
/// has ended. Fibers of this node that have begun stay suspended for ever, with their stacks and the threads of their
/// workers: they are neither resumed nor unwound. A thread that joins one of them gets the error that it was
/// cancelled.
#[track_caller]
pub fn run<R: Send + 'static>(config: Config, f: impl FnOnce() -> R + Send + 'static) -> R {
    match try_run(config, f) {
        Ok(result) => result,
        Err(error) => {
            // Not by the panic hook: neither the caller's line nor a backtrace helps here.
            eprintln!("gossamer: {error}");
            panic::resume_unwind(Box::new(error.to_string()))
        }
    }
}

/// Like [`run`], but returns an error if the runtime cannot start.
///
/// ```
/// use gossamer::Config;
/// match gossamer::try_run(Config::default().threads(2), || 6 * 7) {
///     Ok(answer) => assert_eq!(answer, 42),
///     Err(error) => eprintln!("the rest of this program goes on without a runtime: {error}"),
/// }
/// ```
///
/// # Errors
/// If a setting is wrong, the system gives no threads or no poller, or the nodes of a rack cannot connect.
///
/// # Panics
/// If `f` panics, with its payload, and when called from a fiber.
#[track_caller]
pub fn try_run<R: Send + 'static>(
    config: Config,
    f: impl FnOnce() -> R + Send + 'static,
) -> Result<R, StartError> {
    /// Whether this process has been a node: it can only be one once.
    static JOINED: AtomicBool = AtomicBool::new(false);
    assert!(
        worker::with(|worker| worker.is_none()),
        "`gossamer::run` inside a runtime: spawn a fiber instead"
    );
    address::check_single().map_err(|text| StartError::Config(text.into()))?;
    let (config, started_at) = (from_environment(config)?, Location::caller());
    let membership = Membership::find(&|name| std::env::var(name).ok()).map_err(StartError::Config)?;
    match membership.filter(|_| !JOINED.swap(true, Ordering::Relaxed)) {
        Some(membership) => {
            let membership = membership.protected(config.protection).map_err(StartError::Config)?;
            run_node(&membership, config, f, started_at)
        }
        None => run_alone(config, f, started_at),
    }
}

/// What `#[gossamer::main]` calls.
#[doc(hidden)]
#[track_caller]
pub fn main<R: Send + 'static>(threads: Option<usize>, f: impl FnOnce() -> R + Send + 'static) -> R {
    let config = threads.into_iter().fold(Config::default(), Config::threads);
    try_run(config, f).unwrap_or_else(|error| {
        fate::tell_launcher(&error.to_string());
        eprintln!("gossamer: {error}");
        process::exit(CANNOT_START)
    })
}

fn run_node<R: Send + 'static>(
    membership: &Membership,
    config: Config,
    f: impl FnOnce() -> R + Send + 'static,
    started_at: &'static Location<'static>,
) -> Result<R, StartError> {
    let due = Instant::now() + start_time()?;
    let Met { members, mut controls, port, fabric, survey } = bootstrap::meet(membership, &config, due)?;
    let system =
        |source| StartError::System { step: "starting a thread that watches a node or a device", source };
    let survivors = Arc::new(Survivors::new(membership.node, members.len()));
    let watcher = match controls.pop() {
        Some(socket) if membership.node > 0 => {
            let follower = Follower::start(socket, members[0].clone(), Arc::clone(&survivors));
            Watcher::Follower(follower.map_err(system)?)
        }
        socket => {
            controls.extend(socket);
            Watcher::Leader(Leader::start(controls, &members).map_err(system)?)
        }
    };
    let joining = Joining { membership, port: port.as_ref(), members: &members, survivors: &survivors, due };
    let remote = joining.connect(fabric, survey)?;
    let peers = neighbours::connect(membership, &members, &survivors, remote, at_least_a_moment(due))?;
    drop(port);
    let member = &members[membership.node];
    let placement = Placement {
        workers: member.workers,
        processors: member.processors.clone(),
        is_crowded: member.is_crowded,
    };
    let runtime = NodeThreads::start(config, Some(placement), Some(peers))?;
    let _watch = DeviceWatch::of(runtime.shared()).map_err(system)?;
    let leader = match watcher {
        Watcher::Leader(leader) => leader,
        Watcher::Follower(follower) => {
            runtime.offer_trace(Vec::new);
            follower.follow(Arc::clone(runtime.shared()));
            runtime.leave(Vec::new());
            fate::tell_release();
            process::exit(0);
        }
    };
    leader.wait_until_ready();
    runtime.offer_trace(leader.traces_in_haste());
    let outcome = NodeThreads::run_first(slice::from_ref(&runtime), f, started_at);
    let result = match outcome {
        Ok(result) => result,
        Err(payload) => {
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text =
                text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("a panic without a text");
            last_trace::write_last();
            fate::tell_launcher(&format!("main panicked: {text}"));
            leader.abort();
            // The program may catch the panic, and go on without its rack.
            runtime.abandon();
            panic::resume_unwind(payload)
        }
    };
    for phase in [Phase::Draining, Phase::Dropping] {
        leader.enter(phase);
        runtime.shared().advance_to(phase);
        let look = || Some(runtime.shared().look()?.wrapping_add(leader.look()?));
        wait_until_quiet(iter::once(&**runtime.shared()), look, || leader.unquiet());
    }
    let traces = if runtime.is_traced() { leader.traces() } else { Vec::new() };
    leader.end();
    runtime.leave(traces);
    Ok(result)
}

/// The watchers: from here on, losing a node ends all.
enum Watcher {
    Leader(Leader),
    Follower(Follower),
}

fn start_time() -> Result<Duration, StartError> {
    let Ok(text) = std::env::var("GOSSAMER_START_SECONDS") else { return Ok(Duration::from_secs(START)) };
    match text.trim().parse() {
        Ok(seconds) if seconds > 0 => Ok(Duration::from_secs(seconds)),
        _ => Err(problem(format!("GOSSAMER_START_SECONDS={text:?} is not a whole number above zero"))),
    }
}
