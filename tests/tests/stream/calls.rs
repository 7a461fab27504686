//! System calls that are given pointers into a window.

use crate::raw::windows;
use crate::{Join, bytes_at, small, ways};
use gossamer::stream::{Faults, Options};
use integration_tests::watched;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::thread;

const LENGTH: usize = 3 << 20;

struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        File::create(&path).unwrap().write_all(&bytes_at(0, LENGTH)).unwrap();
        Self(path)
    }

    fn open(&self, flags: i32) -> File {
        OpenOptions::new().read(true).write(true).custom_flags(flags).open(&self.0).unwrap()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _gone = std::fs::remove_file(&self.0);
    }
}

/// A file through a stream into another file: `pread` into one window and `pwrite` from the other, `piece` bytes at a
/// time.
fn copy(join: Join, flags: i32, piece: usize, name: &str) {
    let from = Temporary::new(name);
    let to = Temporary::new(&format!("{name}-to"));
    let (input, output) = (from.open(flags), to.open(flags));
    output.set_len(0).unwrap();
    let (mut sender, receiver) =
        windows(join, LENGTH as u64, Options::from(small()).faults(Faults::Userfault));
    assert!(sender.serves_system_calls());
    let reading = thread::spawn(move || {
        for offset in (0..LENGTH).step_by(piece) {
            let place = sender.as_mut_ptr().wrapping_add(offset).cast();
            // SAFETY: the window is as long, and used from the front to the back.
            let count = unsafe { libc::pread(input.as_raw_fd(), place, piece, offset as libc::off_t) };
            assert_eq!(count, piece as isize, "{}", std::io::Error::last_os_error());
        }
        sender.finish()
    });
    for offset in (0..LENGTH).step_by(piece) {
        let place = receiver.as_ptr().wrapping_add(offset).cast();
        // SAFETY: as above.
        let count = unsafe { libc::pwrite(output.as_raw_fd(), place, piece, offset as libc::off_t) };
        assert_eq!(count, piece as isize, "{}", std::io::Error::last_os_error());
    }
    receiver.finish().unwrap();
    reading.join().unwrap().unwrap();
    assert!(std::fs::read(&to.0).unwrap() == bytes_at(0, LENGTH), "{join:?}");
}

#[test]
fn read_and_write_take_a_window_as_their_buffer() {
    watched(|| {
        if ways().contains(&Faults::Userfault) {
            for join in [Join::Pair, Join::Tcp] {
                // A call may touch all of its buffer before it copies anything, or hold on to it: so the buffer is no
                // larger than the comeback.
                copy(join, 0, 1 << 16, "buffered");
                copy(join, libc::O_DIRECT, 1 << 16, "direct");
            }
        }
    });
}

#[test]
fn a_call_that_waits_for_a_lost_sender_fails() {
    watched(|| {
        if ways().contains(&Faults::Userfault) {
            let (sender, mut receiver) =
                windows(Join::Pair, 1 << 20, Options::from(small()).faults(Faults::Userfault));
            let place = receiver.as_ptr() as usize;
            let file = Temporary::new("lost").open(0);
            let writing = thread::spawn(move || {
                // SAFETY: the window lives until this has ended.
                let count = unsafe { libc::write(file.as_raw_fd(), place as *const libc::c_void, 4096) };
                (count, std::io::Error::last_os_error().raw_os_error())
            });
            thread::sleep(std::time::Duration::from_millis(20));
            drop(sender);
            assert_eq!(writing.join().unwrap(), (-1, Some(libc::EFAULT)));
            assert!(receiver.check().is_err());
        }
    });
}

#[test]
fn files_are_read_into_windows_and_written_from_them_whatever_tells_of_faults() {
    watched(|| {
        for faults in ways() {
            for join in [Join::Pair, Join::Tcp] {
                let (from, to) = (Temporary::new("whole"), Temporary::new("whole-to"));
                let (mut input, mut output) = (from.open(0), to.open(0));
                let (mut sender, mut receiver) =
                    windows(join, LENGTH as u64, Options::from(small()).faults(faults));
                let reading = thread::spawn(move || {
                    sender.read_from(&mut input, 0, 100).unwrap();
                    sender.read_from(&mut input, 100, LENGTH as u64 - 100).unwrap();
                    sender.finish().unwrap();
                });
                receiver.write_to(&mut output, 0, 5000).unwrap();
                receiver.write_to(&mut output, 5000, LENGTH as u64 - 5000).unwrap();
                receiver.finish().unwrap();
                reading.join().unwrap();
                let copied = std::fs::read(&to.0).unwrap();
                assert!(
                    copied[..LENGTH - 5000] == bytes_at(0, LENGTH)[..LENGTH - 5000],
                    "{join:?} {faults:?}"
                );
            }
        }
    });
}
