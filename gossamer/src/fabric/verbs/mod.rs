//! RDMA by the verbs of InfiniBand: for InfiniBand, RoCE, and RoCE in software.

mod abi;
pub(crate) mod async_event;
pub(crate) mod availability;
pub(crate) mod check;
pub(crate) mod choice;
mod completion;
pub(crate) mod context;
#[cfg(test)]
mod device_tests;
#[cfg(feature = "ibverbs")]
mod discovery;
mod errors;
pub(crate) mod link;
pub(crate) mod memory;
#[cfg(test)]
mod owners;
mod queue_pair;
#[cfg(all(test, not(loom)))]
mod queue_pair_rates;
pub(crate) mod reads;
mod send_chain;
pub(crate) mod survey;
pub(crate) mod words;
