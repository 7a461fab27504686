//! The second process of a measurement: this program again, with the same arguments and a few more variables.

use crate::clock;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

/// A process that is there for as long as this value is.
#[derive(Debug)]
pub struct Partner(Child);

impl Partner {
    /// Starts it. Panics if the system does not.
    #[must_use]
    pub fn start(variables: &[(&str, String)]) -> Self {
        let program = std::env::current_exe().unwrap_or_else(|error| panic!("no program: {error}"));
        let mut command = Command::new(program);
        command.args(std::env::args().skip(1)).stdin(Stdio::null()).stdout(Stdio::null());
        Self::of(command.envs(variables.iter().map(|(name, value)| (name, value))))
    }

    /// Starts any program. Panics if the system does not.
    #[must_use]
    pub fn of(command: &mut Command) -> Self {
        // SAFETY: `die_with_parent` makes one system call, which may be made between fork and exec.
        let command = unsafe { command.pre_exec(die_with_parent) };
        Partner(command.spawn().unwrap_or_else(|error| panic!("the second process: {error}")))
    }

    /// The number of its process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Processor time that this process and its partner have used.
    #[must_use]
    pub fn used_by_both(&self) -> Duration {
        clock::process() + clock::of_process(self.0.id())
    }

    /// Its output, if that is piped. Can be taken once.
    pub fn output(&mut self) -> Option<ChildStdout> {
        self.0.stdout.take()
    }

    /// Waits until it has ended. Panics if that was not well.
    pub fn join(mut self) {
        let status = self.0.wait();
        assert!(status.as_ref().is_ok_and(|status| status.success()), "the second process: {status:?}");
    }
}

/// A measurement that takes too long is killed: its partner is not to outlive it.
fn die_with_parent() -> std::io::Result<()> {
    // SAFETY: the call takes a number.
    match unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

impl Drop for Partner {
    fn drop(&mut self) {
        let _ = self.0.kill(); // may have ended
        let _ = self.0.wait();
    }
}
