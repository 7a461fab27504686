//! What the launcher tells the host of a machine's nodes, and what the host tells the launcher: over a channel in one
//! process, or over the network through a daemon.

use crate::node::ending::End;
use crate::terminal::stream::Stream;
use serde::{Deserialize, Serialize};

/// The most bytes of output, or of input, in one message.
pub const CHUNK: usize = 16 * 1024;

/// How much of the window a piece of output or input takes. It is more than the bytes of the piece, so that many small
/// pieces take no more memory than a few large ones.
#[must_use]
pub fn cost(piece: &[u8]) -> usize {
    piece.len() + 64
}

/// The launcher to a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// Send a signal to every node.
    Signal(u8),
    /// Bytes for the standard input of node 0.
    Input(#[serde(with = "serde_bytes")] Vec<u8>),
    /// The end of the standard input of node 0.
    InputEnd,
    /// Output of this cost was printed; as much may be sent again.
    Printed(u32),
    /// Say what the nodes do at this moment.
    Describe,
}

/// A host to the launcher.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// A node was started.
    Started {
        /// Its index in the application.
        node: u32,
        /// Its process on its machine.
        pid: u32,
    },
    /// The nodes could not all be started, and none runs any more.
    NotStarted {
        /// The exit status for that.
        status: u8,
        /// What happened, where, and what to do.
        message: String,
    },
    /// A node wrote something.
    Output {
        /// Which node.
        node: u32,
        /// Which output.
        stream: Stream,
        /// Its bytes.
        #[serde(with = "serde_bytes")]
        bytes: Vec<u8>,
    },
    /// Input of this cost was taken; as much may be sent again.
    Taken(u32),
    /// A node has ended.
    Ended {
        /// Which node.
        node: u32,
        /// How.
        end: End,
    },
    /// All output of an ended node was sent.
    Drained {
        /// Which node.
        node: u32,
    },
    /// Somebody other than the launcher ends the application: who, and why.
    Stopping(String),
    /// The machine can no longer be reached: why.
    Lost(String),
    /// What a node is doing, in answer to `Describe`.
    Described {
        /// Which node.
        node: u32,
        /// Lines.
        text: String,
    },
}
