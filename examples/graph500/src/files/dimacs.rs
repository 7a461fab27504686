//! Files `.gr` of the ninth DIMACS challenge: `p sp VERTICES ARCS`, and `a FROM TO WEIGHT` for each arc.

use crate::edges::Edge;
use crate::files::Graph;
use crate::files::source::{FileError, Source};

pub fn read(source: &mut Source) -> Result<Graph, FileError> {
    let (mut size, mut edges) = (None, Vec::new());
    source.skip(|line| {
        let line = line.trim_ascii_start();
        line.first() == Some(&b'c') && line.get(1).is_none_or(u8::is_ascii_whitespace)
    });
    while source.advance()? {
        let mut words = source.text()?.split_whitespace();
        match (words.next(), size) {
            (None, _) => continue,
            (Some("p"), None) => {
                if words.next() != Some("sp") {
                    return Err(source.wrong("no `p sp VERTICES ARCS`: this is no graph for shortest paths"));
                }
                let vertices = source.vertices(words.next())?;
                let arcs: u64 = source.number(words.next(), "the number of arcs")?;
                source.check(vertices, arcs)?;
                size = Some((vertices, arcs));
            }
            (Some("p"), Some(_)) => return Err(source.wrong("a second line `p`")),
            (Some("a"), Some((vertices, arcs))) => {
                let from = source.vertex(words.next(), vertices)?;
                let to = source.vertex(words.next(), vertices)?;
                edges.push(Edge { from, to, weight: source.weight(words.next())? });
                if edges.len() as u64 > arcs {
                    return Err(source.wrong(format_args!("an arc more than the {arcs} that were announced")));
                }
            }
            (Some("a"), None) => return Err(source.wrong("an arc before the line `p sp VERTICES ARCS`")),
            (Some(word), _) => {
                return Err(source.wrong(format_args!("`{word}`: a line begins with `c`, `p` or `a`")));
            }
        }
        source.no_more(words.next(), "the end of the line's meaning")?;
    }
    let Some((vertices, arcs)) = size else {
        return Err(source.wrong("the file ends without a line `p sp VERTICES ARCS`"));
    };
    source.complete(edges.len() as u64, arcs, "arcs")?;
    Ok(Graph { vertices, edges })
}
