//! Memory of one process that another process reads: over one queue pair, by READs of the side that wants the bytes.

pub(crate) mod end;
pub(crate) mod parameters;
pub(crate) mod queue;
#[cfg(test)]
mod tests;
