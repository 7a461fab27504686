//! Encoding values as bytes, for other processes of the same program.
//!
//! Within a process values are simply moved. For another node [`NoRef::encode`] turns a value into bytes; it consumes
//! the value, since what the value owns (for example a trust) goes with it. A value that does not leave after all is
//! decoded again where it was encoded, so that everything it owned can be dropped.
//!
//! Invariant B4: `left` bytes from `next` on are writable, and nobody else's, for as long as the encoder is used.
#![expect(unsafe_code, reason = "bytes of values, and words of a slot that are written as bytes (B4)")]

use crate::wire::NoRef;
use crate::wire::decoder::Decoder;
use crate::wire::length::LengthWord;
use crate::wire::refusal::{Refusal, Why};
use crate::wire::row::{LONG, Row};
use crate::wire::rows::Rows;
use crate::wire::word::Word;
use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Collects the bytes of values.
pub struct Encoder {
    to: Sink,
    /// The rows that are not among the bytes, in the order in which the bytes refer to them.
    rows: Vec<Row>,
    /// The first value that cannot leave its node.
    refusal: Option<Refusal>,
    kept: Kept,
    /// What to do if a panic interrupts the encoding.
    undo: Vec<Box<dyn FnOnce()>>,
    /// Whether long rows of plain values are kept apart.
    keeps_rows: bool,
}

enum Sink {
    Memory(Vec<u8>),
    /// B4.
    Slot {
        next: *mut u8,
        left: usize,
    },
}

/// Refused values, each with the number of bytes before it.
pub(crate) type Kept = VecDeque<(usize, Box<dyn Any>)>;

impl Default for Encoder {
    fn default() -> Self {
        Self::to(Sink::Memory(Vec::new()))
    }
}

impl fmt::Debug for Encoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoder").field("refusal", &self.refusal).finish_non_exhaustive()
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        self.undo.drain(..).for_each(|undo| undo());
    }
}

impl Encoder {
    #[inline(always)]
    fn to(to: Sink) -> Self {
        let (rows, kept, undo) = (Vec::new(), VecDeque::new(), Vec::new());
        Self { to, rows, refusal: None, kept, undo, keeps_rows: false }
    }

