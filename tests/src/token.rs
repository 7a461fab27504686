//! Tokens for applications that a test starts.

use std::sync::atomic::{AtomicU32, Ordering};

/// A token that no other application of any test has meanwhile, since names of sockets are derived from it. Its first 16
/// digits differ from those of others.
pub fn token() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Relaxed: only the number counts.
    format!("{:08x}{:08x}{:048x}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed), 0)
}
