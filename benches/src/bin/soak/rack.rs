//! The processes of the rack.

use crate::options::Options;
use benches::partner::Partner;
use std::process::{Command, Stdio};

/// Whether this process was started as one of them.
pub fn is_node() -> bool {
    std::env::var_os("GOSSAMER_NODE").is_some()
}

/// Starts them, and waits until they have ended.
///
/// # Errors
/// If this program cannot be found.
pub fn run(options: &Options, arguments: &[String]) -> Result<(), String> {
    let own = format!("{:08x}", std::process::id());
    let addresses: Vec<String> =
        (0..options.nodes).map(|node| format!("unix:gossamer-soak-{own}-{node}")).collect();
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let nodes = (0..options.nodes).map(|node| {
        let mut command = Command::new(&program);
        command.args(arguments).stdin(Stdio::null());
        command.env("GOSSAMER_NODES", addresses.join(",")).env("GOSSAMER_NODE", node.to_string());
        command.env("GOSSAMER_TOKEN", format!("{own:0>64}")).env("GOSSAMER_FABRIC", &options.over);
        command.env("GOSSAMER_THREADS", options.threads.to_string());
        Partner::of(&mut command)
    });
    nodes.collect::<Vec<_>>().into_iter().for_each(Partner::join);
    Ok(())
}
