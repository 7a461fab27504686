//! Which of a process's two outputs.

use serde::{Deserialize, Serialize};

/// Which output of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}
