//! One process of a node: its environment, its pipes, its limits, and that it dies with whoever started it.
//!
//! Invariants, by which each `unsafe` block is proved:
//! - X1: what runs between fork and exec makes system calls only. It allocates nothing, takes no lock and touches no
//!   memory but what it has captured by value.
//! - X2: an `OwnedFd` has one number and stays open until it is dropped.

use crate::exit::{self, Failure};
use rustix::io::FdFlags;
use rustix::process::{Gid, PidfdFlags, Resource, Rlimit, Signal, Uid};
use std::ffi::OsString;
use std::io::{self, ErrorKind, PipeReader, PipeWriter};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The limits that nodes get from the launcher, as a shell passes its own on.
const PASSED_ON: [Resource; 3] = [Resource::Nofile, Resource::Core, Resource::Stack];

/// The variables of a node, which it does not inherit if the launcher is a node itself.
const OURS: [&str; 5] =
    ["GOSSAMER_NODES", "GOSSAMER_NODE", "GOSSAMER_TOKEN", "GOSSAMER_LISTEN_FD", "GOSSAMER_REPORT_FD"];

/// Soft limits of a process: open files, core file, stack; nothing where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Limits([Option<u64>; 3]);

impl Limits {
    /// Those of this process.
    #[must_use]
    pub fn own() -> Self {
        Self(PASSED_ON.map(|resource| rustix::process::getrlimit(resource).current))
    }

    /// Sets them for this process, as far as its hard limits allow.
    fn apply(self) -> io::Result<()> {
        for (resource, wanted) in PASSED_ON.into_iter().zip(self.0) {
            let maximum = rustix::process::getrlimit(resource).maximum;
            let current = match (wanted, maximum) {
                (Some(wanted), Some(maximum)) => Some(wanted.min(maximum)),
                (wanted, maximum) => wanted.or(maximum),
            };
            rustix::process::setrlimit(resource, Rlimit { current, maximum })?;
        }
        Ok(())
    }
}

/// Lets this process open as many files as it may: each node takes four.
pub fn raise_open_files() {
    let maximum = rustix::process::getrlimit(Resource::Nofile).maximum;
    // If not, nodes for which files are lacking say so.
    let _ = rustix::process::setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

/// What all nodes of an application run.
#[derive(Clone, Debug)]
pub struct Program {
    /// The file to execute; without a slash it is looked for in `PATH`.
    pub file: PathBuf,
    /// How the program is called, and its arguments.
    pub arguments: Vec<OsString>,
    /// The environment, or this process's.
    pub environment: Option<Vec<(OsString, OsString)>>,
    /// The working directory, or this process's.
    pub directory: Option<PathBuf>,
    /// The mask for new files, or this process's.
    pub mask: Option<u32>,
    /// The limits.
    pub limits: Limits,
    /// The user, or this process's.
    pub user: Option<User>,
}

/// Who a node runs as.
#[derive(Clone, Debug)]
pub struct User {
    /// The number of the user.
    pub user: Uid,
    /// The user's own group.
    pub group: Gid,
    /// All groups of the user, if this process may change its own.
    pub groups: Option<Arc<[Gid]>>,
}

impl User {
    /// Becomes this user. The capabilities go with the number of the user, so that comes last.
    fn assume(&self) -> io::Result<()> {
        if let Some(groups) = &self.groups {
            rustix::thread::set_thread_groups(groups)?;
        }
        rustix::thread::set_thread_gid(self.group)?;
        Ok(rustix::thread::set_thread_uid(self.user)?)
    }
}

/// What one node gets beside that.
#[derive(Debug)]
pub struct Node {
    /// Its index.
    pub index: u32,
    /// Variables of its environment.
    pub variables: Vec<(&'static str, String)>,
    /// The socket on which it listens already.
    pub listener: Option<OwnedFd>,
}

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

/// Starts a node.
///
/// # Errors
/// If the program cannot be executed (126), is not there (127), or the machine lacks something (3).
pub fn spawn(program: &Program, node: &Node) -> Result<Spawned, Failure> {
    let lacking = |what: &str, error: io::Error| {
        Failure::new(exit::UNREACHABLE, format!("cannot start node {}: {what}: {error}", node.index))
    };
    let pipe = || pipe(program.user.as_ref()).map_err(|error| lacking("no pipes for it", error));
    let ((report, report_end), (out, out_end), (err, err_end)) = (pipe()?, pipe()?, pipe()?);
    let mut command = command(program, node);
    let mut input = None;
    command.stdin(Stdio::null()).stdout(out_end).stderr(err_end);
    if node.index == 0 {
        let (input_end, ours) = pipe()?;
        command.stdin(input_end);
        input = Some(ours);
    }
    command.env("GOSSAMER_REPORT_FD", report_end.as_raw_fd().to_string());
    if let Some(listener) = &node.listener {
        command.env("GOSSAMER_LISTEN_FD", listener.as_raw_fd().to_string());
    }
    let inherited = [Some(report_end.as_raw_fd()), node.listener.as_ref().map(AsRawFd::as_raw_fd)];
    let (parent, limits, mask, user) =
        (std::process::id(), program.limits, program.mask, program.user.clone());
    let prepare = move || prepare(parent, user.as_ref(), limits, mask, inherited);
    // SAFETY: `prepare` makes system calls only, and reads its captures, which are numbers (X1).
    unsafe { command.pre_exec(prepare) };
    let mut child = execute(&mut command).map_err(|error| not_started(program, &error))?;
    let ended = rustix::process::Pid::from_raw(child.id().cast_signed())
        .ok_or(rustix::io::Errno::SRCH)
        .and_then(|pid| rustix::process::pidfd_open(pid, PidfdFlags::empty()))
        .map_err(io::Error::from)
        .and_then(|ended| {
            // SAFETY: the `AsyncFd` owns the descriptor and drops it last (X2).
            unsafe { AsyncFd::register_with_interest(ended, Interest::READABLE) }.map_err(Into::into)
        });
    match ended {
        Ok(ended) => Ok(Spawned { child, ended, input, out, err, report }),
        Err(error) => {
            // It must not run on unwatched. If it has ended already, both calls have nothing to do.
            let _ = child.kill();
            let _ = child.wait();
            Err(lacking("its end cannot be watched", error))
        }
    }
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

fn command(program: &Program, node: &Node) -> Command {
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
    limits: Limits,
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
        // SAFETY: `spawn` holds the files open until the program runs, and this process has a copy of each.
        let file = unsafe { BorrowedFd::borrow_raw(file) };
        rustix::io::fcntl_setfd(file, FdFlags::empty())?;
    }
    Ok(())
}

/// Why a program could not be executed.
fn not_started(program: &Program, error: &io::Error) -> Failure {
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
