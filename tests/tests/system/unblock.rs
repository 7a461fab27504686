//! `unblock`: the worker goes on; panics, cancellation, bounds and names of the pool.

use gossamer::{Config, Trustee, spawn_with, unblock, unblock_async};
use integration_tests::{in_runtime, isolated, panic_text, wait_until, watched, workers};
use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

/// How many threads the pool has.
fn pool_threads() -> usize {
    let names = fs::read_dir("/proc/self/task").unwrap();
    // A thread may end meanwhile.
    let names = names.filter_map(|task| fs::read_to_string(task.unwrap().path().join("comm")).ok());
    names.filter(|name| name.trim_end() == "gossamer-pool").count()
}

/// The processors that the calling thread may use.
fn processors() -> String {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap();
    status.lines().find(|line| line.starts_with("Cpus_allowed_list:")).unwrap().to_owned()
}

#[test]
fn the_other_fibers_of_a_worker_run_while_one_has_blocking_work_done() {
    in_runtime(1, || {
        let (sender, receiver) = mpsc::channel();
        static SENDER: std::sync::Mutex<Option<mpsc::Sender<u64>>> = std::sync::Mutex::new(None);
        *SENDER.lock().unwrap() = Some(sender);
        let other = gossamer::spawn(|| SENDER.lock().unwrap().take().unwrap().send(7).unwrap());
        assert_eq!(unblock(move || receiver.recv().unwrap()), 7);
        other.join();
    });
}

#[test]
fn work_runs_on_named_threads_that_are_not_pinned_as_the_worker_is() {
    watched(|| {
        let all = processors();
        gossamer::run(Config::default().threads(1).pin(true), move || {
            let (name, processors) = unblock(|| (thread::current().name().unwrap().to_owned(), processors()));
            assert_eq!((name.as_str(), processors), ("gossamer-pool", all));
        });
    });
}

#[test]
fn a_panic_in_blocking_work_reaches_the_fiber_with_its_payload() {
    in_runtime(1, || {
        assert_eq!(panic_text(|| unblock(|| panic!("no such luck"))), "no such luck");
        let payload = panic::catch_unwind(|| unblock(|| panic::panic_any(7_u32))).unwrap_err();
        assert_eq!(*payload.downcast::<u32>().unwrap(), 7);
        let fiber = gossamer::spawn(|| unblock(|| panic!("no such luck")));
        assert!(fiber.try_join().unwrap_err().to_string().contains("no such luck"));
        assert_eq!(unblock(|| 1), 1);
    });
}

#[test]
fn at_the_end_a_fiber_that_waits_is_cancelled_and_the_work_runs_on() {
    static CANCELLED: AtomicBool = AtomicBool::new(false);
    static STARTED: AtomicBool = AtomicBool::new(false);
    static DONE: AtomicBool = AtomicBool::new(false);
    struct OnDrop;
    impl Drop for OnDrop {
        fn drop(&mut self) {
            CANCELLED.store(true, Ordering::Relaxed);
        }
    }
    watched(|| {
        gossamer::run(workers(1), || {
            drop(gossamer::spawn(|| {
                let _noted = OnDrop;
                unblock(|| {
                    STARTED.store(true, Ordering::Relaxed);
                    wait_until(|| CANCELLED.load(Ordering::Relaxed));
                    DONE.store(true, Ordering::Relaxed);
                });
            }));
            wait_until(|| STARTED.load(Ordering::Relaxed));
        });
        assert!(CANCELLED.load(Ordering::Relaxed));
        wait_until(|| DONE.load(Ordering::Relaxed));
    });
}

