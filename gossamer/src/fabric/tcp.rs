//! Lane memory of a node on another machine: writes go over a TCP connection, and whoever reads it lands them.
//!
//! ```text
//! frame    worker (32) | what (8) | slot (8) | mark (16)      the worker whose slots are written, and which of them
//!          header, then as many words of body as it says      as they land
//! piece    worker (32) | 2 (8) | align (8) | mark (16)        of a part of a value that is too large for a slot
//!          bytes (64), ticket (64), bytes of the part (64), then the bytes, in whole words
//! ```
//!
//! One connection per worker and remote node carries the frames of all its lanes there. A connection keeps its order, and the
//! reader lands a header behind its body, so the contract holds (W1, W2); frames wait in memory while the socket takes no more,
//! and lanes have no more under way than slots (W3).

use crate::fabric::{FAR_SLOTS, Fabric, SlotMemory, Slots, bulk};
use crate::wire::batch::{FAR_BODY_WORDS, Header};
use crate::wire::refusal::Malformed;
use crate::wire::run::Part;
use crate::wire::word::{Word, initialised, words_of};
use std::cell::{Cell, RefCell};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsRawFd, RawFd};
use std::rc::Rc;

/// Tells a frame from what else might come.
const MARK: u64 = 0x673a;
/// Words before the body.
const HEAD: usize = 2;
/// Words before the bytes of a piece.
const PIECE_HEAD: usize = 4;
/// Says that a piece comes, in the place of which slots.
const PIECE: u64 = 2;
/// Words of a connection's buffer for what arrives.
const BUFFER: usize = 32 * 1024;

impl Frame<'_> {
    /// Does the write, into the slots it is for.
    pub(crate) fn land(&self, memory: &SlotMemory) {
        // SAFETY: M1: the frames of one lane come from its one writer, in order, who follows the lane's protocol (L1, L2), as
        // every node of this program does (B1).
        unsafe { memory.land_batch(self.slot, self.header, words_of(self.body)) };
    }
}

/// What arrives.
#[derive(Debug)]
pub(crate) enum Arrival<'a> {
    Frame(Frame<'a>),
    Piece(Piece<'a>),
}

/// Some of the bytes of a value that was too large for a slot.
#[derive(Debug)]
pub(crate) struct Piece<'a> {
    /// The worker it is for.
    pub(crate) worker: u32,
    pub(crate) ticket: u64,
    /// What of the value it is a piece of.
    pub(crate) part: Part,
    pub(crate) bytes: &'a [u8],
}

/// A write as it arrives.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    /// The worker whose slots are written.
    pub(crate) worker: u32,
    pub(crate) slots: Slots,
    pub(crate) slot: usize,
    pub(crate) header: u64,
    pub(crate) body: &'a [u64],
}

