//! What a worker shows of itself, and who looks whether it goes on.

pub(crate) mod backtraces;
pub(crate) mod blocked;
pub(crate) mod doze;
pub(crate) mod overdue;
pub(crate) mod record;
pub(crate) mod stall;
pub(crate) mod turn_log;
pub(crate) mod view;
