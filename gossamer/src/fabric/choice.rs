//! Which fabric joins two nodes: what the user asks for.

use gossamer_macros::NoRef;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// The fabric that joins nodes, and carries streams. What node 0 says holds for all nodes.
///
/// In the environment: `GOSSAMER_FABRIC=auto`, `shm`, `tcp` or `verbs`.
#[derive(NoRef, Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FabricChoice {
    /// For each pair of nodes the best available: shared memory inside a machine, else RDMA, else TCP.
    #[default]
    Auto,
    /// Shared memory. Nodes of different machines do not start.
    Shm,
    /// TCP, even inside a machine: for tests, and where a sandbox forbids shared memory.
    Tcp,
    /// RDMA by the verbs of libibverbs, even inside a machine. Nodes without RDMA, or whose ports do not reach each
    /// other, do not start.
    Verbs,
    /// A simulated network inside one process, with the faults that this seed picks: for tests of this crate.
    #[cfg(all(test, not(loom)))]
    Simulated(u64),
}

/// All choices, with their names.
const NAMES: [(FabricChoice, &str); 4] = [
    (FabricChoice::Auto, "auto"),
    (FabricChoice::Shm, "shm"),
    (FabricChoice::Tcp, "tcp"),
    (FabricChoice::Verbs, "verbs"),
];

impl Display for FabricChoice {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(choice, _)| choice == self).map_or("", |(_, name)| name);
        to.write_str(name)
    }
}

impl FromStr for FabricChoice {
    type Err = String;

    /// # Errors
    /// If the text is not the name of a fabric. The error lists the names.
    fn from_str(text: &str) -> Result<Self, String> {
        let found = NAMES.iter().find(|(_, name)| *name == text.trim());
        found.map(|(choice, _)| *choice).ok_or_else(|| format!("{text:?} is not auto, shm, tcp or verbs"))
    }
}

impl FabricChoice {
    /// The names of all choices, which `parse` takes. For command lines.
    #[doc(hidden)]
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(_, name)| *name)
    }

    /// What the environment says: `GOSSAMER_FABRIC`, or `GOSSAMER_SHARE_MEMORY`, which is older.
    ///
    /// # Errors
    /// The text names the variable, its value, and what it should be.
    pub(crate) fn find(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, String> {
        if let Some(text) = variable("GOSSAMER_FABRIC") {
            return text.parse().map(Some).map_err(|why: String| format!("GOSSAMER_FABRIC={why}"));
        }
        match variable("GOSSAMER_SHARE_MEMORY").as_deref().map(str::trim) {
            None => Ok(None),
            Some("0") => Ok(Some(Self::Tcp)),
            Some("1") => Ok(Some(Self::Auto)),
            Some(text) => Err(format!("GOSSAMER_SHARE_MEMORY={text:?} is neither 0 nor 1")),
        }
    }

    /// Whether nodes of one machine share memory.
    pub(crate) fn shares_memory(self) -> bool {
        match self {
            Self::Auto | Self::Shm => true,
            Self::Tcp | Self::Verbs => false,
            #[cfg(all(test, not(loom)))]
            Self::Simulated(_) => true,
        }
    }

    /// Whether RDMA may be used.
    pub(crate) fn may_use_verbs(self) -> bool {
        matches!(self, Self::Auto | Self::Verbs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)]) -> Result<Option<FabricChoice>, String> {
        FabricChoice::find(|asked| {
            variables.iter().find(|(name, _)| *name == asked).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn each_fabric_is_found_by_its_name() {
        for (choice, name) in NAMES {
            assert_eq!(
                (found(&[("GOSSAMER_FABRIC", name)]), choice.to_string().as_str()),
                (Ok(Some(choice)), name)
            );
        }
        assert_eq!(found(&[]), Ok(None));
        assert!(
            FabricChoice::names()
                .all(|name| name.parse() == found(&[("GOSSAMER_FABRIC", name)]).map(Option::unwrap))
        );
    }

    #[test]
    fn the_older_variable_still_works_and_the_younger_one_goes_first() {
        let old = |value| ("GOSSAMER_SHARE_MEMORY", value);
        assert_eq!(found(&[old("0")]), Ok(Some(FabricChoice::Tcp)));
        assert_eq!(found(&[old("1")]), Ok(Some(FabricChoice::Auto)));
        assert_eq!(found(&[old("0"), ("GOSSAMER_FABRIC", " shm ")]), Ok(Some(FabricChoice::Shm)));
    }

    #[test]
    fn a_fabric_that_is_none_is_named_with_those_that_there_are() {
        let error = found(&[("GOSSAMER_FABRIC", "rdma")]).unwrap_err();
        assert_eq!(error, "GOSSAMER_FABRIC=\"rdma\" is not auto, shm, tcp or verbs");
        assert!(found(&[("GOSSAMER_SHARE_MEMORY", "2")]).is_err());
    }
}
