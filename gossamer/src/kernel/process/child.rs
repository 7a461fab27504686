//! [`Child`]: a program that was started, and its end.

use crate::blocking::{hand_over, unblock_as};
use crate::kernel::process::pipe::Pipe;
use crate::kernel::process::{ChildStderr, ChildStdin, ChildStdout};
use crate::net::fiber_socket::{Call, FiberSocket};
use crate::worker::fibers::readiness::Direction;
use crate::worker::fibers::wake::block_on;
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, pidfd_open, waitid};
use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::process::{ExitStatus, Output};
use std::task::Poll;

/// A program that was started, like [`std::process::Child`]. Dropping it neither ends the program nor waits for it.
pub struct Child {
    /// Its standard input, if it is a pipe.
    pub stdin: Option<ChildStdin>,
    /// Its standard output, if it is a pipe.
    pub stdout: Option<ChildStdout>,
    /// Its standard error, if it is a pipe.
    pub stderr: Option<ChildStderr>,
    inner: std::process::Child,
    /// Readable when it has ended; `None` if the kernel does not support pidfds, or none is left.
    pidfd: Option<FiberSocket<OwnedFd>>,
}

impl Child {
    /// # Errors
    /// If the kernel refuses to make its pipes non-blocking.
    pub(crate) fn new(mut inner: std::process::Child) -> io::Result<Self> {
        // Nobody has waited for it, so the process number is still its own.
        let pidfd = pidfd_open(Pid::from_child(&inner), PidfdFlags::empty()).ok();
        Ok(Self {
            stdin: inner.stdin.take().map(Pipe::new).transpose()?.map(ChildStdin),
            stdout: inner.stdout.take().map(Pipe::new).transpose()?.map(ChildStdout),
            stderr: inner.stderr.take().map(Pipe::new).transpose()?.map(ChildStderr),
            pidfd: pidfd.map(FiberSocket::new),
            inner,
        })
    }

    /// Its process number.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::process::Command;
    /// let child = Command::new("true").spawn()?;
    /// assert_ne!(child.id(), std::process::id());
    /// # { child }.wait()?;
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub fn id(&self) -> u32 {
        self.inner.id()
    }

    /// Kills it, by SIGKILL; [`wait`](Self::wait) for its end afterwards.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::process::Command;
    /// let mut child = Command::new("sleep").arg("60").spawn()?;
    /// child.kill()?; // `wait` has its end
    /// assert!(!child.wait()?.success());
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// An error of the system call.
    pub fn kill(&mut self) -> io::Result<()> {
        self.inner.kill()
    }

