//! Asking the workers of a node, and summarising their answers.

use crate::inspect::backtraces;
use crate::inspect::identity::NodeIdentity;
use crate::inspect::report::{
    Dependency, FiberGroup, FiberId, FiberLink, NodeReport, WaitReport, WorkerReport,
};
use crate::inspect::threads;
use crate::lane::constant::ClosurePath;
use crate::lane::place::Places;
use crate::lane::property::Root;
use crate::sys::fibers::fiber::FiberState;
use crate::sys::fibers::wait::{FiberName, WaitsOn, is_in_std};
use crate::worker::shared::Shared;
use crate::worker::watch::record::{FiberRecord, WorkerRecord, records};
use std::any::type_name;
use std::collections::{BTreeMap, HashMap};
use std::panic::Location;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Time between two looks.
const BETWEEN: Duration = Duration::from_millis(200);

/// A report of each runtime of this process that has not ended. It takes as long as the workers take to answer, but
/// at most a second.
pub(crate) fn reports() -> Vec<NodeReport> {
    Shared::all().iter().map(|runtime| report(runtime)).collect()
}

/// Like `reports`, with a backtrace of one fiber of each waiting group.
pub(crate) fn reports_with_backtraces() -> Vec<NodeReport> {
    let report = |runtime: &Arc<Shared>| {
        let (mut report, examples) = report_with_examples(runtime);
        backtraces::add(runtime, &mut report.fibers, &examples);
        report
    };
    Shared::all().iter().map(report).collect()
}

/// Two looks, far enough from each other to know which fibers wait for each other; one, where none may.
pub(crate) fn two_looks(look: impl Fn() -> Vec<NodeReport>) -> (Vec<NodeReport>, Vec<NodeReport>) {
    let first = look();
    if first.iter().all(|report| report.links.is_empty()) {
        return (Vec::new(), first);
    }
    thread::sleep(BETWEEN);
    (first, look())
}

/// A report of one node.
pub(crate) fn report(runtime: &Shared) -> NodeReport {
    report_with_examples(runtime).0
}

/// A report of one node, and a fiber of each group.
fn report_with_examples(runtime: &Shared) -> (NodeReport, Vec<FiberName>) {
    let asked = Instant::now();
    // Before the fibers: a thread may end one's wait, and end itself.
    let other_threads = threads::others();
    let (mut workers, mut groups, mut links) = (Vec::new(), BTreeMap::new(), Vec::new());
    let records = records(runtime);
    let meetings = meetings(&records);
    for (place, record) in records.into_iter().enumerate() {
        let (index, mailbox) = (runtime.first + place, &runtime.mailboxes[place]);
        let waited = |since: Option<Instant>| {
            since.map_or(0, |since| asked.saturating_duration_since(since).as_millis() as u64)
        };
        let mut worker = WorkerReport {
            worker: index as u32,
            answered: record.is_some(),
            is_asleep: mailbox.doorbell.is_asleep(),
            runs: String::new(),
            still_for: 0,
            fibers: 0,
            jobs: 0,
            unanswered: 0,
        };
        match record {
            None => {
                worker.runs = mailbox.view.running();
                worker.still_for = waited(mailbox.turn_log.seen_in(mailbox.view.turns()));
            }
            Some(record) => {
                worker.fibers = record.fibers.len() as u64;
                worker.jobs = record.jobs as u64;
                worker.unanswered = record.outstanding as u64;
                for fiber in &record.fibers {
                    let waited = waited(mailbox.turn_log.waits_since(fiber.resumed));
                    add(&mut groups, fiber, &meetings, waited);
                    links.extend(link(fiber, &meetings, waited));
                }
            }
        }
        workers.push(worker);
    }
    let fibers = groups.into_iter().map(|((spawned_at, state, wait), doing)| {
        let group = FiberGroup {
            count: doing.count,
            workers: doing.workers,
            spawned_at,
            state: state.to_owned(),
            wait,
            waited: doing.waited,
            backtrace: Vec::new(),
        };
        (group, doing.example)
    });
    let mut fibers: Vec<_> = fibers.collect();
    fibers.sort_by_key(|(group, _)| std::cmp::Reverse(group.count));
    let (fibers, examples) = fibers.into_iter().unzip();
    (NodeReport { identity: NodeIdentity::of(runtime), workers, other_threads, fibers, links }, examples)
}

