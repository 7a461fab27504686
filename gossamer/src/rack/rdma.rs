//! What the command `gossamer` shows and tests of RDMA, as nodes on these machines would find it. It is only for that
//! command, and changes with it.

use crate::NoRef;
pub use crate::fabric::verbs::check::end::CheckParameters;
pub use crate::fabric::verbs::check::measure::RoundTrips;
pub use crate::fabric::verbs::check::report::{
    DeviceReport, GidReport, LOCKED_FOR_EACH_NODE, LockedMemory, OpenedReport, PortReport, RdmaReport,
    RdmaTrouble,
};
use crate::fabric::verbs::check::session::port_pairs;
pub use crate::fabric::verbs::check::session::{PairReport, RdmaCheck};
use crate::fabric::verbs::choice::settings::VerbsSettings;
use crate::fabric::verbs::context::DeviceList;
use crate::rack::hello::machine;
use crate::wire::decoder::Decoder;
use crate::wire::encoder::Encoder;

/// The beginning of the names of all settings of RDMA.
pub const SETTINGS: &str = "GOSSAMER_VERBS";

/// The settings of RDMA in the environment.
#[derive(Clone, Debug)]
pub struct RdmaSettings(VerbsSettings);

impl RdmaSettings {
    /// From the values of variables.
    ///
    /// # Errors
    /// The text names the variable, its value, and what it should be.
    pub fn find(variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, String> {
        VerbsSettings::find(variable).map(Self)
    }
}

/// A machine.
#[derive(NoRef, Clone, Debug, PartialEq, Eq)]
pub struct MachineReport {
    /// Nodes for which this is equal share memory.
    machine: String,
    /// Its RDMA devices.
    pub rdma: RdmaReport,
}

/// The fabric between two machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JoinedBy {
    /// They are one machine.
    SharedMemory,
    /// RDMA, over these ports.
    Verbs(Vec<PairReport>),
    /// TCP: why not RDMA.
    Tcp(String),
}

impl MachineReport {
    /// The report of this machine, with these settings. It opens each device for a moment.
    #[must_use]
    pub fn of_this_machine(settings: &RdmaSettings) -> Self {
        // If the machine cannot be identified, no node starts.
        Self { machine: machine().unwrap_or_default(), rdma: RdmaReport::of_machine(&settings.0) }
    }

    /// The fabric that would join nodes of this machine and of another one. `names` are the names of the machines in
    /// the reason why RDMA would not.
    #[must_use]
    pub fn joined_with(&self, other: &Self, names: [&str; 2]) -> JoinedBy {
        if self.machine == other.machine {
            return JoinedBy::SharedMemory;
        }
        match port_pairs([&self.rdma, &other.rdma], names) {
            Ok(pairs) => JoinedBy::Verbs(pairs.iter().map(PairReport::of).collect()),
            Err(why) => JoinedBy::Tcp(why),
        }
    }

    /// Begins a check between two machines: this one is the first or the second of them.
    ///
    /// # Errors
    /// If they do not reach each other by RDMA, or a device is gone.
    pub fn check(
        machines: [&Self; 2],
        names: [&str; 2],
        this: usize,
        settings: &RdmaSettings,
    ) -> Result<RdmaCheck, String> {
        let pairs = port_pairs(machines.map(|machine| &machine.rdma), names)?;
        let list = DeviceList::get().map_err(|why| why.to_string())?;
        RdmaCheck::new(&list, &settings.0, pairs, this)
    }

    /// As bytes, to be sent.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        bytes_of(self.clone())
    }

    /// Out of bytes.
    ///
    /// # Errors
    /// They are none of this version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        value_of(bytes)
    }
}

impl CheckParameters {
    /// As bytes, to be sent.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        bytes_of(*self)
    }

    /// Out of bytes.
    ///
    /// # Errors
    /// They are none of this version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        value_of(bytes)
    }
}

fn bytes_of<T: NoRef>(value: T) -> Vec<u8> {
    // Only handles can be refused, and it contains none.
    Encoder::encoded(value).unwrap_or_default()
}

fn value_of<T: NoRef>(bytes: &[u8]) -> Result<T, String> {
    Decoder::decoded(bytes)
        .map_err(|_| "what it says of RDMA cannot be understood: is it of another version?".to_owned())
}
