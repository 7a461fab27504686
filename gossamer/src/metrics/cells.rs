//! Where the program's own metrics are counted: each thread has cells of its own, which only it writes; a reader adds
//! them up. So workers share no cache line, and other threads work in the same way.

use crate::counters::Count;
use crate::worker;
use std::cell::OnceCell;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Cells that a thread gets at once.
const CHUNK: usize = 512;
/// Chunks that there can be. A histogram takes half of one, a counter one cell.
const CHUNKS: usize = 128;
/// How many cells there can be.
pub(super) const CELLS: usize = CHUNK * CHUNKS;

/// The cells of one thread.
struct Slab {
    /// The runtime that the thread is a worker of, by the number of its first worker.
    runtime: Option<u32>,
    chunks: [OnceLock<Box<[Count]>>; CHUNKS],
}

impl Slab {
    #[inline]
    fn add(&self, cell: usize, more: u64) {
        self.cell(cell).add(more);
    }

    #[inline]
    fn cell(&self, cell: usize) -> &Count {
        let chunk = self.chunks[cell / CHUNK].get_or_init(|| (0..CHUNK).map(|_| Count::default()).collect());
        &chunk[cell % CHUNK]
    }

    /// The value of a cell, for any reader.
    fn read(&self, cell: usize) -> u64 {
        self.chunks[cell / CHUNK].get().map_or(0, |chunk| chunk[cell % CHUNK].get())
    }
}

/// The cells of live threads, and the sums that ended threads have left.
struct Slabs {
    live: Vec<Arc<Slab>>,
    left: Vec<u64>,
}

static SLABS: Mutex<Slabs> = Mutex::new(Slabs { live: Vec::new(), left: Vec::new() });

fn slabs() -> MutexGuard<'static, Slabs> {
    SLABS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Slabs {
    fn leave(&mut self, cell: usize, more: u64) {
        if self.left.len() <= cell {
            self.left.resize(cell + 1, 0);
        }
        self.left[cell] = self.left[cell].wrapping_add(more);
    }
}

/// This thread's.
struct Own(OnceCell<Arc<Slab>>);

impl Own {
    #[inline]
    fn slab(&self) -> &Slab {
        self.0.get_or_init(|| {
            let runtime = worker::with(|here| here.map(|here| here.shared.base));
            let slab = Arc::new(Slab { runtime, chunks: [const { OnceLock::new() }; CHUNKS] });
            slabs().live.push(Arc::clone(&slab));
            slab
        })
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let Some(own) = self.0.take() else { return };
        let mut slabs = slabs();
        slabs.live.retain(|slab| !Arc::ptr_eq(slab, &own));
        for chunk in (0..CHUNKS).filter(|chunk| own.chunks[*chunk].get().is_some()) {
            for cell in chunk * CHUNK..(chunk + 1) * CHUNK {
                let count = own.read(cell);
                if count != 0 {
                    slabs.leave(cell, count);
                }
            }
        }
    }
}

thread_local! {
    static OWN: Own = const { Own(OnceCell::new()) };
}

/// Adds to a cell of this thread.
#[inline]
pub(super) fn add(cell: usize, more: u64) {
    // A thread that is ending has none any more.
    if OWN.try_with(|own| own.slab().add(cell, more)).is_err() {
        slabs().leave(cell, more);
    }
}

/// Sets a cell of this thread; a thread that is ending has none any more.
pub(super) fn set(cell: usize, value: u64) {
    let _gone = OWN.try_with(|own| own.slab().cell(cell).set(value));
}

/// The node that reads, and whether it also reports what belongs to no node.
#[derive(Clone, Copy)]
pub(super) struct Reader {
    /// By the number of its first worker.
    pub(super) runtime: u32,
    /// It reports threads that are not workers, and threads that have ended.
    pub(super) of_others: bool,
}

/// Sums of cells, as one node has them.
pub(super) fn read<R>(reader: Reader, f: impl FnOnce(&dyn Fn(usize) -> u64) -> R) -> R {
    let slabs = slabs();
    let alive = worker::shared::living();
    let is_told = |slab: &&Arc<Slab>| match slab.runtime.filter(|runtime| alive.contains(runtime)) {
        Some(runtime) => runtime == reader.runtime,
        None => reader.of_others,
    };
    let told: Vec<&Arc<Slab>> = slabs.live.iter().filter(is_told).collect();
    let left = |cell: usize| slabs.left.get(cell).filter(|_| reader.of_others).copied().unwrap_or_default();
    f(&|cell| told.iter().fold(left(cell), |sum, slab| sum.wrapping_add(slab.read(cell))))
}
