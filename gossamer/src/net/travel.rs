//! Sockets travel to other fibers of the process.
#![expect(unsafe_code, reason = "`NoRef` is an unsafe trait; no memory is touched here")]

use crate::NoRef;
use crate::net::{TcpListener, TcpStream, UdpSocket};

// SAFETY: a socket owns its descriptor and holds no reference. The descriptor means something in this process only;
// since nothing is said of how it is encoded, it never leaves it.
unsafe impl NoRef for TcpListener {}

// SAFETY: as above.
unsafe impl NoRef for TcpStream {}

// SAFETY: as above.
unsafe impl NoRef for UdpSocket {}
