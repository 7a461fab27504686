//! The secret of one connection: from the key that both ends know, and from an X25519 agreement.

use crate::transport::random::random;
use crate::transport::seal::protection::Protection;
use crate::transport::seal::record::{Opener, RecordKeys, Sealer};
use aws_lc_rs::agreement::{PrivateKey, UnparsedPublicKey, X25519, agree};
use aws_lc_rs::error::Unspecified;
use std::io;

/// Which end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionSide {
    Connects,
    Accepts,
}

impl ConnectionSide {
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Connects => Self::Accepts,
            Self::Accepts => Self::Connects,
        }
    }
}

/// One end's part of an agreement. Each connection has one of its own.
pub(crate) struct Ephemeral {
    private: PrivateKey,
    public: [u8; 32],
}

impl Ephemeral {
    /// # Errors
    /// If the system gives no random numbers.
    pub(crate) fn new() -> io::Result<Self> {
        // From the system's generator: the library's takes 100 ms to be seeded.
        let failed = |_| io::Error::other("making a key of X25519");
        let private =
            PrivateKey::from_private_key(&X25519, &random::<32>()?).map_err(|_| failed(Unspecified))?;
        let public = private.compute_public_key().map_err(failed)?;
        let public = public.as_ref().try_into().map_err(|_| failed(Unspecified))?;
        Ok(Self { private, public })
    }

    /// What to tell the other end. No two are the same, so it serves as a nonce, too.
    pub(crate) fn public(&self) -> [u8; 32] {
        self.public
    }
}

/// The outcome of a handshake, from which all keys of its connection are made (X1).
pub(crate) struct Agreement {
    token: [u8; 32],
    ours: Ephemeral,
    /// The nonces of the end that connects, and of the end that accepts.
    nonces: [[u8; 32]; 2],
    side: ConnectionSide,
}

impl Agreement {
    /// From what both ends know, and from what they said. Each has proved that it said so.
    pub(crate) fn new(token: [u8; 32], ours: Ephemeral, theirs: [u8; 32], side: ConnectionSide) -> Self {
        let nonces = match side {
            ConnectionSide::Connects => [ours.public, theirs],
            ConnectionSide::Accepts => [theirs, ours.public],
        };
        Self { token, ours, nonces, side }
    }

    /// What seals records to the other end, and what opens its records, unless they are only checked.
    ///
    /// Nothing opens unless `purpose`, `binding` and the level are the same at both ends.
    ///
    /// # Errors
    /// If the other end has said what no honest end says.
    pub(crate) fn channel(
        &self,
        protection: Protection,
        purpose: &str,
        binding: &[u8],
    ) -> io::Result<Option<(Sealer, Opener)>> {
        if protection == Protection::Checked {
            return Ok(None);
        }
        let secret = self.secret(protection, purpose, binding)?;
        let keys = |direction| RecordKeys::new(secret, direction, protection);
        Ok(Some((Sealer(keys(self.side)?), Opener(keys(self.side.other())?))))
    }

    fn secret(&self, protection: Protection, purpose: &str, binding: &[u8]) -> io::Result<[u8; 32]> {
        let theirs = self.nonces[usize::from(self.side == ConnectionSide::Connects)];
        let refused = io::Error::new(io::ErrorKind::InvalidData, "the other end's key of X25519 is none");
        let parts = |shared: &[u8]| {
            let lengths = [purpose.len() as u64, binding.len() as u64].map(u64::to_le_bytes);
            let fixed =
                [&self.token, shared, &self.nonces[0], &self.nonces[1], &[protection.to_byte()]].concat();
            Ok([&fixed[..], lengths.as_flattened(), purpose.as_bytes(), binding].concat())
        };
        let material = agree(&self.ours.private, UnparsedPublicKey::new(&X25519, theirs), refused, parts)?;
        Ok(blake3::derive_key("gossamer 2026 secret of a sealed connection", &material))
    }
}
