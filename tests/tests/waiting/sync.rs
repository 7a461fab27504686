//! Channels, notifications, semaphores, barriers and locks, between fibers of one and several workers, threads and tasks.

use gossamer::sync::{Barrier, Mutex, Notify, Permit, RwLock, Semaphore, broadcast, mpsc, oneshot, watch};
use gossamer::{Trustee, entrust, join_all, rack, spawn_on_with, spawn_with, yield_now};
use integration_tests::{Counted, Tally, in_runtime, near_and_far, on_nodes, panic_text, wait_until};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

#[test]
fn a_bounded_queue_keeps_the_order_and_holds_its_sender_back() {
    near_and_far(|there| {
        static SENT: AtomicUsize = AtomicUsize::new(0);
        SENT.store(0, Ordering::Relaxed);
        let (sender, mut receiver) = mpsc::channel(4);
        let body = |sender: mpsc::Sender<usize>| {
            for number in 0..100 {
                sender.send(number).unwrap();
                SENT.fetch_add(1, Ordering::Relaxed);
            }
        };
        let fiber = spawn_on_with(there, body, sender);
        wait_until(|| receiver.len() == 4);
        assert_eq!(SENT.load(Ordering::Relaxed), 4);
        assert_eq!(receiver.recv(), Some(0));
        assert!(receiver.eq(1..100));
        fiber.join();
    });
}

#[test]
fn fibers_threads_and_tasks_share_a_queue() {
    in_runtime(2, || {
        const EACH: u64 = 200;
        let (sender, receiver) = mpsc::channel(3);
        let from_fiber =
            |sender: mpsc::Sender<u64>| (0..EACH).for_each(|number| sender.send(number).unwrap());
        let fibers = Trustee::all().into_iter().map(|there| spawn_on_with(there, from_fiber, sender.clone()));
        let fibers: Vec<_> = fibers.collect();
        let by_thread = sender.clone();
        let thread = thread::spawn(move || from_fiber(by_thread));
        let task = thread::spawn(move || {
            let tokio = tokio::runtime::Builder::new_current_thread().build().unwrap();
            tokio.block_on(async {
                for number in 0..EACH {
                    sender.send_async(number).await.unwrap();
                }
            });
        });
        assert_eq!(receiver.sum::<u64>(), 4 * EACH * (EACH - 1) / 2);
        join_all(fibers);
        wait_until(|| thread.is_finished() && task.is_finished());
    });
}

#[test]
fn ends_that_are_gone_are_errors_with_the_value() {
    in_runtime(1, || {
        let (sender, receiver) = mpsc::channel(1);
        drop(receiver);
        assert_eq!(sender.send(5).unwrap_err().0, 5);
        let (sender, receiver) = oneshot::channel();
        drop(receiver);
        assert_eq!(sender.send(6), Err(6));
        let (sender, receiver) = oneshot::channel::<u8>();
        drop(sender);
        assert!(receiver.recv().is_err());
        let (sender, mut receiver) = watch::channel(1);
        drop(sender);
        assert!(receiver.changed().is_err());
    });
}

#[test]
fn every_receiver_gets_every_value_and_hears_what_it_lost() {
    near_and_far(|there| {
        let (sender, mut receiver) = broadcast::channel(4);
        let body =
            |mut receiver: broadcast::Receiver<u64>| (0..4).map(|_| receiver.recv().unwrap()).sum::<u64>();
        let other = spawn_on_with(there, body, sender.subscribe());
        (1..=4_u64).for_each(|number| drop(sender.send(number)));
        assert_eq!(other.join(), 10);
        (5..=6_u64).for_each(|number| drop(sender.send(number)));
        assert_eq!(receiver.recv(), Err(broadcast::error::RecvError::Lagged(2)));
        assert_eq!(receiver.recv(), Ok(3));
    });
}

#[test]
fn a_watched_value_is_the_latest() {
    near_and_far(|there| {
        let (sender, receiver) = watch::channel(0_u64);
        let body = |mut receiver: watch::Receiver<u64>| {
            receiver.wait_for(|value| *value >= 100).unwrap();
            receiver.get()
        };
        let other = spawn_on_with(there, body, receiver);
        for number in 1..=100 {
            sender.send(number).unwrap();
            yield_now();
        }
        assert_eq!(other.join(), 100);
    });
}

#[test]
fn one_wake_up_is_kept_and_all_who_wait_are_woken() {
    near_and_far(|there| {
        let (notify, begun) = (Notify::new(), Semaphore::new(0));
        notify.notify_one();
        notify.notified();
        let body = |(notify, begun): (Notify, Semaphore)| {
            let notified = notify.notified_async();
            begun.add_permits(1);
            gossamer::block_on(notified);
        };
        let fibers: Vec<_> =
            (0..10).map(|_| spawn_on_with(there, body, (notify.clone(), begun.clone()))).collect();
        begun.acquire_many(10).unwrap().forget();
        notify.notify_waiters();
        join_all(fibers);
    });
}

