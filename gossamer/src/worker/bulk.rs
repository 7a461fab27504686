//! Arguments too large for a slot: they go ahead of their request in pieces, and a fiber lets others send between them.
//!
//! Between nodes of one machine a piece goes through memory beside the slots (`fabric/bulk.rs`), between machines through the
//! connection, in order with its frames. Code that cannot wait, and finds no place free, puts a piece into a request.
#![expect(unsafe_code, reason = "memory of two processes")]

use crate::fabric::bulk::{BYTES, PLACES, Places};
use crate::fabric::link::Link;
use crate::fabric::tcp::Wire;
use crate::lane::context::{self, Context};
use crate::lane::encoded::{Fixed, LARGEST, Packed};
use crate::lane::operation::Delegated;
use crate::lane::property::Root;
use crate::sys::fibers::fiber::Fiber;
use crate::wire::NoRef;
use crate::wire::encoder::{Encoder, Parcel};
use crate::wire::run::Part;
use crate::worker::lanes::Outbound;
use crate::worker::{Worker, with_worker};
use std::cell::Cell;
use std::rc::Rc;

/// Bytes that wait on a connection above which a fiber lets others go first.
const MUCH: usize = 4 * BYTES;
/// What a piece takes in a request beside its bytes: who sends it, its ticket, what it is a piece of, its own length.
const AROUND: usize = 33;

/// Which places of a lane are in use.
pub(super) struct Free {
    places: Places,
    taken: Cell<u8>,
}

const _: () = assert!(PLACES == u8::BITS as usize);

impl Free {
    pub(super) fn new(places: Places) -> Self {
        Self { places, taken: Cell::new(0) }
    }

    fn has_one(&self) -> bool {
        self.taken.get() != u8::MAX
    }

    fn take(&self) -> Option<usize> {
        let place = self.taken.get().trailing_ones();
        let free = place < u8::BITS;
        free.then(|| {
            self.taken.set(self.taken.get() | 1 << place);
            place as usize
        })
    }
}

impl Worker {
    /// Sends arguments that do not fit a slot ahead of their request.
    #[inline(always)]
    pub(crate) fn send_ahead<C: NoRef>(&self, trustee: usize, argument: Packed<C>) -> Packed<C> {
        match argument.large().map(|parcel| self.send_in_pieces(trustee, parcel)) {
            Some(ticket) => argument.sent(ticket),
            None => argument,
        }
    }

    #[cold]
    fn send_in_pieces<C: NoRef>(&self, trustee: usize, parcel: &Parcel<C>) -> u64 {
        let ticket = self.exchange.ticket();
        let lane = self.lane_to(trustee);
        for (part, bytes) in parcel.parts() {
            if let Link::Wire(wire) = lane.client.fabric() {
                for piece in bytes.chunks(BYTES) {
                    self.wait_for_wire(wire);
                    wire.send_ahead(ticket, part, piece);
                }
                continue;
            }
            let mut left = bytes;
            while !left.is_empty() {
                left = match self.place_of(lane) {
                    Some(place) => self.send_place(trustee, lane, place, (ticket, part), left),
                    None => self.send_piece(trustee, (ticket, part), left),
                };
            }
        }
        ticket
    }

    /// A free place, for which a fiber waits.
    fn place_of(&self, lane: &Outbound) -> Option<usize> {
        let free = lane.bulk.as_ref()?;
        if context::current() == Context::Fiber && !std::thread::panicking() {
            while !free.has_one() {
                self.publish();
                lane.waiting.borrow_mut().push_back(self.running());
                Fiber::park(false);
                lane.waiting.borrow_mut().retain(|other| !Rc::ptr_eq(other, &self.running()));
            }
        }
        free.take()
    }

    /// Sends a piece through a place; what is left.
    fn send_place<'a>(
        &self,
        trustee: usize,
        lane: &Outbound,
        place: usize,
        (ticket, part): (u64, Part),
        left: &'a [u8],
    ) -> &'a [u8] {
        type Piece = (u32, u32, u32, u64, (u64, u8));
        let (piece, rest) = left.split_at(left.len().min(BYTES));
        let Some(free) = &lane.bulk else { unreachable!("a place is one of this lane's") };
        // SAFETY: B2: the place was free, and is taken until its request is answered, below.
        unsafe { free.places.write(place, piece) };
        let arrive = |_: &mut Root, (client, place, count, ticket, (bytes, align)): Piece| {
            let (client, part) = (client as usize, Part { bytes, align });
            with_worker(|here| here.take_place((client, ticket), part, place as usize, count as usize));
        };
        let delegated = Delegated::travelling::<Root, _>(arrive);
        let whole = (part.bytes, part.align);
        let piece_of = (self.index as u32, place as u32, piece.len() as u32, ticket, whole);
        let give_back = move |_answer| {
            with_worker(|here| {
                if let Some(free) = &here.lane_to(trustee).bulk {
                    free.taken.set(free.taken.get() & !(1 << place));
                }
            });
        };
        let published = lane.client.push_encoded_to_root(delegated, Fixed(piece_of), give_back);
        // At once, so that one side copies out of a place while the other fills the next.
        self.after_push(trustee, published | lane.client.publish());
        rest
    }

    /// A piece in a place has come.
    fn take_place(&self, (client, ticket): (usize, u64), part: Part, place: usize, count: usize) {
        let places = self.shared.peers.as_ref().and_then(|peers| peers.places(client, self.index));
        let Some(places) = places else { return };
        // SAFETY: B3: this is the service of the request that names the place.
        let bytes = unsafe { places.read(place, count) };
        self.take_piece((client, ticket), part, bytes);
    }

    fn take_piece(&self, (client, ticket): (usize, u64), part: Part, piece: &[u8]) {
        if let Err(malformed) = self.exchange.ahead().arrive((client, ticket), part, piece) {
            self.does_not_understand(client, &malformed);
        }
    }

    /// Sends a piece as a request; what is left.
    fn send_piece<'a>(&self, trustee: usize, (ticket, part): (u64, Part), left: &'a [u8]) -> &'a [u8] {
        let (piece, rest) = left.split_at(left.len().min(LARGEST - AROUND));
        type Piece = ((usize, u64), (u64, u8), Vec<u8>);
        let arrive = |_: &mut Root, (message, (bytes, align), piece): Piece| {
            with_worker(|here| here.take_piece(message, Part { bytes, align }, &piece));
        };
        let mut encoder = Encoder::default();
        ((self.index, ticket), (part.bytes, part.align)).encode(&mut encoder);
        encoder.length(piece.len());
        encoder.bytes(piece);
        if let Ok(encoded) = encoder.finish::<Piece>() {
            self.push_to_root(trustee, Delegated::travelling::<Root, _>(arrive), Packed::of(encoded));
        }
        rest
    }

    /// Lets others go first while much waits on a connection, if the caller can wait.
    fn wait_for_wire(&self, wire: &Wire) {
        while context::current() == Context::Fiber
            && wire.connection.unsent() > MUCH
            && !std::thread::panicking()
        {
            self.let_others_run();
        }
    }
}
