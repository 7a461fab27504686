//! How a node is lost to another one.

use crate::rack::hello::Member;
use std::io;

/// Says what is known of a node that is lost.
pub(super) fn loss(node: usize, member: &Member, error: &io::Error) -> String {
    let how = match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
            "its process ended".to_owned()
        }
        _ => error.to_string(),
    };
    format!("node {node} (process {} on {}) is lost: {how}", member.pid, member.host)
}

/// Whether maybe only one end of a connection sees an error: that the other is silent, or that what it sent was changed on the way.
/// That it has ended, all see.
pub(super) fn is_seen_by_one(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::InvalidData)
}
