//! Values in slots that another process reads: flat ones as they are, all others as bytes with their length in front.
//!
//! ```text
//! flat value, up to 256 bytes    its words; the operation tells how many
//! any other                      bytes (64), then the bytes, in whole words
//! one that was sent ahead        2^63 + ticket; long rows in it are parts of their own (`wire/run.rs`)
//! ```
//!
//! A result that finds no room in the response is marked as failed there, with a ticket in its place, and comes later under
//! that ticket; an error always does.

mod client;
pub(crate) mod exchange;
mod server;

pub(crate) use server::Serving;

use crate::lane::catch::{self, Caught};
use crate::lane::payload::{self, INLINE_BYTES};
use crate::wire::NoRef;
use crate::wire::batch::{BODY_WORDS, FAILURE_WORDS};
use crate::wire::run::Run;
use crate::wire::value::{Decoder, Encoder, Malformed, Parcel};
use std::marker::PhantomData;

/// Words of a value whose size each value tells.
pub(crate) const VARIABLE: u16 = u16::MAX;
/// Words that a result of variable size is sure to find in a response.
const RESERVED: usize = if BODY_WORDS > 64 { 17 } else { BODY_WORDS - FAILURE_WORDS };
/// Bytes of arguments that fit a slot.
pub(crate) const LARGEST: usize = (BODY_WORDS - 2) * size_of::<u64>();
/// In the place of a length: the bytes were sent ahead under a ticket, which the other bits are.
const AHEAD: u64 = 1 << 63;

/// Words a value of this type takes in a slot, or `VARIABLE`.
pub(crate) const fn words<V: NoRef>() -> u16 {
    if V::SHAPE.is_flat() && size_of::<V>() <= INLINE_BYTES { payload::words::<V>() } else { VARIABLE }
}

/// Words that a response needs at the most.
const fn answer_words(words: u16) -> usize {
    match words {
        VARIABLE => RESERVED,
        0 => 1,
        words => words as usize,
    }
}

/// Arguments of type `C`, ready to be put into a slot.
pub(crate) trait Argument<C> {
    /// Words of a request with them, after the header.
    fn words(&self) -> usize;

    /// Moves them into a slot.
    ///
    /// # Safety
    /// `self.words()` words from `place` are writable.
    unsafe fn write(self, place: *mut u64);
}

/// Arguments that go as they are. A type of their own: one that might have another form would be moved about in other words than
/// it was written in, which stalls the processor for longer than all the rest of a request takes.
pub(crate) struct Flat<C>(pub(crate) C);

impl<C: NoRef> Flat<C> {
    /// Whether arguments of this type may.
    pub(crate) const FITS: bool = words::<C>() != VARIABLE;
}

impl<C: NoRef> Argument<C> for Flat<C> {
    #[inline(always)]
    fn words(&self) -> usize {
        assert!(Self::FITS, "flat arguments go as they are");
        payload::words::<C>().into()
    }

    #[inline(always)]
    // SAFETY: the trait's contract, which the caller keeps.
    unsafe fn write(self, place: *mut u64) {
        // SAFETY: the caller's.
        unsafe { payload::write(place, self.0) }
    }
}

/// Encoded arguments.
pub(crate) struct Packed<C> {
    parcel: Parcel,
    /// The ticket under which they were sent ahead.
    ahead: Option<u64>,
    of: PhantomData<fn() -> C>,
}

impl<C: NoRef> Packed<C> {
    /// # Errors
    /// The name of a type in them that cannot leave its node.
    pub(crate) fn new(arguments: C) -> Result<Self, &'static str> {
        Encoder::parcel_with_runs(arguments).map(Self::of)
    }

    /// Arguments that were encoded as a `C`.
    pub(crate) fn of(parcel: Parcel) -> Self {
        Self { parcel, ahead: None, of: PhantomData }
    }

    /// What does not fit a slot, and goes ahead of its request.
    pub(crate) fn large(&self) -> Option<&Parcel> {
        let is_large = self.parcel.bytes().len() > LARGEST || self.parcel.has_runs();
        (is_large && self.ahead.is_none()).then_some(&self.parcel)
    }

    /// They were sent ahead.
    pub(crate) fn sent(self, ticket: u64) -> Self {
        Self { ahead: Some(ticket), ..self }
    }
}

impl<C: NoRef> Argument<C> for Packed<C> {
    #[inline]
    fn words(&self) -> usize {
        match self.ahead {
            Some(_) => 1,
            None => 1 + self.parcel.bytes().len().div_ceil(size_of::<u64>()),
        }
    }

    #[inline]
    // SAFETY: the trait's contract, which the caller keeps.
    unsafe fn write(self, place: *mut u64) {
        let bytes = self.parcel.send();
        // SAFETY: the caller's.
        unsafe { place.write(self.ahead.map_or(bytes.len() as u64, |ticket| AHEAD | ticket)) };
        if self.ahead.is_none() {
            let target = place.wrapping_add(1).cast::<u8>();
            // SAFETY: the caller's; a batch under construction is no vector.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), target, bytes.len()) };
        }
    }
}

