//! Fate sharing: from what happens to the nodes, what the launcher does with the others, and what it reports. No I/O, and
//! no clock of its own.
//!
//! The first failure ends the application. But a node that loses its peer ends itself with status 75, and word of that
//! can come before word of the peer; so a failure waits for a grace, in which one that explains more takes its place.

use crate::exit;
use crate::node::ending::{End, How, RELEASED};
use crate::node::signal::{GIVE_UP, INTERRUPTED, KILL, PIPE, TERMINATE};
use std::time::{Duration, Instant};

/// How long nodes have to end by themselves after another has failed.
pub const GRACE: Duration = Duration::from_millis(500);
/// How long nodes have to end by themselves after node 0 has ended well.
pub const FAREWELL: Duration = Duration::from_secs(2);

/// How much a failure explains; a greater one takes the place of a smaller one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    /// It ended well, but too early.
    Early,
    /// It had lost a peer.
    Peer,
    /// It failed by itself.
    Own,
}

/// Why the application ends.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Cause {
    /// It does not, yet.
    None,
    /// Node 0 has ended well.
    Finished,
    /// A node has failed.
    Failed { node: usize, weight: Weight },
    /// A signal to the launcher.
    Interrupted { signal: u8 },
    /// Somebody else ends it: who and why.
    Asked { signal: u8, why: String },
    /// Its output cannot be written: why, or nothing if the reader has closed it.
    Unwritable(Option<String>),
}

/// What the launcher is to tell the user at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The exit status of the launcher.
    pub status: u8,
    /// The node whose failure ended the application, and its end.
    pub failed: Option<(usize, End)>,
    /// What other nodes said of the peers that they lost, if that is all there is to explain the end.
    pub witnesses: Vec<(usize, String)>,
    /// Why the application was ended, if by no node.
    pub why: Option<String>,
    /// Nodes that ended only when they were killed, although all had gone well.
    pub stragglers: Vec<usize>,
    /// Nodes of which nobody knows whether they have ended.
    pub unknown: Vec<usize>,
}

/// The state of an application's nodes.
#[derive(Debug)]
pub struct Fate {
    ends: Vec<Option<End>>,
    cause: Cause,
    /// When the nodes that are left are killed.
    kill_at: Option<Instant>,
    /// Since when they are.
    killed_at: Option<Instant>,
    stragglers: Vec<usize>,
    /// What to send to every node, in this order.
    signals: Vec<u8>,
}

impl Fate {
    /// Of so many nodes, which all run.
    #[must_use]
    pub fn new(nodes: usize) -> Self {
        Self {
            ends: vec![None; nodes],
            cause: Cause::None,
            kill_at: None,
            killed_at: None,
            stragglers: Vec::new(),
            signals: Vec::new(),
        }
    }

    /// A node has ended.
    pub fn ended(&mut self, now: Instant, node: usize, end: End) {
        let (how, is_released) = (end.how.clone(), end.words.as_deref() == Some(RELEASED));
        match self.ends.get_mut(node) {
            Some(known @ None) => *known = Some(end),
            _ => return,
        }
        if self.killed_at.is_some() {
            return;
        }
        let finished = matches!(self.cause, Cause::Finished);
        match how {
            How::Exited(0) if node == 0 => self.finish(now),
            How::Exited(0 | exit::LOST) if finished => {}
            How::Exited(0) if is_released => {}
            How::Exited(0) => self.fail(now, node, Weight::Early),
            How::Exited(exit::LOST) => self.fail(now, node, Weight::Peer),
            How::Exited(_) | How::Killed { .. } | How::Lost(_) => self.fail(now, node, Weight::Own),
        }
    }

    /// Node 0 has ended well; nodes that saw it go, and ended before that was known here, have not failed.
    fn finish(&mut self, now: Instant) {
        if matches!(self.cause, Cause::None | Cause::Failed { weight: Weight::Early | Weight::Peer, .. }) {
            self.cause = Cause::Finished;
            self.kill_at = Some(now + FAREWELL);
        }
    }

    fn fail(&mut self, now: Instant, node: usize, weight: Weight) {
        match self.cause {
            Cause::None | Cause::Finished => {}
            Cause::Failed { weight: known, .. } if known < weight => {}
            _ => return,
        }
        self.cause = Cause::Failed { node, weight };
        self.kill_by(now + GRACE);
    }

