//! The metrics of all nodes.

use crate::metrics::RackMetrics;
use crate::rack::collective::on_each_node;

/// The metrics of all nodes so far; the calling fiber waits for their answers.
///
/// It takes a fiber on the first worker of each node: a request, and an answer of some hundred bytes for each worker
/// there. A node whose first worker hangs does not answer, but still serves its metrics over HTTP with
/// [`GOSSAMER_METRICS`](crate::Config::metrics).
///
/// ```
/// use gossamer::{Config, Trustee, rack};
///
/// #[gossamer::delegate]
/// fn ask() -> u64 {
///     let before = rack::metrics();
///     Trustee::all().iter().for_each(|there| assert!(there.entrust(7_u64).apply(|seven| *seven == 7)));
///     let passed = &rack::metrics() - &before;
///     assert_eq!(passed.nodes.len(), 2);
///     passed.total().total().requests_sent()
/// }
/// assert!(rack::run_in_process(2, Config::default(), ask) >= 2);
/// ```
///
/// # Panics
/// In a delegated closure or a callback, which cannot wait; on a thread that is not a worker; and while the caller unwinds from a panic.
#[track_caller]
#[must_use]
pub fn metrics() -> RackMetrics {
    RackMetrics { nodes: on_each_node(const { |()| crate::metrics() }, ()) }
}
