//! A program for tests of racks of processes: its first argument says what its `main` does.
#![allow(clippy::unwrap_used, reason = "a test that starts it fails by it")]

use gossamer::stream::{self, Geometry, ReceiveEnd, SendEnd};
use gossamer::{Trust, Trustee, rack, spawn_on_with};
use std::process;
use std::time::Duration;

fn main() {
    let what = std::env::args().nth(1).unwrap_or_default();
    let goes_on = what == "go on";
    let goes_on_for_long = what == "go on for long";
    let outcome = gossamer::try_run(gossamer::Config::default(), move || work(&what));
    if goes_on {
        // Longer than a launcher waits for the others.
        std::thread::sleep(Duration::from_secs(3));
        println!("node 0 has gone on");
    }
    if let Err(error) = outcome {
        eprintln!("rack_program: {error}");
        if goes_on_for_long {
            std::thread::sleep(Duration::from_secs(3600));
        }
        process::exit(2);
    }
}

/// Does what its argument says, on node 0; the other nodes help.
#[gossamer::delegate]
fn work(what: &str) {
    let nodes = rack::nodes();
    match what {
        "sum" => {
            sum();
            rack::wait_all();
        }
        "go on" | "go on for long" => {}
        // Until something ends it.
        "repeat" => loop {
            sum();
        },
        "requests" => requests(std::env::var("REQUESTS").unwrap().parse().unwrap()),
        "say" => say(&std::env::var("SAID").unwrap()),
        "stream" => stream_around(),
        "no descriptors" => stream_without_descriptors(),
        "panic" => panic!("as asked for"),
        "sleep" => {
            println!("{} nodes are up", nodes.len());
            gossamer::sleep(Duration::from_secs(3600));
        }
        "die" => {
            let last = nodes[nodes.len() - 1].workers()[0];
            spawn_on_with(last, |()| -> () { process::abort() }, ()).join();
        }
        "fault" => {
            let last = nodes[nodes.len() - 1].workers()[0];
            fault_there(last, 64);
        }
        "overflow" => {
            let last = nodes[nodes.len() - 1].workers()[0];
            spawn_on_with(last, |()| overflow(0), ()).join();
        }
        "linger" => {
            let last = nodes[nodes.len() - 1].workers()[0];
            let begun = gossamer::entrust(false);
            let _detached = spawn_on_with(
                last,
                |begun: Trust<bool>| -> () {
                    begun.apply(|begun| *begun = true);
                    loop {
                        std::thread::park();
                    }
                },
                begun.clone(),
            );
            while !begun.apply(|begun| *begun) {
                gossamer::sleep(Duration::from_millis(1));
            }
        }
        // The last node is ended while all others wait.
        "wait for all" => {
            for node in &nodes[..nodes.len() - 1] {
                let _detached = spawn_on_with(node.workers()[0], |()| rack::wait_all(), ());
            }
            let last = nodes[nodes.len() - 1].workers()[0];
            let ends = const {
                |()| -> () {
                    gossamer::sleep(Duration::from_millis(50));
                    process::exit(7)
                }
            };
            let _detached = spawn_on_with(last, ends, ());
            rack::wait_all();
        }
        "exit" => {
            let last = nodes[nodes.len() - 1].workers()[0];
            spawn_on_with(last, |()| -> () { process::exit(7) }, ()).join();
        }
        "addresses" => {
            let address = const { |()| (work as *const () as usize, process::id()) };
            for node in nodes {
                let (address, process) = spawn_on_with(node.workers()[0], address, ()).join();
                println!("{process} {address:x}");
            }
        }
        "deadlock" => {
            integration_tests::launch_crosswise(nodes[0].workers()[0], nodes[nodes.len() - 1].workers()[0])
        }
        "hang" => {
            let way = std::env::args().nth(2).unwrap();
            integration_tests::hang(&way, nodes[nodes.len() - 1].workers()[0]);
        }
        other => panic!("`{other}` is nothing that this program does"),
    }
}

/// This many small requests to the last node, one at a time.
#[gossamer::delegate]
fn requests(count: u64) {
    let nodes = rack::nodes();
    let sum = nodes[nodes.len() - 1].workers()[0].entrust(0_u64);
    for number in 0..count {
        sum.apply_with(|sum, number| *sum += number, number);
    }
    println!("{}", sum.apply(|sum| *sum));
}

/// Tells the last node a text, again and again.
#[gossamer::delegate]
fn say(text: &str) {
    let nodes = rack::nodes();
    let all = nodes[nodes.len() - 1].workers()[0].entrust(String::new());
    for _ in 0..20 {
        all.apply_with(|all, text: String| all.push_str(&text), text.to_owned());
    }
    println!("{}", all.apply(|all| all.len()));
}

