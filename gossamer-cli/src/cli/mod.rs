//! The command line: its grammar, and what each subcommand starts.
//!
//! Handed the arguments of the process, it ends the process with a status.

pub mod arguments;
pub mod completions;
pub mod dispatch;
mod help;
pub mod manual;
