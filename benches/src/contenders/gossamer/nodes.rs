//! Requests of one worker to one other: of the same process, or of a node that is a process of its own.

use super::Travelling;
use crate::clock;
use crate::latency::{Latency, Stopwatch};
use crate::measure::{METER, Sample, Setting, Way};
use crate::partner::Partner;
use gossamer::{Config, FabricChoice, Trust, Trustee, run, spawn_on_with, yield_now};
use std::cell::Cell;
use std::hint::black_box;

/// As many fibers as the setting says, each blocking on one request at a time.
pub fn node_blocking(setting: &Setting) -> Sample {
    watched(setting, |setting| match setting.bytes {
        8 => with_fibers::<1>(setting),
        32 => with_fibers::<4>(setting),
        256 => with_fibers::<32>(setting),
        bytes => panic!("no request has {bytes} bytes"),
    })
}

/// A callback for each request, as many in flight as the setting says.
pub fn node_callbacks(setting: &Setting) -> Sample {
    watched(setting, |setting| match setting.bytes {
        8 => with_callbacks::<1>(setting),
        32 => with_callbacks::<4>(setting),
        256 => with_callbacks::<32>(setting),
        bytes => panic!("no request has {bytes} bytes"),
    })
}

/// Runs `body` as the main fiber of a runtime with two workers, on one node or two, and watches the meter meanwhile.
pub(super) fn watched(setting: &Setting, body: fn(&Setting)) -> Sample {
    let setting = *setting;
    let config = Config::default().pin(true);
    let config = match setting.way {
        Way::Process => config.threads(2),
        Way::Memory => config.threads(1),
        Way::Tcp | Way::Gigabit => config.threads(1).fabric(FabricChoice::Tcp),
    };
    let main = move || body(&setting);
    if std::env::var_os("GOSSAMER_NODE").is_some() {
        run(config, main); // serves, and ends the process
        unreachable!("this is node 1");
    }
    let partner = (setting.way != Way::Process).then(start_node_1);
    let runtime = std::thread::spawn(move || run(config, main));
    let used = || partner.as_ref().map_or_else(clock::process, Partner::used_by_both);
    let sample = METER.watch_all(&setting, 1, &used);
    assert!(runtime.join().is_ok(), "the runtime panicked");
    if let Some(partner) = partner {
        partner.join();
    }
    Sample { latency: Latency::found(), ..sample }
}

/// Makes this process node 0 of two.
fn start_node_1() -> Partner {
    let own = std::process::id();
    let variables = |node: usize| {
        [
            ("GOSSAMER_NODES", format!("unix:gossamer-table-{own}-0,unix:gossamer-table-{own}-1")),
            ("GOSSAMER_NODE", node.to_string()),
            ("GOSSAMER_TOKEN", format!("{own:064x}")),
        ]
    };
    let partner = Partner::start(&variables(1));
    for (name, value) in variables(0) {
        // SAFETY: a contender is measured by the only thread of its process, which has started no other yet.
        unsafe { std::env::set_var(name, value) };
    }
    partner
}

/// The object that is asked: at the other worker.
pub(super) fn object() -> Trust<u64> {
    let here = Trustee::here();
    match Trustee::all().into_iter().find(|&trustee| trustee != here) {
        Some(elsewhere) => elsewhere.entrust(0),
        None => panic!("there is no other worker"),
    }
}

/// What is delegated.
fn add<const WORDS: usize>(value: &mut u64, amounts: [u64; WORDS]) -> u64 {
    let before = *value;
    *value += black_box(amounts)[0];
    before
}

fn with_fibers<const WORDS: usize>(setting: &Setting) {
    let object = object();
    let start = |_| spawn_on_with(Trustee::here(), fiber::<WORDS>, (Travelling(*setting), object.clone()));
    let started: Vec<_> = (0..setting.parallel).map(start).collect();
    let asked: u64 = started.into_iter().map(|fiber| fiber.join()).sum();
    assert_eq!(object.apply(const { |value| *value }), asked, "requests were lost or served twice");
}

fn fiber<const WORDS: usize>((Travelling(setting), object): (Travelling, Trust<u64>)) -> u64 {
    let mut asked = 0;
    if setting.parallel == 1 {
        let mut stopwatch = Stopwatch::default();
        while !METER.stopped() {
            stopwatch.time(|| black_box(object.apply_with(add, [1; WORDS])));
            METER.add(0, 1);
            asked += 1;
        }
        stopwatch.finish();
    }
    while !METER.stopped() {
        black_box(object.apply_with(add, [1; WORDS]));
        METER.add(0, 1);
        asked += 1;
    }
    asked
}

#[derive(Default)]
struct Progress {
    in_flight: Cell<usize>,
    done: Cell<u64>,
    sum: Cell<u64>,
}

fn with_callbacks<const WORDS: usize>(setting: &Setting) {
    let (object, progress): (_, &'static Progress) = (object(), Box::leak(Box::default()));
    let mut asked = 0;
    while !METER.stopped() {
        let burst = (setting.parallel - progress.in_flight.get()).min(256);
        for _ in 0..burst {
            progress.in_flight.set(progress.in_flight.get() + 1);
            object.apply_with_then(add, [1; WORDS], |before| {
                progress.in_flight.set(progress.in_flight.get() - 1);
                progress.done.set(progress.done.get() + 1);
                progress.sum.set(progress.sum.get().wrapping_add(before));
            });
        }
        asked += burst as u64;
        METER.add(0, progress.done.replace(0));
        yield_now();
    }
    while progress.in_flight.get() > 0 {
        yield_now();
    }
    black_box(progress.sum.get());
    assert_eq!(object.apply(const { |value| *value }), asked, "requests were lost or served twice");
}