/// What the fibers of one entry do.
type Doing = (String, &'static str, Option<WaitReport>);

struct Doers {
    count: u64,
    example: FiberName,
    workers: Vec<u32>,
    waited: (u64, u64),
}

fn add(groups: &mut BTreeMap<Doing, Doers>, fiber: &FiberRecord, meetings: &Meetings, waited: u64) {
    let doing = (fiber.spawned_at.to_string(), state(fiber.state), wait(fiber, meetings));
    let (example, worker) = (fiber.name, fiber.name.worker);
    let first = || Doers { count: 0, example, workers: Vec::new(), waited: (waited, 0) };
    let doers = groups.entry(doing).or_insert_with(first);
    doers.count += 1;
    // In order: workers are asked in order, too.
    if doers.workers.last() != Some(&worker) {
        doers.workers.push(worker);
    }
    doers.waited = (doers.waited.0.min(waited), doers.waited.1.max(waited));
}

fn state(state: FiberState) -> &'static str {
    match state {
        FiberState::Parked => "waits",
        FiberState::Unwinding => "unwinds",
        FiberState::Running | FiberState::Idle => "runs",
        FiberState::Ready => "is ready",
    }
}

/// How many fibers wait at each barrier, by its address.
type Meetings = HashMap<usize, u32>;

fn meetings(records: &[Option<WorkerRecord>]) -> Meetings {
    let mut meetings = Meetings::new();
    let fibers = records.iter().flatten().flat_map(|record| &record.fibers);
    for fiber in fibers.filter(|fiber| fiber.state == FiberState::Parked) {
        if let Some(WaitsOn::Barrier { address, .. }) = fiber.wait.map(|wait| wait.on) {
            *meetings.entry(address).or_default() += 1;
        }
    }
    meetings
}

/// The call in which a fiber waits.
fn wait(fiber: &FiberRecord, meetings: &Meetings) -> Option<WaitReport> {
    if !matches!(fiber.state, FiberState::Parked | FiberState::Unwinding) {
        return None;
    }
    if let Some(answer) = fiber.answer {
        let property = (answer.names.property)();
        // A request to the trustee itself.
        let makes_one = property == type_name::<Root>();
        return Some(WaitReport {
            call: if makes_one { "entrust" } else { "apply" }.to_owned(),
            at: place(answer.at),
            what: None,
            closure: Some(closure((answer.names.closure)())),
            property: Some(property.to_owned()).filter(|_| !makes_one),
            worker: Some(answer.trustee),
            is_internal: true,
        });
    }
    let wait = fiber.wait?;
    let (what, named, worker) = match wait.on {
        WaitsOn::Result { of, worker } => (None, Some(closure(of())), Some(worker)),
        WaitsOn::Job { worker, .. } => (Some("a fiber".to_owned()), None, Some(worker)),
        WaitsOn::Worker(worker) => (None, None, Some(worker)),
        WaitsOn::Latch(_) => (Some("its turn at the latch".to_owned()), None, None),
        WaitsOn::Barrier { address, parties } => {
            let have_come = meetings.get(&address).copied().unwrap_or_default();
            (Some(format!("the others: {have_come} of {parties} have come")), None, None)
        }
        WaitsOn::Event | WaitsOn::Others => (None, None, None),
    };
    Some(WaitReport {
        call: wait.call.to_owned(),
        at: place(wait.at),
        what,
        closure: named,
        property: None,
        worker,
        is_internal: !matches!(wait.on, WaitsOn::Event),
    })
}

/// The path of a closure, and its line if the macros have noted it.
fn closure(name: &str) -> String {
    format!("`{}`{}", ClosurePath(name), Places(name))
}

/// A line of the program; `None` for one of this library or of std, whose functions do not all know their callers.
fn place(at: &Location<'_>) -> Option<String> {
    let library = file!().strip_suffix("inspect/collect.rs").unwrap_or_default();
    (!at.file().starts_with(library) && !is_in_std(at)).then(|| at.to_string())
}

/// A fiber, as one of those that wait for each other, if it can be one.
fn link(fiber: &FiberRecord, meetings: &Meetings, waited: u64) -> Option<FiberLink> {
    let dependency = match fiber.wait.filter(|_| fiber.answer.is_none()).map(|wait| wait.on) {
        Some(WaitsOn::Job { worker, job }) if fiber.state == FiberState::Parked => {
            Dependency::Job(worker, job)
        }
        Some(WaitsOn::Latch(address)) if fiber.state == FiberState::Parked => {
            Dependency::Latch(address as u64)
        }
        _ => Dependency::Unknown,
    };
    // A fiber that waits for no fiber, or that nothing waits for, goes on by itself.
    (dependency != Dependency::Unknown || !fiber.latches.is_empty()).then(|| FiberLink {
        fiber: FiberId { worker: fiber.name.worker, serial: fiber.name.serial },
        job: fiber.job,
        spawned_at: fiber.spawned_at.to_string(),
        resumed: fiber.resumed,
        wait: wait(fiber, meetings),
        dependency,
        latches: fiber.latches.iter().map(|address| *address as u64).collect(),
        waited,
    })
}
