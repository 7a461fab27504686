//! What the command line says of nodes, as variables of their environment.

use gossamer::FabricChoice;

/// What nodes are told besides the environment of the launcher.
#[derive(Clone, Copy, Debug, Default)]
pub struct NodeSettings {
    /// How many workers each of them has.
    pub threads: Option<u32>,
    /// What joins them.
    pub fabric: Option<FabricChoice>,
}

impl NodeSettings {
    /// The variables that say so.
    pub fn variables(self) -> impl Iterator<Item = (&'static str, String)> {
        let threads = self.threads.map(|threads| ("GOSSAMER_THREADS", threads.to_string()));
        let fabric = self.fabric.map(|fabric| ("GOSSAMER_FABRIC", fabric.to_string()));
        threads.into_iter().chain(fabric)
    }
}
