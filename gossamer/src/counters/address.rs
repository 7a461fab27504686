//! Where a node serves its metrics.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

/// Where the nodes of a process serve their metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MetricsAddress {
    /// Node `n` at this port plus `n`.
    Tcp(SocketAddr),
    /// Node `n` at the Unix socket of this name in a folder.
    Folder(PathBuf),
}

impl MetricsAddress {
    /// That of one node; `None` if there is no such port.
    pub(crate) fn of_node(&self, node: u32) -> Option<Self> {
        match self {
            Self::Tcp(address) if address.port() == 0 => Some(Self::Tcp(*address)),
            Self::Tcp(address) => {
                let port =
                    u32::from(address.port()).checked_add(node).and_then(|port| u16::try_from(port).ok())?;
                Some(Self::Tcp(SocketAddr::new(address.ip(), port)))
            }
            Self::Folder(folder) => Some(Self::Folder(folder.join(node.to_string()))),
        }
    }
}

impl fmt::Display for MetricsAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Folder(folder) => write!(f, "unix:{}", folder.display()),
        }
    }
}

impl FromStr for MetricsAddress {
    type Err = ();

    /// `address:port`, `port` on this machine only, or `unix:folder`.
    fn from_str(text: &str) -> Result<Self, ()> {
        if let Some(folder) = text.strip_prefix("unix:").filter(|folder| folder.starts_with('/')) {
            return Ok(Self::Folder(folder.into()));
        }
        let alone = || text.parse().map(|port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
        text.parse().or_else(|_| alone()).map(Self::Tcp).map_err(|_| ())
    }
}
