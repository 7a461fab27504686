//! Two nodes watch each other on a connection: each sends heartbeats, and checks those of the other.

use crate::rack::control::{Control, lock};
use crate::rack::message::{MessageReader, MessageWriter, receive};
use crate::transport::silence::{LOOK, Silence};
use crate::transport::socket::Socket;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Time between two heartbeats.
const BEAT: Duration = LOOK;

/// Silence after which a node counts as lost.
pub(crate) fn limit() -> Duration {
    let seconds = std::env::var("GOSSAMER_SILENCE_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.filter(|seconds| *seconds > 0).unwrap_or(10))
}

/// Reads messages, and sends heartbeats meanwhile, until `take` breaks.
///
/// # Errors
/// If the other side is lost: `TimedOut` if it is only silent, maybe in the middle of a message.
pub(super) fn watch(
    reader: MessageReader,
    writer: &Mutex<MessageWriter>,
    limit: Duration,
    mut take: impl FnMut(Control) -> ControlFlow<()>,
) -> io::Result<()> {
    let (socket, mut records) = reader.into_parts();
    socket.set_patience(limit)?;
    let (mut peer, mut beaten) =
        (WatchedNode { socket, limit, silence: Silence::new(Instant::now()) }, Instant::now());
    loop {
        if peer.has_spoken(beaten + BEAT)? && take(receive(&mut peer, &mut records)?).is_break() {
            return Ok(());
        }
        if beaten.elapsed() >= BEAT {
            lock(writer).send(Control::Alive).map_err(|error| match error.kind() {
                // The kernel reports that it would have to wait.
                io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => peer.silent(),
                _ => error,
            })?;
            beaten = Instant::now();
        }
    }
}

/// The other node.
struct WatchedNode {
    socket: Socket,
    limit: Duration,
    silence: Silence,
}

impl WatchedNode {
    /// Whether there is something to read, before `due`.
    fn has_spoken(&mut self, due: Instant) -> io::Result<bool> {
        match self.socket.wait_until_readable(due) {
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {}
            outcome => return outcome.map(|()| true),
        }
        match self.silence.lasted(Instant::now()) > self.limit {
            true => Err(self.silent()),
            false => Ok(false),
        }
    }

    fn silent(&self) -> io::Error {
        io::Error::new(io::ErrorKind::TimedOut, format!("it was silent for {} s", self.limit.as_secs()))
    }
}

impl Read for WatchedNode {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.has_spoken(Instant::now() + LOOK)? {}
        let read = self.socket.read(buffer)?;
        self.silence.end(Instant::now());
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rack::message::MessageSocket;
    use crate::transport::purpose::Purpose;
    use crate::transport::records::checked;
    use crate::transport::seal::agreement::ConnectionSide;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_peer_that_falls_silent_in_the_middle_of_a_message_is_silent() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(&[9, 0, 0, 0, 1]).unwrap();
        let records = checked(Purpose::STREAM, ConnectionSide::Accepts);
        let (reader, writer) = MessageSocket::new(Socket::Unix(ours), records).split().unwrap();
        let (writer, limit) = (Mutex::new(writer), Duration::from_millis(50));
        let lost = watch(reader, &writer, limit, |_| ControlFlow::Continue(())).unwrap_err();
        assert_eq!(
            (lost.kind(), lost.to_string().as_str()),
            (io::ErrorKind::TimedOut, "it was silent for 0 s")
        );
    }
}
