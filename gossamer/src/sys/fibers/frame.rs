//! How much of its stack a suspended fiber uses: the lines that a resume reads first, and the unused rest, which goes
//! back to the kernel.

use crate::sys::fibers::fiber::Fiber;
use crate::sys::fibers::stack::give_back_below;
use crate::sys::memory::prefetch;
use std::ptr::null;
use std::rc::Rc;

/// F5.
const SWITCH_BYTES: usize = 512;
/// Cache lines of a suspended frame that a resume reads at once.
const FRAME_LINES: usize = 5;
/// Cache lines of the fiber itself that a resume touches.
const SELF_LINES: usize = 3;

/// The stack pointer of the calling function. Null where it is not known how to read it.
#[inline(always)]
pub(super) fn stack_pointer() -> *const u64 {
    let mut here = null();
    // SAFETY: a register is read, and nothing else.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::asm!("mov {}, rsp", out(reg) here, options(nomem, nostack, preserves_flags));
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        core::arch::asm!("mov {}, sp", out(reg) here, options(nomem, nostack, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _unknown = &mut here;
    here
}

impl Fiber {
    /// Called now and then: a fiber that has been parked since the last call gives back the memory of its stack that it
    /// does not use. Returns whether the next call may find something to do.
    pub(crate) fn age(&self) -> bool {
        if !self.is_parked() {
            return true;
        }
        let age = self.age.get();
        if age == 1 {
            // SAFETY: F5, and it is suspended; the guard page is that of the stack which its coroutine owns.
            unsafe { give_back_below(self.guard, self.frame.get().addr().saturating_sub(SWITCH_BYTES)) };
        }
        self.age.set(2.min(age + 1));
        age == 0
    }

    /// Hints that this fiber will be resumed soon, after `prefetch_self` was called for it a while ago.
    #[inline(always)]
    pub(crate) fn prefetch_frame(&self) {
        for line in 0..FRAME_LINES {
            prefetch::read(self.frame.get().wrapping_add(8 * line));
        }
        // The switch writes where the stack begins.
        prefetch::read(self.yielder.get());
    }

    /// Hints that this fiber will be looked at soon.
    #[inline(always)]
    pub(crate) fn prefetch_self(self: &Rc<Self>) {
        // Its counts lie before it.
        let start = Rc::as_ptr(self).cast::<u64>().wrapping_sub(2);
        for line in 0..SELF_LINES {
            prefetch::read(start.wrapping_add(8 * line));
        }
    }
}
