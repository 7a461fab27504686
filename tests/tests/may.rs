//! Coroutines of the crate `may`: they use may's own blocking calls, and trusts.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]
#![allow(
    clippy::undocumented_unsafe_blocks,
    reason = "no coroutine here holds anything of a thread while it waits"
)]

use gossamer::{JoinHandle, Latch, Reason, Trust, Trustee, spawn_may};
use integration_tests::{
    Tally, in_child, in_runtime, isolated, panic_text, resident_bytes, wait_until, watched, workers,
};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Runs `body` in a process of its own in which may has one thread: whatever blocks that thread blocks all coroutines.
fn with_one_thread_of_may(body: fn()) {
    isolated(move || {
        may::config().set_workers(1);
        gossamer::run(workers(2), body);
    });
}

/// Starts a coroutine of may.
#[track_caller]
fn coroutine<U: Send + 'static>(body: impl FnOnce() -> U + Send + 'static) -> JoinHandle<U> {
    // SAFETY: the coroutines of these tests hold nothing of a thread while they wait, and do not call may while they
    // unwind; they need little stack, and only may and gossamer wake them.
    unsafe { spawn_may(body) }
}

/// A coroutine of may that accepts `connections` and echoes each in another coroutine.
fn echo_server(connections: usize) -> (SocketAddr, JoinHandle<usize>) {
    let listener = may::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let echo = |mut stream: may::net::TcpStream| {
        let (mut buffer, mut total) = ([0; 64], 0);
        loop {
            let length = stream.read(&mut buffer).unwrap();
            if length == 0 {
                return total;
            }
            stream.write_all(&buffer[..length]).unwrap();
            total += length;
        }
    };
    let serve = move || {
        let streams = listener.incoming().take(connections).map(Result::unwrap);
        let echoes: Vec<_> = streams.map(|stream| coroutine(move || echo(stream))).collect();
        echoes.into_iter().map(JoinHandle::join).sum()
    };
    (address, coroutine(serve))
}

#[test]
fn many_coroutines_sleep_talk_over_sockets_and_use_trusts() {
    const COROUTINES: usize = 200;
    const ROUNDS: usize = 20;
    in_runtime(2, || {
        let (address, server) = echo_server(COROUTINES);
        let counters: Vec<_> = Trustee::all().into_iter().map(|trustee| trustee.entrust(0_usize)).collect();
        let tally = Tally::new();
        let client = move |number: usize, counters: Vec<Trust<usize>>| {
            let _dropped_at_the_end = tally.value();
            let mut stream = may::net::TcpStream::connect(address).unwrap();
            for round in 0..ROUNDS {
                may::coroutine::sleep(Duration::from_micros((number * 7 + round * 13) as u64 % 300));
                let counter = &counters[(number + round) % counters.len()];
                let by = counter.apply_with(
                    |count, by| {
                        assert!(std::thread::current().name().unwrap().starts_with("gossamer-"));
                        *count += by;
                        by
                    },
                    1,
                );
                let sent = (number * round).to_le_bytes();
                stream.write_all(&sent).unwrap();
                let mut received = [0; 8];
                stream.read_exact(&mut received).unwrap();
                assert_eq!((by, received), (1, sent));
                counter.apply_then(|count| *count += 1, |()| ());
                let before = counter.apply_async(|count| std::mem::replace(count, *count + 1));
                may::coroutine::yield_now();
                assert!(before.wait() >= 2);
            }
            number
        };
        let clients: Vec<_> = (0..COROUTINES)
            .map(|number| {
                let counters = counters.clone();
                coroutine(move || client(number, counters))
            })
            .collect();
        assert_eq!(
            clients.into_iter().map(JoinHandle::join).sum::<usize>(),
            COROUTINES * (COROUTINES - 1) / 2
        );
        assert_eq!(server.join(), COROUTINES * ROUNDS * 8);
        let total: usize = counters.iter().map(|counter| counter.apply(|count| *count)).sum();
        assert_eq!(total, COROUTINES * ROUNDS * 3);
        assert!(tally.is_even() && tally.made() == COROUTINES);
    });
}

