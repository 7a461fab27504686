//! Figures 4 to 6: small requests between two processes, by `rpc_bench`, beside other ways to carry requests, by
//! `table` of the benches.

use super::catalogue::{SHARED_MEMORY, TCP};
use super::child::{Program, is_installed};
use super::programs::Programs;
use super::rounds::{Job, Reading, Rounds};
use crate::failure::{Failure, Result};
use serde_json::Value;
use std::path::Path;

const ALL: [u8; 3] = [4, 5, 6];
/// In figures where others take part: they are measured with one thread in each process.
const WITH_OTHERS: [u8; 2] = [4, 5];

const FIBERS: [usize; 5] = [1, 4, 16, 64, 256];
const BATCHES: [usize; 3] = [1, 8, 64];
const BYTES: [usize; 3] = [8, 64, 1024];
/// In hundredths of the rate that 256 fibers reach.
const LOADS: [usize; 6] = [10, 30, 50, 70, 90, 100];

const FABRICS: [(usize, &str); 2] = [(SHARED_MEMORY, "shm"), (TCP, "tcp")];

/// Others: their names, in the catalogue of the benches, the tables they are in, and the program they need.
const OTHERS: [(&str, &str, &[&str], Option<&str>); 6] = [
    ("a bare connection, spinning", "bare connection, spinning, 32 bytes", &["tcp"], None),
    ("a bare connection, blocking", "bare connection, blocking in epoll, 32 bytes", &["tcp"], None),
    ("tarpc", "tarpc, 32 bytes", &["tcp"], None),
    ("tonic", "tonic, unary, 32 bytes", &["tcp"], None),
    ("Open MPI", "Open MPI, 32 bytes", &["shm", "tcp"], Some("mpicc")),
    ("UCX", "UCX active messages, 32 bytes", &["shm", "tcp"], Some("ucx_perftest")),
];
/// Requests in flight, with the tables that have so many. UCX's tool sends one way if there is more than one.
const IN_FLIGHT: [(usize, &str); 3] = [(1, "apply"), (64, "fibers-64"), (1024, "fibers-1024")];

const SECONDS: u64 = 120;

/// Makes those of the measurements that are wanted.
///
/// # Errors
/// A recording cannot be written.
pub(super) fn measure(rounds: &mut Rounds<'_>, programs: &Programs) -> Result<()> {
    if !rounds.want(&ALL) {
        return Ok(());
    }
    let interruption = rounds.interruption;
    let time = rounds.effort.time.as_millis().to_string();
    let run = move |arguments: &[String], fabric: &str, workers: usize| {
        let program = Program::new(&programs.gossamer, SECONDS)
            .arguments(["run", "--local", "2", "--"])
            .arguments([&programs.rpc_bench])
            .arguments(["--json", "--millis", &time])
            .arguments(arguments);
        let program = program.variable("GOSSAMER_FABRIC", fabric).variable("GOSSAMER_THREADS", workers);
        // If there are more workers than processors, they take turns.
        let program = program.variable("GOSSAMER_PIN", u8::from(workers == 1));
        program.output(interruption).and_then(|text| rows(&text))
    };
    let run = &run;
    let mut jobs = Vec::new();
    for (panel, fabric) in FABRICS {
        jobs.push(Job::new(format!("rpc_bench over {fabric}, closed loops"), &[4], move || {
            let arguments = ["--fibers", &list(&FIBERS), "--batch", &list(&BATCHES), "--rate", "1000"];
            Ok(run(&arguments.map(str::to_owned), fabric, 1)?
                .iter()
                .filter_map(|row| closed(panel, row))
                .collect())
        }));
        for (figure, workers) in [(5, 1), (6, 2)] {
            let name = format!("rpc_bench over {fabric}, open loops, workers: {workers}");
            jobs.push(Job::new(name, &[figure], move || {
                let arguments = ["--fibers", "256", "--bytes", &list(&BYTES), "--load", &list(&LOADS)];
                Ok(open(figure, panel, &run(&arguments.map(str::to_owned), fabric, workers)?))
            }));
        }
    }
    if rounds.want(&WITH_OTHERS) {
        jobs.extend(others(rounds, &programs.table));
    }
    rounds.run(jobs)
}

