//! Signals as events: fibers wait for Ctrl-C, SIGTERM and others, so that a program can end cleanly.
//!
//! ```no_run
//! use gossamer::signal::{SignalKind, Signals};
//!
//! # fn serve() {}
//! #[gossamer::main]
//! fn main() -> std::io::Result<()> {
//!     let ending = Signals::new([SignalKind::INTERRUPT, SignalKind::TERMINATE])?;
//!     drop(gossamer::spawn(serve)); // cancelled when `main` returns
//!     println!("{} ends it", ending.recv()?);
//!     Ok(())
//! }
//! ```
//!
//! The first [`Signals`] of a kind takes that signal over for the rest of the process: the default action of the
//! kernel, mostly to end the process, no longer happens, even if nobody waits for the signal. Earlier handlers are
//! still called.
//!
//! # On a rack
//! `gossamer run`, `srun` and `mpirun` send such a signal to all nodes, and it would end them in the middle of their
//! work. So when a fiber of node 0 makes [`Signals`], the other nodes ignore those signals from then on, and end
//! together with node 0. Launchers do not wait for ever: `gossamer run` kills the remaining nodes after five seconds,
//! or when it gets a second signal. On other nodes than node 0, [`Signals`] are the signals of that process.

use crate::NoRef;
use crate::net::fiber_socket::{Call, FiberSocket};
use crate::sys::signals::own_stack::move_handler_to_own_stack;
use crate::sys::signals::told::note_heard;
use crate::trust::{Trustee, spawn_on_with};
use crate::worker;
use crate::worker::fibers::readiness::Direction;
use signal_hook::consts;
use signal_hook::{SigId, flag, low_level};
use std::fmt;
use std::future::Future;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A kind of signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, NoRef)]
pub struct SignalKind(i32);

impl SignalKind {
    /// SIGINT: Ctrl-C on the terminal.
    pub const INTERRUPT: Self = Self(consts::SIGINT);
    /// SIGTERM: what `kill`, service managers and containers send to end a process.
    pub const TERMINATE: Self = Self(consts::SIGTERM);
    /// SIGHUP: the terminal has gone; servers often read their configuration again.
    pub const HANGUP: Self = Self(consts::SIGHUP);
    /// SIGQUIT: Ctrl-\ on the terminal.
    pub const QUIT: Self = Self(consts::SIGQUIT);
    /// SIGUSR1, whose meaning is up to the program.
    pub const USER1: Self = Self(consts::SIGUSR1);
    /// SIGUSR2, whose meaning is up to the program.
    pub const USER2: Self = Self(consts::SIGUSR2);
    /// SIGCHLD: a child has ended or stopped. [`Child::wait`](crate::process::Child::wait) does not need it.
    pub const CHILD: Self = Self(consts::SIGCHLD);
    /// SIGWINCH: the size of the terminal has changed.
    pub const WINDOW: Self = Self(consts::SIGWINCH);

    /// The signal's number.
    ///
    /// ```
    /// use gossamer::signal::SignalKind;
    /// assert_eq!(SignalKind::TERMINATE.number(), 15); // as `kill -l` lists them
    /// assert_eq!(SignalKind::TERMINATE.to_string(), "SIGTERM");
    /// ```
    #[must_use]
    pub fn number(self) -> i32 {
        self.0
    }
}

impl fmt::Display for SignalKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match low_level::signal_name(self.0) {
            Some(name) => f.write_str(name),
            None => write!(f, "signal {}", self.0),
        }
    }
}

/// Receives signals of some kinds, from when it is made until it is dropped.
///
/// Signals of one kind that arrive before the first is received count as one, as in the kernel. Each `Signals`
/// receives all signals of its kinds.
pub struct Signals {
    arrivals: Vec<(SignalKind, Arc<AtomicBool>)>,
    /// Has a byte to read when something has arrived.
    arrived: FiberSocket<UnixStream>,
    handlers: Vec<SigId>,
}