    /// Keeps a value that cannot leave the node that made it. Its request fails, and everything sent with it is given
    /// back: `decode` of its type is called, where [`Decoder::given_back`] returns the value.
    ///
    /// ```
    /// use gossamer::{Config, Decoder, Encoder, Malformed, NoRef, Reason, rack};
    ///
    /// /// A number that only means something to this process, such as a descriptor.
    /// struct Local(u32);
    ///
    /// // SAFETY: it has no references.
    /// unsafe impl NoRef for Local {
    ///     fn encode(self, to: &mut Encoder) {
    ///         to.refuse(self);
    ///     }
    ///
    ///     fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
    ///         from.given_back().ok_or_else(Malformed::instead_of::<Self>)
    ///     }
    /// }
    ///
    /// rack::run_in_process(2, Config::default().threads(1), || {
    ///     let take = const { |_: &mut (), local: Local| local.0 };
    ///     let [near, far] = [0, 1].map(|worker| rack::workers()[worker].entrust(()));
    ///     assert_eq!(near.apply_with(take, Local(7)), 7); // on this node it is simply moved
    ///     assert!(matches!(far.try_apply_with(take, Local(7)).unwrap_err().reason(), Reason::Stays { .. }));
    /// });
    /// ```
    #[cold]
    pub fn refuse<T: 'static>(&mut self, value: T) {
        self.refuse_because(value, Why::NotEncoded);
    }

    /// Like `refuse`.
    #[cold]
    pub(crate) fn refuse_because<T: 'static>(&mut self, value: T, why: Why) {
        self.refusal.get_or_insert(Refusal::of::<T>(why));
        let Sink::Memory(bytes) = &self.to else { unreachable!("values of bounded shapes are not refused") };
        self.kept.push_back((bytes.len(), Box::new(value)));
    }

    /// Registers what to do if a panic of the program interrupts the encoding, so that there is no complete value.
    pub(crate) fn undo(&mut self, undo: impl FnOnce() + 'static) {
        self.undo.push(Box::new(undo));
    }

    /// Adds bytes as they are.
    ///
    /// ```
    /// use gossamer::{Decoder, Encoder, Malformed, NoRef};
    ///
    /// struct Digest([u8; 32]);
    ///
    /// // SAFETY: it has no references.
    /// unsafe impl NoRef for Digest {
    ///     fn encode(self, to: &mut Encoder) {
    ///         to.bytes(&self.0);
    ///     }
    ///
    ///     fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
    ///         from.bytes(32)?.try_into().map(Self).map_err(|_| Malformed::instead_of::<Self>())
    ///     }
    /// }
    ///
    /// # gossamer::rack::run_in_process(2, gossamer::Config::default().threads(1), || {
    /// let far = gossamer::rack::workers()[1].entrust(Vec::<[u8; 32]>::new());
    /// far.apply_with(const { |seen: &mut Vec<[u8; 32]>, digest: Digest| seen.push(digest.0) }, Digest([7; 32]));
    /// assert_eq!(far.apply(const { |seen: &mut Vec<[u8; 32]>| seen[0][31] }), 7);
    /// # });
    /// ```
    #[inline(always)]
    pub fn bytes(&mut self, bytes: &[u8]) {
        match &mut self.to {
            Sink::Memory(all) => all.extend_from_slice(bytes),
            Sink::Slot { next, left } => {
                assert!(bytes.len() <= *left, "a value has more bytes than its shape says");
                // SAFETY: B4: there is room (asserted), which the bytes are not part of.
                unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), *next, bytes.len()) };
                (*next, *left) = (next.wrapping_add(bytes.len()), *left - bytes.len());
            }
        }
    }

    /// Adds the number of elements that follow.
    ///
    /// ```
    /// use gossamer::{Decoder, Encoder, Malformed, NoRef};
    /// use std::sync::Arc;
    ///
    /// /// A text of which the process has one copy.
    /// struct Name(Arc<str>);
    ///
    /// // SAFETY: it has no references.
    /// unsafe impl NoRef for Name {
    ///     fn encode(self, to: &mut Encoder) {
    ///         to.length(self.0.len());
    ///         to.bytes(self.0.as_bytes());
    ///     }
    ///
    ///     fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
    ///         let length = from.length()?;
    ///         let text = std::str::from_utf8(from.bytes(length)?).map_err(|_| Malformed::instead_of::<Self>())?;
    ///         Ok(Self(text.into()))
    ///     }
    /// }
    ///
    /// # gossamer::rack::run_in_process(2, gossamer::Config::default().threads(1), || {
    /// let far = gossamer::rack::workers()[1].entrust(String::new());
    /// far.apply_with(const { |all: &mut String, name: Name| all.push_str(&name.0) }, Name("Ada".into()));
    /// assert_eq!(far.apply(const { |all: &mut String| all.len() }), 3);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If there are 2^63 or more, which is only possible for elements without size.
    #[inline(always)]
    pub fn length(&mut self, length: usize) {
        self.bytes(&LengthWord::of_elements(length).pack().to_ne_bytes());
    }

    /// Adds the bytes of a value.
    #[inline(always)]
    pub(crate) fn dense<T: NoRef>(&mut self, value: T) {
        const { assert!(T::SHAPE.is_dense(), "only dense values are their bytes") };
        let value = ManuallyDrop::new(value);
        // SAFETY: a dense value has no padding, so all its bytes are initialised.
        let bytes = unsafe { std::slice::from_raw_parts((&raw const value).cast::<u8>(), size_of::<T>()) };
        self.bytes(bytes);
    }

    /// Adds several values of one type.
    #[inline]
    pub(crate) fn elements<T: NoRef>(&mut self, values: Vec<T>) {
        let length = values.len();
        if !T::SHAPE.is_plain() {
            self.length(length);
            return values.into_iter().for_each(|value| value.encode(self));
        }
        let is_long = size_of_val(&values[..]) >= LONG;
        // They are moved: their destructors belong to the other end.
        let row = Row::of(values);
        if self.keeps_rows && is_long {
            self.bytes(&LengthWord::Apart(length as u64).pack().to_ne_bytes());
            self.rows.push(row);
        } else {
            self.length(length);
            self.bytes(row.bytes());
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

    /// Adds a row as bytes of another encoded value, kept apart if allowed.
    pub(crate) fn row(&mut self, row: Row) {
        if self.keeps_rows {
            self.rows.push(row);
        } else {
            unreachable!("an encoded value travels in rows")
        }
    }

    /// Encodes a value of a bounded shape into words of a slot: its bytes, then zeros.
    ///
    /// # Panics
    /// If there is no room for it.
    #[inline(always)]
    pub(crate) fn fill<T: NoRef>(words: &mut [Word], value: T) {
        words.fill(Word::new(0));
        let to = Sink::Slot { next: words.as_mut_ptr().cast(), left: size_of_val(words) };
        let mut encoder = ManuallyDrop::new(Self::to(to));
        // It has allocated nothing, so there is nothing to undo.
        value.encode(&mut encoder);
    }

    /// What was encoded, as a value of type `T`.
    ///
    /// # Errors
    /// If there is something in it that cannot leave.
    fn finish<T: NoRef>(mut self) -> Result<Marshalled<T>, Refused<T>> {
        let take = std::mem::take::<Vec<u8>>;
        let bytes = if let Sink::Memory(bytes) = &mut self.to { take(bytes) } else { Vec::new() };
        let (long, kept) = (std::mem::take(&mut self.rows), std::mem::take(&mut self.kept));
        let is_unique = !self.undo.is_empty();
        // It is a complete value now, which can be decoded again.
        self.undo.clear();
        let rows = Rows { bytes, long };
        let marshalled = Marshalled { rows, kept, is_unique, is_sent: false, of: PhantomData };
        match self.refusal.take() {
            None => Ok(marshalled),
            Some(refusal) => Err(Refused { refusal, value: marshalled.open() }),
        }
    }

    /// Encodes one value.
    ///
    /// # Errors
    /// If there is something in it that cannot leave.
    pub(crate) fn marshal<T: NoRef>(value: T) -> Result<Marshalled<T>, Refused<T>> {
        let mut encoder = Self::default();
        value.encode(&mut encoder);
        encoder.finish()
    }

    /// Encodes one value whose long rows of plain values stay where they are.
    ///
    /// # Errors
    /// If there is something in it that cannot leave.
    pub(crate) fn marshal_in_rows<T: NoRef>(value: T) -> Result<Marshalled<T>, Refused<T>> {
        let mut encoder = Self::default();
        encoder.keeps_rows = true;
        value.encode(&mut encoder);
        encoder.finish()
    }

    /// Encodes one value that leaves at once.
    ///
    /// # Errors
    /// If there is something in it that cannot leave.
    pub(crate) fn encoded<T: NoRef>(value: T) -> Result<Vec<u8>, Refused<T>> {
        Self::marshal(value).map(|marshalled| marshalled.send().into_bytes())
    }

    /// Encodes one value for `nodes` nodes: once if all may decode the same bytes, otherwise for each, since a trust
    /// is lent to one node.
    ///
    /// # Errors
    /// If there is something in it that cannot leave; then nothing does.
    pub(crate) fn encoded_for<T: NoRef + Clone>(nodes: usize, value: &T) -> Result<Vec<Vec<u8>>, Refused<T>> {
        let mut all = vec![Self::marshal(value.clone())?];
        if all[0].is_unique() {
            for _ in 1..nodes {
                all.push(Self::marshal(value.clone())?);
            }
        }
        Ok(all.into_iter().map(|marshalled| marshalled.send().into_bytes()).collect())
    }
}

/// A value that cannot leave its node.
pub(crate) struct Refused<T> {
    pub(crate) refusal: Refusal,
    /// The complete value, unless a `decode` of the program has lost it.
    pub(crate) value: Option<T>,
}

impl<T> Refused<T> {
    /// The reason, after dropping the value: it is dropped before the panic that reports the reason, during which a
    /// destructor must not panic.
    pub(crate) fn into_refusal(self) -> Refusal {
        drop(self.value);
        self.refusal
    }
}

impl<T> fmt::Debug for Refused<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Refused").field(&self.refusal).finish()
    }
}

