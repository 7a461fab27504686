//! On plain pinned threads that share atomics.

use crate::inputs::{self, Rows, random};
use crate::{Done, Input, checks};
use benches::team::{Member, work};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};

const FREE: u32 = u32::MAX;

/// So many, each with this value.
pub fn atomics(len: usize, value: u32) -> Vec<AtomicU32> {
    (0..len).map(|_| AtomicU32::new(value)).collect()
}

/// So many updates on each thread.
pub fn histogram(input: &Input) -> Done {
    let Input { size: updates, elements: len, threads } = *input;
    let counts = atomics(len, 0);
    let (_, seconds) = work(threads, |member| {
        for number in 0..updates {
            counts[random(member.index, number, len)].fetch_add(1, Relaxed);
        }
    });
    checks::histogram(&plain(counts), updates, threads);
    (updates * threads, seconds)
}

pub fn plain(atomics: Vec<AtomicU32>) -> Vec<u32> {
    atomics.into_iter().map(AtomicU32::into_inner).collect()
}

/// So many look-ups on each thread.
pub fn gather(input: &Input) -> Done {
    let Input { size: look_ups, elements: len, threads } = *input;
    let table: Vec<_> = (0..len).map(|index| 3 * index as u64 + 1).collect();
    let look_up =
        |member: Member<'_>| (0..look_ups).map(|number| table[random(member.index, number, len)]).collect();
    let (found, seconds): (Vec<Vec<u64>>, f64) = work(threads, look_up);
    checks::gather(&found, look_ups, len);
    (look_ups * threads, seconds)
}

pub fn permutation(input: &Input) -> Done {
    let Input { size, threads, .. } = *input;
    let places = atomics(2 * size, FREE);
    let (parts, seconds) = work(threads, |member| {
        for number in (member.index..size).step_by(member.count) {
            let hits = |round: &usize| {
                let place = &places[random(*round, number, places.len())];
                place.compare_exchange(FREE, number as u32, Relaxed, Relaxed).is_ok()
            };
            let _round = (1..).find(hits);
        }
        member.barrier();
        let own = places[member.part(places.len())].iter().map(|place| place.load(Relaxed));
        own.filter(|place| *place != FREE).collect::<Vec<_>>()
    });
    checks::permutation(parts.concat(), size);
    (size, seconds)
}

pub fn permute(input: &Input) -> Done {
    let Input { size, threads, .. } = *input;
    let (matrix, rows, columns) =
        (inputs::matrix(0..size, size), inputs::permutation(size, 1), inputs::permutation(size, 2));
    let sources = atomics(size, 0);
    let (parts, seconds) = work(threads, |member| {
        for row in member.part(size) {
            sources[rows[row] as usize].store(row as u32, Relaxed);
        }
        member.barrier();
        let permuted = |row: usize| {
            let source = &matrix[sources[row].load(Relaxed) as usize];
            let mut row: Vec<_> = source.iter().map(|column| columns[*column as usize]).collect();
            row.sort_unstable();
            row
        };
        member.part(size).map(permuted).collect::<Vec<_>>()
    });
    checks::permute(&parts.concat(), &matrix, &rows, &columns);
    (checks::elements(&matrix), seconds)
}

/// A matrix that several threads transpose.
struct Transposition {
    /// Where each row starts, and in the end where it ends.
    places: Vec<AtomicU32>,
    /// Those of all rows.
    elements: OnceLock<Vec<AtomicU32>>,
}

impl Transposition {
    fn new(size: usize) -> Self {
        Self { places: atomics(size + 1, 0), elements: OnceLock::new() }
    }

    /// Puts the elements of a thread's rows where they belong.
    fn fill(&self, member: Member<'_>, matrix: &Rows) {
        let own = member.part(matrix.len());
        for column in matrix[own.clone()].iter().flatten() {
            self.places[*column as usize + 1].fetch_add(1, Relaxed);
        }
        member.barrier();
        let elements = self.elements.get_or_init(|| {
            let mut sum = 0;
            for place in &self.places {
                sum += place.load(Relaxed);
                place.store(sum, Relaxed);
            }
            atomics(sum as usize, 0)
        });
        for index in own {
            for column in &matrix[index] {
                let place = self.places[*column as usize].fetch_add(1, Relaxed);
                elements[place as usize].store(index as u32, Relaxed);
            }
        }
        member.barrier();
    }

    /// The elements of a row, in any order, once all are there.
    fn row(&self, index: usize) -> impl Iterator<Item = u32> {
        let end = |row: usize| self.places[row].load(Relaxed) as usize;
        let start = index.checked_sub(1).map_or(0, end);
        let elements = self.elements.get().map_or(&[][..], |elements| &elements[start..end(index)]);
        elements.iter().map(|element| element.load(Relaxed))
    }
}

