//! The specification's validation of a search, on all workers: neither the search nor the distances it claims are trusted.

use crate::path::{NONE, Path};
use crate::row::Row;
use gossamer::collections::{DistVec, Frontier};
use gossamer::{NoRef, TeamMember, Workers};
use std::fmt;

/// A check of the specification, by its number minus 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    Tree,
    TreeEdges,
    AllEdges,
    Component,
    Joined,
}

/// How many checks there are.
const CHECKS: usize = 5;

impl Check {
    const ALL: [Self; CHECKS] = [Self::Tree, Self::TreeEdges, Self::AllEdges, Self::Component, Self::Joined];
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rule = match self {
            Self::Tree => "the parents make a tree without cycles, with the key at its root",
            Self::TreeEdges => "a vertex is as far away as its parent and the edge between them",
            Self::AllEdges => "the ends of each edge differ in their distance by no more than its length",
            Self::Component => "the tree spans the whole component of the key, and nothing else",
            Self::Joined => "each vertex and its parent are joined by an edge of the graph",
        };
        write!(f, "check {}: {rule}", *self as usize + 1)
    }
}

/// The ways in which a search can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    pub check: Check,
    /// The first vertex for which the check fails.
    pub vertex: u32,
    /// For how many vertices it fails.
    pub count: u64,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: fails for vertex {}", self.check, self.vertex)?;
        match self.count {
            1 => Ok(()),
            count => write!(f, " and {} more", count - 1),
        }
    }
}

/// What is known about a vertex.
#[derive(Clone, Copy, NoRef)]
struct Vertex {
    parent: u32,
    /// Its distance, as the search reports it; after a breadth-first search, as the tree gives it.
    distance: f64,
    /// How many edges of the tree lead to it from the root.
    level: u32,
    /// A bit for each check that fails.
    failed: u8,
}

impl Vertex {
    fn new(parent: u32, distance: f32) -> Self {
        Self { parent, distance: distance.into(), level: NONE, failed: 0 }
    }

    fn fail(&mut self, check: Check) {
        self.failed |= 1 << check as u8;
    }
}

/// Checks a breadth-first search, as shortest paths with edges of the length 1.
pub fn breadth_first(rows: &DistVec<Row>, parents: &DistVec<u32>, key: u32) -> Vec<Violation> {
    let vertices = parents.par_map(const { |_, parent: &u32| Vertex::new(*parent, f32::INFINITY) });
    check(rows, &vertices, key, false)
}

/// Checks shortest paths.
pub fn shortest_paths(rows: &DistVec<Row>, paths: &DistVec<Path>, key: u32) -> Vec<Violation> {
    let vertices = paths.par_map(const { |_, path: &Path| Vertex::new(path.parent(), path.distance()) });
    check(rows, &vertices, key, true)
}

fn check(rows: &DistVec<Row>, vertices: &DistVec<Vertex>, key: u32, is_weighted: bool) -> Vec<Violation> {
    check_parents(rows, vertices, key, is_weighted);
    let children = children(vertices);
    follow(rows, vertices, &children, key, is_weighted);
    violations(vertices)
}

/// What each vertex can check by itself. The rows are symmetric: if a vertex has an edge to its parent, the parent has
/// the edge, too.
#[gossamer::delegate]
fn check_parents(rows: &DistVec<Row>, vertices: &DistVec<Vertex>, key: u32, is_weighted: bool) {
    vertices.par_zip(rows, |index, vertex, row| {
        let (parent, is_root) = (vertex.parent, index == key as usize);
        if is_root != (parent as usize == index) {
            vertex.fail(Check::Tree);
        } else if parent != NONE && !is_root && row.position(parent).is_none() {
            vertex.fail(Check::Joined);
        }
        // A vertex outside the tree has no other distance than a search that has not reached it.
        let fits = match parent {
            NONE => vertex.distance == f64::INFINITY,
            _ => (0.0..f64::INFINITY).contains(&vertex.distance),
        };
        if is_weighted && !fits {
            vertex.fail(Check::Component);
        }
        if is_weighted && is_root && vertex.distance != 0.0 {
            vertex.fail(Check::TreeEdges);
        }
    });
}