#[test]
fn no_more_than_the_permits_are_at_work() {
    in_runtime(2, || {
        static AT_WORK: AtomicUsize = AtomicUsize::new(0);
        let slots = Semaphore::new(3);
        let body = |_slot: Permit| {
            assert!(AT_WORK.fetch_add(1, Ordering::SeqCst) < 3);
            (0..5).for_each(|_| yield_now());
            AT_WORK.fetch_sub(1, Ordering::SeqCst);
        };
        let fibers: Vec<_> = (0..200).map(|_| spawn_with(body, slots.acquire().unwrap())).collect();
        join_all(fibers);
        assert_eq!(slots.available_permits(), 3);
        slots.close();
        assert!(slots.acquire().is_err());
    });
}

#[test]
fn a_barrier_has_one_leader_each_time() {
    in_runtime(2, || {
        let (barrier, leaders) = (Barrier::new(6), entrust(0_u64));
        let body = |(barrier, leaders): (Barrier, gossamer::Trust<u64>)| {
            for _ in 0..20 {
                if barrier.wait().is_leader() {
                    leaders.apply(|leaders| *leaders += 1);
                }
            }
        };
        join_all((0..6).map(|_| spawn_with(body, (barrier.clone(), leaders.clone()))));
        assert_eq!(leaders.apply(|leaders| *leaders), 20);
    });
}

#[test]
fn a_lock_is_held_over_calls_that_block() {
    in_runtime(2, || {
        let (count, table) = (Mutex::new(0_u64), RwLock::new(vec![0_u64; 2]));
        let body = |(count, table): (Mutex<u64>, RwLock<Vec<u64>>)| {
            for _ in 0..50 {
                let mut count = count.lock();
                let before = *count;
                yield_now();
                *count = before + 1;
                drop(count);
                let mut table = table.write();
                table[0] += 1;
                yield_now();
                table[1] += 1;
                drop(table);
            }
        };
        let read = |table: RwLock<Vec<u64>>| {
            for _ in 0..200 {
                let table = table.read();
                yield_now();
                assert_eq!(table[0], table[1]);
            }
        };
        let writers: Vec<_> = (0..10).map(|_| spawn_with(body, (count.clone(), table.clone()))).collect();
        join_all((0..4).map(|_| spawn_with(read, table.clone())));
        join_all(writers);
        assert_eq!((*count.lock(), table.read()[1]), (500, 500));
        assert!(count.try_lock().is_ok());
    });
}

#[test]
fn a_delegated_closure_sends_without_waiting_and_is_refused_where_it_would() {
    near_and_far(|there| {
        let (sender, mut receiver) = mpsc::channel(1);
        let held = there.entrust(sender);
        held.apply(|sender| sender.try_send(1).unwrap());
        let text = panic_text(|| held.apply(|sender| sender.send(2).unwrap()));
        assert!(text.contains("blocking `send` inside a delegated closure"), "{text}");
        assert_eq!(receiver.recv(), Some(1));
    });
}

#[test]
fn a_value_whose_clone_would_suspend_under_a_lock_panics_instead() {
    struct Suspends;
    impl Clone for Suspends {
        fn clone(&self) -> Self {
            yield_now();
            Self
        }
    }
    in_runtime(1, || {
        let (sender, mut receiver) = broadcast::channel(2);
        assert!(sender.send(Suspends).is_ok());
        let text = panic_text(|| drop(receiver.recv()));
        assert!(text.contains("without_suspending"), "{text}");
        let (_sender, receiver) = watch::channel(Suspends);
        let text = panic_text(|| receiver.get());
        assert!(text.contains("without_suspending"), "{text}");
    });
}

static KEPT: OnceLock<mpsc::Sender<u64>> = OnceLock::new();

#[test]
fn a_fiber_that_waits_when_main_returns_is_unwound_and_drops_what_it_has() {
    let tally = Tally::new();
    let counted = tally.value();
    in_runtime(2, move || {
        let (sender, receiver) = mpsc::channel::<u64>(1);
        let waits = gossamer::sync::Mutex::new(());
        // It never sends, and is never dropped.
        let _kept = KEPT.set(sender);
        let held = entrust(counted);
        let body =
            |(mut receiver, _held, waits): (mpsc::Receiver<u64>, gossamer::Trust<Counted>, Mutex<()>)| {
                let _guard = waits.lock();
                receiver.recv();
            };
        let _detached = spawn_with(body, (receiver, held, waits.clone()));
        wait_until(|| waits.try_lock().is_err());
    });
    assert_eq!(tally.dropped(), 1);
}

#[test]
fn handles_stay_in_their_node_and_the_error_names_them() {
    on_nodes(2, 1, || {
        let there = Trustee::all()[1];
        assert_ne!(there.node(), rack::this_node());
        let (sender, _receiver) = mpsc::channel::<u64>(1);
        let fiber = spawn_on_with(there, const { |sender: mpsc::Sender<u64>| drop(sender) }, sender);
        let error = fiber.try_join().unwrap_err().to_string();
        assert!(error.contains("mpsc::Sender"), "{error}");
    });
}
