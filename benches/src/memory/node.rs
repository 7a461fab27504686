//! The program of a rack whose memory is measured.

use gossamer::{Config, Trust, Trustee, rack, spawn_on_with};
use std::collections::HashSet;
use std::sync::Mutex;
use std::time::Duration;

/// What is printed before the figures of each node.
pub(super) const MARK: &str = "memory of a node:";

/// What a process has.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// Bytes, without pages of files; shared ones are divided among the processes that share them.
    resident: u64,
    sockets: u64,
    descriptors: u64,
}

/// What this process had just before a lane was made.
static BEFORE: Mutex<State> = Mutex::new(State { resident: 0, sockets: 0, descriptors: 0 });
/// What it had when it started: only the descriptors inherited from its parent.
static START: Mutex<State> = Mutex::new(State { resident: 0, sockets: 0, descriptors: 0 });

/// How often memory is looked at before there are lanes.
const LOOK: Duration = Duration::from_millis(10);
/// How long the workers have to start.
const QUIET: Duration = Duration::from_millis(500);
/// Requests on each lane, one at a time: more than it has slots.
const REQUESTS: u64 = 80;

fn lock(state: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl State {
    fn now() -> Self {
        let rollup = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
        // Not that of files: how much of it is a process's own depends on what other processes run.
        let of_a_kind = |kind: &str| {
            let line = rollup.lines().find_map(|line| line.strip_prefix(kind));
            line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok()).unwrap_or(0)
        };
        let kibibytes = of_a_kind("Pss_Anon:") + of_a_kind("Pss_Shmem:");
        let links = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
        let links: Vec<_> = links.filter_map(|entry| std::fs::read_link(entry.path()).ok()).collect();
        let is_socket = |link: &&std::path::PathBuf| link.to_string_lossy().starts_with("socket:");
        let sockets: HashSet<_> = links.iter().filter(is_socket).collect();
        Self { resident: kibibytes << 10, sockets: sockets.len() as u64, descriptors: links.len() as u64 }
    }
}

/// Runs as a node, as the environment says; node 0 prints what all nodes have.
pub fn run() {
    *lock(&START) = State::now();
    std::thread::spawn(|| {
        // Until a lane is used.
        while lock(&BEFORE).descriptors == 0 {
            let state = State::now();
            let mut before = lock(&BEFORE);
            if before.descriptors == 0 {
                before.resident = state.resident;
            }
            drop(before);
            std::thread::sleep(LOOK);
        }
    });
    gossamer::run(Config::default().pin(false), || {
        gossamer::sleep(QUIET);
        rack::on_each_node(const { |()| lock(&BEFORE).descriptors = 1 }, ());
        use_all_lanes();
        for figures in rack::on_each_node(const { |()| figures() }, ()) {
            println!("{MARK} {figures}");
        }
    });
}

/// Every worker asks every worker, in turn.
///
/// # Panics
/// If a request is lost.
#[gossamer::delegate]
pub fn use_all_lanes() {
    let counts: Vec<Trust<u64>> = Trustee::all().iter().map(|there| there.entrust(0)).collect();
    let ask = const {
        |counts: Vec<Trust<u64>>| {
            for _ in 0..REQUESTS {
                counts.iter().for_each(|count| count.apply(|count| *count += 1));
            }
        }
    };
    let fibers: Vec<_> =
        Trustee::all().into_iter().map(|worker| spawn_on_with(worker, ask, counts.clone())).collect();
    let workers = fibers.len() as u64;
    fibers.into_iter().for_each(|fiber| fiber.join());
    assert!(counts.iter().all(|count| count.apply(|count| *count) == workers * REQUESTS));
}

fn figures() -> String {
    let (start, before, now) = (*lock(&START), *lock(&BEFORE), State::now());
    format!(
        "{} {} {} {}",
        before.resident,
        now.resident.saturating_sub(before.resident),
        // But for the socket at which the process can be looked at.
        now.sockets - start.sockets - 1,
        now.descriptors - start.descriptors
    )
}
