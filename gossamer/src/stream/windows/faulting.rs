//! How a window learns that it was touched: by a thread that is told (`userfault`), or by the handler of the thread that
//! has touched it (`sys::signals::fault_handler`).

use crate::stream::Error;
use crate::stream::options::Faults;
use crate::stream::windows::userfault::Service;
use crate::stream::windows::window::Window;
use crate::sys::memory::userfault::Userfault;
use crate::sys::signals::fault_handler::watch;
use crate::sys::signals::faults::Watch;
use std::sync::Arc;

/// Has the faults of a window resolved, until it is dropped.
pub(crate) struct Faulting {
    /// In both ways: what has passed by, and failures, come as signals.
    _signals: Watch,
    service: Option<Service>,
}

impl Faulting {
    /// # Errors
    /// If the way that was asked for is not allowed here.
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

    /// Whether system calls can be handed pointers into the window.
    pub(crate) fn serves_system_calls(&self) -> bool {
        self.service.is_some()
    }
}
