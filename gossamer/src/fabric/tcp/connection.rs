//! One end of a connection: a socket, what waits to be sent on it, and what has arrived on it.

use crate::fabric::tcp::frame::Frame;
use crate::fabric::tcp::incoming::IncomingRecords;
use crate::fabric::tcp::outgoing::OutgoingRecords;
use crate::fabric::{Busy, FRAGMENT_BYTES, Fabric, Fragment, Slots};
use crate::transport::records::Records;
use crate::wire::refusal::Malformed;
use crate::wire::word::Word;
use std::cell::RefCell;
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsRawFd, RawFd};
use std::rc::Rc;

/// Bytes that may wait before a fragment.
const MUCH: usize = 4 * FRAGMENT_BYTES;

/// A socket that joins workers, and what both ends make records with.
pub(crate) type Proved = (TcpStream, Records);

/// One end of a connection. Used by one worker.
pub(crate) struct Connection {
    socket: TcpStream,
    outgoing: RefCell<OutgoingRecords>,
    incoming: RefCell<IncomingRecords>,
}

impl Connection {
    /// # Errors
    /// If the socket cannot be made non-blocking.
    pub(crate) fn new((socket, (writer, reader)): Proved) -> io::Result<Rc<Self>> {
        socket.set_nonblocking(true)?;
        socket.set_nodelay(true)?;
        let (outgoing, incoming) = (OutgoingRecords::new(writer), IncomingRecords::new(reader));
        Ok(Rc::new(Self { socket, outgoing: RefCell::new(outgoing), incoming: RefCell::new(incoming) }))
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
        self.outgoing.borrow_mut().flush(&self.socket)
    }

    /// Bytes that wait for the socket to take them.
    #[inline]
    pub(crate) fn unsent(&self) -> usize {
        self.outgoing.borrow().unsent()
    }

    /// Reads what has arrived, once, and hands over its frames. Returns whether anything had.
    ///
    /// # Errors
    /// If the connection is lost, or something other than the records of the other end arrives.
    #[inline]
    pub(super) fn receive(&self, land: impl FnMut(Frame<'_>) -> Result<(), Malformed>) -> io::Result<bool> {
        self.incoming.borrow_mut().receive(&self.socket, land)
    }
}

/// The way to the slots of one lane of a worker of another node.
#[derive(Clone)]
pub(crate) struct TcpWriter {
    pub(crate) connection: Rc<Connection>,
    pub(crate) worker: u32,
    pub(crate) slots: Slots,
}

impl Fabric for TcpWriter {
    #[inline]
    // SAFETY: this touches no slot; the contract holds for the slots of the peer, which lands what it receives.
    unsafe fn write(&self, slot: usize, header: u64, body: &[Word]) {
        let mut outgoing = self.connection.outgoing.borrow_mut();
        // SAFETY: W6: guaranteed by the caller.
        unsafe { outgoing.write((self.worker, self.slots), slot, header, body) };
    }

    #[inline]
    fn prepare(&self, _slot: usize, _words: usize) {}

    fn send(&self, fragment: Fragment<'_>) -> Result<(), Busy> {
        if !self.has_room() {
            return Err(Busy);
        }
        self.connection.outgoing.borrow_mut().send(self.worker, fragment);
        Ok(())
    }

    fn has_room(&self) -> bool {
        self.connection.unsent() <= MUCH
    }
}
