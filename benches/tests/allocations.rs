//! Allocations of a request to another node, over each fabric, and of one of a socket, counted by an allocator.
#![expect(unsafe_code, reason = "an allocator is unsafe to be one; this one leaves all to the system's")]
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use gossamer::net::{TcpListener, TcpStream};
use gossamer::{Config, FabricChoice, Trust, Trustee, rack};
use integration_tests::{isolated, simulate_rdma, watched};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

struct Counting;

/// Of all workers of the process.
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Whether this thread is a worker: the one that watches them allocates now and then.
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
}

// SAFETY: the system's allocator is one.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if IS_WORKER.get() {
            ALLOCATIONS.fetch_add(1, Relaxed);
        }
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: the caller's.
        unsafe { System.dealloc(start, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Requests whose allocations are counted together, and how often that is done.
const REQUESTS: u64 = 1000;
const WINDOWS: usize = 20;

/// Has the allocations of all workers counted from here on.
#[gossamer::delegate]
fn count_on_workers() {
    for worker in Trustee::all() {
        gossamer::spawn_on(worker, || IS_WORKER.set(true)).join();
    }
}

#[gossamer::delegate]
fn add(sum: &Trust<u64>, number: u64) {
    sum.apply_with(|sum, number| *sum += number, number);
}

/// The fewest allocations of this many requests.
#[gossamer::delegate]
fn fewest() -> u64 {
    count_on_workers();
    let there = rack::nodes()[1].workers()[0];
    let sum = there.entrust(0);
    // Whatever grows, grows now.
    (0..REQUESTS).for_each(|number| add(&sum, number));
    let window = |_| {
        let before = ALLOCATIONS.load(Relaxed);
        (0..REQUESTS).for_each(|number| add(&sum, number));
        ALLOCATIONS.load(Relaxed) - before
    };
    (0..WINDOWS).map(window).min().unwrap_or(u64::MAX)
}

#[test]
fn a_small_request_to_another_node_allocates_nothing_over_any_fabric() {
    for fabric in [FabricChoice::Shm, FabricChoice::Tcp, FabricChoice::Verbs] {
        watched(move || {
            isolated(move || {
                simulate_rdma();
                let config = Config::default().threads(1).pin(false).fabric(fabric);
                assert_eq!(rack::run_in_process(2, config, fewest), 0, "{fabric:?}");
            });
        });
    }
}

/// The fewest allocations of this many requests of a socket, with their answers, between two fibers.
fn fewest_of_a_socket() -> u64 {
    count_on_workers();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut asking = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (answering, _) = listener.accept().unwrap();
    let server = gossamer::spawn_with(
        |mut answering: TcpStream| {
            let mut buffer = [0; 64];
            while let Ok(length @ 1..) = answering.read(&mut buffer) {
                answering.write_all(&buffer[..length]).unwrap();
            }
        },
        answering,
    );
    let mut ask = || {
        asking.write_all(&[7; 32]).unwrap();
        asking.read_exact(&mut [0; 32]).unwrap();
    };
    // Whatever grows, grows now.
    (0..REQUESTS).for_each(|_| ask());
    let window = |_| {
        let before = ALLOCATIONS.load(Relaxed);
        (0..REQUESTS).for_each(|_| ask());
        ALLOCATIONS.load(Relaxed) - before
    };
    let fewest = (0..WINDOWS).map(window).min().unwrap_or(u64::MAX);
    drop(asking);
    server.join();
    fewest
}

#[test]
fn a_request_of_a_socket_and_its_answer_allocate_nothing() {
    for workers in [1, 2] {
        watched(move || {
            isolated(move || {
                let config = Config::default().threads(workers).pin(false);
                assert_eq!(gossamer::run(config, fewest_of_a_socket), 0, "{workers} workers");
            });
        });
    }
}
