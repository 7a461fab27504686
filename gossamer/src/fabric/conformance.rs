//! The contract of a fabric as tests, which every fabric runs.

use crate::fabric::{Busy, Endpoint, Event, FRAGMENT_BYTES, Fabric, Fragment, Lane, SlotMemory, Slots};
use crate::wire::batch::Header;
use crate::wire::row::RowLayout;
use crate::wire::word::words_of;

/// What the suite writes into.
pub(super) const LANE: Lane = Lane { reader: 7, writer: 3, slots: Slots::Requests };

/// Two endpoints that are joined: one whose memory is written, and one that writes.
pub(super) trait Subject {
    type Endpoint: Endpoint;

    fn new(seed: u64) -> Self;
    fn reader(&self) -> &Self::Endpoint;
    fn writer(&self) -> &Self::Endpoint;

    /// Whether something is under way that neither end knows of.
    fn is_under_way(&self) -> bool {
        false
    }
}

/// Lets something happen on the way. Returns whether anything did.
fn step(subject: &impl Subject) -> bool {
    step_with(subject, &mut |fragment| panic!("{fragment:?} was never sent"))
}

fn step_with(subject: &impl Subject, took: &mut dyn FnMut(Fragment<'_>)) -> bool {
    let mut told = |event: Event<'_>| {
        if let Event::Fragment { writer, reader, fragment } = event {
            assert_eq!((writer, reader), (LANE.writer, LANE.reader));
            took(fragment);
        }
        Ok(())
    };
    // The writer may have to hear from the reader before it can write, so the reader takes a turn, too.
    let mut turn = |end: &_| {
        let flushed = Endpoint::flush(end).and_then(|()| Endpoint::poll(end, &mut told));
        flushed.unwrap_or_else(|error| panic!("an end is lost: {error}"))
    };
    let (wrote, read) = (turn(subject.writer()), turn(subject.reader()));
    wrote || read || subject.writer().unsent() > 0 || subject.is_under_way()
}

/// Runs the suite for a `Subject`.
macro_rules! conformance {
    ($subject:ty) => {
        #[test]
        fn writes_of_every_length_land_whole_and_leave_other_slots_alone() {
            let _watched = $crate::fabric::watchdog::watch();
            $crate::fabric::conformance::every_length::<$subject>();
        }

        #[test]
        fn a_header_never_lands_before_its_body() {
            let _watched = $crate::fabric::watchdog::watch();
            $crate::fabric::conformance::header_last::<$subject>();
        }

        #[test]
        fn writes_into_one_slot_land_in_order() {
            let _watched = $crate::fabric::watchdog::watch();
            $crate::fabric::conformance::in_order::<$subject>();
        }

        #[test]
        fn lanes_are_apart_and_a_lane_is_the_same_whenever_it_is_registered() {
            let _watched = $crate::fabric::watchdog::watch();
            $crate::fabric::conformance::lanes_apart::<$subject>();
        }
    };
}

/// Runs the part of the suite that is about large values, for a `Subject` between nodes.
macro_rules! conformance_of_fragments {
    ($subject:ty) => {
        #[test]
        fn fragments_of_every_length_come_whole_and_in_order() {
            let _watched = $crate::fabric::watchdog::watch();
            $crate::fabric::conformance::fragments_in_order::<$subject>();
        }

        #[test]
        fn a_fragment_comes_before_the_writes_that_were_made_behind_it() {
            let _watched = $crate::fabric::watchdog::watch();
            $crate::fabric::conformance::fragments_before_writes::<$subject>();
        }

        #[test]
        fn who_does_not_read_makes_the_sender_busy_and_then_gets_all_that_was_sent() {
            let _watched = $crate::fabric::watchdog::watch();
            $crate::fabric::conformance::busy::<$subject>();
        }
    };
}

pub(super) use {conformance, conformance_of_fragments};

/// Seeds of the runs of each test.
const SEEDS: u64 = 20;

/// A body that identifies its write.
fn body(sequence: u32, words: usize) -> Vec<u64> {
    (0..words as u64).map(|word| u64::from(sequence) << 32 | word).collect()
}

