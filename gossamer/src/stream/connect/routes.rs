//! The routes that blocks may take, as allowed by the program and the environment at both ends.

use crate::fabric::choice::FabricChoice;
use crate::stream::Error;
use crate::stream::options::Route;
use std::fmt::{self, Display, Formatter};

/// The allowed routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Routes {
    pub(crate) memory: bool,
    pub(crate) rdma: bool,
    pub(crate) tcp: bool,
}

impl Routes {
    /// What an end may use: as requested, or else as set in the environment.
    ///
    /// # Errors
    /// What the environment says makes no sense.
    pub(crate) fn find(route: Route) -> Result<Self, Error> {
        let choice = FabricChoice::find(|name| std::env::var(name).ok()).map_err(Error::Refused)?;
        Ok(match route {
            Route::Auto => Self::of(choice.unwrap_or_default()),
            Route::Tcp => Self::of(FabricChoice::Tcp),
        })
    }

    fn of(choice: FabricChoice) -> Self {
        let any = choice == FabricChoice::Auto;
        let may = |this| any || choice == this;
        Self { memory: may(FabricChoice::Shm), rdma: may(FabricChoice::Verbs), tcp: may(FabricChoice::Tcp) }
    }

    /// Those that both ends may use.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            memory: self.memory && other.memory,
            rdma: self.rdma && other.rdma,
            tcp: self.tcp && other.tcp,
        }
    }

    pub(crate) fn is_none(self) -> bool {
        self.to_bits() == 0
    }

    pub(crate) fn to_bits(self) -> u8 {
        u8::from(self.memory) | u8::from(self.rdma) << 1 | u8::from(self.tcp) << 2
    }

    /// None, if an end cannot say so.
    pub(crate) fn from_bits(bits: u8) -> Option<Self> {
        let has = |bit: u8| bits & bit != 0;
        (1..8).contains(&bits).then(|| Self { memory: has(1), rdma: has(2), tcp: has(4) })
    }
}

impl Display for Routes {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        let names = [(self.memory, "shared memory"), (self.rdma, "RDMA"), (self.tcp, "TCP")];
        let names: Vec<_> = names.into_iter().filter_map(|(may, name)| may.then_some(name)).collect();
        to.write_str(&names.join(" or "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_have_to_allow_a_route() {
        let [all, memory, tcp, rdma] =
            [FabricChoice::Auto, FabricChoice::Shm, FabricChoice::Tcp, FabricChoice::Verbs].map(Routes::of);
        for one in [memory, tcp, rdma] {
            assert_eq!((one.and(all), all.and(one)), (one, one));
            assert_eq!(Routes::from_bits(one.to_bits()), Some(one));
        }
        assert!(memory.and(tcp).is_none() && rdma.and(tcp).is_none() && !all.is_none());
        assert_eq!((Routes::from_bits(0), Routes::from_bits(8)), (None, None));
        assert_eq!(all.to_string(), "shared memory or RDMA or TCP");
        assert_eq!(rdma.to_string(), "RDMA");
    }
}
