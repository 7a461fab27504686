//! Breadth-first search that sends every edge: in batches, and, as one would write it at first, with a request for each
//! edge.

use crate::search::NONE;
use gossamer::collections::{DistVec, Frontier};
use gossamer::{Trust, Trustee, rack, spawn_on};
use std::mem::take;
use std::sync::Arc;

/// By a [`Frontier`], as in the example but for `push` instead of `once`. Returns how many updates it sent.
#[gossamer::delegate]
pub fn batched(graph: &DistVec<Vec<u32>>, root: u32) -> u64 {
    let parents = DistVec::filled(graph.len(), NONE);
    parents.set(root as usize, root);
    let (mut front, mut sent) = (Frontier::of(&parents), 0);
    front.mark(root as usize);
    while front.swap() > 0 {
        sent += front
            .par_for_each(graph, |u, _, row, out| row.iter().for_each(|v| out.push(*v as usize, u as u32)))
            .apply(|parent, u, next| {
                if *parent == NONE {
                    *parent = u;
                    next.mark();
                }
            });
    }
    sent
}

/// The vertices of one worker: every n-th one, with n workers.
pub struct Part {
    /// They do not change, so whoever reads them shares them.
    rows: Arc<[Vec<u32>]>,
    parents: Vec<u32>,
    front: Vec<u32>,
    next: Vec<u32>,
}

impl Part {
    fn visit(&mut self, place: usize, from: u32) {
        if self.parents[place] == NONE {
            self.parents[place] = from;
            self.next.push(place as u32);
        }
    }
}

/// The part of each worker.
#[gossamer::delegate]
pub fn parts(rows: &[Vec<u32>]) -> Vec<Trust<Part>> {
    let trustees = Trustee::all();
    let own = |part: usize| rows.iter().skip(part).step_by(trustees.len()).cloned().collect::<Vec<_>>();
    let mut parts = Vec::new();
    for (part, trustee) in trustees.iter().enumerate() {
        let rows = own(part);
        let make = spawn_on(*trustee, move || {
            let parents = vec![NONE; rows.len()];
            gossamer::entrust(Part { rows: rows.into(), parents, front: Vec::new(), next: Vec::new() })
        });
        parts.push(make.join());
    }
    parts
}

/// Begins the next round, and returns how many vertices it has.
#[gossamer::delegate]
fn swap(parts: &[Trust<Part>]) -> usize {
    let mut vertices = 0;
    for part in parts {
        vertices += part.apply(|part| {
            part.front = take(&mut part.next);
            part.front.len()
        });
    }
    vertices
}

#[gossamer::delegate]
fn begin(parts: &[Trust<Part>], root: u32) {
    for part in parts {
        part.apply(|part| part.parents.fill(NONE));
    }
    let place = root as usize / parts.len();
    parts[root as usize % parts.len()].apply(move |part| part.visit(place, root));
}

/// A fiber on each worker sends the requests. It waits when its lane is full.
#[gossamer::delegate]
pub fn from_fibers(parts: &[Trust<Part>], root: u32) {
    begin(parts, root);
    while swap(parts) > 0 {
        for (number, part) in parts.iter().enumerate() {
            let parts = parts.to_vec();
            let _detached = spawn_on(part.trustee(), move || {
                let count = parts.len();
                let (front, rows) =
                    parts[number].apply_here(|part| (take(&mut part.front), Arc::clone(&part.rows)));
                for place in front {
                    let from = place * count as u32 + number as u32;
                    for to in &rows[place as usize] {
                        let place = *to as usize / count;
                        parts[*to as usize % count].apply_unawaited(move |part| part.visit(place, from));
                    }
                }
            });
        }
        rack::wait_all();
    }
}

/// A delegated closure on each worker sends the requests. It cannot wait, so they queue up. Returns whether there was
/// room for all.
#[gossamer::delegate]
pub fn from_closures(parts: &[Trust<Part>], root: u32) -> bool {
    begin(parts, root);
    let mut is_complete = true;
    while swap(parts) > 0 {
        let mut expansions = Vec::new();
        for (number, part) in parts.iter().enumerate() {
            let parts = parts.to_vec();
            expansions.push(part.apply_async(move |part| {
                let count = parts.len();
                for place in take(&mut part.front) {
                    let from = place * count as u32 + number as u32;
                    for to in &part.rows[place as usize] {
                        let place = *to as usize / count;
                        parts[*to as usize % count].apply_unawaited(move |part| part.visit(place, from));
                    }
                }
            }));
        }
        for expansion in expansions {
            is_complete &= expansion.try_wait().is_ok();
        }
        rack::wait_all();
    }
    is_complete
}

/// The parents, in order of the vertices.
#[gossamer::delegate]
pub fn parents(parts: &[Trust<Part>]) -> Vec<u32> {
    let mut own = Vec::new();
    for part in parts {
        own.push(part.apply(|part| part.parents.clone()).into_iter());
    }
    let mut all = Vec::new();
    for part in (0..own.len()).cycle() {
        let Some(parent) = own[part].next() else { return all };
        all.push(parent);
    }
    all
}
