//! Values without a size, captured by closures: nobody may conjure one up where it was not made.

use gossamer::{DelegationError, Latch, Reason, Sharded, Trust, Trustee, entrust, rack, spawn_many_with};
use gossamer::{spawn_on, spawn_on_with};
use integration_tests::{far, in_runtime, near_and_far, on_nodes, panic_text, wait_until};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

/// A proof that [`ready`] was called in this process. It has no size, and no destructor.
#[derive(Clone, Copy)]
struct Ready(());

impl Ready {
    fn proved(&self) -> u64 {
        let Self(()) = self;
        1
    }
}

fn ready() -> Ready {
    Ready(())
}

/// Checks that an error says why a closure of this module was not sent, and what to do about it.
#[track_caller]
fn assert_stays<U: std::fmt::Debug>(outcome: Result<U, DelegationError>) {
    let error = outcome.unwrap_err();
    assert!(matches!(error.reason(), Reason::Stays { .. }), "{error}");
    assert!(error.closure().contains("attacked::closures::"), "{error}");
    let text = error.to_string();
    assert!(text.contains("#[gossamer::delegate]") && text.contains("const { |…| … }"), "{text}");
    assert!(text.contains("sent from") && text.contains("attacked/closures.rs:"), "{text}");
}

#[test]
fn a_proof_without_size_works_inside_one_process() {
    near_and_far(|there| {
        let (sum, ready) = (there.entrust(40_u64), ready());
        assert_eq!(sum.apply(move |sum| *sum + ready.proved()), 41);
        assert_eq!(sum.apply_with(move |sum, n| *sum + n + ready.proved(), 1), 42);
        assert_eq!(spawn_on(there, move || ready.proved()).join(), 1);
        assert!(there.entrust_with(move |()| Some(ready), ()).apply(|ready| ready.is_some()));
        let latch = there.entrust(Latch::new(1_u64));
        assert_eq!(latch.launch(move |value| *value + ready.proved()), 2);
        assert_eq!(spawn_many_with(4, move |_, ()| ready.proved(), ()).join(), [1; 4]);
    });
    in_runtime(2, || {
        let ready = ready();
        let shards = Sharded::<u8, u64>::with(move || ready.proved());
        assert_eq!(shards.map_all(move |shard| *shard + ready.proved()), [2, 2]);
        assert_eq!(rack::on_each_node(move |()| ready.proved(), ()), [1]);
    });
}

#[test]
fn a_proof_without_size_stays_in_its_process() {
    on_nodes(2, 1, || {
        let (sum, ready, there) = (far().entrust(0_u64), ready(), far());
        assert_stays(sum.try_apply(move |sum| *sum + ready.proved()));
        assert_stays(sum.try_apply_with(move |sum, n| *sum + n + ready.proved(), 1));
        assert_stays(sum.apply_async(move |sum| *sum + ready.proved()).try_wait());
        assert_stays(spawn_on(there, move || ready.proved()).try_join());
        assert_stays(spawn_on_with(there, move |n: u64| ready.proved() + n, 1).try_join());
        let many = spawn_many_with(2, move |_, ()| ready.proved(), ()).try_join();
        assert_eq!(many[0].as_ref().unwrap(), &1);
        assert_stays(many[1].clone());
        for text in [
            panic_text(|| sum.apply(move |sum| *sum + ready.proved())),
            panic_text(|| there.entrust_with(move |()| Some(ready), ())),
            panic_text(|| there.entrust(Latch::new(1_u64)).launch(move |value| *value + ready.proved())),
            panic_text(|| Sharded::<u8, u64>::with(move || ready.proved())),
            panic_text(|| Sharded::<u8, u64>::new().map_all(move |shard| *shard + ready.proved())),
            panic_text(|| rack::on_each_node(move |()| ready.proved(), ())),
        ] {
            assert!(text.contains("#[gossamer::delegate]"), "{text}");
        }
        // No part of it was done.
        assert_eq!(sum.apply(const { |sum| *sum }), 0);
    });
}

#[test]
fn a_callback_of_a_closure_that_stays_is_not_called() {
    on_nodes(2, 1, || {
        let sum = far().entrust(0_u64);
        sum.apply_then(|sum| *sum += 1, |()| panic!("it was called"));
        assert_eq!(sum.apply(const { |sum| *sum }), 0);
    });
}

