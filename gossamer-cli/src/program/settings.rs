//! What the command line says about nodes, as variables of their environment.

use gossamer::{FabricChoice, Protection};
use std::path::PathBuf;

/// What nodes are told, besides the environment of the launcher.
#[derive(Clone, Debug, Default)]
pub struct NodeSettings {
    /// How many workers each of them has.
    pub threads: Option<u32>,
    /// The fabric that joins them.
    pub fabric: Option<FabricChoice>,
    /// How the data that they send each other is protected.
    pub protection: Option<Protection>,
    /// Where node 0 writes a trace of all of them.
    pub trace: Option<PathBuf>,
}

impl NodeSettings {
    /// The variables for that.
    pub fn variables(&self) -> impl Iterator<Item = (&'static str, String)> + use<> {
        let threads = self.threads.map(|threads| ("GOSSAMER_THREADS", threads.to_string()));
        let fabric = self.fabric.map(|fabric| ("GOSSAMER_FABRIC", fabric.to_string()));
        let protection = self.protection.map(|protection| ("GOSSAMER_PROTECTION", protection.to_string()));
        let trace = self.trace.as_ref().map(|file| ("GOSSAMER_TRACE", file.display().to_string()));
        threads.into_iter().chain(fabric).chain(protection).chain(trace)
    }
}
