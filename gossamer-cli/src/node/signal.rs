//! Signals to nodes: their numbers, their names, and how long nodes have to obey.

use std::time::Duration;

/// SIGKILL.
pub const KILL: u8 = 9;
/// SIGPIPE.
pub const PIPE: u8 = 13;
/// SIGTERM, which `gossamer kill` sends.
pub const TERMINATE: u8 = 15;

/// How long nodes have to end after Ctrl-C, or after SIGTERM.
pub const INTERRUPTED: Duration = Duration::from_secs(5);
/// How long to wait for word that killed nodes have ended.
pub const GIVE_UP: Duration = Duration::from_secs(5);

/// `SIGSEGV` for 11.
#[must_use]
pub fn signal_name(signal: u8) -> String {
    // Linux on all architectures but Alpha, MIPS, PA-RISC and SPARC.
    const NAMES: [&str; 31] = [
        "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE",
        "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ",
        "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
    ];
    match usize::from(signal).checked_sub(1).and_then(|index| NAMES.get(index)) {
        Some(name) => format!("SIG{name}"),
        None => format!("signal {signal}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_have_the_names_of_the_kernel() {
        assert_eq!(signal_name(9), "SIGKILL");
        assert_eq!(signal_name(11), "SIGSEGV");
        assert_eq!(signal_name(31), "SIGSYS");
        assert_eq!(signal_name(0), "signal 0");
        assert_eq!(signal_name(40), "signal 40");
    }
}
