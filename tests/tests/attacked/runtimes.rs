//! Two runtimes in one process: numbers of one mean nothing in the other.

use gossamer::stream::{self, Geometry};
use gossamer::{DelegationError, Latch, Reason, Sharded, Trust, Trustee, entrust, rack, spawn_on_with};
use integration_tests::{fabrics, far, keep_for_ever, on_nodes, panic_text, watched, workers};
use std::sync::{Mutex, mpsc};
use std::thread;

/// A trust of a runtime that has ended.
fn of_another() -> Trust<String> {
    gossamer::run(workers(1), || entrust(String::from("of another runtime")))
}

fn is_refused(error: &DelegationError) -> bool {
    matches!(error.reason(), Reason::Stays { .. }) && error.to_string().contains("another runtime")
}

#[test]
#[gossamer::delegate]
fn a_trust_of_another_runtime_is_not_taken_for_one_of_this() {
    static TEXT: Mutex<Option<Trust<String>>> = Mutex::new(None);
    for fabric in fabrics() {
        watched(move || {
            *TEXT.lock().unwrap() = Some(of_another());
            rack::run_in_process(2, workers(1).fabric(fabric), || {
                // Is decoded to the number that was in the text.
                let _number = entrust([0x4141_4141_4141_4141_u64; 3]);
                let text = TEXT.lock().unwrap().take().unwrap();
                let there = far().entrust(());
                let error = there.try_apply_with(|_, text: Trust<String>| drop(text), text.clone());
                assert!(is_refused(&error.unwrap_err()));
                let error = spawn_on_with(far(), |text: Trust<String>| drop(text), text.clone()).try_join();
                assert!(is_refused(&error.unwrap_err()));
                let latch = far().entrust(Latch::new(()));
                let launch = || latch.launch_with(|(), text: Trust<String>| drop(text), text.clone());
                assert!(panic_text(launch).contains("another runtime"));
                assert!(panic_text(|| rack::gather(text.clone())).contains("another runtime"));
                assert!(panic_text(|| rack::broadcast(Some(text.clone()))).contains("another runtime"));
                let error = text.try_apply(|text| text.len()).unwrap_err();
                assert_eq!(error.reason(), &Reason::Ended);
                there.apply(|()| ());
            });
        });
    }
}

#[test]
#[gossamer::delegate]
fn a_trust_of_another_runtime_is_not_gathered() {
    watched(|| {
        let text = of_another();
        gossamer::run(workers(1), || {
            let _number = entrust([0x4141_4141_u64; 3]);
            assert!(panic_text(|| rack::gather(text)).contains("another runtime"));
        });
    });
}

#[test]
#[gossamer::delegate]
fn a_trust_of_another_runtime_is_not_a_result_for_another_node() {
    static TEXT: Mutex<Option<Trust<String>>> = Mutex::new(None);
    watched(|| {
        *TEXT.lock().unwrap() = Some(of_another());
        rack::run_in_process(2, workers(1), || {
            let there = far().entrust(());
            let error = there.try_apply(|()| TEXT.lock().unwrap().clone().unwrap()).map(drop).unwrap_err();
            assert!(error.to_string().contains("another runtime"), "{error}");
            let error = spawn_on_with(far(), |()| TEXT.lock().unwrap().clone().unwrap(), ()).try_join();
            assert!(is_refused(&error.map(drop).unwrap_err()));
        });
    });
}

#[test]
#[gossamer::delegate]
fn what_holds_a_trust_or_names_a_worker_of_another_runtime_is_not_sent_either() {
    watched(|| {
        let (shards, trustee, end) = gossamer::run(workers(2), || {
            let (end, other) = stream::channel(far(), far(), 8, Geometry::default()).unwrap();
            keep_for_ever(other);
            (Sharded::<u64, u64>::new(), Trustee::here(), end)
        });
        rack::run_in_process(2, workers(1), move || {
            let there = far().entrust(());
            let error = there.try_apply_with(|_, shards: Sharded<u64, u64>| drop(shards), shards);
            assert!(is_refused(&error.unwrap_err()));
            let error = there.try_apply_with(|_, trustee: Trustee| drop(format!("{trustee:?}")), trustee);
            assert!(is_refused(&error.unwrap_err()));
            let error = there.try_apply_with(|_, end: stream::SendEnd| drop(end), end);
            assert!(is_refused(&error.unwrap_err()));
        });
    });
}

#[test]
#[gossamer::delegate]
fn a_living_runtime_s_trust_is_not_sent_to_a_far_node_of_another_by_whoever_holds_both() {
    watched(|| {
        let (trusts, given) = mpsc::channel();
        let (done, is_done) = mpsc::channel::<()>();
        let other = thread::spawn(move || {
            gossamer::run(workers(1), move || {
                trusts.send(entrust(String::from("alive"))).unwrap();
                gossamer::entrust(());
                while is_done.try_recv() == Err(mpsc::TryRecvError::Empty) {
                    gossamer::sleep(std::time::Duration::from_millis(1));
                }
            });
        });
        let text = given.recv().unwrap();
        rack::run_in_process(2, workers(1), move || {
            let there = far().entrust(String::new());
            // By a worker, and by a thread on whose behalf a worker sends.
            let send = |there: &Trust<String>, text: Trust<String>| {
                let error = there.try_apply_with(|_, text: Trust<String>| drop(text), text);
                assert!(is_refused(&error.unwrap_err()));
            };
            send(&there, text.clone());
            let (far_one, other) = (there.clone(), text.clone());
            let thread = thread::spawn(move || send(&far_one, other));
            while !thread.is_finished() {
                gossamer::yield_now();
            }
            thread.join().unwrap();
            assert_eq!(text.apply(|text| text.clone()), "alive");
        });
        drop(done);
        other.join().unwrap();
    });
}

#[test]
#[gossamer::delegate]
fn trusts_of_one_rack_still_travel() {
    on_nodes(2, 2, || {
        let text = entrust(String::from("here"));
        let there = far().entrust(());
        assert_eq!(there.apply_with(|_, text: Trust<String>| text.trustee().index(), text), 0);
    });
}
