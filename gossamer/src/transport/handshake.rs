//! Two nodes prove to each other that they know the token of the application, before either reads anything else.
//!
//! ```text
//! connecting end   magic (8), nonce (32), purpose (16)
//! accepting end    nonce (32), proof (32)      keyed BLAKE3 of "accepts", both nonces, the purpose
//! connecting end   proof (32)                  keyed BLAKE3 of "connects", both nonces, the purpose
//! ```
//!
//! The purpose says what the connection is for, and between which nodes. The accepting end takes only those of its own
//! door: somebody in between can join only ends that want each other.
//!
//! A proof holds only for its two nonces, so none can be used again. A nonce is a public key made for this connection,
//! so both ends can derive keys that only they know, if what follows is to be sealed (`transport::seal`).

use crate::transport::purpose::{PURPOSE_BYTES, Purpose};
use crate::transport::random::random;
use crate::transport::seal::agreement::{Agreement, ConnectionSide, Ephemeral};
use crate::transport::silence::Patience;
use crate::transport::socket::Socket;
use gossamer_macros::NoRef;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::RecvFlags;
use std::io::{self, Read, Write};
use std::time::Duration;

/// The first bytes of a connection, by which a stranger differs from a node of another version.
pub(super) const MAGIC: &[u8; 8] = b"gossam\0\x02";
/// Bytes of the first message: the magic, a nonce, a purpose.
pub(super) const FIRST_MESSAGE: usize = MAGIC.len() + 32 + PURPOSE_BYTES;
/// How long a handshake may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// What all nodes of an application know, and nobody else does.
#[derive(NoRef, Clone)]
pub(crate) struct Token([u8; 32]);

impl Token {
    /// From 64 hexadecimal digits.
    pub(crate) fn from_hex(text: &str) -> Option<Self> {
        blake3::Hash::from_hex(text).ok().map(|bytes| Self(bytes.into()))
    }

    /// From something that the processes of a job share. It keeps jobs apart, not attackers out.
    pub(crate) fn derived_from(text: &str) -> Self {
        Self(blake3::derive_key("gossamer 2026 token of a job without one", text.as_bytes()))
    }

    /// A token that nobody else has.
    ///
    /// # Errors
    /// If the system gives no random numbers.
    pub(crate) fn random() -> io::Result<Self> {
        random().map(Self)
    }

    /// A token for one purpose, which proves nothing elsewhere.
    pub(crate) fn for_purpose(&self, purpose: &str) -> Self {
        Self(blake3::derive_key(purpose, &self.0))
    }

