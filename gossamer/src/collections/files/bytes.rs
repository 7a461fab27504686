//! Numbers, and arrays of numbers, as bytes of any reader and writer: a memory stream, a connection, a pipe.

use crate::collections::files::numbers::{PIECE, assert_number};
use crate::collections::layout::Spread;
use crate::collections::{DistVec, Elements, Layout};
use crate::sys::memory::large_pages;
use crate::trust::FibersOfCall;
use crate::wire::row::Row;
use crate::worker::require_fiber;
use crate::{NoRef, Pending, Trust, Trustee, entrust, spawn_on_with};
use std::io::{self, Read, Write};
use std::ops::Range;

/// What one worker has been sent so far.
type ReadSoFar<T> = Trust<Vec<T>>;

impl<T: NoRef + Clone> DistVec<T> {
    /// As many numbers (or arrays, such as `[f64; 2]`) as the layout has, from a reader that gives only their bytes, in
    /// the byte order of this machine: what [`to_writer`](Self::to_writer) has written. What follows them is not read.
    ///
    /// It compiles for the types for which [`from_file`](Self::from_file) does.
    ///
    /// ```
    /// use gossamer::collections::{DistVec, Layout};
    /// use gossamer::stream::{self, Geometry, SendEnd};
    /// use gossamer::{Config, Trustee, rack, spawn_on_with};
    ///
    /// #[gossamer::delegate]
    /// fn through_a_stream() -> Vec<u64> {
    ///     let there = *Trustee::all().last().unwrap(); // on the other node
    ///     let (send, receive) = stream::channel(there, Trustee::here(), 8 * 1000, Geometry::default()).unwrap();
    ///     let sending = spawn_on_with(there, |send: SendEnd| {
    ///         let squares = DistVec::from_fn(1000, |index| (index * index) as u64);
    ///         let mut sender = send.open().unwrap();
    ///         squares.to_writer(&mut sender).unwrap();
    ///         sender.finish().unwrap();
    ///     }, send);
    ///     let mut receiver = receive.open().unwrap();
    ///     let squares = DistVec::<u64>::from_reader(Layout::cyclic(1000), &mut receiver).unwrap();
    ///     receiver.finish().unwrap();
    ///     sending.join();
    ///     squares.range(997..)
    /// }
    /// let last = rack::run_in_process(2, Config::default().threads(1), through_a_stream);
    /// assert_eq!(last, [994_009, 996_004, 998_001]);
    /// ```
    ///
    /// The ends of [streams](crate::stream) and the connections of [`net`](crate::net) keep only the fiber waiting. A
    /// reader that blocks its thread, such as standard input, blocks the worker.
    ///
    /// # Cost
    /// Two fibers on each worker, and for each 4 MiB that are read one request for each worker that gets some of them.
    /// Memory for two such pieces on the caller's worker.
    ///
    /// # Errors
    /// If the reader fails, or ends before.
    ///
    /// # Panics
    /// Like [`from_fn`](Self::from_fn).
    #[track_caller]
    pub fn from_reader(layout: impl Into<Layout>, mut reader: impl Read) -> io::Result<Self> {
        require_fiber("from_reader");
        const { assert_number::<T>() };
        let (trustees, spread) = layout.into().spread();
        let room = const { |room: usize| -> ReadSoFar<T> { entrust(large_pages::with_capacity(room)) } };
        let rooms = trustees.iter().enumerate();
        let start = |(part, trustee): (usize, &Trustee)| spawn_on_with(*trustee, room, spread.len_of(part));
        let received = rooms.map(start).collect::<FibersOfCall<_>>().joined();
        let (mut buffer, mut under_way) = (Vec::new(), Vec::new());
        for piece in pieces::<T>(spread.len()) {
            let values = read_values::<T>(&mut reader, &mut buffer, piece.len()).map_err(|error| {
                let (Range { start, end }, len) = (&piece, spread.len());
                io::Error::new(error.kind(), format!("reading elements {start}..{end} of {len}: {error}"))
            })?;
            let sent = send_on(&received, spread, &piece, &values);
            for earlier in std::mem::replace(&mut under_way, sent) {
                earlier.wait();
            }
        }
        for last in under_way {
            last.wait();
        }
        let keep = const {
            |(received, part, spread): (ReadSoFar<T>, usize, Spread)| {
                entrust(Elements::new(part, spread, received.apply_here(std::mem::take)))
            }
        };
        let mut fibers = FibersOfCall::new();
        for (part, (trustee, received)) in trustees.into_iter().zip(received).enumerate() {
            fibers.push(spawn_on_with(trustee, keep, (received, part, spread)));
        }
        Ok(Self { parts: fibers.joined().into(), spread })
    }

