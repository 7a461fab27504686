//! What all nodes of a rack do together. The nodes are in one process, with a worker each.

use super::timed_inside;
use crate::measure::{Sample, Setting, timed};
use gossamer::{Config, TeamMember, Trustee, Workers, rack, spawn_many_with, spawn_with};
use std::hint::black_box;

/// Runs `body` as the main fiber of a rack with as many nodes as the setting has workers; it measures itself.
fn on_nodes(setting: &Setting, body: fn(&Setting) -> Sample) -> Sample {
    let setting = *setting;
    rack::run_in_process(setting.workers, Config::default().threads(1).pin(false), move || body(&setting))
}

/// Fibers by the thousand, in one call.
pub fn spawn_many(setting: &Setting) -> Sample {
    on_nodes(setting, |setting| {
        timed(setting, |count| {
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            black_box(spawn_many_with(count, const { |number, ()| number }, ()).join());
        })
    })
}

/// The same fibers, one by one.
pub fn spawn_one_by_one(setting: &Setting) -> Sample {
    on_nodes(setting, |setting| {
        timed(setting, |count| {
            let fibers: Vec<_> =
                (0..count).map(|number| spawn_with(const { |number| number }, number)).collect();
            for fiber in fibers {
                black_box(fiber.join());
            }
        })
    })
}

/// Nodes that wait for each other.
pub fn barrier(setting: &Setting) -> Sample {
    on_nodes(setting, |setting| {
        timed(setting, |count| {
            rack::on_each_node(const { |count: u64| (0..count).for_each(|_| rack::barrier()) }, count);
        })
    })
}

/// Nodes that add up what each has.
pub fn all_reduce(setting: &Setting) -> Sample {
    on_nodes(setting, |setting| {
        timed(setting, |count| {
            let add = const {
                |count: u64| {
                    (0..count).map(|number| rack::all_reduce(number, |one, other| one + other)).sum::<u64>()
                }
            };
            black_box(rack::on_each_node(add, count));
        })
    })
}

/// Waits until all work is done, as a program would, although there is no work.
fn wait(setting: &Setting) -> Sample {
    timed(setting, |count| (0..count).for_each(|_| rack::wait_all()))
}

/// Waits until all work is done, which is a request to each worker that nobody waits for.
fn wait_for_requests(setting: &Setting) -> Sample {
    let counts: Vec<_> = Trustee::all().iter().map(|there| there.entrust(0_u64)).collect();
    timed(setting, |rounds| {
        for _ in 0..rounds {
            for count in &counts {
                count.apply_then(const { |count: &mut u64| *count += 1 }, drop);
            }
            rack::wait_all();
        }
    })
}

/// As many workers as the setting says, in one process, with nothing to do.
pub fn settle_idle(setting: &Setting) -> Sample {
    timed_inside(setting, wait)
}

/// The same, with a request to each worker.
pub fn settle_requests(setting: &Setting) -> Sample {
    timed_inside(setting, wait_for_requests)
}

/// Nodes with nothing to do.
pub fn settle_idle_nodes(setting: &Setting) -> Sample {
    on_nodes(setting, wait)
}

/// The same, with a request to each worker.
pub fn settle_requests_on_nodes(setting: &Setting) -> Sample {
    on_nodes(setting, wait_for_requests)
}

/// Members on all workers that wait for each other.
fn meet(setting: &Setting) -> Sample {
    let meet = const { |member: &TeamMember, count: u64| (0..count).for_each(|_| member.barrier()) };
    timed(setting, |count| drop(black_box(Workers::all().each_with(meet, count))))
}

/// Members on all workers that add up what each has.
fn add_up(setting: &Setting) -> Sample {
    let add = const {
        |member: &TeamMember, count: u64| {
            (0..count).map(|number| member.all_reduce(number, |one, other| one + other)).sum::<u64>()
        }
    };
    timed(setting, |count| drop(black_box(Workers::all().each_with(add, count))))
}

/// Barriers of as many workers as the setting says, in one process.
pub fn team_barrier(setting: &Setting) -> Sample {
    timed_inside(setting, meet)
}

/// Reductions over as many workers as the setting says, in one process.
pub fn team_all_reduce(setting: &Setting) -> Sample {
    timed_inside(setting, add_up)
}

/// Barriers of a worker on each node.
pub fn team_barrier_on_nodes(setting: &Setting) -> Sample {
    on_nodes(setting, meet)
}

/// Reductions over a worker on each node.
pub fn team_all_reduce_on_nodes(setting: &Setting) -> Sample {
    on_nodes(setting, add_up)
}
