//! The contract, over the simulated device.
#![expect(clippy::unwrap_used, reason = "a test fails by it")]

use crate::fabric::conformance::{LANE, Subject, conformance, conformance_of_fragments};
use crate::fabric::verbs::abi::Verbs;
use crate::fabric::verbs::choice::pairs::pairs;
use crate::fabric::verbs::choice::settings::VerbsSettings;
use crate::fabric::verbs::context::DeviceList;
use crate::fabric::verbs::link::endpoint::VerbsEndpoint;
use crate::fabric::verbs::link::setup::{ReachedNode, VerbsSetup};
use crate::fabric::verbs::survey::survey;
use libloading::Library;
use std::collections::HashMap;
use std::ffi::{CStr, c_char};
use std::ops::Range;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

/// Two workers of two nodes, and a queue pair between them.
struct Simulated {
    reader: VerbsEndpoint,
    writer: VerbsEndpoint,
}

/// The endpoints of all workers of two nodes.
pub(super) fn join(workers: [Range<usize>; 2]) -> [Vec<VerbsEndpoint>; 2] {
    let own = || survey(&DeviceList::of(Verbs::simulated()).unwrap(), &VerbsSettings::default()).unwrap();
    let [mut here, mut there] = [0, 1].map(|node| {
        let own = own();
        let ports = pairs(&own.offers, &own.offers).unwrap();
        let reached = ReachedNode { number: 1 - node, workers: workers[1 - node].clone(), ports, end: node };
        VerbsSetup::new(own.devices, own.settings, workers[node].clone(), vec![reached]).unwrap()
    });
    let (offered, back) = (here.offer(1).unwrap(), there.offer(0).unwrap());
    here.receive(1, back).unwrap();
    there.receive(0, offered).unwrap();
    let due = Instant::now() + PATIENCE;
    assert_eq!(here.probe(&[1], due).unwrap(), HashMap::new());
    assert_eq!(there.probe(&[0], due).unwrap(), HashMap::new());
    [here.connect(&[1]), there.connect(&[0])]
        .map(|endpoints| endpoints.into_iter().flatten().map(VerbsEndpoint::new).collect())
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

impl Subject for Simulated {
    type Endpoint = VerbsEndpoint;

    fn new(_seed: u64) -> Self {
        let [mut readers, mut writers] = join([LANE.reader..LANE.reader + 3, LANE.writer..LANE.writer + 2]);
        let (reader, writer) = (readers.swap_remove(0), writers.swap_remove(0));
        Self { reader, writer }
    }

    fn reader(&self) -> &VerbsEndpoint {
        &self.reader
    }

    fn writer(&self) -> &VerbsEndpoint {
        &self.writer
    }

    fn is_under_way(&self) -> bool {
        // What leaves one side is at the other one before it is gone here: so each is looked at behind the other.
        let ends = [&self.writer, &self.reader, &self.writer];
        ends.into_iter().flat_map(|end| end.queue_pairs()).any(|number| under_way(number) > 0)
    }
}

conformance!(Simulated);
conformance_of_fragments!(Simulated);
