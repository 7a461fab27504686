//! [`Listener`]: waits for the other end of a stream. Also how a [`Sender`] or a [`Receiver`] connects to one.

use crate::stream::blocking::{require_wait, run_blocking};
use crate::stream::connect::acceptor::{AcceptWaiter, Acceptor};
use crate::stream::connect::party::Party;
use crate::stream::ends::stream_end::StreamEnd;
use crate::stream::error::End;
use crate::stream::options::Options;
use crate::stream::{Error, Length, Receiver, Sender};
use std::fmt;
use std::marker::PhantomData;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

fn resolve(address: impl ToSocketAddrs) -> Result<Vec<SocketAddr>, Error> {
    address.to_socket_addrs().map(Iterator::collect).map_err(Error::io("looking up an address"))
}

/// Waits for the other end of a stream: what [`Sender::bind`] and [`Receiver::bind`] return.
pub struct Listener<E> {
    acceptor: Arc<Acceptor>,
    party: Party,
    end: PhantomData<fn() -> E>,
}

impl<E> Listener<E> {
    fn bind(address: impl ToSocketAddrs, party: Party) -> Result<Self, Error> {
        let addresses = resolve(address)?;
        let socket = TcpListener::bind(&addresses[..]).map_err(Error::io(format!(
            "listening at {}",
            addresses.first().map_or(String::new(), SocketAddr::to_string)
        )))?;
        Self::on(socket, party)
    }

    fn on(socket: TcpListener, party: Party) -> Result<Self, Error> {
        let acceptor = Acceptor::new(socket, party.token.clone()).map_err(Error::io("listening"))?;
        Ok(Self { acceptor: Arc::new(acceptor), party, end: PhantomData })
    }

    /// Its address, with the port that the system chose if port 0 was requested.
    ///
    /// ```
    /// use gossamer::stream::{Key, Options, Receiver};
    /// let key = Key::from_hex(&"0123456789abcdef".repeat(4))?;
    /// let listener = Receiver::bind("127.0.0.1:0", Options::new().key(key))?;
    /// assert_ne!(listener.local_addr()?.port(), 0); // the sender needs it
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the system does not tell it.
    pub fn local_addr(&self) -> Result<SocketAddr, Error> {
        self.acceptor.local_addr().map_err(Error::io("the address of a listener"))
    }

    #[track_caller]
    fn meet(&self, call: &'static str, patience: Option<Duration>) -> Result<StreamEnd, Error> {
        /// Leaves if the fiber is cancelled.
        struct Leaving(Arc<AcceptWaiter>);
        impl Drop for Leaving {
            fn drop(&mut self) {
                self.0.leave();
            }
        }
        require_wait(call);
        let waiter = Arc::new(AcceptWaiter::new().map_err(Error::io("a descriptor to wait with"))?);
        let _leaving = Leaving(Arc::clone(&waiter));
        let (party, acceptor) = (self.party.clone(), Arc::clone(&self.acceptor));
        run_blocking(call, move || party.accept(&acceptor, &waiter, patience))?
    }
}

impl<E> fmt::Debug for Listener<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").field("address", &self.acceptor.local_addr().ok()).finish_non_exhaustive()
    }
}

impl Listener<Sender> {
    /// Waits for a receiver that knows the key. Others are rejected.
    ///
    /// ```
    /// use gossamer::stream::{Key, Options, Receiver, Sender};
    /// let options = Options::new().key(Key::from_hex(&"0123456789abcdef".repeat(4))?);
    /// let listener = Sender::bind("127.0.0.1:0", 5, options.clone())?;
    /// let address = listener.local_addr()?;
    /// let reading = std::thread::spawn(move || Receiver::connect(address, options)?.finish());
    /// let mut sender = listener.accept()?;
    /// sender.write_everything(b"hello")?;
    /// sender.finish()?;
    /// reading.join().unwrap()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If it does not fit, or is gone again; `Timeout` if a [patience](Options::patience) is set and nobody connects.
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    pub fn accept(&self) -> Result<Sender, Error> {
        self.accept_within(self.party.options.patience)
    }

