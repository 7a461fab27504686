//! Connections of clients to daemons.

use crate::channel::{self, Reader, Writer};
use crate::config::{Machine, Rack};
use crate::exit::{Failure, UNREACHABLE};
use crate::key::Key;
use crate::protocol::{HANDSHAKE, Hello, PROTOCOL, Request, decode, encode};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

/// How often a connection is tried that ends before the other side has said who it is, and how long is waited in between.
const TRIES: usize = 4;
const PAUSE: Duration = Duration::from_millis(50);

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
            Err(_) => Err(Trouble::Connect(ErrorKind::TimedOut.into())),
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
enum Trouble {
    Connect(io::Error),
    Handshake(io::Error),
}

impl Trouble {
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
async fn open_at_last(address: &str, key: &Key) -> Result<Connection, Trouble> {
    for _ in 1..TRIES {
        match open(address, key).await {
            Err(Trouble::Handshake(error)) if is_end(&error) => sleep(PAUSE).await,
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

async fn open(address: &str, key: &Key) -> Result<Connection, Trouble> {
    let stream = TcpStream::connect(address).await.map_err(Trouble::Connect)?;
    let address = stream.peer_addr().map_err(Trouble::Connect)?;
    let (mut reader, mut writer) = channel::initiate(stream, key).await.map_err(Trouble::Handshake)?;
    let hello = encode(&Hello::own()).map_err(Trouble::Handshake)?;
    writer.send(&hello).await.map_err(Trouble::Handshake)?;
    let hello = match reader.receive().await.map_err(Trouble::Handshake)? {
        Some(hello) => decode(&hello).map_err(Trouble::Handshake)?,
        None => return Err(Trouble::Handshake(ErrorKind::UnexpectedEof.into())),
    };
    Ok(Connection { reader, writer, hello, address })
}