#[test]
fn a_coroutine_that_waits_for_a_trust_lets_the_others_of_its_thread_run() {
    static OPEN: AtomicBool = AtomicBool::new(false);
    with_one_thread_of_may(|| {
        let door = Trustee::all()[1].entrust(Latch::new(0_u32));
        let waiting = coroutine(move || {
            door.launch(|door| {
                wait_until(|| OPEN.load(Ordering::Relaxed));
                *door += 1;
                *door
            })
        });
        let opening = coroutine(|| OPEN.store(true, Ordering::Relaxed));
        opening.join();
        assert_eq!(waiting.join(), 1);
    });
}

#[test]
fn sleeping_yielding_and_joining_suspend_the_coroutine_only() {
    static STEPS: AtomicUsize = AtomicUsize::new(0);
    with_one_thread_of_may(|| {
        let trustee = Trustee::all()[1];
        let outer = coroutine(move || {
            let fiber = trustee.spawn(|| gossamer::sleep(Duration::from_millis(50)));
            let inner = coroutine(|| {
                gossamer::yield_now();
                STEPS.fetch_add(1, Ordering::Relaxed);
                7
            });
            // It sleeps, a millisecond at a time.
            wait_until(|| STEPS.load(Ordering::Relaxed) == 1);
            fiber.join();
            inner.join()
        });
        assert_eq!(outer.join(), 7);
    });
}

#[test]
fn a_panic_reaches_who_joins() {
    in_runtime(1, || {
        let panicking = coroutine(|| {
            may::coroutine::sleep(Duration::from_millis(1));
            panic!("the end of it");
        });
        let error = panicking.try_join().unwrap_err();
        assert!(
            matches!(error.reason(), Reason::Panicked { message, .. } if message == "the end of it"),
            "{error}"
        );
        assert_eq!(error.sent_from().unwrap().file(), file!());
        let number = gossamer::entrust(7);
        let coroutine = coroutine(move || number.try_apply(|_| -> u8 { panic!("there") }).is_err());
        assert!(coroutine.join());
    });
}

#[test]
fn a_destructor_of_a_coroutine_that_unwinds_may_use_a_trust() {
    struct Adds(Trust<u32>);
    impl Drop for Adds {
        fn drop(&mut self) {
            self.0.apply(|number| *number += 1);
        }
    }
    in_runtime(2, || {
        let number = Trustee::all()[1].entrust(0_u32);
        let coroutines: Vec<_> = (0..50)
            .map(|_| {
                let adds = Adds(number.clone());
                coroutine(move || {
                    let _adds = adds;
                    may::coroutine::sleep(Duration::from_millis(1));
                    std::panic::resume_unwind(Box::new("silently"));
                })
            })
            .collect();
        assert!(coroutines.into_iter().all(|coroutine: JoinHandle<()>| coroutine.try_join().is_err()));
        assert_eq!(number.apply(|number| *number), 50);
    });
}

#[test]
fn sockets_of_gossamer_are_refused_with_advice() {
    in_runtime(1, || {
        let listener = gossamer::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let accept = move || panic_text(|| listener.accept().map(drop));
        let text = coroutine(accept).join();
        assert!(
            text.contains("`TcpListener::accept` in a coroutine of may") && text.contains("`may::net`"),
            "{text}"
        );
    });
}

