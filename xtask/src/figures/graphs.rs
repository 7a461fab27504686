//! Figures 7 to 9: searches of graphs, by `graph500`, beside plain threads on the same graphs and the reference code of Graph500.

use super::arguments::Effort;
use super::catalogue::{BFS, MEMORY, PHASES, SSSP, UPDATES};
use super::child::{Program, is_installed};
use super::programs::Programs;
use super::rounds::{Job, Reading, Rounds};
use crate::failure::{Failure, Result};
use std::collections::BTreeMap;
use std::path::Path;
use std::thread::available_parallelism;

const ALL: [u8; 3] = [7, 8, 9];
/// petgraph searches no larger ones: it would take longer than all others together.
const MOST_OF_PETGRAPH: u32 = 18;
const REFERENCE: &str = "reference code with MPI";

/// How a graph is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// In a single process.
    Workers,
    /// With a process for each worker, over shared memory and over TCP.
    Nodes,
    NodesOverTcp,
    /// By plain threads, without a library.
    Threads,
    Petgraph,
    Reference,
}

impl Kind {
    const ALL: [Self; 6] =
        [Self::Workers, Self::Nodes, Self::NodesOverTcp, Self::Threads, Self::Petgraph, Self::Reference];

    fn name(self) -> &'static str {
        match self {
            Self::Workers => "graph500, workers of one process",
            Self::Nodes => "graph500, nodes of one worker",
            Self::NodesOverTcp => "graph500, nodes of one worker, TCP",
            Self::Threads => "plain threads",
            Self::Petgraph => "petgraph, one thread",
            Self::Reference => REFERENCE,
        }
    }

    /// Whether it can search with so many threads of whatever kind.
    fn is_for_count(self, count: usize) -> bool {
        self != Self::Petgraph || count == 1
    }

    /// Whether its searches of graphs of this scale are shown.
    fn is_for_scale(self, scale: u32) -> bool {
        match self {
            Self::NodesOverTcp => false,
            Self::Petgraph => scale <= MOST_OF_PETGRAPH,
            _ => true,
        }
    }
}

/// Makes those of the measurements that are wanted.
///
/// # Errors
/// A recording cannot be written.
pub(super) fn measure(rounds: &mut Rounds<'_>, programs: &Programs, reference: Option<&Path>) -> Result<()> {
    if !rounds.want(&ALL) {
        return Ok(());
    }
    let why = match reference {
        None => Some("its program is not given (--graph500-reference)"),
        Some(_) if !is_installed("mpirun") => Some("mpirun is not installed"),
        Some(_) => None,
    };
    if let Some(why) = why {
        rounds.miss(&[7, 8], REFERENCE, why);
    }
    let reference = reference.filter(|_| why.is_none());
    let (effort, interruption) = (rounds.effort, rounds.interruption);
    let mut jobs = Vec::new();
    for kind in Kind::ALL {
        if kind == Kind::Reference && reference.is_none() {
            continue;
        }
        let search = move |count, scale| program(programs, reference, kind, (count, scale), &effort);
        for count in effort.workers.iter().filter(|count| kind.is_for_count(**count)) {
            let name = format!("{}: {count}, scale {}", kind.name(), effort.scale);
            let figures: &[u8] = if kind == Kind::Nodes { &[7, 9] } else { &[7] };
            jobs.push(Job::new(name, figures, move || {
                let found = Found::new(&search(*count, effort.scale).output(interruption)?);
                let mut readings = found.searches(7, kind, &count.to_string(), *count as f64)?;
                if kind == Kind::Nodes {
                    readings.extend(found.breakdown(*count)?);
                }
                Ok(readings)
            }));
        }
        for scale in effort.scales.iter().filter(|scale| kind.is_for_scale(**scale)) {
            let name = format!("{}: 2, scale {scale}", kind.name());
            jobs.push(Job::new(name, &[8], move || {
                let (text, memory) = search(2, *scale).output_and_memory(interruption)?;
                let (label, vertices) = (format!("2^{scale}"), f64::from(1 << scale));
                let mut readings = Found::new(&text).searches(8, kind, &label, vertices)?;
                if let Some(bytes) = memory {
                    readings.push(reading(8, MEMORY, kind.name(), &label, vertices, bytes as f64 / 1e6));
                }
                Ok(readings)
            }));
        }
    }
    rounds.run(jobs)
}

/// The time limit of a program that searches for minutes at large scales.
fn seconds(effort: &str) -> u64 {
    match effort {
        "quick" => 30,
        "full" => 3600,
        _ => 300,
    }
}

/// The programs that search a graph of this scale, with this many workers, nodes, threads or ranks.
fn program(
    programs: &Programs,
    reference: Option<&Path>,
    kind: Kind,
    (count, scale): (usize, u32),
    effort: &Effort,
) -> Program {
    let words = |list: &[(&str, usize)]| -> Vec<String> {
        list.iter().flat_map(|(name, value)| [(*name).to_owned(), value.to_string()]).collect()
    };
    let seconds = seconds(effort.name);
    let searches = words(&[("--scale", scale as usize), ("--roots", effort.roots)]);
    // If there are more of them than processors, they take turns.
    let is_pinned = available_parallelism().is_ok_and(|processors| processors.get() >= count);
    let ours = |program: Program, workers: usize| {
        program.variable("GOSSAMER_THREADS", workers).variable("GOSSAMER_PIN", u8::from(is_pinned))
    };
    match (kind, reference) {
        (Kind::Threads, _) => Program::new(&programs.graph500_plain, seconds)
            .arguments(searches)
            .arguments(words(&[("--threads", count)])),
        (Kind::Petgraph, _) => Program::new(&programs.graph500_petgraph, seconds).arguments(searches),
        (Kind::Reference, Some(reference)) => Program::new("mpirun", seconds)
            .arguments(["--allow-run-as-root", "--oversubscribe"])
            .arguments(words(&[("-np", count)]))
            .arguments([reference])
            .arguments([scale.to_string()])
            .variable("SKIP_VALIDATION", 1),
        (Kind::Nodes | Kind::NodesOverTcp, _) => {
            let fabric = if kind == Kind::Nodes { "shm" } else { "tcp" };
            let program = Program::new(&programs.gossamer, seconds)
                .arguments(["run", "--local", &count.to_string(), "--"])
                .arguments([&programs.graph500])
                .arguments(searches);
            ours(program, 1).variable("GOSSAMER_FABRIC", fabric)
        }
        (Kind::Workers | Kind::Reference, _) => {
            ours(Program::new(&programs.graph500, seconds).arguments(searches), count)
        }
    }
}

