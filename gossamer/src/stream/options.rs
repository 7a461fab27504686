//! [`Options`]: the settings of a stream. [`Key`]: the secret of both ends.

use crate::stream::{Error, Geometry};
use crate::transport::handshake::Token;
use crate::{NoRef, Protection};
use std::fmt;
use std::time::Duration;

/// The variable with the key, if none is given.
const KEY: &str = "GOSSAMER_STREAM_KEY";

/// A secret that both ends of a stream know: each proves it to the other before anything else is read.
///
/// Data is only encrypted if [`Options::protection`] says so.
#[derive(NoRef, Clone)]
pub struct Key(pub(crate) Token);

impl Key {
    /// From 64 hexadecimal digits, as `openssl rand -hex 32` makes them.
    ///
    /// ```
    /// use gossamer::stream::Key;
    /// assert!(Key::from_hex(&"0123456789abcdef".repeat(4)).is_ok());
    /// assert!(Key::from_hex("secret").is_err());
    /// ```
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
    /// ```
    /// use gossamer::stream::{Key, Options, Receiver};
    /// # // SAFETY: no other thread uses the environment.
    /// # unsafe { std::env::set_var("GOSSAMER_STREAM_KEY", "0123456789abcdef".repeat(4)) };
    /// let key = Key::from_env()?; // once, instead of for each stream
    /// let listeners = [(); 2].map(|()| Receiver::bind("127.0.0.1:0", Options::new().key(key.clone())));
    /// assert!(listeners.iter().all(Result::is_ok));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If it is not set, or is not a key.
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
    /// By userfaultfd: pointers into the window may also be passed to system calls. Needs access to
    /// `/dev/userfaultfd`, or the right to trace (`CAP_SYS_PTRACE`).
    Userfault,
    /// By SIGSEGV: needs no rights, and is a little faster; a system call that meets a block that is not there fails
    /// with `EFAULT`.
    Signal,
}

/// How blocks get to the other end.
#[derive(NoRef, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Route {
    /// In shared memory if both ends are on one machine and belong to one user; otherwise by RDMA, if both have a
    /// port for it, or by TCP. `GOSSAMER_FABRIC` in the environment of either end may restrict this to one of them;
    /// then it is an error if that one is not available. If both ends allow only shared memory, it is also shared
    /// between two users.
    #[default]
    Auto,
    /// By TCP, even within a machine, whatever the environment says.
    Tcp,
}

