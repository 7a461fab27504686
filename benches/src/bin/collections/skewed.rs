//! A loop whose iterations take from some nanoseconds to a twelfth of the whole: by `par_for_each`, and in chunks of a
//! fixed size that plain pinned threads take from a counter.

use crate::mix;
use benches::machine::pinned;
use benches::rounds::Figures;
use gossamer::Trustee;
use gossamer::collections;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// The fixed lengths of chunks, in iterations.
const SIZES: [usize; 5] = [1, 16, 256, 1024, 4096];
const ORDERS: [&str; 3] = ["the longest first", "the longest last", "in any order"];

/// Steps of an iteration: the longest one takes as many times as long as the shortest as there are iterations.
fn steps(order: usize, number: usize, len: usize) -> u64 {
    let place = match order {
        0 => number,
        1 => len - 1 - number,
        _ => mix(number as u64) as usize % len,
    };
    (20 * len / (place + 1)) as u64
}

/// The same code for both: how long a step takes depends on where its frame has the variable.
#[inline(never)]
fn iterate(order: usize, number: usize, len: usize) {
    black_box((0..steps(order, number, len)).fold(number as u64, |state, step| black_box(state ^ step)));
}

fn ours(order: usize, len: usize) -> f64 {
    let start = Instant::now();
    let body = const { |number, (order, len): &(usize, usize)| iterate(*order, number, *len) };
    collections::par_for_each_with(0..len, body, (order, len));
    start.elapsed().as_secs_f64()
}

fn fixed(order: usize, len: usize, chunk: usize, threads: usize) -> f64 {
    let next = Arc::new(AtomicUsize::new(0));
    let start = Instant::now();
    let work = move |next: &AtomicUsize| {
        loop {
            let first = next.fetch_add(chunk, Ordering::Relaxed);
            if first >= len {
                return;
            }
            (first..len.min(first + chunk)).for_each(|number| iterate(order, number, len));
        }
    };
    let begin = |thread| {
        let next = Arc::clone(&next);
        pinned(thread, move || work(&next))
    };
    // A fiber calls this: its workers are idle meanwhile, and asleep.
    let threads: Vec<_> = (0..threads).map(begin).collect();
    gossamer::unblock(|| threads.into_iter().all(|thread| thread.join().is_ok()));
    start.elapsed().as_secs_f64()
}

pub fn rows(len: usize, rounds: usize) {
    let threads = Trustee::all().len();
    for (order, name) in ORDERS.into_iter().enumerate() {
        let mut figures = Figures::default();
        // The first round warms up.
        for round in 0..=rounds {
            let ours = ours(order, len);
            let [one, two, three, four, five] = SIZES.map(|chunk| fixed(order, len, chunk, threads));
            let best = [one, two, three, four, five].into_iter().fold(f64::INFINITY, f64::min);
            if round > 0 {
                let [ours, one, two, three, four, five, best] =
                    [ours, one, two, three, four, five, best].map(|seconds| seconds * 1e3);
                figures.add([ours, one, two, three, four, five, best / ours]);
            }
        }
        let sizes = SIZES.map(|chunk| format!("chunks of {chunk}"));
        let [one, two, three, four, five] = sizes.each_ref().map(String::as_str);
        let names =
            ["`par_for_each`", one, two, three, four, five, "rate, of that of the best chunks of each round"];
        figures.print(&format!("{threads} workers, {len} iterations, {name}, milliseconds"), names);
    }
}
