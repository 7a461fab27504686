//! Stacks of fibers, cut from a few large mappings so that 100,000 of them fit a default kernel.
//!
//! Invariants
//! - S1: a stack's address range lies inside one chunk of its pool, and no two live `Stack`s overlap: an
//!   address leaves `free` (or is first cut from a chunk) when a `Stack` is made and returns when it drops.
//! - S2: the lowest page of every stack faults on access from before its first use until the pool is unmapped.
//! - S3: a chunk is unmapped only when the pool drops, and every `Stack` keeps its pool alive.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;
use std::num::NonZeroUsize;
use std::ptr::null_mut;
use std::rc::Rc;

/// `MADV_GUARD_INSTALL` (Linux 6.13): makes pages fault without a mapping of their own.
const MADV_GUARD_INSTALL: libc::c_int = 102;
/// Size of a guard page, and the unit stack sizes are rounded to.
pub(crate) const PAGE: usize = 4096;
/// Stacks start at this many different places in their top page. Were they all alike, the hot ends of all stacks would
/// fall into the same few sets of the cache.
const COLOURS: usize = 32;
const COLOUR_BYTES: usize = 64;
/// Stacks in the first chunk of a pool; each further chunk doubles what there is, up to `LARGEST_CHUNK` bytes.
const FIRST_CHUNK: usize = 16;
const LARGEST_CHUNK: usize = 64 << 20;

/// Why no stack could be had for a fiber.
#[derive(Debug)]
pub(crate) struct StackError {
    step: &'static str,
    live: usize,
    source: io::Error,
}

impl fmt::Display for StackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no stack for another fiber: {} failed with {} fiber stacks on this worker: {}; \
             raise the limit that stopped it (vm.max_map_count, vm.overcommit_memory, ulimit -v, or the memory \
             of the machine or control group) or make the stacks smaller (Config::stack_size)",
            self.step, self.live, self.source
        )
    }
}

/// All stacks of one worker.
#[derive(Debug)]
pub(crate) struct StackPool {
    /// Bytes of one stack, its guard page included.
    size: usize,
    chunks: RefCell<Vec<(usize, usize)>>,
    free: RefCell<Vec<usize>>,
    cut: Cell<usize>,
}

impl StackPool {
    /// A pool of stacks of at least `usable` bytes each; nothing is mapped yet.
    pub(crate) fn new(usable: usize) -> Rc<Self> {
        let usable = usable.max(4 * PAGE).next_multiple_of(PAGE);
        Rc::new(Self {
            size: usable + PAGE,
            chunks: RefCell::default(),
            free: RefCell::default(),
            cut: Cell::new(0),
        })
    }

    /// A stack that nothing else uses.
    ///
    /// # Errors
    /// If the kernel gives no more memory or mappings.
    pub(crate) fn take(self: &Rc<Self>) -> Result<Stack, StackError> {
        let free = self.free.borrow_mut().pop();
        let Some(limit) = free else {
            self.grow()?;
            return self.take();
        };
        let colour = limit / self.size % COLOURS * COLOUR_BYTES;
        Ok(Stack { limit, base: limit + self.size - colour, pool: Rc::clone(self) })
    }

    /// Maps one more chunk and puts its stacks on the free list.
    fn grow(&self) -> Result<(), StackError> {
        let count = FIRST_CHUNK.max(self.cut.get()).min(LARGEST_CHUNK / self.size).max(1);
        let bytes = count * self.size;
        let fail =
            |step, source| StackError { step, live: self.cut.get() - self.free.borrow().len(), source };
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice touches no existing memory.
        let base = unsafe { libc::mmap(null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(fail("mmap", io::Error::last_os_error()));
        }
        // Huge pages would make every fiber cost 2 MiB of memory; a refusal only costs memory, so it is ignored.
        // SAFETY: the range is the mapping made above.
        unsafe { libc::madvise(base, bytes, libc::MADV_NOHUGEPAGE) };
        let base = base as usize;
        for limit in (base..base + bytes).step_by(self.size) {
            if let Err(error) = install_guard(limit) {
                // SAFETY: the range is the mapping made above, and no stack of it was handed out.
                unsafe { libc::munmap(base as *mut _, bytes) };
                return Err(fail("protecting a guard page", error));
            }
        }
        self.chunks.borrow_mut().push((base, bytes));
        self.free.borrow_mut().extend((base..base + bytes).step_by(self.size).rev());
        self.cut.set(self.cut.get() + count);
        Ok(())
    }
}

impl Drop for StackPool {
    fn drop(&mut self) {
        for (base, bytes) in self.chunks.get_mut().drain(..) {
            // SAFETY: S3: no `Stack` is left, so nothing runs on, or points into, this mapping of ours.
            unsafe { libc::munmap(base as *mut _, bytes) };
        }
    }
}

/// Makes the page at `address` fault (S2): without a mapping of its own where the kernel can.
fn install_guard(address: usize) -> io::Result<()> {
    // SAFETY: the page is the lowest of a stack that nobody uses yet.
    if unsafe { libc::madvise(address as *mut _, PAGE, MADV_GUARD_INSTALL) } == 0 {
        return Ok(());
    }
    // SAFETY: as above.
    match unsafe { libc::mprotect(address as *mut _, PAGE, libc::PROT_NONE) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Gives back to the kernel the memory of a stack that lies in whole pages below `used`, down to the guard page at
/// `guard`. The next read there finds zeros.
///
/// # Safety
/// The guard page is that of a live `Stack` on which nothing runs, and nothing below `used` will be read before it is written.
pub(crate) unsafe fn give_back_below(guard: usize, used: usize) {
    let (first, end) = (guard + PAGE, used / PAGE * PAGE);
    if first < end {
        // SAFETY: S1: the range belongs to one stack alone, and the caller's promise. A refusal costs only memory.
        unsafe { libc::madvise(first as *mut _, end - first, libc::MADV_DONTNEED) };
    }
}

/// One stack; dropping it returns its memory to the kernel and its address to the pool.
#[derive(Debug)]
pub(crate) struct Stack {
    limit: usize,
    /// Where its first frame begins, a few lines below its end.
    base: usize,
    pool: Rc<StackPool>,
}

impl Stack {
    /// The lowest address: the guard page.
    pub(crate) fn guard(&self) -> usize {
        self.limit
    }

    /// Bytes above the guard page.
    pub(crate) fn usable(&self) -> usize {
        self.pool.size - PAGE
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        let usable = (self.limit + PAGE) as *mut libc::c_void;
        // SAFETY: S1: the range belongs to this stack alone, and nothing runs on it any more. A refusal costs only
        // memory.
        unsafe { libc::madvise(usable, self.usable(), libc::MADV_DONTNEED) };
        self.pool.free.borrow_mut().push(self.limit);
    }
}

// SAFETY: S1 and S2: the range is exclusive, has a guard page at its low end, and is at least 4 pages above it.
unsafe impl corosensei::stack::Stack for Stack {
    fn base(&self) -> NonZeroUsize {
        NonZeroUsize::new(self.base).unwrap_or(NonZeroUsize::MIN)
    }

    fn limit(&self) -> NonZeroUsize {
        NonZeroUsize::new(self.limit).unwrap_or(NonZeroUsize::MIN)
    }
}