/// The settings of a stream besides its length. A [`Geometry`] alone will do: the rest has defaults.
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
    ///
    /// ```
    /// use gossamer::stream::{self, Options};
    /// use std::time::Duration;
    /// let (sender, _receiver) = stream::pair(100, Options::new().patience(Duration::from_millis(1)))?;
    /// assert!(sender.finish().is_err()); // nothing was written
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// The size and number of blocks, which must be the same at both ends.
    ///
    /// ```
    /// use gossamer::stream::{self, Geometry, Options};
    /// use std::time::Duration;
    /// let options = Options::new().geometry(Geometry::new().block(4096)).patience(Duration::from_millis(1));
    /// let (mut sender, _receiver) = stream::pair(1 << 20, options)?;
    /// assert!(sender.write_everything(&[0; 1 << 20]).is_err()); // nobody reads, and the ring has 8 blocks of 4 KiB
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn geometry(self, geometry: Geometry) -> Self {
        Self { geometry, ..self }
    }

    /// The key, instead of the one in the environment variable `GOSSAMER_STREAM_KEY`.
    ///
    /// ```
    /// use gossamer::stream::{Key, Options, Receiver, Sender};
    /// let options = |digit: &str| Options::new().key(Key::from_hex(&digit.repeat(64)).unwrap());
    /// let listener = Receiver::bind("127.0.0.1:0", options("7"))?;
    /// let address = listener.local_addr()?;
    /// let accepting = std::thread::spawn(move || listener.accept().map(drop));
    /// assert!(Sender::connect(address, 100, options("8")).is_err()); // not the key of the receiver
    /// Sender::connect(address, 100, options("7"))?;
    /// accepting.join().unwrap()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn key(self, key: Key) -> Self {
        Self { key: Some(key), ..self }
    }

    /// How raw windows learn that they were touched.
    ///
    /// ```
    /// use gossamer::stream::{self, Faults, Options};
    /// let (sender, _receiver) = stream::pair(1 << 20, Options::new().faults(Faults::Signal))?; // needs no rights
    /// assert!(!sender.into_window()?.serves_system_calls());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn faults(self, faults: Faults) -> Self {
        Self { faults, ..self }
    }

    /// How blocks get to the other end. TCP if either end says so, and the other end may use it.
    ///
    /// ```
    /// use gossamer::stream::{Key, Options, Receiver, Route, Sender};
    /// let key = Key::from_hex(&"0123456789abcdef".repeat(4))?;
    /// let options = Options::new().key(key).route(Route::Tcp); // to try it as between machines
    /// let listener = Receiver::bind("127.0.0.1:0", options.clone())?;
    /// let address = listener.local_addr()?;
    /// let reading = std::thread::spawn(move || listener.accept()?.finish());
    /// let mut sender = Sender::connect(address, 5, options)?;
    /// sender.write_everything(b"hello")?;
    /// sender.finish()?;
    /// reading.join().unwrap()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn route(self, route: Route) -> Self {
        Self { route, ..self }
    }

    /// How data between machines is protected: by default only against broken networks. Both ends must use the same
    /// setting, otherwise they cannot connect ([`Error::Protection`]).
    ///
    /// Over TCP on loopback, authenticated data reached 0.90 of the rate of checked data, and encrypted data 0.64
    /// (`docs/benchmarks-streams.md`). Protected blocks go by TCP instead of RDMA, whose devices cannot protect them.
    /// Shared memory is not sealed: both ends are then processes of one user, which can read and write each other's
    /// memory anyway.
    ///
    /// ```
    /// use gossamer::{Protection, stream::Options};
    /// let _options = Options::new().protection(Protection::Encrypted); // at both ends
    /// ```
    #[must_use]
    pub fn protection(self, protection: Protection) -> Self {
        Self { protection, ..self }
    }

    /// The number of TCP connections, from 1 to 64, if blocks go by TCP. The end that connects decides.
    ///
    /// ```
    /// use gossamer::stream::{Geometry, Options, Route};
    /// let _options = Options::from(Geometry::new()).route(Route::Tcp).connections(4);
    /// ```
    #[must_use]
    pub fn connections(self, connections: usize) -> Self {
        Self { connections: connections.clamp(1, 64), ..self }
    }

    /// The congestion control of its TCP connections, such as `cubic` or `bbr`, instead of the system's. Set it at
    /// the sender. Without privileges it is one of `net.ipv4.tcp_allowed_congestion_control`.
    ///
    /// ```
    /// use gossamer::stream::{Key, Options, Receiver, Route, Sender};
    /// let key = Key::from_hex(&"0123456789abcdef".repeat(4))?;
    /// let options = Options::new().key(key).route(Route::Tcp);
    /// let listener = Receiver::bind("127.0.0.1:0", options.clone())?;
    /// let address = listener.local_addr()?;
    /// let reading = std::thread::spawn(move || listener.accept()?.finish());
    /// let mut sender = Sender::connect(address, 5, options.congestion("reno"))?; // every kernel has it
    /// sender.write_everything(b"hello")?;
    /// sender.finish()?;
    /// reading.join().unwrap()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn congestion(self, name: &str) -> Self {
        Self { congestion: Some(name.into()), ..self }
    }

    /// How long this end waits for the other one to act, or to connect to a listener, before that is an error.
    /// Without it, a wait lasts as long as the other end lives; but an end that connects waits a minute for a listener
    /// that is busy with others.
    ///
    /// ```
    /// use gossamer::stream::{self, Error, Options};
    /// let options = Options::new().patience(std::time::Duration::from_millis(1));
    /// let (_sender, mut receiver) = stream::pair(100, options).unwrap();
    /// assert!(matches!(receiver.next_block(), Err(Error::Timeout { .. }))); // nothing was written
    /// ```
    #[must_use]
    pub fn patience(self, patience: Duration) -> Self {
        Self { patience: Some(patience), ..self }
    }

    /// The key that is proved to the other end: derived for streams only, so that a node of a rack does not mistake
    /// an end for another node.
    pub(crate) fn token(&self) -> Result<Token, Error> {
        let key = self.key.clone().map_or_else(Key::from_env, Ok)?;
        Ok(key.0.for_purpose("gossamer 2026 key of a stream"))
    }
}
