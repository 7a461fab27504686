//! The figures of the thesis, and what their axes show here.

use super::axis::Scale;

/// A figure.
#[derive(Debug)]
pub(super) struct Figure {
    pub(super) number: u8,
    pub(super) title: &'static str,
    /// What a reader should know that the figure itself does not show.
    pub(super) note: &'static str,
    pub(super) panels: &'static [Panel],
}

/// A drawing of a figure. Its axes have a name with the unit.
#[derive(Debug)]
pub(super) struct Panel {
    pub(super) title: &'static str,
    pub(super) x: (&'static str, Scale),
    pub(super) y: (&'static str, Scale),
}

const RATE: (&str, Scale) = ("requests/s", Scale::Ratios);
const LATENCY: (&str, Scale) = ("latency, µs", Scale::Ratios);
const WORKERS: (&str, Scale) = ("workers, nodes, threads or ranks", Scale::Each);
const VERTICES: (&str, Scale) = ("vertices", Scale::Ratios);
const SECONDS: (&str, Scale) = ("seconds", Scale::Ratios);
const PIPELINE: (&str, Scale) = ("requests of a client at once", Scale::Each);
const QUEUE_PAIRS: (&str, Scale) = ("workers of each node", Scale::Each);
const WRITES: (&str, Scale) = ("writes/s", Scale::Linear);

const fn panel(title: &'static str, x: (&'static str, Scale), y: (&'static str, Scale)) -> Panel {
    Panel { title, x, y }
}

const BETWEEN: [Panel; 2] = [panel("shared memory", RATE, LATENCY), panel("TCP on loopback", RATE, LATENCY)];

const DEVICES: [Panel; 2] = [
    panel("a device that is simulated in the process", QUEUE_PAIRS, WRITES),
    panel("RDMA in software, in a virtual machine", QUEUE_PAIRS, WRITES),
];

/// Panels of figures 4, 5 and 6.
pub(super) const SHARED_MEMORY: usize = 0;
pub(super) const TCP: usize = 1;
/// Of figures 7 and 8.
pub(super) const SSSP: usize = 0;
pub(super) const BFS: usize = 1;
/// Of figure 8.
pub(super) const MEMORY: usize = 2;
/// Of figure 9.
pub(super) const PHASES: usize = 0;
pub(super) const UPDATES: usize = 1;
pub(super) const MESSAGES: usize = 2;
pub(super) const BUSY: usize = 3;
/// Of figure 10.
pub(super) const REDIS_BENCHMARK: usize = 0;
pub(super) const OWN_CLIENT: usize = 1;
pub(super) const PROCESSOR_TIME: usize = 2;
pub(super) const MEMTIER_BENCHMARK: usize = 3;
/// Of figures 12 and 13.
pub(super) const SIMULATED: usize = 0;
pub(super) const VIRTUAL_MACHINE: usize = 1;

/// All of them.
pub(super) const FIGURES: [Figure; 10] = [
    Figure {
        number: 4,
        title: "Requests: latency and throughput by batch and fibers",
        note: "Gossamer: 8 bytes captured, 1 to 256 fibers, medians. Others: 32 bytes, 1, 64 and 1024 in flight; the mean, where nobody watched the median. A latency is that of a whole batch.",
        panels: &BETWEEN,
    },
    Figure {
        number: 5,
        title: "Requests under rising load, one worker a process",
        note: "Gossamer: an open loop at 10 to 100 % of what closed loops reach, latency from when a request was due. Others: closed loops, as in figure 4.",
        panels: &BETWEEN,
    },
    Figure {
        number: 6,
        title: "Requests under rising load, two workers a process",
        note: "Four workers in all: where there are fewer processors, they take turns, and the latency is the scheduler's.",
        panels: &BETWEEN,
    },
    Figure {
        number: 7,
        title: "One search by workers and nodes",
        note: "A median of several roots. With more of them than processors, they take turns.",
        panels: &[panel("shortest paths", WORKERS, SECONDS), panel("breadth-first search", WORKERS, SECONDS)],
    },
    Figure {
        number: 8,
        title: "One search by the size of the graph",
        note: "Two workers, nodes, threads or ranks; a median of several roots. Memory is that of all processes together, of runs that took 0.2 s at least; what processes share counts once.",
        panels: &[
            panel("shortest paths", VERTICES, SECONDS),
            panel("breadth-first search", VERTICES, SECONDS),
            panel("memory, at most", VERTICES, ("MB", Scale::Ratios)),
        ],
    },
    Figure {
        number: 9,
        title: "What the time goes to, by nodes of one worker",
        note: "Searches and their validation: the mean of several roots. Updates: what vertices were told in a search. Messages: batches of requests between workers. Work: the share of all workers' time in which they had something to do; nodes that share a processor take turns.",
        panels: &[
            panel("phases", ("nodes", Scale::Each), SECONDS),
            panel("updates of a search", ("nodes", Scale::Each), ("updates", Scale::Linear)),
            panel("messages of a phase", ("nodes", Scale::Each), ("messages", Scale::Ratios)),
            panel("time with work", ("nodes", Scale::Each), ("percent", Scale::Linear)),
        ],
    },
    Figure {
        number: 10,
        title: "GET of 32 bytes, 50 clients, 100,000 keys",
        note: "One server and its client have a processor each; hydra with two workers shares both with the client.",
        panels: &[
            panel("redis-benchmark", PIPELINE, RATE),
            panel("one client for both protocols", PIPELINE, RATE),
            panel("the server's processor time", PIPELINE, ("µs a request", Scale::Ratios)),
            panel("memtier_benchmark", PIPELINE, RATE),
        ],
    },
    Figure {
        number: 11,
        title: "GET of 32 bytes by servers, 100,000 keys",
        note: "48 clients, 16 requests at once. Nodes of hydra are one store; of the others each has its own keys, and clients would have to know which. All share the processors with the client.",
        panels: &[panel(
            "one client for both protocols",
            ("nodes or servers", Scale::Each),
            ("requests/s", Scale::Linear),
        )],
    },
    Figure {
        number: 12,
        title: "Writes of 32 bytes by queue pairs",
        note: "One node writes to another: each worker to each. The simulated device does all work in the caller; it shows the calls, not a network.",
        panels: &DEVICES,
    },
    Figure {
        number: 13,
        title: "Writes of 256 bytes by queue pairs",
        note: "One node writes to another: each worker to each. The simulated device does all work in the caller; it shows the calls, not a network.",
        panels: &DEVICES,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_the_thesis_in_their_order() {
        let numbers: Vec<u8> = FIGURES.iter().map(|figure| figure.number).collect();
        assert_eq!(numbers, (4..=13).collect::<Vec<_>>());
        assert!(FIGURES.iter().all(|figure| !figure.panels.is_empty()));
    }
}
