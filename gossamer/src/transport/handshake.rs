//! Two nodes prove to each other that they know the token of the application, before either reads anything else.
//!
//! ```text
//! who connects     magic (8), nonce (32)
//! who accepts      nonce (32), proof (32)      keyed BLAKE3 of "accepts", both nonces
//! who connects     proof (32)                  keyed BLAKE3 of "connects", both nonces
//! ```
//!
//! A proof holds for its two nonces only, so none can be used again. What follows is not encrypted.

use crate::transport::random::random;
use crate::transport::socket::Socket;
use gossamer_macros::NoRef;
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

/// What comes first, so that a stranger is told from a node of another version.
const MAGIC: &[u8; 8] = b"gossam\0\x01";
/// How long a handshake may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// What all nodes of an application know, and nobody else.
#[derive(NoRef, Clone)]
pub(crate) struct Token([u8; 32]);

impl Token {
    /// From 64 hexadecimal digits.
    pub(crate) fn from_hex(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        let mut token = [0; 32];
        if digits.len() != 64 {
            return None;
        }
        for (byte, pair) in token.iter_mut().zip(digits.chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(token))
    }

    /// From what the processes of a job share. It keeps jobs apart, not attackers out.
    pub(crate) fn derived_from(text: &str) -> Self {
        Self(blake3::derive_key("gossamer 2026 token of a job without one", text.as_bytes()))
    }

    /// One that nobody else has.
    ///
    /// # Errors
    /// If the system gives no random numbers.
    pub(crate) fn random() -> io::Result<Self> {
        random().map(Self)
    }

    /// One that proves nothing elsewhere.
    pub(crate) fn for_purpose(&self, purpose: &str) -> Self {
        Self(blake3::derive_key(purpose, &self.0))
    }

    /// A name for one socket of this application, from which neither the token nor the name of another one can be had: whoever sees
    /// some cannot take the others.
    pub(crate) fn public_name(&self, socket: &str) -> String {
        let text = [&self.0[..], socket.as_bytes()].concat();
        let name = blake3::derive_key("gossamer 2026 name of a socket of an application", &text);
        name[..8].iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn proof(&self, role: &[u8], nonces: &[[u8; 32]; 2]) -> blake3::Hash {
        blake3::keyed_hash(&self.0, &[role, &nonces[0], &nonces[1]].concat())
    }
}

/// Proves the token to who accepted the connection, and has it prove that it knows it, too.
///
/// # Errors
/// If it does not know the token, is no node, or takes too long.
pub(crate) fn connect(socket: &mut Socket, token: &Token) -> io::Result<()> {
    let due = Instant::now() + PATIENCE;
    socket.set_patience(PATIENCE)?;
    let ours: [u8; 32] = random()?;
    socket.write_all(&[&MAGIC[..], &ours].concat())?;
    let (mut theirs, mut proof) = ([0; 32], [0; 32]);
    read(socket, &mut theirs, due)?;
    read(socket, &mut proof, due)?;
    let nonces = [ours, theirs];
    // `Hash` compares in constant time.
    if token.proof(b"accepts", &nonces) != blake3::Hash::from_bytes(proof) {
        return Err(stranger());
    }
    socket.set_patience(PATIENCE)?;
    socket.write_all(token.proof(b"connects", &nonces).as_bytes())
}

/// Has who connected prove that it knows the token, and proves the same to it.
///
/// # Errors
/// If it does not know the token, is no node, or takes too long.
pub(crate) fn accept(socket: &mut Socket, token: &Token) -> io::Result<()> {
    accept_talking(socket, token, || ())
}

/// As `accept`; `talks` hears when the other end has said what ends of connections say first.
///
/// # Errors
/// As `accept`.
pub(crate) fn accept_talking(socket: &mut Socket, token: &Token, talks: impl FnOnce()) -> io::Result<()> {
    let due = Instant::now() + PATIENCE;
    let (mut magic, mut theirs, mut proof) = ([0; 8], [0; 32], [0; 32]);
    read(socket, &mut magic, due)?;
    if &magic != MAGIC {
        return Err(stranger());
    }
    read(socket, &mut theirs, due)?;
    talks();
    let ours: [u8; 32] = random()?;
    let nonces = [theirs, ours];
    socket.write_all(&[&ours[..], token.proof(b"accepts", &nonces).as_bytes()].concat())?;
    read(socket, &mut proof, due)?;
    if token.proof(b"connects", &nonces) == blake3::Hash::from_bytes(proof) {
        Ok(())
    } else {
        Err(stranger())
    }
}

/// Fills `buffer` before `due`, however few bytes come at a time.
fn read(socket: &mut Socket, buffer: &mut [u8], due: Instant) -> io::Result<()> {
    let mut filled = 0;
    while filled < buffer.len() {
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "nothing came in time"));
        }
        socket.set_patience(left)?;
        match socket.read(&mut buffer[filled..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn stranger() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, "it does not know the token of this application")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;
    use std::thread;

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
            let connecting = thread::spawn(move || connect(&mut one, &token('a')).is_ok());
            let outcome = accept(&mut other, &token(digit));
            drop(other);
            assert_eq!((outcome.is_ok(), connecting.join().unwrap()), (accepted, accepted));
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
            let mut first = [0; 40];
            other.read_exact(&mut first).unwrap();
            other.write_all(&[0; 64]).unwrap();
            first
        });
        assert!(connect(&mut one, &token('a')).is_err());
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
        assert!(Token::from_hex("zz").is_none() && Token::from_hex(&"g".repeat(64)).is_none());
    }
}
