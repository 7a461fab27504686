//! Which devices there are, as the variable `VERBS_SIM` says.

use crate::types::*;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// What `VERBS_SIM` stands for when it is not set.
const DEFAULT: &str = "sim0 port=1 gid=0:v1:fe80::1 gid=1:v2:fe80::1 gid=2:v1:192.0.2.1 gid=3:v2:192.0.2.1";

/// The RDMA of the machine.
#[derive(Debug)]
pub(crate) enum Machine {
    /// The kernel has no RDMA: `ENOSYS`.
    Unsupported,
    Devices(Vec<DeviceConfig>),
}

#[derive(Clone, Debug)]
pub(crate) struct DeviceConfig {
    pub name: String,
    /// Opening it gives `EACCES`.
    pub denied: bool,
    /// Each message lands in ascending order, and `ibv_query_qp_data_in_order` says so.
    pub in_order: bool,
    /// It grants twice as many work requests as are asked for.
    pub generous: bool,
    /// It takes 7 retries to mean no limit.
    pub endless: bool,
    pub limits: Limits,
    pub faults: Vec<Fault>,
    pub ports: Vec<PortConfig>,
}

#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub max_qp: u32,
    pub max_qp_wr: u32,
    pub max_cq: u32,
    pub max_cqe: u32,
    pub max_mr: u32,
    pub max_pd: u32,
    pub max_sge: u32,
    pub max_inline: u32,
    pub max_rd_atomic: u8,
    /// How many bytes can be registered.
    pub memlock: u64,
}

/// What happens at a work request that a device is about to carry out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fault {
    /// The number of the work request, from 1.
    pub at: u64,
    pub kind: FaultKind,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FaultKind {
    /// It ends with this status.
    Status(u32),
    /// The device fails.
    Fatal,
    /// The first port goes down.
    Down,
}

#[derive(Clone, Debug)]
pub(crate) struct PortConfig {
    pub active: bool,
    pub link_layer: u8,
    pub lid: u16,
    /// As `IBV_MTU_…`.
    pub active_mtu: u32,
    pub max_message: u32,
    pub gids: BTreeMap<u32, GidConfig>,
    /// GIDs without a route to them.
    pub unreachable: Vec<[u8; 16]>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GidConfig {
    pub gid: [u8; 16],
    /// As `IBV_GID_TYPE_…`.
    pub kind: u32,
}

impl Machine {
    /// Panics if the variable cannot be understood: a test has set it.
    pub(crate) fn from_environment() -> Self {
        let text = std::env::var("VERBS_SIM").unwrap_or_else(|_| DEFAULT.into());
        Self::parse(&text).unwrap_or_else(|error| panic!("VERBS_SIM: {error}"))
    }

    fn parse(text: &str) -> Result<Self, String> {
        match text.trim() {
            "none" => return Ok(Self::Unsupported),
            "empty" => return Ok(Self::Devices(Vec::new())),
            "denied" => return Self::parse(&format!("{DEFAULT} denied")),
            _ => {}
        }
        text.split(';').map(DeviceConfig::parse).collect::<Result<_, _>>().map(Self::Devices)
    }
}

impl DeviceConfig {
    fn parse(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let name = words.next().filter(|name| !name.contains('=')).ok_or("a device begins with its name")?;
        let mut device = Self {
            name: name.into(),
            denied: false,
            in_order: false,
            generous: false,
            endless: false,
            limits: Limits::default(),
            faults: Vec::new(),
            ports: Vec::new(),
        };
        for word in words {
            device.set(word).map_err(|error| format!("`{word}` of {name}: {error}"))?;
        }
        Ok(device)
    }

    fn set(&mut self, word: &str) -> Result<(), String> {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        match key {
            "denied" => self.denied = true,
            "in_order" => self.in_order = true,
            "generous" => self.generous = true,
            "endless" => self.endless = true,
            "fault" => self.faults.push(Fault::parse(value)?),
            "port" if number::<usize>(value)? == self.ports.len() + 1 => {
                self.ports.push(PortConfig::default())
            }
            "port" => return Err("ports are numbered from 1, in order".into()),
            _ if self.limits.set(key, value)? => {}
            _ => self.ports.last_mut().ok_or("no such setting of a device")?.set(key, value)?,
        }
        Ok(())
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_qp: 16384,
            max_qp_wr: 16384,
            max_cq: 16384,
            max_cqe: 1 << 20,
            max_mr: 1 << 17,
            max_pd: 16384,
            max_sge: 16,
            max_inline: 256,
            max_rd_atomic: 16,
            memlock: u64::MAX,
        }
    }
}