fn list(numbers: &[usize]) -> String {
    numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

/// The objects that `rpc_bench` prints, after the name of a node.
fn rows(text: &str) -> Result<Vec<Value>> {
    let objects = text.lines().filter_map(|line| line.find('{').map(|start| &line[start..]));
    let rows: std::result::Result<Vec<Value>, _> = objects.map(serde_json::from_str).collect();
    rows.map_err(|error| Failure::new(format!("rpc_bench has printed no objects: {error}")))
}

fn number(row: &Value, name: &str) -> f64 {
    row[name].as_f64().unwrap_or(f64::NAN)
}

fn closed(panel: usize, row: &Value) -> Option<Reading> {
    let fibers = row["fibers"].as_u64()?;
    let series = match row["batch"].as_u64()? {
        1 => "gossamer, one request at once".to_owned(),
        batch => format!("gossamer, {batch} requests at once"),
    };
    let (x, y) = (number(row, "requests_per_second"), number(row, "median_us"));
    let label = if fibers == 1 { "1 fiber".to_owned() } else { format!("{fibers} fibers") };
    Some(Reading { figure: 4, panel, series, label, x, y })
}

/// The rows of open loops come in order of their loads.
fn open(figure: u8, panel: usize, rows: &[Value]) -> Vec<Reading> {
    let mut readings = Vec::new();
    for bytes in BYTES {
        let of_it = rows.iter().filter(|row| row["loop"] == "open" && row["bytes"] == bytes);
        for (row, load) in of_it.zip(LOADS) {
            let mut add = |kind: &str, name: &str| {
                let (series, label) = (format!("gossamer, {bytes} bytes, {kind}"), format!("{load} %"));
                let (x, y) = (number(row, "requests_per_second"), number(row, name));
                readings.push(Reading { figure, panel, series, label, x, y });
            };
            add("median", "median_us");
            if bytes == BYTES[0] {
                add("99th percentile", "p99_us");
            }
        }
    }
    readings
}

fn others<'a>(rounds: &mut Rounds<'a>, table: &Path) -> Vec<Job<'a>> {
    let (interruption, time) = (rounds.interruption, rounds.effort.time.as_millis().to_string());
    let mut jobs = Vec::new();
    for (name, contender, fabrics, needs) in OTHERS {
        if let Some(program) = needs.filter(|program| !is_installed(program)) {
            rounds.miss(&WITH_OTHERS, name, &format!("{program} is not installed"));
            continue;
        }
        for (panel, fabric) in FABRICS.into_iter().filter(|(_, fabric)| fabrics.contains(fabric)) {
            let depths = if name == "UCX" { &IN_FLIGHT[..1] } else { &IN_FLIGHT[..] };
            for (depth, kind) in depths.iter().copied() {
                let program = contender_of(table, &format!("{fabric}-{kind}"), contender, &time);
                jobs.push(Job::new(
                    format!("{name} over {fabric}, in flight: {depth}"),
                    &WITH_OTHERS,
                    move || {
                        let (x, y) = rate_and_latency(&program.output(interruption)?, depth)?;
                        let (series, label) = (name.to_owned(), format!("{depth} in flight"));
                        let reading = |figure| Reading {
                            figure,
                            panel,
                            series: series.clone(),
                            label: label.clone(),
                            x,
                            y,
                        };
                        Ok(WITH_OTHERS.map(reading).to_vec())
                    },
                ));
            }
        }
    }
    jobs
}

fn contender_of(table: &Path, name: &str, contender: &str, time: &str) -> Program {
    Program::new(table, SECONDS).arguments(["--measure", name, contender, time]).variable("RUST_BACKTRACE", 0)
}

/// From the line of a contender: operations, seconds, processor seconds and, if latencies were watched, their median
/// and 99th percentile in nanoseconds. Otherwise the mean follows from how many requests are in flight (Little's law).
fn rate_and_latency(line: &str, in_flight: usize) -> Result<(f64, f64)> {
    let figures: Vec<f64> = line.split_whitespace().map_while(|figure| figure.parse().ok()).collect();
    let [operations, seconds, _, median, _] = figures[..] else {
        return Err(Failure::new(format!("table has printed {line:?}")));
    };
    let rate = operations / seconds;
    Ok((rate, if median.is_nan() { in_flight as f64 / rate * 1e6 } else { median / 1e3 }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_rpc_bench_become_points() {
        let text = "[node 0] {\"loop\":\"closed\",\"fibers\":4,\"batch\":8,\"bytes\":8,\"requests_per_second\":1000.0,\"median_us\":3.5}\n\
                    [node 0] {\"loop\":\"open\",\"bytes\":8,\"requests_per_second\":10.0,\"median_us\":1.5,\"p99_us\":9.5}\n";
        let rows = rows(text).unwrap();
        let point = closed(TCP, &rows[0]).unwrap();
        assert_eq!(
            (point.series.as_str(), point.label.as_str()),
            ("gossamer, 8 requests at once", "4 fibers")
        );
        assert_eq!((point.x, point.y, closed(TCP, &rows[1])), (1000.0, 3.5, None));
        let open: Vec<_> = open(5, TCP, &rows).into_iter().map(|point| (point.label, point.y)).collect();
        assert_eq!(open, [("10 %".to_owned(), 1.5), ("10 %".to_owned(), 9.5)]);
        assert!(super::rows("[node 0] {broken").is_err());
    }

    #[test]
    fn latency_follows_from_the_rate_where_nobody_watched_it() {
        assert_eq!(rate_and_latency("1000 2.0 1.0 NaN NaN\n", 50).unwrap(), (500.0, 100_000.0));
        assert_eq!(rate_and_latency("1000 2.0 1.0 2500 NaN\n", 1).unwrap(), (500.0, 2.5));
        assert!(rate_and_latency("no contender", 1).is_err());
    }
}
