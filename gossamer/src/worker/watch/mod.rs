//! What a worker shows of itself, and who looks whether it goes on.

pub(crate) mod overdue;
pub(crate) mod stall;
pub(crate) mod view;
