//! Both ends on one machine: they map one ring, so nothing is moved. A Unix socket hands it over, and tells of the other's end.

use crate::stream::blocks::flow::Failure;
use crate::stream::blocks::ring::Ring;
use crate::stream::error::End;
use crate::stream::pump::{PeerConnection, start};
use crate::stream::{Error, Geometry};
use crate::sys::process::close_on_fork::close_on_fork;
use crate::sys::process::descriptors;
use crate::transport::socket::Socket;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// Makes the ring, or takes over the other end's, and watches that.
///
/// # Errors
/// If the other end is gone, or there is not so much memory.
pub(crate) fn share(
    socket: Socket,
    end: End,
    geometry: Geometry,
) -> Result<(Arc<Ring>, PeerConnection), Error> {
    let ring = match end {
        End::Sender => {
            let ring = Ring::create(geometry)?;
            descriptors::send(&socket, &[ring.as_fd()]).map_err(Error::io("handing over the ring"))?;
            ring
        }
        End::Receiver => {
            let descriptor =
                descriptors::receive(&socket, 1).map_err(Error::io("taking over the ring"))?.pop();
            let descriptor = descriptor.ok_or(Error::Protocol { at: 0 })?;
            Ring::attach(descriptor, geometry)?
        }
    };
    let ring = Arc::new(ring);
    let Socket::Unix(socket) = socket else { return Err(Error::Protocol { at: 0 }) };
    let doing = || Error::io("watching the other end");
    socket.set_read_timeout(None).map_err(doing())?;
    let (watched, watching) = (Arc::clone(&ring), socket.try_clone().map_err(doing())?);
    let kept = close_on_fork(watching.as_fd());
    start(move || {
        watch(&watching, end, &watched);
        drop(kept);
    })?;
    Ok((ring, PeerConnection::Watched { _close_on_fork: close_on_fork(socket.as_fd()), socket }))
}

/// Waits for the end of the other process, or of this end.
fn watch(mut socket: &UnixStream, end: End, ring: &Ring) {
    let mut nothing = [0];
    while socket.read(&mut nothing).is_ok_and(|count| count > 0) {}
    // A sender that has ended has left all its bytes here.
    let enough = end == End::Receiver && ring.flow().is_ended();
    if !enough {
        ring.flow().fail(Failure::PeerLost);
    }
    // What it has left in the ring may be anything.
    ring.peer.end(ring.flow());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn nobody_waits_for_one_that_is_gone_whatever_it_has_left_in_the_ring() {
        let geometry = Geometry::new().block(4096).ahead(2).comeback(0);
        let theirs = Ring::create(geometry).unwrap();
        let descriptor = theirs.as_fd().try_clone_to_owned().unwrap();
        let ours = Arc::new(Ring::attach(descriptor, geometry).unwrap());
        let (near, far) = UnixStream::pair().unwrap();
        let ring = Arc::clone(&ours);
        let watching = thread::spawn(move || watch(&near, End::Receiver, &ring));
        let waiting = thread::spawn(move || ours.wait(None, |flow| flow.written() > 0));
        // It pretends that all is over, and that nobody sleeps.
        theirs.flow().end();
        theirs.flow().take();
        while theirs.flow().lose_sleepers() == 0 {
            thread::yield_now();
        }
        drop(far);
        assert_eq!(waiting.join().unwrap(), Err(Failure::PeerLost));
        watching.join().unwrap();
    }
}
