//! What lanes take of a node as nodes and workers grow: by a formula, and as measured on small racks.

pub mod node;
mod rack;
pub mod tables;

pub use rack::measure;

/// How the nodes of a rack reach each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// All are on one machine.
    Memory,
    /// Each is on a machine of its own, reached by TCP.
    Tcp,
    /// Over RDMA, with one pair of ports.
    Verbs,
}

/// This many nodes with this many workers each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Nodes.
    pub nodes: u64,
    /// Workers of each.
    pub workers: u64,
    /// How they reach each other.
    pub over: Over,
}

/// What a node has once every worker of the rack has sent many requests to every other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// Bytes of memory that lanes have added.
    pub lanes: u64,
    /// Connections to other nodes.
    pub connections: u64,
    /// Descriptors, without those that every process starts with.
    pub descriptors: u64,
}

/// Bytes of the slots of one direction of a lane: of one machine, and of two.
const SLOTS: [u64; 2] = [16 << 10, 56 << 10];
/// Bytes of what a worker has beside the slots, for a lane that it uses and one that it serves together, as measured.
const ENDS: u64 = 6 << 10;
/// Bytes of the slots of a lane over TCP, both directions together, whose batches are small and come one at a time: 48 bytes
/// for each of 64, twice, and a small body at each end. A batch under way takes what it needs, and gives it back.
const TCP_SLOTS: u64 = 7 << 10;

/// Bytes of a region from which slots are cut, and how many lanes' slots of one direction that are.
const CHUNK: (u64, u64) = (2 << 20, (2 << 20) / SLOTS[1]);
/// Bytes of a queue pair: what waits to be read by the device, and its mailbox.
const QUEUE_PAIR: u64 = (128 << 10) + (4 << 10);
/// Bytes of places for fragments, in both directions, for each remote node.
const PLACES: u64 = 2 * (4 * (64 << 10));

impl Shape {
    /// Bytes that a node registers for RDMA, and so pins. What the device itself takes for a queue pair comes on top: some 100 KiB.
    #[must_use]
    pub fn pinned(&self) -> u64 {
        let Self { nodes, workers, over } = *self;
        if over != Over::Verbs {
            return 0;
        }
        // What a node reads: the responses of lanes that begin here, the requests of lanes that end here.
        let chunks = (2 * workers * workers).div_ceil(CHUNK.1);
        (nodes - 1) * (chunks * CHUNK.0 + workers * QUEUE_PAIR + PLACES)
    }

    /// What there is on a node, by what the code does.
    #[must_use]
    pub fn predicted(&self, node: u64) -> Figures {
        let Self { nodes, workers, over } = *self;
        let others = nodes - 1;
        // Ordered pairs of workers: inside the node; and between it and others, as many each way.
        let (inside, between) = (workers * (workers - 1), workers * workers * others);
        let near = SLOTS[0];
        // Inside, both directions of a lane are the node's. Shared memory is half the node's and half the other's. Over TCP each
        // end has what it reads: the responses of lanes from here, the requests of lanes to here.
        let slots = match over {
            Over::Memory => 2 * near * inside + 2 * near * between,
            Over::Tcp => 2 * near * inside + TCP_SLOTS * between,
            Over::Verbs => 2 * near * inside + self.pinned(),
        };
        let (connections, descriptors) = match over {
            // Node 0 is connected to each other node, and so are the others to each other, to see which nodes live when
            // node 0 does not. Each node has memory of its own, and shares more with each other node whose workers it
            // can wake.
            Over::Memory => {
                let (controls, watched) = if node == 0 { (others, 0) } else { (1, others - 1) };
                (controls + watched, 2 * controls + watched + others * (2 + workers))
            }
            // One for each worker, and one to watch each other, which is read and written by two descriptors.
            Over::Tcp => (others * (workers + 1), others * (workers + 2)),
            // As with shared memory; and the two of the device, a completion channel for each worker, and the
            // descriptor that ends the watch of the device.
            Over::Verbs => (others, 2 * others + workers + 3),
        };
        // Each worker has a poller, which takes two descriptors, one descriptor that wakes it, and one by which other
        // nodes wake it; the thread that watches the workers of a process has one that wakes it, and the socket for
        // inspection.
        Figures {
            lanes: slots + ENDS * (inside + between),
            connections,
            descriptors: descriptors + 4 * workers + 3,
        }
    }
}
