//! An open loop: requests are due at moments that were fixed beforehand, whatever the servers do. The latency of a
//! request counts from the moment when it was due, so a client that is held up shows it (no coordinated omission).

use crate::client::{Outcome, Task, serve};
use crate::latency::Latencies;
use gossamer::yield_now;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// On a client worker: sends this many requests a second, at random moments (Poisson), until the end, and waits for all
/// answers.
pub fn run<const BYTES: usize>((task, rate): (Task, f64)) -> Outcome {
    let latencies = Rc::new(RefCell::new(Latencies::new()));
    let (under_way, answered) = (Rc::new(Cell::new(0_u64)), Rc::new(Cell::new(0_u64)));
    let mut random = task.random(0);
    let span = task.span();
    // In seconds. A gap may be shorter than a clock can measure.
    let whole = (span.ends - span.begins).as_secs_f64();
    let mut next = 0.0;
    let mut now = span.begins;
    while next < whole && now < span.ends {
        // If many are due, many are sent at once: these have waited, which counts.
        for _ in 0..64 {
            let due = span.begins + Duration::from_secs_f64(next);
            if due > now || next >= whole {
                break;
            }
            let latencies = Rc::clone(&latencies);
            let (under_way_of_it, answered) = (Rc::clone(&under_way), Rc::clone(&answered));
            under_way.set(under_way.get() + 1);
            task.any_server(&mut random).apply_with_then(serve::<BYTES>, [1; BYTES], move |_| {
                let now = Instant::now();
                under_way_of_it.set(under_way_of_it.get() - 1);
                answered.set(answered.get() + u64::from(span.counts(now)));
                // However late the answer is.
                if due >= span.counts_from {
                    latencies.borrow_mut().add(now - due);
                }
            });
            next += gap(&mut random, rate);
        }
        yield_now();
        now = Instant::now();
    }
    while under_way.get() > 0 {
        yield_now();
    }
    // As those that were answered: from the end of the warm-up on.
    let late = whole - next.max((span.counts_from - span.begins).as_secs_f64());
    let unsent = (late.max(0.0) * rate) as u64;
    let mut latencies = latencies.borrow_mut();
    for (age, count) in ages(late, unsent) {
        latencies.add_several(age, count);
    }
    Outcome { found: latencies.found(), answered: answered.get(), unsent }
}

/// How long requests have waited that were due, evenly, in the last seconds before the end: they would take longer than
/// that. Many have one entry.
fn ages(seconds: f64, unsent: u64) -> impl Iterator<Item = (Duration, u64)> {
    let entries = unsent.min(1000);
    (0..entries).map(move |entry| {
        let share = (entry as f64 + 0.5) / entries as f64;
        (Duration::from_secs_f64(seconds * share), unsent / entries + u64::from(entry < unsent % entries))
    })
}

/// Seconds from one request to the next.
fn gap(random: &mut fastrand::Rng, rate: f64) -> f64 {
    -(1.0 - random.f64()).ln() / rate
}

#[cfg(test)]
mod tests {
    use super::*;
    use gossamer::{Config, Trustee};

    #[test]
    fn answers_that_come_after_the_end_have_latencies_and_are_no_throughput() {
        let outcome = gossamer::run(Config::default().threads(2).pin(false), || {
            let server = Trustee::all()[1].entrust(0);
            server.apply_then(|_| std::thread::sleep(Duration::from_millis(500)), |()| ());
            let (warm_up, duration) = (Duration::ZERO, Duration::from_millis(30));
            run::<8>((Task { servers: vec![server], number: 0, warm_up, duration }, 1000.0))
        });
        let mut latencies = Latencies::new();
        latencies.add_found(&outcome.found);
        assert_eq!(outcome.answered, 0);
        assert!(latencies.count() > outcome.unsent && latencies.longest().unwrap() > 100_000.0);
    }

    #[test]
    fn what_was_not_sent_has_waited_until_the_end() {
        assert_eq!(ages(1.0, 0).count(), 0);
        assert_eq!(
            ages(1.0, 2).collect::<Vec<_>>(),
            [(Duration::from_millis(250), 1), (Duration::from_millis(750), 1)]
        );
        let many: Vec<_> = ages(2.0, 1_000_007).collect();
        assert_eq!(many.iter().map(|(_, count)| count).sum::<u64>(), 1_000_007);
        assert_eq!((many.len(), many[999].0), (1000, Duration::from_millis(1999)));
    }

    #[test]
    fn gaps_have_the_mean_of_the_rate() {
        let mut random = fastrand::Rng::with_seed(1);
        let sum: f64 = (0..100_000).map(|_| gap(&mut random, 1e6)).sum();
        assert!((sum / 0.1 - 1.0).abs() < 0.02, "{sum}");
    }
}
