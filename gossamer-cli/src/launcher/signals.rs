//! The signals that the user sends to the launcher.

use std::fs;
use std::future::pending;
use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals to the launcher.
#[derive(Debug)]
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// That the terminal was closed, unless nobody wants to know: `nohup` lets programs ignore it.
    hangup: Option<Signal>,
}

impl Signals {
    /// Takes them over from now on.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn new() -> io::Result<Self> {
        let hangup = SignalKind::hangup();
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: if is_ignored(hangup) { None } else { Some(signal(hangup)?) },
        })
    }

    /// The number of the next one.
    pub async fn next(&mut self) -> u8 {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => pending().await,
            }
        };
        let kind = tokio::select! {
            _ = self.interrupt.recv() => SignalKind::interrupt(),
            _ = self.terminate.recv() => SignalKind::terminate(),
            _ = hangup => SignalKind::hangup(),
        };
        u8::try_from(kind.as_raw_value()).unwrap_or(u8::MAX)
    }
}

/// Whether this process ignores a signal. Where that cannot be read, it is taken as any other.
fn is_ignored(kind: SignalKind) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    ignored >> (kind.as_raw_value() - 1) & 1 == 1
}
