//! The nodes of one machine.
//!
//! [`host`] is given what to run and a queue of commands, and reports events: what nodes print, how they end. When its
//! queue of commands ends, it kills its nodes. It does not know whether the launcher is in this process or behind a
//! connection.
//!
//! | part | |
//! |---|---|
//! | [`signal`], [`ending`] | signals to nodes; how a node ended |
//! | [`message`], [`window`] | what launcher and host tell each other; how much may be on its way |
//! | [`allowance`], [`resource_limits`], [`invocation`], [`spawn`] | what a node may use of its machine; the limits of a process; what is to be started; one process of a node |
//! | [`guardian`] | what contains a node with all that it starts |
//! | [`activity`] | what the processes of a node do at a moment |
//! | [`standard_input`], [`output`], [`host`] | input for node 0; what nodes write; all nodes of the machine |

pub mod activity;
pub mod allowance;
pub mod ending;
pub mod guardian;
pub mod host;
pub mod invocation;
pub mod message;
pub mod output;
pub mod resource_limits;
pub mod signal;
pub mod spawn;
pub mod standard_input;
pub mod window;
