//! The mechanism of the original Vortex: each block faults by a signal, and its pages, small ones, are moved from window to window.

use super::{AHEAD, BLOCK, NUMBERS, Sink, Source, on_two_threads};
use crate::measure::{Sample, Setting};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// Bytes of a window: longer than any measurement.
const LENGTH: usize = 1 << 42;
/// Blocks that have pages.
const POOL: usize = AHEAD + 2;

/// Where the windows begin: the producer's, the consumer's; and the pages that nobody has used yet.
static WINDOWS: [AtomicPtr<u8>; 3] = [const { AtomicPtr::new(null_mut()) }; 3];
/// Blocks written and blocks read.
static DONE: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];

/// From window to window.
pub fn remapped(setting: &Setting) -> Sample {
    let (protections, lengths) = (
        [libc::PROT_NONE, libc::PROT_NONE, libc::PROT_READ | libc::PROT_WRITE],
        [LENGTH, LENGTH, POOL * BLOCK],
    );
    for ((window, protection), length) in WINDOWS.iter().zip(protections).zip(lengths) {
        window.store(map(null_mut(), length, protection, 0), Ordering::Relaxed);
    }
    // SAFETY: `sigaction` is plain data for which all zero is valid.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_fault as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: the handler has the signature that SA_SIGINFO asks for.
    unsafe { libc::sigaction(libc::SIGSEGV, &action, null_mut()) };
    on_two_threads(
        setting,
        || {
            let (start, mut source) = (WINDOWS[0].load(Ordering::Relaxed).cast::<u64>(), Source::default());
            for block in 0..LENGTH / BLOCK {
                // SAFETY: inside the window; the handler makes it accessible.
                source.fill(unsafe {
                    std::slice::from_raw_parts_mut(start.wrapping_add(block * NUMBERS), NUMBERS)
                });
            }
        },
        || {
            let (start, mut sink) = (WINDOWS[1].load(Ordering::Relaxed).cast::<u64>(), Sink::default());
            for block in (0..LENGTH / BLOCK).take_while(|_| !crate::measure::METER.stopped()) {
                // SAFETY: as above.
                sink.take(unsafe {
                    std::slice::from_raw_parts(start.wrapping_add(block * NUMBERS), NUMBERS)
                });
            }
        },
    )
}

fn map(at: *mut u8, length: usize, protection: libc::c_int, flags: libc::c_int) -> *mut u8 {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | flags;
    // SAFETY: a place that the kernel chooses, or one of the windows', whose user is done with it.
    let place = unsafe { libc::mmap(at.cast(), length, protection, flags, -1, 0) };
    assert!(place != libc::MAP_FAILED, "the system gives no addresses");
    // The original knows small pages only. SAFETY: advice on the mapping just made.
    unsafe { libc::madvise(place, length, libc::MADV_NOHUGEPAGE) };
    place.cast()
}

extern "C" fn on_fault(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel passes what SA_SIGINFO promises.
    let info = unsafe { &*info };
    // SAFETY: the signal has an address.
    let address = unsafe { info.si_addr() } as usize;
    let block_in = |window: usize| {
        let start = WINDOWS[window].load(Ordering::Relaxed) as usize;
        (start..start + LENGTH).contains(&address).then(|| (address - start) / BLOCK)
    };
    match (block_in(0), block_in(1)) {
        (Some(block), _) => {
            finish(0, block);
            wait(1, |read| block < read as usize + POOL);
            match block.checked_sub(POOL) {
                Some(before) => move_pages((1, before), (0, block)),
                None => move_pages((2, block), (0, block)),
            }
        }
        (_, Some(block)) => {
            finish(1, block);
            wait(0, |written| block < written as usize);
            move_pages((0, block), (1, block));
        }
        _ => std::process::abort(),
    }
}

/// All blocks before this one are written, or read.
fn finish(side: usize, block: usize) {
    DONE[side].store(block as u32, Ordering::Release);
    // SAFETY: the word lives as long as the process.
    unsafe { libc::syscall(libc::SYS_futex, DONE[side].as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

fn wait(side: usize, ready: impl Fn(u32) -> bool) {
    loop {
        let seen = DONE[side].load(Ordering::Acquire);
        if ready(seen) {
            return;
        }
        // SAFETY: as above.
        unsafe {
            libc::syscall(libc::SYS_futex, DONE[side].as_ptr(), libc::FUTEX_WAIT, seen, null_mut::<u8>())
        };
    }
}

fn move_pages((from, old): (usize, usize), (to, new): (usize, usize)) {
    let at =
        |window: usize, block: usize| WINDOWS[window].load(Ordering::Relaxed).wrapping_add(block * BLOCK);
    let (from, to) = (at(from, old), at(to, new));
    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    // SAFETY: both are blocks of the windows; the user of the old one is done with it, and the new one has no user yet.
    let moved = unsafe { libc::mremap(from.cast(), BLOCK, BLOCK, flags, to.cast::<libc::c_void>()) };
    if moved == libc::MAP_FAILED {
        std::process::abort();
    }
    map(from, BLOCK, libc::PROT_NONE, libc::MAP_FIXED);
}