    pub(crate) fn accept_within(&self, patience: Option<Duration>) -> Result<Sender, Error> {
        self.meet("Listener::accept", patience).map(Sender::new)
    }
}

impl Listener<Receiver> {
    /// Waits for a sender that knows the key. Others are rejected.
    ///
    /// ```
    /// use gossamer::stream::{Key, Options, Receiver, Sender};
    /// let options = Options::new().key(Key::from_hex(&"0123456789abcdef".repeat(4))?);
    /// let listener = Receiver::bind("127.0.0.1:0", options.clone())?;
    /// let address = listener.local_addr()?;
    /// let greet = move |options| {
    ///     let mut sender = Sender::connect(address, 5, options)?;
    ///     sender.write_everything(b"hello")?;
    ///     sender.finish()
    /// };
    /// let senders = [options.clone(), options].map(|options| std::thread::spawn(move || greet(options)));
    /// for sender in senders {
    ///     assert_eq!(std::io::read_to_string(listener.accept()?)?, "hello"); // a stream for each
    ///     # drop(sender);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If it does not fit, or is gone again; `Timeout` if a [patience](Options::patience) is set and nobody connects.
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    pub fn accept(&self) -> Result<Receiver, Error> {
        self.accept_within(self.party.options.patience)
    }

    pub(crate) fn accept_within(&self, patience: Option<Duration>) -> Result<Receiver, Error> {
        self.meet("Listener::accept", patience).map(Receiver::new)
    }
}

#[track_caller]
fn connect(call: &'static str, address: impl ToSocketAddrs, party: Party) -> Result<StreamEnd, Error> {
    let addresses = resolve(address)?;
    run_blocking(call, move || party.connect(&addresses))?
}

impl Sender {
    /// Listens for the receiver of a stream.
    ///
    /// ```
    /// use gossamer::stream::{Key, Options, Receiver, Sender};
    /// let options = Options::new().key(Key::from_hex(&"0123456789abcdef".repeat(4))?);
    /// let listener = Sender::bind("127.0.0.1:0", 5, options.clone())?; // any free port
    /// let address = listener.local_addr()?;
    /// let reading = std::thread::spawn(move || std::io::read_to_string(Receiver::connect(address, options)?));
    /// let mut sender = listener.accept()?;
    /// sender.write_everything(b"hello")?;
    /// sender.finish()?;
    /// assert_eq!(reading.join().unwrap()?, "hello");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is no key, the geometry is not possible, or the address is taken.
    pub fn bind(
        address: impl ToSocketAddrs,
        length: impl Into<Length>,
        options: impl Into<Options>,
    ) -> Result<Listener<Self>, Error> {
        Listener::bind(address, Party::new(End::Sender, length.into(), options.into())?)
    }

    /// Like `bind`, with a socket that already listens: for example one of a service manager, or one with special options.
    ///
    /// ```
    /// use gossamer::stream::{Key, Options, Sender};
    /// use std::net::TcpListener;
    /// let options = Options::new().key(Key::from_hex(&"0123456789abcdef".repeat(4))?);
    /// let socket = TcpListener::bind("127.0.0.1:0")?; // or one that systemd has opened
    /// let address = socket.local_addr()?;
    /// let listener = Sender::listen_on(socket, 1 << 30, options)?;
    /// assert_eq!(listener.local_addr()?, address);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is no key, the geometry is not possible, or the socket fails.
    pub fn listen_on(
        socket: TcpListener,
        length: impl Into<Length>,
        options: impl Into<Options>,
    ) -> Result<Listener<Self>, Error> {
        Listener::on(socket, Party::new(End::Sender, length.into(), options.into())?)
    }

