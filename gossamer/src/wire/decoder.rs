//! Decoding values from bytes.
//!
//! Invariant B1: the bytes in a decoder were made by an encoder of the same program, in the order in which they are
//! read: nodes prove to each other that they belong to one application and run one build before they send anything.
//! Each type reads what it has written (`NoRef`'s contract), so the bytes of two types are not confused. What can be
//! checked without this is checked all the same: lengths, tags, text.
#![expect(unsafe_code, reason = "dense values are copied as bytes (B1)")]

use crate::wire::NoRef;
use crate::wire::encoder::Kept;
use crate::wire::length::LengthWord;
use crate::wire::refusal::Malformed;
use crate::wire::row::Row;
use crate::wire::rows::Rows;
use std::fmt;

/// Takes values out of bytes, in the order in which they were encoded.
pub struct Decoder<'a> {
    bytes: &'a [u8],
    /// The rows that are not among the bytes.
    rows: std::slice::IterMut<'a, Row>,
    /// The row of the elements whose number was taken last.
    apart: Option<&'a mut Row>,
    /// When values go back to their sender: the number of bytes, and the refused values.
    back: Option<(usize, &'a mut Kept)>,
}

impl fmt::Debug for Decoder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder").field("bytes", &self.bytes.len()).finish_non_exhaustive()
    }
}

