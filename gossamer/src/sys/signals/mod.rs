//! Signals: faults that are resolved, a fiber's stack overflow, and the report of a process that a signal ends.
//!
//! What runs in a handler calls only async-signal-safe functions and allocates nothing (O1, O2).

pub(crate) mod fatal;
pub(crate) mod fault_handler;
pub(crate) mod faults;
pub(crate) mod line;
pub(crate) mod own_stack;
pub(crate) mod told;