pub(super) fn write(fabric: &impl Fabric, slot: usize, sequence: u32, words: usize) {
    let header = Header { sequence, count: 1, words: words as u16 };
    // SAFETY: the only writer is this test, and it reads a slot only when its header has arrived.
    unsafe { fabric.write(slot, header.pack(), words_of(&body(sequence, words))) };
}

/// The header of a slot that holds a batch, whose body must be there too.
fn landed(memory: &SlotMemory, slot: usize) -> Header {
    let header = Header::unpack(memory.header(slot));
    let read = |body: *const u64| {
        let word = |index| {
            // SAFETY: a slot has the words that its header tells, and nothing is on its way into one whose header has arrived.
            unsafe { body.wrapping_add(index).read() }
        };
        (0..header.words.into()).map(word).collect()
    };
    // SAFETY: its header has arrived, and it was not given back.
    let found: Vec<u64> = unsafe { memory.read(slot, read) };
    assert_eq!(found, body(header.sequence, header.words.into()), "the body of {header:?} in slot {slot}");
    header
}

/// Like `landed`; the slot may be written again.
fn taken(memory: &SlotMemory, slot: usize) -> Header {
    let header = landed(memory, slot);
    // SAFETY: as in `landed`.
    unsafe { memory.give_back(slot) };
    header
}

pub(super) fn every_length<S: Subject>() {
    let subject = S::new(0);
    let (memory, fabric) = (subject.reader().register(LANE), subject.writer().connect(LANE));
    let slots = memory.slots() as usize;
    for (sequence, words) in (1..).zip(0..=memory.words()) {
        let slot = words % slots;
        let others = |slot: usize| (0..slots).filter(move |&other| other != slot);
        let before: Vec<u64> = others(slot).map(|other| memory.header(other)).collect();
        write(&fabric, slot, sequence, words);
        while step(&subject) {}
        assert_eq!(taken(&memory, slot), Header { sequence, count: 1, words: words as u16 });
        let after: Vec<u64> = others(slot).map(|other| memory.header(other)).collect();
        assert_eq!(before, after, "a write into slot {slot} changed another");
    }
}

pub(super) fn header_last<S: Subject>() {
    for seed in 0..SEEDS {
        let subject = S::new(seed);
        let (memory, fabric) = (subject.reader().register(LANE), subject.writer().connect(LANE));
        let slots = memory.slots() as usize;
        for round in 0..10 {
            for slot in 0..slots {
                write(
                    &fabric,
                    slot,
                    round * slots as u32 + slot as u32 + 1,
                    (slot * 37 + seed as usize) % memory.words(),
                );
            }
            let mut under_way = true;
            while under_way {
                under_way = step(&subject);
                for slot in 0..slots {
                    let awaited = round * slots as u32 + slot as u32 + 1;
                    if Header::unpack(memory.header(slot)).sequence == awaited {
                        landed(&memory, slot);
                    }
                }
            }
            let last = |slot| taken(&memory, slot).sequence;
            assert!(
                (0..slots).all(|slot| last(slot) == round * slots as u32 + slot as u32 + 1),
                "some never landed"
            );
        }
    }
}

pub(super) fn in_order<S: Subject>() {
    for seed in 0..SEEDS {
        let subject = S::new(seed);
        let (memory, fabric) = (subject.reader().register(LANE), subject.writer().connect(LANE));
        for round in 0..20 {
            let newest = |slot: usize| round * 3 + slot as u32 + 1;
            (0..3).for_each(|slot| write(&fabric, slot, newest(slot), slot));
            let mut under_way = true;
            while under_way {
                under_way = step(&subject);
                for slot in 0..3 {
                    let sequence = Header::unpack(memory.header(slot)).sequence;
                    let before = newest(slot).saturating_sub(3) * u32::from(round > 0);
                    assert!(
                        [before, newest(slot)].contains(&sequence),
                        "{sequence} in slot {slot} in round {round}"
                    );
                }
            }
            assert!((0..3).all(|slot| taken(&memory, slot).sequence == newest(slot)));
        }
    }
}

