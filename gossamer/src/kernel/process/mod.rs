//! Other programs: [`Command`] starts them, and fibers wait for their output and their end, as in `std::process`.
//!
//! ```
//! use gossamer::process::Command;
//!
//! # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
//! let output = Command::new("echo").arg("hello").output()?; // blocks this fiber only
//! assert_eq!(output.stdout, b"hello\n");
//! # Ok(())
//! # }).unwrap();
//! ```
//!
//! A thread of the pool for blocking work ([`unblock`](crate::unblock)) starts programs, so that they do not inherit
//! the processor to which a worker is pinned. Its end is an event of its worker's poller (a pidfd, Linux 5.3 or
//! newer; on older ones a thread of the pool waits). A [`Child`] that is dropped goes on, as in `std`; so does one
//! whose fiber is cancelled.

mod child;
mod pipe;

pub use child::Child;
pub use pipe::{ChildStderr, ChildStdin, ChildStdout};

use crate::blocking::unblock_as;
use crate::worker::fibers::wake::block_on;
use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Output, Stdio};

/// A program to be started, like [`std::process::Command`].
///
/// To set what is missing here (`pre_exec`, user, group), convert a command of `std` into this one.
pub struct Command {
    inner: std::process::Command,
    /// Whether the user has set these: if not, `output` chooses.
    has_stdin: bool,
    has_stdout: bool,
    has_stderr: bool,
}

