//! What a node may use of its machine.

use serde::{Deserialize, Serialize};

/// What each node may use: everything there is, where nothing is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allowance {
    /// Memory, in bytes.
    pub memory: Option<u64>,
    /// Processor time, in thousandths of a processor.
    pub millicpus: Option<u32>,
}

impl Allowance {
    /// Whether a node may use everything.
    #[must_use]
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }
}
