//! [`Options`]: what a stream needs beside its length. [`Key`]: what both ends know.

use crate::stream::{Error, Geometry};
use crate::transport::handshake::Token;
use crate::{NoRef, Protection};
use std::fmt;
use std::time::Duration;

/// Where the key is looked up if none is given.
const KEY: &str = "GOSSAMER_STREAM_KEY";

/// A secret that both ends of a stream know: each proves it to the other before anything else is read.
///
/// What is sent after that is encrypted if [`Options::protection`] says so.
#[derive(NoRef, Clone)]
pub struct Key(pub(crate) Token);

impl Key {
    /// From 64 hexadecimal digits, as `openssl rand -hex 32` makes them.
    ///
    /// # Errors
    /// If the text is something else.
    pub fn from_hex(text: &str) -> Result<Self, Error> {
        Token::from_hex(text.trim()).map(Self).ok_or_else(|| {
            Error::Refused("a key has 64 hexadecimal digits: `openssl rand -hex 32` makes one".into())
        })
    }

    /// From the environment variable `GOSSAMER_STREAM_KEY`.
    ///
    /// # Errors
    /// If it is not set, or no key.
    pub fn from_env() -> Result<Self, Error> {
        match std::env::var(KEY) {
            Ok(text) => Self::from_hex(&text).map_err(|error| Error::Refused(format!("{KEY}: {error}"))),
            Err(_) => Err(Error::Refused(format!(
                "a stream needs a key that both ends know: give `Options::key`, or set {KEY} to 64 hexadecimal digits \
                 (`openssl rand -hex 32`)"
            ))),
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// How a raw window learns that it was touched.
#[derive(NoRef, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Faults {
    /// By userfaultfd where that is allowed, or else by SIGSEGV.
    #[default]
    Auto,
    /// By userfaultfd: system calls may be handed pointers into the window, too. Needs access to `/dev/userfaultfd`, or the
    /// right to trace (`CAP_SYS_PTRACE`).
    Userfault,
    /// By SIGSEGV: without any rights, and a little faster; a system call that meets a block that is not there fails with
    /// `EFAULT`.
    Signal,
}

/// How blocks get to the other end.
#[derive(NoRef, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Route {
    /// In shared memory if both ends are on one machine, and of one user; or else by RDMA, if both have a port for it, or by TCP.
    /// `GOSSAMER_FABRIC` in the environment of either end may allow one of these only: then it is an error if that cannot be had.
    /// Shared memory that both ends allow only is shared between two users as well.
    #[default]
    Auto,
    /// By TCP, also inside a machine, whatever the environment says.
    Tcp,
}

/// What a stream needs beside its length. A [`Geometry`] alone will do: the rest has defaults.
#[derive(NoRef, Clone, Debug)]
pub struct Options {
    pub(crate) geometry: Geometry,
    pub(crate) key: Option<Key>,
    pub(crate) faults: Faults,
    pub(crate) route: Route,
    pub(crate) protection: Protection,
    pub(crate) connections: usize,
    pub(crate) congestion: Option<String>,
    pub(crate) patience: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Geometry::default().into()
    }
}

impl From<Geometry> for Options {
    fn from(geometry: Geometry) -> Self {
        Self {
            geometry,
            key: None,
            faults: Faults::Auto,
            route: Route::Auto,
            protection: Protection::Checked,
            connections: 1,
            congestion: None,
            patience: None,
        }
    }
}

impl Options {
    /// Those of `Geometry::default()`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Blocks and how many of them; both ends have the same.
    #[must_use]
    pub fn geometry(self, geometry: Geometry) -> Self {
        Self { geometry, ..self }
    }

    /// The key, instead of that in the environment variable `GOSSAMER_STREAM_KEY`.
    #[must_use]
    pub fn key(self, key: Key) -> Self {
        Self { key: Some(key), ..self }
    }

    /// How raw windows learn that they were touched.
    #[must_use]
    pub fn faults(self, faults: Faults) -> Self {
        Self { faults, ..self }
    }

    /// How blocks get to the other end. TCP if either end says so, and the other one may use it.
    #[must_use]
    pub fn route(self, route: Route) -> Self {
        Self { route, ..self }
    }

    /// Against whom what goes between machines is protected: by default against broken networks only. Both ends have to say the same, or
    /// they do not come together ([`Error::Protection`]).
    ///
    /// Over TCP on loopback, what is authenticated came at the rate of what is checked, and what is encrypted at 0.74 of it
    /// or more (`docs/benchmarks-streams.md`). Blocks that are to be protected do not go by RDMA, whose
    /// devices would not know how; they go by TCP then. In shared memory nothing is sealed: both ends are processes of one user there,
    /// which can read and write each other's memory anyhow.
    #[must_use]
    pub fn protection(self, protection: Protection) -> Self {
        Self { protection, ..self }
    }

    /// TCP connections, from 1 to 64, if blocks go by TCP. The end that connects decides.
    #[must_use]
    pub fn connections(self, connections: usize) -> Self {
        Self { connections: connections.clamp(1, 64), ..self }
    }

    /// The congestion control of its TCP connections, as `cubic` or `bbr`, instead of the system's. It matters where the sender is.
    /// Without privileges it is one of `net.ipv4.tcp_allowed_congestion_control`.
    #[must_use]
    pub fn congestion(self, name: &str) -> Self {
        Self { congestion: Some(name.into()), ..self }
    }

    /// How long the other end may do nothing, or stay away from a listener, while this one waits for it, before that is an error. Without it a wait lasts as
    /// long as the other end lives.
    #[must_use]
    pub fn patience(self, patience: Duration) -> Self {
        Self { patience: Some(patience), ..self }
    }

    /// The key proven to the other end: one of streams only, so that a node of a rack does not take an end for one of its own.
    pub(crate) fn token(&self) -> Result<Token, Error> {
        let key = self.key.clone().map_or_else(Key::from_env, Ok)?;
        Ok(key.0.for_purpose("gossamer 2026 key of a stream"))
    }
}
