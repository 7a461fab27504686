//! Reads the launcher's standard input in a thread of its own, since files and terminals cannot be polled.

use std::io::{self, ErrorKind, IsTerminal, Read};
use std::thread;
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, channel};

/// Starts to read: yields pieces of at most `most` bytes, and then the end. A piece is read only after the one before
/// it was taken.
///
/// # Errors
/// If the system has no more threads.
pub fn start(most: usize) -> io::Result<Receiver<Vec<u8>>> {
    let (pieces, taken) = channel(1);
    thread::Builder::new().name("input".into()).spawn(move || {
        let mut input = io::stdin();
        let mut buffer = vec![0; most];
        loop {
            // In the background, reading from the terminal would stop the launcher.
            while input.is_terminal() && !in_foreground() {
                thread::sleep(Duration::from_millis(200));
            }
            match input.read(&mut buffer) {
                Ok(0) => return,
                Ok(length) => {
                    let piece = buffer.get(..length).unwrap_or_default().to_vec();
                    if pieces.blocking_send(piece).is_err() {
                        return;
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    thread::sleep(Duration::from_millis(5))
                }
                Err(_) => return,
            }
        }
    })?;
    Ok(taken)
}

fn in_foreground() -> bool {
    rustix::termios::tcgetpgrp(io::stdin()).is_ok_and(|group| group == rustix::process::getpgrp())
}
