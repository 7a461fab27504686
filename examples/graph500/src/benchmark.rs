//! The benchmark from its start to its report.

use crate::agreement::{self, List, Wrong};
use crate::construct::{self, construct};
use crate::cost::{Cost, measured};
use crate::edges::{self, Edge, Edges};
use crate::files::{self, FileError, Graph};
use crate::keys::search_keys;
use crate::kronecker::Kronecker;
use crate::memory::{Left, Shortage, Stage};
use crate::options::{Kernel, Options};
use crate::path::Path;
use crate::progress::Progress;
use crate::report::{Report, Search, Searches};
use crate::row::Row;
use crate::search::{self, Effort};
use crate::validate::{self, Violation};
use gossamer::collections::DistVec;
use gossamer::rack;
use std::fmt;

/// Why there is no result, or no valid one.
#[derive(Debug)]
pub enum Failure {
    File(FileError),
    /// The graph is too large.
    Memory(Shortage),
    /// With this weight a path may be longer than any number for it.
    TooLong(f32),
    /// The graph has no edges except loops.
    NothingToSearch,
    /// The rows are not those of the edges.
    Rows(Wrong),
    /// How many searches broke a rule of the specification; each was told.
    Invalid(usize),
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

impl From<Shortage> for Failure {
    fn from(shortage: Shortage) -> Self {
        Self::Memory(shortage)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::Memory(shortage) => shortage.fmt(f),
            Self::TooLong(weight) => write!(
                f,
                "paths of edges as long as {weight:e} may be longer than a single-precision number can be: scale the weights down, or search with --kernel bfs"
            ),
            Self::NothingToSearch => {
                f.write_str("the graph has no edges besides loops: there is nothing to search")
            }
            Self::Rows(Wrong { count, vertex }) => write!(
                f,
                "the rows of {count} vertices do not have the edges of the list, the first that of vertex {vertex}: no result"
            ),
            Self::Invalid(count) => write!(f, "{count} searches are not valid: no result"),
        }
    }
}

/// The first fiber. Returns what is to be printed at the end.
pub fn run(options: &Options) -> Result<Report, Failure> {
    let progress = Progress::new();
    let report = Benchmark::prepare(options, &progress).and_then(|benchmark| benchmark.searches());
    progress.finish();
    report
}

/// The edges, as they were generated or read.
struct Input {
    edges: Edges,
    vertices: usize,
    count: u64,
    greatest_weight: f32,
    scale: u32,
    /// How to make the edges again.
    graph: Option<Kronecker>,
}

impl Input {
    fn generated(graph: Kronecker, progress: &Progress) -> Result<Self, Failure> {
        Left::on_all_nodes().check(graph.vertices(), graph.edges(), Stage::Generation)?;
        progress.begin("generation".to_owned(), graph.edges());
        Ok(Self {
            edges: graph.generate(progress),
            vertices: graph.vertices(),
            count: graph.edges(),
            greatest_weight: 1.0,
            scale: graph.scale,
            graph: Some(graph),
        })
    }

    fn read(path: std::path::PathBuf, progress: &Progress) -> Result<Self, Failure> {
        progress.begin("reading".to_owned(), 0);
        let left = Left::on_all_nodes();
        let Graph { vertices, edges } =
            gossamer::unblock(move || files::read(&path, left.room(Stage::Reading)))?;
        // Once more, since others may have taken some meanwhile.
        Left::on_all_nodes().check(vertices, edges.len() as u64, Stage::Construction)?;
        let greatest = |greatest: f32, edge: &Edge| greatest.max(edge.weight);
        Ok(Self {
            edges: edges::distribute(&edges),
            vertices,
            count: edges.len() as u64,
            greatest_weight: edges.iter().fold(0.0, greatest),
            scale: vertices.max(1).next_power_of_two().ilog2(),
            graph: None,
        })
    }

    /// The longest that a path without a circle could be.
    fn longest_path(&self) -> f64 {
        f64::from(self.greatest_weight) * (self.vertices.saturating_sub(1) as f64).min(self.count as f64)
    }

    /// Wide enough that some vertices of a bucket follow from others in it, but not most: 0.075 for the generator's
    /// graphs.
    fn delta(&self) -> f32 {
        let ends = (2.0 * self.count as f32 / self.vertices.max(1) as f32).max(1.0);
        let delta = 2.4 * self.greatest_weight / ends;
        // Without any lengths one bucket will do.
        if delta > 0.0 { delta } else { 1.0 }
    }
}

/// What to search, and how.
struct Benchmark<'a> {
    options: &'a Options,
    progress: &'a Progress,
    rows: DistVec<Row>,
    keys: Vec<u32>,
    delta: f32,
    /// Everything but the searches.
    report: Report,
}

