//! One side of a check between two machines, step by step: what each side tells the other, until both have measured.
//!
//! ```text
//! new       with the reports of both machines: which pairs of ports reach each other
//! offer     for one of these pairs, a queue pair, and what the other side has to know of it
//! receive   what it has told: from now on it may write
//! probe     (once it receives) writes nothing, and awaits that this is answered for
//! answer    (the other side measures) answers small writes
//! ```

use crate::fabric::verbs::check::end::{CheckEnd, CheckParameters};
use crate::fabric::verbs::check::measure::RoundTrips;
use crate::fabric::verbs::check::report::RdmaReport;
use crate::fabric::verbs::choice::pairs::{PortEnd, PortPair, pairs};
use crate::fabric::verbs::choice::settings::VerbsSettings;
use crate::fabric::verbs::context::{DeviceContext, DeviceList};
use std::io;
use std::sync::Arc;

/// Two ports through which two machines reach each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairReport {
    /// In the form `device:port`.
    pub ports: [String; 2],
    /// The addresses of these ports.
    pub addresses: [String; 2],
    /// Bytes of a packet at most.
    pub mtu: u32,
}

/// The pairs of ports through which two machines reach each other; or why there are none, after the names of the
/// machines.
///
/// # Errors
/// There are none. The error says why, and what to do.
pub(crate) fn port_pairs(reports: [&RdmaReport; 2], names: [&str; 2]) -> Result<Vec<PortPair>, String> {
    let offers = |at: usize| match reports[at].trouble() {
        Some(trouble) => Err(format!("{}: {}", names[at], trouble.why)),
        None => Ok(reports[at].offers.as_deref().unwrap_or_default()),
    };
    pairs(offers(0)?, offers(1)?)
}

impl PairReport {
    pub(crate) fn of(pair: &PortPair) -> Self {
        let [one, other] = &pair.ends;
        let name = |end: &PortEnd| format!("{}:{}", end.device, end.port);
        Self {
            ports: [name(one), name(other)],
            addresses: [pair.address(0), pair.address(1)],
            mtu: pair.mtu.bytes(),
        }
    }
}

/// One side of a check.
pub struct RdmaCheck {
    settings: VerbsSettings,
    /// Which end of the pairs this side is.
    end: usize,
    pairs: Vec<PortPair>,
    /// The opened devices that the pairs need.
    devices: Vec<Arc<DeviceContext>>,
    /// The pair of ports under test.
    current: Option<(usize, CheckEnd)>,
}

type Told<T> = Result<T, String>;

impl RdmaCheck {
    /// Opens the devices that the pairs of ports need.
    pub(crate) fn new(
        list: &DeviceList,
        settings: &VerbsSettings,
        pairs: Vec<PortPair>,
        end: usize,
    ) -> Told<Self> {
        let is_needed = |name: &String| pairs.iter().any(|pair| pair.ends[end].device == *name);
        let needed = list.names().into_iter().enumerate().filter(|(_, name)| is_needed(name));
        let devices = needed.map(|(index, _)| list.open(index).map_err(|why| why.to_string()));
        let devices = devices.collect::<Told<_>>()?;
        Ok(Self { settings: settings.clone(), end, pairs, devices, current: None })
    }

    /// The pairs of ports that can be tested.
    pub fn pairs(&self) -> Vec<PairReport> {
        self.pairs.iter().map(PairReport::of).collect()
    }

    /// Makes a queue pair for a pair of ports, in place of the one before. Returns what the other side has to know
    /// about it.
    ///
    /// # Errors
    /// There is no such pair, or the device has too little of something.
    pub fn offer(&mut self, pair: usize) -> Told<CheckParameters> {
        self.current = None;
        let ports = self.pairs.get(pair).ok_or("there is no such pair of ports")?;
        let end = &ports.ends[self.end];
        let device = self.devices.iter().find(|device| device.name() == end.device);
        let device = device.ok_or_else(|| format!("RDMA device {} is not there any more", end.device))?;
        let made = CheckEnd::new(device, end.port).map_err(said)?;
        let parameters = made.parameters();
        self.current = Some((pair, made));
        Ok(parameters)
    }

    /// Takes the parameters of the other side.
    ///
    /// # Errors
    /// There is no way to the other side.
    pub fn receive(&mut self, theirs: &CheckParameters) -> Told<()> {
        let (pair, end) = self.current.as_mut().ok_or(NOTHING_OFFERED)?;
        end.receive(theirs, &self.pairs[*pair], self.end, &self.settings).map_err(said)
    }

    /// Writes nothing, and waits until that is acknowledged.
    ///
    /// # Errors
    /// It is not acknowledged.
    pub fn probe(&mut self) -> Told<()> {
        let (_, end) = self.current.as_mut().ok_or(NOTHING_OFFERED)?;
        end.probe(&self.settings).map_err(said)
    }

    /// Answers the small writes of the other side. Returns how many there were.
    ///
    /// # Errors
    /// The other side falls silent.
    pub fn answer(&mut self) -> Told<u64> {
        self.current.as_mut().ok_or(NOTHING_OFFERED)?.1.answer().map_err(said)
    }

    /// Small writes, which the other side answers.
    ///
    /// # Errors
    /// The other side does not answer.
    pub fn round_trips(&mut self) -> Told<RoundTrips> {
        self.current.as_mut().ok_or(NOTHING_OFFERED)?.1.round_trips().map_err(said)
    }

    /// Bytes per second of writes of 64 KiB to the other side.
    ///
    /// # Errors
    /// A write fails.
    pub fn rate(&mut self) -> Told<u64> {
        self.current.as_mut().ok_or(NOTHING_OFFERED)?.1.rate().map_err(said)
    }
}

const NOTHING_OFFERED: &str = "a step of a check came before its first";

fn said(error: io::Error) -> String {
    error.to_string()
}
