//! How long an application may run, and what to do when its time is up. No I/O, and no clock of its own.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// How long to wait for what hosts report about their nodes.
const PATIENCE: Duration = Duration::from_secs(2);

/// What the user asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeLimit {
    /// How long nodes may run.
    pub duration: Duration,
    /// Whether to report what nodes do when their time is up.
    pub reports: bool,
}

/// The time of an application that runs.
#[derive(Debug)]
pub struct Timeout {
    limit: TimeLimit,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Until this moment nothing happens.
    Running(Instant),
    /// Nodes were asked what they are doing; until this moment, at most, their answers are awaited.
    Asked(Instant, BTreeSet<usize>),
    Over,
}

/// What to do now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing.
    None,
    /// Ask what the nodes are doing.
    Ask,
    /// End the application, for this reason.
    End(String),
}

impl Timeout {
    /// For an application that begins now.
    #[must_use]
    pub fn new(limit: TimeLimit, now: Instant) -> Self {
        let end = now.checked_add(limit.duration);
        Self { limit, state: end.map_or(State::Over, State::Running) }
    }

    /// Time has passed; these nodes still run.
    pub fn tick(&mut self, now: Instant, running: BTreeSet<usize>) -> Step {
        match &mut self.state {
            State::Running(end) if *end <= now && self.limit.reports => {
                self.state = State::Asked(now + PATIENCE, running);
                return Step::Ask;
            }
            State::Running(end) if *end <= now => {}
            State::Asked(end, awaited) => {
                awaited.retain(|node| running.contains(node));
                if *end > now && !awaited.is_empty() {
                    return Step::None;
                }
            }
            State::Running(_) | State::Over => return Step::None,
        }
        self.state = State::Over;
        let duration = humantime::format_duration(self.limit.duration);
        Step::End(format!("the time is up: the nodes were ended after {duration} (--timeout)"))
    }

    /// A host has reported what a node is doing.
    pub fn heard(&mut self, node: usize) {
        if let State::Asked(_, awaited) = &mut self.state {
            awaited.remove(&node);
        }
    }

    /// When time will matter next.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        match &self.state {
            State::Running(end) | State::Asked(end, _) => Some(*end),
            State::Over => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn timeout(reports: bool) -> (Timeout, Instant) {
        let now = Instant::now();
        (Timeout::new(TimeLimit { duration: 90 * SECOND, reports }, now), now)
    }

    fn nodes(nodes: &[usize]) -> BTreeSet<usize> {
        nodes.iter().copied().collect()
    }

    #[test]
    fn the_application_ends_once_when_its_time_is_up() {
        let (mut timeout, now) = timeout(false);
        assert_eq!(timeout.tick(now + 89 * SECOND, nodes(&[0])), Step::None);
        let Step::End(why) = timeout.tick(now + 90 * SECOND, nodes(&[0])) else { panic!("it does not end") };
        assert!(why.contains("1m 30s"), "{why}");
        assert_eq!((timeout.tick(now + 99 * SECOND, nodes(&[0])), timeout.deadline()), (Step::None, None));
    }

    #[test]
    fn nodes_are_asked_first_and_waited_for_unless_they_end_or_are_silent() {
        for silent in [false, true] {
            let (mut timeout, now) = timeout(true);
            let end = now + 90 * SECOND;
            assert_eq!(timeout.tick(end, nodes(&[0, 1, 2])), Step::Ask);
            timeout.heard(0);
            assert_eq!(timeout.tick(end + SECOND, nodes(&[0, 1, 2])), Step::None);
            let step = match silent {
                true => timeout.tick(end + 2 * SECOND, nodes(&[0, 1, 2])),
                false => {
                    timeout.heard(1);
                    timeout.tick(end + SECOND, nodes(&[0, 1]))
                }
            };
            assert!(matches!(step, Step::End(_)));
        }
    }

    #[test]
    fn a_time_without_end_is_none() {
        let now = Instant::now();
        let mut timeout = Timeout::new(TimeLimit { duration: Duration::MAX, reports: false }, now);
        assert_eq!((timeout.deadline(), timeout.tick(now + SECOND, nodes(&[0]))), (None, Step::None));
    }
}
