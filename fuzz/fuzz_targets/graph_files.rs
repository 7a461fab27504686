//! Bytes as a file with a graph, in each format: it is read, or refused with its place.
#![no_main]
#![allow(dead_code, reason = "the rest of the program")]

#[path = "../../examples/graph500/src/edges.rs"]
mod edges;
#[path = "../../examples/graph500/src/files/mod.rs"]
mod files;
#[path = "../../examples/graph500/src/path.rs"]
mod path;

use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;
use std::{env, fs, process};

/// In memory, where there is such a directory.
static FOLDER: LazyLock<std::path::PathBuf> = LazyLock::new(|| {
    let memory = std::path::Path::new("/dev/shm");
    let folder = if memory.is_dir() { memory.to_owned() } else { env::temp_dir() };
    folder.join(format!("graph-files-{}", process::id()))
});

/// A machine without memory for graphs with many edges.
fn room(_vertices: usize, edges: u64) -> Result<(), String> {
    if edges < 100_000 { Ok(()) } else { Err(format!("{edges} edges are too many")) }
}

fuzz_target!(|bytes: &[u8]| {
    for ending in ["gr", "graph", "mtx", "txt"] {
        let path = FOLDER.with_extension(ending);
        fs::write(&path, bytes).unwrap();
        let graph = files::read(&path, Box::new(room));
        fs::remove_file(&path).unwrap();
        match graph {
            Ok(graph) => {
                let is_vertex = |vertex: u32| (vertex as usize) < graph.vertices;
                assert!(graph.edges.iter().all(|edge| is_vertex(edge.from) && is_vertex(edge.to)));
                assert!(
                    graph.edges.iter().all(|edge| edge.weight.is_finite() && edge.weight.is_sign_positive())
                );
            }
            Err(error) => assert!(error.to_string().starts_with(&path.display().to_string())),
        }
    }
});
