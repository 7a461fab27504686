//! Measurements of Gossamer: requests from one worker to a worker of another node, which is a process of its own.

use crate::stream;
use benches::latency::{Latency, Stopwatch};
use benches::measure::{METER, Setting};
use benches::partner::Partner;
use gossamer::{Config, FabricChoice, Trust, Trustee, run as start, spawn_on_with, yield_now};
use std::cell::Cell;
use std::hint::black_box;
use std::net::TcpListener;
use std::time::Duration;

/// How many requests of 32 bytes are in flight: as many as a lane has slots, so that each may be a batch of its own;
/// and as many as there may be.
const SINGLE: usize = 8;
const BATCHED: usize = 4096;
/// Fibers that send large values.
const SENDERS: usize = 4;

type Request = [u64; 4];

/// Makes one measurement, and prints the figure: microseconds of a round trip, or requests or bytes per second.
///
/// # Errors
/// If there is no such measurement.
pub(crate) fn run(name: &str, fabric: &str, time: Duration) -> Result<(), String> {
    let choice: FabricChoice = fabric.parse()?;
    let figure = match name {
        "stream" => stream::rate(fabric, time),
        "round-trip" => {
            between_nodes(choice, time, round_trips);
            Latency::found().map_or(f64::NAN, |latency| latency.p50 / 1000.0)
        }
        "single" => between_nodes(choice, time, || callbacks(SINGLE, 1)),
        "batched" => between_nodes(choice, time, || callbacks(BATCHED, 256)),
        "large/65536" => between_nodes(choice, time, || large(65_536)),
        "large/1048576" => between_nodes(choice, time, || large(1 << 20)),
        _ => return Err(format!("nothing is measured by the name {name}")),
    };
    println!("measured {figure}");
    Ok(())
}

/// Runs `body` on node 0 of two; returns how much the meter counted per second.
fn between_nodes(fabric: FabricChoice, time: Duration, body: fn()) -> f64 {
    let config = move || Config::default().threads(1).fabric(fabric);
    let mut partner = None;
    match std::env::var("GOSSAMER_NODE").as_deref() {
        Err(_) => partner = Some(start_node_1()),
        Ok("0") => {}
        Ok(_) => {
            start(config(), body); // serves, and ends the process
            unreachable!("this is another node");
        }
    }
    let runtime = std::thread::spawn(move || start(config(), body));
    let sample = METER.watch(&Setting { budget: time, ..Setting::PLAIN }, 1);
    assert!(runtime.join().is_ok(), "the runtime panicked");
    if let Some(partner) = partner {
        partner.join();
    }
    1e9 / sample.nanoseconds()
}

/// Makes this process node 0 of two.
fn start_node_1() -> Partner {
    let ports = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap_or_else(|error| panic!("{error}")));
    let address =
        |port: &TcpListener| port.local_addr().unwrap_or_else(|error| panic!("{error}")).to_string();
    let addresses = ports.each_ref().map(address).join(",");
    drop(ports);
    let variables = |node: usize| {
        [
            ("GOSSAMER_NODES", addresses.clone()),
            ("GOSSAMER_NODE", node.to_string()),
            ("GOSSAMER_TOKEN", format!("{:064x}", std::process::id())),
        ]
    };
    // The variable for the token is the same for both.
    let partner = Partner::start(&variables(1));
    for (name, value) in variables(0) {
        // SAFETY: this is the only thread of its process, which has started no other yet.
        unsafe { std::env::set_var(name, value) };
    }
    partner
}

/// The object that is asked: it lives at the other worker.
fn object() -> Trust<u64> {
    let here = Trustee::here();
    match Trustee::all().into_iter().find(|&trustee| trustee != here) {
        Some(elsewhere) => elsewhere.entrust(0),
        None => panic!("there is no other worker"),
    }
}

fn add(value: &mut u64, amounts: Request) -> u64 {
    *value += black_box(amounts)[0];
    *value
}

/// One blocking request at a time.
fn round_trips() {
    let (object, mut stopwatch) = (object(), Stopwatch::default());
    while !METER.stopped() {
        stopwatch.time(|| black_box(object.apply_with(add, [1; 4])));
        METER.add(0, 1);
    }
    stopwatch.finish();
}

/// This many requests with callbacks in flight, of which this many are sent in a turn of the worker.
fn callbacks(in_flight: usize, at_once: usize) {
    let object = object();
    let progress: &'static [Cell<u64>; 2] = Box::leak(Box::default());
    let [asked, done] = progress;
    while !METER.stopped() {
        let room = in_flight - (asked.get() - done.get()) as usize;
        for _ in 0..room.min(at_once) {
            asked.set(asked.get() + 1);
            object.apply_with_then(add, [1; 4], |_| done.set(done.get() + 1));
        }
        let before = done.get();
        yield_now();
        METER.add(0, done.get() - before);
    }
    while done.get() < asked.get() {
        yield_now();
    }
    assert_eq!(object.apply(const { |value| *value }), asked.get(), "requests were lost or served twice");
}

/// Values of this many bytes, each a copy; the meter counts bytes.
fn large(bytes: usize) {
    let object = object();
    let start = |_| spawn_on_with(Trustee::here(), sender, (bytes, object.clone()));
    let started: Vec<_> = (0..SENDERS).map(start).collect();
    let asked: u64 = started.into_iter().map(|fiber| fiber.join()).sum();
    assert_eq!(object.apply(const { |value| *value }), asked, "bytes were lost");
}

fn take(value: &mut u64, bytes: Vec<u8>) -> u64 {
    *value += bytes.len() as u64;
    bytes.last().copied().unwrap_or(0).into()
}

fn sender((bytes, object): (usize, Trust<u64>)) -> u64 {
    let (data, mut asked) = (vec![7; bytes], 0);
    while !METER.stopped() {
        assert_eq!(object.apply_with(take, data.clone()), 7);
        METER.add(0, data.len() as u64);
        asked += data.len() as u64;
    }
    asked
}
