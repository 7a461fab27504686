//! `gossamer run --local`: the nodes are children of the launcher, on this machine.

use crate::exit::Failure;
use crate::launcher::application::{Application, HostHandle, LastHeard};
use crate::launcher::supervise::supervise;
use crate::node::host::host;
use crate::node::invocation::{Invocation, NodeSpec};
use crate::node::resource_limits::{self, ResourceLimits};
use crate::program::settings::NodeSettings;
use crate::secure::random;
use std::ffi::OsString;
use tokio::sync::mpsc::unbounded_channel;

/// What the user asked for.
#[derive(Clone, Debug)]
pub struct LocalRun {
    /// How many nodes.
    pub nodes: u32,
    /// What nodes are told besides the environment.
    pub settings: NodeSettings,
    /// Whether lines are marked with the node's name.
    pub prefix: bool,
    /// The program and its arguments.
    pub command: Vec<OsString>,
}

/// Runs an application to its end, and gives the exit status.
///
/// # Errors
/// If it cannot be started.
pub async fn run(run: LocalRun) -> Result<u8, Failure> {
    let LocalRun { nodes, settings, prefix, command } = run;
    let limits = ResourceLimits::own();
    resource_limits::raise_open_files();
    let program = Invocation {
        file: command.first().cloned().unwrap_or_default(),
        arguments: command,
        environment: None,
        directory: None,
        mask: None,
        limits,
        user: None,
    };
    let planned = plan(nodes, settings)?;
    let (commands, orders) = unbounded_channel();
    let (tell, mut told) = unbounded_channel();
    let (tell_launcher, events) = unbounded_channel();
    let host = tokio::spawn(async move { host(&program, planned, orders, tell).await });
    tokio::spawn(async move {
        while let Some(event) = told.recv().await {
            let _ = tell_launcher.send((0, event));
        }
    });
    let machines = vec![HostHandle { name: None, commands, heard: LastHeard::default() }];
    let nodes = vec![0; usize::try_from(nodes).unwrap_or(0)];
    let result = supervise(Application { machines, nodes, events, prefix }).await;
    // With the way to it gone, the host kills what may be left.
    let _ = host.await;
    result
}

/// The nodes, and how they find each other.
fn plan(nodes: u32, settings: NodeSettings) -> Result<Vec<NodeSpec>, Failure> {
    let name = random::hexadecimal::<8>()?;
    let token = random::hexadecimal::<32>()?;
    let addresses: Vec<String> = (0..nodes).map(|node| format!("unix:gossamer-{name}-{node}")).collect();
    let addresses = addresses.join(",");
    let variables = |node: u32| {
        let mut variables = vec![
            ("GOSSAMER_NODES", addresses.clone()),
            ("GOSSAMER_NODE", node.to_string()),
            ("GOSSAMER_TOKEN", token.clone()),
        ];
        variables.extend(settings.variables());
        variables
    };
    Ok((0..nodes).map(|index| NodeSpec { index, variables: variables(index), listener: None }).collect())
}
