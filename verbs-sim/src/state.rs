//! Everything that the simulated devices of this process consist of, behind one lock.

use crate::completion_queues::CompletionQueue;
use crate::config::{DeviceConfig, Machine};
use crate::delivery;
use crate::events::{AsyncEvent, EventQueue};
use crate::faults::Counters;
use crate::memory::Regions;
use crate::queue_pairs::QueuePair;
use crate::transport::Network;
use fastrand::Rng;
use libc::{EIO, c_int};
use rustix::event::{EventfdFlags, eventfd};
use std::collections::{BTreeSet, HashMap};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, Once, PoisonError};

/// There is one in a process.
pub(crate) struct Simulation {
    state: Mutex<State>,
    /// Some event was acknowledged.
    pub acknowledged: Condvar,
}

pub(crate) struct State {
    pub is_supported: bool,
    pub devices: Vec<Device>,
    // By handle; no two objects have the same handle, whatever their kinds.
    pub contexts: HashMap<u32, Context>,
    pub domains: HashMap<u32, Domain>,
    pub regions: Regions,
    pub channels: HashMap<u32, Channel>,
    pub queues: HashMap<u32, CompletionQueue>,
    pub pairs: HashMap<u32, QueuePair>,
    /// The handles of queue pairs by their number.
    pub numbers: HashMap<u32, u32>,
    /// Events that were taken and not acknowledged, by the handle of the object that they are about.
    pub unacknowledged: HashMap<u32, u32>,
    pub network: Network,
    pub random: Rng,
    pub counters: Counters,
    /// Queue pairs that may have something to do.
    pub active: BTreeSet<u32>,
    /// Queue pairs that wait for a certain time.
    pub waiting: BTreeSet<u32>,
    /// Completion queues with completions that nobody can poll yet.
    pub late: BTreeSet<u32>,
    /// The delivery thread sleeps until its doorbell rings.
    pub is_asleep: bool,
    pub doorbell: Arc<OwnedFd>,
    last_handle: u32,
}

pub(crate) struct Device {
    pub config: DeviceConfig,
    pub is_fatal: bool,
    /// Work requests that it began to carry out.
    pub carried_out: u64,
}

pub(crate) struct Context {
    pub device: usize,
    pub events: EventQueue<AsyncEvent>,
}

pub(crate) struct Domain {
    pub context: u32,
}

pub(crate) struct Channel {
    pub context: u32,
    /// Completion queues by handle.
    pub events: EventQueue<u32>,
}

static SIMULATION: LazyLock<Simulation> =
    LazyLock::new(|| Simulation { state: Mutex::new(State::new()), acknowledged: Condvar::new() });
static DELIVERY: Once = Once::new();

pub(crate) fn simulation() -> &'static Simulation {
    &SIMULATION
}

pub(crate) fn lock() -> MutexGuard<'static, State> {
    SIMULATION.state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Simulation {
    /// Waits until all events about an object that were taken are also acknowledged.
    pub(crate) fn wait_for_acknowledgement(&self, mut state: MutexGuard<'_, State>, handle: u32) {
        while state.unacknowledged.get(&handle).is_some_and(|count| *count > 0) {
            state = self.acknowledged.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.unacknowledged.remove(&handle);
    }
}

/// From now on the devices carry out what is asked of them.
pub(crate) fn start_delivery() {
    DELIVERY.call_once(delivery::start);
}

impl State {
    fn new() -> Self {
        let (is_supported, configs) = match Machine::from_environment() {
            Machine::Unsupported => (false, Vec::new()),
            Machine::Devices(configs) => (true, configs),
        };
        let device = |config| Device { config, is_fatal: false, carried_out: 0 };
        let seed = std::env::var("VERBS_SIM_SEED").map_or(Ok(0), |seed| seed.parse());
        let seed = seed.unwrap_or_else(|error| panic!("VERBS_SIM_SEED: {error}"));
        let doorbell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let doorbell = doorbell.unwrap_or_else(|error| panic!("eventfd: {error}"));
        Self {
            is_supported,
            devices: configs.into_iter().map(device).collect(),
            contexts: HashMap::new(),
            domains: HashMap::new(),
            regions: Regions::default(),
            channels: HashMap::new(),
            queues: HashMap::new(),
            pairs: HashMap::new(),
            numbers: HashMap::new(),
            unacknowledged: HashMap::new(),
            network: Network::default(),
            random: Rng::with_seed(seed),
            counters: Counters::default(),
            active: BTreeSet::new(),
            waiting: BTreeSet::new(),
            late: BTreeSet::new(),
            is_asleep: false,
            doorbell: Arc::new(doorbell),
            last_handle: 0,
        }
    }

    pub(crate) fn new_handle(&mut self) -> u32 {
        self.last_handle += 1;
        self.last_handle
    }

    /// The device of a context, unless it has failed.
    pub(crate) fn device_of(&self, context: u32) -> Result<usize, c_int> {
        let context = self.contexts.get(&context).ok_or(EIO)?;
        if self.devices[context.device].is_fatal { Err(EIO) } else { Ok(context.device) }
    }

    /// Makes the delivery thread look for something to do.
    pub(crate) fn wake(&mut self) {
        if std::mem::take(&mut self.is_asleep) {
            // It is refused only if the counter is full, and then the bell is rung already.
            let _ = rustix::io::write(&self.doorbell, &1_u64.to_ne_bytes());
        }
    }

    /// What the kernel destroys when a context is closed that still has objects.
    pub(crate) fn close(&mut self, context: u32) {
        let of = |found: u32| found == context;
        let pairs: Vec<u32> =
            self.pairs.iter().filter(|(_, pair)| of(pair.context)).map(|(handle, _)| *handle).collect();
        for pair in pairs {
            self.remove_pair(pair);
        }
        self.queues.retain(|_, queue| !of(queue.context));
        self.channels.retain(|_, channel| !of(channel.context));
        let regions: Vec<u32> =
            self.regions.iter().filter(|(_, region)| of(region.context)).map(|(handle, _)| handle).collect();
        for region in regions {
            self.regions.remove(region);
        }
        self.domains.retain(|_, domain| !of(domain.context));
        self.contexts.remove(&context);
    }

    /// Protection domains, regions, channels, completion queues and queue pairs that were made and not destroyed.
    pub(crate) fn objects(&self) -> usize {
        let regions = self.regions.iter().count();
        self.domains.len() + regions + self.channels.len() + self.queues.len() + self.pairs.len()
    }
}
