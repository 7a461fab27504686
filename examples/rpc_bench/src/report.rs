//! The results, as a table or as JSON: each is printed when it is there, so an interruption loses only the next one.

use crate::latency::Latencies;
use gossamer::rack;
use serde_json::json;
use std::io::{self, Write};

/// Prints measurements.
pub struct Report<W> {
    to: W,
    as_json: bool,
    nodes: usize,
    servers: usize,
    clients: usize,
}

/// How requests were sent.
pub enum Kind {
    Closed {
        /// By each client worker.
        fibers: usize,
        batch: usize,
    },
    Open {
        /// Requests a second.
        offered: f64,
        /// Requests that were due and were not sent.
        unsent: u64,
    },
}

/// One measurement; latencies in microseconds, if there are any.
pub struct Row {
    kind: Kind,
    bytes: usize,
    /// Answers a second.
    pub rate: f64,
    median: Option<f64>,
    p99: Option<f64>,
    p999: Option<f64>,
    longest: Option<f64>,
}

impl Row {
    pub fn new(kind: Kind, bytes: usize, rate: f64, latencies: &Latencies) -> Self {
        Self {
            kind,
            bytes,
            rate,
            median: latencies.quantile(0.5),
            p99: latencies.quantile(0.99),
            p999: latencies.quantile(0.999),
            longest: latencies.longest(),
        }
    }
}

fn shown(latency: Option<f64>) -> String {
    latency.map_or_else(|| "-".to_owned(), |latency| format!("{latency:.1}"))
}

/// Who sent how much.
fn load(kind: &Kind) -> String {
    match kind {
        Kind::Closed { fibers, batch } => {
            let fibers = if *fibers == 1 { "1 fiber".to_owned() } else { format!("{fibers} fibers") };
            if *batch == 1 { fibers } else { format!("{fibers}, {batch} at once") }
        }
        Kind::Open { offered, unsent: 0 } => format!("{offered:.0}/s"),
        Kind::Open { offered, unsent } => format!("{offered:.0}/s, {unsent} not sent in time"),
    }
}

impl<W: Write> Report<W> {
    /// Prints what comes before the first measurement.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn begin(mut to: W, as_json: bool, servers: usize, clients: usize) -> io::Result<Self> {
        let nodes = rack::nodes().len();
        if !as_json {
            writeln!(
                to,
                "nodes: {nodes}, servers: {servers}, clients: {clients}; latencies in microseconds\n"
            )?;
            writeln!(to, "| load | bytes | requests/s | median | p99 | p99.9 | longest |")?;
            writeln!(to, "|---|---|---|---|---|---|---|")?;
        }
        Ok(Self { to, as_json, nodes, servers, clients })
    }

    /// # Errors
    /// If it cannot be written.
    pub fn add(&mut self, row: &Row) -> io::Result<()> {
        if self.as_json { self.add_json(row) } else { self.add_to_table(row) }
    }

    fn add_to_table(&mut self, row: &Row) -> io::Result<()> {
        writeln!(
            self.to,
            "| {} | {} | {:.0} | {} | {} | {} | {} |",
            load(&row.kind),
            row.bytes,
            row.rate,
            shown(row.median),
            shown(row.p99),
            shown(row.p999),
            shown(row.longest)
        )
    }

    fn add_json(&mut self, row: &Row) -> io::Result<()> {
        let mut object = json!({
            "nodes": self.nodes, "servers": self.servers, "clients": self.clients, "bytes": row.bytes,
            "requests_per_second": row.rate, "median_us": row.median, "p99_us": row.p99,
            "p999_us": row.p999, "longest_us": row.longest,
        });
        match row.kind {
            Kind::Closed { fibers, batch } => {
                object["loop"] = "closed".into();
                object["fibers"] = fibers.into();
                object["batch"] = batch.into();
            }
            Kind::Open { offered, unsent } => {
                object["loop"] = "open".into();
                object["offered_per_second"] = offered.into();
                object["unsent"] = unsent.into();
            }
        }
        writeln!(self.to, "{object}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_measurement_is_a_row_of_the_table_that_says_how_it_was_made() {
        let kinds = [
            (Kind::Open { offered: 2000.0, unsent: 3 }, "2000/s, 3 not sent in time"),
            (Kind::Open { offered: 2000.0, unsent: 0 }, "2000/s"),
            (Kind::Closed { fibers: 1, batch: 1 }, "1 fiber"),
            (Kind::Closed { fibers: 2, batch: 8 }, "2 fibers, 8 at once"),
        ];
        for (kind, load) in kinds {
            let mut text = Vec::new();
            let mut report = Report { to: &mut text, as_json: false, nodes: 1, servers: 2, clients: 3 };
            report.add(&Row::new(kind, 8, 1500.0, &Latencies::new())).unwrap();
            assert_eq!(String::from_utf8(text).unwrap(), format!("| {load} | 8 | 1500 | - | - | - | - |\n"));
        }
    }
}
