//! How sockets travel to other fibers of the process.
#![expect(unsafe_code, reason = "`NoRef` is an unsafe trait; no memory is touched here")]

use crate::NoRef;
use crate::net::split::Duplex;
#[cfg(feature = "tls")]
use crate::net::tls::{TlsAcceptor, TlsConnector, TlsStream};
use crate::net::{
    ReadHalf, TcpListener, TcpStream, UdpSocket, UnixDatagram, UnixListener, UnixStream, WriteHalf,
};
use crate::wire::shape::Shape;

// SAFETY: a socket owns its descriptor and holds no reference. The descriptor has a meaning in this process only, and
// it never leaves the process, since it has no encoding.
unsafe impl NoRef for TcpListener {
    const SHAPE: Shape = Shape::Stays;
}

// SAFETY: as above.
unsafe impl NoRef for TcpStream {
    const SHAPE: Shape = Shape::Stays;
}

// SAFETY: as above.
unsafe impl NoRef for UdpSocket {
    const SHAPE: Shape = Shape::Stays;
}

// SAFETY: as above.
unsafe impl NoRef for UnixListener {
    const SHAPE: Shape = Shape::Stays;
}

// SAFETY: as above.
unsafe impl NoRef for UnixStream {
    const SHAPE: Shape = Shape::Stays;
}

// SAFETY: as above.
unsafe impl NoRef for UnixDatagram {
    const SHAPE: Shape = Shape::Stays;
}

// SAFETY: as above; both halves share the socket by a count.
unsafe impl<S: NoRef + Sync> NoRef for ReadHalf<S> {
    const SHAPE: Shape = Shape::Stays;
}

// SAFETY: as above.
unsafe impl<S: Duplex + NoRef + Sync> NoRef for WriteHalf<S> {
    const SHAPE: Shape = Shape::Stays;
}

// SAFETY: as above; besides a stream it owns the state of its connection, and a counted share of its configuration.
#[cfg(feature = "tls")]
unsafe impl<S: NoRef + std::io::Read + std::io::Write> NoRef for TlsStream<S> {
    const SHAPE: Shape = Shape::Stays;
}

// SAFETY: it is a counted share of its configuration, which threads may share.
#[cfg(feature = "tls")]
unsafe impl NoRef for TlsAcceptor {
    const SHAPE: Shape = Shape::Stays;
}

// SAFETY: as above.
#[cfg(feature = "tls")]
unsafe impl NoRef for TlsConnector {
    const SHAPE: Shape = Shape::Stays;
}
