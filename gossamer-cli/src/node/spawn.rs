//! One process of a node: its environment, its limits, and that it dies with its guardian.
//!
//! Invariants, by which each `unsafe` block is proved:
//! - X1: what runs between fork and exec makes system calls only. It allocates nothing, takes no lock and touches no
//!   memory but what it has captured by value.

use crate::node::guardian::cgroup::Cgroup;
use crate::node::guardian::protocol::{NodeFiles, NodeOrder};
use crate::node::invocation::{Invocation, User};
use crate::node::resource_limits::ResourceLimits;
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use rustix::io::FdFlags;
use rustix::process::Signal;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The variables of a node, which it does not inherit if the launcher is a node itself.
const OURS: [&str; 5] =
    ["GOSSAMER_NODES", "GOSSAMER_NODE", "GOSSAMER_TOKEN", "GOSSAMER_LISTEN_FD", "GOSSAMER_REPORT_FD"];

/// What the new process does before it becomes the program.
struct Preparation {
    /// The process that starts it.
    parent: u32,
    user: Option<User>,
    limits: ResourceLimits,
    mask: Option<u32>,
    /// The signals that are blocked for it.
    signals: SigSet,
    /// The way into its cgroup.
    entrance: Option<File>,
    /// The files that it keeps.
    inherited: [Option<RawFd>; 2],
}

/// Starts the process of a node, in this cgroup, if there is one; it blocks these signals.
///
/// # Errors
/// Of the kernel.
pub fn spawn(
    program: &Invocation,
    order: &NodeOrder,
    files: NodeFiles,
    cgroup: Option<&Cgroup>,
    signals: SigSet,
) -> io::Result<Child> {
    let NodeFiles { input, out, err, report, listener } = files;
    let mut command = command(program, order);
    command.stdin(input.map_or_else(Stdio::null, Stdio::from)).stdout(out).stderr(err);
    command.env("GOSSAMER_REPORT_FD", report.as_raw_fd().to_string());
    if let Some(listener) = &listener {
        command.env("GOSSAMER_LISTEN_FD", listener.as_raw_fd().to_string());
    }
    let preparation = Preparation {
        parent: std::process::id(),
        user: program.user.clone(),
        limits: program.limits,
        mask: program.mask,
        signals,
        // Without it, the guardian contains the node all the same.
        entrance: cgroup.and_then(|cgroup| cgroup.entrance().ok()),
        inherited: [Some(report.as_raw_fd()), listener.as_ref().map(AsRawFd::as_raw_fd)],
    };
    // SAFETY: `run` makes system calls only, and reads its captures (X1).
    unsafe { command.pre_exec(move || preparation.run()) };
    execute(&mut command)
}

/// Executes the program. A daemon may just have written it: as long as another new process, not yet the program that it
/// will be, has the file of the writer still open, the kernel does not execute it.
fn execute(command: &mut Command) -> io::Result<Child> {
    for _ in 0..100 {
        match command.spawn() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {
                std::thread::sleep(Duration::from_millis(5));
            }
            result => return result,
        }
    }
    command.spawn()
}

fn command(program: &Invocation, order: &NodeOrder) -> Command {
    let mut command = Command::new(&program.file);
    let mut arguments = program.arguments.iter();
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    command.args(arguments);
    if let Some(environment) = &program.environment {
        command.env_clear().envs(environment.iter().map(|(name, value)| (name, value)));
    }
    for name in OURS {
        command.env_remove(name);
    }
    command.envs(order.variables.iter().map(|(name, value)| (name, value)));
    if let Some(directory) = &program.directory {
        command.current_dir(directory);
    }
    command.process_group(0);
    command
}

impl Preparation {
    fn run(&self) -> io::Result<()> {
        if let Some(entrance) = &self.entrance {
            // As this user: the node's may have no right to.
            let _ = rustix::io::write(entrance, b"0");
        }
        // The standard library would leave it no group but its own.
        self.user.as_ref().map_or(Ok(()), User::assume)?;
        // After the change of user, which undoes it.
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        if rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get().cast_unsigned())
            != Some(self.parent)
        {
            // The guardian was gone before the call above. Nobody reads this.
            return Err(io::Error::from(ErrorKind::BrokenPipe));
        }
        self.limits.apply()?;
        if let Some(mask) = self.mask {
            rustix::process::umask(rustix::fs::Mode::from_raw_mode(mask & 0o777));
        }
        for file in self.inherited.into_iter().flatten() {
            // SAFETY: `spawn` holds the files open until the program runs, and this process has a copy of each.
            let file = unsafe { BorrowedFd::borrow_raw(file) };
            rustix::io::fcntl_setfd(file, FdFlags::empty())?;
        }
        Ok(sigprocmask(SigmaskHow::SIG_SETMASK, Some(&self.signals), None)?)
    }
}
