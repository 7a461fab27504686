//! An idle runtime sleeps, and wakes by itself for requests, timers and foreign threads.

use gossamer::{Trustee, entrust, spawn_on_with};
use integration_tests::{cpu_time, in_runtime, isolated, workers};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// The share of one processor that the process used while `wait` ran.
fn load_of(wait: impl FnOnce()) -> f64 {
    let (cpu, clock) = (cpu_time(), Instant::now());
    wait();
    (cpu_time() - cpu).as_secs_f64() / clock.elapsed().as_secs_f64()
}

#[test]
fn an_idle_runtime_sleeps() {
    isolated(|| {
        gossamer::run(workers(4), || {
            // After some work, with fibers that wait for various things.
            let held = entrust(0_u64);
            for trustee in Trustee::all() {
                let number = trustee.entrust(0_u64);
                (0..1000).for_each(|_| number.apply(|number| *number += 1));
                drop(trustee.spawn_with(|_held| gossamer::sleep(Duration::from_secs(3600)), held.clone()));
            }
            let load = load_of(|| gossamer::sleep(Duration::from_secs(2)));
            assert!(load < 0.05, "{} % of a processor", load * 100.0);
        });
    });
}

#[test]
fn a_runtime_whose_main_waits_for_a_thread_sleeps() {
    isolated(|| {
        let (sender, receiver) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let (number, started): (gossamer::Trust<u64>, Instant) = receiver.recv().unwrap();
            std::thread::sleep(Duration::from_secs(1).saturating_sub(started.elapsed()));
            number.apply(|number| *number += 1);
        });
        gossamer::run(workers(2), move || {
            let number = Trustee::all()[1].entrust(0_u64);
            sender.send((number.clone(), Instant::now())).unwrap();
            let load = load_of(|| {
                while number.apply(|number| *number) == 0 {
                    gossamer::sleep(Duration::from_millis(50));
                }
            });
            assert!(load < 0.05, "{} % of a processor", load * 100.0);
        });
        thread.join().unwrap();
    });
}

/// Long enough for a worker to have fallen asleep under any scheduler.
const NAP: Duration = Duration::from_millis(30);

#[test]
fn a_sleeping_worker_wakes_for_a_request_of_another() {
    in_runtime(2, || {
        let number = Trustee::all()[1].entrust(0_u64);
        for round in 1..=10 {
            gossamer::sleep(NAP);
            number.apply(|number| *number += 1);
            gossamer::sleep(NAP);
            number.apply_then(|number| *number += 1, |()| ());
            gossamer::sleep(NAP);
            assert_eq!(number.apply_async(|number| *number).wait(), round * 2);
        }
    });
}

#[test]
fn a_worker_that_falls_asleep_misses_nothing_that_comes_meanwhile() {
    in_runtime(2, || {
        let mut random = fastrand::Rng::with_seed(1);
        let number = Trustee::all()[1].entrust(0_u64);
        for _ in 0..10_000 {
            // Around the time after which a worker without work sleeps.
            let until = Instant::now() + Duration::from_nanos(random.u64(..60_000));
            while Instant::now() < until {}
            number.apply(|number| *number += 1);
        }
    });
}

#[test]
fn a_sleeping_worker_wakes_for_a_fiber_spawned_on_it_and_for_its_end() {
    in_runtime(2, || {
        for trustee in Trustee::all() {
            for _ in 0..5 {
                gossamer::sleep(NAP);
                let fiber = trustee.spawn(|| gossamer::sleep(NAP));
                fiber.join();
            }
        }
    });
}

#[test]
fn a_sleeping_worker_wakes_for_its_timers_in_order() {
    in_runtime(2, || {
        let started = Instant::now();
        let woken = entrust(Vec::new());
        let fibers: Vec<_> = [800_u64, 200, 600, 400, 0]
            .into_iter()
            .map(|milliseconds| {
                let body = |(woken, milliseconds): (gossamer::Trust<Vec<u64>>, u64)| {
                    gossamer::sleep(Duration::from_millis(milliseconds));
                    woken.apply_with(|woken, milliseconds| woken.push(milliseconds), milliseconds);
                };
                spawn_on_with(Trustee::here(), body, (woken.clone(), milliseconds))
            })
            .collect();
        fibers.into_iter().for_each(|fiber| fiber.join());
        assert!(started.elapsed() >= Duration::from_millis(800));
        assert_eq!(woken.apply(|woken| woken.clone()), [0, 200, 400, 600, 800]);
    });
}

#[test]
fn a_sleep_is_never_too_short() {
    in_runtime(2, || {
        for microseconds in [0, 1, 500, 999, 1000, 1500, 3000] {
            let started = Instant::now();
            gossamer::sleep(Duration::from_micros(microseconds));
            assert!(started.elapsed() >= Duration::from_micros(microseconds));
        }
    });
}

#[test]
fn a_sleeping_worker_wakes_for_a_thread_that_is_no_worker() {
    in_runtime(2, || {
        let numbers: Vec<_> = Trustee::all().into_iter().map(|trustee| trustee.entrust(0_u64)).collect();
        let (sender, receiver) = mpsc::channel();
        let sent = numbers.clone();
        let thread = std::thread::spawn(move || {
            for _ in 0..5 {
                for number in &sent {
                    std::thread::sleep(NAP);
                    number.apply(|number| *number += 1);
                    std::thread::sleep(NAP);
                    drop(number.apply_async(|number| *number += 1));
                    std::thread::sleep(NAP);
                    number.trustee().spawn(|| ()).join();
                }
            }
            sender.send(()).unwrap();
        });
        // Nothing else happens in this runtime, except for this rare look.
        while receiver.try_recv().is_err() {
            gossamer::sleep(Duration::from_millis(200));
        }
        assert!(numbers.iter().all(|number| number.apply(|number| *number) == 10));
        thread.join().unwrap();
    });
}

#[test]
fn a_fiber_that_waits_for_a_thread_is_woken_by_it() {
    in_runtime(2, || {
        for trustee in Trustee::all() {
            // A fiber that waits for one that a thread started, while all workers sleep.
            let thread = std::thread::spawn(move || {
                std::thread::sleep(NAP);
                trustee.spawn(|| gossamer::sleep(NAP)).join();
                trustee.entrust(7_u64)
            });
            while !thread.is_finished() {
                gossamer::sleep(NAP);
            }
            assert_eq!(thread.join().unwrap().apply(|number| *number), 7);
        }
    });
}
