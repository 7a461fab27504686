//! What launchers and daemons say to each other, once both have proved that they know the key.
//!
//! The client sends [`Hello`], the daemon answers with its own. Then the client sends one [`Request`]. All but `Launch`,
//! `CheckRdma`, `Inspect` and `Examine` are answered by one [`Reply`] and end the connection. A launch goes on:
//!
//! | launcher | daemon |
//! |---|---|
//! | `Launch` | `Ready` (or `Refused`) |
//! | `Binary`, until all has been sent, if it is missing there | `Stored` |
//! | `Start`, when all machines are ready | |
//! | `Command`, `Beat` | `Event`, `Beat` |
//!
//! The connection is the launch: when it ends, or one side says nothing for [`SILENCE`], the nodes are killed. Before
//! `Start`, either side may be silent for [`PREPARATION`].
//!
//! A check of RDMA goes on, too: each [`RdmaStep`] of the client is answered by one [`RdmaReply`], `Answer` when the client has
//! measured. Both sides know by their reports which pairs of ports there are.
//!
//! `Inspect` is answered by an `Inspected` for each node, as they come, and by `InspectionOver`. Each `Examine` is answered by one
//! `Examined`, and more may follow.

use crate::node::allowance::Allowance;
use crate::node::ending::End;
use crate::node::message::{Command, Event};
use crate::node::resource_limits::ResourceLimits;
use crate::rack::examination::{ExaminationReply, ExaminationStep};
use crate::rack::rdma::Variables;
use crate::terminal::stream::Stream;
use gossamer::inspect::InspectionQuestion;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The number of this protocol. [`Hello`] itself never changes.
pub const PROTOCOL: u16 = 5;
/// How often both sides of a launch say something.
pub const HEARTBEAT: Duration = Duration::from_secs(1);
/// After this much silence the other side is lost.
pub const SILENCE: Duration = Duration::from_secs(10);
/// How long either side may take to look for a program, to read it or to store it: a disk that others keep busy stops
/// who waits for it, for tens of seconds.
pub const PREPARATION: Duration = Duration::from_secs(60);

/// The longest time for which nodes are looked at.
pub const LONGEST_LOOK: Duration = Duration::from_secs(60);

/// How long a node may take to read its symbols.
const SYMBOLS: Duration = Duration::from_secs(30);

/// The first message of each side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`PROTOCOL`]
    pub protocol: u16,
    /// The version of the command.
    pub version: String,
}

impl Inspection {
    /// The same for the library.
    #[must_use]
    pub fn question(self) -> InspectionQuestion {
        match self {
            Self::Fibers => InspectionQuestion::Fibers,
            Self::Backtraces => InspectionQuestion::Backtraces,
            Self::Activity { .. } => InspectionQuestion::Activity(self.time()),
        }
    }

    /// How long nodes are looked at, or have to look at themselves.
    #[must_use]
    pub fn time(self) -> Duration {
        match self {
            Self::Fibers => Duration::ZERO,
            Self::Backtraces => SYMBOLS,
            Self::Activity { milliseconds } => Duration::from_millis(milliseconds).min(LONGEST_LOOK),
        }
    }
}

impl Hello {
    /// The introduction of this version.
    #[must_use]
    pub fn own() -> Self {
        Self { protocol: PROTOCOL, version: env!("CARGO_PKG_VERSION").into() }
    }
}

/// From a client to a daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// How is this machine, and what RDMA would nodes with these variables have there?
    Status(Variables),
    /// Is the daemon there, and how much runs?
    Health,
    /// Which applications have nodes here?
    List {
        /// Also list applications that had nodes here and have ended?
        ended: bool,
    },
    /// End an application.
    Kill {
        /// Its id.
        application: String,
        /// Who wants it to end.
        by: String,
    },
    /// What did the nodes of an application print recently?
    Logs {
        /// Its id.
        application: String,
    },
    /// Try RDMA between this machine and that of the client.
    CheckRdma {
        /// The client's settings for RDMA.
        variables: Variables,
        /// What the client's machine has, encoded.
        report: Vec<u8>,
    },
    /// A step of a check.
    RdmaStep(RdmaStep),
    /// Start these nodes.
    Launch(Box<Launch>),
    /// A piece of the program.
    Binary(#[serde(with = "serde_bytes")] Vec<u8>),
    /// All machines are ready: the addresses of all nodes, as they see them.
    Start {
        /// The value of `GOSSAMER_NODES`.
        addresses: String,
    },
    /// For the nodes' host.
    Command(Command),
    /// The launcher is still there.
    Heartbeat,
    /// What do nodes that run here do?
    Inspect {
        /// Which application; all of them, if none is named.
        application: Option<String>,
        /// What each node is asked.
        inspection: Inspection,
    },
    /// A step of an examination.
    Examine(ExaminationStep),
}

/// What nodes are asked about themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Inspection {
    /// What their fibers do.
    Fibers,
    /// The same, and how those that wait came to where they are.
    Backtraces,
    /// What they do from now on,
    Activity {
        /// for this long, up to a minute.
        milliseconds: u64,
    },
}

