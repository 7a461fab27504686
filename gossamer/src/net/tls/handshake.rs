//! [`TlsAcceptor`] and [`TlsConnector`]: starting TLS on a connection.

use crate::net::tls::stream::{TlsSide, TlsStream};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection, StreamOwned};
use std::fmt;
use std::io::{self, Read, Write};
use std::sync::Arc;

/// Starts TLS as a server. It is cheap to clone, and may travel with a fiber.
#[derive(Clone)]
pub struct TlsAcceptor(Arc<ServerConfig>);

impl TlsAcceptor {
    /// What begins TLS with this configuration.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    #[doc = configured!()]
    /// let (near, far) = UnixStream::pair()?;
    /// let acceptor = TlsAcceptor::new(Arc::new(server_config)); // of a certificate and its key
    /// drop(near); // a client that goes away at once
    /// assert_eq!(acceptor.accept(far).unwrap_err().kind(), std::io::ErrorKind::UnexpectedEof);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    pub fn new(config: Arc<ServerConfig>) -> Self {
        Self(config)
    }

    /// Waits for the handshake with the client. Set a time limit on the stream first, so that a silent client cannot
    /// hold it up.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    #[doc = configured!()]
    /// let (near, far) = UnixStream::pair()?;
    /// let acceptor = TlsAcceptor::new(Arc::new(server_config));
    /// let connector = TlsConnector::new(Arc::new(client_config));
    /// gossamer::scope(|s| {
    ///     let client = s.spawn(|| connector.connect("localhost", near));
    ///     far.set_read_timeout(Some(std::time::Duration::from_secs(10))).expect("a time");
    ///     assert!(acceptor.accept(far).is_ok()); // or `TimedOut`, for a silent client
    ///     assert!(client.join().is_ok());
    /// });
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// `InvalidData`, with a [`rustls::Error`], if the client does not speak TLS, or both ends have no common
    /// parameters; `UnexpectedEof` if it closes; or an error of the stream.
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

/// Starts TLS as a client. It is cheap to clone, and may travel with a fiber; clones resume each other's sessions.
#[derive(Clone)]
pub struct TlsConnector(Arc<ClientConfig>);

impl TlsConnector {
    /// What begins TLS with this configuration.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    #[doc = configured!()]
    /// let (near, far) = UnixStream::pair()?;
    /// let connector = TlsConnector::new(Arc::new(client_config)); // of the authorities that it trusts
    /// let error = connector.connect("not a name", near).unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    pub fn new(config: Arc<ClientConfig>) -> Self {
        Self(config)
    }

    /// Waits for the handshake with the server, which has to prove that it is `name`.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    #[doc = configured!()]
    /// let (near, far) = UnixStream::pair()?;
    /// let acceptor = TlsAcceptor::new(Arc::new(server_config));
    /// let connector = TlsConnector::new(Arc::new(client_config));
    /// gossamer::scope(|s| {
    ///     let server = s.spawn(|| acceptor.accept(far));
    ///     let error = connector.connect("example.org", near).unwrap_err();
    ///     assert_eq!(error.kind(), std::io::ErrorKind::InvalidData); // it is "localhost"
    ///     assert!(server.join().is_err());
    /// });
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// `InvalidInput` if `name` is not a valid server name; `InvalidData`, with a [`rustls::Error`], if the
    /// certificate is not valid for that name, or both ends have no common parameters; `UnexpectedEof` if it closes;
    /// or an error of the stream.
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