/// Reads an address that nobody may read.
#[gossamer::delegate]
fn fault_there(last: Trustee, address: usize) {
    last.entrust(0_u64).apply(move |sum| {
        // SAFETY: there is none; that is the point.
        *sum = unsafe { std::ptr::without_provenance::<u64>(address).read_volatile() };
    });
}

fn overflow(depth: u64) -> u64 {
    let frame = std::hint::black_box([depth; 64]);
    if depth == u64::MAX { 0 } else { overflow(depth + 1) + frame[0] }
}

/// Fibers on all workers add to properties on all workers, with trusts and text that cross nodes.
#[gossamer::delegate]
fn sum() {
    let sums: Vec<Trust<u64>> = Trustee::all().iter().map(|there| there.entrust(0)).collect();
    let add = const {
        |number: usize, sums: Vec<Trust<u64>>| {
            for sum in &sums {
                sum.apply_with(|sum, number| *sum += number, number as u64);
            }
            format!("{:>1$}", number, number % 300)
        }
    };
    let texts = gossamer::spawn_many_with(400, add, sums.clone()).join();
    let lengths: usize = texts.iter().map(|text| text.trim().len()).sum();
    let sums: Vec<u64> = sums.iter().map(|sum| sum.apply(|sum| *sum)).collect();
    assert!(sums.iter().all(|sum| *sum == 399 * 400 / 2), "{sums:?}");
    println!("{lengths} digits, {} processes", rack::on_each_node(|()| process::id(), ()).len());
}

/// Each node streams to the next, all at once.
#[gossamer::delegate]
fn stream_around() {
    const COUNT: u64 = 1 << 20;
    let send = const {
        |(end, count): (SendEnd, u64)| {
            let mut sender = end.open().unwrap();
            for first in (0..count).step_by(1000) {
                let numbers: Vec<u8> = (first..count.min(first + 1000)).flat_map(u64::to_ne_bytes).collect();
                sender.write_everything(&numbers).unwrap();
            }
            sender.finish().unwrap();
        }
    };
    let receive = const {
        |end: ReceiveEnd| {
            let mut receiver = end.open().unwrap();
            let mut sum = 0_u64;
            receiver.for_each_slice(|numbers: &[u64]| sum += numbers.iter().sum::<u64>()).unwrap();
            receiver.finish().unwrap();
            sum
        }
    };
    let workers: Vec<Trustee> = rack::nodes().iter().map(|node| node.workers()[0]).collect();
    let streams = workers.iter().zip(workers.iter().cycle().skip(1)).map(|(from, to)| {
        let (send_end, receive_end) = stream::channel(*from, *to, 8 * COUNT, Geometry::default()).unwrap();
        (spawn_on_with(*from, send, (send_end, COUNT)), spawn_on_with(*to, receive, receive_end))
    });
    let streams: Vec<_> = streams.collect();
    let sums: Vec<u64> =
        streams.into_iter().map(|(sending, receiving)| (sending.join(), receiving.join()).1).collect();
    let are_right = sums.iter().all(|sum| *sum == COUNT * (COUNT - 1) / 2);
    println!("{} streams, all are right: {are_right}", sums.len());
}

/// Streams one end of which cannot be opened, because its node has no descriptor left: at first the first end, then the
/// second.
#[gossamer::delegate]
fn stream_without_descriptors() {
    let nodes = rack::nodes();
    let [here, there] = [nodes[0].workers()[0], nodes[nodes.len() - 1].workers()[0]];
    for delay in [Duration::ZERO, Duration::from_millis(300)] {
        let (send, receive) = stream::channel(here, there, 8_u64, Geometry::default()).unwrap();
        let receiving = spawn_on_with(
            there,
            |(receive, delay): (ReceiveEnd, Duration)| {
                gossamer::sleep(delay);
                let few = libc::rlimit { rlim_cur: 64, rlim_max: 64 };
                // SAFETY: `few` is a valid limit, of this process alone.
                assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const few) }, 0);
                let _all: Vec<_> = std::iter::from_fn(|| std::fs::File::open("/dev/null").ok()).collect();
                receive.open().unwrap_err().to_string()
            },
            (receive, delay),
        );
        gossamer::sleep(Duration::from_millis(300).saturating_sub(delay));
        println!("sender: {}", send.open().unwrap_err());
        println!("receiver: {}", receiving.join());
    }
}
