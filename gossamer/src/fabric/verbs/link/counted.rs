//! The work that a device is given for batches, counted exactly. The simulated device counts for a whole process: each
//! of these tests is ignored, and another test runs it in a process of its own.
#![expect(clippy::unwrap_used, reason = "a test fails by it")]

use crate::fabric::conformance::{LANE, Subject, write};
use crate::fabric::verbs::abi::Verbs;
use crate::fabric::verbs::link::endpoint::{VerbsEndpoint, VerbsWriter};
use crate::fabric::verbs::link::message::MESSAGE_BYTES;
use crate::fabric::verbs::link::received::RECEIVES;
use crate::fabric::verbs::link::tests::{Joined, counter, settle};
use crate::fabric::{Endpoint, Fabric, Fragment, Lane, Slots, watchdog};
use crate::wire::row::RowLayout;
use std::ops::Sub;
use std::process::Command;

/// Of this many work requests of a send queue, one is signalled.
const SIGNALLED: u64 = 32;
/// An end reports half of its receives after this many batches, except the first time: the report itself takes a
/// receive.
const BATCHES_OF_CREDIT: u64 = RECEIVES as u64 / 2 - 1;

/// What the device has counted so far, or between two moments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Work {
    /// Calls.
    post_send: u64,
    post_recv: u64,
    /// Work requests, without an immediate and with one, and their bytes.
    writes: u64,
    immediates: u64,
    bytes: u64,
}

impl Work {
    fn so_far() -> Self {
        Self {
            post_send: counter(c"post_send"),
            post_recv: counter(c"post_recv"),
            writes: counter(c"writes"),
            immediates: counter(c"writes_with_immediate"),
            bytes: counter(c"bytes"),
        }
    }

    /// What the given calls cost.
    fn of(calls: impl FnOnce()) -> Self {
        let before = Self::so_far();
        calls();
        Self::so_far() - before
    }
}

impl Sub for Work {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            post_send: self.post_send - before.post_send,
            post_recv: self.post_recv - before.post_recv,
            writes: self.writes - before.writes,
            immediates: self.immediates - before.immediates,
            bytes: self.bytes - before.bytes,
        }
    }
}

/// Two ends, whose lanes between these readers are open; and the first end's way to each of the readers.
fn opened<const READERS: usize>() -> (Joined, [VerbsWriter; READERS]) {
    let subject = Joined::new(0);
    let lanes = std::array::from_fn(|index| Lane { reader: LANE.reader + index, ..LANE });
    let fabrics = lanes.map(|lane| {
        subject.reader().register(lane);
        subject.writer().connect(lane)
    });
    fabrics.iter().for_each(|fabric| write(fabric, 0, 1, 1));
    settle(&subject, &mut |_| {});
    (subject, fabrics)
}

/// Polls until something has landed at an end.
fn await_landing(end: &VerbsEndpoint) {
    let mut landed = false;
    while !landed {
        end.poll(|_| {
            landed = true;
            Ok(())
        })
        .unwrap();
    }
}

/// Completions so far, once nothing is under way any more.
fn all_completions(subject: &Joined) -> u64 {
    while subject.is_under_way() {
        let _heard = [subject.writer(), subject.reader()].map(|end| end.poll(|_| Ok(())).unwrap());
    }
    counter(c"completions")
}

#[test]
#[ignore = "it counts for its process: `work_is_what_the_design_says` starts it alone"]
fn a_flush_is_one_call_and_a_batch_two_writes() {
    let (subject, fabrics) = opened::<3>();
    let turn = Work::of(|| {
        for slot in 1..5 {
            fabrics.iter().for_each(|fabric| write(fabric, slot, 2, 4));
        }
        subject.writer().flush().unwrap();
    });
    // The last header for each reader tells it.
    let expected =
        Work { post_send: 1, writes: 12 + 9, immediates: 3, bytes: 12 * (8 + 32), ..Work::default() };
    assert_eq!(turn, expected);
    settle(&subject, &mut |_| {});
    let empty = Work::of(|| {
        write(&fabrics[0], 5, 2, 0);
        subject.writer().flush().unwrap();
    });
    assert_eq!(
        empty,
        Work { post_send: 1, immediates: 1, bytes: 8, ..Work::default() },
        "a batch without a body"
    );
    settle(&subject, &mut |_| {});
    let idle = Work::of(|| {
        for end in [subject.writer(), subject.reader()] {
            end.flush().unwrap();
            assert!(!end.poll(|_| Ok(())).unwrap());
        }
    });
    assert_eq!(idle, Work::default(), "who has nothing to say calls nothing");
}

