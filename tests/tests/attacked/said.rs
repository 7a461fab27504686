//! Children that end only once they have printed certain texts on standard error.

use integration_tests::in_child;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::process::Command;
use std::thread;

/// Runs the test again in a child, where `body` runs until the child has printed all of `texts`; returns what it
/// printed.
pub fn until_it_says(
    prepare: impl FnOnce(&mut Command),
    texts: &'static [&'static str],
    body: impl FnOnce() + Send + 'static,
) -> String {
    let ended = in_child(prepare, move || {
        let (reader, writer) = std::io::pipe().unwrap();
        // SAFETY: a descriptor of this process.
        let errors = unsafe { libc::dup(2) };
        // SAFETY: `dup` has just made it.
        let mut errors = unsafe { File::from_raw_fd(errors) };
        // SAFETY: descriptors of this process.
        assert_eq!(unsafe { libc::dup2(writer.as_raw_fd(), 2) }, 2);
        thread::spawn(move || {
            let mut said = String::new();
            for line in BufReader::new(reader).lines() {
                said.push_str(&line.unwrap());
                said.push('\n');
                if texts.iter().all(|text| said.contains(text)) {
                    errors.write_all(said.as_bytes()).unwrap();
                    std::process::exit(0);
                }
            }
        });
        body();
        loop {
            // Until everything was printed, or the watchdog ends it.
            thread::park();
        }
    });
    assert!(ended.status.success(), "{}\n{}", ended.status, ended.errors);
    ended.errors
}
