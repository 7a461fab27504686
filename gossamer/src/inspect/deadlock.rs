//! Fibers that wait for each other.
//!
//! A fiber that waits for a latch waits for its holders, and one that joins or launches waits for one other fiber.
//! None of these waits ends before all fibers that it waits for have gone on, so fibers that wait in a circle wait
//! for ever. Anything else that a fiber waits for (a message, a socket, a time, another thread) is assumed to happen.
//!
//! Workers report one after another, so a single look may show a circle that never existed. Two looks between which
//! none of its fibers has run cannot: all of them waited like this at every moment between the two.

use crate::inspect::identity::RuntimeName;
use crate::inspect::report::{Dependency, FiberLink, NodeReport};
use std::collections::{HashMap, HashSet};
use std::fmt;

/// Fibers that wait for each other, each for the next and the last for the first, or in several such circles.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deadlock {
    /// The fibers.
    pub fibers: Vec<FiberLink>,
    /// The least time for which they have waited, in milliseconds.
    pub waited: u64,
}

/// A fiber, and where it is.
type LinkedFiber<'a> = (&'a FiberLink, &'a NodeReport);

/// The fibers that wait for each other in two looks, and have not run between them; and the runtimes that they belong
/// to.
#[must_use]
pub fn deadlocks<'a>(before: &[NodeReport], now: &'a [NodeReport]) -> Vec<(RuntimeName<'a>, Deadlock)> {
    let turns: HashMap<_, u64> =
        links(before).map(|(link, of)| ((of.identity.runtime(), link.fiber), link.resumed)).collect();
    let has_not_run =
        |(link, of): &LinkedFiber<'_>| turns.get(&(of.identity.runtime(), link.fiber)) == Some(&link.resumed);
    let still: Vec<LinkedFiber<'_>> = links(now).filter(has_not_run).collect();
    let graph = Graph::of(&still);
    let named = |circle: Vec<usize>| {
        (still[circle[0]].1.identity.runtime(), deadlock(circle.into_iter().map(|place| still[place].0)))
    };
    graph.circles().into_iter().map(named).collect()
}

fn links(reports: &[NodeReport]) -> impl Iterator<Item = LinkedFiber<'_>> {
    reports.iter().flat_map(|report| report.links.iter().map(move |link| (link, report)))
}

fn deadlock<'a>(fibers: impl Iterator<Item = &'a FiberLink>) -> Deadlock {
    let fibers: Vec<_> = fibers.cloned().collect();
    let waited = fibers.iter().map(|fiber| fiber.waited).min().unwrap_or(0);
    Deadlock { fibers, waited }
}

/// Which fibers wait for which, by their indices.
struct Graph(Vec<Vec<usize>>);