pub(super) fn lanes_apart<S: Subject>() {
    for seed in 0..SEEDS {
        let subject = S::new(seed);
        let other = subject.reader().register(Lane { slots: Slots::Responses, ..LANE });
        // Nobody reads it yet: what is written must be there for a later reader.
        write(&subject.writer().connect(LANE), 1, 5, 9);
        while step(&subject) {}
        let memory = subject.reader().register(LANE);
        assert_eq!(landed(&memory, 1).sequence, 5);
        assert_eq!(landed(&subject.reader().register(LANE), 1).sequence, 5);
        assert_eq!(other.header(1), 0, "a write went into another lane");
    }
}

/// The bytes that identify a fragment.
fn bytes(number: u64, length: usize) -> Vec<u8> {
    number.to_ne_bytes().into_iter().cycle().take(length).collect()
}

/// Sends one fragment as soon as there is room; `took` gets what arrives meanwhile.
fn send<S: Subject>(
    subject: &S,
    fabric: &<S::Endpoint as Endpoint>::Fabric,
    (number, length): (u64, usize),
    took: &mut dyn FnMut(Fragment<'_>),
) {
    let row = RowLayout { bytes: number * 3, align: (number % 4) as u8 };
    let bytes = bytes(number, length);
    while fabric.send(Fragment { ticket: number, row, bytes: &bytes }) == Err(Busy) {
        step_with(subject, took);
    }
}

fn check(fragment: Fragment<'_>, number: u64, length: usize) {
    assert_eq!(fragment.ticket, number, "fragments came in another order");
    assert_eq!(fragment.row, RowLayout { bytes: number * 3, align: (number % 4) as u8 });
    assert_eq!(fragment.bytes, bytes(number, length), "fragment {number}");
}

pub(super) fn fragments_in_order<S: Subject>() {
    for seed in 0..SEEDS {
        let subject = S::new(seed);
        let fabric = subject.writer().connect(LANE);
        let length = |number: u64| match number % 5 {
            0 => FRAGMENT_BYTES,
            1 => 0,
            _ => (number * 997) as usize % FRAGMENT_BYTES,
        };
        let mut came = 0;
        let mut took = |fragment: Fragment<'_>| {
            check(fragment, came, length(came));
            came += 1;
        };
        (0..50).for_each(|number| send(&subject, &fabric, (number, length(number)), &mut took));
        while step_with(&subject, &mut took) {}
        assert_eq!(came, 50);
    }
}

pub(super) fn fragments_before_writes<S: Subject>() {
    for seed in 0..SEEDS {
        let subject = S::new(seed);
        let (memory, fabric) = (subject.reader().register(LANE), subject.writer().connect(LANE));
        let mut came = 0;
        for sequence in 1..=50_u32 {
            let mut took = |fragment: Fragment<'_>| {
                check(fragment, came, 100);
                came += 1;
            };
            send(&subject, &fabric, (u64::from(sequence) - 1, 100), &mut took);
            write(&fabric, 0, sequence, 1);
            let landed = || Header::unpack(memory.header(0)).sequence == sequence;
            while !landed() {
                step_with(&subject, &mut took);
            }
            // By now it must have arrived.
            step_with(&subject, &mut took);
            assert_eq!(came, u64::from(sequence), "the write landed before its fragment");
            taken(&memory, 0);
        }
    }
}

pub(super) fn busy<S: Subject>() {
    for seed in 0..SEEDS {
        let subject = S::new(seed);
        let fabric = subject.writer().connect(LANE);
        let bytes = bytes(0, FRAGMENT_BYTES);
        let row = RowLayout::of_bytes(&bytes);
        let mut sent = 0;
        // A fabric may say now and then, without cause, that it is busy.
        while fabric.has_room() {
            sent += u64::from(fabric.send(Fragment { ticket: sent, row, bytes: &bytes }).is_ok());
            assert!(subject.writer().flush().is_ok());
            assert!(sent < 10_000, "it is never busy");
        }
        let mut came = 0;
        let mut took = |fragment: Fragment<'_>| {
            assert_eq!((fragment.ticket, fragment.bytes), (came, &bytes[..]));
            came += 1;
        };
        while step_with(&subject, &mut took) {}
        assert_eq!(came, sent);
        assert!(fabric.has_room(), "there is no room, though all was taken");
    }
}