pub fn transpose(input: &Input) -> Done {
    let Input { size, threads, .. } = *input;
    let matrix = inputs::matrix(0..size, size);
    let transposition = Transposition::new(size);
    let (parts, seconds) = work(threads, |member| {
        transposition.fill(member, &matrix);
        let sorted = |index| {
            let mut row: Vec<_> = transposition.row(index).collect();
            row.sort_unstable();
            row
        };
        member.part(size).map(sorted).collect::<Vec<_>>()
    });
    checks::transpose(&parts.concat(), &matrix);
    (checks::elements(&matrix), seconds)
}

/// In how many triangles a vertex is the highest.
pub fn triangles_of(graph: &Rows, row: &[u32]) -> u64 {
    let mut found = 0;
    for (at, middle) in row.iter().enumerate() {
        let middle = &graph[*middle as usize];
        found += row[..at].iter().filter(|lowest| middle.binary_search(lowest).is_ok()).count() as u64;
    }
    found
}

pub fn triangles(input: &Input) -> Done {
    let Input { size, threads, .. } = *input;
    let graph = inputs::graph(0..size);
    let (found, seconds) = work(threads, |member| {
        graph[member.part(size)].iter().map(|row| triangles_of(&graph, row)).sum::<u64>()
    });
    checks::triangles(found.into_iter().sum(), &graph);
    (checks::questions(&graph), seconds)
}

/// What is left of the rows of a matrix while columns are taken.
pub struct Lines {
    /// Of each row, how many columns are left, and their sum.
    left: Vec<AtomicU32>,
    sums: Vec<AtomicU64>,
    /// When each column was taken.
    rounds: Vec<AtomicU32>,
}

impl Lines {
    pub fn new(size: usize) -> Self {
        let sums = (0..size).map(|_| AtomicU64::new(0)).collect();
        Self { left: atomics(size, 0), sums, rounds: atomics(size, 0) }
    }

    /// Nothing of this row is taken; whether it has but one column.
    pub fn begin(&self, index: usize, row: &[u32]) -> bool {
        self.left[index].store(row.len() as u32, Relaxed);
        self.sums[index].store(row.iter().map(|column| u64::from(*column)).sum(), Relaxed);
        row.len() == 1
    }

    /// Takes a row with the one column that is left in it. Returns them; adds the rows that then have but one.
    pub fn take<I: Iterator<Item = u32>>(
        &self,
        row: u32,
        round: u32,
        column: impl Fn(usize) -> I,
        next: &mut Vec<u32>,
    ) -> (u32, u32) {
        let own = self.sums[row as usize].load(Relaxed);
        self.rounds[own as usize].store(round, Relaxed);
        for other in column(own as usize).filter(|other| *other != row) {
            self.sums[other as usize].fetch_sub(own, Relaxed);
            if self.left[other as usize].fetch_sub(1, Relaxed) == 2 {
                next.push(other);
            }
        }
        (row, own as u32)
    }

    /// Checks in which order they were taken.
    pub fn check(self, taken: &[(u32, u32)], matrix: &Rows) {
        checks::topological_sort(taken, &plain(self.rounds), matrix);
    }
}

pub fn topological_sort(input: &Input) -> Done {
    let Input { size, threads, .. } = *input;
    let matrix = inputs::mixed_triangular(size);
    let (columns, lines) = (Transposition::new(size), Lines::new(size));
    // What each thread has found.
    let fronts: Vec<_> = (0..threads).map(|_| Mutex::new(Vec::new())).collect();
    let front = |thread: usize| fronts[thread].lock().unwrap_or_else(PoisonError::into_inner);
    let (taken, seconds) = work(threads, |member| {
        columns.fill(member, &matrix);
        let own = member.part(size).filter(|row| lines.begin(*row, &matrix[*row]));
        *front(member.index) = own.map(|row| row as u32).collect();
        let mut taken = Vec::new();
        for round in 1.. {
            member.barrier();
            let all: Vec<u32> = (0..threads).flat_map(|thread| front(thread).clone()).collect();
            member.barrier();
            if all.is_empty() {
                break;
            }
            let mut next = Vec::new();
            for row in all.into_iter().skip(member.index).step_by(member.count) {
                taken.push(lines.take(row, round, |column| columns.row(column), &mut next));
            }
            *front(member.index) = next;
        }
        taken
    });
    lines.check(&taken.concat(), &matrix);
    (checks::elements(&matrix), seconds)
}
