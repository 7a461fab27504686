//! [`serve`]: a listener on each worker of each node.

use crate::WithoutCaptures;
use crate::net::address::{first_of, resolve};
use crate::net::fiber_socket::check_may_wait;
use crate::net::{TcpListener, TcpStream, ToSocketAddrs};
use crate::trust::{NoRef, Trust, Trustee, entrust, spawn_around, spawn_local_around, spawned_at};
use crate::waiting::{block_on, sleep_async};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::panic::Location;
use std::time::Duration;

/// The pause of a worker when the system refuses a connection, for example for lack of descriptors: the first one,
/// and the longest.
const PAUSES: [Duration; 2] = [Duration::from_millis(5), Duration::from_secs(1)];

/// Listens at one address on each worker of each node, and runs `serve` in a fiber for each connection, on the worker
/// that accepted it: connections do not move between workers. Returns once all workers listen.
///
/// `serve` is a `fn`, or a closure in a `const` block, like everything that goes to other nodes; `state` is cloned
/// for each connection, and is the way to give it trusts.
///
/// ```
/// use gossamer::net::{self, TcpStream};
/// use gossamer::{Config, Trust, rack};
/// use std::io::{Read, Write};
///
/// #[gossamer::delegate]
/// fn greet(mut stream: TcpStream, greetings: Trust<u64>) {
///     let number = greetings.apply(|greetings| {
///         *greetings += 1;
///         *greetings
///     });
///     write!(stream, "greeting {number}").expect("a client that listens");
/// }
///
/// // Two nodes, in one process as in a test: four listeners.
/// rack::run_in_process(2, Config::default().threads(2), || {
///     let acceptors = net::serve("127.0.0.1:0", greet, gossamer::entrust(0)).expect("a free port");
///     assert_eq!(acceptors.listeners().len(), 4);
///     let mut greeting = String::new();
///     TcpStream::connect(acceptors.local_addr()).unwrap().read_to_string(&mut greeting).unwrap();
///     assert_eq!(greeting, "greeting 1");
///     acceptors.close().expect("all of them listen");
/// });
/// ```
///
/// [`serve_on`] listens on chosen workers only.
///
/// # Nodes
/// The listeners of one machine share the port, by `SO_REUSEPORT`, and its kernel spreads connections over them by
/// address: evenly if there are many. Each machine listens at the same address, so use `0.0.0.0` or `[::]` for
/// several machines; clients are spread over the machines by a load balancer or by names. With port 0 the system of
/// the first node chooses the port for all.
///
/// # The end
/// Workers accept until [`Acceptors::close`], or until `main` returns. If the system refuses a connection for lack of
/// descriptors or memory, the worker reports it on standard error and continues after a pause of up to a second.
///
/// # Errors
/// If the address is malformed or unknown, or a worker cannot listen there: the error names it. Then none listens.
///
/// # Panics
/// If `serve` or `state` cannot go to another node ([Delegated closures](crate::Trust#delegated-closures)); on a thread
/// that is not a worker; and in a delegated closure or a callback, which cannot wait.
#[track_caller]
pub fn serve<A: ToSocketAddrs, C: NoRef + Clone, F>(address: A, serve: F, state: C) -> io::Result<Acceptors>
where
    F: FnOnce(TcpStream, C) + Send + WithoutCaptures + 'static,
{
    serve_on(&Trustee::all(), address, serve, state)
}

/// Like [`serve`], only on these workers, for example to reserve the others for properties.
///
/// ```
/// # use gossamer::{Config, Trustee, net::{self, TcpStream}};
/// gossamer::run(Config::default().threads(3), || {
///     let clients = &Trustee::all()[1..]; // worker 0 has properties
///     let close = const { |stream: TcpStream, ()| drop(stream) };
///     let acceptors = net::serve_on(clients, "127.0.0.1:0", close, ()).expect("a free port");
///     assert_eq!(acceptors.listeners().len(), 2);
/// });
/// ```
///
/// # Errors
/// Like [`serve`], and if there is no worker.
///
/// # Panics
/// Like [`serve`].
#[track_caller]
pub fn serve_on<A: ToSocketAddrs, C: NoRef + Clone, F>(
    workers: &[Trustee],
    address: A,
    serve: F,
    state: C,
) -> io::Result<Acceptors>
where
    F: FnOnce(TcpStream, C) + Send + WithoutCaptures + 'static,
{
    check_may_wait("net::serve");
    if workers.is_empty() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "there is no worker to listen on"));
    }
    let called_at = Location::caller();
    let builder = TcpListener::builder().reuse_port(true);
    // Reserves the port until all listen there, and accepts no connections.
    let reserved = first_of(&resolve(address, "net::serve")?, |address| builder.bound(address))?;
    let address = reserved.local_addr()?;
    let mut fibers = Vec::new();
    for trustee in workers.iter().copied() {
        let begin = move |(address, state): (SocketAddr, C)| begin(address, state, serve);
        fibers
            .push((trustee, spawn_around::<F, _, _, _>(trustee, begin, (address, state.clone()), called_at)));
    }
    let (mut listeners, mut refused) = (Vec::new(), None);
    for (trustee, fiber) in fibers {
        match fiber.join() {
            Ok(listener) => listeners.push(listener),
            Err(refusal) => {
                refused =
                    Some(io::Error::other(format!("worker {} cannot listen: {refusal}", trustee.index())));
            }
        }
    }
    let acceptors = Acceptors { address, listeners };
    match refused {
        None => Ok(acceptors),
        Some(error) => {
            acceptors.close()?;
            Err(error)
        }
    }
}

