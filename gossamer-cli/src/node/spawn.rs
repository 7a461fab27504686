//! One process of a node: its environment, its limits, and that it dies with its guardian.
//!
//! Invariants, by which each `unsafe` block is proved:
//! - X1: what runs between fork and exec makes system calls only. It allocates nothing, takes no lock and touches no
//!   memory but what it has captured by value.
//! - X2: guardians only start nodes, and a guardian has one thread. So a copy of it finds no lock taken and no allocation half done,
//!   and may do what the guardian may.

use crate::node::guardian::cgroup::Cgroup;
use crate::node::guardian::protocol::{NodeFiles, NodeOrder};
use crate::node::invocation::{Invocation, User};
use crate::node::resource_limits::ResourceLimits;
use nix::libc;
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use rustix::io::{Errno, FdFlags};
use rustix::process::{Pid, Signal, WaitOptions};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The variables that make a process a node. A node does not inherit them if the launcher is a node itself.
const OURS: [&str; 5] =
    ["GOSSAMER_NODES", "GOSSAMER_NODE", "GOSSAMER_TOKEN", "GOSSAMER_LISTEN_FD", "GOSSAMER_REPORT_FD"];

/// From the kernel's `linux/sched.h`: the type in `libc` is too small for it.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// What the new process does before it becomes the program.
struct Preparation {
    /// The process that starts it.
    parent: u32,
    user: Option<User>,
    limits: ResourceLimits,
    mask: Option<u32>,
    /// The signals that are blocked for it.
    signals: SigSet,
    /// The way into its cgroup, unless it is made inside.
    entrance: Option<File>,
    /// Whether the cgroup limits it.
    is_limited: bool,
    /// Whether it was made inside its cgroup.
    is_inside: Arc<AtomicBool>,
    /// The files that stay open in it.
    inherited: [Option<RawFd>; 2],
}

/// Starts the process of a node, in this cgroup, if there is one. These signals are blocked in this process, and
/// unblocked in the new one.
///
/// # Errors
/// Of the kernel.
pub fn spawn(
    program: &Invocation,
    order: &NodeOrder,
    files: NodeFiles,
    cgroup: Option<&Cgroup>,
    signals: SigSet,
) -> io::Result<Pid> {
    let NodeFiles { input, out, err, report, listener } = files;
    let mut command = command(program, order);
    command.stdin(input.map_or_else(Stdio::null, Stdio::from)).stdout(out).stderr(err);
    command.env("GOSSAMER_REPORT_FD", report.as_raw_fd().to_string());
    if let Some(listener) = &listener {
        command.env("GOSSAMER_LISTEN_FD", listener.as_raw_fd().to_string());
    }
    let is_inside = Arc::new(AtomicBool::new(false));
    let preparation = Preparation {
        parent: std::process::id(),
        user: program.user.clone(),
        limits: program.limits,
        mask: program.mask,
        signals,
        // Without this, the guardian still contains the node.
        entrance: cgroup.and_then(|cgroup| cgroup.entrance().ok()),
        is_limited: !program.allowance.is_all(),
        is_inside: Arc::clone(&is_inside),
        inherited: [Some(report.as_raw_fd()), listener.as_ref().map(AsRawFd::as_raw_fd)],
    };
    // SAFETY: `run` makes system calls only, and reads its captures (X1).
    unsafe { command.pre_exec(move || preparation.run()) };
    let cgroup =
        cgroup.and_then(|cgroup| cgroup.open().ok()).map(|directory| OpenCgroup { directory, is_inside });
    execute(&mut command, cgroup.as_ref())
}

/// A cgroup in which processes are made.
struct OpenCgroup {
    directory: OwnedFd,
    /// Set in a process that was made inside its cgroup.
    is_inside: Arc<AtomicBool>,
}

/// Executes the program. A daemon may just have written the file, and the kernel refuses to execute it as long as
/// another process has it open for writing, such as a new process that has not yet become its program.
fn execute(command: &mut Command, cgroup: Option<&OpenCgroup>) -> io::Result<Pid> {
    for _ in 0..100 {
        match start(command, cgroup) {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {
                std::thread::sleep(Duration::from_millis(5));
            }
            result => return result,
        }
    }
    start(command, cgroup)
}