impl Limits {
    /// Whether this limit is set.
    fn set(&mut self, key: &str, value: &str) -> Result<bool, String> {
        match key {
            "max_qp" => self.max_qp = number(value)?,
            "max_qp_wr" => self.max_qp_wr = number(value)?,
            "max_cq" => self.max_cq = number(value)?,
            "max_cqe" => self.max_cqe = number(value)?,
            "max_mr" => self.max_mr = number(value)?,
            "max_pd" => self.max_pd = number(value)?,
            "max_sge" => self.max_sge = number(value)?,
            "max_inline" => self.max_inline = number(value)?,
            "max_rd_atomic" => self.max_rd_atomic = number(value)?,
            "memlock" => self.memlock = number(value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl Fault {
    fn parse(text: &str) -> Result<Self, String> {
        let (at, kind) = text.split_once(':').ok_or("a fault is NUMBER:KIND")?;
        let kind = match kind {
            "fatal" => FaultKind::Fatal,
            "down" => FaultKind::Down,
            status => FaultKind::Status(number(status)?),
        };
        Ok(Self { at: number(at)?, kind })
    }
}

impl Default for PortConfig {
    fn default() -> Self {
        Self {
            active: true,
            link_layer: IBV_LINK_LAYER_ETHERNET,
            lid: 0,
            active_mtu: IBV_MTU_1024,
            max_message: 1 << 30,
            gids: BTreeMap::new(),
            unreachable: Vec::new(),
        }
    }
}

impl PortConfig {
    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match (key, value) {
            ("state", "active") => self.active = true,
            ("state", "down") => self.active = false,
            ("link", "ethernet") => self.link_layer = IBV_LINK_LAYER_ETHERNET,
            ("link", "infiniband") => self.link_layer = IBV_LINK_LAYER_INFINIBAND,
            ("lid", _) => self.lid = number(value)?,
            ("max_message", _) => self.max_message = number(value)?,
            ("mtu", _) => {
                let sizes = [256, 512, 1024, 2048, 4096];
                let bytes: u32 = number(value)?;
                let place =
                    sizes.iter().position(|size| *size == bytes).ok_or("256, 512, 1024, 2048 or 4096")?;
                self.active_mtu = IBV_MTU_256 + place as u32;
            }
            ("gid", _) => {
                let (index, gid) = value.split_once(':').ok_or("a GID is INDEX:TYPE:ADDRESS")?;
                self.gids.insert(number(index)?, GidConfig::parse(gid)?);
            }
            ("unreachable", _) => self.unreachable.push(address(value)?),
            _ => return Err("no such setting".into()),
        }
        Ok(())
    }
}

impl GidConfig {
    fn parse(text: &str) -> Result<Self, String> {
        let (kind, at) = text.split_once(':').ok_or("a GID is INDEX:TYPE:ADDRESS")?;
        let kind = match kind {
            "ib" => IBV_GID_TYPE_IB,
            "v1" => IBV_GID_TYPE_ROCE_V1,
            "v2" => IBV_GID_TYPE_ROCE_V2,
            _ => return Err("the type of a GID is `ib`, `v1` or `v2`".into()),
        };
        Ok(Self { gid: address(at)?, kind })
    }
}

/// An address as a GID: an IPv4 address is mapped.
fn address(text: &str) -> Result<[u8; 16], String> {
    let mapped = Ipv4Addr::from_str(text).map(|address| address.to_ipv6_mapped());
    mapped
        .or_else(|_| Ipv6Addr::from_str(text))
        .map(|address| address.octets())
        .map_err(|error| error.to_string())
}

fn number<T: FromStr<Err: ToString>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn devices(text: &str) -> Vec<DeviceConfig> {
        match Machine::parse(text).unwrap() {
            Machine::Devices(devices) => devices,
            Machine::Unsupported => panic!("no support"),
        }
    }

    #[test]
    fn without_the_variable_there_is_one_device_with_an_active_roce_port() {
        let devices = devices(DEFAULT);
        let port = &devices[0].ports[0];
        assert_eq!((devices.len(), port.active, port.link_layer), (1, true, IBV_LINK_LAYER_ETHERNET));
        let mapped = GidConfig {
            gid: Ipv4Addr::new(192, 0, 2, 1).to_ipv6_mapped().octets(),
            kind: IBV_GID_TYPE_ROCE_V2,
        };
        assert_eq!(port.gids[&3], mapped);
    }

    #[test]
    fn devices_ports_limits_and_faults_are_read() {
        let devices = devices(
            "a max_qp=3 memlock=8192 fault=7:12 port=1 state=down port=2 link=infiniband lid=9 mtu=4096;\
             b denied in_order port=1 gid=4:v2:10.0.0.1 unreachable=10.0.0.9",
        );
        let (a, b) = (&devices[0], &devices[1]);
        assert_eq!((a.limits.max_qp, a.limits.memlock, a.ports.len()), (3, 8192, 2));
        assert_eq!(a.faults, [Fault { at: 7, kind: FaultKind::Status(12) }]);
        assert_eq!((a.ports[0].active, a.ports[1].lid, a.ports[1].active_mtu), (false, 9, IBV_MTU_4096));
        assert!(
            b.denied && b.in_order && b.ports[0].gids.contains_key(&4) && b.ports[0].unreachable.len() == 1
        );
    }

    #[test]
    fn what_is_not_understood_is_named() {
        for (text, part) in [
            ("a port=2", "in order"),
            ("a colour=1", "colour"),
            ("a port=1 mtu=7", "mtu=7"),
            ("port=1", "name"),
        ] {
            assert!(Machine::parse(text).unwrap_err().contains(part), "{text}");
        }
    }
}