    /// Connects to a receiver that listens.
    ///
    /// ```
    /// use gossamer::stream::{Key, Length, Options, Receiver, Sender};
    /// use std::io::Write;
    /// let options = Options::new().key(Key::from_hex(&"0123456789abcdef".repeat(4))?);
    /// let listener = Receiver::bind("127.0.0.1:0", options.clone())?;
    /// let address = listener.local_addr()?;
    /// let reading = std::thread::spawn(move || std::io::read_to_string(listener.accept()?));
    /// let mut sender = Sender::connect(address, Length::Open, options)?; // as long as it becomes
    /// writeln!(sender, "{} lines follow", 7)?;
    /// sender.finish()?;
    /// assert_eq!(reading.join().unwrap()?, "7 lines follow\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is no key, nobody listens there, or the listener has another key or geometry, or is also a sender.
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    pub fn connect(
        address: impl ToSocketAddrs,
        length: impl Into<Length>,
        options: impl Into<Options>,
    ) -> Result<Self, Error> {
        let party = Party::new(End::Sender, length.into(), options.into())?;
        connect("Sender::connect", address, party).map(Self::new)
    }
}

impl Receiver {
    /// Listens for the sender of a stream.
    ///
    /// ```
    /// use gossamer::stream::{Error, Key, Options, Receiver};
    /// use std::time::Duration;
    /// let options = Options::new().key(Key::from_hex(&"0123456789abcdef".repeat(4))?);
    /// let listener = Receiver::bind("127.0.0.1:0", options.patience(Duration::from_millis(1)))?;
    /// println!("a sender may connect to {}", listener.local_addr()?);
    /// assert!(matches!(listener.accept(), Err(Error::Timeout { .. }))); // none does
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is no key, the geometry is not possible, or the address is taken.
    pub fn bind(address: impl ToSocketAddrs, options: impl Into<Options>) -> Result<Listener<Self>, Error> {
        Listener::bind(address, Party::new(End::Receiver, Length::Open, options.into())?)
    }

    /// Like `bind`, with a socket that already listens: for example one of a service manager, or one with special options.
    ///
    /// ```
    /// use gossamer::stream::{Key, Options, Receiver};
    /// use std::net::TcpListener;
    /// let options = Options::new().key(Key::from_hex(&"0123456789abcdef".repeat(4))?);
    /// let socket = TcpListener::bind("127.0.0.1:0")?; // or one that systemd has opened
    /// let address = socket.local_addr()?;
    /// assert_eq!(Receiver::listen_on(socket, options)?.local_addr()?, address);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is no key, the geometry is not possible, or the socket fails.
    pub fn listen_on(socket: TcpListener, options: impl Into<Options>) -> Result<Listener<Self>, Error> {
        Listener::on(socket, Party::new(End::Receiver, Length::Open, options.into())?)
    }

    /// Connects to a sender that listens.
    ///
    /// ```
    /// use gossamer::stream::{Key, Options, Receiver, Sender};
    /// let options = Options::new().key(Key::from_hex(&"0123456789abcdef".repeat(4))?);
    /// let listener = Sender::bind("127.0.0.1:0", 8 * 3, options.clone())?;
    /// let address = listener.local_addr()?;
    /// let sending = std::thread::spawn(move || {
    ///     let mut sender = listener.accept()?;
    ///     [1_u64, 2, 3].into_iter().try_for_each(|number| sender.write_everything(&number.to_ne_bytes()))?;
    ///     sender.finish()
    /// });
    /// let mut sum = 0;
    /// Receiver::connect(address, options)?.for_each_slice(|numbers: &[u64]| sum += numbers.iter().sum::<u64>())?;
    /// assert_eq!(sum, 6);
    /// sending.join().unwrap()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is no key, nobody listens there, or the listener has another key or geometry, or is also a receiver.
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    pub fn connect(address: impl ToSocketAddrs, options: impl Into<Options>) -> Result<Self, Error> {
        let party = Party::new(End::Receiver, Length::Open, options.into())?;
        connect("Receiver::connect", address, party).map(Self::new)
    }
}
