//! What the fibers of the rack do, and the rows that node 0 prints meanwhile.

use crate::memory::{Memory, trim};
use crate::options::Options;
use benches::machine;
use benches::random::Random;
use gossamer::stream::{self, Geometry, ReceiveEnd, SendEnd};
use gossamer::{Config, Latch, NoRef, Trust, Trustee, rack, spawn_on_with};
use std::io::{Read as _, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How many operations this node has done.
static DONE: AtomicU64 = AtomicU64::new(0);
/// Fibers of this node that operations have started and that have not ended.
static FIBERS: AtomicU64 = AtomicU64::new(0);
const MEBIBYTE: f64 = (1 << 20) as f64;
const LARGEST: usize = 4 << 20;

/// What all fibers use.
#[derive(NoRef, Clone)]
struct Objects {
    counts: Vec<Trust<u64>>,
    latches: Vec<Trust<Latch<u64>>>,
}

/// A fiber that is counted.
struct Counted;

impl Counted {
    fn new() -> Self {
        FIBERS.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        FIBERS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Runs as a node, as the environment says.
///
/// # Errors
/// If the rack does not start.
pub fn run(options: Options) -> Result<(), String> {
    // A panic is one of the operations: a line for each would be most of the output.
    std::panic::set_hook(Box::new(|panic| {
        let is_wanted =
            panic.payload().downcast_ref::<String>().is_some_and(|text| text.starts_with("wanted"));
        if !is_wanted {
            eprintln!("{panic}");
        }
    }));
    gossamer::try_run(Config::default().pin(false), move || soak(options)).map_err(|error| error.to_string())
}

/// On node 0: starts the fibers, and prints a row now and then.
#[gossamer::delegate]
fn soak(options: Options) {
    let all = Trustee::all();
    let objects = Objects {
        counts: all.iter().map(|worker| worker.entrust(0)).collect(),
        latches: all.iter().map(|worker| worker.entrust(Latch::new(0))).collect(),
    };
    let Options { nodes, threads, over, rate, .. } = &options;
    println!(
        "Machine: {}. {nodes} nodes x {threads} workers over {over}, {rate} operations a second.\n",
        machine::description()
    );
    println!(
        "| minutes | operations | resident | heap and threads | fibers' stacks | shared | allocated | held by the allocator | fibers |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let begin = Instant::now();
    let workers = all.iter().enumerate().flat_map(|(index, worker)| {
        let seeds = (0..options.fibers).map(move |fiber| (index as u64) << 32 | fiber);
        seeds.map(|seed| (*worker, seed)).collect::<Vec<_>>()
    });
    let parameters = |seed| (objects.clone(), seed, options.time(), options.pace());
    let fibers: Vec<_> = workers
        .map(|(worker, seed)| spawn_on_with(worker, |parameters| work(parameters), parameters(seed)))
        .collect();
    for row in 0..=options.rows {
        let due = begin
            + options.time() * u32::try_from(row).unwrap_or(0) / u32::try_from(options.rows).unwrap_or(1);
        gossamer::sleep(due.saturating_duration_since(Instant::now()));
        print_row(&format!("{:.1}", begin.elapsed().as_secs_f64() / 60.0));
    }
    fibers.into_iter().for_each(|fiber| fiber.join());
    rack::wait_all();
    print_row("all done");
    rack::on_each_node(|()| trim(), ());
    print_row("returned");
}

/// Totals of all nodes.
#[gossamer::delegate]
fn print_row(name: &str) {
    let found = rack::on_each_node(
        |()| (Memory::now(), DONE.load(Ordering::Relaxed), FIBERS.load(Ordering::Relaxed)),
        (),
    );
    let memory: Memory = found.iter().map(|(memory, ..)| *memory).sum();
    let mebibytes = |bytes: u64| format!("{:.1}", bytes as f64 / MEBIBYTE);
    let [done, fibers] =
        [found.iter().map(|node| node.1).sum::<u64>(), found.iter().map(|node| node.2).sum::<u64>()];
    let Memory { resident, private, stacks, shared, allocated, held } = memory;
    let cells = [resident, private, stacks, shared, allocated, held].map(mebibytes).join(" | ");
    println!("| {name} | {done} | {cells} | {fibers} |");
    let _ = std::io::stdout().flush(); // may be a pipe that nobody reads
}

/// A fiber: does operations until the time is up.
fn work((objects, seed, time, pace): (Objects, u64, Duration, Duration)) {
    let _counted = Counted::new();
    let mut random = Random::new(seed as usize);
    let begin = Instant::now();
    while begin.elapsed() < time {
        operation(&objects, &mut random);
        DONE.fetch_add(1, Ordering::Relaxed);
        gossamer::sleep(pace);
    }
}

fn operation(objects: &Objects, random: &mut Random) {
    let worker = random.below(objects.counts.len());
    match random.below(96) {
        0..28 => echo(&objects.counts[worker], random),
        28..44 => add(&objects.counts[worker], random),
        44..52 => spawn_deep((random.below(4), objects.counts[worker].clone(), random.draw())),
        52..60 => launch(&objects.latches[worker], &objects.counts[worker]),
        60..72 => come_and_go(random),
        72..84 => fail(&objects.counts[worker], random),
        84..95 => wait_for_several(&objects.counts[worker], random),
        _ => stream(random),
    }
}

/// Lengths of values: mostly short, now and then very long.
fn length(random: &mut Random) -> usize {
    match random.below(100) {
        0..10 => 0,
        10..50 => random.below(300),
        50..80 => random.below(5000),
        80..97 => random.below(100_000),
        _ => random.below(LARGEST),
    }
}

/// Bytes that can be told apart from others of the same length.
fn bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut random = Random::new(seed as usize);
    (0..length.div_ceil(8)).flat_map(|_| random.draw().to_ne_bytes()).take(length).collect()
}

#[gossamer::delegate]
fn echo(count: &Trust<u64>, random: &mut Random) {
    let (seed, there, back) = (random.draw(), length(random), length(random));
    let (arrived, value) = count.apply_with(
        |_, (value, seed, there, back): (Vec<u8>, u64, usize, usize)| {
            (value == bytes(seed, there), bytes(!seed, back))
        },
        (bytes(seed, there), seed, there, back),
    );
    assert!(arrived && value == bytes(!seed, back), "{there} bytes there and {back} back");
}

#[gossamer::delegate]
fn add(count: &Trust<u64>, random: &mut Random) {
    for _ in 0..random.below(200) {
        count.apply_with_then(|count, by| *count = count.wrapping_add(by), random.draw(), |()| {});
    }
    count.apply(|_| ());
}

/// Fibers that start fibers on workers anywhere.
#[gossamer::delegate]
fn spawn_deep((depth, count, seed): (usize, Trust<u64>, u64)) {
    let _counted = Counted::new();
    count.apply(|count| *count = count.wrapping_add(1));
    if depth > 0 {
        let all = Trustee::all();
        let next = all[(seed >> (8 * depth)) as usize % all.len()];
        spawn_on_with(next, |deeper| spawn_deep(deeper), (depth - 1, count, seed)).join();
    }
}

#[gossamer::delegate]
fn launch(latch: &Trust<Latch<u64>>, count: &Trust<u64>) {
    let held = latch.launch_with(
        |held, count: Trust<u64>| {
            count.apply(|count| *count = count.wrapping_add(1));
            *held += 1;
            *held
        },
        count.clone(),
    );
    assert!(held > 0, "a latch has lost what it holds");
}

/// A property with many trusts that is dropped.
#[gossamer::delegate]
fn come_and_go(random: &mut Random) {
    let all = Trustee::all();
    let value = random.draw();
    let trust = all[random.below(all.len())].entrust_with(|value: u64| vec![value; 100], value);
    let clones: Vec<_> = (0..1 + random.below(20)).map(|_| trust.clone()).collect();
    let there = all[random.below(all.len())];
    let fiber = spawn_on_with(
        there,
        |(clones, value): (Vec<Trust<Vec<u64>>>, u64)| {
            let _counted = Counted::new();
            clones.iter().all(|clone| clone.apply_with(|values, value| values[99] == value, value))
        },
        (clones, value),
    );
    assert!(fiber.join(), "a property has lost its value");
}

#[gossamer::delegate]
fn fail(count: &Trust<u64>, random: &mut Random) {
    let outcome = count.try_apply_with(|_, number: u64| -> u64 { panic!("wanted {number}") }, random.draw());
    assert!(outcome.is_err_and(|error| error.to_string().contains("wanted")), "a panic got lost");
}

#[gossamer::delegate]
fn wait_for_several(count: &Trust<u64>, random: &mut Random) {
    let pending: Vec<_> = (0..1 + random.below(30))
        .map(|number| (number, count.apply_with_async(|_, number: usize| vec![7_u8; 50 * number], number)))
        .collect();
    assert!(
        pending.into_iter().all(|(number, pending)| pending.wait().len() == 50 * number),
        "an answer got lost"
    );
}

#[gossamer::delegate]
fn stream(random: &mut Random) {
    let all = Trustee::all();
    let [from, to] = [(), ()].map(|()| all[random.below(all.len())]);
    let (length, seed) = (random.below(3_000_000), random.draw());
    let geometry = Geometry::new().block(1 << 16).ahead(2).comeback(1);
    let ends = stream::channel(from, to, length as u64, geometry);
    let Ok((send, receive)) = ends else { panic!("no channel: {:?}", ends.err()) };
    let sending = spawn_on_with(
        from,
        |(send, length, seed): (SendEnd, usize, u64)| -> Result<(), String> {
            let _counted = Counted::new();
            let mut sender = send.open().map_err(|error| error.to_string())?;
            sender.write_everything(&bytes(seed, length)).map_err(|error| error.to_string())?;
            sender.finish().map_err(|error| error.to_string())
        },
        (send, length, seed),
    );
    let receiving = spawn_on_with(
        to,
        |(receive, length, seed): (ReceiveEnd, usize, u64)| -> Result<bool, String> {
            let _counted = Counted::new();
            let (mut receiver, mut read) = (receive.open().map_err(|error| error.to_string())?, Vec::new());
            receiver.read_to_end(&mut read).map_err(|error| error.to_string())?;
            receiver.finish().map_err(|error| error.to_string())?;
            Ok(read == bytes(seed, length))
        },
        (receive, length, seed),
    );
    assert_eq!((sending.join(), receiving.join()), (Ok(()), Ok(true)), "a stream of {length} bytes");
}
