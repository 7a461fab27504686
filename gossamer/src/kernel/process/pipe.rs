//! The pipes to a program that was started: [`ChildStdin`], [`ChildStdout`], [`ChildStderr`].

use crate::net::fiber_socket::{Call, FiberSocket};
use crate::worker::fibers::readiness::Direction;
use std::fmt;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::Stdio;

/// One end of a pipe, whose calls do not block.
pub(crate) struct Pipe<P>(FiberSocket<P>);

impl<P: AsFd> Pipe<P> {
    /// # Errors
    /// If the kernel refuses to make it non-blocking.
    pub(crate) fn new(end: P) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&end, true)?;
        Ok(Self(FiberSocket::new(end)))
    }

    fn into_blocking(self) -> io::Result<P> {
        let end = self.0.into_io();
        rustix::io::ioctl_fionbio(&end, false)?;
        Ok(end)
    }

    #[track_caller]
    fn read(&self, name: &'static str, buffer: &mut [u8]) -> io::Result<usize> {
        let call = Call::new(name, Direction::Read, None);
        self.0.wait(call, |end| Ok(rustix::io::read(end, &mut *buffer)?))
    }

    #[track_caller]
    fn write(&self, name: &'static str, bytes: &[u8]) -> io::Result<usize> {
        let call = Call::new(name, Direction::Write, None);
        self.0.wait(call, |end| Ok(rustix::io::write(end, bytes)?))
    }

    pub(crate) async fn read_async(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.wait_async(Direction::Read, |end| Ok(rustix::io::read(end, &mut *buffer)?)).await
    }

    async fn write_async(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.wait_async(Direction::Write, |end| Ok(rustix::io::write(end, bytes)?)).await
    }
}

/// The standard input of a [`Child`](crate::process::Child): writing waits as a fiber while the pipe is full. Dropping it closes it.
pub struct ChildStdin(pub(crate) Pipe<std::process::ChildStdin>);

impl ChildStdin {
    /// Like `write`, as a future for any executor: returns how many bytes the pipe took; none if the future is
    /// dropped before.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::process::Command;
    /// use std::process::Stdio;
    /// let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    /// let input = child.stdin.take().expect("a pipe");
    /// assert_eq!(gossamer::block_on(input.write_async(b"hello"))?, 5);
    /// drop(input); // the end
    /// assert_eq!(child.wait_with_output()?.stdout, b"hello");
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// `BrokenPipe` if the other end is closed, or another error of the system.
    pub async fn write_async(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_async(bytes).await
    }
}

impl Write for ChildStdin {
    #[track_caller]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write("ChildStdin::write", bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The standard output of a [`Child`](crate::process::Child): reading waits as a fiber while the pipe is empty.
pub struct ChildStdout(pub(crate) Pipe<std::process::ChildStdout>);

/// The standard error of a [`Child`](crate::process::Child): reading waits as a fiber while the pipe is empty.
pub struct ChildStderr(pub(crate) Pipe<std::process::ChildStderr>);

/// The methods of both outputs. For their examples: the field of a child that this one is, and where its shell sends it.
macro_rules! child_output {
    ($output:ident, $field:ident, $redirection:literal) => {
        impl $output {
            /// Like `read`, as a future for any executor; dropping it loses nothing.
            ///
            /// ```
            /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
            /// use gossamer::process::Command;
            /// use std::process::Stdio;
            #[doc = concat!("let mut child = Command::new(\"sh\").args([\"-c\", \"echo hello", $redirection, "\"]).", stringify!($field), "(Stdio::piped()).spawn()?;")]
            #[doc = concat!("let output = child.", stringify!($field), ".take().expect(\"a pipe\");")]
            /// let mut buffer = [0; 16];
            /// let length = gossamer::block_on(output.read_async(&mut buffer))?;
            /// assert_eq!(&buffer[..length], b"hello\n");
            /// # child.wait()?;
            /// # Ok(())
            /// # }).unwrap();
            /// ```
            ///
            /// # Errors
            /// An error of the system call.
            pub async fn read_async(&self, buffer: &mut [u8]) -> io::Result<usize> {
                self.0.read_async(buffer).await
            }

            /// The pipe as the standard input of another program.
            ///
            /// ```
            /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
            /// use gossamer::process::Command;
            /// use std::process::Stdio;
            #[doc = concat!("let mut child = Command::new(\"sh\").args([\"-c\", \"echo hello", $redirection, "\"]).", stringify!($field), "(Stdio::piped()).spawn()?;")]
            #[doc = concat!("let output = child.", stringify!($field), ".take().expect(\"a pipe\");")]
            /// let shown = Command::new("cat").stdin(output.into_stdio()?).output()?; // as `|` of a shell does
            /// assert_eq!(shown.stdout, b"hello\n");
            /// # child.wait()?;
            /// # Ok(())
            /// # }).unwrap();
            /// ```
            ///
            /// # Errors
            /// If the system refuses to make it blocking again.
            pub fn into_stdio(self) -> io::Result<Stdio> {
                Ok(self.0.into_blocking()?.into())
            }
        }

        impl Read for $output {
            #[track_caller]
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                self.0.read(concat!(stringify!($output), "::read"), buffer)
            }
        }
    };
}

child_output! { ChildStdout, stdout, "" }
child_output! { ChildStderr, stderr, " >&2" }

/// The methods of all three.
macro_rules! child_pipe {
    ($($pipe:ident),+) => {
        $(
            impl AsFd for $pipe {
                fn as_fd(&self) -> BorrowedFd<'_> {
                    self.0.0.io().as_fd()
                }
            }

            impl fmt::Debug for $pipe {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    self.0.0.io().fmt(f)
                }
            }
        )+
    };
}

child_pipe! { ChildStdin, ChildStdout, ChildStderr }
