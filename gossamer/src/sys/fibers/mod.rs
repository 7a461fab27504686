//! Fibers: the switch between their stacks, and the stacks themselves.
//!
//! Other layers decide which fiber runs when; this one can only suspend one and resume another.

mod described;
pub(crate) mod fiber;
mod frame;
pub(crate) mod job;
mod notes;
pub(crate) mod notice;
pub(crate) mod stack;
pub(crate) mod wait;
