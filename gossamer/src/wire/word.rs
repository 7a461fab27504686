//! Words of a slot.
#![expect(unsafe_code, reason = "words whose bytes are all initialised, as numbers")]

use core::mem::MaybeUninit;

/// A word of a batch. Inside a process values are moved into words as they are, with their padding, so not every byte of one
/// need be initialised; between processes each is (W6).
pub(crate) type Word = MaybeUninit<u64>;

/// Numbers as words.
#[inline(always)]
pub(crate) fn words_of(numbers: &[u64]) -> &[Word] {
    // SAFETY: a `MaybeUninit` has the layout of what it may hold.
    unsafe { &*(core::ptr::from_ref(numbers) as *const [Word]) }
}

/// Words as the numbers they are.
///
/// # Safety
/// All their bytes are initialised.
#[inline(always)]
pub(crate) unsafe fn initialised(words: &[Word]) -> &[u64] {
    // SAFETY: guaranteed by the caller; a `MaybeUninit` has the layout of what it may hold.
    unsafe { &*(core::ptr::from_ref(words) as *const [u64]) }
}

/// The bytes of numbers.
#[inline(always)]
pub(crate) fn bytes_of(numbers: &[u64]) -> &[u8] {
    // SAFETY: numbers are initialised, so their bytes are; the length is that of the same memory.
    unsafe { core::slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) }
}

/// The bytes of numbers, to be written.
#[inline(always)]
pub(crate) fn bytes_of_mut(numbers: &mut [u64]) -> &mut [u8] {
    // SAFETY: numbers are bytes, any bytes are numbers, and the length is that of the same memory.
    unsafe { core::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast(), size_of_val(numbers)) }
}
