//! Metrics of the runtime and of the program: snapshots, and metrics that the program defines.
//!
//! Every worker always counts what it does, in memory that nobody else writes, so that counting costs next to nothing
//! (`docs/metrics.md` lists the metrics). [`metrics`](crate::metrics()) reads those of this node,
//! [`rack::metrics`](crate::rack::metrics) those of all nodes; with `GOSSAMER_METRICS=address:port` a node serves
//! them over HTTP, as OpenMetrics text. Reading does not involve the workers, and works even while they hang.
//!
//! ```
//! use gossamer::{Config, Trustee};
//! use gossamer::metrics::{Counter, Metric};
//! use std::sync::LazyLock;
//!
//! static ORDERS: LazyLock<Counter> = LazyLock::new(|| Metric::new("shop_orders", "Orders that were taken.").counter());
//!
//! gossamer::run(Config::default().threads(2), || {
//!     let before = gossamer::metrics();
//!     let stock = Trustee::all()[1].entrust(100_u64);
//!     stock.apply(|stock| *stock -= 1);
//!     ORDERS.add(1);
//!     let passed = &gossamer::metrics() - &before;
//!     assert!(passed.total().requests_sent() >= 1);
//!     assert_eq!(passed.counter("shop_orders"), 1);
//!     println!("{passed}");
//! });
//! ```
#![deny(unsafe_code)]

mod arithmetic;
mod cells;
mod display;
mod distribution;
mod families;
mod own;
mod own_value;
mod read;
pub(crate) mod server;
mod snapshot;
mod text;

pub use distribution::Distribution;
pub use own::{Counter, Gauge, Histogram, Metric, Unit};
pub use own_value::{OwnMetric, OwnValue};
pub use read::metrics;
pub(crate) use read::of_node;
#[cfg(fuzzing)]
pub(crate) use server::fuzz_requests;
pub use snapshot::{NodeMetrics, RackMetrics, RequestMetrics, RequestRoute, StreamMetrics, WorkerMetrics};