impl Signals {
    /// Receives signals of these kinds from now on.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::process::Command;
    /// use gossamer::signal::{SignalKind, Signals};
    /// let signals = Signals::new([SignalKind::USER1, SignalKind::HANGUP])?;
    /// Command::new("kill").args(["-HUP", &std::process::id().to_string()]).status()?;
    /// assert_eq!(signals.recv()?, SignalKind::HANGUP); // would have ended the program before
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// `InvalidInput` if there are no kinds; if the system refuses; and on node 0 of a rack, if another node refuses
    /// or is lost.
    ///
    /// # Panics
    /// On node 0 of a rack, in a delegated closure or a callback, which cannot wait.
    pub fn new(kinds: impl IntoIterator<Item = SignalKind>) -> io::Result<Self> {
        let (arrived, arrives) = UnixStream::pair()?;
        arrived.set_nonblocking(true)?;
        let mut signals =
            Self { arrivals: Vec::new(), arrived: FiberSocket::new(arrived), handlers: Vec::new() };
        for kind in kinds {
            let flag = Arc::new(AtomicBool::new(false));
            // In this order, so that a woken waiter finds the flag.
            signals.handlers.push(flag::register(kind.0, Arc::clone(&flag))?);
            signals.handlers.push(low_level::pipe::register(kind.0, arrives.try_clone()?)?);
            move_handler_to_own_stack(kind.0)?;
            note_heard(kind.0);
            signals.arrivals.push((kind, flag));
        }
        if signals.arrivals.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "signals of no kind: none would ever come",
            ));
        }
        have_others_leave_them(signals.arrivals.iter().map(|(kind, _)| kind.0).collect())?;
        Ok(signals)
    }

    /// Waits for the next signal; a fiber lets other fibers run meanwhile.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::process::Command;
    /// use gossamer::signal::{SignalKind, Signals};
    /// let signals = Signals::new([SignalKind::USER1])?; // in a fiber of a server: to tell what it does
    /// Command::new("kill").args(["-USR1", &std::process::id().to_string()]).status()?;
    /// assert_eq!(signals.recv()?, SignalKind::USER1);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// An error of the system call, for example because the process has too many open files.
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    #[track_caller]
    pub fn recv(&self) -> io::Result<SignalKind> {
        let call = Call::new("Signals::recv", Direction::Read, None);
        self.arrived.wait(call, |arrived| self.next(arrived))
    }

    /// Like [`recv`](Self::recv), as a future for any executor. Dropping it loses no signal.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::process::Command;
    /// use gossamer::signal::{SignalKind, Signals};
    /// let signals = Signals::new([SignalKind::USER2])?;
    /// let limit = std::time::Duration::from_millis(1);
    /// assert!(gossamer::timeout(limit, signals.recv_async()).is_err()); // none has come
    /// Command::new("kill").args(["-USR2", &std::process::id().to_string()]).status()?;
    /// assert_eq!(gossamer::block_on(signals.recv_async())?, SignalKind::USER2);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Like [`recv`](Self::recv).
    pub async fn recv_async(&self) -> io::Result<SignalKind> {
        self.arrived.wait_async(Direction::Read, |arrived| self.next(arrived)).await
    }

    /// A signal that has arrived, in the form of an attempt.
    fn next(&self, mut arrived: &UnixStream) -> io::Result<SignalKind> {
        loop {
            // Relaxed: no other memory depends on it; a handler's later write to the socket is ordered by the kernel.
            let found = self.arrivals.iter().find(|(_, flag)| flag.swap(false, Ordering::Relaxed));
            if let Some((kind, _)) = found {
                return Ok(*kind);
            }
            // Bytes of signals that may already have been found, so look again.
            let _stale = arrived.read(&mut [0; 64])?;
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for handler in self.handlers.drain(..) {
            low_level::unregister(handler);
        }
    }
}

impl fmt::Debug for Signals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.arrivals.iter().map(|(kind, _)| kind)).finish()
    }
}

/// Waits for Ctrl-C (SIGINT), from now on. To wait for several signals, or to miss none between two calls, make a
/// [`Signals`]. [`ctrl_c_async`] is the same as a future.
///
/// ```no_run
/// # fn serve() {}
/// #[gossamer::main]
/// fn main() -> std::io::Result<()> {
///     drop(gossamer::spawn(serve)); // cancelled when `main` returns
///     gossamer::signal::ctrl_c()
/// }
/// ```
///
/// # Errors
/// Like [`Signals::new`] and [`Signals::recv`].
///
/// # Panics
/// In a delegated closure or a callback, which cannot wait.
pub fn ctrl_c() -> io::Result<()> {
    Signals::new([SignalKind::INTERRUPT])?.recv().map(drop)
}

