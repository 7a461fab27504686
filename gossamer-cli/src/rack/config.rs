//! The configuration of a rack, `rack.toml`: the same file for the daemon of each machine and for launchers.

use crate::exit::{Failure, USAGE};
use serde::Deserialize;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// Where it is looked for.
pub const PATH: &str = "/etc/gossamer/rack.toml";

/// A rack.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rack {
    /// The key file.
    #[serde(default = "default_key")]
    pub key: PathBuf,
    /// Where the daemon listens.
    #[serde(default = "default_listen")]
    listen: Spanned<String>,
    /// The user as whom the daemon starts nodes; if none is given, as its own user.
    pub user: Option<Spanned<String>>,
    /// The programs that were shipped to this machine.
    #[serde(default)]
    pub cache: Cache,
    /// Limits on what a daemon accepts.
    #[serde(default)]
    pub limits: Limits,
    /// The machines.
    #[serde(rename = "machine", default)]
    machines: Vec<RawMachine>,
}

/// A machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// Where launchers reach its daemon: a host and a port.
    pub address: String,
    /// How many nodes `--map slots` puts there.
    pub slots: u32,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawMachine {
    name: Spanned<String>,
    address: Spanned<String>,
    #[serde(default = "default_slots")]
    slots: NonZeroU32,
}

/// The programs that were shipped.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Cache {
    /// Where they are.
    pub directory: PathBuf,
    /// How much room they may take.
    pub mebibytes: u64,
}

impl Default for Cache {
    fn default() -> Self {
        Self { directory: "/var/cache/gossamer".into(), mebibytes: 4096 }
    }
}

/// How much a daemon takes on.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Applications at a time.
    pub applications: usize,
    /// Nodes of one application on this machine.
    pub nodes: usize,
    /// How much recent output of each application is kept.
    pub log_kibibytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { applications: 64, nodes: 1024, log_kibibytes: 256 }
    }
}

fn default_key() -> PathBuf {
    "/etc/gossamer/key".into()
}

fn default_listen() -> Spanned<String> {
    Spanned::new(0..0, "0.0.0.0:7411".into())
}

fn default_slots() -> NonZeroU32 {
    NonZeroU32::MIN
}

