//! Kernel 1: the graph, as rows of neighbours that are spread over the workers.

use crate::edges::{Edge, Edges};
use crate::end::End;
use crate::progress::Progress;
use crate::row::{Row, Rows};
use gossamer::collections::DistVec;
use gossamer::{NoRef, TeamMember, Workers, yield_now};
use std::mem::take;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Ends of edges that lie in one piece of memory, besides those of the last of its vertices: little beside the graph, and
/// so many that the piece goes back to the system when its rows are made.
const PIECE: usize = 64 * 1024;

/// Bytes of a vertex while the rows are made.
pub const OF_A_VERTEX: u64 = (size_of::<Slot>() + size_of::<Row>()) as u64;

/// How often all edges are gone through, as the progress bar counts them.
pub const PASSES: u64 = 2;

/// The edges that have an end at a vertex, as they come in.
#[derive(Debug, Default)]
struct Slot {
    /// With those of other vertices. Only the worker that has them uses it, so nothing is ordered by its atomics.
    piece: Option<Arc<Vec<AtomicU64>>>,
    first: u32,
    /// At first how many are expected, and then how many have come.
    count: u32,
}

impl Slot {
    fn add(&mut self, end: End) {
        if let Some(piece) = &self.piece {
            piece[(self.first + self.count) as usize].store(end.bits(), Ordering::Relaxed);
            self.count += 1;
        }
    }

    /// What has come.
    fn ends(&self) -> impl Iterator<Item = End> {
        let (first, count) = (self.first as usize, self.count as usize);
        let ends = self.piece.as_ref().map_or(&[][..], |piece| &piece[first..first + count]);
        ends.iter().map(|bits| End::from_bits(bits.load(Ordering::Relaxed)))
    }
}

/// What each worker needs for its part of the work.
#[derive(Clone, NoRef)]
struct Work {
    edges: Edges,
    slots: DistVec<Slot>,
    rows: DistVec<Row>,
    progress: Progress,
    delta: f32,
    stays: bool,
}

/// Makes the rows of the edges, of which those shorter than `delta` are light. The list of edges is used up, block by
/// block, unless it `stays`.
///
/// Both ends of each edge go to the worker of their vertex, twice: first they are only counted, so that each has its place
/// when it comes. Lists that grow would take more memory, and leave it in small pieces.
pub fn construct(
    edges: &Edges,
    vertices: usize,
    delta: f32,
    stays: bool,
    progress: &Progress,
) -> DistVec<Row> {
    let work = Work {
        edges: edges.clone(),
        slots: DistVec::from_fn(vertices, const { |_| Slot::default() }),
        rows: DistVec::from_fn(vertices, const { |_| Row::default() }),
        progress: progress.clone(),
        delta,
        stays,
    };
    // Each is done everywhere before the next begins.
    Workers::all().each_with(const { |_: &TeamMember, work: Work| work.count() }, work.clone());
    Workers::all().each_with(const { |_: &TeamMember, work: Work| work.make_room() }, work.clone());
    Workers::all().each_with(const { |_: &TeamMember, work: Work| work.fill() }, work.clone());
    Workers::all().each_with(const { |_: &TeamMember, work: Work| work.make_rows() }, work.clone());
    work.rows
}

impl Work {
    /// Tells the slots how many ends will come from the worker's own edges.
    fn count(&self) {
        let own = self.edges.local(|lists| take(&mut lists[0])).unwrap_or_default();
        let mut updates = self.slots.updates(const { |slot: &mut Slot, ()| slot.count += 1 });
        for block in &own {
            block.iter().flat_map(ends).for_each(|(vertex, _)| updates.push(vertex, ()));
            self.progress.advance(block.len() as u64);
        }
        updates.finish();
        self.edges.local(|lists| lists[0] = own);
    }

    /// Gives each of the worker's slots its place.
    fn make_room(&self) {
        self.slots.local(|slots| {
            for group in groups(slots) {
                let slots = &mut slots[group];
                let mut count = 0;
                for slot in &mut *slots {
                    (slot.first, count) = (count, count + take(&mut slot.count));
                }
                let piece: Arc<Vec<_>> = Arc::new((0..count).map(|_| AtomicU64::new(0)).collect());
                slots.iter_mut().for_each(|slot| slot.piece = Some(Arc::clone(&piece)));
            }
        });
    }

    /// Sends the ends of the worker's own edges.
    fn fill(&self) {
        let mut own = self.edges.local(|lists| take(&mut lists[0])).unwrap_or_default();
        let mut updates = self.slots.updates(const { |slot: &mut Slot, end: End| slot.add(end) });
        for block in &mut own {
            block.iter().flat_map(ends).for_each(|(vertex, end)| updates.push(vertex, end));
            self.progress.advance(block.len() as u64);
            if !self.stays {
                *block = Vec::new();
            }
        }
        updates.finish();
        if self.stays {
            self.edges.local(|lists| lists[0] = own);
        }
    }

    /// Makes the worker's rows of its slots, which are used up.
    fn make_rows(&self) {
        let groups = self.slots.local(|slots| groups(slots)).unwrap_or_default();
        for group in groups {
            let rows = self.slots.local(|slots| {
                let (mut rows, mut list) = (Rows::default(), Vec::new());
                for offset in group.clone() {
                    list.clear();
                    list.extend(take(&mut slots[offset]).ends());
                    rows.add(slots.index_of(offset) as u32, &mut list, self.delta);
                }
                rows
            });
            if let Some(rows) = rows {
                self.rows.local(|own| {
                    own[group].iter_mut().zip(rows.finish()).for_each(|(row, made)| *row = made);
                });
            }
            yield_now();
        }
    }
}

/// Where an edge is listed: at both ends, or once if it is a loop.
fn ends(edge: &Edge) -> impl Iterator<Item = (usize, End)> + use<> {
    let Edge { from, to, weight } = *edge;
    let other = (from != to).then(|| (to as usize, End::new(from, weight)));
    [(from as usize, End::new(to, weight))].into_iter().chain(other)
}

/// Slots, one after another, whose ends lie in one piece.
fn groups(slots: &[Slot]) -> Vec<std::ops::Range<usize>> {
    let (mut groups, mut first, mut count) = (Vec::new(), 0, 0);
    for (at, slot) in slots.iter().enumerate() {
        count += slot.count as usize;
        if count >= PIECE || at + 1 == slots.len() {
            groups.push(first..at + 1);
            (first, count) = (at + 1, 0);
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_slot_is_in_one_group() {
        let counts = [1, 0, PIECE as u32, 5, PIECE as u32 - 5, 0, 7];
        let slots = counts.map(|count| Slot { count, ..Slot::default() });
        assert_eq!(groups(&slots), [0..3, 3..5, 5..7]);
        assert_eq!(groups(&slots[..5]), [0..3, 3..5]);
        assert_eq!(groups(&[]), []);
    }
}
