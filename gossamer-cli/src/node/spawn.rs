//! One process of a node: its environment, its pipes, its limits, and that it dies with whoever started it.
//!
//! Invariants, by which each `unsafe` block is proved:
//! - X1: what runs between fork and exec makes system calls only. It allocates nothing, takes no lock and touches no
//!   memory but what it has captured by value.
//! - X2: an `OwnedFd` has one number and stays open until it is dropped.

use crate::exit::{self, Failure};
use crate::node::invocation::{Invocation, NodeSpec, User};
use crate::node::resource_limits::ResourceLimits;
use rustix::io::{Errno, FdFlags};
use rustix::process::{Pid, PidfdFlags, Signal};
use std::io::{self, ErrorKind, PipeReader, PipeWriter};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The variables of a node, which it does not inherit if the launcher is a node itself.
const OURS: [&str; 5] =
    ["GOSSAMER_NODES", "GOSSAMER_NODE", "GOSSAMER_TOKEN", "GOSSAMER_LISTEN_FD", "GOSSAMER_REPORT_FD"];

/// A node that runs.
#[derive(Debug)]
pub struct Spawned {
    /// The process.
    pub child: Child,
    /// Readable when the process has ended.
    pub ended: AsyncFd<OwnedFd>,
    /// The way to its standard input, if it is node 0.
    pub input: Option<PipeWriter>,
    /// Its standard output.
    pub out: PipeReader,
    /// Its standard error.
    pub err: PipeReader,
    /// Where it writes its last words.
    pub report: PipeReader,
}

/// The ends of a node's pipes that the node gets.
struct NodeEnds {
    input: Option<PipeReader>,
    out: PipeWriter,
    err: PipeWriter,
    report: PipeWriter,
}

/// The ends that stay here.
struct OurEnds {
    input: Option<PipeWriter>,
    out: PipeReader,
    err: PipeReader,
    report: PipeReader,
}

/// Starts a node.
///
/// # Errors
/// If the program cannot be executed (126), is not there (127), or the machine lacks something (3).
pub fn spawn(program: &Invocation, node: &NodeSpec) -> Result<Spawned, Failure> {
    let lacking = |what: &str, error: io::Error| {
        Failure::new(exit::UNREACHABLE, format!("cannot start node {}: {what}: {error}", node.index))
    };
    let (theirs, ours) =
        pipes(program.user.as_ref(), node.index == 0).map_err(|error| lacking("no pipes for it", error))?;
    let mut child = start(program, node, theirs).map_err(|error| not_started(program, &error))?;
    match watch_end(&child) {
        Ok(ended) => {
            let OurEnds { input, out, err, report } = ours;
            Ok(Spawned { child, ended, input, out, err, report })
        }
        Err(error) => {
            // It must not run on unwatched. If it has ended already, both calls have nothing to do.
            let _ = child.kill();
            let _ = child.wait();
            Err(lacking("its end cannot be watched", error))
        }
    }
}

/// All pipes of a node; only node 0 has one for its input.
fn pipes(user: Option<&User>, has_input: bool) -> io::Result<(NodeEnds, OurEnds)> {
    let ((report, report_end), (out, out_end), (err, err_end)) = (pipe(user)?, pipe(user)?, pipe(user)?);
    let (input_end, input) = has_input.then(|| pipe(user)).transpose()?.unzip();
    let theirs = NodeEnds { input: input_end, out: out_end, err: err_end, report: report_end };
    Ok((theirs, OurEnds { input, out, err, report }))
}

/// Starts the process, with its ends of the pipes.
fn start(program: &Invocation, node: &NodeSpec, ends: NodeEnds) -> io::Result<Child> {
    let NodeEnds { input, out, err, report } = ends;
    let mut command = command(program, node);
    command.stdin(input.map_or_else(Stdio::null, Stdio::from)).stdout(out).stderr(err);
    command.env("GOSSAMER_REPORT_FD", report.as_raw_fd().to_string());
    if let Some(listener) = &node.listener {
        command.env("GOSSAMER_LISTEN_FD", listener.as_raw_fd().to_string());
    }
    let inherited = [Some(report.as_raw_fd()), node.listener.as_ref().map(AsRawFd::as_raw_fd)];
    let (parent, limits, mask, user) =
        (std::process::id(), program.limits, program.mask, program.user.clone());
    let prepare = move || prepare(parent, user.as_ref(), limits, mask, inherited);
    // SAFETY: `prepare` makes system calls only, and reads its captures, which are numbers (X1).
    unsafe { command.pre_exec(prepare) };
    execute(&mut command)
}

