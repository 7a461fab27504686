//! An open loop: requests are due at moments that were fixed beforehand, whatever the servers do. The latency of a request begins when it was
//! due, so a client that is held up shows it (no coordinated omission).

use crate::client::{Task, serve};
use crate::latency::{Found, Latencies};
use gossamer::{NoRef, yield_now};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// What a client worker has found.
#[derive(NoRef)]
pub struct Outcome {
    pub found: Found,
    /// Requests that were due, and not sent before the end.
    pub unsent: u64,
}

/// On a client worker: sends so many requests a second, at random moments (Poisson), until the end, and waits for all answers.
pub fn run<const BYTES: usize>((task, rate): (Task, f64)) -> Outcome {
    let latencies = Rc::new(RefCell::new(Latencies::new()));
    let under_way = Rc::new(Cell::new(0_u64));
    let mut random = task.random(0);
    let span = task.span();
    let (mut due, mut unsent) = (span.begins, 0);
    while due < span.ends {
        let now = Instant::now();
        if now >= span.ends {
            unsent += 1;
            due += gap(&mut random, rate);
            continue;
        }
        // Many at once if many are due: then they have waited, which counts.
        for _ in 0..64 {
            if due > now || due >= span.ends {
                break;
            }
            let (latencies, under_way_of_it) = (Rc::clone(&latencies), Rc::clone(&under_way));
            under_way.set(under_way.get() + 1);
            let counts = due >= span.counts_from;
            task.any_server(&mut random).apply_with_then(serve::<BYTES>, [1; BYTES], move |_| {
                under_way_of_it.set(under_way_of_it.get() - 1);
                if counts {
                    latencies.borrow_mut().add(due.elapsed());
                }
            });
            due += gap(&mut random, rate);
        }
        yield_now();
    }
    while under_way.get() > 0 {
        yield_now();
    }
    Outcome { found: latencies.borrow().found(), unsent }
}

/// From one request to the next.
fn gap(random: &mut fastrand::Rng, rate: f64) -> Duration {
    Duration::from_secs_f64(-(1.0 - random.f64()).ln() / rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_have_the_mean_of_the_rate() {
        let mut random = fastrand::Rng::with_seed(1);
        let sum: Duration = (0..100_000).map(|_| gap(&mut random, 1e6)).sum();
        assert!((sum.as_secs_f64() / 0.1 - 1.0).abs() < 0.02, "{sum:?}");
    }
}
