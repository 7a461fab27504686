//! Reports, without being asked, that fibers wait for each other, for a node that does not come to a collective, or for
//! what no fiber is left to do, when a process has come to a standstill.

use crate::inspect::all_wait::all_wait;
use crate::inspect::collect::{reports, two_looks};
use crate::inspect::deadlock::{Deadlock, deadlocks};
use crate::inspect::missing::missing_nodes;
use crate::inspect::question::ask;
use crate::inspect::report::{FiberId, NodeReport};
use crate::inspect::socket::inspection_sockets;
use crate::lane::error;
use crate::sys::threads::bystander::Bystander;
use crate::worker::shared::Shared;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The state of the workers when one of them last made a turn.
pub(super) struct Standstill {
    turns: Vec<u64>,
    since: Instant,
    told: Arc<Mutex<AlreadyReported>>,
}

/// What has been reported.
#[derive(Default)]
struct AlreadyReported {
    /// The fibers of deadlocks.
    fibers: HashSet<FiberId>,
    /// Collectives to which a node has not come, and the states of programs that wait for themselves.
    others: HashSet<String>,
}

impl Standstill {
    pub(super) fn new() -> Self {
        Self { turns: Vec::new(), since: Instant::now(), told: Arc::default() }
    }

    /// Checks whether any worker has made a turn since the last look. If none has for as long as the settings say,
    /// reports once which fibers wait for each other, or for a node, if any do.
    pub(super) fn look(&mut self, runtimes: &[Arc<Shared>]) {
        let turns = runtimes
            .iter()
            .flat_map(|runtime| runtime.mailboxes.iter().map(|mailbox| mailbox.view.turns()))
            .collect();
        if turns != self.turns {
            (self.turns, self.since) = (turns, Instant::now());
            return;
        }
        let patience = runtimes.iter().filter_map(|runtime| runtime.config.stall_limit()).min();
        let still = self.since.elapsed();
        if patience.is_some_and(|patience| still >= patience) {
            // Asking makes the workers make turns, so this begins anew.
            let told = Arc::clone(&self.told);
            // On a thread of its own, since other nodes may ask this one meanwhile. If there is no thread, it is tried
            // again.
            let _none = thread::Builder::new().name("gossamer-report".to_owned()).spawn(move || {
                let _bystander = Bystander::here();
                check(&told, still);
            });
            self.since = Instant::now();
        }
    }
}

fn check(told: &Mutex<AlreadyReported>, still: Duration) {
    let (before, now) = two_looks(with_neighbours);
    let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
    let (deadlocks, missing) = (deadlocks(&before, &now), missing_nodes(&now, still));
    // Where less is known, it says what those do not.
    let mut others =
        if deadlocks.is_empty() && missing.is_empty() { all_wait(&now, still) } else { Vec::new() };
    if !others.is_empty() {
        // Workers answer one after another: between two answers a fiber may have ended the wait of another, and
        // itself. In a second look that other has not waited for so long.
        let again = all_wait(&with_neighbours(), still);
        others.retain(|(state, _)| again.iter().any(|(other, _)| other == state));
    }
    for (_, deadlock) in deadlocks {
        if is_news(&mut told.fibers, &deadlock) {
            tell(still, &format!("because of a {deadlock}"));
        }
    }
    for missing in missing {
        if told.others.insert(missing.clone()) {
            tell(still, &format!("on {missing}"));
        }
    }
    for (state, text) in others {
        if told.others.insert(state) {
            tell(still, &text);
        }
    }
}

/// Whether one of its fibers is in no deadlock reported so far; from here on all count as reported.
fn is_news(told: &mut HashSet<FiberId>, deadlock: &Deadlock) -> bool {
    let known = told.len();
    told.extend(deadlock.fibers.iter().map(|fiber| fiber.fiber));
    told.len() > known
}

/// The reports of this process and of the other nodes on this machine; `None` if one of those precedes it, and reports
/// instead.
fn with_neighbours() -> Vec<NodeReport> {
    let ours = reports();
    let nodes: Vec<&NodeReport> = ours.iter().filter(|report| report.identity.nodes > 1).collect();
    if nodes.is_empty() {
        return ours;
    }
    let here = std::process::id();
    let others = inspection_sockets().unwrap_or_default().into_iter().filter(|socket| socket.process != here);
    let others: Vec<NodeReport> = others.filter_map(|socket| ask(&socket).ok()).flatten().collect();
    let is_first = |report: &NodeReport| {
        others.iter().all(|other| {
            other.identity.runtime() != report.identity.runtime()
                || other.identity.node > report.identity.node
        })
    };
    if !nodes.into_iter().all(is_first) {
        return Vec::new();
    }
    let of_ours =
        |other: &NodeReport| ours.iter().any(|report| report.identity.runtime() == other.identity.runtime());
    let theirs: Vec<_> = others.iter().filter(|other| of_ours(other)).cloned().collect();
    ours.into_iter().chain(theirs).collect()
}

fn tell(still: Duration, why: &str) {
    error::print(&format!("gossamer: no progress for {} s {why}\n", still.as_secs()));
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::inspect::{Dependency, FiberLink};

    fn of(workers: &[u32]) -> Deadlock {
        let link = |worker: &u32| FiberLink {
            fiber: FiberId { worker: *worker, serial: 1 },
            job: 1,
            spawned_at: String::new(),
            resumed: 1,
            wait: None,
            dependency: Dependency::Unknown,
            latches: Vec::new(),
            waited: 0,
        };
        Deadlock { fibers: workers.iter().map(link).collect(), waited: 0 }
    }

    #[test]
    fn a_deadlock_is_told_once_however_many_fibers_it_has() {
        let mut told = HashSet::new();
        assert!(is_news(&mut told, &of(&[0, 1, 2])));
        assert!(!is_news(&mut told, &of(&[0, 1, 2])));
        assert!(!is_news(&mut told, &of(&[2, 1])));
        assert!(is_news(&mut told, &of(&[2, 3])));
    }
}