#[test]
fn there_are_no_more_threads_than_the_bound_and_none_after_a_while_without_work() {
    isolated(|| {
        gossamer::run(workers(2).blocking_threads(3), || {
            static RUNNING: AtomicUsize = AtomicUsize::new(0);
            static MOST: AtomicUsize = AtomicUsize::new(0);
            static GOES_ON: AtomicBool = AtomicBool::new(false);
            let work = |_: usize| {
                unblock(|| {
                    MOST.fetch_max(RUNNING.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                    while !GOES_ON.load(Ordering::Relaxed) {
                        thread::sleep(Duration::from_millis(5));
                    }
                    RUNNING.fetch_sub(1, Ordering::Relaxed);
                });
            };
            let fibers: Vec<_> = (0..30).map(|number| spawn_with(work, number)).collect();
            wait_until(|| RUNNING.load(Ordering::Relaxed) == 3);
            assert_eq!(pool_threads(), 3);
            GOES_ON.store(true, Ordering::Relaxed);
            fibers.into_iter().for_each(|fiber| fiber.join());
            assert_eq!(MOST.load(Ordering::Relaxed), 3);
            wait_until(|| pool_threads() == 0);
            assert_eq!(unblock(pool_threads), 1);
        });
    });
}

#[test]
fn work_that_others_wait_for_is_not_queued_behind_them() {
    in_runtime(2, || {
        const WAITING: usize = 40;
        let barrier = Arc::new(std::sync::Barrier::new(WAITING));
        let works = (0..WAITING).map(|_| Arc::clone(&barrier));
        let works: Vec<_> = works.map(|barrier| unblock_async(move || barrier.wait().is_leader())).collect();
        wait_until(|| works.iter().all(|work| work.is_finished()));
    });
}

#[test]
fn blocking_work_may_have_blocking_work_done_by_itself() {
    isolated(|| {
        gossamer::run(workers(1).blocking_threads(1), || {
            assert_eq!(unblock(|| unblock(|| unblock(|| 7))), 7);
        });
    });
}

#[test]
fn a_thread_that_is_no_worker_does_its_blocking_work_itself() {
    watched(|| {
        let here = thread::current().id();
        assert_eq!(unblock(|| thread::current().id()), here);
    });
}

#[test]
fn a_delegated_closure_is_refused_before_the_work_begins() {
    static BEGUN: AtomicBool = AtomicBool::new(false);
    in_runtime(2, || {
        for trustee in Trustee::all() {
            let property = trustee.entrust(0_u64);
            let text = panic_text(|| property.apply(|_| unblock(|| BEGUN.store(true, Ordering::Relaxed))));
            assert!(text.contains("blocking `unblock` inside a delegated closure"), "{text}");
        }
        assert!(!BEGUN.load(Ordering::Relaxed));
    });
}

#[test]
fn the_future_can_be_awaited_under_another_executor_and_dropped() {
    static DONE: AtomicBool = AtomicBool::new(false);
    watched(|| {
        let tokio = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let name = tokio.block_on(unblock_async(|| thread::current().name().unwrap().to_owned()));
        assert_eq!(name, "gossamer-pool");
        let failing = AssertUnwindSafe(|| tokio.block_on(unblock_async(|| panic!("no such luck"))));
        assert_eq!(panic_text(failing), "no such luck");
        drop(unblock_async(|| DONE.store(true, Ordering::Relaxed)));
        wait_until(|| DONE.load(Ordering::Relaxed));
    });
}

#[test]
fn a_destructor_may_have_blocking_work_done_while_its_fiber_unwinds() {
    static DONE: AtomicBool = AtomicBool::new(false);
    struct OnDrop;
    impl Drop for OnDrop {
        fn drop(&mut self) {
            DONE.store(unblock(|| true), Ordering::Relaxed);
        }
    }
    in_runtime(1, || {
        let text = panic_text(|| {
            let _last = OnDrop;
            panic!("the end of it");
        });
        assert_eq!((text.as_str(), DONE.load(Ordering::Relaxed)), ("the end of it", true));
    });
}

#[test]
fn names_of_hosts_are_looked_up_by_the_pool() {
    in_runtime(1, || {
        let listener = gossamer::net::TcpListener::bind("localhost:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let client = spawn_with(
            |port| gossamer::net::TcpStream::connect(("localhost", port)).map(|_| ()).unwrap(),
            port,
        );
        listener.accept().unwrap();
        client.join();
        assert!(pool_threads() > 0);
        let error = gossamer::net::TcpStream::connect("no-such-host.invalid:1").unwrap_err();
        assert!(error.to_string().contains("looking up \"no-such-host.invalid\""), "{error}");
    });
}
