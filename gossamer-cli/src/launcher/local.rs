//! `gossamer run --local`: the nodes are children of the launcher, on this machine.

use crate::exit::Failure;
use crate::launcher::application::{Application, HostHandle, LastHeard};
use crate::launcher::options::RunOptions;
use crate::launcher::supervise::supervise;
use crate::metrics::{self, ServedMetrics};
use crate::node::host::host;
use crate::node::invocation::{Invocation, NodeSpec};
use crate::node::resource_limits::{self, ResourceLimits};
use crate::program::settings::NodeSettings;
use crate::secure::random;
use std::net::SocketAddr;
use tokio::sync::mpsc::unbounded_channel;

/// What the user asked for.
#[derive(Clone, Debug)]
pub struct LocalRun {
    /// How many nodes.
    pub nodes: u32,
    /// Where their metrics are served.
    pub metrics: Option<SocketAddr>,
    /// The rest.
    pub options: RunOptions,
}

/// Runs an application to its end, and gives the exit status.
///
/// # Errors
/// If it cannot be started.
pub async fn run(run: LocalRun) -> Result<u8, Failure> {
    let LocalRun { nodes, metrics, options } = run;
    let RunOptions { settings, allowance, output, time_limit, command } = options;
    let limits = ResourceLimits::own();
    resource_limits::raise_open_files();
    let program = Invocation {
        file: command.first().cloned().unwrap_or_default(),
        arguments: command,
        environment: None,
        directory: None,
        mask: None,
        limits,
        allowance,
        user: None,
    };
    let name = random::hexadecimal::<8>()?;
    let metrics = match metrics {
        Some(address) => Some(ServedMetrics::start(address, &name).await?),
        None => None,
    };
    let planned = plan(nodes, &name, settings, metrics.as_ref())?;
    let nodes = vec![0; planned.len()];
    let this_machine = rustix::system::uname();
    let machines = vec![this_machine.nodename().to_str().unwrap_or("localhost"); nodes.len()];
    let files = output.files.as_ref().map(|pattern| pattern.open(&machines, &name)).transpose()?;
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
    let result = supervise(Application { machines, nodes, events, output, files, time_limit }).await;
    // Once the channel to the host is gone, the host kills what may be left.
    let _ = host.await;
    drop(metrics);
    result
}

/// The nodes of the application of this name, and how they find each other.
fn plan(
    nodes: u32,
    name: &str,
    settings: NodeSettings,
    metrics: Option<&ServedMetrics>,
) -> Result<Vec<NodeSpec>, Failure> {
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
        variables.extend(metrics::variable(metrics));
        variables
    };
    Ok((0..nodes).map(|index| NodeSpec { index, variables: variables(index), listener: None }).collect())
}
