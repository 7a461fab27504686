//! Whether the rows have all edges of the list, and no others: then what a validation finds out with the rows is true of
//! the list. See `README.md`, "Validation".

use crate::edges::{Edge, Edges};
use crate::kronecker::Kronecker;
use crate::progress::Progress;
use crate::rows::{End, Row};
use gossamer::collections::DistVec;
use gossamer::{NoRef, TeamMember, Workers};

/// Where the list of edges comes from a second time.
#[derive(Clone, NoRef)]
pub enum List {
    /// It is made again: no memory is needed.
    Generated(Kronecker),
    /// It was kept.
    Kept(Edges),
}

/// The bit of a weight that says that an edge of the list was seen that is just as long. Weights have no sign.
const SEEN: u32 = 1 << 31;
/// More ends than a vertex can have: its row is wrong, and nobody will search it.
const WRONG: u32 = u32::MAX;

/// Rows that are wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wrong {
    pub count: u64,
    /// The first vertex of them.
    pub vertex: u32,
}

/// Compares the rows with the list, to which each worker contributes its part. The rows are unchanged if they are right.
pub fn check(list: &List, rows: &DistVec<Row>, progress: &Progress) -> Result<(), Wrong> {
    let show = const {
        |member: &TeamMember, (list, rows, progress): (List, DistVec<Row>, Progress)| {
            let mut updates = rows.updates(const { |row: &mut Row, end: End| see(row, end) });
            let mut show = |edges: &[Edge]| {
                for edge in edges.iter().filter(|edge| edge.from != edge.to) {
                    updates.push(edge.from as usize, End::new(edge.to, edge.weight));
                    updates.push(edge.to as usize, End::new(edge.from, edge.weight));
                }
                progress.advance(edges.len() as u64);
            };
            match &list {
                List::Generated(graph) => graph.each_block(member, |block| show(&block)),
                List::Kept(edges) => {
                    // In this scope nobody else uses the list.
                    let own = edges.local(|lists| std::mem::take(&mut lists[0])).unwrap_or_default();
                    own.iter().for_each(|block| show(block));
                }
            }
            updates.finish();
        }
    };
    Workers::all().each_with(show, (list.clone(), rows.clone(), progress.clone()));
    rows.par_for_each(const { |_, row: &mut Row| settle(row) });
    let count = const {
        |(count, first): (u64, u32), vertex, row: &Row| match row.ends() {
            WRONG => (count + 1, first.min(vertex as u32)),
            _ => (count, first),
        }
    };
    let wrong = rows.par_fold((0, u32::MAX), count).into_iter();
    let (count, vertex) =
        wrong.fold((0, u32::MAX), |(sum, first), (count, vertex)| (sum + count, first.min(vertex)));
    if count > 0 { Err(Wrong { count, vertex }) } else { Ok(()) }
}

/// The row has the edge, or a shorter one to the same neighbour.
fn see(row: &mut Row, end: End) {
    let weight = row.position(end.to()).map(|position| row.weight_mut(position));
    match weight {
        Some(bits) if f32::from_bits(*bits & !SEEN) == end.weight() => *bits |= SEEN,
        Some(bits) if f32::from_bits(*bits & !SEEN) < end.weight() => (),
        _ => *row.ends_mut() = WRONG,
    }
}

/// All edges of the row were seen.
fn settle(row: &mut Row) {
    for position in 0..row.neighbours().len() {
        let bits = row.weight_mut(position);
        let was_seen = *bits & SEEN != 0;
        *bits &= !SEEN;
        if !was_seen {
            *row.ends_mut() = WRONG;
        }
    }
}
