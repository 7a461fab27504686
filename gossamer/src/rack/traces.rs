//! How node 0 gets the traces of the other nodes: it asks on the control connections, and each sends its clock and
//! then its tracks.

use crate::NoRef;
use crate::counters::trace;
use crate::rack::control::{Control, lock};
use crate::rack::message::MessageWriter;
use crate::trace::{NodeTrace, RoundTrip, Track, tracks};
use crate::worker::shared::Shared;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A part of what a node has kept.
#[derive(NoRef, Clone, Debug)]
pub(super) enum TracePart {
    /// The time of its clock.
    Clock(u64),
    Track(Track),
    End,
}

/// Sends what this node has kept.
///
/// # Errors
/// If node 0 is lost.
pub(super) fn give(writer: &Mutex<MessageWriter>, shared: &Arc<Shared>) -> io::Result<()> {
    let send = |part| lock(writer).send(Control::Traced(part));
    send(TracePart::Clock(trace::now()))?;
    for track in tracks(shared) {
        send(TracePart::Track(track))?;
    }
    send(TracePart::End)
}

/// The requests to the other nodes, and their answers.
pub(super) struct Gathering {
    /// Only one thread asks at a time.
    turn: Mutex<()>,
    asked: Mutex<Vec<AskedNode>>,
    changed: Condvar,
}

struct AskedNode {
    at: u64,
    trace: NodeTrace,
    is_done: bool,
    is_lost: bool,
}

impl Gathering {
    /// For this many other nodes.
    pub(super) fn new(others: usize) -> Self {
        let node = |place: usize| AskedNode {
            at: 0,
            trace: NodeTrace { node: place as u32 + 1, tracks: Vec::new(), asked: Vec::new() },
            is_done: true,
            is_lost: false,
        };
        Self {
            turn: Mutex::new(()),
            asked: Mutex::new((0..others).map(node).collect()),
            changed: Condvar::new(),
        }
    }

    /// The node at this place among the others has sent something.
    pub(super) fn take(&self, place: usize, part: TracePart) {
        let answered = trace::now();
        let mut asked = lock(&self.asked);
        let node = &mut asked[place];
        match part {
            TracePart::Clock(now) => {
                let trip = RoundTrip { sent: node.at, served: now, answering: now, answered };
                node.trace.asked.push(trip);
            }
            TracePart::Track(track) => node.trace.tracks.push(track),
            TracePart::End => node.is_done = true,
        }
        self.changed.notify_all();
    }

    /// The node at this place is lost: it sends nothing more.
    pub(super) fn lose(&self, place: usize) {
        lock(&self.asked)[place].is_lost = true;
        self.changed.notify_all();
    }

    /// What the other nodes have kept, as far as it arrives in time.
    pub(super) fn gather(&self, others: &[Mutex<MessageWriter>], patience: Duration) -> Vec<NodeTrace> {
        let _turn = lock(&self.turn);
        let due = Instant::now() + patience;
        for (place, other) in others.iter().enumerate() {
            {
                let mut asked = lock(&self.asked);
                let node = &mut asked[place];
                (node.at, node.is_done) = (trace::now(), node.is_lost);
                (node.trace.tracks, node.trace.asked) = (Vec::new(), Vec::new());
            }
            // Its watcher sees that it is lost.
            let _lost = lock(other).send(Control::GiveTrace);
        }
        let mut asked = lock(&self.asked);
        while asked.iter().any(|node| !node.is_done && !node.is_lost) {
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            asked = self.changed.wait_timeout(asked, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        // What has arrived from a node is some of its tracks, each complete.
        let came = asked.iter().filter(|node| !node.trace.asked.is_empty());
        came.map(|node| node.trace.clone()).collect()
    }
}
