//! Sockets travel to other fibers of the process.
#![expect(unsafe_code, reason = "`NoRef` is an unsafe trait; no memory is touched here")]

use crate::NoRef;
use crate::net::{TcpListener, TcpStream, UdpSocket};

// SAFETY: a socket owns its descriptor and holds no reference. The descriptor means something in this process only;
// so far no other process takes part in a runtime. One that does must refuse sockets when it encodes arguments.
unsafe impl NoRef for TcpListener {}

// SAFETY: as above.
unsafe impl NoRef for TcpStream {}

// SAFETY: as above.
unsafe impl NoRef for UdpSocket {}