impl Command {
    /// The program of this name, which is looked up in `PATH`, or of this path.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::process::Command;
    /// let status = Command::new("true").status()?;
    /// assert!(status.success());
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        std::process::Command::new(program).into()
    }

    /// Adds an argument.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::process::Command;
    /// let output = Command::new("echo").arg("one argument").output()?;
    /// assert_eq!(output.stdout, b"one argument\n");
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    pub fn arg(&mut self, argument: impl AsRef<OsStr>) -> &mut Self {
        self.inner.arg(argument);
        self
    }

    /// Adds several arguments.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::process::Command;
    /// let output = Command::new("echo").args(["one", "two"]).output()?;
    /// assert_eq!(output.stdout, b"one two\n");
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    pub fn args(&mut self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> &mut Self {
        self.inner.args(arguments);
        self
    }

    /// Sets a variable of its environment.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::process::Command;
    /// let output = Command::new("sh").args(["-c", "echo $NAME"]).env("NAME", "value").output()?;
    /// assert_eq!(output.stdout, b"value\n");
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    pub fn env(&mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> &mut Self {
        self.inner.env(name, value);
        self
    }

    /// Does not let it inherit a variable.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::process::Command;
    /// let output = Command::new("sh").args(["-c", "echo $HOME"]).env_remove("HOME").output()?;
    /// assert_eq!(output.stdout, b"\n");
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    pub fn env_remove(&mut self, name: impl AsRef<OsStr>) -> &mut Self {
        self.inner.env_remove(name);
        self
    }

    /// Does not let it inherit any variable.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::process::Command;
    /// let output = Command::new("/usr/bin/env").env_clear().output()?;
    /// assert_eq!(output.stdout, b"");
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    pub fn env_clear(&mut self) -> &mut Self {
        self.inner.env_clear();
        self
    }

    /// The directory that it starts in.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::process::Command;
    /// let output = Command::new("pwd").current_dir("/").output()?;
    /// assert_eq!(output.stdout, b"/\n");
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    pub fn current_dir(&mut self, directory: impl AsRef<Path>) -> &mut Self {
        self.inner.current_dir(directory);
        self
    }

    /// Its standard input: inherited by default, nothing for [`output`](Self::output).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::process::Command;
    /// use std::process::Stdio;
    /// use std::io::Write;
    /// let mut child = Command::new("sort").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    /// child.stdin.as_mut().expect("a pipe").write_all(b"two\none\n")?;
    /// assert_eq!(child.wait_with_output()?.stdout, b"one\ntwo\n");
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    pub fn stdin(&mut self, stdin: impl Into<Stdio>) -> &mut Self {
        self.inner.stdin(stdin);
        self.has_stdin = true;
        self
    }

    /// Its standard output: inherited by default, a pipe for [`output`](Self::output).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::process::Command;
    /// use std::process::Stdio;
    /// use std::io::{BufRead, BufReader};
    /// let mut child = Command::new("sh").args(["-c", "echo ready; exec sleep 60"]).stdout(Stdio::piped()).spawn()?;
    /// let mut line = String::new();
    /// BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line)?; // while it runs
    /// assert_eq!(line, "ready\n");
    /// child.kill()?;
    /// # child.wait()?;
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    pub fn stdout(&mut self, stdout: impl Into<Stdio>) -> &mut Self {
        self.inner.stdout(stdout);
        self.has_stdout = true;
        self
    }

    /// Its standard error: inherited by default, a pipe for [`output`](Self::output).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::process::Command;
    /// use std::process::Stdio;
    /// let output = Command::new("sh").args(["-c", "echo trouble >&2"]).stderr(Stdio::null()).output()?;
    /// assert_eq!(output.stderr, b""); // nobody hears of it
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    pub fn stderr(&mut self, stderr: impl Into<Stdio>) -> &mut Self {
        self.inner.stderr(stderr);
        self.has_stderr = true;
        self
    }

    /// Starts it.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::process::Command;
    /// let mut child = Command::new("sleep").arg("60").spawn()?;
    /// child.kill()?;
    /// assert!(!child.wait()?.success());
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// If there is no such program, or the system refuses.
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    pub fn spawn(&mut self) -> io::Result<Child> {
        self.spawn_as("Command::spawn")
    }

    /// Starts it and waits for its end.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::process::Command;
    /// assert_eq!(Command::new("sh").args(["-c", "exit 3"]).status()?.code(), Some(3));
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Like [`spawn`](Self::spawn).
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    #[track_caller]
    pub fn status(&mut self) -> io::Result<ExitStatus> {
        self.spawn_as("Command::status")?.wait()
    }

    /// Starts it, waits for its end, and collects its standard output and standard error in memory.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::process::Command;
    /// assert_eq!(Command::new("echo").arg("hello").output()?.stdout, b"hello\n");
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Like [`spawn`](Self::spawn).
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    #[track_caller]
    pub fn output(&mut self) -> io::Result<Output> {
        let chosen = [self.has_stdin, self.has_stdout, self.has_stderr];
        self.choose(chosen, Stdio::null, Stdio::piped);
        let child = self.spawn_as("Command::output");
        self.choose(chosen, Stdio::inherit, Stdio::inherit);
        block_on(child?.wait_with_output_async(), "Command::output")
    }

    /// Sets those of the three that the user has not `chosen`.
    fn choose(&mut self, chosen: [bool; 3], input: fn() -> Stdio, output: fn() -> Stdio) {
        let [has_stdin, has_stdout, has_stderr] = chosen;
        if !has_stdin {
            self.inner.stdin(input());
        }
        if !has_stdout {
            self.inner.stdout(output());
        }
        if !has_stderr {
            self.inner.stderr(output());
        }
    }

    #[track_caller]
    fn spawn_as(&mut self, call: &'static str) -> io::Result<Child> {
        // It is put back, unless the fiber is cancelled.
        let mut command = std::mem::replace(&mut self.inner, std::process::Command::new(""));
        let (command, child) = unblock_as(call, move || {
            let child = command.spawn();
            (command, child)
        })?;
        self.inner = command;
        Child::new(child?)
    }
}

impl From<std::process::Command> for Command {
    /// [`output`](Command::output) chooses input and outputs, unless they are set on this command after the
    /// conversion.
    fn from(inner: std::process::Command) -> Self {
        Self { inner, has_stdin: false, has_stdout: false, has_stderr: false }
    }
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
