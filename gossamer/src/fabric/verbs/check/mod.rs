//! What the command `gossamer` shows and tries of RDMA: the devices of a machine as plain data, and a queue pair to
//! another machine that shows what it can do.

pub(crate) mod end;
pub(crate) mod measure;
pub(crate) mod report;
pub(crate) mod session;
#[cfg(test)]
mod tests;
