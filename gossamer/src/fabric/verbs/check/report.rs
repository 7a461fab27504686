//! The RDMA of a machine, as plain data that travels.

use crate::fabric::verbs::availability::Unavailable;
use crate::fabric::verbs::choice::offer::{Attachment, PortOffer, offer};
use crate::fabric::verbs::choice::port::{GidEntry, PortDescription};
use crate::fabric::verbs::choice::settings::VerbsSettings;
use crate::fabric::verbs::context::{DeviceContext, DeviceLimits, DeviceList};
use crate::fabric::verbs::survey::survey;
use crate::fabric::verbs::words;
use gossamer_macros::NoRef;
use rustix::process::{Resource, getrlimit};

/// What a node has to lock for each node of another machine, at least: chunks of lanes, mailboxes, rings, places of
/// fragments.
pub const LOCKED_FOR_EACH_NODE: u64 = 3 << 20;
/// The capability that lifts the limit, CAP_IPC_LOCK, as a bit.
const MAY_LOCK_ALL: u64 = 1 << 14;

/// The RDMA of a machine.
#[derive(NoRef, Clone, Debug, PartialEq, Eq)]
pub struct RdmaReport {
    /// Whether libibverbs could be opened.
    pub has_library: bool,
    /// The devices, in the order in which the library lists them.
    pub devices: Vec<DeviceReport>,
    /// How much memory may be locked.
    pub locked_memory: LockedMemory,
    /// The ports that a node there offers.
    pub(crate) offers: Result<Vec<PortOffer>, RdmaTrouble>,
}

/// Why RDMA cannot be used.
#[derive(NoRef, Clone, Debug, PartialEq, Eq)]
pub struct RdmaTrouble {
    /// In one line.
    pub why: String,
    /// What to do; empty if the reason says it.
    pub advice: String,
}

/// A device.
#[derive(NoRef, Clone, Debug, PartialEq, Eq)]
pub struct DeviceReport {
    /// Its name.
    pub name: String,
    /// What the device has, or why it cannot be used.
    pub opened: Result<OpenedReport, String>,
}

/// A device that could be opened.
#[derive(NoRef, Clone, Debug, PartialEq, Eq)]
pub struct OpenedReport {
    /// How many queue pairs it can have.
    pub queue_pairs: u32,
    /// How many work requests a queue can have.
    pub work_requests: u32,
    /// How many entries a completion queue can have.
    pub completion_entries: u32,
    /// Reads that a queue pair takes at once.
    pub reads_received: u8,
    /// Reads that a queue pair starts at once.
    pub reads_sent: u8,
    /// Its ports.
    pub ports: Vec<PortReport>,
}

/// A port.
#[derive(NoRef, Clone, Debug, PartialEq, Eq)]
pub struct PortReport {
    /// Its number, from 1.
    pub port: u8,
    /// Its state in words.
    pub state: String,
    /// Its link layer in words.
    pub link_layer: String,
    /// Bytes of a packet at most.
    pub mtu: u32,
    /// Its LID; 0, if it has none.
    pub lid: u16,
    /// Its GIDs.
    pub gids: Vec<GidReport>,
    /// Why nodes do not use it; `None` if they do.
    pub unused: Option<String>,
}

/// An entry of a port's table of GIDs.
#[derive(NoRef, Clone, Debug, PartialEq, Eq)]
pub struct GidReport {
    /// Its index.
    pub index: u32,
    /// Its type in words.
    pub kind: String,
    /// Its address.
    pub address: String,
    /// Whether nodes use it.
    pub is_used: bool,
}

/// How much memory a process may lock.
#[derive(NoRef, Clone, Debug, PartialEq, Eq)]
pub struct LockedMemory {
    /// Bytes; `None` means that there is no limit.
    pub limit: Option<u64>,
    /// Whether the limit does not apply to the process, since it has CAP_IPC_LOCK.
    pub is_exempt: bool,
}

impl RdmaReport {
    /// The report of this machine.
    pub(crate) fn of_machine(settings: &VerbsSettings) -> Self {
        match DeviceList::get() {
            Ok(list) => Self::of(&list, settings),
            Err(why) => Self {
                has_library: !matches!(why, Unavailable::NoLibrary(_)),
                devices: Vec::new(),
                offers: Err(why.into()),
                locked_memory: LockedMemory::of_this_process(),
            },
        }
    }

