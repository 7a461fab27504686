//! Small racks whose memory is measured: a process of this program for each node.

use super::{Figures, Shape, node};
use crate::partner::Partner;
use std::io::Read as _;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// What each node of a rack has, and what it had before there were lanes, in bytes. `arguments` make this program a node.
///
/// # Errors
/// If nodes cannot be started, or do not say what they have.
pub fn measure(shape: Shape, arguments: &[&str]) -> Result<Vec<(Figures, u64)>, String> {
    static RACKS: AtomicU32 = AtomicU32::new(0);
    let own = format!("{:08x}{:08x}", std::process::id(), RACKS.fetch_add(1, Ordering::Relaxed));
    let addresses: Vec<String> =
        (0..shape.nodes).map(|node| format!("unix:gossamer-memory-{own}-{node}")).collect();
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let command = |node: u64| {
        let mut command = Command::new(&program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
        command.env("GOSSAMER_NODES", addresses.join(",")).env("GOSSAMER_NODE", node.to_string());
        command
            .env("GOSSAMER_TOKEN", format!("{own:0>64}"))
            .env("GOSSAMER_THREADS", shape.workers.to_string());
        command.env("GOSSAMER_FABRIC", super::tables::name(shape.over));
        command
    };
    let others: Vec<Partner> = (1..shape.nodes).map(|node| Partner::of(&mut command(node))).collect();
    let (mut text, mut first) = (String::new(), Partner::of(command(0).stdout(Stdio::piped())));
    let read = first.output().map(|mut pipe| pipe.read_to_string(&mut text));
    read.transpose().map_err(|error| error.to_string())?;
    first.join();
    others.into_iter().for_each(Partner::join);
    let found: Option<Vec<_>> =
        text.lines().filter_map(|line| line.split_once(node::MARK)).map(|(_, line)| figures(line)).collect();
    found.filter(|found| found.len() as u64 == shape.nodes).ok_or_else(|| format!("node 0 said {text:?}"))
}

fn figures(line: &str) -> Option<(Figures, u64)> {
    let numbers: Option<Vec<u64>> = line.split_whitespace().map(|text| text.parse().ok()).collect();
    let [before, lanes, connections, descriptors] = numbers?[..] else { return None };
    Some((Figures { lanes, connections, descriptors }, before))
}
