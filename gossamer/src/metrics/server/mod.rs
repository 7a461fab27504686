//! The metrics of a node over HTTP: served by a separate thread, which answers even while all workers hang.
//!
//! One thread with a poller and a bounded number of connections, each for one request: a client that does not read,
//! or sends garbage or nothing, keeps its place until its deadline, or until another client needs it. The maintained
//! crates for HTTP servers need a thread for each connection, or an executor; `httparse` parses requests, and the
//! rest is this loop.

mod connection;

#[cfg(fuzzing)]
pub(crate) use connection::fuzz as fuzz_requests;

use crate::counters::address::MetricsAddress;
use crate::metrics::read::{node_of, of_node};
use crate::metrics::text::{self, TextFormat};
use crate::net::closing::end_listening;
use crate::sys::threads::bystander::Bystander;
use crate::worker::shared::Shared;
use connection::{ScrapeConnection, ScrapeProgress, ScrapeSocket};
use mio::event::Source;
use mio::net::{TcpListener, UnixListener};
use mio::{Events, Interest, Poll, Token, Waker};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Connections at a time. Beyond that the oldest is dropped.
const MOST: usize = 64;
/// How long a client may take to send a request and to read the answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the same text is served, which bounds the cost of scrapers that ask all the time.
const FRESH: Duration = Duration::from_millis(50);
/// When to try again if a connection could not be accepted.
const AGAIN: Duration = Duration::from_millis(100);

const LISTENER: Token = Token(MOST);
const STOP: Token = Token(MOST + 1);

/// Addresses that this process serves: several runtimes of one number have the same address, and the first gets it.
static SERVED: Mutex<Vec<MetricsAddress>> = Mutex::new(Vec::new());

/// Serves the counts of one node until it is dropped.
pub(crate) struct MetricsServer {
    address: MetricsAddress,
    is_over: Arc<AtomicBool>,
    waker: Arc<Waker>,
    thread: Option<JoinHandle<()>>,
}

impl MetricsServer {
    /// Serves a node at the address of its configuration. `None` if it has none, or if another runtime of this
    /// process already serves there.
    ///
    /// # Errors
    /// If it cannot listen there; the text names the address.
    pub(crate) fn start(shared: &Arc<Shared>) -> io::Result<Option<Self>> {
        let Some(address) = &shared.config.metrics else { return Ok(None) };
        let node = node_of(shared);
        let failed = |error: io::Error| {
            let text = format!(
                "node {node} cannot serve its metrics at {address}, as GOSSAMER_METRICS has it: {error}"
            );
            io::Error::new(error.kind(), text)
        };
        let address = address.of_node(node).ok_or_else(|| failed(io::ErrorKind::AddrNotAvailable.into()))?;
        let mut served = SERVED.lock().unwrap_or_else(PoisonError::into_inner);
        if served.contains(&address) {
            return Ok(None);
        }
        let server = Self::listen(&address, Arc::downgrade(shared)).map_err(failed)?;
        served.push(address);
        Ok(Some(server))
    }

    fn listen(address: &MetricsAddress, shared: Weak<Shared>) -> io::Result<Self> {
        let poll = Poll::new()?;
        let mut listener = match address {
            MetricsAddress::Tcp(address) => ScrapeListener::Tcp(TcpListener::bind(*address)?),
            MetricsAddress::Folder(path) => ScrapeListener::Unix(listen_at(path)?, OwnedPath(path.clone())),
        };
        listener.source().register(poll.registry(), LISTENER, Interest::READABLE)?;
        let waker = Arc::new(Waker::new(poll.registry(), STOP)?);
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let serving =
            ScrapeLoop { poll, listener, connections: Vec::new(), shared, told: None, retry: false };
        let thread = thread::Builder::new().name("gossamer-metrics".to_owned()).spawn(move || {
            let _bystander = Bystander::here();
            serving.run(&over)
        })?;
        Ok(Self { address: address.clone(), is_over, waker, thread: Some(thread) })
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        // Release: pairs with the Acquire of the thread.
        self.is_over.store(true, Ordering::Release);
        if self.waker.wake().is_ok() {
            // A thread that panicked has already printed it.
            let _ended = self.thread.take().map(JoinHandle::join);
        }
        SERVED.lock().unwrap_or_else(PoisonError::into_inner).retain(|address| *address != self.address);
    }
}

/// A socket that only its user may use.
fn listen_at(path: &Path) -> io::Result<UnixListener> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// A name in a directory, removed with its socket.
struct OwnedPath(PathBuf);

impl Drop for OwnedPath {
    fn drop(&mut self) {
        // It may already be gone with its directory.
        let _gone = fs::remove_file(&self.0);
    }
}

enum ScrapeListener {
    Tcp(TcpListener),
    Unix(UnixListener, #[expect(dead_code, reason = "it is dropped with the socket")] OwnedPath),
}

impl ScrapeListener {
    fn source(&mut self) -> &mut dyn Source {
        match self {
            Self::Tcp(listener) => listener,
            Self::Unix(listener, _) => listener,
        }
    }