/// The listeners of workers: what [`serve`] and [`serve_on`] return. Dropping it leaves them listening.
#[must_use = "only this can end them before the program does"]
pub struct Acceptors {
    address: SocketAddr,
    listeners: Vec<Trust<TcpListener>>,
}

impl Acceptors {
    /// The address at which all of them listen.
    ///
    /// ```
    /// # use gossamer::net::{self, TcpStream};
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let close = const { |stream: TcpStream, ()| drop(stream) };
    /// let acceptors = net::serve("127.0.0.1:0", close, ()).expect("a free port");
    /// assert_ne!(acceptors.local_addr().port(), 0); // the one that the system has chosen
    /// assert!(TcpStream::connect(acceptors.local_addr()).is_ok());
    /// # });
    /// ```
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The listener of each worker, in the order of the workers.
    ///
    /// ```
    /// # use gossamer::net::{self, TcpStream};
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let close = const { |stream: TcpStream, ()| drop(stream) };
    /// let acceptors = net::serve("127.0.0.1:0", close, ()).expect("a free port");
    /// let workers: Vec<_> = acceptors.listeners().iter().map(|listener| listener.trustee().index()).collect();
    /// assert_eq!(workers, [0, 1]);
    /// # });
    /// ```
    pub fn listeners(&self) -> &[Trust<TcpListener>] {
        &self.listeners
    }

    /// Ends listening on all workers; connections that were accepted go on.
    ///
    /// ```
    /// # use gossamer::net::{self, TcpStream};
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let close = const { |stream: TcpStream, ()| drop(stream) };
    /// let acceptors = net::serve("127.0.0.1:0", close, ()).expect("a free port");
    /// acceptors.close().expect("all of them listen");
    /// assert!(TcpStream::connect(acceptors.local_addr()).is_err());
    /// # });
    /// ```
    ///
    /// # Errors
    /// The first error of the system.
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    pub fn close(&self) -> io::Result<()> {
        let close =
            const { |listener: &mut TcpListener| listener.close().map_err(|error| error.to_string()) };
        let mut outcome = Ok(());
        for listener in &self.listeners {
            outcome = outcome.and(listener.apply(close));
        }
        outcome.map_err(io::Error::other)
    }
}

impl fmt::Debug for Acceptors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acceptors").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Makes this worker listen, and accept in a separate fiber.
fn begin<C: NoRef + Clone, F>(address: SocketAddr, state: C, serve: F) -> Result<Trust<TcpListener>, String>
where
    F: FnOnce(TcpStream, C) + Send + Copy + 'static,
{
    let listen = || {
        let listener = TcpListener::builder().reuse_port(true).bind(address)?;
        listener.try_clone().map(|other| (listener, other))
    };
    let (listener, other) = listen().map_err(|error| format!("{address}: {error}"))?;
    // Nobody joins it: it ends when its listener is closed. Like this fiber, it is named by the call of `serve`.
    drop(spawn_local_around::<F, _, _>(move || accept(&listener, &state, serve), spawned_at()));
    Ok(entrust(other))
}

#[track_caller]
fn accept<C: NoRef + Clone, F>(listener: &TcpListener, state: &C, serve: F)
where
    F: FnOnce(TcpStream, C) + Send + Copy + 'static,
{
    let mut pause = None;
    loop {
        match listener.accept() {
            Ok((stream, _peer)) => {
                pause = None;
                let state = state.clone();
                drop(spawn_local_around::<F, _, _>(move || serve(stream, state), spawned_at()));
            }
            Err(error) if error.kind() == io::ErrorKind::NotConnected => return,
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => {
                if pause.is_none() {
                    eprintln!("gossamer: a connection cannot be accepted: {error}");
                }
                let next = pause.map_or(PAUSES[0], |pause: Duration| (2 * pause).min(PAUSES[1]));
                block_on(sleep_async(next));
                pause = Some(next);
            }
        }
    }
}
