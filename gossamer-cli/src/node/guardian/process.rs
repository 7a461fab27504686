//! The process that is a node's guardian: it starts the node, passes signals on to it, and ends what the node has started when the
//! node or the host is gone. Then it ends, too: with status 0 if nothing is left.

use crate::exit;
use crate::node::guardian::cgroup::Cgroup;
use crate::node::guardian::descendants;
use crate::node::guardian::memory_watch::MemoryWatch;
use crate::node::guardian::protocol::{News, receive_order};
use crate::node::spawn::spawn;
use nix::sys::signal::{SigSet, SigmaskHow};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
use std::collections::HashSet;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// The first argument of a guardian. It is no subcommand, since only a host uses it.
pub const NAME: &str = "gossamer-guardian";

/// The first and the longest pause between two looks for what is left: short at first, since processes end in less than
/// a millisecond.
const SOONEST: Duration = Duration::from_micros(200);
const LATEST: Duration = Duration::from_millis(100);

/// How long the kernel may take to release processes that have ended.
const LET_GO: Duration = Duration::from_secs(10);

/// A guardian whose node runs.
struct RunningNode {
    host: UnixStream,
    children: SignalFd,
    cgroup: Option<Cgroup>,
    node: Pid,
    memory: MemoryWatch,
    /// How the node has ended, once it is reaped.
    status: Option<WaitStatus>,
}

/// Whether this process was started as a guardian.
#[must_use]
pub fn is_called() -> bool {
    std::env::args_os().next().is_some_and(|name| name == NAME)
}

/// Runs as a guardian, to the end.
pub fn main() -> ! {
    let status = match guard() {
        Ok(()) => 0,
        Err(error) => {
            // If a host has started it, there is no other output.
            let _ =
                writeln!(io::stderr(), "{NAME} is started by `gossamer run` and `gossamer daemon`: {error}");
            exit::USAGE
        }
    };
    std::process::exit(status.into())
}

fn guard() -> io::Result<()> {
    let host = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    // Signals to all processes of a terminal, or of a service, are left to the host.
    let inherited = SigSet::all().thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let mut child = SigSet::empty();
    child.add(nix::sys::signal::SIGCHLD);
    let children = SignalFd::with_flags(&child, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    // Its executable is named like the command, which says nothing here.
    let _ = rustix::thread::set_name(c"gossamer-guard");
    // Named after its node's index. The host is told at once; the cgroup is removed if the host is gone before it has
    // said what to start.
    let cgroup = std::env::args_os().nth(2).map(|path| Cgroup::at(&path));
    let received = receive_order(&host);
    if let (Err(_), Some(cgroup)) = (&received, &cgroup) {
        remove(cgroup);
    }
    let (program, order, files) = received?;
    let memory = MemoryWatch::start();
    match spawn(&program, &order, files, cgroup.as_ref(), inherited) {
        Ok(node) => {
            tell(&host, News::Started(node.as_raw_nonzero().get()));
            drop((program, order));
            RunningNode { host, children, cgroup, node, memory, status: None }.watch()
        }
        Err(error) => {
            if let Some(cgroup) = cgroup {
                remove(&cgroup);
            }
            tell(&host, News::NotStarted(error.raw_os_error().unwrap_or(0)));
        }
    }
    Ok(())
}

/// Reports something to the host. If the host is gone, nobody wants to know.
fn tell(mut host: &UnixStream, news: News) {
    let _ = host.write_all(&news.to_bytes());
}

impl RunningNode {
    /// Passes on signals until the node or the host is gone; then kills what is left.
    fn watch(mut self) {
        while self.status.is_none() && self.is_wanted() {}
        if let Some(status) = self.status {
            // Must happen before its cgroup is removed.
            let is_killed = status.terminating_signal() == Some(Signal::KILL.as_raw());
            let look = || self.memory.look(self.node, self.cgroup.as_ref());
            let out_of_memory = is_killed.then(look).flatten();
            tell(&self.host, News::Ended { status: status.as_raw(), out_of_memory });
        }
        let has_ended = self.status.is_some();
        self.end_all();
        if let Some(status) = self.status.filter(|_| !has_ended) {
            tell(&self.host, News::Ended { status: status.as_raw(), out_of_memory: None });
        }
    }

    /// Waits for the next event; returns whether the host is still there.
    fn is_wanted(&mut self) -> bool {
        let mut events = [PollFd::new(&self.children, PollFlags::IN), PollFd::new(&self.host, PollFlags::IN)];
        // It fails only if a signal interrupts it, which none does.
        let _ = poll(&mut events, None);
        let [ended, said] = events.map(|event| !event.revents().is_empty());
        if ended {
            while let Ok(Some(_)) = self.children.read_signal() {}
            self.reap();
        }
        // Once the node is reaped, it cannot be signalled any more: its number may belong to another process.
        self.status.is_some() || !said || self.obey()
    }

    /// Passes signals on to the node; returns whether the host is still there.
    fn obey(&mut self) -> bool {
        let mut signals = [0; 64];
        match (&self.host).read(&mut signals) {
            Ok(0) => false,
            Ok(count) => {
                let signals = signals.iter().take(count);
                for signal in signals.filter_map(|&signal| Signal::from_named_raw(i32::from(signal))) {
                    // All processes of its group may have ended.
                    let _ = rustix::process::kill_process_group(self.node, signal);
                }
                true
            }
            Err(error) => error.kind() == io::ErrorKind::Interrupted,
        }
    }

    /// Reaps children that have ended: the node, and processes that became children of this one because their parent
    /// ended. Returns whether there are still children.
    fn reap(&mut self) -> bool {
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((child, status))) if child == self.node => self.status = Some(status),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    }

    /// Kills the node and everything that it has started, until nothing is left.
    fn end_all(&mut self) {
        let mut pause = SOONEST;
        while self.kill() {
            std::thread::sleep(pause);
            pause = (pause * 2).min(LATEST);
        }
        if let Some(cgroup) = &self.cgroup {
            remove(cgroup);
        }
    }

    /// Whether there was something to kill.
    fn kill(&mut self) -> bool {
        if let Some(cgroup) = &self.cgroup {
            cgroup.kill();
        }
        let node = self.node;
        let mut ended = None;
        descendants::end(&HashSet::new(), |child, status| {
            if child == node {
                ended = Some(status);
            }
        });
        self.status = self.status.or(ended);
        // Only if the kernel says that there are no children, there are none: a list of children may have been read
        // just before another one arrived.
        self.reap()
    }
}

/// Removes a cgroup in which everything has ended. The kernel may still keep a process in it: it leaves the cgroup only
/// when it gives up its processor for the last time, which takes a while on a busy machine.
fn remove(cgroup: &Cgroup) {
    let (begin, mut pause) = (Instant::now(), SOONEST);
    while !cgroup.remove() && begin.elapsed() < LET_GO {
        std::thread::sleep(pause);
        pause = (pause * 2).min(LATEST);
        cgroup.kill();
    }
}
