//! `gossamer status`, `ps`, `kill` and `logs`: one question to all daemons, one answer to the user; and `check-rdma`.
//!
//! Each is handed the configuration's path, and gives the exit status. [`ask`] collects what the machines say, [`output`] writes.
//! [`rdma`] has reports of RDMA as text and JSON, [`pairs`] what joins each two machines; [`check_rdma`] looks at this machine,
//! [`check_with`] tries a queue pair to another. [`health`] is for probes. [`doctor`] says what of machines should be
//! mended. [`stacks`] and [`top`] show what nodes do, by [`look`], which asks
//! [`programs`] of this machine or all daemons.

pub mod applications;
pub mod ask;
pub mod check_rdma;
pub mod check_with;
pub mod doctor;
pub mod health;
pub mod logs;
pub mod look;
pub mod output;
pub mod pairs;
pub mod programs;
pub mod rdma;
pub mod stacks;
pub mod status;
pub mod top;