/// The arguments of a request that arrived.
pub(crate) enum Arguments<'a> {
    Flat(&'a [u64]),
    Bytes(&'a [u8]),
    /// Sent ahead, in these parts.
    Parts(&'a mut [Run]),
}

/// Why a response had no value in it.
pub(crate) enum Unanswered {
    /// The answer comes under this ticket.
    Late(u64),
    Malformed(Malformed),
    /// Decoding it ran code of the program, which panicked.
    Panicked(Caught),
}

/// Decodes a value, which may run code of the program.
pub(crate) fn decode_caught<U>(decode: impl FnOnce() -> Result<U, Malformed>) -> Result<U, Unanswered> {
    match catch::delegated(decode) {
        Ok(value) => value.map_err(Unanswered::Malformed),
        Err(caught) => Err(Unanswered::Panicked(caught)),
    }
}

impl Arguments<'_> {
    /// The words of a response.
    ///
    /// # Safety
    /// A response with a `U` is there, and stays for as long as this is used.
    #[inline(always)]
    pub(crate) unsafe fn of_response<U: NoRef>(response: *const u64) -> Self {
        match words::<U>() {
            VARIABLE => {
                // SAFETY: the caller's.
                let length = unsafe { response.read() } as usize;
                let bytes = response.wrapping_add(1).cast::<u8>();
                // SAFETY: the caller's.
                Self::Bytes(unsafe { std::slice::from_raw_parts(bytes, length) })
            }
            // SAFETY: the caller's.
            words => Self::Flat(unsafe { std::slice::from_raw_parts(response, words.into()) }),
        }
    }

    /// Takes them out.
    ///
    /// # Safety
    /// They were put there as a `C`, and nobody has taken them out.
    #[inline(always)]
    pub(crate) unsafe fn read<C: NoRef>(self) -> Result<C, Malformed> {
        match self {
            Self::Flat(flat) if words::<C>() != VARIABLE => {
                debug_assert_eq!(flat.len(), usize::from(payload::words::<C>()));
                // SAFETY: the caller's; flat values are their bytes.
                Ok(unsafe { payload::read(flat.as_ptr()) })
            }
            Self::Bytes(bytes) => Decoder::decoded(bytes),
            Self::Parts(parts) => Decoder::decoded_parts(parts),
            Self::Flat(_) => Err(Malformed::instead_of::<C>()),
        }
    }
}

/// Where the result of a request goes.
pub(crate) struct Answer<'a> {
    place: &'a mut [u64],
    /// Words of it that were used.
    used: usize,
    /// What found no room.
    late: Option<Vec<u8>>,
}

impl Answer<'_> {
    /// # Panics
    /// If a type in the value cannot leave its node.
    #[inline(always)]
    pub(crate) fn write<U: NoRef>(&mut self, value: U) {
        match words::<U>() {
            VARIABLE => self.write_bytes(Encoder::encoded(value)),
            words => {
                let words = usize::from(words);
                assert!(words <= self.place.len(), "a client counts the words of all results");
                // SAFETY: there are as many words (asserted).
                unsafe { payload::write(self.place.as_mut_ptr(), value) };
                self.used = words;
            }
        }
    }

    fn write_bytes(&mut self, bytes: Result<Vec<u8>, &'static str>) {
        let bytes = bytes.unwrap_or_else(|refused| panic!("{}", stays(refused)));
        let words = 1 + bytes.len().div_ceil(size_of::<u64>());
        if words > RESERVED.min(self.place.len()) {
            self.late = Some(bytes);
            return;
        }
        self.place[0] = bytes.len() as u64;
        for (word, bytes) in self.place[1..words].iter_mut().zip(bytes.chunks(size_of::<u64>())) {
            let mut whole = [0; size_of::<u64>()];
            whole[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_ne_bytes(whole);
        }
        self.used = words;
    }
}

/// Why a value was not sent.
pub(crate) fn stays(refused: &str) -> String {
    format!(
        "a `{refused}` cannot leave the node that made it: sockets and types whose `NoRef` was written by hand without \
         `encode` and `decode` travel inside one process only"
    )
}

/// The bytes of a value of variable size that begins at the first of these words, and the words it takes.
fn bytes_at(words: &[u64]) -> Result<(&[u8], usize), Malformed> {
    let malformed = Malformed::instead_of::<[u64]>;
    let (length, rest) = words.split_first().ok_or_else(malformed)?;
    let length = usize::try_from(*length).map_err(|_| malformed())?;
    let bytes = as_bytes(rest).get(..length).ok_or_else(malformed)?;
    Ok((bytes, 1 + length.div_ceil(size_of::<u64>())))
}

fn as_bytes(words: &[u64]) -> &[u8] {
    // SAFETY: words are bytes; the length is that of the very same memory.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}