#[test]
#[ignore = "it counts for its process: `work_is_what_the_design_says` starts it alone"]
fn a_fragment_is_a_write_and_a_message_by_one_call() {
    let (subject, [fabric]) = opened::<1>();
    let bytes = [7; 5000];
    let sent = Work::of(|| {
        let row = RowLayout::of_bytes(&bytes);
        fabric.send(Fragment { ticket: 1, row, bytes: &bytes }).unwrap();
        subject.writer().flush().unwrap();
    });
    let expected = (bytes.len() + MESSAGE_BYTES) as u64;
    assert_eq!(sent, Work { post_send: 1, writes: 1, immediates: 1, bytes: expected, ..Work::default() });
}

#[test]
#[ignore = "it counts for its process: `work_is_what_the_design_says` starts it alone"]
fn receives_that_were_taken_meanwhile_are_posted_again_by_one_call() {
    const BATCHES: u64 = 16;
    let (subject, [fabric]) = opened::<1>();
    let before = counter(c"completions");
    for sequence in 2..2 + BATCHES as u32 {
        write(&fabric, 0, sequence, 0);
        subject.writer().flush().unwrap();
    }
    // The writer hears of none of its own completions.
    while counter(c"completions") < before + BATCHES {
        std::thread::yield_now();
    }
    let posted = Work::of(|| assert!(subject.reader().poll(|_| Ok(())).unwrap()));
    assert_eq!(posted, Work { post_recv: 1, ..Work::default() });
}

#[test]
#[ignore = "it counts for its process: `work_is_what_the_design_says` starts it alone"]
fn answered_batches_are_two_calls_four_writes_and_few_completions() {
    const WORDS: usize = 4;
    const ROUNDS: u64 = BATCHES_OF_CREDIT * SIGNALLED;
    let (subject, [requests]) = opened::<1>();
    let back = Lane { reader: LANE.writer, writer: LANE.reader, slots: Slots::Responses };
    let _answers = subject.writer().register(back);
    let responses = subject.reader().connect(back);
    write(&responses, 0, 1, 1);
    settle(&subject, &mut |_| {});
    let round = |sequence| {
        write(&requests, 0, sequence, WORDS);
        subject.writer().flush().unwrap();
        await_landing(subject.reader());
        write(&responses, 0, sequence, WORDS);
        subject.reader().flush().unwrap();
        await_landing(subject.writer());
    };
    // Until the reports of credit come at the same batches in each period.
    let mut sequences = 2..;
    sequences.by_ref().take(2 * BATCHES_OF_CREDIT as usize).for_each(&round);
    let completions = all_completions(&subject);
    let work = Work::of(|| sequences.take(ROUNDS as usize).for_each(round));
    let told = all_completions(&subject) - completions;
    let messages = ROUNDS / BATCHES_OF_CREDIT;
    let (batches, immediates) = (2 * ROUNDS, 2 * (ROUNDS + messages));
    let expected = Work {
        // This includes batches with a report of credit.
        post_send: batches,
        writes: batches,
        immediates,
        bytes: batches * (8 * WORDS as u64 + 8) + 2 * messages * MESSAGE_BYTES as u64,
        // It depends on how many completions one poll takes.
        post_recv: work.post_recv,
    };
    assert_eq!(work, expected);
    assert!(work.post_recv <= immediates, "{work:?}");
    assert_eq!(
        told,
        immediates + (work.writes + work.immediates) / SIGNALLED,
        "completions of receives and sends"
    );
    assert_eq!(counter(c"rnr"), 0);
}

#[test]
fn work_is_what_the_design_says() {
    let _watched = watchdog::watch();
    if !Verbs::tests_are_simulated() {
        println!("no device but the simulated one counts it");
        return;
    }
    for name in [
        "a_flush_is_one_call_and_a_batch_two_writes",
        "a_fragment_is_a_write_and_a_message_by_one_call",
        "receives_that_were_taken_meanwhile_are_posted_again_by_one_call",
        "answered_batches_are_two_calls_four_writes_and_few_completions",
    ] {
        let (_, room) = module_path!().split_once("::").unwrap();
        let mut test = Command::new(std::env::current_exe().unwrap());
        let ended = test.args(["--ignored", "--exact", &format!("{room}::{name}")]).output().unwrap();
        let said = String::from_utf8_lossy(&ended.stdout);
        assert!(ended.status.success() && said.contains("1 passed"), "{name}: {said}");
    }
}
