//! RDMA by the verbs of InfiniBand: for InfiniBand, RoCE, and RoCE in software.

mod abi;
mod async_event;
mod availability;
mod choice;
mod completion;
mod context;
mod errors;
pub(crate) mod link;
mod memory;
#[cfg(test)]
mod owners;
mod queue_pair;
pub(crate) mod reads;
mod send_chain;
#[cfg(test)]
mod simulated;
mod survey;
mod words;
