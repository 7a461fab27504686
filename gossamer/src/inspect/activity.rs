//! What a node does during some time: its metrics, and what its workers run, sampled a thousand times per second. A
//! worker notes what it runs anyway, so this costs nothing while nobody samples.

use crate::NoRef;
use crate::inspect::identity::NodeIdentity;
use crate::metrics::{NodeMetrics, of_node};
use crate::worker::shared::Shared;
use std::collections::HashMap;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Time between two samples.
const LOOK: Duration = Duration::from_millis(1);

/// The activity of a node during some time.
#[derive(NoRef, Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct NodeActivity {
    /// The node.
    pub identity: NodeIdentity,
    /// How long it was sampled.
    pub time: Duration,
    /// Its metrics during this time.
    pub metrics: NodeMetrics,
    /// How often each of its workers was sampled.
    pub looks: u64,
    /// What workers were running, and in how many samples; a worker that is asleep or between two things runs
    /// nothing.
    pub running: Vec<(String, u64)>,
}

/// One node during a look.
struct Looked {
    runtime: Arc<Shared>,
    before: NodeMetrics,
    looks: u64,
    running: HashMap<String, u64>,
}

/// The activity of the runtimes of this process during `time`.
pub(super) fn activities(time: Duration) -> Vec<NodeActivity> {
    let begin = Instant::now();
    let looked = |runtime: Arc<Shared>| {
        let before = of_node(&runtime);
        Looked { runtime, before, looks: 0, running: HashMap::new() }
    };
    let mut nodes: Vec<Looked> = Shared::all().into_iter().map(looked).collect();
    while begin.elapsed() < time {
        nodes.iter_mut().for_each(Looked::look);
        thread::sleep(LOOK);
    }
    nodes.into_iter().map(|node| node.end(begin.elapsed())).collect()
}

impl Looked {
    fn look(&mut self) {
        self.looks += 1;
        for mailbox in &self.runtime.mailboxes {
            if mailbox.doorbell.is_asleep() {
                continue;
            }
            if let Some(running) = mailbox.view.runs() {
                *self.running.entry(running).or_default() += 1;
            }
        }
    }

    fn end(self, time: Duration) -> NodeActivity {
        let Self { runtime, before, looks, running } = self;
        let mut running: Vec<_> = running.into_iter().collect();
        running.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        NodeActivity {
            identity: NodeIdentity::of(&runtime),
            time,
            metrics: &of_node(&runtime) - &before,
            looks,
            running,
        }
    }
}
