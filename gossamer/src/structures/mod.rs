//! Small data structures that need nothing from the operating system: a queue, a one-shot channel, a pool of places, a
//! table of slots, a tree, a closure with its type erased, a list that grows at its end, answers put in order, and values
//! that belong to a thread or a fiber.
//!
//! Nothing here knows its users. Structures that threads share take their atomics from `atomic`, so that the model
//! checker runs them.

#[cfg_attr(loom, allow(dead_code, reason = "what uses it is not modelled"))]
pub(crate) mod append_buffer;
pub(crate) mod inline_closure;
#[cfg_attr(loom, allow(dead_code, reason = "what uses it is not modelled"))]
pub(crate) mod interleaving;
pub(crate) mod local_queue;
pub(crate) mod locals;
pub(crate) mod oneshot;
#[cfg_attr(loom, allow(dead_code, reason = "what uses it is not modelled"))]
pub(crate) mod place_pool;
pub(crate) mod scoped;
pub(crate) mod slot_table;
pub(crate) mod static_ref;
pub(crate) mod tree;