/// A descriptor that is readable when the process has ended.
fn watch_end(child: &Child) -> io::Result<AsyncFd<OwnedFd>> {
    let pid = Pid::from_raw(child.id().cast_signed()).ok_or(Errno::SRCH)?;
    let ended = rustix::process::pidfd_open(pid, PidfdFlags::empty())?;
    // SAFETY: the `AsyncFd` owns the descriptor and drops it last (X2).
    unsafe { AsyncFd::register_with_interest(ended, Interest::READABLE) }.map_err(Into::into)
}

/// A pipe that belongs to the user of the node: only then can it be opened anew, as `/dev/stdout` or by its number in
/// `/proc/self/fd`.
fn pipe(user: Option<&User>) -> io::Result<(PipeReader, PipeWriter)> {
    let (from, to) = io::pipe()?;
    if let Some(User { user, group, .. }) = user {
        rustix::fs::fchown(&to, Some(*user), Some(*group))?;
    }
    Ok((from, to))
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

fn command(program: &Invocation, node: &NodeSpec) -> Command {
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
    command.envs(node.variables.iter().map(|(name, value)| (name, value)));
    if let Some(directory) = &program.directory {
        command.current_dir(directory);
    }
    command.process_group(0);
    command
}

/// What the new process does before it becomes the program.
fn prepare(
    parent: u32,
    user: Option<&User>,
    limits: ResourceLimits,
    mask: Option<u32>,
    inherited: [Option<RawFd>; 2],
) -> io::Result<()> {
    // The standard library would leave it no group but its own.
    user.map_or(Ok(()), User::assume)?;
    // After the change of user, which undoes it.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    if rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get().cast_unsigned()) != Some(parent) {
        // The launcher was gone before the call above. Nobody reads this.
        return Err(io::Error::from(ErrorKind::BrokenPipe));
    }
    limits.apply()?;
    if let Some(mask) = mask {
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(mask & 0o777));
    }
    for file in inherited.into_iter().flatten() {
        // SAFETY: `start` holds the files open until the program runs, and this process has a copy of each.
        let file = unsafe { BorrowedFd::borrow_raw(file) };
        rustix::io::fcntl_setfd(file, FdFlags::empty())?;
    }
    Ok(())
}

/// Why a program could not be executed.
fn not_started(program: &Invocation, error: &io::Error) -> Failure {
    let name = program.arguments.first().map_or(Path::new(""), Path::new).display().to_string();
    let has_path = program.file.as_os_str().as_encoded_bytes().contains(&b'/');
    match error.kind() {
        ErrorKind::NotFound if has_path && program.file.exists() => Failure::new(
            exit::NOT_EXECUTABLE,
            format!("cannot start {name}: it is there, but its interpreter or its loader is not"),
        ),
        ErrorKind::NotFound if has_path => Failure::new(
            exit::NOT_FOUND,
            format!("cannot start {name}: there is no such file; build it, or correct the path"),
        ),
        ErrorKind::NotFound => Failure::new(
            exit::NOT_FOUND,
            format!("cannot start {name}: it is not in PATH; for a program in this directory write ./{name}"),
        ),
        ErrorKind::PermissionDenied => Failure::new(
            exit::NOT_EXECUTABLE,
            format!("cannot start {name}: permission denied; is it an executable file (chmod +x)?"),
        ),
        ErrorKind::WouldBlock | ErrorKind::OutOfMemory => Failure::new(
            exit::UNREACHABLE,
            format!("cannot start {name}: {error}; this machine has no room for more processes"),
        ),
        _ => Failure::new(exit::NOT_EXECUTABLE, format!("cannot start {name}: {error}")),
    }
}
