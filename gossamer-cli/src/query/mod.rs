//! `gossamer status`, `ps`, `kill` and `logs`: one question to all daemons, one answer to the user; and `check-rdma`.
//!
//! Each is given the configuration's path, and returns the exit status. [`ask`] collects what the machines say,
//! [`output`] writes. [`rdma`] has reports of RDMA as text and JSON, [`pairs`] says what joins each pair of machines;
//! [`check_rdma`] checks this machine, [`check_with`] tries a queue pair to another. [`health`] is for probes.
//! [`doctor`] says what should be fixed on machines. [`stacks`] and [`top`] show what nodes do, through [`look`], which
//! asks [`programs`] of this machine or all daemons.

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
