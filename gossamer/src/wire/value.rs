//! Values as bytes, for other processes of the same program.
//!
//! Inside a process values are moved as they are and none of this is used. To another node goes what [`NoRef::encode`]
//! makes of a value; it is consumed, since what it owns (a trust, say) goes with it.
//!
//! Invariant B1: the bytes in a decoder were made by an encoder of the very same program, in the order in which they are
//! read: nodes prove to each other that they belong to one application and run one build before they send anything.
//! What could be told wrong without it is checked all the same: lengths, tags, text.
#![expect(unsafe_code, reason = "flat values are copied as bytes (B1)")]

use crate::wire::NoRef;
use crate::wire::run::{LONG, Part, Run};
use std::any::type_name;
use std::fmt;

/// How a value may be copied to another process of the same program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// As its bytes, and all of them are part of it: there is no padding, and any bytes are a value.
    Plain,
    /// As its bytes.
    Flat,
    /// By [`NoRef::encode`] only.
    Owned,
}

impl Shape {
    /// The shape of a value that consists of two others.
    pub const fn and(self, other: Self) -> Self {
        // Padding may lie between two plain values.
        match (self, other) {
            (Self::Owned, _) | (_, Self::Owned) => Self::Owned,
            _ => Self::Flat,
        }
    }

    pub(crate) const fn is_flat(self) -> bool {
        matches!(self, Self::Plain | Self::Flat)
    }

    pub(crate) const fn is_plain(self) -> bool {
        matches!(self, Self::Plain)
    }
}

/// Collects the bytes of values.
#[derive(Debug, Default)]
pub struct Encoder {
    parcel: Parcel,
    /// The first type that cannot leave its node.
    refused: Option<&'static str>,
    /// Long rows of plain values are kept apart.
    keeps_runs: bool,
}

/// In a length: the elements are not behind it, but are the next of the parts that come apart.
const APART: u64 = 1 << 63;

/// Encoded values, with what has to be undone if they never leave.
#[derive(Default)]
pub(crate) struct Parcel {
    bytes: Vec<u8>,
    /// What is not among the bytes, in the order in which they refer to it.
    runs: Vec<Run>,
    undo: Vec<Box<dyn FnOnce()>>,
}

impl Parcel {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether something is not among the bytes.
    pub(crate) fn has_runs(&self) -> bool {
        !self.runs.is_empty()
    }

    /// The bytes, and what is not among them.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (Part, &[u8])> {
        let runs = self.runs.iter().map(|run| (run.part(), run.bytes()));
        std::iter::once((Part::encoded(&self.bytes), &self.bytes[..])).chain(runs)
    }

    /// Whether something has to be undone if the bytes never leave: then they can leave only once.
    pub(crate) fn is_unique(&self) -> bool {
        !self.undo.is_empty()
    }

    /// The bytes, which are on their way now.
    pub(crate) fn send(mut self) -> Vec<u8> {
        self.undo.clear();
        std::mem::take(&mut self.bytes)
    }
}

impl Drop for Parcel {
    fn drop(&mut self) {
        self.undo.drain(..).for_each(|undo| undo());
    }
}

impl fmt::Debug for Parcel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parcel").field("bytes", &self.bytes.len()).finish_non_exhaustive()
    }
}

impl Encoder {
    /// Says that values of this type stay in the node that made them. The request they belong to fails.
    #[cold]
    pub fn refuse<T>(&mut self) {
        self.refused.get_or_insert(type_name::<T>());
    }

    /// Has something done if what was encoded so far never leaves.
    pub(crate) fn undo(&mut self, undo: impl FnOnce() + 'static) {
        self.parcel.undo.push(Box::new(undo));
    }

    /// Adds bytes as they are.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.parcel.bytes.extend_from_slice(bytes);
    }

    /// Adds the number of elements that follow.
    #[inline]
    pub fn length(&mut self, length: usize) {
        self.bytes(&(length as u64).to_ne_bytes());
    }

    /// Adds the bytes of flat values.
    ///
    /// # Panics
    /// If the type is not flat.
    #[inline]
    pub(crate) fn flat<T: NoRef>(&mut self, values: &[T]) {
        const { assert!(T::SHAPE.is_flat(), "only flat values are their bytes") };
        let bytes = &mut self.parcel.bytes;
        let (length, added) = (bytes.len(), size_of_val(values));
        bytes.reserve(added);
        let target = bytes.as_mut_ptr().wrapping_add(length);
        // SAFETY: there is room for them (reserved above), and a new allocation does not overlap the values.
        unsafe { std::ptr::copy_nonoverlapping(values.as_ptr().cast::<u8>(), target, added) };
        // SAFETY: they were written above; bytes of padding among them are copied on and never looked at (B1).
        unsafe { bytes.set_len(length + added) };
    }

    /// Adds several values of one type.
    #[inline]
    pub(crate) fn elements<T: NoRef>(&mut self, values: Vec<T>) {
        if T::SHAPE.is_plain() && self.keeps_runs && size_of_val(&values[..]) >= LONG {
            self.bytes(&(values.len() as u64 | APART).to_ne_bytes());
            self.parcel.runs.push(Run::of(values));
            return;
        }
        self.length(values.len());
        if T::SHAPE.is_plain() {
            self.plain(&values);
        } else {
            values.into_iter().for_each(|value| value.encode(self));
        }
    }

    /// Adds the bytes of plain values.
    #[inline]
    pub(crate) fn plain<T: NoRef>(&mut self, values: &[T]) {
        assert!(T::SHAPE.is_plain(), "only plain values are their bytes in a row");
        // SAFETY: plain values have no padding, so all their bytes are initialised.
        let bytes = unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), size_of_val(values)) };
        self.bytes(bytes);
    }

    /// The bytes; or the type that stands against them.
    pub(crate) fn finish(self) -> Result<Parcel, &'static str> {
        self.refused.map_or(Ok(self.parcel), Err)
    }

    /// Encodes one value.
    pub(crate) fn parcel<T: NoRef>(value: T) -> Result<Parcel, &'static str> {
        let mut encoder = Self::default();
        value.encode(&mut encoder);
        encoder.finish()
    }

    /// Encodes one value whose long rows of plain values stay where they are.
    pub(crate) fn parcel_with_runs<T: NoRef>(value: T) -> Result<Parcel, &'static str> {
        let mut encoder = Self { keeps_runs: true, ..Self::default() };
        value.encode(&mut encoder);
        encoder.finish()
    }

    /// Encodes one value that leaves at once.
    pub(crate) fn encoded<T: NoRef>(value: T) -> Result<Vec<u8>, &'static str> {
        Self::parcel(value).map(Parcel::send)
    }
}