    /// A name for one socket of this application, from which neither the token nor another socket's name can be
    /// derived: seeing some names does not help to take the others.
    pub(crate) fn public_name(&self, socket: &str) -> String {
        let text = [&self.0[..], socket.as_bytes()].concat();
        let name = blake3::derive_key("gossamer 2026 name of a socket of an application", &text);
        name[..8].iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn proof(&self, role: &[u8], nonces: &[[u8; 32]; 2], purpose: Purpose) -> blake3::Hash {
        blake3::keyed_hash(&self.0, &[role, &nonces[0], &nonces[1], &purpose.to_bytes()].concat())
    }
}

/// Like `connect_for`, for a stream, with this patience.
///
/// # Errors
/// Like `connect_for`.
pub(crate) fn connect(socket: &mut Socket, token: &Token, patience: Duration) -> io::Result<Agreement> {
    prove(socket, token, Purpose::STREAM, patience)
}

/// Proves the token to the end that accepted this connection for this purpose, and makes it prove that it knows the
/// token, too.
///
/// # Errors
/// If the other end does not know the token, is no node, or takes too long.
pub(crate) fn connect_for(socket: &mut Socket, token: &Token, purpose: Purpose) -> io::Result<Agreement> {
    prove(socket, token, purpose, PATIENCE)
}

fn prove(socket: &mut Socket, token: &Token, purpose: Purpose, patience: Duration) -> io::Result<Agreement> {
    socket.set_patience(patience)?;
    let mut patience = Patience::new(patience);
    let ours = Ephemeral::new()?;
    socket.write_all(&[&MAGIC[..], &ours.public(), &purpose.to_bytes()].concat())?;
    let (mut theirs, mut proof) = ([0; 32], [0; 32]);
    read(socket, &mut theirs, &mut patience)?;
    read(socket, &mut proof, &mut patience)?;
    let nonces = [ours.public(), theirs];
    // `Hash` compares in constant time.
    if token.proof(b"accepts", &nonces, purpose) != blake3::Hash::from_bytes(proof) {
        return Err(stranger());
    }
    socket.write_all(token.proof(b"connects", &nonces, purpose).as_bytes())?;
    Ok(Agreement::new(token.0, ours, theirs, ConnectionSide::Connects))
}

/// The first message of the connecting end, as far as it has arrived.
#[derive(Debug)]
pub(crate) struct FirstMessage {
    bytes: [u8; FIRST_MESSAGE],
    filled: usize,
}

impl Default for FirstMessage {
    fn default() -> Self {
        Self { bytes: [0; FIRST_MESSAGE], filled: 0 }
    }
}

impl FirstMessage {
    /// Reads what has arrived of it, and does not wait for more. Returns whether it is whole.
    ///
    /// # Errors
    /// If the other end says something else, or closes the connection.
    pub(super) fn receive(&mut self, socket: &Socket) -> io::Result<bool> {
        while self.filled < FIRST_MESSAGE {
            match rustix::net::recv(socket, &mut self.bytes[self.filled..], RecvFlags::DONTWAIT) {
                Ok((0, _)) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok((count, _)) => self.filled += count,
                Err(Errno::AGAIN) => return Ok(false),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            if !self.bytes[..self.filled].iter().zip(MAGIC).all(|(said, magic)| said == magic) {
                return Err(stranger());
            }
        }
        Ok(true)
    }

    /// The nonce and the purpose.
    fn parts(&self) -> ([u8; 32], [u8; PURPOSE_BYTES]) {
        let (mut nonce, mut purpose) = ([0; 32], [0; PURPOSE_BYTES]);
        let (_, said) = self.bytes.split_at(MAGIC.len());
        nonce.copy_from_slice(&said[..32]);
        purpose.copy_from_slice(&said[32..]);
        (nonce, purpose)
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> &[u8; FIRST_MESSAGE] {
        &self.bytes
    }
}

/// Makes the end that connected for a stream prove that it knows the token, and proves the same to it.
///
/// # Errors
/// If that end does not know the token, is no node, or takes too long.
pub(crate) fn accept(socket: &mut Socket, token: &Token) -> io::Result<Agreement> {
    let (mut first, mut patience) = (FirstMessage::default(), Patience::new(PATIENCE));
    while !first.receive(socket)? {
        patience.wait(&mut [PollFd::new(&*socket, PollFlags::IN)])?;
    }
    accept_stream(socket, token, &first)
}

/// Like `accept`, for an end whose first message is here.
///
/// # Errors
/// Like `accept`.
pub(crate) fn accept_stream(
    socket: &mut Socket,
    token: &Token,
    first: &FirstMessage,
) -> io::Result<Agreement> {
    accept_for(socket, token, first, |purpose| purpose == Purpose::STREAM).map(|(_, agreement)| agreement)
}

/// Makes an end that connected, and whose first message is here, prove that it knows the token, and proves the same to
/// it. Returns its purpose, which this door `takes`.
///
/// # Errors
/// If that end does not know the token, has come to the wrong door, or takes too long.
pub(crate) fn accept_for(
    socket: &mut Socket,
    token: &Token,
    first: &FirstMessage,
    takes: impl FnOnce(Purpose) -> bool,
) -> io::Result<(Purpose, Agreement)> {
    let mut patience = Patience::new(PATIENCE);
    socket.set_patience(PATIENCE)?;
    let ((theirs, purpose), mut proof) = (first.parts(), [0; 32]);
    let purpose = Purpose::from_bytes(purpose).filter(|purpose| takes(*purpose)).ok_or_else(wrong_door)?;
    let ours = Ephemeral::new()?;
    let nonces = [theirs, ours.public()];
    socket.write_all(&[&nonces[1][..], token.proof(b"accepts", &nonces, purpose).as_bytes()].concat())?;
    read(socket, &mut proof, &mut patience)?;
    if token.proof(b"connects", &nonces, purpose) == blake3::Hash::from_bytes(proof) {
        Ok((purpose, Agreement::new(token.0, ours, theirs, ConnectionSide::Accepts)))
    } else {
        Err(stranger())
    }
}

/// Fills `buffer` while there is patience, however few bytes arrive at a time.
fn read(socket: &mut Socket, buffer: &mut [u8], patience: &mut Patience) -> io::Result<()> {
    let mut filled = 0;
    while filled < buffer.len() {
        patience.wait(&mut [PollFd::new(&*socket, PollFlags::IN)])?;
        match socket.read(&mut buffer[filled..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn wrong_door() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, "it wants something else, or another node")
}

fn stranger() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, "it does not know the token of this application")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::purpose::Door;
    use crate::transport::seal::protection::Protection;
    use std::os::unix::net::UnixStream;
    use std::thread;

    const WATCH: Purpose =
        Purpose { door: Door::Watch, protection: Protection::Checked, from: 2, to: 1, index: 4 };

    fn ends() -> (Socket, Socket) {
        let (one, other) = UnixStream::pair().unwrap();
        (Socket::Unix(one), Socket::Unix(other))
    }

    fn token(digit: char) -> Token {
        Token::from_hex(&digit.to_string().repeat(64)).unwrap()
    }

    #[test]
    fn nodes_with_one_token_accept_each_other_and_others_do_not() {
        for (digit, accepted) in [('a', true), ('b', false)] {
            let (mut one, mut other) = ends();
            let connecting = thread::spawn(move || connect(&mut one, &token('a'), PATIENCE).is_ok());
            let outcome = accept(&mut other, &token(digit));
            drop(other);
            assert_eq!((outcome.is_ok(), connecting.join().unwrap()), (accepted, accepted));
        }
    }

    /// Lets somebody in between relay everything that both ends say, with another purpose in the first message.
    fn relayed(said: Purpose, told: Purpose) -> (bool, bool) {
        let ((mut one, mut near), (mut far, mut other)) = (ends(), ends());
        let connecting = thread::spawn(move || connect_for(&mut one, &token('a'), said).is_ok());
        let accepting = thread::spawn(move || {
            let mut first = FirstMessage::default();
            while first.receive(&other).is_ok_and(|is_whole| !is_whole) {
                thread::yield_now();
            }
            accept_for(&mut other, &token('a'), &first, |purpose| purpose == told).is_ok()
        });
        let mut carried = || -> io::Result<()> {
            let (mut first, mut answer, mut proof) = ([0; 56], [0; 64], [0; 32]);
            near.read_exact(&mut first)?;
            first[40..].copy_from_slice(&told.to_bytes());
            far.write_all(&first)?;
            far.read_exact(&mut answer)?;
            near.write_all(&answer)?;
            near.read_exact(&mut proof)?;
            far.write_all(&proof)
        };
        let _cut = carried();
        drop((near, far));
        (connecting.join().unwrap(), accepting.join().unwrap())
    }

    #[test]
    fn who_stands_in_between_joins_only_ends_that_want_each_other() {
        assert_eq!(relayed(WATCH, WATCH), (true, true));
        for other in [
            Purpose { to: 0, ..WATCH },
            Purpose { from: 3, ..WATCH },
            Purpose { index: 0, ..WATCH },
            Purpose { door: Door::Lanes, ..WATCH },
            Purpose { protection: Protection::Encrypted, ..WATCH },
            Purpose::STREAM,
        ] {
            assert_eq!(relayed(WATCH, other), (false, false), "{other:?}");
        }
    }

    #[test]
    fn names_of_sockets_do_not_tell_each_other() {
        let name = |digit, socket: &str| token(digit).public_name(socket);
        assert_eq!(name('a', "node 1"), name('a', "node 1"));
        assert!(name('a', "node 1") != name('a', "node 2") && name('a', "node 1") != name('b', "node 1"));
    }

    #[test]
    fn what_was_heard_once_proves_nothing() {
        let (mut one, mut other) = ends();
        let heard = thread::spawn(move || {
            let mut first = [0; 56];
            other.read_exact(&mut first).unwrap();
            other.write_all(&[0; 64]).unwrap();
            first
        });
        assert!(connect(&mut one, &token('a'), PATIENCE).is_err());
        let (mut replayed, mut server) = ends();
        replayed.write_all(&heard.join().unwrap()).unwrap();
        replayed.write_all(&[7; 32]).unwrap();
        assert!(accept(&mut server, &token('a')).is_err());
    }

    #[test]
    fn strangers_are_refused_by_what_they_say_first() {
        for garbage in [&b"GET / HTTP/1.1\r\n\r\n                                "[..], &[0; 72], b""] {
            let (mut one, mut other) = ends();
            one.write_all(garbage).unwrap();
            drop(one);
            assert!(accept(&mut other, &token('a')).is_err());
        }
        assert!(["zz", &"g".repeat(64), &"+f".repeat(32)].iter().all(|text| Token::from_hex(text).is_none()));
        assert!(Token::from_hex(&"fF".repeat(32)).is_some());
    }
}
