//! Files of METIS: `VERTICES EDGES [FORMAT [WEIGHTS]]`, and a line of neighbours for each vertex.

use crate::edges::Edge;
use crate::files::Graph;
use crate::files::source::{FileError, Source};
use std::cmp::Ordering;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

/// Bytes of a neighbour in the line of a vertex, at most, with the weight and both spaces. A line of them takes less
/// memory than its vertices do later.
const OF_A_NEIGHBOUR: usize = 32;

/// What the first line says.
struct Header {
    vertices: usize,
    edges: u64,
    /// Numbers before the neighbours of a vertex.
    skipped: usize,
    is_weighted: bool,
}

pub fn read(source: &mut Source) -> Result<Graph, FileError> {
    source.skip(|line| line.starts_with(b"%"));
    let Header { vertices, edges: said, skipped, is_weighted } = header(source)?;
    source.check(vertices, said)?;
    source.lengthen(vertices.saturating_mul(OF_A_NEIGHBOUR));
    let (mut edges, mut vertex, mut from_above) = (Vec::new(), 0, 0);
    // Sums over all edges, as listed at either end, in whatever order.
    let (mut listed_below, mut listed_above) = (0_u64, 0_u64);
    let hash = BuildHasherDefault::<DefaultHasher>::new();
    while source.advance()? {
        let text = source.text()?;
        if vertex == vertices {
            source.no_more(text.split_whitespace().next(), "the last vertex")?;
            continue;
        }
        let mut words = text.split_whitespace();
        for _ in 0..skipped {
            source.number::<f64>(words.next(), "a size or a weight of a vertex")?;
        }
        while let Some(word) = words.next() {
            let to = source.vertex(Some(word), vertices)?;
            let weight = if is_weighted { source.weight(words.next())? } else { 1.0 };
            // Each edge is in the lines of both ends.
            match (vertex as u32).cmp(&to) {
                Ordering::Less => {
                    edges.push(Edge { from: vertex as u32, to, weight });
                    if edges.len() as u64 > said {
                        return Err(
                            source.wrong(format_args!("an edge more than the {said} that were announced"))
                        );
                    }
                    let edge = hash.hash_one((vertex as u32, to, weight.to_bits()));
                    listed_below = listed_below.wrapping_add(edge);
                }
                Ordering::Greater => {
                    from_above += 1;
                    let edge = hash.hash_one((to, vertex as u32, weight.to_bits()));
                    listed_above = listed_above.wrapping_add(edge);
                }
                Ordering::Equal => {
                    return Err(source.wrong(format_args!("vertex {} is its own neighbour", to + 1)));
                }
            }
        }
        vertex += 1;
    }
    source.complete(vertex as u64, vertices as u64, "vertices")?;
    source.complete(edges.len() as u64, said, "edges")?;
    if from_above != said {
        let problem = format_args!(
            "{said} edges name a neighbour above, {from_above} one below: each has to be at both its ends"
        )
        .to_string();
        return Err(source.wrong(problem));
    }
    if listed_below != listed_above {
        return Err(
            source.wrong("an edge has another end, or another weight, where it is listed at its second end")
        );
    }
    Ok(Graph { vertices, edges })
}

fn header(source: &mut Source) -> Result<Header, FileError> {
    if !source.advance()? {
        return Err(source.wrong("the file ends before the numbers of vertices and edges"));
    }
    let mut words = source.text()?.split_whitespace();
    let vertices = source.vertices(words.next())?;
    let edges = source.number(words.next(), "the number of edges")?;
    let format = words.next().unwrap_or("0");
    let is_known = format.len() <= 3 && format.chars().all(|digit| matches!(digit, '0' | '1'));
    if !is_known {
        return Err(
            source.wrong(format_args!("`{format}` is no format: it has up to three digits, each 0 or 1"))
        );
    }
    let has = |from_the_right: usize| format.chars().rev().nth(from_the_right) == Some('1');
    let weights = match words.next() {
        Some(word) => source.number(Some(word), "the number of weights of a vertex")?,
        None => 1,
    };
    source.no_more(words.next(), "the first line's numbers")?;
    let skipped = usize::from(has(2)).saturating_add(if has(1) { weights } else { 0 });
    Ok(Header { vertices, edges, skipped, is_weighted: has(0) })
}
