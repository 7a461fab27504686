//! How the clocks of nodes differ, as far as their requests can tell (D. Mills, Network Time Protocol, RFC 5905, whose
//! on-wire protocol has the same four times): a request is served after it was sent and before it is answered, so each
//! round trip bounds the difference from both sides, and all of them together bound it more closely. The distance
//! between the bounds is the error.

use crate::counters::trace::EventKind;
use crate::trace::{NodeTrace, RoundTrip};
use std::collections::HashMap;

/// What to add to the times of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClockOffset {
    pub(crate) nanoseconds: i64,
    /// By how much it may be wrong, either way.
    pub(crate) error: u64,
}

/// Names a batch that has events: client, trustee, and its number.
pub(super) type BatchName = (u32, u32, u64);

/// When a batch was sent, served and answered, each by the clock of its node, as far as there are events.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BatchTimes {
    pub(super) sent: Option<u64>,
    pub(super) served: Option<(u64, u64)>,
    pub(super) answered: Option<u64>,
}

/// The batches that have events.
pub(super) fn batches(nodes: &[NodeTrace]) -> HashMap<BatchName, BatchTimes> {
    let mut batches = HashMap::<_, BatchTimes>::new();
    let workers = nodes.iter().flat_map(|node| &node.tracks);
    for (worker, track) in workers.filter_map(|track| Some((track.worker?, track))) {
        for event in &track.events {
            let sent_to = || (worker, event.peer, event.number);
            match event.kind() {
                Some(EventKind::Sent) => batches.entry(sent_to()).or_default().sent = Some(event.start),
                Some(EventKind::Answered) => {
                    batches.entry(sent_to()).or_default().answered = Some(event.start)
                }
                Some(EventKind::Served) => {
                    let name = (event.peer, worker, event.number);
                    batches.entry(name).or_default().served = Some((event.start, event.end));
                }
                _ => {}
            }
        }
    }
    batches
}

/// Bounds of what to add to the times of one node to have those of another.
#[derive(Clone, Copy)]
struct Bounds {
    least: i64,
    most: i64,
}

impl Bounds {
    fn error(self) -> u64 {
        // Clocks of different speeds put the least above the most, which is an error, too.
        self.most.abs_diff(self.least).div_ceil(2)
    }

    fn middle(self) -> i64 {
        self.least.midpoint(self.most)
    }

    fn reversed(self) -> Self {
        Self { least: -self.most, most: -self.least }
    }

    fn within(self, other: Self) -> Self {
        Self { least: self.least.max(other.least), most: self.most.min(other.most) }
    }
}

impl RoundTrip {
    /// What to add to the times of the serving node.
    fn bounds(self) -> Bounds {
        let behind = |later: u64, earlier: u64| later.cast_signed().wrapping_sub(earlier.cast_signed());
        Bounds { least: behind(self.sent, self.served), most: behind(self.answered, self.answering) }
    }
}

/// What each pair of nodes knows of each other: what to add to the times of the second to have those of the first.
fn known(nodes: &[NodeTrace], batches: &HashMap<BatchName, BatchTimes>) -> HashMap<(usize, usize), Bounds> {
    let mut known = HashMap::<(usize, usize), Bounds>::new();
    let mut learn = |from: usize, to: usize, trip: RoundTrip| {
        for (pair, bounds) in [((from, to), trip.bounds()), ((to, from), trip.bounds().reversed())] {
            let both = known.get(&pair).map_or(bounds, |known| known.within(bounds));
            known.insert(pair, both);
        }
    };
    let mut homes = HashMap::new();
    for (place, node) in nodes.iter().enumerate() {
        homes.extend(node.tracks.iter().filter_map(|track| Some((track.worker?, place))));
        if place > 0 {
            node.asked.iter().for_each(|trip| learn(0, place, *trip));
        }
    }
    for ((client, trustee, _), times) in batches {
        let (Some(from), Some(to)) = (homes.get(client), homes.get(trustee)) else { continue };
        let BatchTimes { sent: Some(sent), served: Some((served, answering)), answered: Some(answered) } =
            *times
        else {
            continue;
        };
        if from != to {
            learn(*from, *to, RoundTrip { sent, served, answering, answered });
        }
    }
    known
}

