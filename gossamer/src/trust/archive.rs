//! [`Archive`]: a value that the receiver reads without decoding it, by the crate rkyv.
#![expect(unsafe_code, reason = "`NoRef` is an unsafe trait; reading unchecked is the caller's promise")]

use crate::lane::operation::refuse_captures;
use crate::trust::apply::rethrow;
use crate::trust::{NoRef, Trust};
use crate::wire::decoder::Decoder;
use crate::wire::encoder::Encoder;
use crate::wire::refusal::Malformed;
use rkyv::api::high::{HighSerializer, HighValidator};
use rkyv::bytecheck::CheckBytes;
use rkyv::rancor;
use rkyv::ser::allocator::ArenaHandle;
use rkyv::util::AlignedVec;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;

/// A value archived by the crate rkyv. It travels as bytes, and the receiver reads it in place: nothing is
/// decoded, so a large value is cheap if little of it is used.
///
/// It can be a capture, an argument or a result. [`Trust::apply_archived`] archives its argument.
///
/// ```
/// # gossamer::rack::run_in_process(2, gossamer::Config::default(), || {
/// use gossamer::Archive;
/// let names: Vec<String> = (0..1000).map(|number| format!("name {number}")).collect();
/// let there = gossamer::rack::workers()[1].entrust(0_usize);
/// let archive = Archive::of(&names).unwrap();
/// let length = there.apply_with(const { |_, names: Archive<Vec<String>>| names.get().unwrap()[7].len() }, archive);
/// assert_eq!(length, 6);
/// # });
/// ```
pub struct Archive<T> {
    bytes: AlignedVec,
    of: PhantomData<fn() -> T>,
}

impl<T: rkyv::Archive> Archive<T> {
    /// Archives a value.
    ///
    /// ```
    /// use gossamer::Archive;
    /// let names = Archive::of(&vec!["Ada".to_owned(), "Alan".to_owned()]).unwrap();
    /// assert_eq!(names.get().unwrap()[1].as_str(), "Alan");
    /// ```
    ///
    /// # Errors
    /// If rkyv cannot archive it.
    pub fn of(value: &T) -> Result<Self, rancor::Error>
    where
        T: for<'a> rkyv::Serialize<HighSerializer<AlignedVec, ArenaHandle<'a>, rancor::Error>>,
    {
        rkyv::to_bytes(value).map(|bytes| Self { bytes, of: PhantomData })
    }

    /// The archived value, after checking all its bytes.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{Archive, Trustee};
    /// let longest = Trustee::all()[1].entrust(0_usize);
    /// let read = |longest: &mut usize, names: Archive<Vec<String>>| match names.get() {
    ///     Ok(names) => *longest = names.iter().map(|name| name.len()).max().unwrap_or(0), // decodes none of them
    ///     Err(error) => eprintln!("not names: {error}"),
    /// };
    /// longest.apply_with(read, Archive::of(&vec!["Ada".to_owned(), "Alan".to_owned()]).unwrap());
    /// assert_eq!(longest.apply(|longest| *longest), 4);
    /// # });
    /// ```
    ///
    /// # Errors
    /// If the bytes are not such a value.
    pub fn get(&self) -> Result<&T::Archived, rancor::Error>
    where
        T::Archived: for<'a> CheckBytes<HighValidator<'a, rancor::Error>>,
    {
        rkyv::access(&self.bytes)
    }

    /// The archived value, without checking its bytes: in constant time.
    ///
    /// ```
    /// use gossamer::Archive;
    /// let names = Archive::of(&vec!["Ada".to_owned(), "Alan".to_owned()]).unwrap();
    /// // SAFETY: it was archived above.
    /// assert_eq!(unsafe { names.get_unchecked() }.len(), 2);
    /// ```
    ///
    /// # Safety
    /// The bytes must be those of such a value. What nodes of one application send each other is.
    pub unsafe fn get_unchecked(&self) -> &T::Archived {
        // SAFETY: guaranteed by the caller.
        unsafe { rkyv::access_unchecked(&self.bytes) }
    }
}

impl<T> fmt::Debug for Archive<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Archive<{}>({} bytes)", std::any::type_name::<T>(), self.bytes.len())
    }
}

// SAFETY: it owns its bytes, in which every pointer is relative.
unsafe impl<T: 'static> NoRef for Archive<T> {
    fn encode(self, to: &mut Encoder) {
        to.length(self.bytes.len());
        to.bytes(&self.bytes);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        let length = from.length()?;
        let mut bytes = AlignedVec::new();
        bytes.extend_from_slice(from.bytes(length)?);
        Ok(Self { bytes, of: PhantomData })
    }
}

impl<T: 'static> Trust<T> {
    /// Applies a closure with an argument that it reads in its archived form, in place: checked, and not decoded.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || {
    /// let sum = gossamer::entrust(0_u64);
    /// let total = sum.apply_archived(
    ///     |sum, numbers| {
    ///         *sum += numbers.iter().map(|number| number.to_native()).sum::<u64>();
    ///         *sum
    ///     },
    ///     &vec![1_u64, 2, 3],
    /// );
    /// assert_eq!(total, 6);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`apply`](Self::apply); and if rkyv cannot archive the argument.
    #[track_caller]
    pub fn apply_archived<C, U: NoRef, F>(&self, closure: F, argument: &C) -> U
    where
        C: rkyv::Archive + 'static,
        C: for<'a> rkyv::Serialize<HighSerializer<AlignedVec, ArenaHandle<'a>, rancor::Error>>,
        C::Archived: for<'a> CheckBytes<HighValidator<'a, rancor::Error>>,
        F: FnOnce(&mut T, &C::Archived) -> U + Send,
    {
        const { refuse_captures::<F>() };
        let archive = Archive::of(argument).unwrap_or_else(|error| panic!("`apply_archived`: {error}"));
        let read = move |property: &mut T, archive: Archive<C>| match archive.get() {
            Ok(archived) => closure(property, archived),
            Err(error) => panic!(
                "`apply_archived`: the bytes that arrived are not a `{}`: {error}",
                std::any::type_name::<C>()
            ),
        };
        match self.target().call::<F, _, _, _>("apply_archived", read, archive) {
            Ok(result) => result,
            Err(error) => rethrow(error, Location::caller()),
        }
    }

    #[doc(hidden)]
    #[inline(always)]
    #[track_caller]
    pub fn __apply_archived<C, U: NoRef, F>(&self, argument: &C, closure: F) -> U
    where
        C: rkyv::Archive + 'static,
        C: for<'a> rkyv::Serialize<HighSerializer<AlignedVec, ArenaHandle<'a>, rancor::Error>>,
        C::Archived: for<'a> CheckBytes<HighValidator<'a, rancor::Error>>,
        F: FnOnce(&mut T, &C::Archived) -> U + Send,
    {
        self.apply_archived(closure, argument)
    }
}
