//! RDMA by the verbs of InfiniBand: for InfiniBand, RoCE, and RoCE in software.

mod abi;