impl Rack {
    /// Reads a file. Paths in it are relative to its directory.
    ///
    /// # Errors
    /// If it is not there, or is not a configuration.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| {
            Failure::new(
                USAGE,
                format!(
                    "cannot read the configuration {name}: {error}\n\
                     Give another with --config, or start nodes on this machine alone with `gossamer run --local N`."
                ),
            )
        })?;
        let mut rack = Self::parse(&text, &name)?;
        let directory = path.parent().unwrap_or(Path::new(""));
        rack.key = directory.join(&rack.key);
        rack.cache.directory = directory.join(&rack.cache.directory);
        Ok(rack)
    }

    /// Parses the text of a file; `name` is for messages.
    ///
    /// # Errors
    /// If it is not a configuration: gives the file, the line and the key.
    pub fn parse(text: &str, name: &str) -> Result<Self, Failure> {
        let rack: Self = toml::from_str(text)
            .map_err(|error| Failure::new(USAGE, format!("{name}: {}", error.to_string().trim_end())))?;
        rack.check().map_err(|(place, what)| {
            let line = 1 + text.bytes().take(place).filter(|&byte| byte == b'\n').count();
            Failure::new(USAGE, format!("{name}:{line}: {what}"))
        })?;
        Ok(rack)
    }

    /// Checks what types cannot check; returns an offset and a message.
    fn check(&self) -> Result<(), (usize, String)> {
        if self.listen.get_ref().parse::<SocketAddr>().is_err() {
            let what = "`listen` is not an IP address with a port, such as \"0.0.0.0:7411\"";
            return Err((self.listen.span().start, what.into()));
        }
        for (index, machine) in self.machines.iter().enumerate() {
            let (name, address) = (machine.name.get_ref(), machine.address.get_ref());
            let usual = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            if name.is_empty() || !name.chars().all(usual) {
                let what =
                    format!("`name` {name:?} has characters other than letters, digits, `-`, `_` and `.`");
                return Err((machine.name.span().start, what));
            }
            let port = address.rsplit_once(':').filter(|(host, _)| !host.is_empty());
            if port.and_then(|(_, port)| port.parse::<u16>().ok()).is_none_or(|port| port == 0) {
                let what =
                    format!("`address` {address:?} is not a host with a port, such as \"10.0.0.1:7411\"");
                return Err((machine.address.span().start, what));
            }
            for other in self.machines.iter().take(index) {
                if other.name.get_ref() == name {
                    let what = format!("`name` {name:?} is already that of another machine");
                    return Err((machine.name.span().start, what));
                }
                if other.address.get_ref() == address {
                    let what = format!("`address` {address:?} is already that of {}", other.name.get_ref());
                    return Err((machine.address.span().start, what));
                }
            }
        }
        Ok(())
    }

    /// Where the daemon listens.
    #[must_use]
    pub fn listen(&self) -> &str {
        self.listen.get_ref()
    }

    /// The machines, in the order of the file.
    #[must_use]
    pub fn machines(&self) -> Vec<Machine> {
        let machine = |raw: &RawMachine| Machine {
            name: raw.name.get_ref().clone(),
            address: raw.address.get_ref().clone(),
            slots: raw.slots.get(),
        };
        self.machines.iter().map(machine).collect()
    }

    /// The machines with these names, in this order; all of them if there are no names.
    ///
    /// # Errors
    /// If there is no such machine, or none at all.
    pub fn choose(&self, names: &[String]) -> Result<Vec<Machine>, Failure> {
        let machines = self.machines();
        let wrong = |what| Err(Failure::new(USAGE, what));
        if machines.is_empty() {
            return wrong("the configuration names no [[machine]]".into());
        }
        if names.is_empty() {
            return Ok(machines);
        }
        let mut chosen: Vec<Machine> = Vec::new();
        for name in names {
            match machines.iter().find(|machine| machine.name == *name) {
                Some(machine) if chosen.contains(machine) => {
                    return wrong(format!("--hosts names {name} twice"));
                }
                Some(machine) => chosen.push(machine.clone()),
                None => {
                    let known: Vec<&str> = machines.iter().map(|machine| machine.name.as_str()).collect();
                    return wrong(format!("there is no machine {name:?}; there are {}", known.join(", ")));
                }
            }
        }
        Ok(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "key = \"k\"\n[[machine]]\nname = \"a\"\naddress = \"10.0.0.1:7411\"\n";

    #[test]
    fn what_is_left_out_has_defaults() {
        let rack = Rack::parse(GOOD, "rack.toml").unwrap();
        assert_eq!(rack.listen(), "0.0.0.0:7411");
        let machine = Machine { name: "a".into(), address: "10.0.0.1:7411".into(), slots: 1 };
        assert_eq!(rack.machines(), [machine]);
        assert_eq!((rack.limits.applications, rack.cache.mebibytes), (64, 4096));
    }

    #[test]
    fn the_sample_is_a_configuration() {
        Rack::parse(include_str!("../../dist/rack.toml"), "rack.toml").unwrap();
    }

    #[test]
    fn mistakes_are_reported_with_file_line_and_key() {
        let machine = |name: &str, address: &str| {
            format!("{GOOD}\n[[machine]]\nname = \"{name}\"\naddress = \"{address}\"\n")
        };
        for (text, line, key) in [
            ("kee = \"k\"".to_owned(), "line 1", "kee"),
            ("key = \"k\"\nkey = \"l\"".to_owned(), "line 2", "key"),
            ("key = 3".to_owned(), "line 1", "key"),
            ("[limits]\nnodes = -1".to_owned(), "line 2", "nodes"),
            ("[cache]\n\nsize = 1".to_owned(), "line 3", "size"),
            ("listen = \"7411\"".to_owned(), "rack.toml:1:", "listen"),
            ("[[machine]]\nname = \"a\"".to_owned(), "line 1", "address"),
            (machine("a", "b:1"), "rack.toml:7:", "name"),
            (machine("", "b:1"), "rack.toml:7:", "name"),
            (machine("a b", "b:1"), "rack.toml:7:", "name"),
            (machine("b", "10.0.0.1:7411"), "rack.toml:8:", "address"),
            (machine("b", "b"), "rack.toml:8:", "address"),
            (format!("{GOOD}slots = 0"), "line 5", "slots"),
            (machine("b", "b:0"), "rack.toml:8:", "address"),
            (machine("b", ":1"), "rack.toml:8:", "address"),
            (machine("b", "b:99999"), "rack.toml:8:", "address"),
            ("[".to_owned(), "line 1", "rack.toml"),
        ] {
            let message = Rack::parse(&text, "rack.toml").map(drop).unwrap_err().message;
            for part in ["rack.toml", line, key] {
                assert!(message.contains(part), "no {part:?} in {message:?}");
            }
        }
    }

    #[test]
    fn machines_are_chosen_by_name() {
        let rack = Rack::parse(GOOD, "rack.toml").unwrap();
        assert_eq!(rack.choose(&["a".into()]).unwrap().len(), 1);
        assert!(rack.choose(&["b".into()]).unwrap_err().message.contains("there are a"));
        assert!(rack.choose(&["a".into(), "a".into()]).unwrap_err().message.contains("twice"));
        assert!(Rack::parse("", "").unwrap().choose(&[]).is_err());
    }
}
