//! Files of the Matrix Market: a sparse matrix, whose entries are the edges.

use crate::edges::Edge;
use crate::files::Graph;
use crate::files::source::{FileError, Source};

pub fn read(source: &mut Source) -> Result<Graph, FileError> {
    let is_weighted = header(source)?;
    let (mut size, mut edges) = (None, Vec::new());
    // Not the header, which begins in the same way.
    source.skip(|line| line.starts_with(b"%"));
    while source.advance()? {
        let mut words = source.text()?.split_whitespace();
        let Some(first) = words.next() else { continue };
        let Some((vertices, entries)) = size else {
            let vertices = source.vertices(Some(first))?;
            let columns = source.vertices(words.next())?;
            if vertices != columns {
                let problem =
                    format_args!("{vertices} rows and {columns} columns: the matrix of a graph is square")
                        .to_string();
                return Err(source.wrong(problem));
            }
            let entries: u64 = source.number(words.next(), "the number of entries")?;
            source.no_more(words.next(), "the size of the matrix")?;
            source.check(vertices, entries)?;
            size = Some((vertices, entries));
            continue;
        };
        let from = source.vertex(Some(first), vertices)?;
        let to = source.vertex(words.next(), vertices)?;
        let weight = if is_weighted { source.weight(words.next())? } else { 1.0 };
        source.no_more(words.next(), "an entry")?;
        edges.push(Edge { from, to, weight });
        if edges.len() as u64 > entries {
            return Err(source.wrong(format_args!("an entry more than the {entries} that were announced")));
        }
    }
    let Some((vertices, entries)) = size else {
        return Err(source.wrong("the file ends before the size of the matrix"));
    };
    source.complete(edges.len() as u64, entries, "entries")?;
    Ok(Graph { vertices, edges })
}

/// Whether entries have values. A symmetric matrix is stored by one half, any other as a whole; edges go both ways in
/// any case.
fn header(source: &mut Source) -> Result<bool, FileError> {
    source.advance()?;
    let text = source.text()?.to_lowercase();
    let words: Vec<&str> = text.split_whitespace().collect();
    match words[..] {
        ["%%matrixmarket", "matrix", "coordinate", field, "general" | "symmetric"] => {
            match field {
                "pattern" => Ok(false),
                "real" | "double" | "integer" => Ok(true),
                _ => Err(source
                    .wrong(format_args!("`{field}`: lengths are real, integer, or a pattern without any"))),
            }
        }
        ["%%matrixmarket", ..] => {
            Err(source.wrong("only `matrix coordinate … general` and `… symmetric` are graphs with lengths"))
        }
        _ => Err(source.wrong("the first line of a matrix begins with `%%MatrixMarket`")),
    }
}
