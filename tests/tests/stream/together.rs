//! Streams beside what else a program does: delegation, other threads, other programs, handlers of its own.

use crate::raw::windows;
use crate::{Join, bytes_at, joins, small, ways};
use gossamer::stream::{self, Faults, Geometry, Options, ReceiveEnd, Receiver, SendEnd};
use gossamer::{Trust, Trustee, rack, spawn_on_with};
use integration_tests::{fabrics, isolated, threads, wait_until, watched, workers};
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

const LENGTH: usize = 8 << 20;

fn send(end: SendEnd) {
    let mut sender = end.open().unwrap();
    sender.write_all(&bytes_at(0, LENGTH)).unwrap();
    sender.finish().unwrap();
}

#[gossamer::delegate]
fn receive((end, running, done): (ReceiveEnd, Trust<u64>, Trust<u64>)) {
    let (mut receiver, mut received) = (end.open().unwrap(), Vec::new());
    receiver.read_exact(&mut [0; 1]).unwrap();
    // So that the load gets a share of the time while blocks move.
    let before = running.apply(|count| *count);
    wait_until(|| running.apply(|count| *count) > before + 10);
    receiver.read_to_end(&mut received).unwrap();
    assert!(received == bytes_at(1, LENGTH - 1));
    done.apply(|done| *done += 1);
}

#[gossamer::delegate]
fn load((counter, done): (Trust<u64>, Trust<u64>)) -> u64 {
    let mut made = 0;
    while made < 1000 || done.apply(|done| *done) < 2 {
        counter.apply(|count| *count += 1);
        made += 1;
    }
    made
}

#[gossamer::delegate]
#[test]
fn two_streams_and_a_delegation_load_share_their_nodes() {
    for fabric in fabrics() {
        watched(move || {
            rack::run_in_process(2, workers(2).fabric(fabric), || {
                let all = Trustee::all();
                let (counter, done) = (all[3].entrust(0_u64), all[0].entrust(0_u64));
                let ways = [(all[0], all[2]), (all[3], all[1])];
                let streams = ways.map(|(from, to)| {
                    let geometry = Geometry::new().block(1 << 16).ahead(2);
                    let (send_end, receive_end) = stream::channel(from, to, LENGTH as u64, geometry).unwrap();
                    let receiving = spawn_on_with(to, receive, (receive_end, counter.clone(), done.clone()));
                    (spawn_on_with(from, send, send_end), receiving)
                });
                let loads = [all[0], all[1], all[2]]
                    .map(|worker| spawn_on_with(worker, load, (counter.clone(), done.clone())));
                let made: u64 = loads.into_iter().map(|load| load.join()).sum();
                streams.into_iter().for_each(|(sending, receiving)| {
                    sending.join();
                    receiving.join();
                });
                assert_eq!(counter.apply(|count| *count), made);
            });
        });
    }
}

#[test]
fn a_fiber_that_waits_for_an_end_when_its_runtime_ends_leaves_no_thread_behind() {
    isolated(|| {
        let before = threads();
        gossamer::run(workers(1), move || {
            let _waits = gossamer::spawn(|| {
                let options = Options::from(small()).key(crate::key());
                let listener = Receiver::bind("127.0.0.1:0", options).unwrap();
                drop(listener.accept());
            });
            // The worker, and the thread that waits.
            wait_until(|| threads() > before + 1);
        });
        wait_until(|| threads() <= before);
    });
}

/// What a started program has open, except for the pipe through which it reports that: that one is a new one each time.
fn descriptors_of_a_program() -> usize {
    let mut listing = Command::new("ls");
    let output = listing.arg("/proc/self/fd").stdin(Stdio::null()).stderr(Stdio::null()).output();
    output.unwrap().stdout.split(|byte| *byte == b'\n').count()
}

#[test]
fn a_program_that_is_started_has_no_part_in_streams() {
    isolated(|| {
        let without = descriptors_of_a_program();
        for join in joins() {
            let (mut sender, mut receiver) = windows(join, 1 << 20, small());
            // SAFETY: from the front to the back.
            unsafe { sender.as_mut_ptr().write(7) };
            assert_eq!(descriptors_of_a_program(), without, "{join:?}");
            let writing = thread::spawn(move || {
                // SAFETY: from the front to the back.
                unsafe { sender.as_mut_slice() }.chunks_mut(1 << 16).for_each(|block| block.fill(7));
                sender.finish()
            });
            let all = receiver.try_with(|start| {
                // SAFETY: from the front to the back, in `try_with`.
                unsafe { std::slice::from_raw_parts(start, 1 << 20) }.iter().all(|byte| *byte == 7)
            });
            assert_eq!(all, Ok(true), "{join:?}");
            receiver.finish().unwrap();
            writing.join().unwrap().unwrap();
        }
    });
}