    fn kill_by(&mut self, time: Instant) {
        self.kill_at = Some(self.kill_at.map_or(time, |known| known.min(time)));
    }

    /// The launcher got a signal: the first is passed on, the second kills.
    pub fn interrupted(&mut self, now: Instant, signal: u8) {
        match self.cause {
            Cause::None | Cause::Finished => {
                self.cause = Cause::Interrupted { signal };
                self.signals.push(signal);
                self.kill_at = Some(now + INTERRUPTED);
            }
            _ => self.kill(now),
        }
    }

    /// Somebody other than the launcher ends the application.
    pub fn asked(&mut self, now: Instant, why: String) {
        if matches!(self.cause, Cause::None | Cause::Finished) {
            self.cause = Cause::Asked { signal: TERMINATE, why };
            self.signals.push(TERMINATE);
            self.kill_at = Some(now + INTERRUPTED);
        }
    }

    /// The output cannot be written: why, or nothing if the reader has closed it.
    pub fn unwritable(&mut self, now: Instant, why: Option<String>) {
        if matches!(self.cause, Cause::None | Cause::Finished) {
            self.cause = Cause::Unwritable(why);
            self.kill(now);
        }
    }

    /// Time has passed.
    pub fn tick(&mut self, now: Instant) {
        if self.killed_at.is_none() && self.kill_at.is_some_and(|time| time <= now) {
            self.kill(now);
        }
    }

    fn kill(&mut self, now: Instant) {
        if self.killed_at.is_none() {
            if matches!(self.cause, Cause::Finished) {
                self.stragglers = self.running().collect();
            }
            self.signals.push(KILL);
            self.killed_at = Some(now);
        }
    }

    fn running(&self) -> impl Iterator<Item = usize> {
        self.ends.iter().enumerate().filter(|(_, end)| end.is_none()).map(|(node, _)| node)
    }

    /// The signals to send to every node now.
    pub fn signals(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.signals)
    }

    /// When time will matter next.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        match self.killed_at {
            Some(time) => Some(time + GIVE_UP),
            None => self.kill_at,
        }
    }

    /// Whether no node runs any more, or none is waited for.
    #[must_use]
    pub fn is_over(&self, now: Instant) -> bool {
        self.running().next().is_none() || self.killed_at.is_some_and(|time| time + GIVE_UP <= now)
    }

    /// Whether nodes were killed of which nothing was heard since.
    #[must_use]
    pub fn has_given_up(&self, now: Instant) -> bool {
        self.is_over(now) && self.running().next().is_some()
    }

    /// Whether the user wants the end more than the rest of the output.
    #[must_use]
    pub fn is_impatient(&self) -> bool {
        matches!(self.cause, Cause::Interrupted { .. } | Cause::Unwritable(_))
    }

    /// The words of nodes that had lost a peer, other than this one.
    fn witnesses(&self, but: usize) -> Vec<(usize, String)> {
        let ends = self.ends.iter().enumerate().filter(|(node, _)| *node != but);
        let lost = ends.filter_map(|(node, end)| Some((node, end.as_ref()?)));
        let lost = lost.filter(|(_, end)| end.how == How::Exited(exit::LOST));
        lost.filter_map(|(node, end)| Some((node, end.words.clone()?))).collect()
    }

    /// What to report, once it is over.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let mut verdict = Verdict {
            status: 0,
            failed: None,
            witnesses: Vec::new(),
            why: None,
            stragglers: self.stragglers.clone(),
            unknown: self.running().collect(),
        };
        match &self.cause {
            Cause::None | Cause::Finished => {}
            Cause::Failed { node, weight } => {
                if let Some(Some(end)) = self.ends.get(*node) {
                    verdict.status = end.how.status();
                    verdict.failed = Some((*node, end.clone()));
                }
                if *weight == Weight::Peer {
                    verdict.witnesses = self.witnesses(*node);
                }
            }
            Cause::Interrupted { signal } => verdict.status = exit::SIGNALLED + signal,
            Cause::Asked { signal, why } => {
                verdict.status = exit::SIGNALLED + signal;
                verdict.why = Some(why.clone());
            }
            Cause::Unwritable(None) => verdict.status = exit::SIGNALLED + PIPE,
            Cause::Unwritable(Some(why)) => {
                verdict.status = exit::OUTPUT;
                verdict.why = Some(why.clone());
            }
        }
        verdict
    }
}