/// Bytes that are not those of the value they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    expected: &'static str,
}

impl Malformed {
    /// Where a value of this type should have been.
    #[cold]
    pub fn instead_of<T: ?Sized>() -> Self {
        Self { expected: type_name::<T>() }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the bytes that arrived are no `{}`: do all nodes run the same program?", self.expected)
    }
}

impl std::error::Error for Malformed {}

/// Takes values out of bytes, in the order in which they were encoded.
#[derive(Debug)]
pub struct Decoder<'a> {
    bytes: &'a [u8],
    /// What is not among the bytes.
    runs: std::slice::IterMut<'a, Run>,
    /// The elements whose number was taken last.
    apart: Option<&'a mut Run>,
}

impl<'a> Decoder<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, runs: [].iter_mut(), apart: None }
    }

    /// Takes bytes as they are.
    ///
    /// # Errors
    /// If there are not so many.
    #[inline]
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        if let Some(run) = self.apart.take() {
            let bytes = &(*run).bytes();
            return if bytes.len() == count { Ok(bytes) } else { Err(Malformed::instead_of::<[u8]>()) };
        }
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or_else(Malformed::instead_of::<[u8]>)?;
        self.bytes = rest;
        Ok(taken)
    }

    /// Takes a number of elements.
    ///
    /// # Errors
    /// If there is none.
    #[inline]
    pub fn length(&mut self) -> Result<usize, Malformed> {
        let bytes = self.bytes(size_of::<u64>())?;
        let mut length = bytes.try_into().map_or(u64::MAX, u64::from_ne_bytes);
        if length & APART != 0 {
            self.apart = Some(self.runs.next().ok_or_else(Malformed::instead_of::<[u8]>)?);
            length ^= APART;
        }
        length.try_into().map_err(|_| Malformed::instead_of::<usize>())
    }

    /// Takes a flat value.
    #[inline]
    pub(crate) fn flat<T: NoRef>(&mut self) -> Result<T, Malformed> {
        const { assert!(T::SHAPE.is_flat(), "only flat values are their bytes") };
        let bytes = self.bytes(size_of::<T>())?;
        // SAFETY: B1: the encoder put the bytes of a `T` there; the read needs no alignment.
        Ok(unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
    }

    /// Takes several values of one type.
    #[inline]
    pub(crate) fn elements<T: NoRef>(&mut self) -> Result<Vec<T>, Malformed> {
        let length = self.length()?;
        if T::SHAPE.is_plain() {
            return self.plain(length);
        }
        if self.apart.is_some() {
            return Err(Malformed::instead_of::<[T]>());
        }
        // Not as many as the bytes say: they might lie.
        let mut elements = Vec::with_capacity(length.min(self.bytes.len()));
        for _ in 0..length {
            elements.push(T::decode(self)?);
        }
        Ok(elements)
    }

    /// Takes plain values.
    #[inline]
    fn plain<T: NoRef>(&mut self, length: usize) -> Result<Vec<T>, Malformed> {
        if let Some(run) = self.apart.take() {
            let values = std::mem::take(run).into_vec()?;
            return if values.len() == length { Ok(values) } else { Err(Malformed::instead_of::<[T]>()) };
        }
        let size = length.checked_mul(size_of::<T>()).ok_or_else(Malformed::instead_of::<[T]>)?;
        let bytes = self.bytes(size)?;
        let mut values = Vec::<T>::with_capacity(length);
        // SAFETY: the vector has room for `size` bytes and is new, so it does not overlap them.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), values.as_mut_ptr().cast::<u8>(), size) };
        // SAFETY: any bytes are plain values, and those of `length` values were copied.
        unsafe { values.set_len(length) };
        Ok(values)
    }

    /// Decodes one value, which must be all there is.
    pub(crate) fn decoded<T: NoRef>(bytes: &'a [u8]) -> Result<T, Malformed> {
        Self::new(bytes).all()
    }

    /// Decodes one value of which these are all parts: the encoded bytes, and what is not among them.
    pub(crate) fn decoded_parts<T: NoRef>(parts: &'a mut [Run]) -> Result<T, Malformed> {
        let (head, runs) = parts.split_first_mut().ok_or_else(Malformed::instead_of::<T>)?;
        Self { bytes: (*head).bytes(), runs: runs.iter_mut(), apart: None }.all()
    }

    fn all<T: NoRef>(mut self) -> Result<T, Malformed> {
        let value = T::decode(&mut self)?;
        let is_all = self.bytes.is_empty() && self.runs.len() == 0 && self.apart.is_none();
        if is_all { Ok(value) } else { Err(Malformed::instead_of::<T>()) }
    }
}
