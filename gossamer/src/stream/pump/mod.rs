//! What moves blocks between the rings of two ends, and watches the other end.
//!
//! A pump is the other party of its end's ring: the sender's consumer (`outgoing`), the receiver's producer (`incoming`). What they
//! say to each other is the same for every fabric; the trait `Pump` is what a fabric has to do.
//!
//! ```text
//!   sender ── ring ── outgoing ═══ Bytes, Passed, End ═══▶ incoming ── ring ── receiver
//!                              ◀══ Credit, Confirm ══════
//! ```
//!
//! Over TCP the bytes of a block follow their frame. Over RDMA the receiver's pump reads them from the sender's ring, into the same place of
//! its own, and several blocks are under way at once.
//!
//! A connection by TCP can be sealed (`seal`): then every frame and every block is a record that opens only as the next one of the other
//! end, and ends, credits and failures are as safe as contents.
//!
//! A credit says that blocks have arrived and were given up. Only then does the sender's pump release them: what is sent may be
//! the slot itself, not a copy, and the receiver has a free slot for every block that the sender's ring can hold, so that whoever
//! receives never waits for memory.

pub(crate) mod frame;
pub(crate) mod incoming;
mod order;
pub(crate) mod outgoing;
pub(crate) mod seal;
pub(crate) mod sealed_copies;
pub(crate) mod shm;
pub(crate) mod tcp;
pub(crate) mod verbs;

use crate::stream::Error;
use crate::stream::blocks::flow::{Failure, Flow};
use crate::sys::process::close_on_fork::CloseOnFork;
use crate::sys::threads::policy;
use crate::transport::seal::record::SealError;
use frame::PumpFrame;
use std::io;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

/// One connection between two ends.
#[expect(unsafe_code, reason = "what is sent may be the slot itself")]
pub(crate) trait Pump: Send + Sized + 'static {
    /// Sends a frame that is not a block.
    ///
    /// # Errors
    /// If the other end is gone.
    fn send(&mut self, frame: PumpFrame) -> io::Result<()>;

    /// Sends a frame and the bytes of a block that follow it: not a copy, if that is faster. The receiver has given up what lies before
    /// `given_up` in the stream.
    ///
    /// # Errors
    /// If the other end is gone.
    ///
    /// # Safety
    /// The bytes stay as they are until a credit has arrived for the block.
    unsafe fn send_bytes(&mut self, frame: PumpFrame, bytes: &[u8], given_up: u64) -> io::Result<()>;

    /// Waits for the next frame, or for bytes that were under way.
    ///
    /// # Errors
    /// If the other end is gone, or sends something else.
    fn receive(&mut self) -> Result<Arrival, PumpError>;

    /// Receives the bytes of the frame that came last into their slot, which begins at `place` in the ring, of either end. Whether they are
    /// there already; or else `receive` tells. Those that are under way come in the order of their frames.
    ///
    /// # Errors
    /// If the other end is gone.
    fn receive_bytes(&mut self, place: usize, slot: &mut [u8]) -> Result<bool, PumpError>;

    /// Whether it finds by itself what is not as it was sent: then bytes have no hash.
    fn is_sealed(&self) -> bool;

    /// No more is sent: the other end reads what there is, and then the end.
    fn hang_up(&self);

    /// Takes what still comes until the other end has hung up, too, or for a while. A connection that is closed before that takes
    /// along what its other end has not read yet, as the reason why.
    fn drain(&mut self);

    /// Another handle of it.
    ///
    /// # Errors
    /// If none can be had.
    fn try_clone(&self) -> io::Result<Self>;
}

/// What comes over a connection.
pub(crate) enum Arrival {
    Frame(PumpFrame),
    /// Of those bytes that are under way, the first ones are in their slot.
    Bytes,
}

/// Why nothing comes over a connection any more.
pub(crate) enum PumpError {
    Lost(io::Error),
    /// The stream fails by this.
    Failed(Failure),
}

impl From<io::Error> for PumpError {
    fn from(error: io::Error) -> Self {
        match error.get_ref().and_then(|inner| inner.downcast_ref()) {
            Some(SealError::Forged) => Self::Failed(Failure::Tampered),
            _ => Self::Lost(error),
        }
    }
}

/// Keeps an end's connection to the other one.
pub(crate) enum PeerConnection {
    /// Threads have it, which end with the flow.
    Threads,
    /// A thread watches it, which ends when this is closed.
    Watched { _close_on_fork: CloseOnFork, socket: UnixStream },
}

impl PeerConnection {
    /// Whether it tells the sender of the receiver's confirmation, and says when it has (`Flow::settle`).
    pub(crate) fn settles(&self) -> bool {
        matches!(self, Self::Threads)
    }
}

impl Drop for PeerConnection {
    fn drop(&mut self) {
        if let Self::Watched { socket, .. } = self {
            // It fails if the other end has closed it.
            let _closed = socket.shutdown(std::net::Shutdown::Both);
        }
    }
}

/// Starts a thread of a pump.
pub(crate) fn start(body: impl FnOnce() + Send + 'static) -> Result<(), Error> {
    thread::Builder::new()
        .name("gossamer-pump".into())
        .spawn(move || {
            // Who opens a stream may be pinned. If this stays there, it is only slower.
            let _as_it_is = policy::run_as_first_thread();
            body();
        })
        .map(drop)
        .map_err(Error::io("a thread for a pump"))
}

/// How long a reason may take to arrive, on another connection or behind other frames.
const REASON: Duration = Duration::from_millis(300);

/// A connection has failed.
pub(crate) fn lost(flow: &Flow, error: &io::Error) {
    if error.kind() == io::ErrorKind::InvalidData {
        return flow.fail(Failure::Protocol);
    }
    if flow.failure().is_none() {
        thread::sleep(REASON);
    }
    flow.fail(Failure::PeerLost);
}
