//! Connections of clients to daemons.

use crate::exit::{Failure, UNREACHABLE};
use crate::rack::config::{Machine, Rack};
use crate::rack::protocol::{HANDSHAKE, Hello, PROTOCOL, Request};
use crate::secure::channel::{self, Reader, Writer};
use crate::secure::codec::{decode, encode};
use crate::secure::key::Key;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

/// How often a connection is tried that ends before the other side has said who it is.
const TRIES: u32 = 7;
/// How long is waited before the second try; before each further one, twice as long.
const PAUSE: Duration = Duration::from_millis(20);

/// A connection to a daemon that knows the key.
#[derive(Debug)]
pub struct Connection {
    /// What comes from it.
    pub reader: Reader,
    /// What goes to it.
    pub writer: Writer,
    /// What it says of itself.
    pub hello: Hello,
    /// Where it is.
    pub address: SocketAddr,
}

impl Connection {
    /// Connects to a machine's daemon.
    ///
    /// # Errors
    /// If it cannot be reached, has another key, or is of another version.
    pub async fn open(machine: &Machine, rack: &Rack, key: &Key) -> Result<Self, Failure> {
        let Machine { name, address } = machine;
        let failure =
            |what: String| Failure::new(UNREACHABLE, format!("cannot reach {name} ({address}): {what}"));
        let opened = match timeout(HANDSHAKE, open_at_last(address, key)).await {
            Ok(opened) => opened,
            Err(_) => Err(ConnectError::Connect(ErrorKind::TimedOut.into())),
        };
        let connection = opened.map_err(|trouble| failure(trouble.text(rack)))?;
        let hello = &connection.hello;
        if hello.protocol != PROTOCOL {
            return Err(failure(format!(
                "its daemon is gossamer {} (protocol {}), and this is {} (protocol {PROTOCOL}); install the same \
                 version on all machines",
                hello.version,
                hello.protocol,
                env!("CARGO_PKG_VERSION"),
            )));
        }
        Ok(connection)
    }

    /// Sends a request.
    ///
    /// # Errors
    /// Of the connection.
    pub async fn send(&mut self, request: &Request) -> io::Result<()> {
        self.writer.send(&encode(request)?).await
    }
}

/// What can go wrong.
enum ConnectError {
    Connect(io::Error),
    Handshake(io::Error),
}

impl ConnectError {
    fn text(self, rack: &Rack) -> String {
        match self {
            Self::Connect(error) if error.kind() == ErrorKind::ConnectionRefused => {
                format!("{error}; does `gossamer daemon` run there?")
            }
            Self::Connect(error) if error.kind() == ErrorKind::TimedOut => {
                format!("no answer in {} s", HANDSHAKE.as_secs())
            }
            Self::Connect(error) => error.to_string(),
            Self::Handshake(error) => format!(
                "its daemon does not know the key in {}, or is none ({error}); all machines need the same key file",
                rack.key.display()
            ),
        }
    }
}

/// Opens a connection. A daemon at which many strangers knock turns away whoever is not through at once, so an end of the handshake is no
/// answer yet.
async fn open_at_last(address: &str, key: &Key) -> Result<Connection, ConnectError> {
    for tried in 0..TRIES - 1 {
        match open(address, key).await {
            Err(ConnectError::Handshake(error)) if is_end(&error) => sleep(PAUSE * 2_u32.pow(tried)).await,
            opened => return opened,
        }
    }
    open(address, key).await
}

fn is_end(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::UnexpectedEof
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::BrokenPipe
    )
}

async fn open(address: &str, key: &Key) -> Result<Connection, ConnectError> {
    let stream = TcpStream::connect(address).await.map_err(ConnectError::Connect)?;
    let address = stream.peer_addr().map_err(ConnectError::Connect)?;
    let (mut reader, mut writer) = channel::initiate(stream, key).await.map_err(ConnectError::Handshake)?;
    let hello = encode(&Hello::own()).map_err(ConnectError::Handshake)?;
    writer.send(&hello).await.map_err(ConnectError::Handshake)?;
    let hello = match reader.receive().await.map_err(ConnectError::Handshake)? {
        Some(hello) => decode(&hello).map_err(ConnectError::Handshake)?,
        None => return Err(ConnectError::Handshake(ErrorKind::UnexpectedEof.into())),
    };
    Ok(Connection { reader, writer, hello, address })
}
