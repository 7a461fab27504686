//! What a pump finds next in the ring that it sends from.

use crate::stream::Geometry;
use crate::stream::blocks::flow::Flow;

/// How far the producer had come at one moment, by which everything about what comes next is decided.
///
/// A label means nothing until its block was handed over or flushed (U4). A pump that looked at the label first, and then asked again
/// how far the producer is, could take a hole that was handed over in between for a block, and send what an earlier block has left
/// in its slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Produced {
    ended: bool,
    /// Bytes.
    flushed: u64,
    /// Blocks.
    written: u64,
}

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// So many bytes.
    Bytes(u64),
    /// A hole up to this block.
    Hole(u64),
    End,
    /// Not known yet.
    Nothing,
}

impl Produced {
    pub(crate) fn now(flow: &Flow) -> Self {
        // In this order. Nothing changes behind the end; all blocks before the one in which `flushed` lies are handed over before it
        // lies there, so no bytes below `flushed` are behind the block `written`.
        let (ended, flushed) = (flow.is_ended(), flow.flushed());
        Self { ended, flushed, written: flow.written() }
    }

    /// Whether a block was handed over.
    pub(crate) fn has(self, block: u64) -> bool {
        block < self.written
    }

    /// What lies at an offset, for one who has all before it, the blocks below `block` among them.
    pub(crate) fn next(self, flow: &Flow, block: u64, offset: u64, geometry: &Geometry) -> Found {
        let labelled = flow.next_labelled(block, self.written, geometry);
        if self.ended && labelled == self.written {
            return Found::End;
        }
        if labelled > block {
            return Found::Hole(labelled);
        }
        let handed_over = self.has(geometry.block_of(offset));
        let end = if handed_over { u64::MAX } else { self.flushed };
        match end.min(flow.end_of(block, geometry)).saturating_sub(offset) {
            0 => Found::Nothing,
            bytes => Found::Bytes(bytes),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const BLOCKS: u64 = 5;

    /// The producer's steps, in their order: takes the blocks of a set, and flushes each when half of it is there.
    fn steps(taken: u64, flushes: bool) -> Vec<Box<dyn Fn(&Flow, &Geometry)>> {
        let mut steps: Vec<Box<dyn Fn(&Flow, &Geometry)>> = Vec::new();
        for block in (0..BLOCKS).filter(|block| taken >> block & 1 == 1) {
            steps.push(Box::new(move |flow, _| flow.hand_over(block)));
            steps.push(Box::new(move |flow, geometry| flow.label(block, geometry)));
            if flushes {
                let half =
                    move |geometry: &Geometry| geometry.start_of(block) + geometry.block_bytes() as u64 / 2;
                steps.push(Box::new(move |flow, geometry| flow.flush(half(geometry))));
            }
        }
        steps.push(Box::new(|flow, geometry| flow.set_length(geometry.start_of(BLOCKS))));
        steps.push(Box::new(|flow, _| flow.hand_over(BLOCKS)));
        steps.push(Box::new(|flow, _| flow.end()));
        steps
    }

    /// The producer goes on from any step to any other between the look at how far it is and that at the labels.
    #[test]
    fn a_hole_is_never_sent_as_bytes_however_far_the_producer_goes_on_meanwhile() {
        let geometry = Geometry::new().block(4096).ahead(BLOCKS as usize);
        let half = geometry.block_bytes() as u64 / 2;
        for (taken, flushes) in (0..1 << BLOCKS).flat_map(|taken| [(taken, false), (taken, true)]) {
            let is_taken = |block: u64| taken >> block & 1 == 1;
            let steps = steps(taken, flushes);
            for (seen, made) in (0..=steps.len()).flat_map(|made| (0..=made).map(move |seen| (seen, made))) {
                let flow = Flow::new();
                steps[..seen].iter().for_each(|step| step(&flow, &geometry));
                let produced = Produced::now(&flow);
                steps[seen..made].iter().for_each(|step| step(&flow, &geometry));
                for block in 0..=produced.written {
                    let what = format!("{block} of {taken:05b}, {flushes}, after {seen} and {made} steps");
                    let handed_over = produced.has(block);
                    match produced.next(&flow, block, geometry.start_of(block), &geometry) {
                        Found::Bytes(bytes) => {
                            assert!(is_taken(block), "{what}");
                            assert_eq!(bytes, if handed_over { half * 2 } else { half }, "{what}");
                        }
                        Found::Hole(end) => {
                            assert!(end > block && !(block..end).any(is_taken), "{what}: to {end}");
                        }
                        Found::End => {
                            assert!(seen == steps.len() && !(block..BLOCKS).any(is_taken), "{what}");
                        }
                        Found::Nothing => assert!(!handed_over, "{what}"),
                    }
                }
            }
        }
    }
}
