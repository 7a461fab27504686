//! Gossamer itself, by its public API alone.

mod bulk;
mod local;
mod map;
mod nodes;
mod rack;
mod remote;

pub use bulk::node_bulk;
pub use local::{
    clone_elsewhere, clone_here, local_apply, local_apply_with, local_apply_with_then, spawn_anywhere,
    spawn_bulk_anywhere, spawn_bulk_here, spawn_here,
};
pub use map::{map_blocking, map_callbacks};
pub use nodes::{node_blocking, node_callbacks};
pub use rack::{
    all_reduce, barrier, settle_idle, settle_idle_nodes, settle_requests, settle_requests_on_nodes,
    spawn_many, spawn_one_by_one, team_all_reduce, team_all_reduce_on_nodes, team_barrier,
    team_barrier_on_nodes,
};
pub use remote::{blocking, callbacks, many_trusts};

use crate::measure::{METER, Sample, Setting};
use gossamer::{Config, NoRef, run};

/// A setting that travels with a fiber.
#[derive(Clone, Copy)]
struct Travelling(Setting);

// SAFETY: plain numbers.
unsafe impl NoRef for Travelling {}

/// The runtime, with the workers of the setting, pinned, and everything a user gets switched on.
fn config(setting: &Setting) -> Config {
    Config::default().threads(setting.workers).pin(true)
}

/// Runs `body` as the main fiber, and watches the meter meanwhile. `body` ends when the meter says stop.
fn watched(setting: &Setting, body: fn(&Setting)) -> Sample {
    let setting = *setting;
    let runtime = std::thread::spawn(move || run(config(&setting), move || body(&setting)));
    let sample = METER.watch(&setting, setting.workers);
    assert!(runtime.join().is_ok(), "the runtime panicked");
    sample
}

/// Runs `body` as the main fiber; it measures itself.
fn timed_inside(setting: &Setting, body: fn(&Setting) -> Sample) -> Sample {
    let setting = *setting;
    run(config(&setting), move || body(&setting))
}
