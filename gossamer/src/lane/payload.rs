//! Values as words in a slot: inline when small, by a pooled box when large.
//!
//! Inside one process a value is moved as it is. The bulk path of one process is the heap: a value larger than
//! `INLINE_BYTES` is boxed and its address travels, so that a slot always has room for several requests.

/// Largest value that travels inside a slot.
pub(crate) const INLINE_BYTES: usize = 256;

/// Whether values of this type travel inside a slot.
const fn inline<V>() -> bool {
    size_of::<V>() <= INLINE_BYTES
}

/// Words a value of this type takes in a slot.
pub(crate) const fn words<V>() -> u16 {
    let bytes = if inline::<V>() { size_of::<V>() } else { size_of::<usize>() };
    bytes.div_ceil(size_of::<u64>()) as u16
}

/// Moves a value into a slot.
///
/// # Safety
/// `words::<V>()` words from `target` are writable.
#[inline(always)]
pub(crate) unsafe fn write<V>(target: *mut u64, value: V) {
    if inline::<V>() {
        // SAFETY: the words hold at least `size_of::<V>()` bytes; the write needs no alignment.
        unsafe { target.cast::<V>().write_unaligned(value) };
    } else {
        let boxed = Box::into_raw(Box::new(value));
        // SAFETY: one word is writable.
        unsafe { target.cast::<*mut V>().write(boxed) };
    }
}

/// Moves a value out of a slot.
///
/// # Safety
/// `source` holds a value written by `write::<V>` that was not read.
#[inline(always)]
pub(crate) unsafe fn read<V>(source: *const u64) -> V {
    if inline::<V>() {
        // SAFETY: `write` put the bytes of a `V` there, without alignment.
        unsafe { source.cast::<V>().read_unaligned() }
    } else {
        // SAFETY: `write` put the address of a box there.
        let boxed = unsafe { source.cast::<*mut V>().read() };
        // SAFETY: the address came from `Box::into_raw` and is taken back once.
        *unsafe { Box::from_raw(boxed) }
    }
}