/// may goes on writing to the cancel data of a coroutine that another of its threads has ended meanwhile, when there are
/// more threads than processors.
#[test]
fn a_coroutine_may_end_on_one_thread_while_another_still_puts_it_to_sleep() {
    isolated(|| {
        may::config().set_workers(8);
        gossamer::run(workers(2), || {
            let number = Trustee::all()[1].entrust(0_usize);
            for _ in 0..200 {
                let coroutines: Vec<_> = (0..200_u64)
                    .map(|pause| {
                        let number = number.clone();
                        coroutine(move || {
                            if pause % 4 == 0 {
                                number.apply(|number| *number += 1);
                            }
                            may::coroutine::sleep(Duration::from_micros(pause % 50));
                            // Memory like that which may frees now, to be written over.
                            vec![pause; 20]
                        })
                    })
                    .collect();
                let sum: u64 =
                    coroutines.into_iter().map(|coroutine| coroutine.join().iter().sum::<u64>()).sum();
                assert_eq!(sum, 199 * 200 / 2 * 20);
            }
            assert_eq!(number.apply(|number| *number), 200 * 50);
        });
    });
}

#[test]
fn a_coroutine_of_mays_own_may_start_the_first_of_ours() {
    isolated(|| {
        may::config().set_workers(1);
        // SAFETY: as in `coroutine`.
        let first = unsafe { may::coroutine::spawn(|| coroutine(|| 7).join()) };
        assert_eq!(first.join().unwrap(), 7);
    });
}

#[test]
fn nothing_is_left_of_coroutines_that_have_ended_and_of_their_waits() {
    fn run(coroutines: usize, number: &Trust<usize>) {
        for _ in 0..coroutines / 100 {
            let started = (0..100).map(|_| {
                let number = number.clone();
                coroutine(move || number.apply(|number| *number += 1))
            });
            started.collect::<Vec<_>>().into_iter().for_each(JoinHandle::join);
        }
    }
    isolated(|| {
        may::config().set_workers(2);
        gossamer::run(workers(1), || {
            let number = gossamer::entrust(0);
            run(20_000, &number);
            let before = resident_bytes();
            run(200_000, &number);
            let grown = resident_bytes().saturating_sub(before);
            // Each of them would leave 500 bytes.
            assert!(grown < 32 << 20, "{grown} bytes");
        });
    });
}

#[test]
fn threads_and_fibers_join_coroutines() {
    watched(|| {
        let from_a_thread = coroutine(|| 1);
        assert_eq!(from_a_thread.join(), 1);
        gossamer::run(workers(2), || {
            let fibers: Vec<_> = (0..100_u64)
                .map(|number| {
                    gossamer::spawn_with(
                        |number| {
                            let here = Trustee::here();
                            let slept = coroutine(move || {
                                may::coroutine::sleep(Duration::from_micros(number * 10));
                                number
                            });
                            assert_eq!(slept.join(), number);
                            // Back on its own worker.
                            assert_eq!(Trustee::here(), here);
                        },
                        number,
                    )
                })
                .collect();
            fibers.into_iter().for_each(JoinHandle::join);
        });
    });
}

#[test]
fn a_coroutine_outlives_its_runtime_and_is_told_so() {
    static TOLD: AtomicBool = AtomicBool::new(false);
    watched(|| {
        gossamer::run(workers(2), || {
            let number = Trustee::all()[1].entrust(0_u32);
            let asks = move || {
                while number.try_apply(|number| *number += 1).is_ok() {
                    may::coroutine::sleep(Duration::from_millis(1));
                }
                TOLD.store(true, Ordering::Relaxed);
            };
            drop(coroutine(asks));
            gossamer::sleep(Duration::from_millis(10));
        });
        wait_until(|| TOLD.load(Ordering::Relaxed));
    });
}

#[test]
fn a_stack_overflow_still_names_its_fiber_when_coroutines_ran_before() {
    fn deep(depth: u64) -> u64 {
        let page = std::hint::black_box([depth; 512]);
        if depth == 0 { page[0] } else { deep(depth - 1) + page[511] }
    }
    let ended = in_child(
        |_| (),
        || {
            gossamer::run(workers(1), || {
                coroutine(|| may::coroutine::sleep(Duration::from_millis(1))).join();
                gossamer::spawn(|| deep(1000)).join();
            });
        },
    );
    assert!(!ended.status.success());
    assert!(ended.errors.contains("overflowed its stack of"), "{}", ended.errors);
}
