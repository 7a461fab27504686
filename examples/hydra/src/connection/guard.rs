//! Requests of HTTP: somebody may have made a browser send them, to reach a server that trusts its own network. As
//! redis does, such a connection is ended before a line of the request can do harm.

use crate::connection::Connection;
use crate::report::warn;
use crate::store::now;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// Milliseconds between two warnings, at least.
const PAUSE: u64 = 60_000;

/// Whether this is how a line of such a request begins.
pub fn is_suspicious(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"POST") || name.eq_ignore_ascii_case(b"host:")
}

impl Connection {
    /// Ends the connection, without replies to what it has asked for before, and warns.
    pub(super) fn end_suspicious(&mut self) -> io::Result<()> {
        static LAST: AtomicU64 = AtomicU64::new(0);
        self.finish_pending();
        let now = now();
        // Relaxed: two warnings at once would do no harm.
        if now.saturating_sub(LAST.load(Ordering::Relaxed)) >= PAUSE {
            LAST.store(now, Ordering::Relaxed);
            warn(format_args!(
                "Possible SECURITY ATTACK detected. It looks like somebody is sending POST or Host: commands. This \
                 is likely due to an attacker attempting to use Cross Protocol Scripting to compromise this server. \
                 Connection from {} aborted.",
                self.stream.peer()
            ));
        }
        Err(io::ErrorKind::ConnectionAborted.into())
    }
}
