//! Edge lists, as SNAP and networkx use them: each line has two vertices, counted from 0, and perhaps a weight.

use crate::edges::Edge;
use crate::files::Graph;
use crate::files::source::{FileError, Source};
use crate::path::NONE;

/// After so many edges there is another look at the memory that they take: nobody knows beforehand how many come.
const CHECKED: usize = 64 * 1024;

pub fn read(source: &mut Source) -> Result<Graph, FileError> {
    let (mut vertices, mut edges) = (0, Vec::new());
    source.skip(|line| matches!(line.trim_ascii_start(), [b'#' | b'%', ..]));
    while source.advance()? {
        let mut words = source.text()?.split_whitespace();
        let Some(from) = words.next() else { continue };
        let from: u32 = source.number(Some(from), "a vertex")?;
        let to: u32 = source.number(words.next(), "a vertex")?;
        let weight = match words.next() {
            Some(word) => source.weight(Some(word))?,
            None => 1.0,
        };
        source.no_more(words.next(), "an edge and its weight")?;
        let greatest = from.max(to);
        // One number stands for no vertex, and the count is one more than the greatest number.
        if greatest >= NONE - 1 {
            return Err(source
                .wrong(format_args!("vertex {greatest} is out of range: the greatest may be {}", NONE - 2)));
        }
        vertices = vertices.max(greatest as usize + 1);
        edges.push(Edge { from, to, weight });
        if edges.len().is_multiple_of(CHECKED) {
            source.check(vertices, edges.len() as u64)?;
        }
    }
    Ok(Graph { vertices, edges })
}
