//! Why RDMA is not used, in one line.

use crate::fabric::verbs::choice::settings::GID;
use std::fmt::{self, Display, Formatter};
use std::io;

/// What is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unavailable {
    /// With what to install.
    NoLibrary(String),
    NoDevice,
    /// The devices could not be listed.
    List(String),
    /// The device is there, but not for this user.
    Forbidden {
        device: String,
    },
    /// The device cannot be opened, for another reason.
    Opening {
        device: String,
        error: String,
    },
    /// The device is neither InfiniBand nor RoCE.
    OtherTransport {
        device: String,
    },
    /// No port can be used. It says why, for each.
    NoUsablePort {
        reasons: Vec<String>,
    },
    /// A setting asks for something that is missing or cannot be used.
    Asked(String),
}

impl Unavailable {
    /// What an error of the list of devices means.
    pub(crate) fn of_device_list(error: &io::Error) -> Self {
        match error.kind() {
            // ENOSYS, ENOENT: the kernel has no driver.
            io::ErrorKind::Unsupported | io::ErrorKind::NotFound => Self::NoDevice,
            _ => Self::List(error.to_string()),
        }
    }

    /// What an error of opening a device means.
    pub(crate) fn of_opening(device: String, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::PermissionDenied => Self::Forbidden { device },
            _ => Self::Opening { device, error: error.to_string() },
        }
    }

    /// What to do, beyond what the reason itself says.
    pub(crate) fn advice(&self) -> &'static str {
        match self {
            Self::NoDevice | Self::List(_) => {
                "a network card with RDMA needs its kernel module (mlx5_ib, irdma, bnxt_re, ...), and a container needs \
                 /dev/infiniband; any Ethernet interface can do RoCE in software: `rdma link add rxe0 type rxe netdev eth0`"
            }
            Self::Forbidden { .. } => {
                "a rule of udev gives a group these files; a container needs them (`--device /dev/infiniband`)"
            }
            Self::NoUsablePort { reasons } if reasons.iter().all(|why| why.starts_with(GID)) => {
                "correct the index, or unset the variable: then a GID is found by its type and address"
            }
            Self::NoUsablePort { .. } => {
                "bring a port up (`ip link set eth0 up`; InfiniBand needs a subnet manager, as opensm), and give the interface \
                 of an Ethernet port an address (`ip addr`)"
            }
            Self::Asked(_) => "correct the variable, or unset it: then all ports that can be used are",
            Self::NoLibrary(_) | Self::Opening { .. } | Self::OtherTransport { .. } => "",
        }
    }
}

impl Display for Unavailable {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLibrary(why) => to.write_str(why),
            Self::NoDevice => to
                .write_str("no RDMA device: the kernel knows none (`ls /sys/class/infiniband`, `rdma link`)"),
            Self::List(error) => write!(to, "ibv_get_device_list: {error}"),
            Self::Forbidden { device } => write!(
                to,
                "no permission to open RDMA device {device}: this user has to read and write its /dev/infiniband/uverbs*"
            ),
            Self::Opening { device, error } => write!(to, "RDMA device {device}: ibv_open_device: {error}"),
            Self::OtherTransport { device } => {
                write!(to, "RDMA device {device} is neither InfiniBand nor RoCE (iWARP is not supported)")
            }
            Self::NoUsablePort { reasons } if reasons.is_empty() => to.write_str("no RDMA port"),
            Self::NoUsablePort { reasons } => {
                write!(to, "no RDMA port can be used: {} (`rdma link`)", reasons.join("; "))
            }
            Self::Asked(why) => to.write_str(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Errno;

    #[test]
    fn each_reason_is_one_line_that_says_what_to_look_at() {
        let no_port = |reasons: &[&str]| Unavailable::NoUsablePort {
            reasons: reasons.iter().map(|reason| (*reason).to_owned()).collect(),
        };
        for (reason, words) in [
            (Unavailable::of_device_list(&Errno::NOSYS.into()), "no RDMA device"),
            (Unavailable::of_device_list(&Errno::NOMEM.into()), "ibv_get_device_list: "),
            (
                Unavailable::of_opening("rxe0".into(), &Errno::ACCESS.into()),
                "no permission to open RDMA device rxe0",
            ),
            (Unavailable::of_opening("rxe0".into(), &Errno::PERM.into()), "no permission"),
            (Unavailable::of_opening("rxe0".into(), &Errno::NODEV.into()), "rxe0: ibv_open_device: "),
            (no_port(&["mlx5_0:1 is down"]), "no RDMA port can be used: mlx5_0:1 is down"),
            (no_port(&[]), "no RDMA port"),
            (Unavailable::Asked("GOSSAMER_VERBS: a:1 is down".into()), "a:1 is down"),
            (Unavailable::OtherTransport { device: "siw0".into() }, "siw0 is neither InfiniBand nor RoCE"),
        ] {
            let said = reason.to_string();
            assert!(said.contains(words) && !said.contains('\n'), "{said}");
        }
    }
}
