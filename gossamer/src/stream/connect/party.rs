//! How the two ends of a stream meet: one listens, the other connects; they prove the key, compare what they are, and choose the way.
//!
//! ```text
//! who connects                                   who accepts
//!   keyed hand-shake (`transport::handshake`)  ↔
//!   parameters                              →
//!                                           ←    parameters, with the name of the stream
//!   one byte: do they share memory?         →
//!   shared: a Unix socket of that name, hand-shake, the ring from the sender
//!   else:   further connections, each with hand-shake and parameters
//! ```

use crate::stream::blocks::ring::Ring;
use crate::stream::connect::acceptor::{AcceptWaiter, Acceptor};
use crate::stream::connect::parameters::{StreamParameters, machine, new_name, text_of};
use crate::stream::ends::stream_end::StreamEnd;
use crate::stream::error::End;
use crate::stream::limits::check;
use crate::stream::options::{Options, Route};
use crate::stream::pump::tcp::Tcp;
use crate::stream::pump::{PeerConnection, incoming, outgoing, shm};
use crate::stream::{Error, Length};
use crate::transport::handshake::{self, PATIENCE, Token};
use crate::transport::socket::{Address, Socket, SocketListener};
use std::io;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long the further connections of a stream may take.
const FURTHER: Duration = Duration::from_secs(10);

/// What one end brings to a meeting.
#[derive(Clone)]
pub(crate) struct Party {
    end: End,
    length: Option<u64>,
    pub(crate) options: Options,
    pub(crate) token: Token,
}

impl Party {
    pub(crate) fn new(end: End, length: Length, options: Options) -> Result<Self, Error> {
        check(length, &options)?;
        let token = options.token()?;
        Ok(Self { end, length: length.known(), options, token })
    }

    fn parameters(&self) -> Result<StreamParameters, Error> {
        let doing = || Error::io("naming a stream");
        Ok(StreamParameters {
            end: self.end,
            shares: self.options.route == Route::Auto,
            connections: self.options.connections as u8,
            index: 0,
            geometry: self.options.geometry,
            length: self.length,
            machine: machine().map_err(doing())?,
            stream: new_name().map_err(doing())?,
        })
    }

    /// Goes to an end that listens.
    pub(crate) fn connect(&self, addresses: &[SocketAddr]) -> Result<StreamEnd, Error> {
        let ours = self.parameters()?;
        let (mut socket, address) = first_of(addresses)?;
        let doing = || Error::io(format!("meeting the other end at {address}"));
        handshake::connect(&mut socket, &self.token).map_err(doing())?;
        ours.write(&mut socket).map_err(doing())?;
        let theirs = StreamParameters::read(&mut socket).map_err(doing())?;
        ours.check(&theirs)?;
        let shared = (ours.shares && theirs.shares && ours.machine == theirs.machine)
            .then(|| Socket::connect(&unix(&theirs), PATIENCE).ok())
            .flatten();
        socket.write_all(&[u8::from(shared.is_some())]).map_err(doing())?;
        if let Some(mut shared) = shared {
            handshake::connect(&mut shared, &self.token).map_err(doing())?;
            return self.share(shared, &theirs);
        }
        let mut sockets = vec![socket];
        for index in 1..ours.connections {
            let (mut socket, _) = first_of(&[address])?;
            handshake::connect(&mut socket, &self.token).map_err(doing())?;
            let parameters = StreamParameters { index, stream: theirs.stream, ..ours };
            parameters.write(&mut socket).map_err(doing())?;
            sockets.push(socket);
        }
        self.move_blocks(sockets, &theirs)
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
        // Whoever does not know the key is no reason to stop waiting.
        let due = patience.and_then(|patience| Instant::now().checked_add(patience));
        let (mut socket, theirs) =
            acceptor.wait(waiter, due, |parameters| parameters.index == 0).map_err(|error| {
                match error.kind() {
                    io::ErrorKind::TimedOut => Error::Timeout { at: 0 },
                    _ => Error::io("waiting for the other end")(error),
                }
            })?;
        let shares = ours.shares && theirs.shares && ours.machine == theirs.machine;
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
                if handshake::accept(&mut shared, &self.token).is_ok() {
                    return self.share(shared, &theirs);
                }
            }
        }
        let due = Instant::now() + FURTHER;
        let mut sockets = vec![socket];
        while sockets.len() < usize::from(theirs.connections.max(1)) {
            let further = acceptor
                .wait(waiter, Some(due), |parameters| {
                    parameters.index > 0 && parameters.stream == ours.stream
                })
                .map_err(Error::io("waiting for the further connections of the other end"))?;
            sockets.push(further.0);
        }
        self.move_blocks(sockets, &theirs)
    }

    fn length_with(&self, theirs: &StreamParameters) -> Option<u64> {
        self.length.or(theirs.length)
    }

    fn share(&self, socket: Socket, theirs: &StreamParameters) -> Result<StreamEnd, Error> {
        let (ring, connection) = shm::share(socket, self.end, self.options.geometry)?;
        Ok(StreamEnd::new(ring, self.end, self.length_with(theirs), &self.options, Some(connection)))
    }

    fn move_blocks(&self, sockets: Vec<Socket>, theirs: &StreamParameters) -> Result<StreamEnd, Error> {
        let length = self.length_with(theirs);
        let ring = Arc::new(Ring::create(self.options.geometry)?);
        let congestion = self.options.congestion.as_deref();
        let pumps: Vec<Tcp> =
            sockets.into_iter().map(|socket| Tcp::new(socket, congestion)).collect::<Result<_, _>>()?;
        match self.end {
            End::Sender => outgoing::run(&ring, pumps)?,
            End::Receiver => incoming::run(&ring, pumps)?,
        }
        Ok(StreamEnd::new(ring, self.end, length, &self.options, Some(PeerConnection::Threads)))
    }
}

/// Where two ends of one machine meet: a name that lives in memory only.
fn unix(parameters: &StreamParameters) -> Address {
    Address::Unix(format!("gossamer-stream-{}", text_of(&parameters.stream)))
}

/// A connection to the first address of several that answers.
fn first_of(addresses: &[SocketAddr]) -> Result<(Socket, SocketAddr), Error> {
    let mut last = Error::Refused("an address without a host".into());
    for address in addresses {
        let connected = TcpStream::connect_timeout(address, PATIENCE);
        match connected.and_then(|socket| socket.set_nodelay(true).map(|()| socket)) {
            Ok(socket) => return Ok((Socket::Tcp(socket), *address)),
            Err(error) => last = Error::io(format!("connecting to {address}"))(error),
        }
    }
    Err(last)
}
