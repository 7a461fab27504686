//! What a worker shows of itself, and the watcher that looks whether it makes progress.

pub(crate) mod backtraces;
pub(crate) mod blocked;
pub(crate) mod doze;
pub(crate) mod overdue;
pub(crate) mod record;
pub(crate) mod stall;
pub(crate) mod turn_log;
pub(crate) mod view;
