//! Finds what keeps a worker for long: a closure, a callback or a fiber that computes or blocks while everything else
//! on the worker waits. A fiber is made to let others run at its next call (as Go's `sysmon` does for its goroutines);
//! what makes no call is reported.

use crate::counters::lane::SentCounters;
use crate::counters::worker::{Counted, WorkerCounters};
use crate::lane::error;
use crate::sys::threads::procfs::ThreadFiles;
use crate::worker::mailbox::Mailbox;
use crate::worker::shared::Shared;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Places that are kept for the list at the end; further places are reported all the same.
const PLACES: usize = 1000;

/// How long a fiber may keep its worker, and compute between two looks then, before its next call lets others run.
const LONG: Duration = Duration::from_millis(5);
/// How long a turn lasts before its processor time is measured, for the report.
const LONGER: Duration = Duration::from_millis(40);

/// Looks at all workers, at short intervals.
#[derive(Default)]
pub(crate) struct BlockWatch {
    /// By the process-wide numbers of the workers.
    seen: HashMap<u32, WorkerTurn>,
    /// By what has kept a worker.
    places: HashMap<String, BlockCount>,
}

/// A worker in one of its turns.
struct WorkerTurn {
    turn: u64,
    since: Instant,
    /// Processor time at the first look that finds it to be a long one.
    used: Option<u64>,
    /// Set at the first look that finds the turn to be a longer one.
    processor_time: Option<u64>,
    kept_by: Option<String>,
}

/// How often something has kept a worker, and the longest time.
#[derive(Default)]
struct BlockCount {
    times: u64,
    longest: Duration,
}

impl BlockWatch {
    /// Looks, hurries the fibers that have kept a worker since the last look, and reports what keeps a worker for longer
    /// than it may, once for each place.
    pub(crate) fn look(&mut self, runtimes: &[Arc<Shared>]) {
        let numbers = runtimes.iter().flat_map(|runtime| {
            let first = runtime.base + runtime.first as u32;
            first..first + runtime.mailboxes.len() as u32
        });
        let numbers: Vec<u32> = numbers.collect();
        self.seen.retain(|number, _| numbers.contains(number));
        for runtime in runtimes {
            for (place, mailbox) in runtime.mailboxes.iter().enumerate() {
                let index = runtime.first + place;
                self.look_at(runtime, index, mailbox);
            }
        }
    }

    fn look_at(&mut self, runtime: &Shared, index: usize, mailbox: &Mailbox) {
        let number = runtime.base + index as u32;
        let (turn, now) = (mailbox.view.turns(), Instant::now());
        let begins = WorkerTurn { turn, since: now, used: None, processor_time: None, kept_by: None };
        let seen = self.seen.entry(number).or_insert(begins);
        if seen.turn != turn || mailbox.doorbell.is_asleep() {
            if let Some(place) = seen.kept_by.take() {
                let longest = seen.since.elapsed();
                self.places.entry(place).and_modify(|kept| kept.longest = kept.longest.max(longest));
            }
            *seen = WorkerTurn { turn, since: now, used: None, processor_time: None, kept_by: None };
            return;
        }
        let lasted = now - seen.since;
        if lasted >= LONG {
            let used = mailbox.view.thread().and_then(|thread| thread.processor_time());
            match (seen.used, used) {
                (None, Some(used)) => seen.used = Some(used),
                // Other programs have kept it from its processor.
                (Some(before), Some(used)) if Duration::from_nanos(used.saturating_sub(before)) < LONG => {}
                _ => mailbox.counters.fibers.calls_left.hurry(),
            }
        }
        let Some(limit) = runtime.config.block_limit() else { return };
        let Some(thread) = mailbox.view.thread().filter(|_| seen.kept_by.is_none()) else { return };
        match seen.processor_time {
            None if lasted < LONGER => {}
            None => seen.processor_time = thread.processor_time(),
            // A worker that has not run was kept by other programs.
            Some(before) if lasted >= limit && is_kept(thread, before, limit) => {
                let place = mailbox.view.running();
                let is_known = self.places.contains_key(&place);
                if !is_known {
                    tell(index, &place, lasted, &waiting(runtime, index));
                }
                if is_known || self.places.len() < PLACES {
                    let kept = self.places.entry(place.clone()).or_default();
                    kept.times += 1;
                    kept.longest = kept.longest.max(lasted);
                }
                // Once for this turn, even if the place is not kept.
                seen.kept_by = Some(place);
            }
            Some(_) => {}
        }
    }

