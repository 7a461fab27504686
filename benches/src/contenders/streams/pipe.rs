//! A Unix pipe: what a stream is without a window.

use super::{NUMBERS, Sink, Source, on_two_threads};
use crate::machine;
use crate::measure::{METER, Sample, Setting};
use crate::partner::Partner;
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

/// The largest pipe that a user may have.
const PIPE: libc::c_int = 1 << 20;
/// The writing end, for the process that produces.
const DESCRIPTOR: &str = "TABLE_PIPE";

fn new() -> (PipeReader, PipeWriter) {
    let (from, to) = io::pipe().unwrap_or_else(|error| panic!("no pipe: {error}"));
    // SAFETY: the call takes numbers. A refusal leaves the size that pipes have.
    unsafe { libc::fcntl(to.as_raw_fd(), libc::F_SETPIPE_SZ, PIPE) };
    (from, to)
}

fn produce(mut to: PipeWriter) {
    let (mut source, mut block) = (Source::default(), vec![0; NUMBERS]);
    loop {
        source.fill(&mut block);
        if to.write_all(super::apart::bytes(&block)).is_err() {
            return;
        }
    }
}

fn consume(mut from: PipeReader) {
    let (mut sink, mut block) = (Sink::default(), vec![0; NUMBERS]);
    while sink.goes_on() {
        let read = from.read_exact(super::apart::bytes_mut(&mut block));
        assert!(read.is_ok(), "the producer is gone");
        sink.take(&block);
    }
}

/// Between two threads.
pub fn pipe(setting: &Setting) -> Sample {
    let (from, to) = new();
    on_two_threads(setting, move || produce(to), move || consume(from))
}

/// Between two processes.
pub fn pipe_between(setting: &Setting) -> Sample {
    if let Some(number) = std::env::var(DESCRIPTOR).ok().and_then(|text| text.parse().ok()) {
        machine::pin(1);
        // SAFETY: the process that started this one has opened it, and passed it on.
        produce(unsafe { OwnedFd::from_raw_fd(number) }.into());
        std::process::exit(0);
    }
    let (from, to) = new();
    // SAFETY: the call takes numbers.
    unsafe { libc::fcntl(to.as_raw_fd(), libc::F_SETFD, 0) }; // inherited
    let partner = Partner::start(&[(DESCRIPTOR, to.as_raw_fd().to_string())]);
    drop(to);
    let consumer = machine::pinned(0, move || consume(from));
    let sample = METER.watch_all(setting, 1, &|| partner.used_by_both());
    assert!(consumer.join().is_ok(), "the consumer panicked");
    sample
}
