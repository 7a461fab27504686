//! The results, as a table or as JSON.

use crate::latency::Latencies;
use gossamer::{NoRef, rack};
use serde_json::json;
use std::io::{self, Write};

/// All measurements.
#[derive(NoRef)]
pub struct Report {
    nodes: usize,
    servers: usize,
    clients: usize,
    pub rows: Vec<Row>,
}

/// How requests were sent.
#[derive(NoRef)]
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
#[derive(NoRef)]
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

impl Report {
    pub fn new(servers: usize, clients: usize) -> Self {
        Self { nodes: rack::nodes().len(), servers, clients, rows: Vec::new() }
    }

    /// # Errors
    /// If it cannot be written.
    pub fn print(&self, to: &mut impl Write, as_json: bool) -> io::Result<()> {
        if as_json { self.print_json(to) } else { self.print_table(to) }
    }

    fn print_table(&self, to: &mut impl Write) -> io::Result<()> {
        let Self { nodes, servers, clients, .. } = self;
        writeln!(to, "nodes: {nodes}, servers: {servers}, clients: {clients}; latencies in microseconds\n")?;
        writeln!(
            to,
            "| load | bytes | requests/s | median | p99 | p99.9 | longest |\n|---|---|---|---|---|---|---|"
        )?;
        for row in &self.rows {
            let load = match row.kind {
                Kind::Closed { fibers, batch: 1 } => format!("{fibers} fibers"),
                Kind::Closed { fibers, batch } => format!("{fibers} fibers, {batch} at once"),
                Kind::Open { offered, unsent: 0 } => format!("{offered:.0}/s"),
                Kind::Open { offered, unsent } => format!("{offered:.0}/s, {unsent} not sent in time"),
            };
            writeln!(
                to,
                "| {load} | {} | {:.0} | {} | {} | {} | {} |",
                row.bytes,
                row.rate,
                shown(row.median),
                shown(row.p99),
                shown(row.p999),
                shown(row.longest)
            )?;
        }
        Ok(())
    }

    fn print_json(&self, to: &mut impl Write) -> io::Result<()> {
        for row in &self.rows {
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
            writeln!(to, "{object}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_a_table_goes_where_it_is_printed_to() {
        let kind = Kind::Open { offered: 2000.0, unsent: 3 };
        let rows = vec![Row::new(kind, 8, 1500.0, &Latencies::new())];
        let mut text = Vec::new();
        Report { nodes: 1, servers: 2, clients: 3, rows }.print(&mut text, false).unwrap();
        let lines = [
            "nodes: 1, servers: 2, clients: 3; latencies in microseconds",
            "",
            "| load | bytes | requests/s | median | p99 | p99.9 | longest |",
            "|---|---|---|---|---|---|---|",
            "| 2000/s, 3 not sent in time | 8 | 1500 | - | - | - | - |",
        ];
        assert_eq!(String::from_utf8(text).unwrap().lines().collect::<Vec<_>>(), lines);
    }
}
