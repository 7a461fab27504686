//! Traces: what the workers of all nodes did, one by one, on one clock, in a file for [Perfetto](https://ui.perfetto.dev).
//!
//! Each worker keeps its last events in a ring of its own (`counters/trace.rs`). At the end, on SIGQUIT, and when a
//! node is lost, node 0 asks the others for theirs ([`NodeTrace`]), works out from the requests themselves how their
//! clocks differ ([`clock`]), and writes one file ([`file`]). `docs/profiling.md` says how to use it.
#![deny(unsafe_code)]

pub(crate) mod clock;
pub(crate) mod file;
mod json;

use crate::NoRef;
use crate::counters::trace::{self, EventKind, TraceEvent, TraceRing};
use crate::lane::constant::ClosurePath;
use crate::lane::place::Places;
use crate::worker::shared::{self, Shared};
use std::collections::HashMap;
use std::sync::Arc;

/// What one node has kept.
#[derive(NoRef, Clone, Debug)]
pub(crate) struct NodeTrace {
    pub(crate) node: u32,
    pub(crate) tracks: Vec<Track>,
    /// Round trips between node 0 and this one besides those of requests.
    pub(crate) asked: Vec<RoundTrip>,
}

/// The events of one worker, or of all other threads of a process.
#[derive(NoRef, Clone, Debug)]
pub(crate) struct Track {
    pub(crate) worker: Option<u32>,
    /// Earlier events that are not kept.
    pub(crate) lost: u64,
    pub(crate) names: Vec<String>,
    pub(crate) events: Vec<TrackEvent>,
}

/// An event. Its name is one of its track's names.
#[derive(NoRef, Clone, Copy, Debug)]
pub(crate) struct TrackEvent {
    pub(crate) kind: u8,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) peer: u32,
    pub(crate) count: u16,
    pub(crate) number: u64,
    pub(crate) name: Option<u32>,
}

/// A request of one node to another: when it was sent and answered there, and served here, each by its own clock.
#[derive(NoRef, Clone, Copy, Debug)]
pub(crate) struct RoundTrip {
    pub(crate) sent: u64,
    pub(crate) served: u64,
    pub(crate) answering: u64,
    pub(crate) answered: u64,
}

impl TrackEvent {
    pub(crate) fn kind(&self) -> Option<EventKind> {
        EventKind::numbered(self.kind)
    }
}

impl Track {
    /// The content of a ring.
    pub(crate) fn of(worker: Option<u32>, ring: &TraceRing) -> Self {
        let (events, lost) = ring.read();
        let (mut names, mut numbers) = (Vec::new(), HashMap::new());
        let events = events.into_iter().map(|event| {
            let address = (
                event.place.map(|place| (place.file(), place.line())),
                event.closure.map(|name| *name as usize),
            );
            let name = (address != (None, None)).then(|| {
                *numbers.entry(address).or_insert_with(|| {
                    names.push(name_of(&event));
                    names.len() as u32 - 1
                })
            });
            let TraceEvent { kind, start, end, peer, count, number, .. } = event;
            TrackEvent { kind: kind as u8, start, end, peer, count, number, name }
        });
        let events = events.collect();
        Self { worker, lost, names, events }
    }
}

/// The name of an event, from its place in the program.
fn name_of(event: &TraceEvent) -> String {
    match (event.closure, event.place) {
        (Some(name), _) => format!("{}{}", ClosurePath(name()), Places(name())),
        (_, Some(place)) => place.to_string(),
        _ => String::new(),
    }
}

/// The number of a node.
pub(crate) fn node_of(shared: &Shared) -> u32 {
    shared.peers.as_ref().map_or(0, |peers| peers.node() as u32)
}

/// The tracks of a node that is traced.
pub(crate) fn tracks(shared: &Arc<Shared>) -> Vec<Track> {
    let workers = shared.mailboxes.iter().enumerate().filter_map(|(index, mailbox)| {
        let ring = mailbox.counters.trace.as_ref()?;
        Some(Track::of(Some((shared.first + index) as u32), ring))
    });
    // If a process has several runtimes, the oldest one reports.
    let is_oldest = shared::oldest().is_some_and(|oldest| Arc::ptr_eq(&oldest, shared));
    let outside = trace::outside().filter(|_| is_oldest).map(|ring| Track::of(None, ring));
    workers.chain(outside).collect()
}

impl NodeTrace {
    /// What this node has kept.
    pub(crate) fn of(shared: &Arc<Shared>) -> Self {
        Self { node: node_of(shared), tracks: tracks(shared), asked: Vec::new() }
    }
}
