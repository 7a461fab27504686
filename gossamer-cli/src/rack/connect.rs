//! Connections of clients to daemons.

use crate::exit::{Failure, UNREACHABLE};
use crate::rack::config::{Machine, Rack};
use crate::rack::protocol::{Hello, PROTOCOL, Request};
use crate::rack::silence::within;
use crate::secure::channel::{self, PATIENCE, Reader, Writer};
use crate::secure::codec::{decode, encode};
use crate::secure::key::Key;
use crate::secure::knock::{KnockError, knock};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use tokio::net::TcpStream;

/// A connection to a daemon that knows the key.
#[derive(Debug)]
pub struct Connection {
    /// Receives what the daemon says.
    pub reader: Reader,
    /// Sends what the client says.
    pub writer: Writer,
    /// What the daemon says about itself.
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
        let Machine { name, address, .. } = machine;
        let failure =
            |what: String| Failure::new(UNREACHABLE, format!("cannot reach {name} ({address}): {what}"));
        let opened = within(PATIENCE, knock(|| open(address, key))).await;
        let opened = opened.unwrap_or_else(|| Err(KnockError::Connect(ErrorKind::TimedOut.into())));
        let connection = opened.map_err(|error| failure(text(error, rack)))?;
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

/// What is wrong, and what to do.
fn text(error: KnockError, rack: &Rack) -> String {
    match error {
        KnockError::Connect(error) if error.kind() == ErrorKind::ConnectionRefused => {
            format!("{error}; does `gossamer daemon` run there?")
        }
        KnockError::Connect(error) if error.kind() == ErrorKind::TimedOut => {
            format!("no answer in {} s", PATIENCE.as_secs())
        }
        KnockError::Connect(error) => error.to_string(),
        KnockError::Handshake(error) => format!(
            "its daemon does not know the key in {}, or is none ({error}); all machines need the same key file",
            rack.key.display()
        ),
    }
}

async fn open(address: &str, key: &Key) -> Result<Connection, KnockError> {
    let stream = TcpStream::connect(address).await.map_err(KnockError::Connect)?;
    let address = stream.peer_addr().map_err(KnockError::Connect)?;
    let (mut reader, mut writer) = channel::initiate(stream, key).await.map_err(KnockError::Handshake)?;
    let hello = encode(&Hello::own()).map_err(KnockError::Handshake)?;
    writer.send(&hello).await.map_err(KnockError::Handshake)?;
    let hello = match reader.receive().await.map_err(KnockError::Handshake)? {
        Some(hello) => decode(&hello).map_err(KnockError::Handshake)?,
        None => return Err(KnockError::Handshake(ErrorKind::UnexpectedEof.into())),
    };
    Ok(Connection { reader, writer, hello, address })
}
