//! Figures 7 to 9: searches of graphs, by `graph500`, beside plain threads on the same graphs and the reference code of Graph500.

use super::arguments::Effort;
use super::catalogue::{BFS, BUSY, MEMORY, MESSAGES, PHASES, SSSP, UPDATES};
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
/// The searches of figure 9, and their validation.
const BREADTH_FIRST: [&str; 2] = ["breadth-first search", "validation of a breadth-first search"];
const SHORTEST_PATHS: [&str; 2] = ["shortest paths", "validation of shortest paths"];

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

    /// Whether it would validate each search.
    fn validates(self) -> bool {
        matches!(self, Self::Workers | Self::Nodes | Self::NodesOverTcp)
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
        let search = move |count, scale| {
            let program = program(programs, reference, kind, (count, scale), &effort);
            // As the others do: it would leave the caches cold for the next search.
            if kind.validates() { program.arguments(["--skip-validation"]) } else { program }
        };
        for count in effort.workers.iter().filter(|count| kind.is_for_count(**count)) {
            let name = format!("{}: {count}, scale {}", kind.name(), effort.scale);
            jobs.push(Job::new(name, &[7], move || {
                let found = Found::new(&search(*count, effort.scale).output(interruption)?);
                found.searches(7, kind, &count.to_string(), *count as f64)
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
    for count in effort.workers {
        let name = format!("graph500 with validation, nodes of one worker: {count}, scale {}", effort.scale);
        jobs.push(Job::new(name, &[9], move || {
            let search = program(programs, reference, Kind::Nodes, (*count, effort.scale), &effort);
            Found::new(&search.output(interruption)?).breakdown(*count)
        }));
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

/// The number in front of these words.
fn number_before(words: &str, text: &str) -> Option<f64> {
    text.split_once(words)?.0.rsplit(' ').next()?.parse().ok()
}

/// What a line says of phases, each behind its name in the figure.
fn phases_of(line: &str) -> Vec<(&'static str, &str)> {
    let searches = [("bfs ", BREADTH_FIRST), ("sssp ", SHORTEST_PATHS)];
    if let Some((_, [search, validation])) = searches.iter().find(|(word, _)| line.starts_with(word)) {
        let of_search =
            line.split_once("; validation: ").map_or([line, ""], |(first, second)| [first, second]);
        return vec![(*search, of_search[0]), (*validation, of_search[1])];
    }
    let named = [("generation: ", "generation"), ("construction: ", "construction")];
    named.iter().filter_map(|(word, name)| Some((*name, line.strip_prefix(word)?))).collect()
}

/// The output: the specification's output block, and what the lines before it say of each phase.
struct Found {
    block: BTreeMap<String, f64>,
    phases: Vec<(&'static str, String)>,
}

impl Found {
    fn new(text: &str) -> Self {
        let lines = || text.lines().map(|line| line.strip_prefix("[node 0] ").unwrap_or(line));
        let entry = |line: &str| {
            let (name, value) = line.split_once(':')?;
            let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
            Some((name, value.trim().parse().ok()?))
        };
        let phases = lines().flat_map(phases_of).map(|(name, text)| (name, text.to_owned()));
        Self { block: lines().filter_map(entry).collect(), phases: phases.collect() }
    }

    /// The mean of the numbers before these words, over all that is said of a phase.
    fn mean_before(&self, words: &str, phase: &str) -> Option<f64> {
        let of_phase = self.phases.iter().filter(|(name, _)| *name == phase);
        let all: Vec<f64> = of_phase.filter_map(|(_, text)| number_before(words, text)).collect();
        (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
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
        let mut readings = Vec::new();
        for (phase, name) in [
            ("generation", "graph_generation"),
            ("construction", "construction_time"),
            (BREADTH_FIRST[0], "bfs mean_time"),
            (BREADTH_FIRST[1], "bfs mean_validate"),
            (SHORTEST_PATHS[0], "sssp mean_time"),
            (SHORTEST_PATHS[1], "sssp mean_validate"),
        ] {
            let series = format!("graph500, {phase}");
            readings.push(reading(9, PHASES, &series, &label, x, self.figure(name)?));
            for (panel, words) in [(UPDATES, " updates"), (MESSAGES, " messages"), (BUSY, " % busy")] {
                let mean = self.mean_before(words, phase);
                readings.extend(mean.map(|mean| reading(9, panel, &series, &label, x, mean)));
            }
        }
        Ok(readings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "[node 0] generation: 0.5 s, 6 requests in 5 messages, 0.000 MB, workers 99 % busy\n\
        [node 0] construction: 0.25 s, 31 requests in 27 messages, 0.5 MB, workers 80 % busy\n\
        [node 0] bfs 0: from vertex 798: 0.002246 s, 39 requests in 38 messages, 0.003 MB, workers 33 % busy; 4 rounds, 1608 updates, 16384 edges, 7.29 MTEPS; validation: 0.003457 s, 65 requests in 63 messages, 0.005 MB, workers 38 % busy\n\
        [node 0] bfs 1: from vertex 7: 0.002246 s, 43 requests in 40 messages, 0.003 MB, workers 35 % busy; 4 rounds, 1610 updates, 16384 edges, 7.29 MTEPS; validation: 0.003457 s, 65 requests in 65 messages, 0.005 MB, workers 40 % busy\n\
        [node 0] sssp 0: from vertex 798: 0.009732 s, 314 requests in 312 messages, 0.024 MB, workers 26 % busy; 24 rounds, 7211 updates, 16384 edges, 1.68 MTEPS\n\
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
        let y = |panel| -> Vec<f64> {
            breakdown.iter().filter(|point| point.panel == panel).map(|point| point.y).collect()
        };
        assert_eq!(y(PHASES), [0.5, 0.25, 0.003, 0.004, 0.01, 0.005]);
        assert_eq!(y(UPDATES), [1609.0, 7211.0]);
        assert_eq!(y(MESSAGES), [5.0, 27.0, 39.0, 64.0, 312.0]);
        assert_eq!(y(BUSY), [99.0, 80.0, 34.0, 39.0, 26.0]);
        assert!(Found::new("").searches(7, Kind::Nodes, "4", 4.0).is_err());
    }
}
