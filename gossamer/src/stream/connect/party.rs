//! How the two ends of a stream meet: one listens, the other connects; they prove the key, compare their parameters,
//! and choose the route.
//!
//! ```text
//! who connects                                   who accepts
//!   keyed hand-shake (`transport::handshake`)  ↔
//!   parameters                              →
//!                                           ←    parameters, with the name of the stream
//!   one byte: do they share memory?         →
//!   shared: a Unix socket of that name, hand-shake, the ring from the sender
//!   else, if both may use RDMA: what that takes (`rdma`), and it is used if both can
//!   else:   further connections, each with hand-shake and parameters
//! ```
//!
//! If connections are to be sealed, sealing begins here; the keys are bound to what was sent on a connection before
//! (its parameters, which contain the name of the stream and the number of the connection). If that was changed on
//! the way, nothing can be opened.

use crate::stream::blocks::ring::Ring;
use crate::stream::connect::acceptor::{AcceptWaiter, Acceptor, ProvenConnection};
use crate::stream::connect::parameters::{StreamParameters, machine, new_name, text_of};
use crate::stream::connect::rdma::{self, Prepared};
use crate::stream::connect::routes::Routes;
use crate::stream::ends::stream_end::StreamEnd;
use crate::stream::error::End;
use crate::stream::limits::check;
use crate::stream::options::Options;
use crate::stream::pump::seal::ConnectionSeal;
use crate::stream::pump::tcp::Tcp;
use crate::stream::pump::verbs::Verbs;
use crate::stream::pump::{PeerConnection, Pump, incoming, outgoing, shm};
use crate::stream::{Error, Length};
use crate::transport::handshake::{self, PATIENCE, Token};
use crate::transport::seal::agreement::Agreement;
use crate::transport::socket::{Address, Socket, SocketListener};
use std::io;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// How long a listener may be busy with others, if the options do not say.
const ACCEPTED: Duration = Duration::from_secs(60);
/// How long a further connection of a stream may take.
const FURTHER: Duration = Duration::from_secs(10);
/// How often, and at which interval, an end retries a connection that was closed before the other end proved itself.
const AGAIN: u32 = 50;
const PAUSE: Duration = Duration::from_millis(10);

/// What one end brings to a meeting.
#[derive(Clone)]
pub(crate) struct Party {
    end: End,
    length: Option<u64>,
    pub(crate) options: Options,
    pub(crate) token: Token,
    routes: Routes,
}

impl Party {
    pub(crate) fn new(end: End, length: Length, options: Options) -> Result<Self, Error> {
        check(length, &options)?;
        let token = options.token()?;
        let routes = Routes::find(options.route)?;
        let protection = options.protection;
        let routes = Routes { rdma: routes.rdma && !protection.is_sealed(), ..routes };
        if routes.is_none() {
            return Err(Error::Refused(format!(
                "a stream that is to be {protection} does not go by RDMA, and GOSSAMER_FABRIC=verbs allows nothing else: leave that \
                 out, and it goes by TCP"
            )));
        }
        if routes.rdma {
            rdma::settings().map_err(Error::Refused)?;
            if !routes.memory && !routes.tcp {
                rdma::find().map_err(|why| no_route(routes, &[why]))?;
            }
        }
        Ok(Self { end, length: length.known(), options, token, routes })
    }

    fn parameters(&self) -> Result<StreamParameters, Error> {
        let doing = || Error::io("naming a stream");
        Ok(StreamParameters {
            end: self.end,
            routes: self.routes,
            connections: self.options.connections as u8,
            index: 0,
            geometry: self.options.geometry,
            length: self.length,
            machine: machine().map_err(doing())?,
            user: rustix::process::geteuid().as_raw(),
            stream: new_name().map_err(doing())?,
            protection: self.options.protection,
        })
    }

