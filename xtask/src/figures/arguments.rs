//! The grammar of `figures`.

use clap::Args;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The figures of the thesis that there are.
const FIRST: i64 = 4;
const LAST: i64 = 13;

/// Measure what the figures of the thesis show, beside comparable programs, and draw it
///
/// Each figure gets a file with the raw data, FIGURE.json, and one with the picture, FIGURE.svg. Ctrl-C ends the
/// measurements; what was measured until then is kept. Programs to compare with take part where they are installed. The
/// exit status is 0 unless nothing can be measured or a file cannot be written; a figure says which of its measurements
/// have failed.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct FiguresArguments {
    /// Less than two minutes once everything is built: shows whether all of it works, and orders of magnitude
    #[arg(long, conflicts_with = "full")]
    pub(crate) quick: bool,
    /// Hours: larger graphs, longer measurements, more rounds
    #[arg(long)]
    pub(crate) full: bool,
    /// Only these figures, by their numbers in the thesis
    #[arg(long, value_name = "NUMBER", value_delimiter = ',', value_parser = clap::value_parser!(u8).range(FIRST..=LAST))]
    pub(crate) only: Vec<u8>,
    /// Go on with what was interrupted: rounds that are recorded, by the same commit, are not measured again
    #[arg(long, conflicts_with = "draw")]
    pub(crate) resume: bool,
    /// Where the files go
    #[arg(long, value_name = "FOLDER", default_value = "target/figures", value_parser = folder)]
    pub(crate) out: PathBuf,
    /// A page whose generated tables are replaced
    #[arg(long, value_name = "FILE", value_parser = file)]
    pub(crate) page: Option<PathBuf>,
    /// Measure nothing, but draw again what was measured before
    #[arg(long)]
    pub(crate) draw: bool,
    /// The program `graph500_reference_bfs_sssp` of Graph500's reference code, to be run by `mpirun`
    #[arg(long, value_name = "PROGRAM", value_parser = file)]
    pub(crate) graph500_reference: Option<PathBuf>,
}

impl FiguresArguments {
    pub(crate) fn wants(&self, figure: u8) -> bool {
        self.only.is_empty() || self.only.contains(&figure)
    }

    pub(crate) fn effort(&self) -> Effort {
        match (self.quick, self.full) {
            (true, _) => Effort::QUICK,
            (_, true) => Effort::FULL,
            _ => Effort::USUAL,
        }
    }
}

/// A file that is there: it is needed only when all is measured.
fn file(path: &str) -> Result<PathBuf, String> {
    if Path::new(path).is_file() { Ok(path.into()) } else { Err("there is no such file".to_owned()) }
}

/// A folder, or nothing yet.
fn folder(path: &str) -> Result<PathBuf, String> {
    match Path::new(path).metadata() {
        Ok(found) if !found.is_dir() => Err("it is a file, not a folder".to_owned()),
        _ => Ok(path.into()),
    }
}

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    pub(crate) name: &'static str,
    /// Rounds over all measurements of a group of figures.
    pub(crate) rounds: usize,
    /// How long one small measurement takes.
    pub(crate) time: Duration,
    /// How many attempts a measurement has if other programs disturb it.
    pub(crate) attempts: usize,
    /// How long to wait for other programs before each measurement.
    pub(crate) patience: Duration,
    /// Workers, and nodes.
    pub(crate) workers: &'static [usize],
    /// Graphs have two to the power of this many vertices,
    pub(crate) scales: &'static [u32],
    /// and two to the power of this many in figures about something else.
    pub(crate) scale: u32,
    /// Vertices that are searched from.
    pub(crate) roots: usize,
    /// Whether to make a virtual machine with RDMA, for which packages are downloaded at first.
    pub(crate) in_virtual_machine: bool,
}

impl Effort {
    pub(super) const QUICK: Self = Self {
        name: "quick",
        rounds: 1,
        time: Duration::from_millis(40),
        attempts: 1,
        patience: Duration::ZERO,
        workers: &[1, 2, 4],
        scales: &[10, 12, 14],
        scale: 12,
        roots: 2,
        in_virtual_machine: false,
    };
    const USUAL: Self = Self {
        name: "usual",
        rounds: 3,
        time: Duration::from_millis(150),
        attempts: 2,
        patience: Duration::from_secs(1),
        workers: &[1, 2, 4, 8],
        scales: &[12, 14, 16],
        scale: 15,
        roots: 4,
        in_virtual_machine: true,
    };
    const FULL: Self = Self {
        name: "full",
        rounds: 7,
        time: Duration::from_secs(1),
        attempts: 4,
        patience: Duration::from_secs(10),
        workers: &[1, 2, 4, 8],
        scales: &[12, 14, 16, 18, 20],
        scale: 18,
        roots: 16,
        in_virtual_machine: true,
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        _figures: FiguresArguments,
    }

    #[test]
    fn files_that_are_not_there_are_refused_before_anything_is_built_or_measured() {
        let parsed = |option: &str, path: &str| Line::try_parse_from(["figures", option, path]);
        for option in ["--graph500-reference", "--page"] {
            let text = parsed(option, "/no/such/file").unwrap_err().to_string();
            assert!(text.contains("there is no such file"), "{text}");
            assert!(parsed(option, file!().strip_prefix("xtask/").unwrap()).is_ok());
        }
        assert!(parsed("--out", "/dev/null").unwrap_err().to_string().contains("not a folder"));
        assert!(parsed("--out", "/no/such/folder").is_ok());
    }
}
