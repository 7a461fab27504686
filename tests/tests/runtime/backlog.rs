//! Delegated closures and callbacks cannot wait for room. They may send what they have to; those that would never stop
//! are told so; and a worker that has sent too much does not take on more.

use gossamer::{NoRef, Trust, Trustee, entrust};
use integration_tests::{Tally, cpu_time, isolated, panic_text, wait_until, watched, workers};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// A backlog, and what a program may send beyond it before it is told: 64 times as much.
const BACKLOG: usize = 100;
const RUNAWAY: u64 = 64 * BACKLOG as u64;

/// Sends `count` requests to a property that counts them.
fn send_many(number: &Trust<u64>, count: u64) {
    for _ in 0..count {
        number.apply_then(|number| *number += 1, |()| ());
    }
}

#[test]
fn a_delegated_closure_may_send_much_more_than_the_backlog() {
    watched(|| {
        gossamer::run(workers(2).backlog(BACKLOG), || {
            for (from, to) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let (from, number) = (Trustee::all()[from].entrust(()), Trustee::all()[to].entrust(0_u64));
                from.apply_with(|(), number: Trust<u64>| send_many(&number, RUNAWAY), number.clone());
                wait_until(|| number.apply(|number| *number) == RUNAWAY);
            }
        });
    });
}

#[test]
fn a_delegated_closure_that_runs_away_is_told_so() {
    watched(|| {
        gossamer::run(workers(2).backlog(BACKLOG), || {
            for (from, to) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let (from, number) = (Trustee::all()[from].entrust(()), Trustee::all()[to].entrust(0_u64));
                let flood = |(): &mut (), number: Trust<u64>| send_many(&number, 50_000_000);
                let error = from.try_apply_with(flood, number.clone()).unwrap_err().to_string();
                assert!(error.contains("64 times Config::backlog"), "{error}");
                // What was sent before is served, and the trustees go on.
                wait_until(|| number.apply(|number| *number) >= RUNAWAY);
                from.apply(|()| ());
            }
        });
    });
}

#[test]
fn a_callback_that_runs_away_is_told_so() {
    watched(|| {
        gossamer::run(workers(2).backlog(BACKLOG), || {
            for trustee in Trustee::all() {
                let number = trustee.entrust(0_u64);
                let (sender, told) = mpsc::channel();
                let flooded = number.clone();
                number.apply_then(
                    |_| (),
                    move |()| sender.send(panic_text(|| send_many(&flooded, 50_000_000))).unwrap(),
                );
                let mut text = None;
                wait_until(|| {
                    text = told.try_recv().ok();
                    text.is_some()
                });
                let text = text.unwrap();
                assert!(text.contains("64 times Config::backlog"), "{text}");
                wait_until(|| number.apply(|number| *number) >= RUNAWAY);
            }
        });
    });
}

