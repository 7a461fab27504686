//! Fate sharing: what the launcher does with the other nodes, and what it reports, depending on what happens to nodes.
//! No I/O, and no clock of its own.
//!
//! The first failure ends the application. But a node that loses its peer ends itself, and news of that can arrive
//! before news of the peer. So the report of a failure waits for a grace period; then [`fault`] picks, from everything
//! that was heard, what explains it.

use crate::exit;
use crate::launcher::fault::{Fault, fault, is_cause, is_consequence};
use crate::node::ending::{End, How, RELEASED};
use crate::node::signal::{GIVE_UP, INTERRUPTED, KILL, PIPE, TERMINATE};
use std::time::{Duration, Instant};

/// How long nodes have to end by themselves after another one has failed.
pub const GRACE: Duration = Duration::from_millis(500);
/// How long the others have after one node has left as if everything were done: programs that do not use the library
/// end when they like, and some start late on a busy machine.
pub const LEFT: Duration = Duration::from_secs(10);
/// How long nodes have to end by themselves after node 0 has ended well.
pub const FAREWELL: Duration = Duration::from_secs(2);

/// Why the application ends, if it does.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Cause {
    /// It goes on.
    None,
    /// Node 0 has ended well.
    Finished,
    /// At least one node has failed.
    Failed,
    /// A signal to the launcher.
    Interrupted { signal: u8 },
    /// Somebody else ends it: who, and why.
    Asked { signal: u8, why: String },
    /// Its output cannot be written: why, or nothing if the reader has closed it.
    Unwritable(Option<String>),
    /// Its time is up; this text says so.
    TimedOut(String),
}

/// What the launcher tells the user at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The exit status of the launcher.
    pub status: u8,
    /// Which node is to blame for the failure of the application.
    pub fault: Option<Fault>,
    /// How that node ended, if it has failed; otherwise, how the first node ended that lost it.
    pub failed: Option<(usize, End)>,
    /// What other nodes said about peers that they lost, if nothing else explains the end.
    pub witnesses: Vec<(usize, String)>,
    /// Why the application was ended, if no node is the reason.
    pub why: Option<String>,
    /// Nodes that had to be killed, although everything had gone well.
    pub stragglers: Vec<usize>,
    /// Nodes that may still run, as far as anybody knows.
    pub unknown: Vec<usize>,
}

/// The state of an application's nodes.
#[derive(Debug)]
pub struct Fate {
    ends: Vec<Option<End>>,
    /// Nodes that have failed, in the order in which that became known.
    failed: Vec<usize>,
    cause: Cause,
    /// When the nodes that are left are killed.
    kill_at: Option<Instant>,
    /// Since when they are being killed.
    killed_at: Option<Instant>,
    stragglers: Vec<usize>,
    /// What to send to every node, in this order.
    signals: Vec<u8>,
}

impl Fate {
    /// Of this many nodes, which all run.
    #[must_use]
    pub fn new(nodes: usize) -> Self {
        Self {
            ends: vec![None; nodes],
            failed: Vec::new(),
            cause: Cause::None,
            kill_at: None,
            killed_at: None,
            stragglers: Vec::new(),
            signals: Vec::new(),
        }
    }

    /// A node has ended.
    pub fn ended(&mut self, now: Instant, node: usize, end: End) {
        match self.ends.get_mut(node) {
            Some(known @ None) => *known = Some(end.clone()),
            _ => return,
        }
        if self.killed_at.is_some() {
            return;
        }
        match end.how {
            How::Exited(0) if node == 0 => self.finish(now),
            How::Exited(0 | exit::LOST) if matches!(self.cause, Cause::Finished) => {}
            How::Exited(0) if end.words.as_deref() == Some(RELEASED) => {}
            How::Exited(0) => self.fail(now + LEFT, node),
            _ => self.fail(now + GRACE, node),
        }
    }

    /// Node 0 has ended well. Nodes that noticed this and ended before the launcher knew it have not failed.
    fn finish(&mut self, now: Instant) {
        let is_cause =
            |node: &usize| self.ends.get(*node).is_some_and(|end| end.as_ref().is_some_and(is_cause));
        if matches!(self.cause, Cause::None | Cause::Failed) && !self.failed.iter().any(is_cause) {
            self.failed.clear();
            self.cause = Cause::Finished;
            self.kill_at = Some(now + FAREWELL);
        }
    }

    /// A node has failed: if the others were not killed before, they are killed now.
    fn fail(&mut self, kill_at: Instant, node: usize) {
        if matches!(self.cause, Cause::None | Cause::Finished | Cause::Failed) {
            self.failed.push(node);
            self.cause = Cause::Failed;
            self.kill_by(kill_at);
        }
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

    /// The application has used up its time; the text says so.
    pub fn timed_out(&mut self, now: Instant, why: String) {
        if matches!(self.cause, Cause::None) {
            self.cause = Cause::TimedOut(why);
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

    /// The nodes whose end is not known.
    pub fn running(&self) -> impl Iterator<Item = usize> {
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

    /// Whether no node runs any more, or nobody waits for those that do.
    #[must_use]
    pub fn is_over(&self, now: Instant) -> bool {
        self.running().next().is_none() || self.killed_at.is_some_and(|time| time + GIVE_UP <= now)
    }

    /// Whether nodes were killed that nothing was heard of since.
    #[must_use]
    pub fn has_given_up(&self, now: Instant) -> bool {
        self.is_over(now) && self.running().next().is_some()
    }

    /// Whether ending soon matters more to the user than the rest of the output.
    #[must_use]
    pub fn is_impatient(&self) -> bool {
        matches!(self.cause, Cause::Interrupted { .. } | Cause::Unwritable(_) | Cause::TimedOut(_))
    }

    /// How nodes have failed, in the order in which that became known.
    fn failures(&self) -> Vec<(usize, &End)> {
        let end = |node: &usize| Some((*node, self.ends.get(*node)?.as_ref()?));
        self.failed.iter().filter_map(end).collect()
    }

    /// Which node has failed, and what others say.
    fn blame(&self, verdict: &mut Verdict) {
        let failures = self.failures();
        verdict.fault = fault(&failures);
        let at_fault = match verdict.fault {
            Some(Fault::Failed(node)) => failures.iter().find(|(failed, _)| *failed == node),
            _ => failures.first(),
        };
        let Some(&(failed, end)) = at_fault else { return };
        verdict.status = end.how.status();
        verdict.failed = Some((failed, end.clone()));
        if is_consequence(end) {
            let others = failures.iter().filter(|(node, _)| *node != failed);
            verdict.witnesses = others.filter_map(|(node, end)| Some((*node, end.words.clone()?))).collect();
        }
    }

    /// What to report, once it is over.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let mut verdict = Verdict {
            status: 0,
            fault: None,
            failed: None,
            witnesses: Vec::new(),
            why: None,
            stragglers: self.stragglers.clone(),
            unknown: self.running().collect(),
        };
        match &self.cause {
            Cause::None | Cause::Finished => {}
            Cause::Failed => self.blame(&mut verdict),
            Cause::Interrupted { signal } => verdict.status = exit::SIGNALLED + signal,
            Cause::Asked { signal, why } => {
                verdict.status = exit::SIGNALLED + signal;
                verdict.why = Some(why.clone());
            }
            Cause::TimedOut(why) => {
                verdict.status = exit::TIMED_OUT;
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
