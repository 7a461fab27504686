//! Large vectors that are accessed at random, on large pages, whose addresses the processor translates from its caches.

/// Bytes of a large page.
const LARGE_PAGE: usize = 2 << 20;
/// Bytes of a page.
const PAGE: usize = 4096;

/// An empty vector with room for this many values, on large pages if there are many values and the kernel has such
/// pages.
///
/// It takes no more memory: a page is large only where the vector fills it.
pub(crate) fn with_capacity<T>(capacity: usize) -> Vec<T> {
    let values = Vec::with_capacity(capacity);
    let bytes = values.capacity().saturating_mul(size_of::<T>());
    if bytes >= 2 * LARGE_PAGE {
        let start = values.as_ptr() as usize;
        let (first, end) = (start.next_multiple_of(PAGE), (start + bytes) / PAGE * PAGE);
        // SAFETY: advice about whole pages within memory of our own, whose contents stay. If a kernel does not follow
        // it, nothing is lost.
        unsafe { libc::madvise(first as *mut libc::c_void, end - first, libc::MADV_HUGEPAGE) };
    }
    values
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{LARGE_PAGE, with_capacity};

    #[test]
    fn a_vector_has_the_room_that_was_asked_for() {
        for capacity in [0, 1, 1000, LARGE_PAGE, LARGE_PAGE + 7] {
            let mut values = with_capacity::<u64>(capacity);
            assert!(values.is_empty() && values.capacity() >= capacity);
            let start = values.as_ptr();
            values.extend(0..capacity as u64);
            assert!(values.as_ptr() == start && values.into_iter().eq(0..capacity as u64));
        }
        assert_eq!(with_capacity::<()>(usize::MAX).len(), 0);
    }
}