impl Graph {
    fn of(waiters: &[LinkedFiber<'_>]) -> Self {
        let (mut jobs, mut holders) = (HashMap::new(), HashMap::<_, Vec<usize>>::new());
        for (place, (link, of)) in waiters.iter().enumerate() {
            jobs.insert((of.identity.runtime(), link.fiber.worker, link.job), place);
            for latch in &link.latches {
                holders.entry((of.identity.process, *latch)).or_default().push(place);
            }
        }
        let awaited = waiters.iter().map(|(link, of)| match link.dependency {
            Dependency::Unknown => Vec::new(),
            Dependency::Job(worker, job) => {
                jobs.get(&(of.identity.runtime(), worker, job)).copied().into_iter().collect()
            }
            Dependency::Latch(latch) => {
                holders.get(&(of.identity.process, latch)).cloned().unwrap_or_default()
            }
        });
        Self(awaited.collect())
    }

    /// The indices of the fibers in circles. Each circle begins with its lowest index, and each fiber waits for the
    /// next if there is only one that it waits for.
    fn circles(&self) -> Vec<Vec<usize>> {
        let mut left: HashSet<usize> = (0..self.0.len()).collect();
        // A fiber that waits for none of those left goes on, and one that none of those left awaits is not part of a
        // circle.
        loop {
            let count = left.len();
            let awaits: HashSet<usize> = left
                .iter()
                .copied()
                .filter(|place| self.0[*place].iter().any(|other| left.contains(other)))
                .collect();
            let awaited: HashSet<usize> =
                awaits.iter().flat_map(|place| self.0[*place].iter().copied()).collect();
            left = awaits.intersection(&awaited).copied().collect();
            if left.len() == count {
                break;
            }
        }
        let mut places: Vec<usize> = left.iter().copied().collect();
        places.sort_unstable();
        let mut circles = Vec::new();
        for first in places {
            let (mut circle, mut next) = (Vec::new(), vec![first]);
            while let Some(place) = next.pop() {
                if left.remove(&place) {
                    circle.push(place);
                    next.extend(&self.0[place]);
                }
            }
            if !circle.is_empty() {
                circles.push(circle);
            }
        }
        circles
    }
}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.waited / 1000;
        match &self.fibers[..] {
            [_] => write!(f, "deadlock that has lasted at least {seconds} s: a fiber waits for itself")?,
            fibers => write!(
                f,
                "deadlock that has lasted at least {seconds} s: {} fibers wait for each other",
                fibers.len()
            )?,
        }
        for fiber in &self.fibers {
            write!(f, "\n  worker {}: the fiber spawned at {}", fiber.fiber.worker, fiber.spawned_at)?;
            if !fiber.latches.is_empty() {
                f.write_str(" holds a latch, and")?;
            }
            if let Some(wait) = &fiber.wait {
                write!(f, " waits in `{}`", wait.call)?;
                wait.at.iter().try_for_each(|at| write!(f, " at {at}"))?;
            }
            match fiber.dependency {
                Dependency::Unknown => {}
                Dependency::Job(worker, job) => {
                    let awaited =
                        self.fibers.iter().find(|other| (other.fiber.worker, other.job) == (worker, job));
                    awaited.iter().try_for_each(|other| {
                        write!(f, " for the fiber spawned at {} on worker {worker}", other.spawned_at)
                    })?;
                }
                Dependency::Latch(latch) => {
                    let holder = self.fibers.iter().find(|other| other.latches.contains(&latch));
                    holder.iter().try_for_each(|other| {
                        write!(f, " for the latch that the fiber spawned at {} holds", other.spawned_at)
                    })?;
                }
            }
        }
        let of_latches = self.fibers.iter().any(|fiber| matches!(fiber.dependency, Dependency::Latch(_)));
        f.write_str(if of_latches {
            "\n  Launch on several latches in one order everywhere, or hold those of one trustee at once with `Trust::launch_all`; \
             never launch on a latch in a closure that holds it."
        } else {
            "\n  Let one of them end without waiting for the others."
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::inspect::{FiberId, NodeIdentity};

    fn link(worker: u32, dependency: Dependency, latches: &[u64]) -> FiberLink {
        FiberLink {
            fiber: FiberId { worker, serial: 1 },
            job: 1,
            spawned_at: format!("main.rs:{worker}:1"),
            resumed: 7,
            wait: None,
            dependency,
            latches: latches.to_vec(),
            waited: 2000,
        }
    }

    fn of(links: Vec<FiberLink>) -> NodeReport {
        NodeReport {
            identity: NodeIdentity {
                node: 0,
                nodes: 1,
                rack: String::new(),
                process: 1,
                base: 0,
                program: String::new(),
            },
            workers: Vec::new(),
            other_threads: Some(0),
            fibers: Vec::new(),
            links,
        }
    }

    fn found(links: Vec<FiberLink>) -> Vec<Vec<u32>> {
        let reports = [of(links)];
        let found = deadlocks(&reports, &reports).into_iter();
        found.map(|(_, deadlock)| deadlock.fibers.iter().map(|fiber| fiber.fiber.worker).collect()).collect()
    }

    #[test]
    fn a_circle_of_joins_is_found_and_those_who_wait_for_it_are_no_part() {
        let waits = |worker, on| link(worker, Dependency::Job(on, 1), &[]);
        assert_eq!(found(vec![waits(0, 1), waits(1, 2), waits(2, 1), waits(3, 0)]), [[1, 2]]);
    }

    #[test]
    fn a_chain_that_ends_in_something_else_is_none() {
        let waits = |worker, on| link(worker, Dependency::Job(on, 1), &[]);
        let held = link(3, Dependency::Unknown, &[5]);
        assert!(found(vec![waits(0, 1), waits(1, 2), link(2, Dependency::Latch(5), &[]), held]).is_empty());
    }

    #[test]
    fn one_that_waits_for_its_own_latch_is_one() {
        assert_eq!(found(vec![link(4, Dependency::Latch(5), &[5])]), [[4]]);
    }

    #[test]
    fn a_fiber_that_has_run_between_the_looks_is_in_none() {
        let waits = |worker, on| link(worker, Dependency::Job(on, 1), &[]);
        let now = [of(vec![waits(0, 1), waits(1, 0)])];
        let mut before = now.clone();
        before[0].links[0].resumed = 6;
        assert!(deadlocks(&before, &now).is_empty());
    }

    #[test]
    fn latches_of_two_processes_with_one_address_are_two() {
        let mut other = of(vec![link(1, Dependency::Latch(9), &[8])]);
        other.identity.process = 2;
        let reports = [of(vec![link(0, Dependency::Latch(8), &[9])]), other];
        assert!(deadlocks(&reports, &reports).is_empty());
    }
}
