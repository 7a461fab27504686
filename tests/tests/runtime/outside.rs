//! Threads that are not workers, other async runtimes, and several runtimes in one process.

use gossamer::{DelegationError, JoinHandle, Reason, Trust, Trustee};
use integration_tests::{Tally, in_runtime, panic_text, wait_until, watched, workers};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Runs `body` on a thread of its own while a runtime with two workers runs; `body` gets a trust of each worker.
fn beside_a_runtime(body: impl FnOnce(Vec<Trust<u64>>) + Send + 'static) {
    in_runtime(2, || {
        let numbers: Vec<_> = Trustee::all().into_iter().map(|trustee| trustee.entrust(0_u64)).collect();
        let thread = thread::spawn(move || body(numbers));
        wait_until(|| thread.is_finished());
        if let Err(panic) = thread.join() {
            std::panic::resume_unwind(panic);
        }
    });
}

#[test]
fn a_thread_may_delegate_in_every_way() {
    beside_a_runtime(|numbers| {
        let home = thread::current().id();
        for number in numbers {
            assert_eq!(number.apply(|number| *number + 1), 1);
            assert_eq!(number.apply_with(|number, by| *number + by, 2), 2);
            assert_eq!(number.try_apply(|number| *number), Ok(0));
            let (sender, receiver) = mpsc::channel();
            number.apply_then(
                |number| *number,
                move |number| sender.send((number, thread::current().id())).unwrap(),
            );
            // On a thread it really waited.
            assert_eq!(receiver.try_recv().unwrap(), (0, home));
            let pending: Vec<_> =
                (0..100_u64).map(|by| number.apply_with_async(|number, by| *number += by, by)).collect();
            pending.into_iter().for_each(gossamer::Pending::wait);
            assert_eq!(number.apply(|number| *number), 4950);
            let text = panic_text(|| number.apply(|_| -> u64 { panic!("far away") }));
            assert!(text.contains("far away") && text.contains(file!()), "{text}");
            assert!(matches!(
                number.apply_async(|_| -> u64 { panic!("later") }).try_wait().unwrap_err().reason(),
                Reason::Panicked { message, .. } if message == "later"
            ));
        }
    });
}

#[test]
fn a_thread_may_entrust_and_spawn_by_a_trustee() {
    beside_a_runtime(|numbers| {
        let tally = Tally::new();
        for trustee in numbers.iter().map(Trust::trustee) {
            let list = trustee.entrust(vec![1, 2, 3]);
            assert_eq!(list.apply(|list| list.len()), 3);
            let made = trustee.entrust_with(|count| vec![0_u8; count], 5);
            assert_eq!(made.apply(|list| list.len()), 5);
            let index = trustee.spawn_with(|list: Trust<Vec<i32>>| list.apply(|list| list[2]), list).join();
            assert_eq!(index, 3);
            assert_eq!(trustee.spawn(|| Trustee::here().index()).join(), trustee.index());
            let error = trustee.spawn(|| -> () { panic!("in a fiber") }).try_join().unwrap_err();
            assert!(error.to_string().contains("in a fiber"));
            drop(trustee.entrust(tally.value()));
        }
        wait_until(|| tally.is_even());
    });
}

#[test]
fn what_needs_a_worker_says_so_on_a_thread() {
    beside_a_runtime(|_| {
        let calls: [(fn(), &str); 4] = [
            (|| drop(gossamer::entrust(1)), "Trustee::entrust"),
            (|| drop(gossamer::spawn(|| ())), "Trustee::spawn"),
            (|| _ = Trustee::here(), "not a worker"),
            (|| drop(Trustee::all()), "not a worker"),
        ];
        for (call, advice) in calls {
            let text = panic_text(call);
            assert!(text.contains(advice), "{text}");
        }
    });
}

#[test]
fn many_threads_delegate_beside_many_fibers() {
    in_runtime(2, || {
        let numbers: Vec<_> = Trustee::all().into_iter().map(|trustee| trustee.entrust(0_u64)).collect();
        let work = |numbers: Vec<Trust<u64>>| {
            for round in 0..200 {
                numbers[round % 2].apply(|number| *number += 1);
            }
        };
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let numbers = numbers.clone();
                thread::spawn(move || work(numbers))
            })
            .collect();
        let fibers: Vec<_> = (0..20).map(|_| gossamer::spawn_with(work, numbers.clone())).collect();
        fibers.into_iter().for_each(JoinHandle::join);
        wait_until(|| threads.iter().all(|thread| thread.is_finished()));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(numbers.iter().map(|number| number.apply(|number| *number)).sum::<u64>(), 28 * 200);
    });
}

