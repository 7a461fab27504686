//! A process that was forked has no part in the streams of its parent.

use crate::raw::windows;
use crate::{Join, joins, small, ways};
use gossamer::stream::{Error, Length, Options};
use integration_tests::watched;
use std::io::{Read, Seek, SeekFrom, Write};
use std::thread;

/// Runs `body` in a forked child; returns how that ended.
fn in_fork(body: impl FnOnce() -> bool) -> i32 {
    // SAFETY: the child takes no lock that another thread may hold, but for the allocator's, which glibc keeps usable.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: no handler of the program is in the way: a hang is a SIGALRM.
        unsafe { libc::alarm(10) };
        let status = i32::from(!body());
        // SAFETY: the child ends here.
        unsafe { libc::_exit(status) };
    }
    let mut status = 0;
    // SAFETY: the child is ours.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    status
}

#[test]
fn a_forked_child_gets_an_error_and_its_parent_goes_on() {
    watched(|| {
        for join in joins() {
            let (mut sender, mut receiver) = join.ends(1_000_000, small());
            sender.write_all(&[7; 1000]).unwrap();
            let status = in_fork(|| {
                let refused = sender.next_block().err() == Some(Error::Forked)
                    && receiver.next_block().err() == Some(Error::Forked);
                // Not even this ends the parent's stream.
                // SAFETY: the child does not use it again, and forgets its own.
                drop(unsafe { std::ptr::read(&raw const sender) });
                refused
            });
            assert_eq!(status, 0, "{join:?}");
            let writing = thread::spawn(move || {
                sender.write_all(&vec![7; 999_000]).unwrap();
                sender.finish()
            });
            let mut received = Vec::new();
            receiver.read_to_end(&mut received).unwrap();
            assert!(received.len() == 1_000_000 && received.iter().all(|byte| *byte == 7));
            writing.join().unwrap().unwrap();
        }
    });
}

#[test]
fn a_forked_child_that_touches_a_window_dies_and_its_parent_goes_on() {
    watched(|| {
        for faults in ways() {
            let (mut sender, receiver) = windows(Join::Pair, 1 << 20, Options::from(small()).faults(faults));
            // SAFETY: from the front to the back.
            unsafe { sender.as_mut_ptr().write(9) };
            let status = in_fork(|| {
                // SAFETY: it is not sound, which is what is tested.
                unsafe { sender.as_mut_ptr().read_volatile() != 9 }
            });
            assert_eq!(status, libc::SIGSEGV, "no zeros, and no hang");
            let finishing = thread::spawn(|| sender.finish());
            // SAFETY: from the front to the back.
            assert_eq!(unsafe { receiver.as_ptr().read() }, 9);
            receiver.finish().unwrap();
            finishing.join().unwrap().unwrap();
        }
    });
}

#[test]
fn a_forked_child_that_drops_a_window_touches_neither_its_parents_nor_its_own_memory() {
    watched(|| {
        for faults in ways() {
            let options = Options::from(small()).faults(faults);
            let (mut sender, receiver) = windows(Join::Pair, 1 << 20, options);
            // SAFETY: from the front to the back.
            unsafe { sender.as_mut_ptr().write(9) };
            let status = in_fork(|| {
                let (start, flags) = (sender.as_mut_ptr(), libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
                let access = libc::PROT_READ | libc::PROT_WRITE;
                // Nothing is mapped there in the child, so its allocator may have put something there.
                // SAFETY: a new mapping where there is none.
                let ours = unsafe {
                    libc::mmap(start.cast(), 4096, access, flags | libc::MAP_FIXED_NOREPLACE, -1, 0)
                };
                assert_eq!(ours, start.cast());
                // SAFETY: the child does not use it again, and forgets its own.
                drop(unsafe { std::ptr::read(&raw const sender) });
                // SAFETY: the child's own memory.
                unsafe { start.read_volatile() == 0 }
            });
            assert_eq!(status, 0, "{faults:?}");
            let finishing = thread::spawn(move || {
                // SAFETY: from the front to the back.
                unsafe { sender.as_mut_ptr().wrapping_add(1 << 19).write(7) };
                sender.finish()
            });
            // SAFETY: from the front to the back.
            assert_eq!(unsafe { receiver.as_ptr().read() }, 9);
            receiver.finish().unwrap();
            finishing.join().unwrap().unwrap();
        }
    });
}

#[test]
fn every_safe_call_of_a_forked_child_comes_back() {
    watched(|| {
        let (mut sender, mut receiver) = Join::Pair.ends(Length::Open, small());
        sender.write_all(&[7; 100_000]).unwrap();
        let status = in_fork(|| {
            let _ = (sender.first(), sender.length(), sender.position());
            let _ = (receiver.first(), receiver.length(), receiver.position());
            let _ = (receiver.seek(SeekFrom::Start(9)), sender.seek(SeekFrom::Start(1 << 30)));
            let refused = receiver.read_at(5, &mut [0; 5]).is_err()
                && receiver.read(&mut [0; 5]).is_err()
                && sender.write(&[0; 5]).is_err()
                && sender.write_at(70_000, &[0; 5]).is_err();
            // SAFETY: the child does not use it again, and forgets its own.
            let sender = unsafe { std::ptr::read(&raw const sender) };
            // SAFETY: as above.
            let receiver = unsafe { std::ptr::read(&raw const receiver) };
            refused && sender.finish() == Err(Error::Forked) && receiver.finish() == Err(Error::Forked)
        });
        assert_eq!(status, 0);
        drop(receiver);
        assert!(sender.finish().is_err());
    });
}
