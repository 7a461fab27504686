//! Fibers: the switch between their stacks, and the stacks themselves.
//!
//! Which fiber runs when is decided elsewhere; here is only what it takes to suspend one and to resume another.

mod described;
pub(crate) mod fiber;
mod frame;
pub(crate) mod job;
mod notes;
pub(crate) mod notice;
pub(crate) mod stack;
pub(crate) mod wait;