#[test]
fn a_closure_that_stays_is_refused_to_threads_too() {
    on_nodes(2, 1, || {
        static REFUSED: AtomicBool = AtomicBool::new(false);
        REFUSED.store(false, SeqCst);
        let (sum, there) = (far().entrust(0_u64), far());
        std::thread::spawn(move || {
            let ready = ready();
            assert_stays(sum.try_apply(move |sum| *sum + ready.proved()));
            assert_stays(there.spawn(move || ready.proved()).try_join());
            REFUSED.store(true, SeqCst);
        });
        wait_until(|| REFUSED.load(SeqCst));
    });
}

#[test]
fn what_was_to_go_with_a_closure_that_stays_is_dropped() {
    on_nodes(2, 1, || {
        static DROPPED: AtomicUsize = AtomicUsize::new(0);
        struct Counted;
        impl Drop for Counted {
            fn drop(&mut self) {
                DROPPED.fetch_add(1, SeqCst);
            }
        }
        DROPPED.store(0, SeqCst);
        let kept: Trust<Counted> = entrust(Counted);
        let sum = far().entrust(0_u64);
        assert_stays(sum.try_apply_with(|_, kept: Trust<Counted>| drop(kept), kept));
        let kept = entrust(Counted);
        assert_stays(spawn_on_with(far(), |kept: Trust<Counted>| drop(kept), kept).try_join());
        wait_until(|| DROPPED.load(SeqCst) == 2);
    });
}

fn double(number: &mut u64) -> u64 {
    *number *= 2;
    *number
}

fn generic<T: Clone>(value: &mut T) -> T {
    value.clone()
}

#[test]
fn functions_and_constants_travel() {
    on_nodes(2, 1, || {
        let sum = far().entrust(3_u64);
        assert_eq!(sum.apply(double), 6);
        assert_eq!(sum.apply(const { |sum| generic(sum) }), 6);
        assert_eq!(sum.apply_with(const { |sum: &mut u64, n: u64| *sum + n }, 1), 7);
        assert_eq!(far().entrust_with(Some, 5_u64).apply(const { |number| number.take() }), Some(5));
        assert_eq!(Sharded::<u8, Vec<u8>>::new().map_all(const { |shard| shard.len() }), [0, 0]);
        assert_eq!(sum.apply(generic), 6);
        // It cannot be told apart from the standard library's wrappers of closures.
        let error = sum.try_apply(std::mem::take).unwrap_err();
        assert!(matches!(error.reason(), Reason::Stays { .. }), "{error}");
    });
}

#[test]
fn what_wraps_a_closure_does_not_travel() {
    on_nodes(2, 1, || {
        let there = far();
        let ready = ready();
        assert_stays(spawn_on(there, AssertUnwindSafe(move || ready.proved())).try_join());
        assert_stays(spawn_on(there, AssertUnwindSafe(const { || 1_u64 })).try_join());
    });
}

#[gossamer::delegate]
#[test]
fn in_marked_functions_all_closures_travel() {
    on_nodes(2, 1, || {
        let there = Trustee::all()[1];
        let n = 5_u64;
        let sum = there.entrust(0_u64);
        sum.apply(|sum| *sum += n);
        sum.apply(|sum| *sum += 1);
        assert_eq!(sum.apply_with(|sum, n| *sum + n.len() as u64, String::from("four")), 10);
        assert_eq!(sum.try_apply_with(|sum, (a, b)| *sum + a + b, (1, 2)).unwrap(), 9);
        sum.apply_with_then(|sum, n| *sum + n, 1, |total| assert_eq!(total, 7));
        assert_eq!(sum.apply_with_async(|sum, n| *sum + n, 1).wait(), 7);
        assert_eq!(there.entrust_with(|n| vec![n], n).apply(|list| list.len()), 1);
        assert_eq!(there.spawn(move || n).join() + there.spawn_with(|n| n + 1, n).join(), 11);
        assert_eq!(spawn_on_with(there, |text| text.len(), String::from("four")).join(), 4);
        assert_eq!(
            spawn_many_with(4, |number, text| number + text.len(), String::new()).join(),
            [0, 1, 2, 3]
        );
        assert_eq!(rack::on_each_node(|text| text.len(), String::from("four")), [4, 4]);
        let latch = there.entrust(Latch::new(1_u64));
        assert_eq!(latch.launch(|value| *value + n) + latch.launch_with(|value, n| *value + n, n), 12);
        let shards = Sharded::<u8, u64>::with(|| 4);
        assert_eq!(shards.map_all(|shard| *shard), [4, 4]);
        assert_eq!(Trustee::all().len(), 2);
    });
}
