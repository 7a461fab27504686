//! Tests of reads over the simulated device: two ends of one process.

use crate::fabric::verbs::abi::{Verbs, types::*};
use crate::fabric::verbs::choice::pairs::pairs;
use crate::fabric::verbs::choice::settings::VerbsSettings;
use crate::fabric::verbs::context::DeviceList;
use crate::fabric::verbs::memory::RegionAccess;
use crate::fabric::verbs::reads::end::{ReadEnd, ReadPath};
use crate::fabric::verbs::reads::parameters::ReadParameters;
use crate::fabric::verbs::reads::queue::{ReadFailure, ReadQueue};
use crate::fabric::verbs::survey::survey;
use crate::sys::memory::device_memory::DeviceMemory;
use std::io::Write;
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

const BYTES: usize = 1 << 20;

/// The end that is read, with the memory of both.
struct Connected {
    queue: ReadQueue,
    source: ReadEnd,
    from: Arc<DeviceMemory>,
    into: Arc<DeviceMemory>,
}

/// Two ends. The parameters of the one that is read are the true ones as `change` alters them.
fn connected(change: impl Fn(&mut ReadParameters)) -> Connected {
    let memory = || DeviceMemory::map(BYTES).unwrap();
    let (from, into) = (memory(), memory());
    for at in (0..BYTES).step_by(8) {
        // SAFETY: I3; nothing else has it yet.
        unsafe { from.at(at, 8).cast::<u64>().write(at as u64) };
    }
    let settings = VerbsSettings::default();
    let found = survey(&DeviceList::of(Verbs::of_tests()).unwrap(), &settings).unwrap();
    let pair = pairs(&found.offers, &found.offers).unwrap().remove(0);
    // A context of its own for each, as for two processes.
    let other = survey(&DeviceList::of(Verbs::of_tests()).unwrap(), &settings).unwrap();
    let source = ReadEnd::new(&found.devices[0], 1, from.clone(), RegionAccess::RemoteRead).unwrap();
    let target = ReadEnd::new(&other.devices[0], 1, into.clone(), RegionAccess::ReadTarget).unwrap();
    let mut parameters = source.parameters();
    change(&mut parameters);
    let path = |at| ReadPath { address: pair.way(at, &settings), mtu: pair.mtu };
    source.connect(&target.parameters(), path(0), &settings).unwrap();
    target.connect(&parameters, path(1), &settings).unwrap();
    let queue = ReadQueue::new(target, &parameters).unwrap();
    Connected { queue, source, from, into }
}

impl Connected {
    fn await_part(&mut self) -> Result<(), ReadFailure> {
        while !self.queue.fetch()? {
            self.queue.sleep(None, None)?;
        }
        Ok(())
    }

    /// Whether exactly these bytes have landed, at their places.
    fn has(&self, places: &[Range<usize>]) -> bool {
        (0..BYTES).all(|at| {
            let is_read = places.iter().any(|place| place.contains(&at));
            // SAFETY: I3; nothing is under way any more.
            let [there, here] = [&self.from, &self.into].map(|memory| unsafe { *memory.at(at, 1) });
            here == if is_read { there } else { 0 }
        })
    }
}

#[test]
fn parts_are_read_whole_and_fetched_in_order_however_small_a_message_may_be() {
    for (largest, reads) in [(1 << 30, 16), (4096, 1), (100_000, 2)] {
        let mut ends = connected(|parameters| {
            (parameters.largest_message, parameters.reads_received) = (largest, reads);
        });
        let places = [0..5, 4096..300_000, 300_000..300_001, 400_008..BYTES];
        for place in &places {
            ends.queue.begin(place.clone()).unwrap();
        }
        for left in (0..places.len()).rev() {
            ends.await_part().unwrap();
            assert_eq!(ends.queue.is_idle(), left == 0);
        }
        assert!(ends.has(&places), "{largest} {reads}");
        assert!(!ends.queue.fetch().unwrap());
    }
}

#[test]
fn who_sleeps_is_woken_by_the_socket_too() {
    let mut ends = connected(|_| {});
    let (near, mut far) = UnixStream::pair().unwrap();
    far.write_all(&[1]).unwrap();
    assert_eq!(ends.queue.sleep(Some(near.as_fd()), None), Ok(true));
    ends.queue.begin(0..BYTES).unwrap();
    ends.await_part().unwrap();
    assert!(ends.queue.is_idle() && ends.queue.has_room());
}

#[test]
fn a_key_that_opens_nothing_fails_in_words() {
    let mut ends = connected(|parameters| parameters.memory.key ^= 1);
    ends.queue.begin(0..4096).unwrap();
    let failure = ends.await_part().unwrap_err();
    assert_eq!(failure.status, IBV_WC_REM_ACCESS_ERR);
    let why = &failure.why;
    assert!(
        why.starts_with("RDMA device ") && why.contains(": READ: remote access error (status 10"),
        "{why}"
    );
    assert!(ends.has(&[]));
}

#[test]
fn nothing_behind_the_memory_that_was_registered_is_read() {
    let mut ends = connected(|parameters| parameters.memory.address += 8);
    ends.queue.begin(BYTES - 8..BYTES).unwrap();
    assert_eq!(ends.await_part().unwrap_err().status, IBV_WC_REM_ACCESS_ERR);
}

#[test]
fn an_end_that_is_gone_fails_after_the_retries() {
    let mut ends = connected(|_| {});
    ends.source.queue_pair.fail().unwrap();
    ends.queue.begin(0..BYTES).unwrap();
    let failure = ends.await_part().unwrap_err();
    assert_eq!(failure.status, IBV_WC_RETRY_EXC_ERR, "{}", failure.why);
}

#[test]
fn a_device_without_reads_is_refused_in_words() {
    let found = survey(&DeviceList::of(Verbs::of_tests()).unwrap(), &VerbsSettings::default()).unwrap();
    let memory = DeviceMemory::map(4096).unwrap();
    let end = ReadEnd::new(&found.devices[0], 1, memory, RegionAccess::ReadTarget).unwrap();
    let theirs = ReadParameters { reads_received: 0, ..end.parameters() };
    let error = ReadQueue::new(end, &theirs).err().unwrap().to_string();
    assert!(error.starts_with("RDMA device ") && error.contains("takes no READ"), "{error}");
}

#[test]
fn the_address_of_memory_is_told_by_who_lets_it_be_read_only() {
    let ends = connected(|_| {});
    assert_ne!(ends.source.parameters().memory.address, 0);
    let memory = DeviceMemory::map(4096).unwrap();
    let target = ReadEnd::new(&ends.source.context, 1, memory, RegionAccess::ReadTarget).unwrap();
    assert_eq!((target.parameters().memory.address, target.parameters().memory.key), (0, 0));
}
