//! One runtime in one process: fibers, trusts, latches, sockets, how they fail and how they end. Tests that measure the
//! process or end it run in a child.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by it")]

mod backlog;
mod blocking;
mod bounds;
mod counting;
mod ending;
mod fibers;
mod idle;
mod last_words;
mod latch;
mod net;
mod order;
mod outside;
mod panics;
mod payloads;
mod runs;
mod shutdown;
mod stacks;
mod trusts;
mod turns;
mod unwinding;

/// Recurses until the stack is used up.
#[inline(never)]
fn dig(depth: usize) -> usize {
    let frame = std::hint::black_box([depth; 16]);
    if depth == usize::MAX { 0 } else { dig(depth + 1) + frame[depth % 16] }
}