    /// Connects to an end that listens.
    pub(crate) fn connect(&self, addresses: &[SocketAddr]) -> Result<StreamEnd, Error> {
        let ours = self.parameters()?;
        let (mut socket, address, agreement) = self.reach(addresses)?;
        let doing = || Error::io(format!("meeting the other end at {address}"));
        ours.write(&mut socket).map_err(doing())?;
        let theirs = StreamParameters::read(&mut socket).map_err(doing())?;
        // It has been accepted; until then, others may have been served.
        socket.set_patience(PATIENCE).map_err(doing())?;
        ours.check(&theirs)?;
        let shared =
            self.may_share(&ours, &theirs).then(|| Socket::connect(&unix(&theirs), PATIENCE).ok()).flatten();
        let shared = shared.filter(|shared| self.trusts_peer(shared));
        socket.write_all(&[u8::from(shared.is_some())]).map_err(doing())?;
        if let Some(mut shared) = shared {
            handshake::connect(&mut shared, &self.token, PATIENCE).map_err(doing())?;
            return self.share(shared, &theirs);
        }
        let ring = Arc::new(Ring::create(self.options.geometry)?);
        let socket = match self.prepare_rdma(socket, 0, &ring, &theirs)? {
            ControlFlow::Break(stream) => return Ok(stream),
            ControlFlow::Continue(socket) => socket,
        };
        let mut connections = vec![self.connection(socket, &agreement, [&ours, &theirs])?];
        for index in 1..ours.connections {
            let (mut socket, _, agreement) = self.reach(&[address])?;
            let parameters = StreamParameters { index, stream: theirs.stream, ..ours };
            parameters.write(&mut socket).map_err(doing())?;
            connections.push(self.connection(socket, &agreement, [&parameters, &theirs])?);
        }
        self.run(connections, &ring, &theirs)
    }

    /// A connection whose other end knows the key. It retries if strangers fill the door; they have to make room for
    /// each other and for it.
    fn reach(&self, addresses: &[SocketAddr]) -> Result<(Socket, SocketAddr, Agreement), Error> {
        let mut again = AGAIN;
        loop {
            let (mut socket, address) = first_of(addresses)?;
            match handshake::connect(&mut socket, &self.token, self.options.patience.unwrap_or(ACCEPTED)) {
                Ok(agreement) => return Ok((socket, address, agreement)),
                Err(error) if again > 0 && is_closed(&error) => thread::sleep(PAUSE),
                Err(error) => return Err(Error::io(format!("meeting the other end at {address}"))(error)),
            }
            again -= 1;
        }
    }

    /// Waits for the end that connects.
    pub(crate) fn accept(
        &self,
        acceptor: &Acceptor,
        waiter: &Arc<AcceptWaiter>,
        patience: Option<Duration>,
    ) -> Result<StreamEnd, Error> {
        let ours = self.parameters()?;
        let doing = || Error::io("meeting the other end");
        // An end that does not know the key is no reason to stop waiting.
        let ProvenConnection { mut socket, parameters: theirs, agreement } = acceptor
            .wait(waiter, patience, |parameters| parameters.index == 0)
            .map_err(|error| match error.kind() {
                io::ErrorKind::TimedOut => Error::Timeout { at: 0 },
                _ => Error::io("waiting for the other end")(error),
            })?;
        let shares = self.may_share(&ours, &theirs);
        // Before the parameters are sent, so that the other end finds it.
        let back = shares.then(|| SocketListener::bind(&unix(&ours))).transpose().map_err(doing())?;
        ours.write(&mut socket).map_err(doing())?;
        ours.check(&theirs)?;
        let mut shared = [0];
        socket.read_exact(&mut shared).map_err(doing())?;
        if let Some(back) = back.filter(|_| shared == [1]) {
            let due = Instant::now() + FURTHER;
            loop {
                let mut shared = back.accept_until(due).map_err(doing())?;
                if self.trusts_peer(&shared) && handshake::accept(&mut shared, &self.token).is_ok() {
                    return self.share(shared, &theirs);
                }
            }
        }
        let ring = Arc::new(Ring::create(self.options.geometry)?);
        let socket = match self.prepare_rdma(socket, 1, &ring, &theirs)? {
            ControlFlow::Break(stream) => return Ok(stream),
            ControlFlow::Continue(socket) => socket,
        };
        let mut connections = vec![self.connection(socket, &agreement, [&theirs, &ours])?];
        while connections.len() < usize::from(theirs.connections.max(1)) {
            let further = acceptor
                .wait(waiter, Some(FURTHER), |parameters| {
                    parameters.index > 0 && parameters.stream == ours.stream
                })
                .map_err(Error::io("waiting for the further connections of the other end"))?;
            let ProvenConnection { socket, parameters, agreement } = further;
            connections.push(self.connection(socket, &agreement, [&parameters, &ours])?);
        }
        self.run(connections, &ring, &theirs)
    }

    /// Whether two ends use one ring, if they can access it.
    fn may_share(&self, ours: &StreamParameters, theirs: &StreamParameters) -> bool {
        let both = ours.routes.and(theirs.routes).memory && ours.machine == theirs.machine;
        both && self.trusts(theirs.user)
    }

    /// Whether this end accepts memory that a process of this user can also write: that of its own user, or of any
    /// user if nothing else is allowed.
    fn trusts(&self, user: u32) -> bool {
        let Routes { memory, rdma, tcp } = self.routes;
        memory && (!rdma && !tcp || user == rustix::process::geteuid().as_raw())
    }

