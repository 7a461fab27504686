//! A closed loop: each fiber sends when it has its answer, so a slow server is asked less.

use crate::client::{Outcome, Task, serve};
use crate::latency::Latencies;
use gossamer::{JoinHandle, Pending, spawn_local};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Instant;

/// On a client worker: this many fibers, each of which has a batch under way until the end. The latency of a request is
/// that of its batch.
pub fn run<const BYTES: usize>((task, fibers, batch): (Task, usize, usize)) -> Outcome {
    let latencies = Rc::new(RefCell::new(Latencies::new()));
    let answered = Rc::new(Cell::new(0));
    let span = task.span();
    let one =
        |number| {
            let (task, latencies, answered) = (task.clone(), Rc::clone(&latencies), Rc::clone(&answered));
            spawn_local(move || {
                let mut random = task.random(number);
                let mut pending: Vec<Pending<u64>> = Vec::with_capacity(batch);
                loop {
                    let sent = Instant::now();
                    if sent >= span.ends {
                        return;
                    }
                    if batch == 1 {
                        task.any_server(&mut random).apply_with(serve::<BYTES>, [1; BYTES]);
                    } else {
                        pending.extend((0..batch).map(|_| {
                            task.any_server(&mut random).apply_with_async(serve::<BYTES>, [1; BYTES])
                        }));
                        pending.drain(..).for_each(|answer| _ = answer.wait());
                    }
                    let now = Instant::now();
                    if span.counts(now) {
                        answered.set(answered.get() + batch as u64);
                    }
                    if span.counts(sent) && span.counts(now) {
                        let mut latencies = latencies.borrow_mut();
                        (0..batch).for_each(|_| latencies.add(now - sent));
                    }
                }
            })
        };
    let fibers: Vec<_> = (0..fibers).map(one).collect();
    fibers.into_iter().for_each(JoinHandle::join);
    Outcome { found: latencies.borrow().found(), answered: answered.get(), unsent: 0 }
}
