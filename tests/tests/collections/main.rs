//! Collections: vectors and maps that are spread over workers, against those of the standard library.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by it")]

mod files;
mod folds;
mod frontier;
mod handles;
mod loops;
mod map_loops;
mod map_oracle;
mod map_trouble;
mod maps;
mod oracle;
mod queue;
mod sorts;
mod totals;
mod trouble;
mod updates;

use gossamer::Trustee;
use gossamer::collections::Layout;

/// Layouts of this many elements: both kinds, over all workers, and over some.
fn layouts(len: usize) -> Vec<Layout> {
    let all = Trustee::all();
    let twice: Vec<_> = all.iter().rev().chain(&all[..1]).copied().collect();
    vec![
        Layout::block(len),
        Layout::cyclic(len),
        Layout::block(len).on(&twice),
        Layout::cyclic(len).on(&twice),
        Layout::cyclic(len).on(&all[all.len() - 1..]),
    ]
}