/// The frame at the start of these words, and how many it takes; `None` if it is not all there.
///
/// # Errors
/// If there is no frame.
#[inline]
pub(crate) fn decode(words: &[u64]) -> Result<Option<(Arrival<'_>, usize)>, Malformed> {
    let [head, header, rest @ ..] = words else { return Ok(None) };
    let slots = match head >> 24 & 0xff {
        0 => Slots::Requests,
        1 => Slots::Responses,
        PIECE if head & 0xffff == MARK => return decode_piece(words),
        _ => return Err(Malformed::instead_of::<Frame<'_>>()),
    };
    let (slot, length) = ((head >> 16 & 0xff) as usize, usize::from(Header::unpack(*header).words));
    if head & 0xffff != MARK || slot >= FAR_SLOTS || length > FAR_BODY_WORDS {
        return Err(Malformed::instead_of::<Frame<'_>>());
    }
    let frame = |body| Frame { worker: (head >> 32) as u32, slots, slot, header: *header, body };
    Ok(rest.get(..length).map(|body| (Arrival::Frame(frame(body)), HEAD + length)))
}

fn decode_piece(words: &[u64]) -> Result<Option<(Arrival<'_>, usize)>, Malformed> {
    let [head, count, ticket, bytes, rest @ ..] = words else { return Ok(None) };
    let count = usize::try_from(*count).ok().filter(|count| *count <= bulk::BYTES);
    let count = count.ok_or_else(Malformed::instead_of::<Piece<'_>>)?;
    let length = count.div_ceil(size_of::<u64>());
    Ok(rest.get(..length).map(|body| {
        let part = Part { bytes: *bytes, align: (head >> 16) as u8 };
        let bytes = &bytes_of(body)[..count];
        let piece = Piece { worker: (head >> 32) as u32, ticket: *ticket, part, bytes };
        (Arrival::Piece(piece), PIECE_HEAD + length)
    }))
}

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
    pub(crate) fn receive(
        &self,
        mut land: impl FnMut(Arrival<'_>) -> Result<(), Malformed>,
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

fn bytes_of(words: &[u64]) -> &[u8] {
    // SAFETY: words that are numbers are initialised, so their bytes are; the length is that of the very same memory. What was
    // written into `out` had no padding (W6).
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}

fn bytes_of_mut(words: &mut [u64]) -> &mut [u8] {
    // SAFETY: words are bytes, any bytes are words, and the length is that of the very same memory.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size_of_val(words)) }
}

/// The way to the slots of one lane of a worker of another node.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    pub(crate) connection: Rc<Connection>,
    pub(crate) worker: u32,
    pub(crate) slots: Slots,
}

impl Wire {
    /// Sends a piece of a part of a value.
    pub(crate) fn send_ahead(&self, ticket: u64, part: Part, piece: &[u8]) {
        let mut out = self.connection.out.borrow_mut();
        let head = u64::from(self.worker) << 32 | PIECE << 24 | u64::from(part.align) << 16 | MARK;
        out.extend_from_slice(&[head, piece.len() as u64, ticket, part.bytes]);
        let start = out.len();
        out.resize(start + piece.len().div_ceil(size_of::<u64>()), 0);
        bytes_of_mut(&mut out[start..])[..piece.len()].copy_from_slice(piece);
    }
}

impl Fabric for Wire {
    #[inline]
    // SAFETY: no slot is touched here; the contract holds for the slots of the peer, which lands what it gets.
    unsafe fn write(&self, slot: usize, header: u64, body: &[Word]) {
        let head = u64::from(self.worker) << 32 | (self.slots as u64) << 24 | (slot as u64) << 16 | MARK;
        let mut out = self.connection.out.borrow_mut();
        out.extend_from_slice(&[head, header]);
        // SAFETY: W6: the caller's.
        out.extend_from_slice(unsafe { initialised(body) });
    }

    #[inline]
    fn prepare(&self, _slot: usize, _words: usize) {}
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use fastrand::Rng;

    #[test]
    fn what_is_no_frame_is_refused() {
        let head = |slots: u64, slot: u64, mark: u64| slots << 24 | slot << 16 | mark;
        let header = |words| Header { sequence: 1, count: 1, words }.pack();
        for words in [
            [head(0, 0, 0), header(0)],
            [head(3, 0, MARK), header(0)],
            [head(0, FAR_SLOTS as u64, MARK), header(0)],
            [head(0, 0, MARK), header(FAR_BODY_WORDS as u16 + 1)],
            [u64::MAX, u64::MAX],
        ] {
            assert!(decode(&words).is_err(), "{words:x?}");
        }
        assert!(decode(&[head(2, 0, MARK), bulk::BYTES as u64 + 1, 0, 0]).is_err(), "a piece too large");
        assert!(
            decode(&[head(0, 0, MARK), header(2), 7]).is_ok_and(|frame| frame.is_none()),
            "not all there"
        );
    }

    #[test]
    fn random_words_never_make_the_decoder_panic() {
        let mut random = Rng::with_seed(1);
        for _ in 0..100_000 {
            let mut words: Vec<u64> = (0..random.usize(..200)).map(|_| random.u64(..)).collect();
            if let Some(head) = words.first_mut() {
                *head =
                    *head & !0xff_ffff | random.u64(..3) << 24 | random.u64(..FAR_SLOTS as u64) << 16 | MARK;
            }
            match decode(&words) {
                Ok(Some((Arrival::Frame(frame), length))) => {
                    assert!(length <= words.len() && frame.slot < FAR_SLOTS);
                }
                Ok(Some((Arrival::Piece(piece), length))) => assert!(length * 8 >= piece.bytes.len()),
                Ok(None) | Err(_) => {}
            }
        }
    }
}
