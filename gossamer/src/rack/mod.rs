//! Many processes as one: nodes, how they find each other, and how they end together.

mod in_process;
mod run;

pub use in_process::run_in_process;
pub use run::main;
