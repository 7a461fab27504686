//! What a connection to this node has to say first, if it knows the rack's key.

use crate::rack::environment::Membership;
use crate::rack::message::receive;
use crate::runtime::StartError;
use crate::transport::handshake;
use crate::transport::socket::Socket;
use crate::wire::NoRef;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// Connections that may be in a handshake at once: more wait.
pub(super) const HANDSHAKES: usize = 256;

pub(super) fn problem(text: String) -> StartError {
    StartError::Rack(text)
}

/// Whether who listens on this machine is of the same user: somebody else may have taken the name.
///
/// # Errors
/// If it is another's.
pub(super) fn check_user(socket: &Socket) -> io::Result<()> {
    match socket.is_of_this_user() {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is a process of another user")),
    }
}

/// Reads what a connection has to say, on a thread of its own: it may be a stranger, who takes his time.
pub(super) fn greet<M: NoRef>(
    socket: Socket,
    membership: &Membership,
    arrived: mpsc::SyncSender<(M, Socket)>,
) {
    /// Those that are being read: strangers may come by the thousand.
    static GREETED: AtomicUsize = AtomicUsize::new(0);
    /// Gives the place of one back.
    struct Place;
    impl Drop for Place {
        fn drop(&mut self) {
            GREETED.fetch_sub(1, Ordering::Relaxed);
        }
    }
    if !socket.is_of_this_user() {
        return;
    }
    let (token, mut socket, place) = (membership.token.clone(), socket, Place);
    if GREETED.fetch_add(1, Ordering::Relaxed) >= HANDSHAKES {
        // Dropped; a node comes again.
        return;
    }
    let greeting = thread::Builder::new().name("gossamer-greeting".to_owned()).spawn(move || {
        let _place = place;
        // A stranger is dropped without a word. A node that is lost here comes again, or is missed in the end.
        if handshake::accept(&mut socket, &token).is_ok()
            && let Ok(hello) = receive(&mut socket)
        {
            let _nobody_waits_any_more = arrived.send((hello, socket));
        }
    });
    if let Err(error) = greeting {
        eprintln!("gossamer: a connection is not answered, since no thread can be started: {error}");
    }
}
