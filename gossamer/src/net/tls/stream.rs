//! [`TlsStream`]: an encrypted connection.

use rustls::pki_types::CertificateDer;
use rustls::{ClientConnection, CommonState, HandshakeKind, ServerConnection, StreamOwned};
use std::fmt;
use std::io::{self, BufRead, IoSlice, Read, Write};

/// A connection under TLS, over a stream of any kind: what [`TlsAcceptor`](crate::net::tls::TlsAcceptor) and
/// [`TlsConnector`](crate::net::tls::TlsConnector) make.
///
/// Reading and writing both change its state, so one fiber does both. Writes are sent at once, in records of up to 16
/// KiB: use a [`BufWriter`](std::io::BufWriter) to gather small writes.
///
/// The end: [`shutdown`](Self::shutdown) tells the peer that no more data will come; the peer then reads 0 bytes. If
/// a connection ends without that, reading fails with `UnexpectedEof`, since somebody on the way may have cut it.
/// Dropping a stream does not notify the peer.
pub struct TlsStream<S: Read + Write>(TlsSide<S>);

pub(super) enum TlsSide<S: Read + Write> {
    Client(StreamOwned<ClientConnection, S>),
    Server(StreamOwned<ServerConnection, S>),
}

/// Runs the same code for either side.
macro_rules! of_either {
    ($side:expr, $stream:ident => $call:expr) => {
        match $side {
            TlsSide::Client($stream) => $call,
            TlsSide::Server($stream) => $call,
        }
    };
}

impl<S: Read + Write> TlsStream<S> {
    /// # Errors
    /// Those of `TlsAcceptor::accept`.
    pub(super) fn after_handshake(mut side: TlsSide<S>) -> io::Result<Self> {
        of_either!(&mut side, stream => while stream.conn.is_handshaking() {
            if stream.conn.complete_io(&mut stream.sock)? == (0, 0) {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        });
        // What the handshake still has to send.
        of_either!(&mut side, stream => while stream.conn.wants_write() {
            stream.conn.write_tls(&mut stream.sock)?;
        });
        Ok(Self(side))
    }

    fn state(&self) -> &CommonState {
        match &self.0 {
            TlsSide::Client(stream) => &stream.conn,
            TlsSide::Server(stream) => &stream.conn,
        }
    }

    /// The stream below.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    #[doc = configured!()]
    #[doc = connected!()]
    /// let limit = Some(std::time::Duration::from_secs(10));
    /// server.get_ref().set_read_timeout(limit)?;
    /// assert_eq!(server.get_ref().read_timeout()?, limit);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    pub fn get_ref(&self) -> &S {
        of_either!(&self.0, stream => &stream.sock)
    }

    /// The underlying stream. Data that you read from it or write to it directly is lost to TLS.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    #[doc = configured!()]
    #[doc = connected!()]
    /// let stream: &mut UnixStream = server.get_mut();
    /// stream.set_write_timeout(Some(std::time::Duration::from_secs(10)))?;
    /// assert!(server.get_ref().write_timeout()?.is_some());
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    pub fn get_mut(&mut self) -> &mut S {
        of_either!(&mut self.0, stream => &mut stream.sock)
    }

    /// The protocol that both ends have agreed on (ALPN), for example `b"h2"`; `None` if they have not negotiated
    /// one.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    #[doc = configured!()]
    #[doc = connected!()]
    /// // Both have offered `h2`.
    /// assert_eq!(client.alpn_protocol(), Some(&b"h2"[..]));
    /// assert_eq!(server.alpn_protocol(), client.alpn_protocol());
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    pub fn alpn_protocol(&self) -> Option<&[u8]> {
        self.state().alpn_protocol()
    }

    /// Whether the handshake resumed the session of an earlier connection.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    #[doc = configured!()]
    #[doc = connected!()]
    /// assert!(!client.is_resumed()); // the first one of its connector
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    pub fn is_resumed(&self) -> bool {
        self.state().handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// The version of TLS.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    #[doc = configured!()]
    #[doc = connected!()]
    /// assert_eq!(client.protocol_version(), Some(rustls::ProtocolVersion::TLSv1_3));
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    pub fn protocol_version(&self) -> Option<rustls::ProtocolVersion> {
        self.state().protocol_version()
    }

    /// The certificate chain of the peer, its own certificate first; `None` if none was requested.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    #[doc = configured!()]
    #[doc = connected!()]
    /// assert_eq!(client.peer_certificates().map(<[_]>::len), Some(1));
    /// assert!(server.peer_certificates().is_none()); // it has asked for none
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    pub fn peer_certificates(&self) -> Option<&[CertificateDer<'static>]> {
        self.state().peer_certificates()
    }

    /// The server name that the client asked for; `None` if it sent none, and on the client.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    #[doc = configured!()]
    #[doc = connected!()]
    /// assert_eq!(server.server_name(), Some("localhost"));
    /// assert_eq!(client.server_name(), None);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    pub fn server_name(&self) -> Option<&str> {
        match &self.0 {
            TlsSide::Client(_) => None,
            TlsSide::Server(stream) => stream.conn.server_name(),
        }
    }

    /// Tells the peer that no more data will come, and leaves the underlying stream open.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    #[doc = configured!()]
    #[doc = connected!()]
    /// use std::io::{Read, Write};
    /// client.write_all(b"all of it")?;
    /// client.shutdown()?;
    /// let mut text = String::new();
    /// server.read_to_string(&mut text)?; // without the end, `UnexpectedEof`
    /// assert_eq!(text, "all of it");
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Those of the stream.
    pub fn shutdown(&mut self) -> io::Result<()> {
        of_either!(&mut self.0, stream => {
            stream.conn.send_close_notify();
            while stream.conn.wants_write() {
                stream.conn.write_tls(&mut stream.sock)?;
            }
            stream.sock.flush()
        })
    }
}

impl<S: Read + Write> Read for TlsStream<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        of_either!(&mut self.0, stream => stream.read(buffer))
    }
}

impl<S: Read + Write> BufRead for TlsStream<S> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        of_either!(&mut self.0, stream => stream.fill_buf())
    }

    fn consume(&mut self, bytes: usize) {
        of_either!(&mut self.0, stream => stream.consume(bytes));
    }
}

impl<S: Read + Write> Write for TlsStream<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        of_either!(&mut self.0, stream => stream.write(bytes))
    }

    fn write_vectored(&mut self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        of_either!(&mut self.0, stream => stream.write_vectored(buffers))
    }

    fn flush(&mut self) -> io::Result<()> {
        of_either!(&mut self.0, stream => stream.flush())
    }
}

impl<S: Read + Write + fmt::Debug> fmt::Debug for TlsStream<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TlsStream").field(self.get_ref()).finish()
    }
}
