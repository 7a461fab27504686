//! One end of a connection: frames that wait for the socket to take them, and bytes that wait to be whole frames.

use crate::fabric::tcp::frame::{Frame, decode, encode_fragment, encode_write};
use crate::fabric::{Busy, FRAGMENT_BYTES, Fabric, Fragment, Slots};
use crate::wire::refusal::Malformed;
use crate::wire::word::{Word, bytes_of, bytes_of_mut};
use std::cell::{Cell, RefCell};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsRawFd, RawFd};
use std::rc::Rc;

/// Words of a connection's buffer for what arrives.
const BUFFER: usize = 32 * 1024;
/// Bytes that may wait before a fragment.
const MUCH: usize = 4 * FRAGMENT_BYTES;

/// One end of a connection. Used by one worker.
#[derive(Debug)]
pub(crate) struct Connection {
    socket: TcpStream,
    out: RefCell<Vec<u64>>,
    /// Bytes of `out` that the socket has taken.
    sent: Cell<usize>,
    arrived: RefCell<Box<[u64]>>,
    /// Bytes of `arrived` in use.
    filled: Cell<usize>,
}

impl Connection {
    /// # Errors
    /// If the socket cannot be had not to block.
    pub(crate) fn new(socket: TcpStream) -> io::Result<Rc<Self>> {
        socket.set_nonblocking(true)?;
        socket.set_nodelay(true)?;
        Ok(Rc::new(Self {
            socket,
            out: RefCell::default(),
            sent: Cell::new(0),
            arrived: RefCell::new(vec![0; BUFFER].into()),
            filled: Cell::new(0),
        }))
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// Sends what was written, as far as the socket takes it.
    ///
    /// # Errors
    /// If the connection is lost.
    #[inline]
    pub(crate) fn flush(&self) -> io::Result<()> {
        let mut out = self.out.borrow_mut();
        if out.is_empty() {
            return Ok(());
        }
        let bytes = bytes_of(&out);
        while self.sent.get() < bytes.len() {
            match (&self.socket).write(&bytes[self.sent.get()..]) {
                Ok(taken) => self.sent.set(self.sent.get() + taken),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        out.clear();
        self.sent.set(0);
        Ok(())
    }

    /// Bytes that wait for the socket to take them.
    pub(crate) fn unsent(&self) -> usize {
        self.out.borrow().len() * size_of::<u64>() - self.sent.get()
    }

    /// Reads what has arrived, once, and hands over its frames. Whether anything had.
    ///
    /// # Errors
    /// If the connection is lost, or something else than frames arrives.
    #[inline]
    pub(super) fn receive(
        &self,
        mut land: impl FnMut(Frame<'_>) -> Result<(), Malformed>,
    ) -> io::Result<bool> {
        let refused = |malformed| io::Error::new(ErrorKind::InvalidData, malformed);
        let mut arrived = self.arrived.borrow_mut();
        let room = &mut bytes_of_mut(&mut arrived)[self.filled.get()..];
        let count = match (&self.socket).read(room) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => count,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                return Ok(false);
            }
            Err(error) => return Err(error),
        };
        let filled = self.filled.get() + count;
        let words = &arrived[..filled / size_of::<u64>()];
        let mut at = 0;
        while let Some((frame, length)) = decode(&words[at..]).map_err(refused)? {
            land(frame).map_err(refused)?;
            at += length;
        }
        let taken = at * size_of::<u64>();
        bytes_of_mut(&mut arrived).copy_within(taken..filled, 0);
        self.filled.set(filled - taken);
        Ok(true)
    }
}

/// The way to the slots of one lane of a worker of another node.
#[derive(Clone, Debug)]
pub(crate) struct TcpWriter {
    pub(crate) connection: Rc<Connection>,
    pub(crate) worker: u32,
    pub(crate) slots: Slots,
}

impl Fabric for TcpWriter {
    #[inline]
    // SAFETY: no slot is touched here; the contract holds for the slots of the peer, which lands what it gets.
    unsafe fn write(&self, slot: usize, header: u64, body: &[Word]) {
        let mut out = self.connection.out.borrow_mut();
        // SAFETY: W6: the caller's.
        unsafe { encode_write(&mut out, (self.worker, self.slots), slot, header, body) };
    }

    #[inline]
    fn prepare(&self, _slot: usize, _words: usize) {}

    fn send(&self, fragment: Fragment<'_>) -> Result<(), Busy> {
        if !self.has_room() {
            return Err(Busy);
        }
        encode_fragment(&mut self.connection.out.borrow_mut(), self.worker, fragment);
        Ok(())
    }

    fn has_room(&self) -> bool {
        self.connection.unsent() <= MUCH
    }
}