fn reading(figure: u8, panel: usize, series: &str, label: &str, x: f64, y: f64) -> Reading {
    Reading { figure, panel, series: series.to_owned(), label: label.to_owned(), x, y }
}

/// The output: the specification's output block, and how many updates the searches sent.
struct Found {
    block: BTreeMap<String, f64>,
    updates: BTreeMap<&'static str, f64>,
}

impl Found {
    fn new(text: &str) -> Self {
        let lines = || text.lines().map(|line| line.strip_prefix("[node 0] ").unwrap_or(line));
        let entry = |line: &str| {
            let (name, value) = line.split_once(':')?;
            let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
            Some((name, value.trim().parse().ok()?))
        };
        let updates = ["bfs", "sssp"].map(|kernel| {
            let of = |line: &str| -> Option<f64> {
                let count = line.strip_prefix(kernel)?.split(" updates").next()?.rsplit(", ").next()?;
                count.parse().ok()
            };
            let all: Vec<f64> = lines().filter(|line| line.contains(" updates,")).filter_map(of).collect();
            (kernel, all.iter().sum::<f64>() / all.len().max(1) as f64)
        });
        Self { block: lines().filter_map(entry).collect(), updates: updates.into() }
    }

    fn figure(&self, name: &str) -> Result<f64> {
        self.block.get(name).copied().ok_or_else(|| Failure::new(format!("no {name} was printed")))
    }

    fn searches(&self, figure: u8, kind: Kind, label: &str, x: f64) -> Result<Vec<Reading>> {
        let of = |panel, name| Ok(reading(figure, panel, kind.name(), label, x, self.figure(name)?));
        Ok(vec![of(SSSP, "sssp median_time")?, of(BFS, "bfs median_time")?])
    }

    fn breakdown(&self, nodes: usize) -> Result<Vec<Reading>> {
        let (label, x) = (nodes.to_string(), nodes as f64);
        let phases = [
            ("generation", "graph_generation"),
            ("construction", "construction_time"),
            ("breadth-first search", "bfs mean_time"),
            ("validation of a breadth-first search", "bfs mean_validate"),
            ("shortest paths", "sssp mean_time"),
            ("validation of shortest paths", "sssp mean_validate"),
        ];
        let phase = |(series, name): (&str, &str)| {
            Ok(reading(9, PHASES, &format!("graph500, {series}"), &label, x, self.figure(name)?))
        };
        let mut readings: Vec<Reading> = phases.into_iter().map(phase).collect::<Result<_>>()?;
        for (kernel, series) in
            [("bfs", "graph500, breadth-first search"), ("sssp", "graph500, shortest paths")]
        {
            let updates = self.updates.get(kernel).copied().unwrap_or(0.0);
            readings.push(reading(9, UPDATES, series, &label, x, updates));
        }
        Ok(readings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "[node 0] bfs 0: from vertex 798: 0.002246 s, 4 rounds, 1608 updates, 16384 edges, 7.29 MTEPS; validated in 0.003457 s\n\
        [node 0] bfs 1: from vertex 7: 0.002246 s, 4 rounds, 1610 updates, 16384 edges, 7.29 MTEPS; validated in 0.003457 s\n\
        [node 0] sssp 0: from vertex 798: 0.009732 s, 24 rounds, 7211 updates, 16384 edges, 1.68 MTEPS; validated in 0.006432 s\n\
        [node 0] graph_generation:               0.5\n[node 0] construction_time:              0.25\n\
        [node 0] bfs  median_time:               0.002\n[node 0] sssp median_time:               0.009\n\
        [node 0] bfs  mean_time:                 0.003\n[node 0] sssp mean_time:                 0.01\n\
        [node 0] bfs  mean_validate:             0.004\n[node 0] sssp mean_validate:             5e-03\n";

    #[test]
    fn an_output_block_becomes_points() {
        let found = Found::new(PRINTED);
        let searches = found.searches(7, Kind::Nodes, "4", 4.0).unwrap();
        let points: Vec<_> = searches.iter().map(|point| (point.panel, point.x, point.y)).collect();
        assert_eq!(points, [(SSSP, 4.0, 0.009), (BFS, 4.0, 0.002)]);
        let breakdown = found.breakdown(4).unwrap();
        let y: Vec<f64> = breakdown.iter().map(|point| point.y).collect();
        assert_eq!(y, [0.5, 0.25, 0.003, 0.004, 0.01, 0.005, 1609.0, 7211.0]);
        assert!(Found::new("").searches(7, Kind::Nodes, "4", 4.0).is_err());
    }
}
