//! A connection by TCP: blocks are sent from their slots, without a copy, and read into their slots. If they are encrypted, the sealed copy is
//! what is sent.
#![expect(unsafe_code, reason = "pages of slots are sent, not copies of them")]

use crate::stream::Error;
use crate::stream::pump::frame::{BYTES, PumpFrame};
use crate::stream::pump::seal::{ConnectionSeal, SEALED_FRAME};
use crate::stream::pump::sealed_copies::SealedCopy;
use crate::stream::pump::{Arrival, Pump, PumpError};
use crate::sys::process::close_on_fork::{CloseOnFork, close_on_fork};
use crate::sys::process::splice::Splice;
use crate::transport::socket::Socket;
use rustix::io::retry_on_intr;
use rustix::net::{SendFlags, send, sockopt};
use std::cell::OnceCell;
use std::io::{self, IoSlice, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// How long a failed connection waits for the other end to hang up.
const LINGER: Duration = Duration::from_secs(5);

/// After so long without an answer the other machine counts as gone.
const SILENCE: Duration = Duration::from_secs(30);
/// How often a silent machine is asked, from which second on.
const ASKED: Duration = Duration::from_secs(5);

/// Fewer bytes are copied: that takes less time than the calls do that save it.
const WORTH_SPLICING: usize = 64 << 10;

/// One connection.
pub(crate) struct Tcp {
    _close_on_fork: CloseOnFork,
    socket: Socket,
    /// Made when the first block is sent; `None` if there are no descriptors for it.
    splice: OnceCell<Option<Splice>>,
    seal: Option<ConnectionSeal>,
}

impl Tcp {
    /// A connection whose ends have met.
    ///
    /// # Errors
    /// If the system refuses, or has no such congestion control.
    pub(crate) fn new(
        socket: Socket,
        congestion: Option<&str>,
        seal: Option<ConnectionSeal>,
    ) -> Result<Self, Error> {
        let set_up = || {
            socket.set_no_limit()?;
            sockopt::set_tcp_user_timeout(&socket, SILENCE.as_millis() as u32)?;
            sockopt::set_socket_keepalive(&socket, true)?;
            sockopt::set_tcp_keepidle(&socket, ASKED)?;
            sockopt::set_tcp_keepintvl(&socket, ASKED)?;
            sockopt::set_tcp_keepcnt(&socket, (SILENCE.as_secs() / ASKED.as_secs()) as u32)?;
            Ok(())
        };
        set_up().map_err(Error::io("setting up a connection"))?;
        if let Some(name) = congestion {
            sockopt::set_tcp_congestion(&socket, name)
                .map_err(|error| Error::io(format!("the congestion control `{name}`"))(error.into()))?;
        }
        Ok(Self::of(socket, seal))
    }

    fn of(socket: Socket, seal: Option<ConnectionSeal>) -> Self {
        Self { _close_on_fork: close_on_fork(socket.as_fd()), socket, splice: OnceCell::new(), seal }
    }

    /// Waits for the next frame.
    ///
    /// # Errors
    /// If the other end is gone, or sends something else.
    pub(crate) fn receive_frame(&mut self) -> io::Result<PumpFrame> {
        if let Some(seal) = &self.seal {
            let mut record = [0; SEALED_FRAME];
            self.socket.read_exact(&mut record)?;
            return seal.open_frame(record);
        }
        let mut header = [0; BYTES];
        self.socket.read_exact(&mut header)?;
        PumpFrame::from_bytes(header)
    }

    pub(crate) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Sends a header, and bytes behind it: not a copy, if that is faster.
    ///
    /// # Safety
    /// Like `Pump::send_bytes`.
    unsafe fn send_parts(&mut self, header: &[u8], bytes: &[u8]) -> io::Result<()> {
        if bytes.len() < WORTH_SPLICING {
            return self.send_copy(header, bytes);
        }
        let Some(splice) = self.splice.get_or_init(|| Splice::new().ok()) else {
            return self.send_copy(header, bytes);
        };
        let mut left = header;
        while !left.is_empty() {
            let flags = SendFlags::MORE | SendFlags::NOSIGNAL;
            left = &left[retry_on_intr(|| send(&self.socket, left, flags))?..];
        }
        // SAFETY: the caller's: the bytes stay until the receiver has said that it has them.
        unsafe { splice.send(bytes, &self.socket) }
    }

    fn send_copy(&mut self, header: &[u8], bytes: &[u8]) -> io::Result<()> {
        let mut parts = [IoSlice::new(header), IoSlice::new(bytes)];
        let mut parts = &mut parts[..];
        while parts.iter().any(|part| !part.is_empty()) {
            match self.socket.write_vectored(parts) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => IoSlice::advance_slices(&mut parts, count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Pump for Tcp {
    fn send(&mut self, frame: PumpFrame) -> io::Result<()> {
        match &self.seal {
            Some(seal) => self.send_copy(&seal.frame(frame)?, &[]),
            None => self.send_copy(&frame.to_bytes(), &[]),
        }
    }

    // SAFETY: what the trait says.
    unsafe fn send_bytes(&mut self, frame: PumpFrame, bytes: &[u8], given_up: u64) -> io::Result<()> {
        let Some(mut seal) = self.seal.take() else {
            // SAFETY: guaranteed by the caller.
            return unsafe { self.send_parts(&frame.to_bytes(), bytes) };
        };
        let sent = if seal.is_secret() {
            seal.send_secret(frame, bytes, given_up, |header, copy| match copy {
                // SAFETY: it stays as the caller's bytes do.
                SealedCopy::Stays(copy) => unsafe { self.send_parts(header, copy) },
                SealedCopy::Passes(copy) => self.send_copy(header, copy),
            })
        } else {
            // SAFETY: guaranteed by the caller.
            seal.headed(frame, bytes).and_then(|header| unsafe { self.send_parts(&header, bytes) })
        };
        self.seal = Some(seal);
        sent
    }

    fn receive(&mut self) -> Result<Arrival, PumpError> {
        Ok(Arrival::Frame(self.receive_frame()?))
    }

    fn receive_bytes(&mut self, _place: usize, slot: &mut [u8]) -> Result<bool, PumpError> {
        match &mut self.seal {
            Some(seal) => seal.receive(slot, |bytes| self.socket.read_exact(bytes))?,
            None => self.socket.read_exact(slot)?,
        }
        Ok(true)
    }

    fn is_sealed(&self) -> bool {
        self.seal.is_some()
    }

    fn hang_up(&self) {
        self.socket.shutdown(Shutdown::Write);
    }

    fn drain(&mut self) {
        let mut nothing = vec![0; 1 << 16];
        let due = Instant::now() + LINGER;
        if self.socket.set_patience(LINGER).is_ok() {
            while Instant::now() < due && self.socket.read(&mut nothing).is_ok_and(|count| count > 0) {}
        }
    }

    fn try_clone(&self) -> io::Result<Self> {
        let seal = self.seal.as_ref().map(ConnectionSeal::another);
        self.socket.try_clone().map(|socket| Self::of(socket, seal))
    }
}
