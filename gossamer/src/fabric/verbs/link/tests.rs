//! The contract, over a device, simulated or real.
#![expect(clippy::unwrap_used, reason = "a test fails by it")]

use crate::fabric::conformance::{LANE, Subject, conformance, conformance_of_fragments};
use crate::fabric::verbs::abi::Verbs;
use crate::fabric::verbs::choice::address::{AddressVector, Destination};
use crate::fabric::verbs::context::{DeviceContext, DeviceList};
use crate::fabric::verbs::link::endpoint::{READS, VerbsEndpoint};
use crate::fabric::verbs::link::remote_node::RemoteNode;
use crate::fabric::verbs::memory::ProtectionDomain;
use crate::fabric::verbs::queue_pair::{Persistence, RemoteQueuePair};
use libloading::Library;
use std::ffi::{CStr, c_char};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

const PORT: u8 = 1;
const PERSISTENCE: Persistence = Persistence { timeout: 14, retries: 6 };

/// Two workers of two nodes, and a queue pair between them.
struct Joined {
    reader: VerbsEndpoint,
    writer: VerbsEndpoint,
}

/// What a side tells the other one of its queue pair.
fn remote(context: &DeviceContext, number: u32, first_packet: u32) -> RemoteQueuePair {
    let port = context.ports().unwrap().remove(0);
    let entry = port.gids.last().unwrap();
    let destination = Destination::Gid { gid: entry.gid, index: entry.index as u8, traffic_class: 0 };
    let address = AddressVector { port: PORT, service_level: 0, destination };
    RemoteQueuePair { number, first_packet, address, mtu: port.mtu, reads: READS }
}

pub(super) fn open() -> Arc<DeviceContext> {
    DeviceList::of(Verbs::of_tests()).unwrap().open(0).unwrap()
}

pub(super) fn node(
    context: &Arc<DeviceContext>,
    workers: Range<usize>,
    peers: Range<usize>,
) -> Arc<RemoteNode> {
    RemoteNode::new(ProtectionDomain::new(context).unwrap(), workers, peers).unwrap()
}

/// One end: its endpoint, its worker, what it knows of the other node.
type End<'a> = (&'a mut VerbsEndpoint, usize, &'a Arc<RemoteNode>);

/// Connects two workers.
pub(super) fn connect(context: &DeviceContext, (here, ours, there): End<'_>, (other, theirs, back): End<'_>) {
    let pairs = [here.pair(there, theirs).unwrap(), other.pair(back, ours).unwrap()];
    pairs[0].receive(PORT, &remote(context, pairs[1].number(), 7)).unwrap();
    pairs[1].receive(PORT, &remote(context, pairs[0].number(), 0x00ff_ffff)).unwrap();
    let inboxes = pairs.each_ref().map(|pair| pair.inbox());
    let [first, second] = pairs;
    here.connect_pair(first, inboxes[1], (0x00ff_ffff, PERSISTENCE), true).unwrap();
    other.connect_pair(second, inboxes[0], (7, PERSISTENCE), true).unwrap();
}

/// A function of the simulated device that libibverbs does not have.
///
/// # Safety
/// It is of this type.
unsafe fn function<F: Copy>(name: &str) -> F {
    let path = std::env::current_exe().unwrap().with_file_name("libverbs_sim.so");
    // SAFETY: V2: it is open, and stays so.
    let library = unsafe { Library::new(path) }.unwrap();
    // SAFETY: the caller's.
    let found = unsafe { library.get::<F>(name) };
    *found.unwrap()
}

/// A counter of the simulated device.
pub(super) fn counter(name: &CStr) -> u64 {
    type Counter = unsafe extern "C" fn(*const c_char) -> u64;
    // SAFETY: V2.
    let counter = unsafe { function::<Counter>("verbs_sim_counter") };
    // SAFETY: V2: it reads a string.
    unsafe { counter(name.as_ptr()) }
}

/// Work requests of a queue pair that have not ended, and completions that were not polled.
fn under_way(queue_pair: u32) -> u64 {
    type UnderWay = unsafe extern "C" fn(u32) -> u64;
    static UNDER_WAY: OnceLock<UnderWay> = OnceLock::new();
    let found = UNDER_WAY.get_or_init(|| {
        // SAFETY: V2.
        unsafe { function("verbs_sim_under_way") }
    });
    // SAFETY: V2.
    unsafe { found(queue_pair) }
}

impl Subject for Joined {
    type Endpoint = VerbsEndpoint;

    fn new(_seed: u64) -> Self {
        let context = open();
        let (readers, writers) = (LANE.reader..LANE.reader + 3, LANE.writer..LANE.writer + 2);
        let nodes = [node(&context, readers.clone(), writers.clone()), node(&context, writers, readers)];
        nodes[0].set_pool(nodes[1].pool_address()).unwrap();
        nodes[1].set_pool(nodes[0].pool_address()).unwrap();
        let mut reader = VerbsEndpoint::new(&context, LANE.reader, 1).unwrap();
        let mut writer = VerbsEndpoint::new(&context, LANE.writer, 1).unwrap();
        connect(&context, (&mut reader, LANE.reader, &nodes[0]), (&mut writer, LANE.writer, &nodes[1]));
        Self { reader, writer }
    }

    fn reader(&self) -> &VerbsEndpoint {
        &self.reader
    }

    fn writer(&self) -> &VerbsEndpoint {
        &self.writer
    }

    fn is_under_way(&self) -> bool {
        if !Verbs::tests_are_simulated() {
            // No short cut: what is posted by both is told to be done.
            return self.writer.fence() | self.reader.fence();
        }
        // What leaves one side is at the other one before it is gone here: so each is looked at behind the other.
        let ends = [&self.writer, &self.reader, &self.writer];
        ends.into_iter().flat_map(|end| end.queue_pairs()).any(|number| under_way(number) > 0)
    }
}

conformance!(Joined);
conformance_of_fragments!(Joined);