#[test]
fn pending_results_and_fibers_may_be_awaited_under_tokio() {
    beside_a_runtime(|numbers| {
        let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        tokio.block_on(async move {
            static HELD: AtomicBool = AtomicBool::new(false);
            for number in &numbers {
                assert_eq!(number.apply_with_async(|number, by| *number + by, 5).await, 5);
                // While the answer is awaited, other tasks run.
                HELD.store(true, Ordering::Relaxed);
                let slow = number.apply_async(|_| {
                    while HELD.load(Ordering::Relaxed) {
                        thread::sleep(Duration::from_millis(1));
                    }
                });
                tokio::time::sleep(Duration::from_millis(1)).await;
                assert!(!slow.is_finished());
                HELD.store(false, Ordering::Relaxed);
                slow.await;
                let fiber = number.trustee().spawn(|| {
                    gossamer::sleep(Duration::from_millis(5));
                    7
                });
                assert_eq!(fiber.await, 7);
            }
            let tasks: Vec<_> = (0..100)
                .map(|index| {
                    let number = numbers[index % 2].clone();
                    tokio::spawn(async move {
                        for _ in 0..20 {
                            number.apply_async(|number| *number += 1).await;
                        }
                    })
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
            assert_eq!(numbers[0].apply_async(|number| *number).await, 1000);
            let failed = tokio::spawn(numbers[1].apply_async(|_| -> u64 { panic!("awaited in vain") })).await;
            let payload = failed.unwrap_err().into_panic();
            assert!(payload.downcast::<String>().unwrap().contains("awaited in vain"));
        });
    });
}

/// A trust of a runtime that has ended, and a trustee of it.
fn of_an_ended_runtime() -> (Trust<u64>, Trustee) {
    gossamer::run(workers(2), || {
        let trustee = Trustee::all()[1];
        (trustee.entrust(5_u64), trustee)
    })
}

/// Uses a trust in every way, and checks that it is refused each time.
fn assert_refused(number: &Trust<u64>, trustee: Trustee) {
    let is_ended = |outcome: Result<u64, DelegationError>| {
        let error = outcome.unwrap_err();
        assert_eq!(*error.reason(), Reason::Ended);
        assert!(error.to_string().contains("has ended"), "{error}");
    };
    is_ended(number.try_apply(|number| *number));
    is_ended(number.apply_async(|number| *number).try_wait());
    assert!(panic_text(|| number.apply(|number| *number)).contains("has ended"));
    assert!(panic_text(|| number.apply_async(|number| *number).wait()).contains("has ended"));
    let tally = Tally::new();
    let (argument, callback) = (tally.value(), tally.value());
    let refused = catch_unwind(AssertUnwindSafe(|| {
        number.apply_with_then(|number, _| *number, argument, move |_| drop(callback));
    }));
    assert!(tally.is_even(), "{refused:?}");
    assert!(panic_text(|| trustee.entrust(1)).contains("ended"));
    // Refused at once, or when it is joined.
    let spawned = catch_unwind(|| trustee.spawn(|| ()).try_join());
    assert!(spawned.is_err() || spawned.is_ok_and(|joined| joined.is_err()));
    assert_eq!(number.clone().trustee(), trustee);
}

#[test]
fn a_trust_of_an_ended_runtime_is_refused_everywhere_and_never_waits() {
    watched(|| {
        let (number, trustee) = of_an_ended_runtime();
        assert_refused(&number, trustee);
        gossamer::run(workers(2), move || {
            for worker in Trustee::all() {
                let body = |(number, trustee): (Trust<u64>, Trustee)| assert_refused(&number, trustee);
                worker.spawn_with(body, (number.clone(), trustee)).join();
            }
            let tokio = thread::spawn(move || {
                let tokio = tokio::runtime::Builder::new_current_thread().build().unwrap();
                let pending = number.apply_async(|number| *number);
                catch_unwind(AssertUnwindSafe(|| tokio.block_on(pending))).is_err()
            });
            wait_until(|| tokio.is_finished());
            assert!(tokio.join().unwrap());
        });
    });
}

#[test]
fn a_fiber_may_delegate_to_a_trustee_of_another_runtime() {
    watched(|| {
        let (sender, receiver) = mpsc::channel();
        let (stop, stopped) = mpsc::channel::<()>();
        let other = thread::spawn(move || {
            gossamer::run(workers(2), move || {
                sender.send(Trustee::all()[1].entrust(0_u64)).unwrap();
                wait_until(|| stopped.try_recv().is_ok());
            });
        });
        let foreign = receiver.recv().unwrap();
        let back = gossamer::run(workers(2), move || {
            let fibers: Vec<_> = (0..50)
                .map(|_| {
                    let body = |foreign: Trust<u64>| {
                        foreign.apply(|number| *number += 1);
                        foreign.apply_with_async(|number, by| *number += by, 1).wait();
                        foreign.apply_then(|number| *number += 1, |()| ());
                        // Fibers of the other runtime, joined from this one.
                        foreign
                            .trustee()
                            .spawn_with(|foreign| foreign.apply(|number| *number += 1), foreign)
                            .join();
                    };
                    gossamer::spawn_with(body, foreign.clone())
                })
                .collect();
            fibers.into_iter().for_each(JoinHandle::join);
            assert_eq!(foreign.apply(|number| *number), 200);
            // Properties of one runtime may hold trusts of the other.
            let holder = gossamer::entrust(foreign);
            holder.apply(|foreign| foreign.clone())
        });
        assert_eq!(back.apply(|number| *number), 200);
        drop(back);
        stop.send(()).unwrap();
        other.join().unwrap();
    });
}

#[test]
fn a_runtime_cannot_start_inside_a_runtime() {
    in_runtime(1, || {
        let text = panic_text(|| gossamer::run(workers(1), || ()));
        assert!(text.contains("inside a runtime"), "{text}");
        let property = gossamer::entrust(());
        let error = property.try_apply(|()| gossamer::run(workers(1), || ())).unwrap_err();
        assert!(error.to_string().contains("inside a runtime"), "{error}");
    });
}

/// Runs a runtime of one worker, with this backlog, on a thread of its own; `body` gets a trust of it.
fn beside_another_runtime(backlog: usize, body: impl FnOnce(Trust<u64>) + Send + 'static) {
    watched(move || {
        let ((give, take), (end, ended)) = (mpsc::channel(), mpsc::channel::<()>());
        let other = thread::spawn(move || {
            gossamer::run(workers(1).backlog(backlog), move || {
                give.send(gossamer::entrust(0_u64)).unwrap();
                wait_until(|| ended.try_recv().is_ok());
            });
        });
        body(take.recv().unwrap());
        end.send(()).unwrap();
        other.join().unwrap();
    });
}

#[test]
fn a_call_to_another_runtime_ends_with_its_answer_even_if_its_own_runtime_ends() {
    static RETURNED: AtomicBool = AtomicBool::new(false);
    beside_another_runtime(1000, |number| {
        gossamer::run(workers(1), move || {
            let body = |number: Trust<u64>| {
                let slow = |number: &mut u64| {
                    thread::sleep(Duration::from_millis(100));
                    *number += 1;
                    *number
                };
                let outcome = catch_unwind(AssertUnwindSafe(|| number.apply(slow)));
                RETURNED.store(outcome.is_ok_and(|number| number == 1), Ordering::Relaxed);
            };
            drop(Trustee::here().spawn_with(body, number));
            gossamer::sleep(Duration::from_millis(20));
        });
        assert!(RETURNED.load(Ordering::Relaxed), "it has unwound while its closure was under way");
    });
}

#[test]
fn fibers_of_another_runtime_wait_for_a_full_inbox() {
    beside_another_runtime(5, |number| {
        let asked = number.clone();
        gossamer::run(workers(1), move || {
            let add = |number: Trust<u64>| {
                number.apply(|number| {
                    thread::sleep(Duration::from_millis(1));
                    *number += 1;
                });
            };
            let fibers: Vec<_> = (0..50).map(|_| Trustee::here().spawn_with(add, number.clone())).collect();
            fibers.into_iter().for_each(JoinHandle::join);
        });
        assert_eq!(asked.apply(|number| *number), 50);
    });
}