    /// The report of a list of devices.
    pub(crate) fn of(list: &DeviceList, settings: &VerbsSettings) -> Self {
        let offers = survey(list, settings).map(|survey| survey.offers);
        let device = |(index, name)| {
            let opened = list.open(index).map_err(|why| why.to_string());
            let opened = opened.and_then(|device| {
                OpenedReport::of(&device, settings, offers.as_deref().unwrap_or_default())
                    .map_err(|error| error.to_string())
            });
            DeviceReport { name, opened }
        };
        let devices = list.names().into_iter().enumerate().map(device).collect();
        let offers = offers.map_err(RdmaTrouble::from);
        Self { has_library: true, devices, offers, locked_memory: LockedMemory::of_this_process() }
    }

    /// The ports that a node on that machine uses, as `device:port (address)`.
    #[must_use]
    pub fn ports(&self) -> Vec<String> {
        let named = |offer: &PortOffer| format!("{} ({})", offer.name(), addresses(&offer.attachment));
        self.offers.as_deref().unwrap_or_default().iter().map(named).collect()
    }

    /// The first thing that is wrong.
    #[must_use]
    pub fn trouble(&self) -> Option<RdmaTrouble> {
        self.offers.as_ref().err().cloned().or_else(|| self.locked_memory.trouble())
    }
}

impl OpenedReport {
    fn of(device: &DeviceContext, settings: &VerbsSettings, offers: &[PortOffer]) -> std::io::Result<Self> {
        let DeviceLimits { queue_pairs, work_requests, completion_entries, .. } = device.limits()?;
        let DeviceLimits { reads_received, reads_sent, .. } = device.limits()?;
        let ports = device.ports()?.into_iter().map(|port| PortReport::of(&port, settings, offers)).collect();
        Ok(Self { queue_pairs, work_requests, completion_entries, reads_received, reads_sent, ports })
    }
}

impl PortReport {
    fn of(port: &PortDescription, settings: &VerbsSettings, offers: &[PortOffer]) -> Self {
        let offered = offers.iter().find(|offer| offer.device == port.device && offer.port == port.port);
        let is_selected = settings.selects(&port.device, port.port);
        let unused = match offer(port, settings.gid) {
            Err(why) => Some(why),
            Ok(_) if !is_selected => Some("GOSSAMER_VERBS does not name it".to_owned()),
            Ok(_) => None,
        };
        let gid = |entry: &GidEntry| GidReport {
            index: entry.index,
            kind: words::gid_type(entry.kind).to_owned(),
            address: entry.gid.to_string(),
            is_used: offered.is_some_and(|offer| offer.uses_gid(entry.index)),
        };
        Self {
            port: port.port,
            state: words::port_state(port.state).to_owned(),
            link_layer: words::link_layer(port.link_layer).to_owned(),
            mtu: port.mtu.bytes(),
            lid: port.lid,
            gids: port.gids.iter().map(gid).collect(),
            unused,
        }
    }
}

impl LockedMemory {
    fn of_this_process() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let capabilities = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
        let capabilities = capabilities.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
        let is_exempt = capabilities.is_some_and(|bits| bits & MAY_LOCK_ALL != 0);
        Self { limit: getrlimit(Resource::Memlock).current, is_exempt }
    }

    fn trouble(&self) -> Option<RdmaTrouble> {
        let limit = self.limit.filter(|limit| *limit < LOCKED_FOR_EACH_NODE && !self.is_exempt)?;
        Some(RdmaTrouble {
            why: format!(
                "only {limit} bytes of memory may be locked, and a node locks {LOCKED_FOR_EACH_NODE} for each node of another \
                 machine, at least"
            ),
            advice: "raise the limit: `ulimit -l unlimited`, memlock in /etc/security/limits.conf, or LimitMEMLOCK=infinity of \
                     the service"
                .to_owned(),
        })
    }
}

impl From<Unavailable> for RdmaTrouble {
    fn from(why: Unavailable) -> Self {
        Self { advice: why.advice().to_owned(), why: why.to_string() }
    }
}

/// The addresses at which a port can be reached.
fn addresses(attachment: &Attachment) -> String {
    match attachment {
        Attachment::InfiniBand { lid, .. } => format!("LID {lid}"),
        Attachment::Ethernet { gids } => {
            gids.iter().map(|offered| offered.gid.to_string()).collect::<Vec<_>>().join(", ")
        }
    }
}