/// An encoded value that has not left yet. Dropping it drops what the value owns.
pub(crate) struct Marshalled<T: NoRef> {
    rows: Rows,
    kept: Kept,
    is_unique: bool,
    is_sent: bool,
    of: PhantomData<fn() -> T>,
}

impl<T: NoRef> Marshalled<T> {
    pub(crate) fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Whether it owns counted things, so that it can leave only once.
    pub(crate) fn is_unique(&self) -> bool {
        self.is_unique
    }

    /// The bytes, which leave now.
    pub(crate) fn send(mut self) -> Rows {
        self.is_sent = true;
        std::mem::take(&mut self.rows)
    }

    /// The value.
    fn open(mut self) -> Option<T> {
        self.is_sent = true;
        Decoder::given_back_whole(&mut self.rows, &mut self.kept)
    }
}

impl<T: NoRef> Drop for Marshalled<T> {
    fn drop(&mut self) {
        if self.is_sent {
            return;
        }
        let mut give_back = || drop(Decoder::given_back_whole::<T>(&mut self.rows, &mut self.kept));
        if std::thread::panicking() {
            // A second panic, of a destructor or of a `decode`, would end the process. The hook has reported it.
            let _reported = catch_unwind(AssertUnwindSafe(give_back));
        } else {
            give_back();
        }
    }
}

impl<T: NoRef> fmt::Debug for Marshalled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Marshalled").field("rows", &self.rows).finish_non_exhaustive()
    }
}
