//! Tests: every order in which two parties can take their steps on one ring, with holes, visits left out, comebacks and flushes.

use crate::stream::Geometry;
use crate::stream::blocks::flow::Flow;

/// Blocks of the stream.
const BLOCKS: u64 = 5;

/// One step of a party; it cannot be made while its guard does not hold.
#[derive(Clone, Copy, Debug)]
enum Step {
    HandOver(u64),
    /// The producer takes a block, once there is room, and writes a half of it.
    Write(u64, usize),
    /// The first half of a block.
    Flush(u64),
    End,
    Release(u64),
    /// The consumer reads a half of a block, once it is there.
    Read(u64, usize),
    Take,
}

/// The blocks of a set that is given as bits.
fn members(set: u32) -> impl DoubleEndedIterator<Item = u64> + Clone {
    (0..BLOCKS).filter(move |block| set >> block & 1 == 1)
}

fn producer(written: u32, comeback: u64, flushes: bool) -> Vec<Step> {
    let each = |block: u64| {
        let flush = [Step::HandOver(block), Step::Flush(block)].into_iter().take(if flushes { 2 } else { 0 });
        [Step::HandOver(block.saturating_sub(comeback)), Step::Write(block, 0)]
            .into_iter()
            .chain(flush)
            .chain([Step::Write(block, 1)])
    };
    members(written).flat_map(each).chain([Step::HandOver(BLOCKS), Step::End]).collect()
}

fn consumer(read: u32, comeback: u64) -> Vec<Step> {
    let each = |block: u64| {
        [Step::Release(block.saturating_sub(comeback)), Step::Read(block, 0), Step::Read(block, 1)]
    };
    members(read).flat_map(each).chain([Step::Release(BLOCKS), Step::Take]).collect()
}

/// A ring whose slots hold, in each half, the number of the block that was written there.
struct ModelledRing {
    flow: Flow,
    slots: Vec<[u64; 2]>,
    geometry: Geometry,
}

impl ModelledRing {
    fn is_enabled(&self, step: Step) -> bool {
        match step {
            Step::Write(block, _) => self.flow.has_room_for(block, &self.geometry),
            Step::Read(block, half) => self.flow.readable(self.half(block, half), &self.geometry) > 0,
            Step::Take => self.flow.is_ended(),
            _ => true,
        }
    }

    /// Where a half of a block begins.
    fn half(&self, block: u64, half: usize) -> u64 {
        self.geometry.start_of(block) + (half * self.geometry.block_bytes() / 2) as u64
    }

    fn make(&mut self, step: Step) {
        let slots = self.slots.len() as u64;
        match step {
            Step::HandOver(blocks) => self.flow.hand_over(blocks),
            Step::Write(block, half) => {
                self.flow.label(block, &self.geometry);
                self.slots[(block % slots) as usize][half] = block;
            }
            Step::Flush(block) => self.flow.flush(self.half(block, 1)),
            Step::End => {
                self.flow.set_length(self.geometry.start_of(BLOCKS));
                self.flow.end();
            }
            Step::Release(blocks) => self.flow.release(blocks),
            Step::Read(..) => {}
            Step::Take => self.flow.take(),
        }
    }

    /// What the consumer may look at is what was written there.
    fn check(&self, written: u32) {
        for block in self.flow.released()..self.flow.written().min(BLOCKS) {
            let has_memory = self.flow.is_labelled(block, &self.geometry);
            assert_eq!(has_memory, written >> block & 1 == 1, "block {block}");
            if has_memory {
                assert_eq!(self.slots[(block % self.slots.len() as u64) as usize], [block; 2]);
            }
        }
        let next = self.flow.written();
        if self.flow.readable(self.half(next, 0), &self.geometry) > 0 && next >= self.flow.released() {
            assert!(self.flow.is_labelled(next, &self.geometry), "block {next} was flushed");
            assert_eq!(self.slots[(next % self.slots.len() as u64) as usize][0], next);
            assert_eq!(self.flow.readable(self.half(next, 1), &self.geometry), 0);
        }
    }
}

/// Each party's own steps come in order, and each changes its own words only, so how far both are says all.
fn explore(written: u32, read: u32, flushes: bool, geometry: Geometry) {
    let comeback = geometry.comeback_blocks();
    let (producer, consumer) = (producer(written, comeback, flushes), consumer(read, comeback));
    let mut seen = vec![false; (producer.len() + 1) * (consumer.len() + 1)];
    let mut open = vec![(0, 0)];
    while let Some((produced, consumed)) = open.pop() {
        if std::mem::replace(&mut seen[produced * (consumer.len() + 1) + consumed], true) {
            continue;
        }
        let mut ring =
            ModelledRing { flow: Flow::new(), slots: vec![[u64::MAX; 2]; geometry.slots()], geometry };
        producer[..produced].iter().chain(&consumer[..consumed]).for_each(|step| ring.make(*step));
        ring.check(written);
        let next: Vec<_> = [
            producer.get(produced).map(|step| (*step, (produced + 1, consumed))),
            consumer.get(consumed).map(|step| (*step, (produced, consumed + 1))),
        ]
        .into_iter()
        .flatten()
        .collect();
        let enabled = next.iter().filter(|(step, _)| ring.is_enabled(*step));
        let before = open.len();
        open.extend(enabled.map(|(_, state)| *state));
        assert!(open.len() > before || next.is_empty(), "both wait: {next:?} with {geometry}");
    }
}

#[test]
fn whatever_the_order_no_party_waits_for_ever_and_blocks_are_read_as_written() {
    for (ahead, comeback) in [(1, 0), (1, 1), (2, 1), (2, 2), (3, 0)] {
        let geometry = Geometry::new().ahead(ahead).comeback(comeback);
        geometry.check().unwrap();
        for written in 0..1 << BLOCKS {
            for read in 0..1 << BLOCKS {
                explore(written, read, false, geometry);
                explore(written, read, true, geometry);
            }
        }
    }
}

#[test]
#[should_panic(expected = "both wait")]
fn a_ring_that_is_too_small_for_its_comebacks_would_hang() {
    explore(u32::MAX, u32::MAX, false, Geometry::new().ahead(1).comeback(2));
}
