//! The thread that watches the runtimes of a process: one for all of them, from the first that starts to the last that ends.

use crate::inspect::question;
use crate::inspect::quit::Quit;
use crate::inspect::socket::OwnInspectionSocket;
use crate::inspect::standstill::Standstill;
use crate::sys::threads::bystander::Bystander;
use crate::worker::shared::Shared;
use crate::worker::watch::blocked::BlockWatch;
use crate::worker::watch::doze;
use crate::worker::watch::stall::StallWatch;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Time between two looks at what keeps the workers, when a look has found one awake.
const GLANCE: Duration = Duration::from_millis(10);
/// Time between two looks at all that is watched, unless all workers sleep.
const LOOK: Duration = Duration::from_millis(50);
/// The same while all sleep: for unused memory, and for what a look has missed.
const DOZE: Duration = Duration::from_millis(2500);
/// How long a runtime that has ended waits for the thread.
const PARTING: Duration = Duration::from_secs(2);
/// This many clients are answered at once; others are told to try again.
const VISITORS: usize = 16;

/// While it lives, a runtime is watched.
pub(crate) struct Watching(());

struct WatchThread {
    runtimes: usize,
    ends: Arc<AtomicBool>,
    thread: JoinHandle<()>,
    /// Disconnected when it has ended.
    ended: mpsc::Receiver<()>,
}

fn watcher() -> MutexGuard<'static, Option<WatchThread>> {
    static WATCHER: Mutex<Option<WatchThread>> = Mutex::new(None);
    WATCHER.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watching {
    /// Arranges that the runtimes of this process are watched until this is dropped.
    ///
    /// # Errors
    /// If the system provides no thread, or no descriptor.
    pub(crate) fn begin() -> io::Result<Self> {
        let mut watcher = watcher();
        match &mut *watcher {
            Some(watcher) => watcher.runtimes += 1,
            None => {
                doze::alarm()?;
                // Without them nobody can look, SIGQUIT does what it did, and the program runs as before.
                let (socket, quit) = (OwnInspectionSocket::open().ok(), Quit::take_over().ok().flatten());
                let ends = Arc::new(AtomicBool::new(false));
                let until = Arc::clone(&ends);
                let thread = thread::Builder::new().name("gossamer-watch".to_owned());
                let (lives, ended) = mpsc::channel();
                let thread = thread.spawn(move || {
                    let _bystander = Bystander::here();
                    watch(socket, quit, &until);
                    drop(lives);
                })?;
                *watcher = Some(WatchThread { runtimes: 1, ends, thread, ended });
            }
        }
        // From now on its workers are looked at.
        doze::ring();
        Ok(Self(()))
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let mut watcher = watcher();
        let is_last = watcher.as_mut().is_some_and(|watcher| {
            watcher.runtimes -= 1;
            watcher.runtimes == 0
        });
        if is_last && let Some(WatchThread { ends, thread, ended, .. }) = watcher.take() {
            // Release: pairs with the Acquire in `watch`.
            ends.store(true, Ordering::Release);
            doze::ring();
            // Under the lock: the socket of the next watcher has the same name. A standard error that nobody reads may
            // hold it up.
            if ended.recv_timeout(PARTING) == Err(RecvTimeoutError::Disconnected) {
                // A panic there is a bug of this library, and was printed.
                let _panicked = thread.join();
            }
        }
    }
}

/// Looks at the workers, and answers clients of the socket.
fn watch(socket: Option<OwnInspectionSocket>, quit: Option<Quit>, ends: &AtomicBool) {
    let Ok(alarm) = doze::alarm() else { return };
    let (mut stalls, mut blocks) = (StallWatch::default(), BlockWatch::default());
    let mut standstill = Standstill::new();
    let (mut due, mut glances) = (Instant::now(), false);
    // Acquire: pairs with the Release in `drop`.
    while !ends.load(Ordering::Acquire) {
        let (runtimes, now) = (Shared::all(), Instant::now());
        let mut all_sleep = false;
        if now >= due {
            all_sleep = note_turns(&runtimes);
            stalls.look(&runtimes);
            standstill.look(&runtimes);
            // Not for a worker that only wakes up now and then.
            (due, glances) = (now + LOOK, !all_sleep);
        }
        blocks.look(&runtimes);
        let stall = runtimes.iter().filter_map(|runtime| runtime.config.stall_limit()).min();
        let doze = stall.map_or(DOZE, |stall| (stall / 4).clamp(LOOK, DOZE));
        drop(runtimes);
        doze::note(all_sleep);
        let mut waits = vec![PollFd::new(alarm, PollFlags::IN)];
        waits.extend(socket.as_ref().map(|socket| PollFd::new(&socket.listener, PollFlags::IN)));
        let until_due = if glances { GLANCE.min(due - now) } else { due - now };
        if !wait(&mut waits, if all_sleep { doze } else { until_due }) {
            continue;
        }
        alarm.clear();
        if all_sleep {
            due = Instant::now();
        }
        quit.iter().for_each(Quit::look);
        while let Some(Ok((visitor, _))) = socket.as_ref().map(|socket| socket.listener.accept()) {
            receive(visitor);
        }
    }
    blocks.told_at_the_end();
}

/// Waits for one of the descriptors. Returns whether one is ready.
fn wait(descriptors: &mut [PollFd<'_>], time: Duration) -> bool {
    let time = Timespec::try_from(time).ok();
    match poll(descriptors, time.as_ref()) {
        Ok(count) => count > 0,
        Err(rustix::io::Errno::INTR) => false,
        Err(_) => {
            // The thread looks all the same.
            thread::sleep(LOOK);
            true
        }
    }
}

/// Notes which turns the workers are in. Returns whether all sleep.
fn note_turns(runtimes: &[Arc<Shared>]) -> bool {
    let mut all_sleep = true;
    for mailbox in runtimes.iter().flat_map(|runtime| &runtime.mailboxes) {
        // In this order: a worker that begins a turn between the two counts as awake in the turn before.
        let turn = mailbox.view.turns();
        let is_asleep = mailbox.doorbell.is_asleep();
        mailbox.turn_log.note(Instant::now(), turn, is_asleep);
        all_sleep &= is_asleep;
    }
    all_sleep
}

/// Answers a client, on a thread of its own: it may be slow to read.
fn receive(visitor: UnixStream) {
    static VISITORS_NOW: AtomicUsize = AtomicUsize::new(0);
    struct Leaves;
    impl Drop for Leaves {
        fn drop(&mut self) {
            VISITORS_NOW.fetch_sub(1, Ordering::Relaxed);
        }
    }
    // Relaxed, as above: a count, and nothing else.
    let others = VISITORS_NOW.fetch_add(1, Ordering::Relaxed);
    let leaves = Leaves;
    if others >= VISITORS {
        question::turn_away(&visitor);
    } else {
        let answer = move || {
            let _bystander = Bystander::here();
            // The client sees that it failed.
            let _refused = question::answer(&visitor);
            drop(leaves);
        };
        // Without a thread the client sees the connection end.
        let _none = thread::Builder::new().name("gossamer-inspect".to_owned()).spawn(answer);
    }
}