    /// The same for the process at the other end of a socket, as reported by the system.
    fn trusts_peer(&self, socket: &Socket) -> bool {
        socket.peer_user().is_ok_and(|user| self.trusts(user))
    }

    fn length_with(&self, theirs: &StreamParameters) -> Option<u64> {
        self.length.or(theirs.length)
    }

    fn share(&self, socket: Socket, theirs: &StreamParameters) -> Result<StreamEnd, Error> {
        let (ring, connection) = shm::share(socket, self.end, self.options.geometry)?;
        Ok(StreamEnd::new(ring, self.end, self.length_with(theirs), &self.options, Some(connection)))
    }

    /// Prepares reading blocks by RDMA, if possible; otherwise leaves the connection for TCP. `number` is 0 for the
    /// end that connects.
    fn prepare_rdma(
        &self,
        mut socket: Socket,
        number: usize,
        ring: &Arc<Ring>,
        theirs: &StreamParameters,
    ) -> Result<ControlFlow<StreamEnd, Socket>, Error> {
        let both = self.routes.and(theirs.routes);
        let mut reasons = Vec::new();
        if both.memory {
            reasons.push(
                "the other end is on another machine or another user's, or its memory cannot be had"
                    .to_owned(),
            );
        }
        if both.rdma {
            let prepared = rdma::prepare(&mut socket, number, self.end, ring);
            match prepared.map_err(Error::io("preparing RDMA with the other end"))? {
                Ok(prepared) => {
                    return self.read_blocks(socket, ring, prepared, theirs).map(ControlFlow::Break);
                }
                Err(why) => reasons.push(why),
            }
        }
        if both.tcp { Ok(ControlFlow::Continue(socket)) } else { Err(no_route(both, &reasons)) }
    }

    fn read_blocks(
        &self,
        socket: Socket,
        ring: &Arc<Ring>,
        prepared: Prepared,
        theirs: &StreamParameters,
    ) -> Result<StreamEnd, Error> {
        let tcp = Tcp::new(socket, self.options.congestion.as_deref(), None)?;
        let pump = match prepared {
            Prepared::Source(end) => Verbs::source(tcp, ring, end),
            Prepared::Target(reads) => Verbs::target(tcp, ring, reads),
        };
        self.run(vec![pump], ring, theirs)
    }

    /// A connection for blocks, on which both ends have sent these parameters. From here on it is sealed, if
    /// required.
    fn connection(
        &self,
        socket: Socket,
        agreement: &Agreement,
        said: [&StreamParameters; 2],
    ) -> Result<Tcp, Error> {
        let binding = said.map(|parameters| parameters.to_bytes()).concat();
        let channel = agreement.channel(self.options.protection, "gossamer stream", &binding);
        let seal = channel.map_err(Error::io("sealing a connection"))?.map(ConnectionSeal::new);
        Tcp::new(socket, self.options.congestion.as_deref(), seal)
    }

    fn run<P: Pump>(
        &self,
        pumps: Vec<P>,
        ring: &Arc<Ring>,
        theirs: &StreamParameters,
    ) -> Result<StreamEnd, Error> {
        match self.end {
            End::Sender => outgoing::run(ring, pumps)?,
            End::Receiver => incoming::run(ring, pumps)?,
        }
        let (length, connection) = (self.length_with(theirs), Some(PeerConnection::Threads));
        Ok(StreamEnd::new(Arc::clone(ring), self.end, length, &self.options, connection))
    }
}

/// None of the allowed routes is available, for these reasons.
fn no_route(allowed: Routes, reasons: &[String]) -> Error {
    Error::Refused(format!(
        "blocks may go by {allowed} only (GOSSAMER_FABRIC), which cannot be had: {}",
        reasons.join("; ")
    ))
}

/// Where two ends of one machine meet: a name that lives in memory only.
fn unix(parameters: &StreamParameters) -> Address {
    Address::Unix(format!("gossamer-stream-{}", text_of(&parameters.stream)))
}

/// Whether the other end has closed a connection.
fn is_closed(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
}

/// A connection to the first address of several that answers.
fn first_of(addresses: &[SocketAddr]) -> Result<(Socket, SocketAddr), Error> {
    let mut last = Error::Refused("an address without a host".into());
    for address in addresses {
        match Socket::connect_tcp(address, PATIENCE) {
            Ok(socket) => return Ok((socket, *address)),
            Err(error) => last = Error::io(format!("connecting to {address}"))(error),
        }
    }
    Err(last)
}
