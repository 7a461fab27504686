//! A connection by TCP: blocks are written from their slots and read into their slots.

use crate::fabric::socket::Socket;
use crate::stream::Error;
use crate::stream::pump::Pump;
use crate::stream::pump::frame::{BYTES, Frame};
use rustix::net::sockopt;
use std::io::{self, IoSlice, Read, Write};
use std::net::Shutdown;
use std::time::{Duration, Instant};

/// How long a failed connection waits for the other end to hang up.
const LINGER: Duration = Duration::from_secs(5);

/// After so long without an answer the other machine counts as gone.
const SILENCE: Duration = Duration::from_secs(30);
/// How often a silent machine is asked, from which second on.
const ASKED: Duration = Duration::from_secs(5);

/// One connection.
pub(crate) struct Tcp(Socket);

impl Tcp {
    /// A connection whose ends have met.
    ///
    /// # Errors
    /// If the system refuses, or has no such congestion control.
    pub(crate) fn new(socket: Socket, congestion: Option<&str>) -> Result<Self, Error> {
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
        Ok(Self(socket))
    }
}

impl Pump for Tcp {
    fn send(&mut self, frame: Frame, bytes: &[u8]) -> io::Result<()> {
        let header = frame.to_bytes();
        let mut parts = [IoSlice::new(&header), IoSlice::new(bytes)];
        let mut parts = &mut parts[..];
        while parts.iter().any(|part| !part.is_empty()) {
            match self.0.write_vectored(parts) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => IoSlice::advance_slices(&mut parts, count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn receive(&mut self) -> io::Result<Frame> {
        let mut header = [0; BYTES];
        self.0.read_exact(&mut header)?;
        Frame::from_bytes(header)
    }

    fn receive_bytes(&mut self, slot: &mut [u8]) -> io::Result<()> {
        self.0.read_exact(slot)
    }

    fn hang_up(&self) {
        self.0.shutdown(Shutdown::Write);
    }

    fn drain(&mut self) {
        let mut nothing = vec![0; 1 << 16];
        let due = Instant::now() + LINGER;
        if self.0.set_patience(LINGER).is_ok() {
            while Instant::now() < due && self.0.read(&mut nothing).is_ok_and(|count| count > 0) {}
        }
    }

    fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }
}
