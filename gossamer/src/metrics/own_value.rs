//! [`OwnMetric`]: a metric of the program's own, at one moment.

use crate::NoRef;
use crate::metrics::arithmetic::{Keyed, Quantity, keyed, quantity};
use crate::metrics::{Distribution, Unit};
use std::ops::Sub;

/// A metric of the program's own: see [`Metric`](crate::metrics::Metric).
#[derive(Clone, Debug, PartialEq, NoRef)]
#[non_exhaustive]
pub struct OwnMetric {
    /// Its name, without unit.
    pub name: String,
    /// Its meaning.
    pub help: String,
    /// Its unit.
    pub unit: Unit,
    /// The names and values of its labels.
    pub labels: Vec<(String, String)>,
    /// How many.
    pub value: OwnValue,
}

quantity!(OwnMetric: counted value; present; largest);

keyed!(OwnMetric: name labels;);

/// How many.
#[derive(Clone, Debug, PartialEq, NoRef)]
#[non_exhaustive]
pub enum OwnValue {
    /// That of a [`Counter`](crate::metrics::Counter).
    Counter(u64),
    /// That of a [`Gauge`](crate::metrics::Gauge).
    Gauge(i64),
    /// That of a [`Histogram`](crate::metrics::Histogram).
    Histogram(Distribution),
}

impl Quantity for OwnValue {
    fn plus(&mut self, other: &Self) {
        match (self, other) {
            (Self::Counter(sum), Self::Counter(more)) => sum.plus(more),
            (Self::Gauge(sum), Self::Gauge(more)) => *sum = sum.saturating_add(*more),
            (Self::Histogram(sum), Self::Histogram(more)) => sum.plus(more),
            // Nodes of one program may still disagree about a name: the first wins.
            _ => {}
        }
    }

    fn minus(&mut self, earlier: &Self) {
        match (self, earlier) {
            (Self::Counter(sum), Self::Counter(before)) => sum.minus(before),
            (Self::Histogram(sum), Self::Histogram(before)) => sum.minus(before),
            _ => {}
        }
    }
}