    fn accept(&self) -> io::Result<Box<dyn ScrapeSocket>> {
        match self {
            Self::Tcp(listener) => {
                listener.accept().map(|(stream, _)| Box::new(stream) as Box<dyn ScrapeSocket>)
            }
            Self::Unix(listener, _) => {
                listener.accept().map(|(stream, _)| Box::new(stream) as Box<dyn ScrapeSocket>)
            }
        }
    }
}

impl Drop for ScrapeListener {
    /// Until it executes its program, a process that is being started has the socket, too. Nobody is to connect to that,
    /// and the next runtime has to have the address.
    fn drop(&mut self) {
        // It fails only for a socket that does not listen.
        let _ended = match self {
            Self::Tcp(listener) => end_listening(listener),
            Self::Unix(listener, _) => end_listening(listener),
        };
    }
}

/// The last text that was served.
struct ScrapedText {
    when: Instant,
    format: TextFormat,
    text: Arc<[u8]>,
}

struct ScrapeLoop {
    poll: Poll,
    listener: ScrapeListener,
    /// By token.
    connections: Vec<Option<ScrapeConnection>>,
    shared: Weak<Shared>,
    told: Option<ScrapedText>,
    /// A connection could not be accepted, and the poller does not report it again.
    retry: bool,
}

impl ScrapeLoop {
    fn run(mut self, is_over: &AtomicBool) {
        let mut events = Events::with_capacity(MOST + 2);
        // Acquire: pairs with the Release of whoever ends this.
        while !is_over.load(Ordering::Acquire) {
            if let Err(error) = self.poll.poll(&mut events, self.time_to_wait())
                && error.kind() != io::ErrorKind::Interrupted
            {
                eprintln!("gossamer: metrics are not served any more: {error}");
                return;
            }
            if self.retry || events.iter().any(|event| event.token() == LISTENER) {
                self.accept();
            }
            for event in events.iter().filter(|event| event.token().0 < MOST) {
                self.go_on(event.token().0);
            }
            self.forget_the_late();
        }
    }

    fn time_to_wait(&self) -> Option<Duration> {
        let now = Instant::now();
        let dues =
            self.connections.iter().flatten().map(|connection| connection.due.saturating_duration_since(now));
        dues.chain(self.retry.then_some(AGAIN)).min()
    }

    fn accept(&mut self) {
        self.retry = false;
        // Bounded, so that existing connections get their turn.
        for _ in 0..MOST {
            match self.listener.accept() {
                Ok(peer) => self.admit(peer),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The client has gone, or this process has no descriptor left.
                Err(_) => break,
            }
        }
        self.retry = true;
    }

    fn admit(&mut self, peer: Box<dyn ScrapeSocket>) {
        let place = self.connections.iter().position(Option::is_none).unwrap_or_else(|| {
            if self.connections.len() < MOST {
                self.connections.push(None);
                return self.connections.len() - 1;
            }
            let due = |place: &usize| self.connections[*place].as_ref().map(|connection| connection.due);
            (0..MOST).min_by_key(due).unwrap_or_default()
        });
        let mut connection = ScrapeConnection::new(peer, Instant::now() + PATIENCE);
        let interest = Interest::READABLE | Interest::WRITABLE;
        let registered = connection.peer.register(self.poll.registry(), Token(place), interest);
        // Dropped before its place is taken, and so are its events.
        self.connections[place] = None;
        if registered.is_ok() {
            self.connections[place] = Some(connection);
            self.go_on(place);
        }
    }

    /// Reads and writes as far as possible.
    fn go_on(&mut self, place: usize) {
        let Some(mut connection) = self.connections.get_mut(place).and_then(Option::take) else { return };
        let progress = connection.go_on(|format| self.text(format));
        if progress == ScrapeProgress::Waits {
            self.connections[place] = Some(connection);
        }
    }

    /// The metrics of the node; `None` once it has ended.
    fn text(&mut self, format: TextFormat) -> Option<Arc<[u8]>> {
        let is_fresh = |told: &&ScrapedText| told.format == format && told.when.elapsed() < FRESH;
        if let Some(told) = self.told.as_ref().filter(is_fresh) {
            return Some(Arc::clone(&told.text));
        }
        let shared = self.shared.upgrade()?;
        let text: Arc<[u8]> = text::write(&of_node(&shared), format).into_bytes().into();
        self.told = Some(ScrapedText { when: Instant::now(), format, text: Arc::clone(&text) });
        Some(text)
    }

    fn forget_the_late(&mut self) {
        let now = Instant::now();
        for connection in &mut self.connections {
            if connection.as_ref().is_some_and(|connection| connection.due <= now) {
                *connection = None;
            }
        }
    }
}
