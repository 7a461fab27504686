//! How one node loses another.

use crate::rack::hello::Member;
use std::io;

/// Describes what is known about a lost node.
pub(super) fn loss(node: usize, member: &Member, error: &io::Error) -> String {
    let how = match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
            "its process ended".to_owned()
        }
        _ => error.to_string(),
    };
    format!("node {node} (process {} on {}) is lost: {how}", member.pid, member.host)
}

/// Whether possibly only one end of a connection sees an error: that the other is silent, or that its messages were
/// changed on the way. The end of a node is seen by all.
pub(super) fn is_seen_by_one(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::InvalidData)
}