impl<'a> Benchmark<'a> {
    fn prepare(options: &'a Options, progress: &'a Progress) -> Result<Self, Failure> {
        let (input, generation) = measured(|| match &options.file {
            Some(path) => Input::read(path.clone(), progress),
            None => {
                let Options { scale, edgefactor, seed, .. } = *options;
                Input::generated(Kronecker { scale, edgefactor, seed }, progress)
            }
        });
        let input = input?;
        if options.kernel != Kernel::Bfs && input.longest_path() > f64::from(f32::MAX) {
            return Err(Failure::TooLong(input.greatest_weight));
        }
        progress.begin("construction".to_owned(), construct::PASSES * input.count);
        let delta = options.delta.unwrap_or(input.delta());
        let stays = input.graph.is_none() && !options.skip_validation;
        let (rows, construction) =
            measured(|| construct(&input.edges, input.vertices, delta, stays, progress));
        let keys = search_keys(&rows, options.roots as usize, options.seed);
        if keys.is_empty() {
            return Err(Failure::NothingToSearch);
        }
        let nodes = rack::nodes();
        let workers: usize = nodes.iter().map(|node| node.workers().len()).sum();
        let (vertices, edges) = (input.vertices, input.count);
        progress.print(format!(
            "vertices: {vertices}, edges: {edges}, workers: {workers}, nodes: {}",
            nodes.len()
        ));
        progress
            .print(format!("{}: {generation}", if input.graph.is_some() { "generation" } else { "reading" }));
        progress.print(format!("construction: {construction}"));
        if !options.skip_validation {
            progress.begin("rows".to_owned(), edges);
            let list = input.graph.map_or(List::Kept(input.edges), List::Generated);
            let (agreement, cost) = measured(|| agreement::check(&list, &rows, progress));
            agreement.map_err(Failure::Rows)?;
            progress.print(format!("the rows have the edges of the list, and no others: {cost}"));
        }
        let report = Report {
            scale: input.scale,
            edgefactor: (input.count as f64 / input.vertices as f64).round() as u64,
            keys: keys.len(),
            generation: generation.seconds,
            processes: nodes.len(),
            construction: construction.seconds,
            kernels: Vec::new(),
        };
        Ok(Self { options, progress, rows, keys, delta, report })
    }

    fn searches(mut self) -> Result<Report, Failure> {
        let mut invalid = 0;
        for (kernel, name) in [(Kernel::Bfs, "bfs"), (Kernel::Sssp, "sssp")] {
            if self.options.kernel != kernel && self.options.kernel != Kernel::Both {
                continue;
            }
            self.progress.begin(name.to_owned(), self.keys.len() as u64);
            let mut searches = Vec::new();
            for (number, key) in self.keys.iter().enumerate() {
                let searched = match kernel {
                    Kernel::Bfs => self.breadth_first(*key),
                    _ => self.shortest_paths(*key),
                };
                self.progress.advance(1);
                self.progress.print(searched.line(name, number, *key));
                for violation in &searched.violations {
                    eprintln!("graph500: {name} {number}, from vertex {key}: {violation}");
                }
                invalid += usize::from(!searched.violations.is_empty());
                searches.push(searched.reported());
            }
            self.report.kernels.push(Searches { kernel: name, searches });
        }
        if invalid > 0 { Err(Failure::Invalid(invalid)) } else { Ok(self.report) }
    }

    fn breadth_first(&self, key: u32) -> Searched {
        let ((parents, effort), cost) = measured(|| search::breadth_first(&self.rows, key));
        let validate = || validate::breadth_first(&self.rows, &parents, key);
        self.judged(cost, effort, &parents, validate)
    }

    fn shortest_paths(&self, key: u32) -> Searched {
        let ((paths, effort), cost) = measured(|| search::shortest_paths(&self.rows, key, self.delta));
        let parents = paths.par_map(const { |_, path: &Path| path.parent() });
        let validate = || validate::shortest_paths(&self.rows, &paths, key);
        self.judged(cost, effort, &parents, validate)
    }

    fn judged(
        &self,
        cost: Cost,
        effort: Effort,
        parents: &DistVec<u32>,
        validate: impl FnOnce() -> Vec<Violation>,
    ) -> Searched {
        let edges = search::traversed_edges(&self.rows, parents);
        let validated = (!self.options.skip_validation).then(|| measured(validate));
        let (violations, validation) = validated.unzip();
        Searched { cost, effort, edges, validation, violations: violations.unwrap_or_default() }
    }
}

/// A search, and what its validation found.
struct Searched {
    cost: Cost,
    effort: Effort,
    edges: u64,
    validation: Option<Cost>,
    violations: Vec<Violation>,
}

impl Searched {
    fn reported(&self) -> Search {
        let Self { cost, edges, validation, .. } = self;
        Search { seconds: cost.seconds, edges: *edges, validated: validation.map(|cost| cost.seconds) }
    }

    fn line(&self, name: &str, number: usize, key: u32) -> String {
        let Self { cost, effort: Effort { rounds, updates }, edges, validation, .. } = self;
        let rate = *edges as f64 / cost.seconds / 1e6;
        let validation = validation.map_or_else(String::new, |cost| format!("; validation: {cost}"));
        format!(
            "{name} {number}: from vertex {key}: {cost}; {rounds} rounds, {updates} updates, {edges} edges, {rate:.2} MTEPS{validation}"
        )
    }
}
