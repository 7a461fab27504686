//! How a window learns that it was touched: from a thread that is notified (`userfault`), or from the signal handler
//! of the thread that touched it (`sys::signals::fault_handler`).

use crate::stream::Error;
use crate::stream::options::Faults;
use crate::stream::windows::userfault::Service;
use crate::stream::windows::window::Window;
use crate::sys::memory::userfault::Userfault;
use crate::sys::signals::fault_handler::watch;
use crate::sys::signals::faults::Watch;
use std::sync::Arc;

/// Resolves the faults of a window, until it is dropped.
pub(crate) struct Faulting {
    /// In both ways: blocks that are gone, and failures, raise signals.
    _signals: Watch,
    service: Option<Service>,
}

impl Faulting {
    /// # Errors
    /// If the requested way is not allowed here.
    pub(crate) fn start(window: &Arc<Window>, faults: Faults) -> Result<Self, Error> {
        let userfault = match faults {
            Faults::Signal => None,
            Faults::Auto => Userfault::open().ok(),
            Faults::Userfault => Some(Userfault::open().map_err(Error::io(
                "userfaultfd, which needs access to /dev/userfaultfd or CAP_SYS_PTRACE (`Faults::Signal` needs neither)",
            ))?),
        };
        let service = userfault.map(|userfault| Service::start(userfault, window)).transpose()?;
        Ok(Self { _signals: watch(window.range(), Arc::clone(window) as _), service })
    }

    /// Whether pointers into the window can be passed to system calls.
    pub(crate) fn serves_system_calls(&self) -> bool {
        self.service.is_some()
    }
}
