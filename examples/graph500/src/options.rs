//! The command line.

use clap::{Parser, ValueEnum};
use gossamer::Config;
use std::path::PathBuf;

/// The Graph500 benchmark: breadth-first search and shortest paths.
///
/// Generates a Kronecker graph, or reads one, constructs it on the workers of all nodes, searches it from many vertices, validates each
/// search, and prints the output block of the specification.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "graph500",
    version,
    after_long_help = "\
What FILE is, its name says, with or without `.gz` at its end: `.gr` DIMACS shortest paths, `.graph` or `.metis` METIS, `.mtx` Matrix Market, any other
an edge list (two vertices, counted from 0, and at most a weight in a line). An edge without a weight has the length 1.

The environment variable GOSSAMER_THREADS sets the number of workers. On several nodes: gossamer run --local N -- graph500 …

Exit status: 0 if all searches were valid; 1 if one was not, or if the file cannot be read; 2 if the command line is wrong."
)]
pub struct Options {
    /// Vertices: 2 to the power of this
    #[arg(short, long, value_name = "N", default_value_t = 14, value_parser = clap::value_parser!(u32).range(1..=31), conflicts_with = "file")]
    pub scale: u32,

    /// Edges for each vertex
    #[arg(short, long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1024), conflicts_with = "file")]
    pub edgefactor: u32,

    /// How many vertices are searched from
    #[arg(short, long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub roots: u32,

    /// Another seed makes another graph, and searches from other vertices
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Which searches to make
    #[arg(short, long, value_enum, default_value_t = Kernel::Both)]
    pub kernel: Kernel,

    /// Width of the buckets of delta-stepping, as a length [default: 2.4 times the greatest weight, divided by the ends of edges for each vertex]
    #[arg(short, long, value_name = "LENGTH", value_parser = width)]
    pub delta: Option<f32>,

    /// Validate no search
    #[arg(long)]
    pub skip_validation: bool,

    /// Search the graph of a file
    #[arg(short, long)]
    pub file: Option<PathBuf>,
}

/// Which searches to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kernel {
    Bfs,
    Sssp,
    Both,
}

impl Options {
    /// How the runtime is to be set up.
    pub fn config() -> Config {
        // The progress bar formats text in a fiber, which takes more stack than fibers usually have.
        Config::default().stack_size(128 * 1024)
    }
}

fn width(text: &str) -> Result<f32, String> {
    match text.parse() {
        Ok(width) if width > 0.0 && width < f32::INFINITY => Ok(width),
        _ => Err("it is not a number above 0".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_options_are_consistent() {
        Options::command().debug_assert();
    }

    #[test]
    fn a_bucket_has_a_width() {
        assert_eq!(width("0.25"), Ok(0.25));
        assert!(["0", "-1", "inf", "NaN", "wide"].into_iter().all(|text| width(text).is_err()));
    }
}
