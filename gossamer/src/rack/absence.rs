//! A node cannot start because another one is missing or gone: the way in which that one ended explains more.

use crate::rack::greeting::problem;
use crate::runtime::StartError;
use crate::worker::end::fate;
use std::io;

/// These nodes are missing.
pub(super) fn missing(nodes: &[usize], text: String) -> StartError {
    let problem = problem(text);
    fate::tell_because_of(nodes, &problem.to_string());
    problem
}

/// Something went wrong with a node: it ended, or failed in another way.
pub(super) fn problem_with(node: usize, error: &io::Error, text: String) -> StartError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionRefused
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::TimedOut => missing(&[node], text),
        _ => problem(text),
    }
}

/// A node that had already met the others is lost.
pub(super) fn lost(node: usize, error: &io::Error) -> StartError {
    problem_with(node, error, format!("node {node} was lost while the application started: {error}"))
}