/// What a node says about itself, or why it says nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InspectedNode {
    /// The id of its application.
    pub application: String,
    /// Its index.
    pub node: u32,
    /// Its process.
    pub pid: u32,
    /// The answer as it came from the node, which alone has made it.
    pub answer: Result<Vec<u8>, String>,
}

/// What the daemon is to do next in a check of RDMA.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RdmaStep {
    /// Make a queue pair.
    Connect {
        /// Between these ports, by their place among all pairs.
        pair: u32,
        /// The client's queue pair, encoded.
        parameters: Vec<u8>,
    },
    /// Write nothing, and check that what the client writes arrives.
    Probe,
    /// Answer small writes.
    Answer,
    /// Write as much as possible.
    Write,
}

/// What a daemon says during a check of RDMA.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RdmaReply {
    /// What its machine has, encoded.
    Machine(Vec<u8>),
    /// Its queue pair, encoded, which the client may write to.
    Connected(Vec<u8>),
    /// The step is done.
    Done,
    /// This many bytes a second were written.
    Rate(u64),
    /// The step failed.
    Failed(String),
}

/// What to start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// The id of the application.
    pub application: String,
    /// Who launches it, and from where.
    pub owner: String,
    /// The value of `GOSSAMER_TOKEN`.
    pub token: String,
    /// The nodes of this machine, by their index, in order.
    pub nodes: Vec<u32>,
    /// Where they listen, if not in the abstract namespace of the machine.
    pub listen: Option<std::net::IpAddr>,
    /// How the program is called, and its arguments.
    pub arguments: Vec<Vec<u8>>,
    /// The BLAKE3 hash of the program.
    pub hash: [u8; 32],
    /// The length of the program.
    pub length: u64,
    /// The environment.
    pub environment: Vec<(Vec<u8>, Vec<u8>)>,
    /// The working directory; where it is missing, nodes run in the root directory.
    pub directory: Vec<u8>,
    /// The mask for new files.
    pub mask: u32,
    /// The limits.
    pub limits: ResourceLimits,
    /// What each node may use of its machine.
    pub allowance: Allowance,
}

/// From a daemon to a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// It cannot be done: why, and what to do.
    Refused(String),
    /// How this machine is.
    Status(Status),
    /// The daemon is alive.
    Health(Health),
    /// The applications that have nodes here.
    List(Vec<ApplicationSummary>),
    /// Whether there was such an application.
    Killed(bool),
    /// What nodes printed, oldest first; nothing if there is no such application.
    Logs(Option<Vec<LoggedOutput>>),
    /// During a check of RDMA.
    Rdma(RdmaReply),
    /// The nodes can be started.
    Ready {
        /// Where they listen, in the order of the nodes.
        ports: Vec<u16>,
        /// Whether the program is here already.
        has_binary: bool,
    },
    /// The program is here.
    Stored,
    /// From the nodes' host.
    Event(Event),
    /// The daemon is still there.
    Heartbeat,
    /// The answer of one node.
    Inspected(InspectedNode),
    /// All have been asked.
    InspectionOver,
    /// The result of a step of an examination.
    Examined(ExaminationReply),
}

/// How a daemon is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// How long it has run, in seconds.
    pub up_seconds: u64,
    /// Applications that run.
    pub applications: usize,
    /// Nodes that run.
    pub nodes: usize,
}

/// How a machine is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// How long the daemon has run, in seconds.
    pub up_seconds: u64,
    /// Processors.
    pub processors: u32,
    /// Runnable processes, averaged over the last minute, in hundredths.
    pub load_hundredths: u64,
    /// Memory, and memory that is available, in bytes.
    pub memory: (u64, u64),
    /// Applications that run.
    pub applications: u32,
    /// Nodes that run.
    pub nodes: u32,
    /// Bytes of programs in the cache, and how many there may be.
    pub cache: (u64, u64),
    /// The machines of the daemon's configuration: name and address.
    pub machines: Vec<(String, String)>,
    /// Its RDMA, encoded; or why that is not known.
    pub rdma: Result<Vec<u8>, String>,
}

/// An application, as one machine sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplicationSummary {
    /// Its id.
    pub application: String,
    /// Who launched it, and from where.
    pub owner: String,
    /// How long it has run, in seconds.
    pub seconds: u64,
    /// The program and its arguments.
    pub command: String,
    /// Its nodes on this machine.
    pub nodes: Vec<NodeSummary>,
    /// How long ago it has ended here, if it has.
    pub ended_seconds_ago: Option<u64>,
    /// Who or what ended it, or why it was not started.
    pub cause: Option<String>,
    /// Whether not all of its nodes here could be started.
    pub was_not_started: bool,
}

/// A node, as its machine sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeSummary {
    /// Its index.
    pub node: u32,
    /// Its process.
    pub pid: u32,
    /// How long it has run.
    pub milliseconds: u64,
    /// Its end, if it has ended.
    pub end: Option<NodeEnd>,
}

/// The end of a node, as its machine remembers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeEnd {
    /// How it has ended.
    pub end: End,
    /// Whether it was ended because its application was.
    pub was_ended: bool,
    /// How long ago.
    pub seconds_ago: u64,
}

/// A piece of output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoggedOutput {
    /// The node.
    pub node: u32,
    /// Where it was written.
    pub stream: Stream,
    /// What was written.
    pub bytes: Vec<u8>,
}