/// Like [`ctrl_c`], as a future for any executor, so that other events may end the wait. Ctrl-C is taken over by the
/// call itself, not by the first poll.
///
/// ```no_run
/// use std::time::Duration;
///
/// # fn serve() {}
/// #[gossamer::main]
/// fn main() -> std::io::Result<()> {
///     drop(gossamer::spawn(serve)); // cancelled when `main` returns
///     match gossamer::timeout(Duration::from_secs(3600), gossamer::signal::ctrl_c_async()) {
///         Ok(pressed) => pressed,
///         Err(_) => Ok(()), // an hour is enough
///     }
/// }
/// ```
///
/// # Errors
/// Like [`Signals::new`] and [`Signals::recv`].
///
/// # Panics
/// On node 0 of a rack, in a delegated closure or a callback, which cannot wait.
pub fn ctrl_c_async() -> impl Future<Output = io::Result<()>> + Send {
    first_of(SignalKind::INTERRUPT)
}

/// Waits for SIGTERM, from now on. To wait for several signals, or to miss none between two calls, make a
/// [`Signals`]. [`terminate_async`] is the same as a future.
///
/// ```no_run
/// # fn serve() {}
/// #[gossamer::main]
/// fn main() -> std::io::Result<()> {
///     drop(gossamer::spawn(serve)); // cancelled when `main` returns
///     gossamer::signal::terminate() // what `systemctl stop` sends
/// }
/// ```
///
/// # Errors
/// Like [`Signals::new`] and [`Signals::recv`].
///
/// # Panics
/// In a delegated closure or a callback, which cannot wait.
pub fn terminate() -> io::Result<()> {
    Signals::new([SignalKind::TERMINATE])?.recv().map(drop)
}

/// Like [`terminate`], as a future for any executor, so that other events may end the wait. SIGTERM is taken over by
/// the call itself, not by the first poll.
///
/// ```no_run
/// # fn serve() {}
/// #[gossamer::main]
/// fn main() -> std::io::Result<()> {
///     use gossamer::signal::{ctrl_c_async, terminate_async};
///     drop(gossamer::spawn(serve)); // cancelled when `main` returns
///     gossamer::select! {
///         pressed = ctrl_c_async() => pressed,
///         told = terminate_async() => told,
///     }
/// }
/// ```
///
/// # Errors
/// Like [`Signals::new`] and [`Signals::recv`].
///
/// # Panics
/// On node 0 of a rack, in a delegated closure or a callback, which cannot wait.
pub fn terminate_async() -> impl Future<Output = io::Result<()>> + Send {
    first_of(SignalKind::TERMINATE)
}

/// The next signal of a kind, from this call on. The kind is taken over before the future is made, since a poll should
/// not wait for other nodes.
fn first_of(kind: SignalKind) -> impl Future<Output = io::Result<()>> + Send {
    let signals = Signals::new([kind]);
    async move { signals?.recv_async().await.map(drop) }
}

/// On node 0: makes the other nodes ignore these signals.
fn have_others_leave_them(kinds: Vec<i32>) -> io::Result<()> {
    let others: Vec<Trustee> = worker::with(|worker| {
        let Some((here, peers)) =
            worker.and_then(|here| here.shared.peers.as_ref().map(|peers| (here, peers)))
        else {
            return Vec::new();
        };
        let first_of = |node| Trustee::numbered(here.shared.base + peers.workers_of(node).start as u32);
        if peers.node() == 0 { (1..peers.nodes()).map(first_of).collect() } else { Vec::new() }
    });
    let told: Vec<_> =
        others.into_iter().map(|other| spawn_on_with(other, leave_to_node_0, kinds.clone())).collect();
    for told in told {
        let refusal = told.try_join().map_err(io::Error::other)?;
        refusal.map_or(Ok(()), |text| Err(io::Error::other(text)))?;
    }
    Ok(())
}

/// Ignores signals of these kinds in this process from now on; returns what the system refused.
fn leave_to_node_0(kinds: Vec<i32>) -> Option<String> {
    static LEFT: Mutex<Vec<i32>> = Mutex::new(Vec::new());
    let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    for kind in kinds {
        if left.contains(&kind) {
            continue;
        }
        let taken = flag::register(kind, Arc::new(AtomicBool::new(false)));
        if let Err(error) = taken.and_then(|_handler| move_handler_to_own_stack(kind)) {
            return Some(format!("another node cannot leave {} to node 0: {error}", SignalKind(kind)));
        }
        left.push(kind);
    }
    None
}
