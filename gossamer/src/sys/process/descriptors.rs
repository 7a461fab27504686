//! Descriptors handed to another process of this machine, over a Unix socket.

use rustix::io::retry_on_intr;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Descriptors per message; the kernel takes 253.
const AT_ONCE: usize = 64;
/// Room for that many, as the kernel lays them out.
const SPACE: usize = rustix::cmsg_space!(ScmRights(AT_ONCE));

/// A descriptor that this process was started with, by its number. It is duplicated, since others know its number.
///
/// # Errors
/// If there is no descriptor with this number.
pub(crate) fn inherited(number: i32) -> io::Result<OwnedFd> {
    if number < 0 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: borrowed only for the call, which reports if the number is no open descriptor.
    let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
    descriptor.try_clone_to_owned()
}

/// Hands over descriptors.
///
/// # Errors
/// If the socket is closed, or cannot carry descriptors.
pub(crate) fn send(socket: impl AsFd, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    for some in descriptors.chunks(AT_ONCE) {
        let mut space = [MaybeUninit::uninit(); SPACE];
        let mut control = SendAncillaryBuffer::new(&mut space);
        control.push(SendAncillaryMessage::ScmRights(some));
        // A byte with each message: there are no messages without one.
        let bytes = [some.len() as u8];
        let bytes = [IoSlice::new(&bytes)];
        retry_on_intr(|| sendmsg(&socket, &bytes, &mut control, SendFlags::NOSIGNAL))?;
    }
    Ok(())
}

/// Takes as many descriptors as were handed over in one call of `send`.
///
/// # Errors
/// If the socket is closed, or something else arrives.
pub(crate) fn receive(socket: impl AsFd, count: usize) -> io::Result<Vec<OwnedFd>> {
    let mut received = Vec::with_capacity(count);
    while received.len() < count {
        let (mut byte, mut space) = ([0], [MaybeUninit::uninit(); SPACE]);
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut bytes = [IoSliceMut::new(&mut byte)];
        // A socket with a time limit is interrupted even if no handler was called.
        let came =
            retry_on_intr(|| recvmsg(&socket, &mut bytes, &mut control, RecvFlags::CMSG_CLOEXEC))?.bytes;
        let before = received.len();
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(some) = message {
                received.extend(some);
            }
        }
        if came == 0 || received.len() == before || received.len() - before != usize::from(byte[0]) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "no descriptors came"));
        }
    }
    if received.len() == count { Ok(received) } else { Err(io::ErrorKind::InvalidData.into()) }
}