    /// What has kept workers more than once, for the end of the program.
    pub(crate) fn told_at_the_end(&self) {
        let mut places: Vec<_> = self.places.iter().filter(|(_, kept)| kept.times > 1).collect();
        places.sort_by_key(|(_, kept)| std::cmp::Reverse(kept.times));
        for (place, kept) in places {
            error::print(&format!(
                "gossamer: in all, {place} has kept its worker {} times for too long, at most for {}\n",
                kept.times,
                seconds(kept.longest)
            ));
        }
    }
}

/// Whether a thread has computed for that long since it had used this much processor time, or waits in the kernel.
fn is_kept(thread: &ThreadFiles, before: u64, limit: Duration) -> bool {
    let used = thread.processor_time().map_or(0, |now| now.saturating_sub(before));
    Duration::from_nanos(used) >= limit || (used == 0 && thread.is_waiting())
}

/// What waits for a worker, as far as this node knows.
fn waiting(runtime: &Shared, index: usize) -> String {
    let mailbox = runtime.mailbox(index);
    let fibers = mailbox.counters.fibers.alive.get().saturating_sub(u64::from(mailbox.view.runs_a_fiber()));
    let sent = |lane: &Counted<SentCounters>| {
        let sent = lane.counters.requests.get() + lane.counters.backlog.get();
        sent.saturating_sub(lane.counters.answered.get())
    };
    let requests = |counters: &WorkerCounters| {
        counters
            .with_lanes(|lanes| lanes.sent.iter().filter(|lane| lane.peer == index).map(sent).sum::<u64>())
    };
    let requests: u64 = runtime.mailboxes.iter().map(|mailbox| requests(&mailbox.counters)).sum();
    let counted = |count: u64, what: &str| {
        (count > 0).then(|| format!("{count} {what}{}", if count == 1 { "" } else { "s" }))
    };
    let come = [counted(requests, "request"), counted(mailbox.inbox.len() as u64, "message")];
    let come: Vec<String> = come.into_iter().flatten().collect();
    let verb = if requests + mailbox.inbox.len() as u64 == 1 { "waits" } else { "wait" };
    let come = (!come.is_empty()).then(|| format!("{} of this node {verb} for it", come.join(" and ")));
    let fibers = counted(fibers, "other fiber").map(|others| format!("{others} of its own cannot run"));
    let all: Vec<String> = come.into_iter().chain(fibers).collect();
    if all.is_empty() { "nothing of this node waits for it".to_owned() } else { all.join(", and ") }
}

fn tell(worker: usize, place: &str, lasted: Duration, waiting: &str) {
    error::print(&format!(
        "gossamer: worker {worker} has been held up for {} by {place}. Meanwhile {waiting}. {}. Each place is reported once; \
         GOSSAMER_BLOCKED_MILLISECONDS=0 turns this off\n",
        seconds(lasted),
        advice(place)
    ));
}

/// What to do about it.
fn advice(place: &str) -> &'static str {
    // A closure of the library's own: nobody can put a pause into it.
    if place.contains("`gossamer::collections::") {
        "A worker goes through its part of a collection without a pause there, as documented (sorts, `clear`): on more \
         workers, each has a smaller part"
    } else {
        "Move blocking calls and long computations to `gossamer::unblock`, call `gossamer::yield_now` between the parts of a \
         computation, or spread it with `par_for_each`"
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::advice;

    #[test]
    fn a_closure_of_the_library_is_not_to_be_changed_by_who_reads_of_it() {
        let own = "the delegated closure `gossamer::collections::loops::sort_by::<impl gossamer::collections::dist_vec::DistVec<u64>>::par_sort::{{closure}}`";
        assert!(advice(own).contains("more workers"));
        assert!(advice("the delegated closure `app::main::{{closure}}` (src/main.rs:3)").contains("unblock"));
    }
}
