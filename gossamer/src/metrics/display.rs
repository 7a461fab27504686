//! Metrics in a readable form.

use crate::metrics::{Distribution, NodeMetrics, OwnValue, RackMetrics, RequestMetrics, Unit, WorkerMetrics};
use std::fmt;
use std::time::Duration;

/// Three digits, and what they are thousands of.
fn scaled(count: u64) -> String {
    let units = [(1_000_000_000_000, "T"), (1_000_000_000, "G"), (1_000_000, "M"), (10_000, "k")];
    match units.iter().find(|(unit, _)| count >= *unit) {
        Some((10_000, name)) => format!("{:.1} {name}", count as f64 / 1e3),
        Some((unit, name)) => format!("{:.1} {name}", count as f64 / *unit as f64),
        None => format!("{count} "),
    }
}

/// A share of a time.
fn percent(part: Duration, whole: Duration) -> f64 {
    if whole.is_zero() { 0.0 } else { 100.0 * part.as_secs_f64() / whole.as_secs_f64() }
}

fn quantiles(f: &mut fmt::Formatter<'_>, latency: &Distribution) -> fmt::Result {
    match (latency.quantile_time(0.5), latency.quantile_time(0.99)) {
        (Some(median), Some(most)) => write!(f, ", half within {median:.1?}, 99 % within {most:.1?}"),
        _ => Ok(()),
    }
}

impl fmt::Display for RequestMetrics {
    /// Without latencies.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<8} node {:<3}", self.route.name(), self.peer)?;
        write!(f, " {:>9}sent {:>9}served", scaled(self.sent), scaled(self.served))?;
        let batches: u64 = self.batches.iter().sum();
        if batches > 0 {
            write!(f, ", {:.1} a batch", (self.sent - self.direct.min(self.sent)) as f64 / batches as f64)?;
        }
        if self.failed + self.served_failed > 0 {
            write!(f, ", {} and {} failed", self.failed, self.served_failed)?;
        }
        if self.backlog > 0 {
            write!(f, ", {} wait for room", self.backlog)?;
        }
        write!(f, ", {}B out, {}B in", scaled(self.sent_bytes), scaled(self.received_bytes))
    }
}

impl fmt::Display for WorkerMetrics {
    /// A line about the worker, and one for each way and node of its requests.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:5.1} % busy, {:5.1} % asleep",
            percent(self.busy, self.uptime),
            percent(self.asleep, self.uptime)
        )?;
        write!(
            f,
            " of {:.1?}; {}turns, the longest {:.1?}",
            self.uptime,
            scaled(self.turns),
            self.longest_turn
        )?;
        write!(
            f,
            "; {} fibers, {} of them wait, {}started",
            self.fibers_alive,
            self.fibers_waiting,
            scaled(self.fibers_started)
        )?;
        write!(f, "; {}B of stacks, {}B of lanes", scaled(self.stack_bytes), scaled(self.lane_bytes))?;
        for requests in &self.requests {
            write!(f, "\n    {requests}")?;
            quantiles(f, &self.latency(requests.route))?;
        }
        Ok(())
    }
}

impl fmt::Display for NodeMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {}", self.node)?;
        for worker in &self.workers {
            write!(f, "\n  worker {}: {worker}", worker.worker)?;
        }
        if self.workers.len() > 1 {
            write!(f, "\n  together: {}", self.total())?;
        }
        for (end, streams) in [("written to", &self.senders), ("read from", &self.receivers)] {
            if streams.bytes + streams.waits > 0 {
                write!(f, "\n  {}B {end} streams, {} waits", scaled(streams.bytes), streams.waits)?;
            }
        }
        for own in &self.own {
            let labels: Vec<_> = own.labels.iter().map(|(name, value)| format!(" {name}={value}")).collect();
            write!(f, "\n  {}{}: ", own.name, labels.concat())?;
            match &own.value {
                OwnValue::Counter(count) => write!(f, "{count}")?,
                OwnValue::Gauge(count) => write!(f, "{count}")?,
                OwnValue::Histogram(values) => {
                    write!(f, "{} values", values.count())?;
                    if own.unit == Unit::Seconds {
                        quantiles(f, values)?;
                    } else if let (Some(median), Some(most)) = (values.quantile(0.5), values.quantile(0.99)) {
                        write!(f, ", half up to {median}, 99 % up to {most}")?;
                    }
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for RackMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, node) in self.nodes.iter().enumerate() {
            write!(f, "{}{node}", if place > 0 { "\n" } else { "" })?;
        }
        Ok(())
    }
}
