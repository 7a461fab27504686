//! Values in slots that another process reads: those that their type bounds as that many words, all others as bytes
//! with their length in front.
//!
//! ```text
//! fixed: up to 256 bytes         its words; the operation tells how many
//! any other                      bytes (64), then the bytes, in whole words
//! a large one                    its ticket, marked as separate; the value has arrived before (`lane/large`)
//! ```
//!
//! The words of a fixed value are its bytes, if none of them is padding, or else what `NoRef::encode` makes of it. The
//! rest of the last word, and of the most words that it could have taken, is zeros (W6).
//!
//! A result that finds no room in the response is marked as failed there, with a ticket in its place, and arrives later
//! under that ticket; an error always arrives that way.

mod client;
#[cfg(all(test, not(loom)))]
#[expect(clippy::unwrap_used, reason = "a test fails by it")]
mod leaks;
mod operation;
mod run;
mod server;
#[cfg(all(test, not(loom)))]
#[expect(clippy::unwrap_used, reason = "a test fails by it")]
mod simulated;

pub(crate) use operation::{Describe, Encoded};
pub(crate) use server::{AnswerRoom, Serving};

use crate::lane::catch::{self, Caught};
use crate::lane::payload::{self, INLINE_BYTES};
use crate::wire::NoRef;
use crate::wire::batch::{BODY_WORDS, FAILURE_WORDS};
use crate::wire::decoder::Decoder;
use crate::wire::encoder::{Encoder, Marshalled, Refused};
use crate::wire::length::LengthWord;
use crate::wire::refusal::Malformed;
use crate::wire::rows::Rows;
use crate::wire::word::Word;

/// Stands for the words of a value whose size differs from value to value.
pub(crate) const VARIABLE: u16 = u16::MAX;
/// Words in a response that are always there for a result of variable size.
const RESERVED: usize = if BODY_WORDS > 64 { 17 } else { BODY_WORDS - FAILURE_WORDS };
/// Bytes of arguments that fit a slot.
const LARGEST: usize = (BODY_WORDS - 2) * size_of::<u64>();

/// Words a value of this type takes in a slot, or `VARIABLE`.
pub(crate) const fn words<V: NoRef>() -> u16 {
    match V::SHAPE.most(size_of::<V>()) {
        Some(most) if most <= INLINE_BYTES => most.div_ceil(size_of::<u64>()) as u16,
        _ => VARIABLE,
    }
}

/// Moves a fixed value into the words that it takes.
#[inline(always)]
pub(crate) fn put<V: NoRef>(words: &mut [Word], value: V) {
    assert!(words.len() == usize::from(self::words::<V>()), "a fixed value takes the words of its type");
    if !V::SHAPE.is_dense() {
        return Encoder::fill(words, value);
    }
    if !size_of::<V>().is_multiple_of(size_of::<u64>())
        && let Some(last) = words.last_mut()
    {
        // The part of the last word that the value leaves.
        *last = Word::new(0);
    }
    // SAFETY: this many words have room for it (asserted: `words`).
    unsafe { payload::write(words.as_mut_ptr().cast(), value) };
}

/// Moves a fixed value out of its words.
///
/// # Errors
/// If they hold no valid value.
///
/// # Safety
/// The words of a `V`, as `put` made them, begin at `source`, and the value was not taken out.
#[inline(always)]
pub(crate) unsafe fn take<V: NoRef>(source: *const u64) -> Result<V, Malformed> {
    if V::SHAPE.is_dense() {
        // SAFETY: guaranteed by the caller; a dense value is its bytes, and another process of this program wrote them (B1).
        return Ok(unsafe { payload::read(source) });
    }
    // SAFETY: guaranteed by the caller; in memory of another process every byte is initialised.
    let words = unsafe { std::slice::from_raw_parts(source, words::<V>().into()) };
    Decoder::decoded_first(as_bytes(words))
}

/// The most words that a response needs.
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

    /// Moves them into this many words of a slot, all of whose bytes are initialised afterwards (W6). Runs no code of
    /// the program.
    fn write(self, place: &mut [Word]);
}

/// Arguments that take the words of their type. They have a type of their own: one with several forms would be moved
/// about in wider words than it was written in, which stalls the processor for longer than the rest of a request takes.
pub(crate) struct Fixed<C>(pub(crate) C);

impl<C: NoRef> Fixed<C> {
    /// Whether arguments of this type can have this form.
    pub(crate) const FITS: bool = words::<C>() != VARIABLE;
}

impl<C: NoRef> Argument<C> for Fixed<C> {
    #[inline(always)]
    fn words(&self) -> usize {
        assert!(Self::FITS, "fixed arguments have a bound");
        words::<C>().into()
    }

    #[inline(always)]
    fn write(self, place: &mut [Word]) {
        put(place, self.0);
    }
}

/// Encoded arguments.
pub(crate) struct Packed<C: NoRef>(Marshalled<C>);

impl<C: NoRef> Packed<C> {
    /// # Errors
    /// The arguments, if something in them cannot leave its node.
    pub(crate) fn new(arguments: C) -> Result<Self, Refused<C>> {
        Encoder::marshal_in_rows(arguments).map(Self)
    }

    /// Whether they do not fit a slot. If so, `Apart` goes there instead.
    pub(crate) fn is_large(&self) -> bool {
        let rows = self.0.rows();
        rows.has_long() || rows.bytes().len() > LARGEST
    }

