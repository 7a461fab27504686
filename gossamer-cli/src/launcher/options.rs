//! What the user asked for, whether nodes run on this machine or on others.

use crate::launcher::output::OutputOptions;
use crate::launcher::timeout::TimeLimit;
use crate::node::allowance::Allowance;
use crate::program::settings::NodeSettings;
use std::ffi::OsString;

/// What the user asked for.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// What nodes get besides the environment.
    pub settings: NodeSettings,
    /// What each of them may use of its machine.
    pub allowance: Allowance,
    /// How their output is passed on.
    pub output: OutputOptions,
    /// How long they may run.
    pub time_limit: Option<TimeLimit>,
    /// The program and its arguments.
    pub command: Vec<OsString>,
}
