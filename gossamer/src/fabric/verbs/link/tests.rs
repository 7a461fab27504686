//! The contract, over a device, simulated or real, and what only this fabric has to do: tell readers, even late ones,
//! and wake sleepers.
#![expect(clippy::unwrap_used, reason = "a test fails by it")]

use crate::fabric::conformance::{LANE, Subject, conformance, conformance_of_fragments, write};
use crate::fabric::verbs::abi::{Verbs, types::*};
use crate::fabric::verbs::choice::pairs::pairs;
use crate::fabric::verbs::choice::settings::VerbsSettings;
use crate::fabric::verbs::context::DeviceList;
use crate::fabric::verbs::device_tests::{await_event, has_event};
use crate::fabric::verbs::link::endpoint::VerbsEndpoint;
use crate::fabric::verbs::link::received::RECEIVES;
use crate::fabric::verbs::link::setup::{ReachedNode, VerbsSetup};
use crate::fabric::verbs::link::unconnected::UnconnectedEndpoint;
use crate::fabric::verbs::survey::survey;
use crate::fabric::{Endpoint, Event, Lane, watchdog};
use crate::wire::batch::Header;
use libloading::Library;
use std::collections::HashMap;
use std::ffi::{CStr, c_char};
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

/// Two workers of two nodes, and a queue pair between them.
pub(super) struct Joined {
    reader: VerbsEndpoint,
    writer: VerbsEndpoint,
}

/// The endpoints of all workers of two nodes.
pub(super) fn join(workers: [Range<usize>; 2]) -> [Vec<VerbsEndpoint>; 2] {
    connect(workers).map(|endpoints| endpoints.into_iter().map(VerbsEndpoint::new).collect())
}

/// The queue pairs of all workers of two nodes, by the numbers of their workers.
pub(super) fn connect(workers: [Range<usize>; 2]) -> [Vec<UnconnectedEndpoint>; 2] {
    let own = || survey(&DeviceList::of(Verbs::of_tests()).unwrap(), &VerbsSettings::default()).unwrap();
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
    [here.connect(&[1]), there.connect(&[0])].map(|endpoints| endpoints.into_iter().flatten().collect())
}

/// A function of the simulated device that libibverbs does not have.
///
/// # Safety
/// The function is of this type.
unsafe fn function<F: Copy>(name: &str) -> F {
    let path = std::env::current_exe().unwrap().with_file_name("libverbs_sim.so");
    // SAFETY: V2: it is open, and stays so.
    let library = unsafe { Library::new(path) }.unwrap();
    // SAFETY: guaranteed by the caller.
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

/// Work requests of a queue pair that have not completed, and completions that were not polled.
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
        if !Verbs::tests_are_simulated() {
            // Not `||`: both have to be asked, so that both signal what they have posted.
            return self.writer.fence() | self.reader.fence();
        }
        // What leaves one side arrives at the other before it is gone from here, so each is looked at after the other.
        let ends = [&self.writer, &self.reader, &self.writer];
        ends.into_iter().flat_map(|end| end.queue_pairs()).any(|number| under_way(number) > 0)
    }
}

conformance!(Joined);
conformance_of_fragments!(Joined);

/// Lets both ends talk until nothing is under way; `told` gets the workers of the reading side that something has
/// landed for.
pub(super) fn settle(subject: &Joined, told: &mut dyn FnMut(usize)) {
    let ends = [&subject.writer, &subject.reader];
    loop {
        let heard = ends.map(|end| hear(end, told)).contains(&true);
        let is_unsent = ends.iter().any(|end| end.unsent() > 0);
        if !heard && !is_unsent && !subject.is_under_way() {
            return;
        }
    }
}

/// Lets one end send, and take what has arrived. Returns whether anything has.
pub(super) fn hear(end: &VerbsEndpoint, told: &mut dyn FnMut(usize)) -> bool {
    end.flush().unwrap();
    end.poll(|event| {
        if let Event::Landed(reader) = event {
            told(reader);
        }
        Ok(())
    })
    .unwrap()
}