    /// Writes the elements, numbers or arrays of numbers, to a writer, in order and only as their bytes, in the byte
    /// order of this machine; [`from_reader`](Self::from_reader) reads them.
    ///
    /// It compiles for the types for which [`from_file`](Self::from_file) does.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let squares = gossamer::collections::DistVec::from_fn(4, |index| (index * index) as u8);
    /// let mut bytes = Vec::new();
    /// squares.to_writer(&mut bytes).unwrap();
    /// assert_eq!(bytes, [0, 1, 4, 9]);
    /// # });
    /// ```
    ///
    /// The ends of [streams](crate::stream) and the connections of [`net`](crate::net) keep only the fiber waiting. A
    /// writer that blocks its thread, such as standard output, blocks the worker. Nothing is flushed.
    ///
    /// # Cost
    /// For each 4 MiB one request for each worker that has some of them; the next ones are fetched while some are
    /// written. Memory for two such pieces on the caller's worker.
    ///
    /// # Errors
    /// If the writer fails.
    ///
    /// # Panics
    /// Like [`range`](Self::range).
    #[track_caller]
    pub fn to_writer(&self, mut writer: impl Write) -> io::Result<()> {
        require_fiber("to_writer");
        const { assert_number::<T>() };
        let mut pieces = pieces::<T>(self.len()).map(|piece| (self.ask_for(&piece), piece));
        let mut next = pieces.next();
        while let Some((asked, piece)) = next {
            next = pieces.next();
            writer.write_all(Row::of(self.in_order(piece, asked)).bytes())?;
        }
        Ok(())
    }
}

/// The indices of `len` elements, cut into pieces.
fn pieces<T>(len: usize) -> impl Iterator<Item = Range<usize>> {
    let at_once = (PIECE / size_of::<T>()).max(1);
    (0..len).step_by(at_once).map(move |start| start..len.min(start + at_once))
}

/// The next `count` values of a reader.
fn read_values<T: NoRef>(reader: &mut impl Read, buffer: &mut Vec<u8>, count: usize) -> io::Result<Vec<T>> {
    let room = std::alloc::Layout::array::<T>(count).ok().and_then(Row::with_room);
    let mut row = room.ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
    buffer.resize(row.room(), 0);
    reader.read_exact(buffer)?;
    row.extend(buffer)
        .and_then(|()| row.into_vec())
        .map_err(|malformed| io::Error::other(malformed.to_string()))
}

/// Sends each part its elements of a piece, behind those it has.
fn send_on<T: NoRef + Clone>(
    received: &[ReadSoFar<T>],
    spread: Spread,
    piece: &Range<usize>,
    values: &[T],
) -> Vec<Pending<()>> {
    let add = const { |received: &mut Vec<T>, mut values: Vec<T>| received.append(&mut values) };
    let mut pending = Vec::new();
    for (part, received) in received.iter().enumerate() {
        let offsets = spread.within(part, piece);
        if !offsets.is_empty() {
            let own = offsets.map(|offset| values[spread.index(part, offset) - piece.start].clone());
            pending.push(received.apply_with_async(add, own.collect()));
        }
    }
    pending
}