/// What to add to the times of each node to have those of the first: the best known way from one node to the next.
/// `None` for a node that nothing is known of.
pub(super) fn offsets(
    nodes: &[NodeTrace],
    batches: &HashMap<BatchName, BatchTimes>,
) -> Vec<Option<ClockOffset>> {
    let known = known(nodes, batches);
    let mut offsets = vec![None; nodes.len()];
    if let Some(first) = offsets.first_mut() {
        *first = Some(ClockOffset { nanoseconds: 0, error: 0 });
    }
    // As in Dijkstra's shortest paths: the next node is the one with the least error.
    loop {
        let steps = known.iter().filter_map(|(&(from, to), bounds)| {
            let base = offsets[from].filter(|_| offsets[to].is_none())?;
            let nanoseconds = base.nanoseconds.wrapping_add(bounds.middle());
            Some((to, ClockOffset { nanoseconds, error: base.error.saturating_add(bounds.error()) }))
        });
        let Some((node, offset)) = steps.min_by_key(|(node, offset)| (offset.error, *node)) else {
            return offsets;
        };
        offsets[node] = Some(offset);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Track, TrackEvent};

    fn event(kind: EventKind, (start, end): (u64, u64), peer: u32, number: u64) -> TrackEvent {
        TrackEvent { kind: kind as u8, start, end, peer, count: 1, number, name: None }
    }

    fn node(node: u32, events: Vec<TrackEvent>) -> NodeTrace {
        let track = Track { worker: Some(node), lost: 0, names: Vec::new(), events };
        NodeTrace { node, tracks: vec![track], asked: Vec::new() }
    }

    fn offsets_of(nodes: &[NodeTrace]) -> Vec<Option<ClockOffset>> {
        offsets(nodes, &batches(nodes))
    }

    #[test]
    fn requests_tell_how_clocks_differ_and_how_well_they_tell() {
        // The second clock is 1000 behind. One request travels fast and its answer slowly; with the second it is the
        // other way round.
        let first = vec![
            event(EventKind::Sent, (5000, 5000), 1, 1),
            event(EventKind::Answered, (5500, 5500), 1, 1),
            event(EventKind::Sent, (6000, 6000), 1, 65),
            event(EventKind::Answered, (6310, 6310), 1, 65),
        ];
        let second =
            vec![event(EventKind::Served, (4010, 4020), 0, 1), event(EventKind::Served, (5290, 5300), 0, 65)];
        let offsets = offsets_of(&[node(0, first), node(1, second)]);
        assert_eq!(offsets[1], Some(ClockOffset { nanoseconds: 1000, error: 10 }));
    }

    #[test]
    fn a_node_that_only_another_knows_is_reached_through_it() {
        let trip = RoundTrip { sent: 100, served: 50, answering: 50, answered: 104 };
        let asked =
            NodeTrace { asked: vec![trip], ..node(1, vec![event(EventKind::Served, (70, 80), 2, 1)]) };
        // Its clock is 7 ahead of the second node's.
        let last = vec![event(EventKind::Sent, (76, 76), 1, 1), event(EventKind::Answered, (88, 88), 1, 1)];
        let offsets = offsets_of(&[node(0, Vec::new()), asked, node(2, last), node(3, Vec::new())]);
        assert_eq!(offsets[1], Some(ClockOffset { nanoseconds: 52, error: 2 }));
        assert_eq!(offsets[2], Some(ClockOffset { nanoseconds: 52 - 7, error: 3 }));
        assert_eq!(offsets[3], None, "nothing tells of it");
    }
}