/// Starts the process in the cgroup, if possible: a process that is moved there later waits for milliseconds, until the
/// kernel knows that nobody looks at the old cgroup any more (a grace period of RCU).
fn start(command: &mut Command, cgroup: Option<&OpenCgroup>) -> io::Result<Pid> {
    match cgroup.map(|cgroup| start_in(command, cgroup)) {
        Some(Ok(started)) => started,
        // Before Linux 5.7, and where the rules of a container do not allow the call, the process moves there itself.
        _ => Pid::from_raw(command.spawn()?.id().cast_signed()).ok_or(ErrorKind::InvalidData.into()),
    }
}

/// Starts the process in the cgroup. The outer error means that the kernel cannot do that, the inner one that the
/// program cannot be started.
fn start_in(command: &mut Command, cgroup: &OpenCgroup) -> io::Result<io::Result<Pid>> {
    // The kernel closes it when the program runs.
    let (mut failure, mut tell) = io::pipe()?;
    let Some(child) = fork_into(&cgroup.directory)? else {
        // Relaxed: there is no other thread.
        cgroup.is_inside.store(true, Ordering::Relaxed);
        let error = command.exec();
        let _ = tell.write_all(&error.raw_os_error().unwrap_or(libc::EIO).to_ne_bytes());
        // SAFETY: it ends this process, and nothing else (X2).
        unsafe { libc::_exit(1) }
    };
    drop(tell);
    let mut error = [0; 4];
    Ok(match failure.read_exact(&mut error) {
        Ok(()) => {
            // It has ended, and never became the node.
            let _ = rustix::process::waitpid(Some(child), WaitOptions::empty());
            Err(io::Error::from_raw_os_error(i32::from_ne_bytes(error)))
        }
        Err(_) => Ok(child),
    })
}

/// Makes a copy of this process, in a cgroup: returns nothing in the copy, and its number in this process.
fn fork_into(cgroup: &OwnedFd) -> io::Result<Option<Pid>> {
    /// The kernel's `struct clone_args`, up to the cgroup.
    #[repr(C)]
    #[derive(Default)]
    struct CloneArguments {
        flags: u64,
        pidfd: u64,
        child_tid: u64,
        parent_tid: u64,
        exit_signal: u64,
        stack: u64,
        stack_size: u64,
        tls: u64,
        set_tid: u64,
        set_tid_size: u64,
        cgroup: u64,
    }
    let arguments = CloneArguments {
        // This process waits until the program runs: until then it shares pages with the copy, and would have to copy
        // each that it writes to.
        flags: CLONE_INTO_CGROUP | libc::CLONE_VFORK as u64,
        exit_signal: libc::SIGCHLD as u64,
        cgroup: u64::try_from(cgroup.as_fd().as_raw_fd()).unwrap_or_default(),
        ..CloneArguments::default()
    };
    // SAFETY: the kernel reads the arguments, which outlive the call, and writes nothing: no flag asks for that. The copy has its own
    // memory, since no flag shares it, and goes on as this thread, the only one (X2).
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<CloneArguments>()) };
    match pid {
        ..0 => Err(io::Error::last_os_error()),
        pid => Ok(i32::try_from(pid).ok().and_then(Pid::from_raw)),
    }
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
        // Relaxed: as above.
        if !self.is_inside.load(Ordering::Relaxed) {
            // Done as this user, since the node's user may have no right to do it.
            let entered = self.entrance.as_ref().ok_or(Errno::NOENT);
            let entered = entered.and_then(|entrance| rustix::io::write(entrance, b"0"));
            if self.is_limited {
                entered?;
            }
        }
        // The standard library would leave the process no group but its own.
        self.user.as_ref().map_or(Ok(()), User::assume)?;
        // After the change of user, which would undo this.
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        if rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get().cast_unsigned())
            != Some(self.parent)
        {
            // The guardian was gone before the call above. Nobody reads this error.
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
