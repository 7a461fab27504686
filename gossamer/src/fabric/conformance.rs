//! The contract of a fabric as tests, which every fabric runs.

use crate::fabric::{Endpoint, Event, Fabric, Lane, SlotMemory, Slots};
use crate::wire::batch::Header;
use crate::wire::word::words_of;

/// What the suite writes into.
pub(super) const LANE: Lane = Lane { reader: 7, writer: 3, slots: Slots::Requests };

/// Two endpoints that are joined: one whose memory is written, and one that writes.
pub(super) trait Subject {
    type Endpoint: Endpoint;

    fn new(seed: u64) -> Self;
    fn reader(&self) -> &Self::Endpoint;
    fn writer(&self) -> &Self::Endpoint;

    /// Whether nothing waits to be sent.
    fn is_quiet(&self) -> bool {
        true
    }
}

/// Lets something happen on the way; whether anything did.
fn step(subject: &impl Subject) -> bool {
    let told = |event: Event<'_>| {
        assert!(!matches!(event, Event::Piece { .. }), "no piece was sent");
        Ok(())
    };
    assert!(subject.writer().flush().is_ok());
    matches!(subject.reader().poll(told), Ok(true)) || !subject.is_quiet()
}

/// Runs the suite for a `Subject`.
macro_rules! conformance {
    ($subject:ty) => {
        #[test]
        fn writes_of_every_length_land_whole_and_leave_other_slots_alone() {
            $crate::fabric::conformance::every_length::<$subject>();
        }

        #[test]
        fn a_header_never_lands_before_its_body() {
            $crate::fabric::conformance::header_last::<$subject>();
        }

        #[test]
        fn writes_into_one_slot_land_in_order() {
            $crate::fabric::conformance::in_order::<$subject>();
        }

        #[test]
        fn lanes_are_apart_and_a_lane_is_the_same_whenever_it_is_registered() {
            $crate::fabric::conformance::lanes_apart::<$subject>();
        }
    };
}

pub(super) use conformance;

/// Seeds of the runs of each test.
const SEEDS: u64 = 20;

/// A body that tells which write it is of.
fn body(sequence: u32, words: usize) -> Vec<u64> {
    (0..words as u64).map(|word| u64::from(sequence) << 32 | word).collect()
}

pub(super) fn write(fabric: &impl Fabric, slot: usize, sequence: u32, words: usize) {
    let header = Header { sequence, count: 1, words: words as u16 };
    // SAFETY: the only writer is this test, and it reads a slot only when its header has come.
    unsafe { fabric.write(slot, header.pack(), words_of(&body(sequence, words))) };
}

/// The header of a slot, whose body must be there too.
fn landed(memory: &SlotMemory, slot: usize) -> Header {
    let header = Header::unpack(memory.header(slot));
    let found: Vec<u64> = memory.read(slot, |body| {
        let word = |index| {
            // SAFETY: a slot has the words that its header tells, and nothing is on its way into one whose header has come.
            unsafe { body.wrapping_add(index).read() }
        };
        (0..header.words.into()).map(word).collect()
    });
    assert_eq!(found, body(header.sequence, header.words.into()), "the body of {header:?} in slot {slot}");
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
        assert_eq!(landed(&memory, slot), Header { sequence, count: 1, words: words as u16 });
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
            let last = |slot| landed(&memory, slot).sequence;
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
        (1..=50).for_each(|sequence| write(&fabric, sequence as usize % 3, sequence, sequence as usize));
        let mut newest = [0; 3];
        let mut under_way = true;
        while under_way {
            under_way = step(&subject);
            for (slot, newest) in newest.iter_mut().enumerate() {
                let sequence = Header::unpack(memory.header(slot)).sequence;
                assert!(sequence >= *newest, "{sequence} landed behind {newest}");
                *newest = sequence;
            }
        }
        assert_eq!(newest, [48, 49, 50]);
    }
}

pub(super) fn lanes_apart<S: Subject>() {
    for seed in 0..SEEDS {
        let subject = S::new(seed);
        let other = subject.reader().register(Lane { slots: Slots::Responses, ..LANE });
        // Nobody reads it yet: what is written must be there for whoever does.
        write(&subject.writer().connect(LANE), 1, 5, 9);
        while step(&subject) {}
        let memory = subject.reader().register(LANE);
        assert_eq!(landed(&memory, 1).sequence, 5);
        assert_eq!(landed(&subject.reader().register(LANE), 1).sequence, 5);
        assert_eq!(other.header(1), 0, "a write went into another lane");
    }
}
