//! What copying moves: in one thread, and through memory that two processes share, into it and out of it.

use crate::machine::{self, Padded};
use crate::measure::{METER, Sample, Setting, timed};
use crate::partner::Partner;
use std::cell::UnsafeCell;
use std::hint::{black_box, spin_loop};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

/// The descriptor of the shared memory, for the process that copies out of it.
const DESCRIPTOR: &str = "TABLE_MEMORY";
/// Bytes copied before the other side is told.
const PIECE: usize = 64 * 1024;
/// Pieces there is room for.
const PIECES: usize = 8;

/// One thread copies messages of as many bytes as the setting says from one place to another.
pub fn memcpy(setting: &Setting) -> Sample {
    machine::pin(0);
    let (from, mut to) = (vec![7u8; setting.bytes], vec![0u8; setting.bytes]);
    timed(setting, |count| {
        for _ in 0..count {
            black_box(&mut to[..]).copy_from_slice(black_box(&from[..]));
        }
    })
}

/// A ring of pieces.
#[repr(C)]
struct Shared {
    written: Padded<AtomicU64>,
    read: Padded<AtomicU64>,
    pieces: UnsafeCell<[[u8; PIECE]; PIECES]>,
}

// SAFETY: a piece is used by one side at a time, as `written` and `read` say.
unsafe impl Sync for Shared {}

impl Shared {
    fn piece(&self, number: u64) -> *mut u8 {
        self.pieces.get().cast::<u8>().wrapping_add(number as usize % PIECES * PIECE)
    }
}

/// One process copies messages into shared memory, piece by piece, and another copies them out of it.
pub fn two_copies(setting: &Setting) -> Sample {
    let setting = *setting;
    if let Some(descriptor) = std::env::var(DESCRIPTOR).ok().and_then(|text| text.parse().ok()) {
        machine::pin(1);
        // SAFETY: the process that started this one has opened it, and passed it on.
        copy_out(map(unsafe { BorrowedFd::borrow_raw(descriptor) }), setting.bytes);
    }
    let memory = memory();
    let partner = Partner::start(&[(DESCRIPTOR, memory.as_raw_fd().to_string())]);
    let shared = map(memory.as_fd());
    let client = machine::pinned(0, move || copy_in(shared, setting.bytes));
    let sample = METER.watch_all(&setting, 1, &|| partner.used_by_both());
    assert!(client.join().is_ok(), "the client panicked");
    sample
}

fn memory() -> OwnedFd {
    // SAFETY: the name is a string.
    let descriptor = unsafe { libc::memfd_create(c"table".as_ptr(), 0) }; // inherited
    assert!(descriptor >= 0, "the system gives no memory to share");
    // SAFETY: the descriptor is new, and nobody else's.
    let memory = unsafe { OwnedFd::from_raw_fd(descriptor) };
    // SAFETY: the call takes numbers.
    let status = unsafe { libc::ftruncate(memory.as_raw_fd(), size_of::<Shared>() as libc::off_t) };
    assert_eq!(status, 0, "the system gives no memory to share");
    memory
}

fn map(memory: BorrowedFd<'_>) -> &'static Shared {
    let (protection, descriptor) = (libc::PROT_READ | libc::PROT_WRITE, memory.as_raw_fd());
    let length = size_of::<Shared>();
    // SAFETY: the kernel chooses a place where nothing is.
    let place = unsafe { libc::mmap(ptr::null_mut(), length, protection, libc::MAP_SHARED, descriptor, 0) };
    assert_ne!(place, libc::MAP_FAILED, "the system does not map the memory");
    // SAFETY: it is mapped for good, as large as this, and begins as zeros, which are valid.
    unsafe { &*place.cast::<Shared>() }
}

fn copy_in(shared: &Shared, bytes: usize) {
    let mut message = vec![7u8; bytes];
    let (mut written, mut number) = (0, 0u64);
    while !METER.stopped() {
        stamp(&mut message, number);
        number += 1;
        for piece in message.chunks(PIECE) {
            while written - shared.read.0.load(Ordering::Acquire) == PIECES as u64 {
                spin_loop();
            }
            let place = shared.piece(written);
            // SAFETY: the other side reads it after `written`, and has read what was there before.
            unsafe { ptr::copy_nonoverlapping(piece.as_ptr(), place, piece.len()) };
            written += 1;
            shared.written.0.store(written, Ordering::Release);
        }
        METER.add(0, 1);
    }
}

/// Until the other side ends this process.
fn copy_out(shared: &Shared, bytes: usize) -> ! {
    let mut message = vec![0u8; bytes];
    let mut read = 0;
    for number in 0u64.. {
        for piece in message.chunks_mut(PIECE) {
            while shared.written.0.load(Ordering::Acquire) == read {
                spin_loop();
            }
            let place = shared.piece(read);
            // SAFETY: the other side wrote it before `written`, and writes there again after `read`.
            unsafe { ptr::copy_nonoverlapping(place, piece.as_mut_ptr(), piece.len()) };
            read += 1;
            shared.read.0.store(read, Ordering::Release);
        }
        let got = black_box(&message);
        let ends = (got.first_chunk(), got.last_chunk());
        assert_eq!(ends, (Some(&number.to_ne_bytes()), Some(&number.to_ne_bytes())), "bytes were lost");
    }
    unreachable!("the numbers do not end");
}

/// Makes a message differ from the one before it.
fn stamp(message: &mut [u8], number: u64) {
    for end in [0, message.len() - size_of::<u64>()] {
        message[end..][..size_of::<u64>()].copy_from_slice(&number.to_ne_bytes());
    }
}