#[test]
fn readers_that_could_not_be_told_are_told_when_there_is_credit_again() {
    let _watched = watchdog::watch();
    let subject = Joined::new(0);
    let readers = [LANE.reader + 1, LANE.reader + 2];
    let lanes = readers.map(|reader| Lane { reader, ..LANE });
    let memory = lanes.map(|lane| subject.reader.register(lane));
    let fabrics = lanes.map(|lane| subject.writer.connect(lane));
    // This tells the writer where the slots are.
    fabrics.iter().for_each(|fabric| write(fabric, 0, 1, 1));
    settle(&subject, &mut |_| {});
    // The reading side does not look until no more can be reported.
    let last = 2 * RECEIVES;
    for sequence in 2..=last {
        write(&fabrics[0], 0, sequence, 1);
        hear(&subject.writer, &mut |_| {});
    }
    write(&fabrics[1], 0, 2, 1);
    hear(&subject.writer, &mut |_| {});
    // What each found when it was last told.
    let mut found = [0; 2];
    settle(&subject, &mut |reader| {
        let index = readers.iter().position(|known| *known == reader).unwrap();
        found[index] = Header::unpack(memory[index].header(0)).sequence;
    });
    assert_eq!(found, [last, 2], "a reader sleeps over what has landed");
}

#[test]
fn who_has_armed_looked_and_sleeps_is_woken_by_each_write() {
    let _watched = watchdog::watch();
    let subject = Joined::new(0);
    let (memory, fabric) = (subject.reader.register(LANE), subject.writer.connect(LANE));
    // SAFETY: V3: open as long as the endpoint is.
    let channel = unsafe { BorrowedFd::borrow_raw(subject.reader.descriptor().unwrap()) };
    write(&fabric, 0, 1, 1);
    settle(&subject, &mut |_| {});
    for sequence in 2..50 {
        subject.reader.arm().unwrap();
        assert!(!hear(&subject.reader, &mut |_| {}), "nothing has come yet");
        assert!(!has_event(channel), "an old event would keep it awake");
        write(&fabric, 0, sequence, 1);
        subject.writer.flush().unwrap();
        let mut reader = None;
        while reader.is_none() {
            await_event(channel);
            subject.reader.arm().unwrap();
            hear(&subject.reader, &mut |told| reader = Some(told));
        }
        assert_eq!(reader, Some(LANE.reader));
        assert_eq!(Header::unpack(memory.header(0)).sequence, sequence);
        settle(&subject, &mut |_| {});
    }
}

#[test]
fn a_completion_queue_takes_all_that_a_device_grants_when_a_queue_pair_fails() {
    type Break = unsafe extern "C" fn(u32, u32) -> i32;
    const NAME: &str = "a_completion_queue_takes_all_that_a_device_grants_when_a_queue_pair_fails";
    const DEVICE: &str = "sim0 generous port=1 gid=1:v2:192.0.2.1";
    let _watched = watchdog::watch();
    if !Verbs::tests_are_simulated() {
        return;
    }
    if std::env::var("VERBS_SIM").as_deref() != Ok(DEVICE) {
        let mut child = Command::new(std::env::current_exe().unwrap());
        let ended = child.arg(NAME).env("VERBS_SIM", DEVICE).output().unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stdout));
        return;
    }
    let [mut there, mut here] = connect([LANE.reader..LANE.reader + 1, LANE.writer..LANE.writer + 1]);
    let (reader, here) = (VerbsEndpoint::new(there.remove(0)), here.remove(0));
    let (queue, writer) = (Arc::clone(&here.queue), VerbsEndpoint::new(here));
    let subject = Joined { reader, writer };
    let fabric = subject.writer.connect(LANE);
    write(&fabric, 0, 1, 1);
    settle(&subject, &mut |_| {});
    // More than fits, so that the send queue is full.
    (2..600).for_each(|sequence| write(&fabric, 1, sequence, 1));
    subject.writer.flush().unwrap();
    let number = subject.writer.queue_pairs()[0];
    // SAFETY: V2.
    let fail = unsafe { function::<Break>("verbs_sim_break") };
    // SAFETY: V2.
    assert_eq!(unsafe { fail(number, IBV_WC_RETRY_EXC_ERR) }, 0);
    while under_way(number) > 0 {
        let _failed = subject.writer.poll(|_| Ok(()));
    }
    while let Some(event) = queue.context().take_async_event().unwrap() {
        assert_ne!(event.code, IBV_EVENT_CQ_ERR, "more has completed than there is room for");
    }
}
