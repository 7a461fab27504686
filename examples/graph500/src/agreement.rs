//! Whether the rows have all edges of the list, and no others: then what a validation finds out with the rows is true of
//! the list. See `README.md`, "Validation".

use crate::edges::{Edge, Edges};
use crate::end::End;
use crate::kronecker::Kronecker;
use crate::progress::Progress;
use crate::row::Row;
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

/// Rows that are wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wrong {
    pub count: u64,
    /// The first vertex of them.
    pub vertex: u32,
}

/// Compares the rows with the list, to which each worker contributes its part.
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
    let count = const {
        |(count, first): (u64, u32), vertex, row: &Row| match row.is_right() {
            true => (count, first),
            false => (count + 1, first.min(vertex as u32)),
        }
    };
    let wrong = rows.par_fold((0, u32::MAX), count).into_iter();
    let (count, vertex) =
        wrong.fold((0, u32::MAX), |(sum, first), (count, vertex)| (sum + count, first.min(vertex)));
    if count > 0 { Err(Wrong { count, vertex }) } else { Ok(()) }
}

/// The row has the edge, or a shorter one to the same neighbour. Otherwise it is refuted.
fn see(row: &mut Row, end: End) {
    match row.position(end.to()) {
        Some(position) if row.weight(position) == end.weight() => row.see(position),
        Some(position) if row.weight(position) < end.weight() => (),
        _ => row.refute(),
    }
}
