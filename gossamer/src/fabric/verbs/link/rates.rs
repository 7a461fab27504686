//! The rate of batches of one request in one direction, over a device: a measurement, which the RDMA benchmark runs by
//! its name.

use crate::fabric::conformance::{LANE, Subject, write};
use crate::fabric::verbs::link::endpoint::VerbsEndpoint;
use crate::fabric::verbs::link::tests::{Joined, hear, settle};
use crate::fabric::{Endpoint, watchdog};
use std::time::{Duration, Instant};

/// How long the measurement takes.
const TIME: Duration = Duration::from_secs(1);
/// Words of a batch: a request of 32 bytes.
const WORDS: usize = 4;
/// Batches between two looks of the reading end: fewer than it has receives.
const BATCHES: u32 = 16;

#[test]
#[ignore = "it measures"]
fn batches_of_one_request_written_one_way() {
    let _watched = watchdog::watch();
    let subject = Joined::new(0);
    let (memory, fabric) = (subject.reader().register(LANE), subject.writer().connect(LANE));
    write(&fabric, 0, 1, WORDS);
    settle(&subject, &mut |_| {});
    let look = |end: &VerbsEndpoint| hear(end, &mut |_| {});
    let (begin, mut sequence) = (Instant::now(), 1);
    while begin.elapsed() < TIME {
        for _ in 0..BATCHES {
            sequence += 1;
            write(&fabric, sequence as usize % memory.slots() as usize, sequence, WORDS);
            subject.writer().flush().unwrap();
        }
        // Writes without room wait in memory, and have to go before more are made.
        loop {
            let heard = look(subject.reader()) | look(subject.writer());
            if subject.writer().unsent() == 0 {
                break;
            }
            if !heard {
                // A software device may need the processor.
                std::thread::yield_now();
            }
        }
    }
    settle(&subject, &mut |_| {});
    println!("measured one-way {}", f64::from(sequence - 1) / begin.elapsed().as_secs_f64());
}
