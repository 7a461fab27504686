//! The same searches on plain pinned threads: rows one after another in one vector, results in atomics, and a frontier
//! that is shared out in chunks.

use benches::machine::pinned;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::yield_now;

pub const NONE: u32 = u32::MAX;
/// How many vertices a thread takes at a time.
const CHUNK: usize = 64;

/// The edges of all vertices, row by row.
pub struct Rows {
    /// Where each row begins, and where the last one ends.
    pub starts: Vec<usize>,
    pub to: Vec<u32>,
    pub lengths: Vec<f32>,
}

impl Rows {
    pub fn new(rows: &[Vec<(u32, f32)>]) -> Self {
        let mut starts = vec![0];
        starts.extend(rows.iter().scan(0, |sum, row| {
            *sum += row.len();
            Some(*sum)
        }));
        let edges = || rows.iter().flatten();
        Self {
            starts,
            to: edges().map(|edge| edge.0).collect(),
            lengths: edges().map(|edge| edge.1).collect(),
        }
    }

    pub fn vertices(&self) -> usize {
        self.starts.len() - 1
    }

    pub fn row(&self, vertex: u32) -> std::ops::Range<usize> {
        self.starts[vertex as usize]..self.starts[vertex as usize + 1]
    }
}

/// What the threads of one search share, besides its result.
struct Team {
    threads: usize,
    come: AtomicUsize,
    meetings: AtomicUsize,
    front: Mutex<Arc<Vec<u32>>>,
    taken: AtomicUsize,
    least: AtomicUsize,
}

impl Team {
    fn new(threads: usize, root: u32) -> Self {
        Self {
            threads,
            come: AtomicUsize::new(0),
            meetings: AtomicUsize::new(0),
            front: Mutex::new(Arc::new(vec![root])),
            taken: AtomicUsize::new(0),
            least: AtomicUsize::new(usize::MAX),
        }
    }

    /// Waits for the others by spinning. The last one runs `then` before all go on.
    fn meet(&self, then: impl FnOnce()) {
        let meeting = self.meetings.load(Ordering::Acquire);
        if self.come.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            then();
            self.come.store(0, Ordering::Relaxed);
            self.meetings.store(meeting + 1, Ordering::Release);
            return;
        }
        for turn in 0_u32.. {
            if self.meetings.load(Ordering::Acquire) != meeting {
                return;
            }
            // Another thread may need this processor.
            if turn % 20_000 == 19_999 { yield_now() } else { spin_loop() }
        }
    }

    fn front(&self) -> Arc<Vec<u32>> {
        self.front.lock().map_or_else(|poisoned| poisoned.into_inner().clone(), |front| front.clone())
    }

    fn each_of_front(&self, mut visit: impl FnMut(u32)) {
        let front = self.front();
        loop {
            let start = self.taken.fetch_add(CHUNK, Ordering::Relaxed);
            let Some(chunk) =
                front.get(start..front.len().min(start + CHUNK)).filter(|chunk| !chunk.is_empty())
            else {
                return;
            };
            chunk.iter().for_each(|vertex| visit(*vertex));
        }
    }

    /// All threads add what they have for the next frontier.
    fn swap(&self, next: &mut Vec<u32>) -> usize {
        self.meet(|| {
            self.taken.store(0, Ordering::Relaxed);
            if let Ok(mut front) = self.front.lock() {
                *front = Arc::new(Vec::new());
            }
        });
        if !next.is_empty()
            && let Ok(mut front) = self.front.lock()
        {
            match Arc::get_mut(&mut front) {
                Some(front) => front.append(next),
                None => *front = Arc::new(front.iter().copied().chain(next.drain(..)).collect()),
            }
        }
        self.meet(|| ());
        self.front().len()
    }
}

fn on_threads<T: Send + Sync + 'static>(threads: usize, shared: T, work: fn(&T)) -> Option<T> {
    let shared = Arc::new(shared);
    let start = |thread| {
        let shared = Arc::clone(&shared);
        pinned(thread, move || work(&shared))
    };
    let threads: Vec<_> = (0..threads).map(start).collect();
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload)));
    Arc::into_inner(shared)
}

/// The parents of a breadth-first search.
pub fn breadth_first(rows: &Arc<Rows>, root: u32, threads: usize) -> Vec<u32> {
    let parents: Vec<_> = (0..rows.vertices()).map(|_| AtomicU32::new(NONE)).collect();
    parents[root as usize].store(root, Ordering::Relaxed);
    let shared = (Arc::clone(rows), Team::new(threads, root), parents);
    let shared = on_threads(threads, shared, |(rows, team, parents)| {
        let mut next = Vec::new();
        loop {
            team.each_of_front(|vertex| {
                for to in &rows.to[rows.row(vertex)] {
                    let parent = &parents[*to as usize];
                    if parent.load(Ordering::Relaxed) == NONE
                        && parent.compare_exchange(NONE, vertex, Ordering::Relaxed, Ordering::Relaxed).is_ok()
                    {
                        next.push(*to);
                    }
                }
            });
            if team.swap(&mut next) == 0 {
                return;
            }
        }
    });
    shared.map_or_else(Vec::new, |(_, _, parents)| parents.into_iter().map(AtomicU32::into_inner).collect())
}

/// The distances, by delta-stepping with buckets for each thread, as in the GAP benchmark suite (Beamer, Asanović and
/// Patterson, 2015).
pub fn shortest_paths(rows: &Arc<Rows>, root: u32, delta: f32, threads: usize) -> Vec<f32> {
    let far = f32::INFINITY.to_bits();
    let distances: Vec<_> = (0..rows.vertices()).map(|_| AtomicU32::new(far)).collect();
    distances[root as usize].store(0, Ordering::Relaxed);
    let shared = (Arc::clone(rows), Team::new(threads, root), distances, delta);
    let shared = on_threads(threads, shared, |(rows, team, distances, delta)| {
        let (mut buckets, mut current): (Vec<Vec<u32>>, usize) = (Vec::new(), 0);
        loop {
            team.each_of_front(|vertex| {
                let distance = f32::from_bits(distances[vertex as usize].load(Ordering::Relaxed));
                if ((distance / delta) as usize) < current {
                    return;
                }
                for edge in rows.row(vertex) {
                    let new = distance + rows.lengths[edge];
                    let there = &distances[rows.to[edge] as usize];
                    // Floating-point numbers that are not negative have the same order as their bits.
                    if there.load(Ordering::Relaxed) > new.to_bits()
                        && there.fetch_min(new.to_bits(), Ordering::Relaxed) > new.to_bits()
                    {
                        let bucket = (new / delta) as usize;
                        if buckets.len() <= bucket {
                            buckets.resize_with(bucket + 1, Vec::new);
                        }
                        buckets[bucket].push(rows.to[edge]);
                    }
                }
            });
            let own = (current..buckets.len()).find(|bucket| !buckets[*bucket].is_empty());
            team.meet(|| team.least.store(usize::MAX, Ordering::Relaxed));
            team.least.fetch_min(own.unwrap_or(usize::MAX), Ordering::Relaxed);
            team.meet(|| ());
            current = team.least.load(Ordering::Relaxed);
            if team.swap(buckets.get_mut(current).unwrap_or(&mut Vec::new())) == 0 {
                return;
            }
        }
    });
    let bits = shared.map_or_else(Vec::new, |(_, _, distances, _)| distances);
    bits.into_iter().map(|bits| f32::from_bits(bits.into_inner())).collect()
}
