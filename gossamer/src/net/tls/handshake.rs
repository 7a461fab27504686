//! [`TlsAcceptor`] and [`TlsConnector`]: what begins TLS on a connection.

use crate::net::tls::stream::{TlsSide, TlsStream};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection, StreamOwned};
use std::fmt;
use std::io::{self, Read, Write};
use std::sync::Arc;

/// Begins TLS as a server. It is cheap to clone, and a fiber may take it along.
#[derive(Clone)]
pub struct TlsAcceptor(Arc<ServerConfig>);

impl TlsAcceptor {
    /// What begins TLS with this configuration.
    pub fn new(config: Arc<ServerConfig>) -> Self {
        Self(config)
    }

    /// Waits until the client and this end have agreed. Set a time limit on the stream first, so that a client that says nothing is given
    /// up.
    ///
    /// # Errors
    /// `InvalidData`, with a [`rustls::Error`], if the client does not speak TLS or there is nothing that both want; `UnexpectedEof` if it
    /// closes; or what the stream gives.
    ///
    /// # Panics
    /// As the stream's reads do: in a delegated closure or a callback, which cannot wait.
    pub fn accept<S: Read + Write>(&self, stream: S) -> io::Result<TlsStream<S>> {
        let connection = ServerConnection::new(Arc::clone(&self.0)).map_err(io::Error::other)?;
        TlsStream::after_handshake(TlsSide::Server(StreamOwned::new(connection, stream)))
    }
}

impl fmt::Debug for TlsAcceptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsAcceptor").finish_non_exhaustive()
    }
}

/// Begins TLS as a client. It is cheap to clone, and a fiber may take it along; who shares one resumes sessions of the others.
#[derive(Clone)]
pub struct TlsConnector(Arc<ClientConfig>);

impl TlsConnector {
    /// What begins TLS with this configuration.
    pub fn new(config: Arc<ClientConfig>) -> Self {
        Self(config)
    }

    /// Waits until the server, which has to prove that it is `name`, and this end have agreed.
    ///
    /// # Errors
    /// `InvalidInput` if `name` is no name of a server; `InvalidData`, with a [`rustls::Error`], if its certificate is not good for that
    /// name or there is nothing that both want; `UnexpectedEof` if it closes; or what the stream gives.
    ///
    /// # Panics
    /// As the stream's reads do: in a delegated closure or a callback, which cannot wait.
    pub fn connect<S: Read + Write>(&self, name: &str, stream: S) -> io::Result<TlsStream<S>> {
        let named = ServerName::try_from(name.to_owned());
        let named = named
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, format!("{name:?}: {error}")))?;
        let connection = ClientConnection::new(Arc::clone(&self.0), named).map_err(io::Error::other)?;
        TlsStream::after_handshake(TlsSide::Client(StreamOwned::new(connection, stream)))
    }
}

impl fmt::Debug for TlsConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsConnector").finish_non_exhaustive()
    }
}
