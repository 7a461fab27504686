//! What can only be found out with several machines: versions, clocks, and the connections between machines.

use crate::rack::finding::Finding;
use std::time::Duration;

/// Clocks that differ less than this are good enough to put the lines of several logs in order by hand.
const CLOCKS_AGREE: f64 = 0.1;

/// How the clock of a machine differs from this one's, as measured by a round trip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockDifference {
    /// It is ahead by this many seconds.
    pub ahead: f64,
    /// The error is at most this many seconds, either way.
    pub error: f64,
}

impl ClockDifference {
    /// Computed from the time that the other machine reported between two times of this one. It was asked no earlier
    /// than `before` and answered no later than `after`; so the middle of the two is off by at most half of the time
    /// between them.
    #[must_use]
    pub fn of_round_trip(before: Duration, told: Duration, after: Duration) -> Self {
        let half = after.saturating_sub(before).as_secs_f64() / 2.0;
        Self { ahead: told.as_secs_f64() - before.as_secs_f64() - half, error: half }
    }
}

/// Findings about the version of a machine's daemon, compared with that of the command.
#[must_use]
pub fn version(command: &str, daemon: &str) -> Finding {
    const SUBJECT: &str = "version of the daemon";
    if command == daemon {
        return Finding::fine(SUBJECT, daemon);
    }
    Finding::warning(
        SUBJECT,
        format!("{daemon}, and that of this command is {command}"),
        "they may not understand each other, or may behave differently",
        "install the same version of gossamer on all machines, and start their daemons again",
    )
}

/// Findings about the clocks of machines, by name.
#[must_use]
pub fn clocks(clocks: &[(String, ClockDifference)]) -> Option<Finding> {
    const SUBJECT: &str = "clocks of the machines";
    let by_time = |one: &&(String, ClockDifference), other: &&(String, ClockDifference)| {
        one.1.ahead.total_cmp(&other.1.ahead)
    };
    let (late, early) = (clocks.iter().min_by(by_time)?, clocks.iter().max_by(by_time)?);
    if clocks.len() < 2 {
        return None;
    }
    let apart = early.1.ahead - late.1.ahead;
    let error = early.1.error + late.1.error;
    let found =
        format!("{} is {} ahead of {}, give or take {}", early.0, seconds(apart), late.0, seconds(error));
    Some(if apart - error < CLOCKS_AGREE {
        Finding::fine(SUBJECT, found)
    } else {
        Finding::warning(
            SUBJECT,
            found,
            "times in logs and metrics of several machines do not fit together; traces do, since they measure it",
            "run a time service on all machines (systemctl enable --now systemd-timesyncd, or chrony)",
        )
    })
}

fn seconds(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 0.001 => format!("{:.0} us", seconds * 1e6),
        seconds if seconds < 1.0 => format!("{:.1} ms", seconds * 1e3),
        seconds => format!("{seconds:.1} s"),
    }
}

/// Findings about the ways from a machine to others, by name, each with the reason why it is closed, if it is.
#[must_use]
pub fn ways(others: &[(String, Result<(), String>)]) -> Vec<Finding> {
    const SUBJECT: &str = "ways to the other machines";
    let closed: Vec<_> = others.iter().filter_map(|(name, way)| Some((name, way.as_ref().err()?))).collect();
    if closed.is_empty() {
        return match others.len() {
            0 => Vec::new(),
            count => vec![Finding::fine(SUBJECT, format!("open to all {count}"))],
        };
    }
    let mut findings: Vec<Finding> = Vec::new();
    let mut reasons: Vec<&String> = closed.iter().map(|(_, why)| *why).collect();
    reasons.sort();
    reasons.dedup();
    for why in reasons {
        let names: Vec<&str> =
            closed.iter().filter(|(_, other)| *other == why).map(|(name, _)| name.as_str()).collect();
        findings.push(Finding::problem(
            SUBJECT,
            format!("closed to {}: {why}", names.join(", ")),
            "nodes here and there cannot connect, so a program with both does not start",
            "let machines of the rack reach each other at all TCP ports that the kernel gives out \
             (net.ipv4.ip_local_port_range), and at addresses that are the same for all",
        ));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rack::finding::Severity;

    fn clock(name: &str, ahead: f64, error: f64) -> (String, ClockDifference) {
        (name.into(), ClockDifference { ahead, error })
    }

    #[test]
    fn a_round_trip_bounds_a_clock_from_both_sides() {
        let [before, after] = [1000, 1040].map(Duration::from_millis);
        let measured = ClockDifference::of_round_trip(before, Duration::from_millis(3520), after);
        assert!((measured.ahead - 2.5).abs() < 1e-9 && (measured.error - 0.02).abs() < 1e-9, "{measured:?}");
    }

    #[test]
    fn clocks_that_differ_by_more_than_the_error_are_told() {
        let told =
            clocks(&[clock("a", 0.0, 0.001), clock("b", -3.0, 0.002), clock("c", 1.5, 0.0005)]).unwrap();
        assert_eq!(
            (told.severity, told.found.as_str()),
            (Severity::Warning, "c is 4.5 s ahead of b, give or take 2.5 ms")
        );
        let within = clocks(&[clock("a", 0.0, 0.2), clock("b", 0.25, 0.0)]).unwrap();
        assert_eq!(
            (within.severity, within.found.as_str()),
            (Severity::Fine, "b is 250.0 ms ahead of a, give or take 200.0 ms")
        );
        assert_eq!(clocks(&[clock("a", 9.0, 0.0)]), None);
    }

    #[test]
    fn versions_that_differ_are_told() {
        assert_eq!(version("1.0.0", "1.0.0").severity, Severity::Fine);
        let told = version("1.1.0", "1.0.0");
        assert_eq!(
            (told.severity, told.found.as_str()),
            (Severity::Warning, "1.0.0, and that of this command is 1.1.0")
        );
    }

    #[test]
    fn ways_that_are_closed_for_one_reason_are_told_together() {
        let closed = |why: &str| Err(why.to_owned());
        let others = [
            ("a".into(), Ok(())),
            ("b".into(), closed("refused")),
            ("c".into(), closed("late")),
            ("d".into(), closed("refused")),
        ];
        let told: Vec<String> = ways(&others).into_iter().map(|finding| finding.found).collect();
        assert_eq!(told, ["closed to c: late", "closed to b, d: refused"]);
        assert_eq!(ways(&others[..1])[0].found, "open to all 1");
        assert_eq!(ways(&[]), []);
    }
}
