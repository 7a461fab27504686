//! What host and guardian tell each other, over a socket of their own: first the order to start, with the open files of
//! the node; then signals for the node, a byte each, and reports about it.

use crate::node::ending::OutOfMemory;
use crate::node::invocation::Invocation;
use crate::secure::codec::{decode, encode};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};
use serde::{Deserialize, Serialize};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// The most files that go with an order.
const FILES: usize = 5;

/// What a guardian is to start, besides the program.
#[derive(Debug, Serialize, Deserialize)]
pub struct NodeOrder {
    /// Variables of the node's environment.
    pub variables: Vec<(String, String)>,
    has_input: bool,
    has_listener: bool,
}

/// The open files that a node gets.
#[derive(Debug)]
pub struct NodeFiles {
    /// Its standard input, if it is node 0.
    pub input: Option<OwnedFd>,
    /// Its standard output.
    pub out: OwnedFd,
    /// Its standard error.
    pub err: OwnedFd,
    /// Where it writes its last words.
    pub report: OwnedFd,
    /// The socket on which it listens already.
    pub listener: Option<OwnedFd>,
}

/// What a guardian reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum News {
    /// The node runs, as this process.
    Started(i32),
    /// The node could not be started: the number of the error.
    NotStarted(i32),
    /// The node has ended.
    Ended {
        /// Its status, as the kernel gives it.
        status: i32,
        /// What is known about it if it was killed because memory ran out.
        out_of_memory: Option<OutOfMemory>,
    },
}

impl NodeOrder {
    /// For a node with these variables and files.
    #[must_use]
    pub fn new(variables: Vec<(String, String)>, files: &NodeFiles) -> Self {
        Self { variables, has_input: files.input.is_some(), has_listener: files.listener.is_some() }
    }
}

impl News {
    /// The encoding, after its length.
    #[must_use]
    pub fn to_bytes(self) -> Vec<u8> {
        let body = encode(&self).unwrap_or_default();
        // A report is far shorter.
        let mut bytes = vec![u8::try_from(body.len()).unwrap_or(u8::MAX)];
        bytes.extend(body);
        bytes
    }
}

/// Sends an order to a guardian that has received nothing yet.
///
/// # Errors
/// If the guardian is gone, or does not take it.
pub fn send_order(
    mut socket: &UnixStream,
    program: &Invocation,
    order: &NodeOrder,
    files: &NodeFiles,
) -> io::Result<()> {
    let body = encode(&(program, order))?;
    let length = u32::try_from(body.len()).map_err(|_| ErrorKind::InvalidInput)?.to_le_bytes();
    let NodeFiles { input, out, err, report, listener } = files;
    let mut open: Vec<BorrowedFd<'_>> = vec![out.as_fd(), err.as_fd(), report.as_fd()];
    open.extend([input, listener].into_iter().flatten().map(AsFd::as_fd));
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&open));
    // The socket is empty, and takes the order as a whole.
    rustix::net::sendmsg(socket, &[IoSlice::new(&length)], &mut control, SendFlags::NOSIGNAL)?;
    socket.write_all(&body)
}

/// Receives the order.
///
/// # Errors
/// If the host is gone.
pub fn receive_order(mut socket: &UnixStream) -> io::Result<(Invocation, NodeOrder, NodeFiles)> {
    let mut length = [0; 4];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [IoSliceMut::new(&mut length)];
    let received = rustix::net::recvmsg(socket, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC)?;
    if received.bytes != length.len() {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    let mut files = control.drain().flat_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => files.collect::<Vec<OwnedFd>>(),
        _ => Vec::new(),
    });
    let mut body = vec![0; usize::try_from(u32::from_le_bytes(length)).unwrap_or(0)];
    socket.read_exact(&mut body)?;
    let (program, order): (Invocation, NodeOrder) = decode(&body)?;
    let mut file = || files.next().ok_or(ErrorKind::InvalidData);
    let (out, err, report) = (file()?, file()?, file()?);
    let input = order.has_input.then(&mut file).transpose()?;
    let listener = order.has_listener.then(&mut file).transpose()?;
    Ok((program, order, NodeFiles { input, out, err, report, listener }))
}
