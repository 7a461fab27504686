//! `gossamer status`, `ps`, `kill` and `logs`: one question to all daemons, one answer to the user.
//!
//! Each is handed the configuration's path, and gives the exit status. [`ask`] collects what the machines say, [`output`] writes.

pub mod applications;
pub mod ask;
pub mod logs;
pub mod output;
pub mod status;
