//! Why a task could not be done.

use std::fmt::{self, Display, Formatter};
use std::io;
use std::path::Path;

/// The task has failed.
const FAILED: u8 = 1;
/// There is no virtual machine, and none can be made.
const NO_MACHINE: u8 = 125;
/// QEMU has crashed: EX_SOFTWARE of sysexits.h.
const EMULATOR: u8 = 70;
/// The command did not end in time: the status that `timeout` of coreutils gives.
const TIMEOUT: u8 = 124;

/// What happened and what to do, with the exit status.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: u8,
    message: String,
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { status: FAILED, message: message.into() }
    }

    /// It is because no virtual machine can be made.
    pub(crate) fn without_machine(self) -> Self {
        Self { status: NO_MACHINE, ..self }
    }

    /// It is a crash of QEMU, and says nothing of what ran in it.
    pub(crate) fn of_emulator(message: impl Into<String>) -> Self {
        Self { status: EMULATOR, message: message.into() }
    }

    pub(crate) fn is_of_emulator(&self) -> bool {
        self.status == EMULATOR
    }

    pub(crate) fn timeout(message: impl Into<String>) -> Self {
        Self { status: TIMEOUT, message: message.into() }
    }
}

impl Display for Failure {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        to.write_str(&self.message)
    }
}

/// An error, and what was being done.
pub(crate) trait Context<T> {
    fn context(self, doing: impl Display) -> Result<T>;

    fn at(self, path: &Path) -> Result<T>
    where
        Self: Sized,
    {
        self.context(path.display())
    }
}

impl<T, E: Into<io::Error>> Context<T> for std::result::Result<T, E> {
    fn context(self, doing: impl Display) -> Result<T> {
        self.map_err(|error| Failure::new(format!("{doing}: {}", error.into())))
    }
}