/// For each vertex, the vertices that claim it as their parent.
fn children(vertices: &DistVec<Vertex>) -> DistVec<Vec<u32>> {
    let children = DistVec::from_fn(vertices.len(), const { |_| Vec::new() });
    let tell = const {
        |_: &TeamMember, (vertices, children): (DistVec<Vertex>, DistVec<Vec<u32>>)| {
            let is_child = |index: usize, vertex: &Vertex| {
                // One that does not exist has failed by then.
                index != vertex.parent as usize && (vertex.parent as usize) < children.len()
            };
            let own = vertices.local(|own| {
                let own = own.indexed().filter(|(index, vertex)| is_child(*index, vertex));
                own.map(|(index, vertex)| (vertex.parent, index as u32)).collect::<Vec<_>>()
            });
            let mut updates = children.updates(const { |list: &mut Vec<u32>, child: u32| list.push(child) });
            for (parent, child) in own.unwrap_or_default() {
                updates.push(parent as usize, child);
            }
            updates.finish();
        }
    };
    Workers::all().each_with(tell, (vertices.clone(), children.clone()));
    children
}

/// What a vertex of the tree tells its neighbours.
#[derive(Clone, Copy, NoRef)]
struct Told {
    by: u32,
    /// How far away they are by way of this edge.
    distance: f64,
}

/// Priorities of marks: first the vertices of the tree are visited, then the edges of all that are in it.
const TREE: usize = 0;
const EDGES: usize = 1;

/// Goes down the tree, level by level, and then along all edges of the vertices in it.
#[gossamer::delegate]
fn follow(
    rows: &DistVec<Row>,
    vertices: &DistVec<Vertex>,
    children: &DistVec<Vec<u32>>,
    key: u32,
    is_weighted: bool,
) {
    vertices.update(key as usize, |root| {
        root.level = 0;
        root.distance = 0.0;
    });
    let mut front = Frontier::of(vertices);
    front.mark_at(key as usize, TREE);
    front.mark_at(key as usize, EDGES);
    while front.swap() > 0 {
        if front.priority() == TREE {
            front
                .par_for_each(children, |_, parent, children, out| {
                    children.iter().for_each(|child| out.push(*child as usize, parent.level + 1));
                })
                .apply(|vertex, level, next| {
                    // The root may claim a parent, too.
                    if vertex.level != NONE {
                        return;
                    }
                    vertex.level = level;
                    if !is_weighted {
                        vertex.distance = level.into();
                    }
                    next.mark_at(TREE);
                    next.mark_at(EDGES);
                });
        } else {
            front
                .par_for_each(rows, |by, vertex, row, out| {
                    for (to, weight) in row.edges() {
                        // The sum that the search has made, rounded as there.
                        let sum = vertex.distance as f32 + weight;
                        let distance = if is_weighted { sum.into() } else { vertex.distance + 1.0 };
                        out.push(to as usize, Told { by: by as u32, distance });
                    }
                })
                .apply(|vertex, told, _| {
                    if vertex.parent == NONE {
                        vertex.fail(Check::Component);
                    } else if vertex.level != NONE && vertex.distance > told.distance {
                        vertex.fail(Check::AllEdges);
                    }
                    if vertex.parent == told.by && vertex.level != 0 && vertex.distance != told.distance {
                        vertex.fail(Check::TreeEdges);
                    }
                });
        }
    }
}

/// How many vertices of a part fail each check, and the first that does.
type Failures = [(u64, u32); CHECKS];

fn violations(vertices: &DistVec<Vertex>) -> Vec<Violation> {
    let count = const {
        |mut failures: Failures, index, vertex: &Vertex| {
            let is_lost = vertex.parent != NONE && vertex.level == NONE;
            // The reason, if its parent is not a neighbour, or not a vertex.
            let lost = is_lost && vertex.failed & (1 << Check::Joined as u8) == 0;
            let failed = vertex.failed | (u8::from(lost) << Check::Tree as u8);
            for check in Check::ALL.into_iter().filter(|check| failed & (1 << *check as u8) != 0) {
                let (count, first) = &mut failures[check as usize];
                *count += 1;
                *first = (*first).min(index as u32);
            }
            failures
        }
    };
    let parts = vertices.par_fold([(0, NONE); CHECKS], count);
    let of_all = Check::ALL.into_iter().map(|check| {
        let of_check = parts.iter().map(|part| part[check as usize]);
        let (count, vertex) =
            of_check.fold((0, NONE), |(sum, first), (count, vertex)| (sum + count, first.min(vertex)));
        Violation { check, vertex, count }
    });
    of_all.filter(|violation| violation.count > 0).collect()
}
