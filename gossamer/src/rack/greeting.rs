//! The first exchange on a connection to this node, which has to prove the rack's key.

use crate::rack::environment::Membership;
use crate::rack::message::MessageSocket;
use crate::runtime::StartError;
use crate::sys::threads::bystander::Bystander;
use crate::transport::entrance::Visitor;
use crate::transport::handshake;
use crate::transport::purpose::Purpose;
use crate::transport::records::agreed;
use crate::transport::seal::agreement::ConnectionSide;
use crate::transport::socket::Socket;
use crate::transport::unproven::Unproven;
use std::io;
use std::sync::mpsc;
use std::thread;

/// Connections that may be in a handshake at once: beyond that, one is closed.
pub(super) const HANDSHAKES: usize = 256;

pub(super) fn problem(text: String) -> StartError {
    StartError::Rack(text)
}

/// Checks that the listener on this machine belongs to the same user: somebody else may have taken the name.
///
/// # Errors
/// If it belongs to another user.
pub(super) fn check_user(socket: &Socket) -> io::Result<()> {
    match socket.is_of_this_user() {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is a process of another user")),
    }
}

/// Connects to the door of a node, and proves the token there.
///
/// # Errors
/// If somebody else listens there.
pub(super) fn go_to_door(
    mut socket: Socket,
    membership: &Membership,
    purpose: Purpose,
) -> io::Result<MessageSocket> {
    check_user(&socket)?;
    let agreement = handshake::connect_for(&mut socket, &membership.token, purpose)?;
    Ok(MessageSocket::new(socket, agreed(purpose, ConnectionSide::Connects, &agreement)?))
}

/// A connection that has proved itself, with its first message.
pub(super) type Greeted<M> = (M, MessageSocket);

/// Makes the visitor prove itself and `hear`s its first message, on a separate thread: it may be a stranger that
/// stalls.
pub(super) fn greet<M: Send + 'static>(
    (mut socket, first): Visitor,
    membership: &Membership,
    takes: impl FnOnce(Purpose) -> bool + Send + 'static,
    hear: impl FnOnce(Purpose, &mut MessageSocket) -> io::Result<M> + Send + 'static,
    arrived: mpsc::SyncSender<io::Result<Greeted<M>>>,
) {
    static UNPROVEN: Unproven = Unproven::new(HANDSHAKES);
    let token = membership.token.clone();
    // Dropped; a node tries again.
    let Ok(number) = UNPROVEN.enter(&socket) else { return };
    let greeting = thread::Builder::new().name("gossamer-greeting".to_owned()).spawn(move || {
        let _bystander = Bystander::here();
        let accepted = handshake::accept_for(&mut socket, &token, &first, takes);
        let is_open = UNPROVEN.leave(number);
        // A stranger is dropped without a word. A node that is lost here, or had to make room, tries again, or is
        // reported as missing.
        let Some((purpose, agreement)) = accepted.ok().filter(|_| is_open) else { return };
        let Ok(records) = agreed(purpose, ConnectionSide::Accepts, &agreement) else { return };
        let mut socket = MessageSocket::new(socket, records);
        let greeted = hear(purpose, &mut socket).map(|heard| (heard, socket));
        if greeted.as_ref().err().is_none_or(|error| error.kind() == io::ErrorKind::InvalidData) {
            let _nobody_waits_any_more = arrived.send(greeted);
        }
    });
    if let Err(error) = greeting {
        UNPROVEN.leave(number);
        eprintln!("gossamer: a connection is not answered, since no thread can be started: {error}");
    }
}
