//! Requests that cannot be sent: what they held is not lost.

use gossamer::net::TcpListener;
use gossamer::stream::{self, Geometry, ReceiveEnd, SendEnd};
use gossamer::{Latch, NoRef, Reason, entrust, rack, spawn_on_with};
use integration_tests::{far, on_nodes, panic_text, wait_until, watched, workers};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

#[test]
#[gossamer::delegate]
fn the_end_of_a_stream_in_a_refused_request_is_dropped_and_the_other_end_hears() {
    on_nodes(2, 1, || {
        let workers = rack::workers();
        let (send, receive) = stream::channel(workers[0], workers[1], 8000, Geometry::default()).unwrap();
        let receiving = spawn_on_with(
            workers[1],
            |receive: ReceiveEnd| {
                let first = receive.open().and_then(|mut receiver| receiver.next_block().map(|_| ()));
                first.map_err(|error| error.to_string())
            },
            receive,
        );
        let there = far().entrust(());
        let error = there.try_apply_with(|_, _: (SendEnd, TcpListener)| (), (send, listener())).unwrap_err();
        assert!(matches!(error.reason(), Reason::Stays { .. }), "{error}");
        assert!(error.to_string().contains("TcpListener"), "{error}");
        assert!(receiving.join().is_err());
    });
}

/// Panics when it is dropped.
#[derive(NoRef)]
struct Bomb(u8);

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("a destructor of {} panics (expected in the output of this test)", self.0);
    }
}

#[test]
#[gossamer::delegate]
fn a_destructor_of_what_is_refused_may_panic() {
    on_nodes(2, 1, || {
        let there = far().entrust(());
        let listening = spawn_on_with(far(), |()| entrust(Some(listener())), ()).join();
        let result = listening.try_apply(|listener| (Bomb(1), listener.take().unwrap()));
        assert!(result.map(std::mem::forget).is_err());
        let arguments = (Bomb(2), listener());
        assert!(there.try_apply_with(|(), _: (Bomb, TcpListener)| (), arguments).is_err());
        let arguments = (Bomb(3), listener());
        assert!(spawn_on_with(far(), |_: (Bomb, TcpListener)| (), arguments).try_join().is_err());
        there.apply(|()| ());
    });
}

static PERMITS: AtomicUsize = AtomicUsize::new(0);

/// Is counted while it exists.
#[derive(NoRef)]
struct Permit(String);

impl Permit {
    fn new() -> Self {
        PERMITS.fetch_add(1, SeqCst);
        Self("permit".into())
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        assert_eq!(self.0, "permit");
        PERMITS.fetch_sub(1, SeqCst);
    }
}

#[test]
#[gossamer::delegate]
fn the_destructors_of_refused_arguments_and_results_are_run() {
    on_nodes(2, 1, || {
        let there = far().entrust(());
        let refused = |outcome: Result<(), gossamer::DelegationError>| {
            let error = outcome.unwrap_err();
            assert!(error.to_string().contains("TcpListener"), "{error}");
            wait_until(|| PERMITS.load(SeqCst) == 0);
        };
        let some = || (Permit::new(), vec![Permit::new()], listener(), Some(Permit::new()));
        type Some = (Permit, Vec<Permit>, TcpListener, Option<Permit>);
        refused(there.try_apply_with(|_, _: Some| (), some()));
        refused(there.apply_with_async(|_, _: Some| (), some()).try_wait());
        refused(spawn_on_with(far(), |_: Some| (), some()).try_join());
        let listening = spawn_on_with(far(), |()| entrust(Some(listener())), ()).join();
        refused(listening.try_apply(|listener| (Permit::new(), listener.take().unwrap())).map(|_| ()));
        refused(spawn_on_with(far(), |()| (Permit::new(), listener()), ()).try_join().map(|_| ()));
        there.apply_with(|_, permit: Permit| drop(permit), Permit::new());
        wait_until(|| PERMITS.load(SeqCst) == 0);
    });
}

#[test]
#[gossamer::delegate]
fn arguments_that_find_no_room_are_dropped() {
    static ALIVE: AtomicUsize = AtomicUsize::new(0);
    #[derive(NoRef)]
    struct Counted(String);
    impl Drop for Counted {
        fn drop(&mut self) {
            ALIVE.fetch_sub(1, SeqCst);
        }
    }
    watched(|| {
        rack::run_in_process(2, workers(1).backlog(1), || {
            let there = far().entrust(());
            let again = there.clone();
            there.apply_then(
                |()| (),
                move |()| {
                    let text = panic_text(|| {
                        for _ in 0..100_000 {
                            ALIVE.fetch_add(1, SeqCst);
                            let large = Counted("x".repeat(500));
                            again.apply_with_then(|_, counted: Counted| drop(counted), large, drop);
                        }
                    });
                    assert!(text.contains("Config::backlog"), "{text}");
                },
            );
            there.apply(|()| ());
        });
        assert_eq!(ALIVE.load(SeqCst), 0);
    });
}

#[test]
#[gossamer::delegate]
fn large_arguments_of_code_that_cannot_wait_are_bounded_too() {
    watched(|| {
        rack::run_in_process(2, workers(1).backlog(4), || {
            let (here, there) = (entrust(()), far().entrust(()));
            let sent = here.try_apply(move |()| {
                for _ in 0..1000 {
                    let row = vec![7_u64; 20_000];
                    there.apply_with_then(|(), row: Vec<u64>| drop(row), row, drop);
                }
            });
            let error = sent.unwrap_err();
            assert!(error.to_string().contains("Config::backlog"), "{error}");
        });
    });
}

/// Cannot be compared once it has travelled: no set can be rebuilt from such elements.
#[derive(NoRef, Debug, PartialEq, Eq)]
struct Fussy(u8);

static LEFT: AtomicBool = AtomicBool::new(false);

impl Ord for Fussy {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        assert!(!LEFT.load(SeqCst), "these cannot be compared");
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for Fussy {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

#[test]
#[gossamer::delegate]
fn an_argument_of_a_fiber_that_cannot_be_read_there_is_what_its_error_says() {
    on_nodes(2, 1, || {
        let set = || {
            LEFT.store(false, SeqCst);
            let set = BTreeSet::from([Fussy(1), Fussy(2)]);
            LEFT.store(true, SeqCst);
            set
        };
        let assert_said = |text: &str| {
            assert!(text.contains("panicked on worker 1 at tests/tests/attacked/refused.rs:"), "{text}");
            assert!(text.contains("these cannot be compared"), "{text}");
            assert!(text.contains("refused::an_argument_of_a_fiber"), "{text}");
        };
        let error = spawn_on_with(far(), |set: BTreeSet<Fussy>| drop(set), set()).try_join().unwrap_err();
        assert_said(&error.to_string());
        let latch = far().entrust(Latch::new(()));
        assert_said(&panic_text(|| latch.launch_with(|(), set: BTreeSet<Fussy>| drop(set), set())));
    });
}
