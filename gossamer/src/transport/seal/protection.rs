//! [`Protection`]: against whom data between machines is protected.

use gossamer_macros::NoRef;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// Against whom data between machines is protected. Both ends have to choose the same.
///
/// It is about connections between machines. Inside a machine, processes of one user share memory, and each of them can
/// read and write the memory of the others anyway: nothing is sealed there.
///
/// At each level the ends prove to each other that they know one key before anything else is read, so strangers cannot
/// connect. Beyond that, the levels protect against:
///
/// | level | broken networks and memory | those who change, repeat, cut or reorder what is sent | those who listen |
/// |---|---|---|---|
/// | `Checked` | yes | no | no |
/// | `Authenticated` | yes | yes | no |
/// | `Encrypted` | yes | yes | yes |
///
/// No level hides how much is sent, when, and between whom, or keeps the owner of the network from cutting
/// connections.
///
/// Keys belong to one connection: they come from the key that both ends know, and from an agreement (X25519) whose
/// secrets are forgotten. Somebody who learns the long-lived key afterwards can read nothing that was recorded before.
#[derive(NoRef, Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Protection {
    /// Checksums, which find what a network or memory has corrupted. Anybody who can change what is sent can change its
    /// checksum, too.
    #[default]
    Checked,
    /// Codes that only the ends can make (AES-256-GCM, as GMAC): nothing that was changed, repeated, left out or moved
    /// on the way is accepted. Everybody on the way can read it.
    Authenticated,
    /// The same, and nobody on the way can read it (AES-256-GCM).
    Encrypted,
}

/// All levels, with their names.
const NAMES: [(Protection, &str); 3] = [
    (Protection::Checked, "checked"),
    (Protection::Authenticated, "authenticated"),
    (Protection::Encrypted, "encrypted"),
];

impl Protection {
    /// The names of all levels, which `parse` takes. For command lines.
    #[doc(hidden)]
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(_, name)| *name)
    }

    /// Whether records are sealed.
    pub(crate) fn is_sealed(self) -> bool {
        self != Self::Checked
    }

    /// Its number on the wire.
    pub(crate) fn to_byte(self) -> u8 {
        self as u8
    }

    /// `None`, if no level has this number.
    pub(crate) fn from_byte(byte: u8) -> Option<Self> {
        NAMES.iter().map(|(protection, _)| *protection).find(|protection| protection.to_byte() == byte)
    }
}

impl Display for Protection {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(protection, _)| protection == self).map_or("", |(_, name)| name);
        to.pad(name)
    }
}

impl FromStr for Protection {
    type Err = String;

    /// # Errors
    /// If the text is not the name of a level. The error lists the names.
    fn from_str(text: &str) -> Result<Self, String> {
        let found = NAMES.iter().find(|(_, name)| *name == text.trim());
        found
            .map(|(protection, _)| *protection)
            .ok_or_else(|| format!("{text:?} is not checked, authenticated or encrypted"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_read_as_it_is_written() {
        for (protection, name) in NAMES {
            assert_eq!((name.parse(), protection.to_string()), (Ok(protection), name.to_owned()));
            assert_eq!(Protection::from_byte(protection.to_byte()), Some(protection));
        }
        assert_eq!(Protection::default(), Protection::Checked);
        assert_eq!(Protection::from_byte(3), None);
        assert!("secret".parse::<Protection>().unwrap_err().contains("authenticated or encrypted"));
    }
}