    /// The encoded rows, from which everything leaves now.
    pub(crate) fn send(self) -> Rows {
        self.0.send()
    }
}

impl<C: NoRef> Argument<C> for Packed<C> {
    fn words(&self) -> usize {
        words_of(self.0.rows())
    }

    fn write(self, place: &mut [Word]) {
        write_bytes(place, self.send().bytes());
    }
}

/// Encoded arguments that leave now. Their type is forgotten, so that what sends them is compiled once.
pub(crate) struct PackedRows(pub(crate) Rows);

impl<C> Argument<C> for PackedRows {
    fn words(&self) -> usize {
        words_of(&self.0)
    }

    fn write(self, place: &mut [Word]) {
        write_bytes(place, self.0.bytes());
    }
}

/// Words that encoded rows take, with their length in front.
fn words_of(rows: &Rows) -> usize {
    1 + rows.bytes().len().div_ceil(size_of::<u64>())
}

/// The ticket of arguments that are sent separately.
pub(crate) struct Apart(pub(crate) u64);

impl Apart {
    pub(crate) const WORDS: usize = 1;
}

impl<C> Argument<C> for Apart {
    fn words(&self) -> usize {
        Self::WORDS
    }

    fn write(self, place: &mut [Word]) {
        put(place, LengthWord::Apart(self.0).pack());
    }
}

/// Writes bytes, with their length in front, into as many words as they take.
fn write_bytes(place: &mut [Word], bytes: &[u8]) {
    let Some((length, words)) = place.split_first_mut() else { return };
    length.write(LengthWord::Here(bytes.len() as u64).pack());
    for (word, bytes) in words.iter_mut().zip(bytes.chunks(size_of::<u64>())) {
        let mut whole = [0; size_of::<u64>()];
        whole[..bytes.len()].copy_from_slice(bytes);
        word.write(u64::from_ne_bytes(whole));
    }
}

/// Takes the value of a response out.
///
/// # Errors
/// If it is no valid value.
///
/// # Safety
/// A response with a `U` is there, as its trustee made it, and the value was not taken out.
#[inline(always)]
pub(crate) unsafe fn take_response<U: NoRef>(response: *const u64) -> Result<U, Malformed> {
    if words::<U>() != VARIABLE {
        // SAFETY: guaranteed by the caller.
        return unsafe { take(response) };
    }
    // SAFETY: guaranteed by the caller.
    let length = unsafe { response.read() } as usize;
    let bytes = response.wrapping_add(1).cast::<u8>();
    // SAFETY: guaranteed by the caller.
    Decoder::decoded(unsafe { std::slice::from_raw_parts(bytes, length) })
}

/// The arguments of a request that arrived.
pub(crate) enum Arguments<'a> {
    Fixed(&'a [u64]),
    Bytes(&'a [u8]),
    /// They arrived separately.
    Rows(&'a mut Rows),
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
    /// Takes them out.
    ///
    /// # Safety
    /// They were put there as a `C`, and were not taken out.
    #[inline]
    pub(crate) unsafe fn read<C: NoRef>(self) -> Result<C, Malformed> {
        match self {
            Self::Fixed(words) if words.len() == usize::from(self::words::<C>()) => {
                // SAFETY: guaranteed by the caller.
                unsafe { take(words.as_ptr()) }
            }
            Self::Bytes(bytes) => Decoder::decoded(bytes),
            Self::Rows(rows) => Decoder::decoded_rows(rows),
            Self::Fixed(_) => Err(Malformed::instead_of::<C>()),
        }
    }
}

/// Where the result of a request goes.
pub(crate) struct Answer<'a> {
    place: &'a mut [Word],
    /// Words of it that are used.
    used: usize,
    /// The value that found no room.
    late: Option<Rows>,
}

impl Answer<'_> {
    /// # Panics
    /// If a type in the value cannot leave its node.
    #[inline(always)]
    pub(crate) fn write<U: NoRef>(&mut self, value: U) {
        match words::<U>() {
            VARIABLE => self.write_encoded(Encoder::marshal_in_rows(value)),
            words => {
                self.used = words.into();
                put(&mut self.place[..self.used], value);
            }
        }
    }

    fn write_encoded<U: NoRef>(&mut self, value: Result<Marshalled<U>, Refused<U>>) {
        let value = value.unwrap_or_else(|refused| panic!("{}", refused.into_refusal()));
        let rows = value.send();
        let words = words_of(&rows);
        if rows.has_long() || words > RESERVED.min(self.place.len()) {
            self.late = Some(rows);
            return;
        }
        write_bytes(&mut self.place[..words], rows.bytes());
        self.used = words;
    }
}

/// The bytes of a value of variable size that begins at the first of these words, and the words it takes.
fn bytes_at(words: &[u64]) -> Result<(&[u8], usize), Malformed> {
    let malformed = Malformed::instead_of::<[u64]>;
    let (length, rest) = words.split_first().ok_or_else(malformed)?;
    let LengthWord::Here(length) = LengthWord::unpack(*length) else { return Err(malformed()) };
    let length = usize::try_from(length).map_err(|_| malformed())?;
    let bytes = as_bytes(rest).get(..length).ok_or_else(malformed)?;
    Ok((bytes, 1 + length.div_ceil(size_of::<u64>())))
}

fn as_bytes(words: &[u64]) -> &[u8] {
    // SAFETY: numbers are initialised, so their bytes are; the length is that of the same memory.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}