#[test]
fn closures_that_send_two_of_themselves_for_ever_are_told_so() {
    watched(|| {
        gossamer::run(workers(2).backlog(BACKLOG), || {
            static REFUSED: AtomicU64 = AtomicU64::new(0);
            struct Told;
            impl Drop for Told {
                fn drop(&mut self) {
                    if std::thread::panicking() {
                        REFUSED.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
            fn double(_: &mut (), mut pair: Vec<Trust<()>>) {
                // Until one was refused; then the others come to an end.
                if REFUSED.load(Ordering::Relaxed) == 0 {
                    let _told = Told;
                    pair.rotate_left(1);
                    pair[0].clone().apply_with_then(double, pair.clone(), |()| ());
                    pair[0].clone().apply_with_then(double, pair, |()| ());
                }
            }
            let pair: Vec<_> = Trustee::all().iter().map(|trustee| trustee.entrust(())).collect();
            pair[0].clone().apply_with_then(double, pair, |()| ());
            wait_until(|| REFUSED.load(Ordering::Relaxed) > 0);
        });
    });
}

#[test]
fn what_a_refused_request_holds_is_dropped() {
    watched(|| {
        gossamer::run(workers(2).backlog(BACKLOG), || {
            let tally = Tally::new();
            let (from, to) = (entrust(()), Trustee::all()[1].entrust(()));
            let flood = |(): &mut (), (to, value): (Trust<()>, integration_tests::Counted)| {
                for _ in 0..1_000_000 {
                    let kept = value.clone();
                    to.apply_with_then(|(), value| drop(value), value.clone(), move |()| drop(kept));
                }
            };
            assert!(from.try_apply_with(flood, (to, tally.value())).is_err());
            wait_until(|| tally.is_even());
        });
    });
}

/// A stage of a pipeline: passes on each value several times.
#[derive(NoRef)]
struct Stage {
    next: Option<Trust<Self>>,
    copies: u64,
    arrived: u64,
}

fn pass_on(stage: &mut Stage) {
    stage.arrived += 1;
    match &stage.next {
        Some(next) => (0..stage.copies).for_each(|_| next.apply_unawaited(pass_on)),
        // It is slower than those before it.
        None => (0..20).for_each(|_| std::hint::spin_loop()),
    }
}

#[test]
fn stages_that_are_faster_than_the_next_one_are_held_back() {
    watched(|| {
        for threads in [2, 4] {
            gossamer::run(workers(threads).backlog(BACKLOG), move || {
                let mut next = None;
                for trustee in Trustee::all().into_iter().skip(1).rev() {
                    let stage = Stage { copies: if next.is_some() { 3 } else { 0 }, arrived: 0, next };
                    next = Some(trustee.entrust(stage));
                }
                let first = next.unwrap();
                // Many times what makes a stage run away that is not held back.
                let last = 100 * RUNAWAY;
                let values = last / 3_u64.pow(threads as u32 - 2);
                (0..values).for_each(|_| first.apply_unawaited(pass_on));
                let mut stages = vec![first];
                while let Some(next) = stages[stages.len() - 1].apply(|stage| stage.next.clone()) {
                    stages.push(next);
                }
                let mut expected = values;
                for stage in &stages {
                    wait_until(|| stage.apply(|stage| stage.arrived) == expected);
                    expected *= 3;
                }
            });
        }
    });
}

#[test]
fn trustees_with_long_backlogs_for_each_other_go_on() {
    watched(|| {
        for threads in [1, 2, 3] {
            gossamer::run(workers(threads).backlog(BACKLOG), move || {
                let parts: Vec<_> = Trustee::all().iter().map(|trustee| trustee.entrust(0_u64)).collect();
                fn branch(arrived: &mut u64, (parts, depth): (Vec<Trust<u64>>, u32)) {
                    *arrived += 1;
                    if depth > 0 {
                        for child in 0..8_usize {
                            let to = parts[child % parts.len()].clone();
                            to.apply_with_unawaited(branch, (parts.clone(), depth - 1));
                        }
                    }
                }
                parts[0].apply_with_unawaited(branch, (parts.clone(), 4));
                let all = (0..=4).map(|depth| 8_u64.pow(depth)).sum::<u64>();
                wait_until(|| parts.iter().map(|part| part.apply(|arrived| *arrived)).sum::<u64>() == all);
            });
        }
    });
}

#[test]
fn a_worker_that_is_held_back_serves_others_now_and_then() {
    watched(|| {
        gossamer::run(workers(3).backlog(BACKLOG), || {
            static STOP: AtomicU64 = AtomicU64::new(0);
            static RUNNING: AtomicU64 = AtomicU64::new(0);
            // Callbacks that send again keep the backlog as long as it is.
            fn again(slow: Trust<()>) {
                if STOP.load(Ordering::Relaxed) > 0 {
                    RUNNING.fetch_sub(1, Ordering::Relaxed);
                    return;
                }
                let next = slow.clone();
                slow.apply_then(|()| (), move |()| again(next));
            }
            let all = Trustee::all();
            let (busy, slow) = (all[1].entrust(0_u64), all[2].entrust(()));
            RUNNING.store(6000, Ordering::Relaxed);
            busy.apply_with(|_, slow: Trust<()>| (0..6000).for_each(|_| again(slow.clone())), slow);
            for _ in 0..3 {
                busy.apply(|served| *served += 1);
            }
            all[1].spawn(|| gossamer::sleep(Duration::from_millis(5))).join();
            STOP.store(1, Ordering::Relaxed);
            wait_until(|| RUNNING.load(Ordering::Relaxed) == 0);
            assert_eq!(busy.apply(|served| *served), 3);
        });
    });
}

#[test]
fn a_worker_that_is_held_back_for_long_takes_on_little_and_sleeps() {
    isolated(|| {
        gossamer::run(workers(4).backlog(BACKLOG), || {
            const COPIES: u64 = 10;
            let all = Trustee::all();
            let (busy, slow) = (all[1].entrust(0_u64), all[2].entrust(0_u64));
            slow.apply_unawaited(|_| std::thread::sleep(Duration::from_secs(3)));
            let send = |(busy, slow): (Trust<u64>, Trust<u64>)| {
                for _ in 0..10_000 {
                    let pass_on = |passed: &mut u64, slow: Trust<u64>| {
                        *passed += 1;
                        (0..COPIES).for_each(|_| slow.apply_unawaited(|arrived| *arrived += 1));
                    };
                    busy.apply_with_unawaited(pass_on, slow.clone());
                }
            };
            let sender = all[3].spawn_with(send, (busy.clone(), slow.clone()));
            gossamer::sleep(Duration::from_millis(200));
            let cpu = cpu_time();
            gossamer::sleep(Duration::from_secs(2));
            let used = (cpu_time() - cpu).as_secs_f64() / 2.0;
            assert!(used < 0.05, "{} % of a processor", used * 100.0);
            sender.join();
            // None was refused, as happens if it takes on all that waits whenever it serves.
            wait_until(|| busy.apply(|passed| *passed) == 10_000);
            wait_until(|| slow.apply(|arrived| *arrived) == COPIES * 10_000);
        });
    });
}