#[test]
fn several_threads_use_one_window_at_once() {
    watched(|| {
        const BLOCK: usize = 1 << 16;
        const BLOCKS: usize = 64;
        const THREADS: usize = 4;
        for faults in ways() {
            for join in [Join::Pair, Join::Tcp] {
                let options = Options::from(small()).faults(faults);
                let (mut sender, receiver) = windows(join, (BLOCKS * BLOCK) as u64, options);
                let (writes, reads) = (sender.as_mut_ptr() as usize, receiver.as_ptr() as usize);
                // Every thread has a part of each block, and none is a block ahead of another.
                let in_parts = |body: fn(usize, usize, usize)| {
                    move |start: usize| {
                        let together = Arc::new(Barrier::new(THREADS));
                        let parts = (0..THREADS).map(|part| {
                            let together = Arc::clone(&together);
                            thread::spawn(move || {
                                for block in 0..BLOCKS {
                                    let at = block * BLOCK + part * (BLOCK / THREADS);
                                    body(start, at, BLOCK / THREADS);
                                    together.wait();
                                }
                            })
                        });
                        parts.collect::<Vec<_>>().into_iter().for_each(|part| part.join().unwrap());
                    }
                };
                let write = in_parts(|start, at, count| {
                    for offset in at..at + count {
                        // SAFETY: in the window, which lives until all threads have ended; no other thread has these bytes.
                        unsafe { ((start + offset) as *mut u8).write(crate::byte_at(offset as u64)) };
                    }
                });
                let read = in_parts(|start, at, count| {
                    // SAFETY: as above.
                    let part = unsafe { std::slice::from_raw_parts((start + at) as *const u8, count) };
                    assert!(part == bytes_at(at as u64, count), "the part at {at}");
                });
                let writing = thread::spawn(move || {
                    write(writes);
                    sender.finish()
                });
                read(reads);
                receiver.finish().unwrap();
                writing.join().unwrap().unwrap();
            }
        }
    });
}

/// A page of the test's own, and how often its handler had to make it accessible.
static PAGE: AtomicPtr<libc::c_void> = AtomicPtr::new(null_mut());
static ASKED: AtomicUsize = AtomicUsize::new(0);
/// Who handled faults before.
static BEFORE: AtomicPtr<libc::sigaction> = AtomicPtr::new(null_mut());

extern "C" fn on_fault(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes it to a handler with SA_SIGINFO.
    let info_of_fault = unsafe { &*info };
    // SAFETY: the signal has an address.
    let address = unsafe { info_of_fault.si_addr() } as usize;
    let page = PAGE.load(Ordering::Relaxed);
    if (page as usize..page as usize + 4096).contains(&address) {
        ASKED.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the page is the test's own.
        assert_eq!(unsafe { libc::mprotect(page, 4096, libc::PROT_READ | libc::PROT_WRITE) }, 0);
        return;
    }
    type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
    // SAFETY: null, or what `sigaction` gave, which stays.
    let before = unsafe { BEFORE.load(Ordering::Relaxed).as_ref() };
    let before = before.map_or(libc::SIG_DFL, |before| before.sa_sigaction);
    assert!(before != libc::SIG_DFL, "a fault that is nobody's");
    // SAFETY: whatever was there takes what SA_SIGINFO gives.
    let before: Handler = unsafe { std::mem::transmute(before) };
    before(signal, info, context);
}

fn handle_faults() {
    // SAFETY: plain data, for which all zero is valid.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_fault as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
    // SAFETY: as above.
    let before = Box::leak(Box::new(unsafe { std::mem::zeroed() }));
    // SAFETY: the handler has the signature that the flags promise.
    assert_eq!(unsafe { libc::sigaction(libc::SIGSEGV, &raw const action, before) }, 0);
    BEFORE.store(before, Ordering::Relaxed);
}

/// Uses a window and, in between, the test's own page.
fn use_both(make_window_first: bool) {
    // SAFETY: a new mapping.
    let page = unsafe {
        libc::mmap(null_mut(), 4096, libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
    };
    assert_ne!(page, libc::MAP_FAILED);
    PAGE.store(page, Ordering::Relaxed);
    let make = || windows(Join::Pair, 1 << 20, Options::from(small()).faults(Faults::Signal));
    let made = make_window_first.then(make);
    handle_faults();
    let (mut sender, receiver) = made.unwrap_or_else(make);
    let writing = thread::spawn(move || {
        // SAFETY: from the front to the back.
        unsafe { sender.as_mut_slice() }.chunks_mut(1 << 16).for_each(|block| block.fill(5));
        sender.finish()
    });
    // SAFETY: from the front to the back.
    assert!(unsafe { receiver.as_slice() }.iter().all(|byte| *byte == 5));
    receiver.finish().unwrap();
    writing.join().unwrap().unwrap();
    let asked = ASKED.load(Ordering::Relaxed);
    // SAFETY: the page is the test's own.
    assert_eq!(unsafe { libc::mprotect(page, 4096, libc::PROT_NONE) }, 0);
    // SAFETY: the handler makes it accessible.
    unsafe { page.cast::<u8>().write_volatile(1) };
    assert_eq!(ASKED.load(Ordering::Relaxed), asked + 1, "the program's own handler was asked once");
}

#[test]
fn a_handler_of_faults_that_was_there_before_windows_handles_its_own() {
    isolated(|| {
        use_both(false);
    });
}

#[test]
fn a_handler_of_faults_that_came_after_a_window_passes_on_what_is_not_its_own() {
    isolated(|| {
        use_both(true);
    });
}
