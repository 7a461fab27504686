//! Tests: the rules of libibverbs and of the InfiniBand architecture, each as a sentence.
#![allow(
    clippy::undocumented_unsafe_blocks,
    clippy::multiple_unsafe_ops_per_block,
    reason = "tests use it as a C program"
)]

mod completions;
mod devices;
mod errors;
mod events;
mod keys;
mod kit;
mod processes;
mod work;
