//! What a process reports when a signal ends it, in situations where that is hard.

use crate::dig;
use gossamer::Trustee;
use integration_tests::{in_child, workers};
use std::io::{PipeReader, PipeWriter, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Reads an address where nothing is.
fn fault() {
    // SAFETY: it is not sound, which is what is tested.
    unsafe { std::ptr::without_provenance::<u64>(0x40).read_volatile() };
}

/// A pipe into which nothing more fits; its reader is kept, and reads nothing.
fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    // SAFETY: the descriptor is open.
    let bytes = unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_GETPIPE_SZ) };
    writer.write_all(&vec![b'.'; bytes as usize]).unwrap();
    (reader, writer)
}

#[test]
fn a_process_whose_standard_error_nobody_reads_ends_all_the_same() {
    for closed in ["", "closed"] {
        let ended = in_child(
            |command| {
                command.env("CLOSED", closed);
            },
            || {
                let (reader, writer) = full_pipe();
                let _kept = std::env::var("CLOSED").unwrap().is_empty().then_some(reader);
                // SAFETY: both descriptors are open.
                assert!(unsafe { libc::dup2(writer.as_raw_fd(), 2) } == 2);
                // SAFETY: no handler of the program is in the way: a hang is a SIGALRM.
                unsafe { libc::alarm(20) };
                gossamer::run(workers(1), fault);
            },
        );
        assert_eq!(ended.status.signal(), Some(libc::SIGSEGV));
    }
}

#[test]
fn when_all_workers_fault_at_once_one_of_them_says_so() {
    static READY: AtomicUsize = AtomicUsize::new(0);
    let mut reports = 0;
    for _ in 0..40 {
        let ended = in_child(
            |_| (),
            || {
                gossamer::run(workers(4), || {
                    for worker in Trustee::all() {
                        drop(worker.spawn(|| {
                            // The other threads start, too.
                            gossamer::sleep(Duration::from_millis(20));
                            READY.fetch_add(1, Ordering::SeqCst);
                            while READY.load(Ordering::SeqCst) < 4 {
                                std::thread::yield_now();
                            }
                            fault();
                        }));
                    }
                    gossamer::sleep(Duration::MAX);
                });
            },
        );
        assert_eq!(ended.status.signal(), Some(libc::SIGSEGV));
        let words = "SIGSEGV at address 0x40 on worker ";
        reports += usize::from(ended.errors.contains(words) && ended.errors.contains("in the fiber"));
    }
    // The standard library's handler is reset for a moment, in which the kernel ends the process at a second fault.
    assert!(reports > 36, "{reports} of 40 have reported");
}

#[test]
fn a_fault_in_a_destructor_while_a_fiber_is_unwound_is_reported() {
    struct Faults;
    impl Drop for Faults {
        fn drop(&mut self) {
            fault();
        }
    }
    let ended = in_child(
        |_| (),
        || {
            gossamer::run(workers(1), || {
                let _faults = Faults;
                panic!("on the way");
            });
        },
    );
    assert_eq!(ended.status.signal(), Some(libc::SIGSEGV), "{}", ended.errors);
    assert!(ended.errors.contains("SIGSEGV at address 0x40 on worker 0"), "{}", ended.errors);
}

#[test]
fn a_thread_that_is_no_worker_faults_and_overflows_as_ever() {
    for (mode, signal) in [("fault", libc::SIGSEGV), ("overflow", libc::SIGABRT), ("small", libc::SIGABRT)] {
        let ended = in_child(
            |command| {
                command.env("MODE", mode);
            },
            || {
                gossamer::run(workers(1), || {
                    let mode = std::env::var("MODE").unwrap();
                    let size = if mode == "small" { 64 << 10 } else { 2 << 20 };
                    let thread =
                        std::thread::Builder::new().stack_size(size).spawn(move || match mode.as_str() {
                            "fault" => fault(),
                            _ => drop(dig(0)),
                        });
                    drop(thread);
                    gossamer::sleep(Duration::MAX);
                });
            },
        );
        assert_eq!(ended.status.signal(), Some(signal), "{mode}: {}", ended.errors);
        assert_eq!(
            ended.errors.contains("has overflowed its stack"),
            mode != "fault",
            "{mode}: {}",
            ended.errors
        );
        assert!(!ended.errors.contains("worker"), "{mode}: {}", ended.errors);
    }
}