impl<'a> Decoder<'a> {
    #[inline(always)]
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, rows: [].iter_mut(), apart: None, back: None }
    }

    /// The value that [`Encoder::refuse`](crate::Encoder::refuse) was given at this position, if a message that did
    /// not leave is being decoded again. Types that may refuse a value must ask for it first.
    ///
    /// ```
    /// use gossamer::{Config, Decoder, Encoder, Malformed, NoRef, Reason, rack};
    /// use std::fs::File;
    ///
    /// /// Text, which can be sent to another node, or a file, which cannot.
    /// enum Source {
    ///     Text(String),
    ///     File(File),
    /// }
    ///
    /// // SAFETY: it has no references.
    /// unsafe impl NoRef for Source {
    ///     fn encode(self, to: &mut Encoder) {
    ///         match self {
    ///             Self::Text(text) => text.encode(to),
    ///             file => to.refuse(file),
    ///         }
    ///     }
    ///
    ///     fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
    ///         match from.given_back() {
    ///             Some(file) => Ok(file), // it has not left
    ///             None => String::decode(from).map(Self::Text),
    ///         }
    ///     }
    /// }
    ///
    /// rack::run_in_process(2, Config::default().threads(1), || {
    ///     let far = rack::workers()[1].entrust(());
    ///     let length = const {
    ///         |_: &mut (), source: Source| match source {
    ///             Source::Text(text) => text.len(),
    ///             Source::File(_) => 0,
    ///         }
    ///     };
    ///     assert_eq!(far.apply_with(length, Source::Text("tea".to_owned())), 3);
    ///     let error = far.try_apply_with(length, Source::File(File::open("/dev/null").unwrap())).unwrap_err();
    ///     assert!(matches!(error.reason(), Reason::Stays { .. }));
    /// });
    /// ```
    #[inline]
    pub fn given_back<T: 'static>(&mut self) -> Option<T> {
        let (all, kept) = self.back.as_mut()?;
        let (at, value) = kept.front()?;
        if *at + self.bytes.len() != *all || !value.is::<T>() {
            return None;
        }
        kept.pop_front()?.1.downcast().ok().map(|value| *value)
    }

    /// Takes bytes as they are.
    ///
    /// ```
    /// use gossamer::{Decoder, Encoder, Malformed, NoRef};
    ///
    /// struct Version {
    ///     major: u8,
    ///     minor: u8,
    /// }
    ///
    /// // SAFETY: it has no references.
    /// unsafe impl NoRef for Version {
    ///     fn encode(self, to: &mut Encoder) {
    ///         to.bytes(&[self.major, self.minor]);
    ///     }
    ///
    ///     fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
    ///         match from.bytes(2)? {
    ///             &[major, minor] if major > 0 => Ok(Self { major, minor }),
    ///             _ => Err(Malformed::instead_of::<Self>()),
    ///         }
    ///     }
    /// }
    ///
    /// # gossamer::rack::run_in_process(2, gossamer::Config::default().threads(1), || {
    /// let far = gossamer::rack::workers()[1].entrust(0_u8);
    /// let note = const { |minor: &mut u8, version: Version| *minor = version.minor };
    /// far.apply_with(note, Version { major: 1, minor: 7 });
    /// assert_eq!(far.apply(const { |minor: &mut u8| *minor }), 7);
    /// # });
    /// ```
    ///
    /// # Errors
    /// If there are fewer.
    #[inline]
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        if let Some(row) = self.apart.take() {
            let bytes = &(*row).bytes();
            return if bytes.len() == count { Ok(bytes) } else { Err(Malformed::instead_of::<[u8]>()) };
        }
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or_else(Malformed::instead_of::<[u8]>)?;
        self.bytes = rest;
        Ok(taken)
    }

    /// Takes the number of elements.
    ///
    /// ```
    /// use gossamer::{Decoder, Encoder, Malformed, NoRef};
    /// use std::collections::VecDeque;
    ///
    /// /// The latest readings of a sensor.
    /// struct Readings(VecDeque<f64>);
    ///
    /// // SAFETY: it has no references.
    /// unsafe impl NoRef for Readings {
    ///     fn encode(self, to: &mut Encoder) {
    ///         to.length(self.0.len());
    ///         self.0.into_iter().for_each(|reading| reading.encode(to));
    ///     }
    ///
    ///     fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
    ///         let length = from.length()?; // not allocated at once: it may be wrong
    ///         (0..length).map(|_| f64::decode(from)).collect::<Result<_, _>>().map(Self)
    ///     }
    /// }
    ///
    /// # gossamer::rack::run_in_process(2, gossamer::Config::default().threads(1), || {
    /// let far = gossamer::rack::workers()[1].entrust(0.0_f64);
    /// let sum = const { |sum: &mut f64, readings: Readings| { *sum += readings.0.iter().sum::<f64>(); *sum } };
    /// assert_eq!(far.apply_with(sum, Readings([1.5, 2.5].into())), 4.0);
    /// # });
    /// ```
    ///
    /// # Errors
    /// If there is none.
    #[inline]
    pub fn length(&mut self) -> Result<usize, Malformed> {
        let bytes = self.bytes(size_of::<u64>())?;
        let length = match LengthWord::unpack(bytes.try_into().map_or(u64::MAX, u64::from_ne_bytes)) {
            LengthWord::Here(length) => length,
            LengthWord::Apart(length) => {
                self.apart = Some(self.rows.next().ok_or_else(Malformed::instead_of::<[u8]>)?);
                length
            }
        };
        length.try_into().map_err(|_| Malformed::instead_of::<usize>())
    }

    /// Takes a dense value.
    #[inline]
    pub(crate) fn dense<T: NoRef>(&mut self) -> Result<T, Malformed> {
        const { assert!(T::SHAPE.is_dense(), "only dense values are their bytes") };
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
        // Not as many as the bytes say, which might be wrong.
        let mut elements = Vec::with_capacity(length.min(self.bytes.len()));
        for _ in 0..length {
            elements.push(T::decode(self)?);
        }
        Ok(elements)
    }

    /// Takes plain values.
    #[inline]
    fn plain<T: NoRef>(&mut self, length: usize) -> Result<Vec<T>, Malformed> {
        if let Some(row) = self.apart.take() {
            let values = std::mem::take(row).into_vec()?;
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

    /// Decodes one value, which must use all bytes.
    pub(crate) fn decoded<T: NoRef>(bytes: &'a [u8]) -> Result<T, Malformed> {
        Self::new(bytes).all()
    }

    /// Decodes one value, which may be followed by zeros.
    #[inline(always)]
    pub(crate) fn decoded_first<T: NoRef>(bytes: &'a [u8]) -> Result<T, Malformed> {
        T::decode(&mut Self::new(bytes))
    }

    /// Takes a row, as bytes of another encoded value.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn row(&mut self) -> Result<Row, Malformed> {
        self.rows.next().map(std::mem::take).ok_or_else(Malformed::instead_of::<Row>)
    }

    /// Decodes one value that arrived in rows.
    pub(crate) fn decoded_rows<T: NoRef>(rows: &'a mut Rows) -> Result<T, Malformed> {
        Self { rows: rows.long.iter_mut(), ..Self::new(&rows.bytes) }.all()
    }

    /// Decodes a value where it was encoded, together with its refused parts. `None` if a type of the program fails.
    pub(crate) fn given_back_whole<T: NoRef>(rows: &'a mut Rows, kept: &'a mut Kept) -> Option<T> {
        let back = Some((rows.bytes.len(), kept));
        Self { back, rows: rows.long.iter_mut(), ..Self::new(&rows.bytes) }.all().ok()
    }

    fn all<T: NoRef>(mut self) -> Result<T, Malformed> {
        let value = T::decode(&mut self)?;
        let is_all = self.bytes.is_empty() && self.rows.len() == 0 && self.apart.is_none();
        if is_all { Ok(value) } else { Err(Malformed::instead_of::<T>()) }
    }
}
