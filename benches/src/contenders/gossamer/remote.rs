//! Requests between workers: callbacks, and blocking fibers.

use super::{Travelling, watched};
use crate::measure::{Asked, METER, Sample, Setting};
use crate::random::Picker;
use gossamer::{Trust, Trustee, entrust, spawn_on_with, yield_now};
use std::cell::{Cell, RefCell};
use std::hint::black_box;
use std::rc::Rc;

/// Trusts by the worker that holds the property, then by place.
type Objects = Vec<Vec<Trust<u64>>>;

/// What a worker's client starts with: its worker, the setting, and what it may ask.
type Start = (usize, Travelling, Objects);

/// A callback for each request, as many in flight as the setting says or the runtime takes.
pub fn callbacks(setting: &Setting) -> Sample {
    watched(setting, |setting| {
        let objects = each_own(setting);
        checked(objects.clone(), on_all_workers(setting, objects, with_callbacks));
    })
}

/// As `callbacks`, to the one property of each worker through as many trusts as the setting has objects.
pub fn many_trusts(setting: &Setting) -> Sample {
    watched(setting, |setting| {
        let one = each_own(&Setting { objects: 1, ..*setting });
        let many = one.iter().map(|own| vec![own[0].clone(); setting.objects]).collect();
        checked(one, on_all_workers(setting, many, with_callbacks));
    })
}

/// As many fibers per worker as the setting says, each blocking on one request at a time.
pub fn blocking(setting: &Setting) -> Sample {
    watched(setting, |setting| {
        let objects = each_own(setting);
        checked(objects.clone(), on_all_workers(setting, objects, with_fibers));
    })
}

/// The objects of every worker, entrusted there.
fn each_own(setting: &Setting) -> Objects {
    let make = |count| (0..count).map(|_| entrust(0)).collect::<Vec<Trust<u64>>>();
    let start = |trustee| spawn_on_with(trustee, make, Picker::held(setting));
    let started: Vec<_> = Trustee::all().into_iter().map(start).collect();
    started.into_iter().map(|fiber| fiber.join()).collect()
}

/// Checks that every request was served once.
fn checked(objects: Objects, asked: u64) {
    let value = |trust: &Trust<u64>| trust.apply(|value| *value);
    let served: u64 = objects.iter().flatten().map(value).sum();
    assert_eq!(served, asked, "requests were lost or served twice");
}

/// Runs `client` on every worker, and says how many requests were made.
fn on_all_workers(
    setting: &Setting,
    mut objects: Objects,
    client: impl Fn(Start) -> u64 + Copy + Send + 'static,
) -> u64 {
    let start = |trustee: Trustee| {
        let worker = trustee.index();
        let mut given = objects.clone();
        if setting.workers == 2 && setting.asked == Asked::Others {
            // Each trust is used by one worker alone: no need for a million clones.
            given = vec![Vec::new(), Vec::new()];
            given[1 - worker] = std::mem::take(&mut objects[1 - worker]);
        }
        spawn_on_with(trustee, client, (worker, Travelling(*setting), given))
    };
    let started: Vec<_> = Trustee::all().into_iter().map(start).collect();
    drop(objects);
    started.into_iter().map(|fiber| fiber.join()).sum()
}

/// What is delegated.
fn add(value: &mut u64, amount: u64) -> u64 {
    let before = *value;
    *value += amount;
    before
}

#[derive(Default)]
struct Progress {
    in_flight: Cell<usize>,
    done: Cell<u64>,
    sum: Cell<u64>,
}

fn with_callbacks((worker, Travelling(setting), objects): Start) -> u64 {
    let progress: &'static Progress = Box::leak(Box::default());
    let mut picker = Picker::new(&setting, worker, worker);
    let mut asked = 0;
    while !METER.stopped() {
        let burst = (setting.parallel - progress.in_flight.get()).min(256);
        for _ in 0..burst {
            let (holder, place) = picker.pick();
            progress.in_flight.set(progress.in_flight.get() + 1);
            objects[holder][place].apply_with_then(add, 1, |before| {
                progress.in_flight.set(progress.in_flight.get() - 1);
                progress.done.set(progress.done.get() + 1);
                progress.sum.set(progress.sum.get().wrapping_add(before));
            });
        }
        asked += burst as u64;
        METER.add(worker, progress.done.replace(0));
        yield_now();
    }
    while progress.in_flight.get() > 0 {
        yield_now();
    }
    black_box(progress.sum.get());
    asked
}

thread_local!(static OBJECTS: RefCell<Option<Rc<Objects>>> = const { RefCell::new(None) });

fn with_fibers((worker, setting, objects): Start) -> u64 {
    OBJECTS.set(Some(Rc::new(objects)));
    let start = |number| spawn_on_with(Trustee::here(), fiber, (worker, number, setting));
    let started: Vec<_> = (0..setting.0.parallel).map(start).collect();
    let asked = started.into_iter().map(|fiber| fiber.join()).sum();
    OBJECTS.set(None);
    asked
}

fn fiber((worker, number, Travelling(setting)): (usize, usize, Travelling)) -> u64 {
    let Some(objects) = OBJECTS.with_borrow(Clone::clone) else { return 0 };
    let mut picker = Picker::new(&setting, worker * setting.parallel + number, worker);
    let mut asked = 0;
    while !METER.stopped() {
        let (holder, place) = picker.pick();
        black_box(objects[holder][place].apply_with(add, 1));
        METER.add(worker, 1);
        asked += 1;
    }
    asked
}