    /// How it ended, if it has; returns at once.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::process::Command;
    /// let mut child = Command::new("sleep").arg("60").spawn()?;
    /// assert!(child.try_wait()?.is_none()); // it goes on
    /// child.kill()?;
    /// # child.wait()?;
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// An error of the system call.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.inner.try_wait()
    }

    /// Closes its standard input, and waits for its end; a fiber lets other fibers run meanwhile.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::process::Command;
    /// let mut child = Command::new("true").spawn()?;
    /// assert!(child.wait()?.success());
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// An error of the system call.
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    #[track_caller]
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        const NAME: &str = "Child::wait";
        drop(self.stdin.take());
        let Self { inner, pidfd, .. } = self;
        let Some(pidfd) = pidfd else {
            let number = Pid::from_child(inner);
            if inner.try_wait()?.is_none() {
                unblock_as(NAME, move || wait_for_end(number))??;
            }
            return inner.wait();
        };
        let call = Call::new(NAME, Direction::Read, None);
        pidfd.wait(call, |_| outcome(inner))
    }

    /// Like [`wait`](Self::wait), as a future for any executor.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::process::Command;
    /// let mut child = Command::new("sleep").arg("60").spawn()?;
    /// let limit = std::time::Duration::from_millis(10);
    /// if gossamer::timeout(limit, child.wait_async()).is_err() {
    ///     child.kill()?; // it took too long
    /// }
    /// assert!(!child.wait()?.success());
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// An error of the system call.
    pub async fn wait_async(&mut self) -> io::Result<ExitStatus> {
        drop(self.stdin.take());
        let Self { inner, pidfd, .. } = self;
        let Some(pidfd) = pidfd else {
            let number = Pid::from_child(inner);
            if inner.try_wait()?.is_none() {
                hand_over(move || wait_for_end(number))?.await?;
            }
            return inner.wait();
        };
        pidfd.wait_async(Direction::Read, |_| outcome(inner)).await
    }

    /// Closes its standard input, waits for its end, and collects the output that it writes to pipes.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::process::Command;
    /// use std::process::Stdio;
    /// let child = Command::new("sh").args(["-c", "echo done; exit 3"]).stdout(Stdio::piped()).spawn()?;
    /// let output = child.wait_with_output()?;
    /// assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(3), &b"done\n"[..]));
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// An error of the system call.
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    #[track_caller]
    pub fn wait_with_output(self) -> io::Result<Output> {
        block_on(self.wait_with_output_async(), "Child::wait_with_output")
    }

    /// Like [`wait_with_output`](Self::wait_with_output), as a future for any executor.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::process::Command;
    /// use std::process::Stdio;
    /// let begin = |text| Command::new("echo").arg(text).stdout(Stdio::piped()).spawn();
    /// let both = [begin("one")?, begin("two")?].map(|child| child.wait_with_output_async());
    /// let outputs = gossamer::join_all(both); // at the same time
    /// for (output, text) in outputs.into_iter().zip(["one\n", "two\n"]) {
    ///     assert_eq!(output?.stdout, text.as_bytes());
    /// }
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// An error of the system call.
    pub async fn wait_with_output_async(mut self) -> io::Result<Output> {
        drop(self.stdin.take());
        let (stdout, stderr) = (self.stdout.take(), self.stderr.take());
        let stdout = async { read_to_end(stdout.as_ref().map(|stdout| &stdout.0)).await };
        let stderr = async { read_to_end(stderr.as_ref().map(|stderr| &stderr.0)).await };
        let (stdout, stderr) = both(stdout, stderr).await;
        let status = self.wait_async().await?;
        Ok(Output { status, stdout: stdout?, stderr: stderr? })
    }
}

/// How a program has ended, in the form of an attempt.
fn outcome(child: &mut std::process::Child) -> io::Result<ExitStatus> {
    child.try_wait()?.ok_or_else(|| io::ErrorKind::WouldBlock.into())
}

/// Waits, blocking, for the end of a child that nobody has waited for, and leaves its status for a later wait.
fn wait_for_end(number: Pid) -> io::Result<()> {
    loop {
        match waitid(WaitId::Pid(number), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome.map(drop).map_err(io::Error::from),
        }
    }
}

async fn read_to_end<P: std::os::fd::AsFd>(pipe: Option<&Pipe<P>>) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    let Some(pipe) = pipe else { return Ok(all) };
    let mut buffer = vec![0; 16 * 1024];
    loop {
        match pipe.read_async(&mut buffer).await? {
            0 => return Ok(all),
            length => all.extend_from_slice(&buffer[..length]),
        }
    }
}

/// The outputs of both, which wait at the same time.
async fn both<A: Future, B: Future>(a: A, b: B) -> (A::Output, B::Output) {
    let (mut a, mut b) = (pin!(a), pin!(b));
    let (mut first, mut second) = (None, None);
    poll_fn(move |context| {
        if first.is_none()
            && let Poll::Ready(output) = a.as_mut().poll(context)
        {
            first = Some(output);
        }
        if second.is_none()
            && let Poll::Ready(output) = b.as_mut().poll(context)
        {
            second = Some(output);
        }
        match (first.take(), second.take()) {
            (Some(first), Some(second)) => Poll::Ready((first, second)),
            (one, other) => {
                (first, second) = (one, other);
                Poll::Pending
            }
        }
    })
    .await
}

impl fmt::Debug for Child {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Child").field("id", &self.id()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gossamer::process::Command;
    use gossamer::{Config, run};

    #[test]
    fn without_a_descriptor_of_the_process_a_thread_waits_for_its_end() {
        run(Config::default().threads(1).pin(false), || {
            let mut child = Command::new("sh").args(["-c", "exit 7"]).spawn().unwrap();
            child.pidfd = None;
            assert_eq!(child.wait().unwrap().code(), Some(7));
            let mut child = Command::new("sh").args(["-c", "sleep 0.1; exit 8"]).spawn().unwrap();
            child.pidfd = None;
            assert_eq!(block_on(child.wait_async(), "a test").unwrap().code(), Some(8));
            assert_eq!(child.wait().unwrap().code(), Some(8));
        });
    }
}
