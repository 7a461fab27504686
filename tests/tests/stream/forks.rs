//! A process that was forked has no part in the streams of its parent.

use crate::raw::windows;
use crate::{JOINS, Join, small, ways};
use gossamer::stream::{Error, Options};
use integration_tests::watched;
use std::io::{Read, Write};
use std::thread;

/// Runs `body` in a fork; returns how that ended.
fn in_fork(body: impl FnOnce() -> bool) -> i32 {
    // SAFETY: the child takes no lock that another thread may hold, but for the allocator's, which glibc keeps usable.
    let child = unsafe { libc::fork() };
    if child == 0 {
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
        for join in JOINS {
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
