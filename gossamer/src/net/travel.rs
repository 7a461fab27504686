//! Sockets travel to other fibers of the process.
#![expect(unsafe_code, reason = "`NoRef` is an unsafe trait; no memory is touched here")]

use crate::NoRef;
use crate::net::split::Duplex;
#[cfg(feature = "tls")]
use crate::net::tls::{TlsAcceptor, TlsConnector, TlsStream};
use crate::net::{
    ReadHalf, TcpListener, TcpStream, UdpSocket, UnixDatagram, UnixListener, UnixStream, WriteHalf,
};
use crate::wire::shape::Shape;

// SAFETY: a socket owns its descriptor and holds no reference. The descriptor means something in this process only;
// since nothing is said of how it is encoded, it never leaves it.
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

// SAFETY: as above; both halves count who holds the socket.
unsafe impl<S: NoRef + Sync> NoRef for ReadHalf<S> {
    const SHAPE: Shape = Shape::Stays;
}

// SAFETY: as above.
unsafe impl<S: Duplex + NoRef + Sync> NoRef for WriteHalf<S> {
    const SHAPE: Shape = Shape::Stays;
}

// SAFETY: as above; beside a stream it owns the state of its connection, and counts who holds its configuration.
#[cfg(feature = "tls")]
unsafe impl<S: NoRef + std::io::Read + std::io::Write> NoRef for TlsStream<S> {
    const SHAPE: Shape = Shape::Stays;
}

// SAFETY: it counts who holds its configuration, which threads may share.
#[cfg(feature = "tls")]
unsafe impl NoRef for TlsAcceptor {
    const SHAPE: Shape = Shape::Stays;
}

// SAFETY: as above.
#[cfg(feature = "tls")]
unsafe impl NoRef for TlsConnector {
    const SHAPE: Shape = Shape::Stays;
}
