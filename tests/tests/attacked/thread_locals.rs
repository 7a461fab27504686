//! Thread-locals and other initialisers of `std`, which know nothing of fibers, and what to use instead.

use gossamer::{Latch, Trustee, entrust, fiber_local, spawn_on, without_suspending, yield_now};
use integration_tests::{Tally, in_child, in_runtime, panic_text};
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, OnceLock};
use std::time::Duration;

#[test]
fn a_fiber_local_whose_initialiser_suspends_is_made_once_for_each_fiber() {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    fiber_local! {
        static TABLE: Vec<u64> = {
            if MADE.fetch_add(1, Ordering::Relaxed) == 0 {
                (0..10).for_each(|_| yield_now());
            }
            vec![7; 1000]
        };
    }
    in_runtime(1, || {
        let here = Trustee::here();
        let slow = spawn_on(here, || TABLE.with(Vec::len));
        let other = spawn_on(here, || {
            TABLE.with(|table| {
                let row: &[u64] = &table[..];
                (0..100).for_each(|_| yield_now());
                let _other = std::hint::black_box(vec![1_u64; 1000]);
                assert_eq!(TABLE.with(Vec::len), 1000);
                row.iter().sum::<u64>()
            })
        });
        assert_eq!((slow.join(), other.join()), (1000, 7000));
        assert_eq!(MADE.load(Ordering::Relaxed), 2);
    });
}

#[test]
fn values_of_a_fiber_are_dropped_before_whoever_joins_it_hears_of_it_the_last_one_first() {
    static TALLY: LazyLock<&Tally> = LazyLock::new(Tally::new);
    static DROPPED: std::sync::Mutex<Vec<u32>> = std::sync::Mutex::new(Vec::new());
    struct Noted(u32);
    impl Drop for Noted {
        fn drop(&mut self) {
            // A destructor may wait.
            yield_now();
            DROPPED.lock().unwrap().push(self.0);
        }
    }
    fiber_local! {
        static FIRST: Noted = Noted(1);
        static SECOND: Noted = {
            FIRST.with(|_| ());
            Noted(2)
        };
        static COUNTED: integration_tests::Counted = TALLY.value();
    }
    in_runtime(2, || {
        for fibers in 1..=3 {
            for panics in [false, true] {
                let body = |panics: bool| {
                    COUNTED.with(|_| ());
                    SECOND.with(|_| yield_now());
                    assert!(!panics, "expected in the output of this test");
                };
                let fiber = gossamer::spawn_with(body, panics);
                assert_eq!(fiber.try_join().is_err(), panics);
                assert_eq!(std::mem::take(&mut *DROPPED.lock().unwrap()), [2, 1]);
            }
            assert_eq!((TALLY.made(), TALLY.dropped()), (2 * fibers, 2 * fibers));
        }
    });
}

#[test]
fn code_that_is_no_fiber_has_the_value_of_its_thread() {
    fiber_local! {
        static NUMBER: Cell<u32> = Cell::new(0);
    }
    let next = || NUMBER.with(|number| number.replace(number.get() + 1));
    in_runtime(1, move || {
        let property = entrust(());
        assert_eq!(next(), 0);
        for round in 0..3 {
            assert_eq!(property.apply(|()| NUMBER.with(|number| number.replace(number.get() + 1))), round);
        }
        assert_eq!(next(), 1);
        assert_eq!(without_suspending(next), 2);
        assert_eq!(spawn_on(Trustee::here(), || NUMBER.with(Cell::get)).join(), 0);
        assert_eq!(std::thread::spawn(next).join().unwrap(), 0);
    });
}

#[test]
fn an_initialiser_that_uses_itself_or_panics_says_so_and_can_be_tried_again() {
    static TRIES: AtomicUsize = AtomicUsize::new(0);
    fn itself() -> u32 {
        CIRCLE.with(|number| *number)
    }
    fiber_local! {
        static CIRCLE: u32 = itself();
        static SECOND_TRY: usize = {
            assert!(TRIES.fetch_add(1, Ordering::Relaxed) > 0, "the first try (expected in the output of this test)");
            5
        };
    }
    in_runtime(1, || {
        for _ in 0..2 {
            let text = panic_text(|| CIRCLE.with(|number| *number));
            assert!(text.contains("the fiber-local `CIRCLE` uses the value that it makes"), "{text}");
        }
        assert!(panic_text(|| SECOND_TRY.with(|number| *number)).contains("the first try"));
        assert_eq!(SECOND_TRY.with(|number| *number), 5);
    });
}

#[test]
fn destructors_that_make_values_without_end_are_stopped_and_named() {
    struct Again;
    impl Drop for Again {
        fn drop(&mut self) {
            ENDLESS.with(|_| ());
        }
    }
    fiber_local! {
        static ENDLESS: Again = Again;
    }
    let ended = in_child(
        |_| (),
        || {
            in_runtime(1, || {
                spawn_on(Trustee::here(), || ENDLESS.with(|_| ())).join();
                // The next job of that fiber finds none of them.
                assert_eq!(spawn_on(Trustee::here(), || 7).join(), 7);
            });
        },
    );
    assert!(ended.status.success(), "{}", ended.errors);
    assert!(ended.errors.contains("make new ones without end"), "{}", ended.errors);
    assert!(ended.errors.contains("thread_locals.rs:"), "{}", ended.errors);
}

#[test]
fn a_destructor_of_a_fiber_local_that_panics_spares_the_others_and_the_result() {
    static TALLY: LazyLock<&Tally> = LazyLock::new(Tally::new);
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("a destructor panics (expected in the output of this test)");
        }
    }
    fiber_local! {
        static COUNTED: integration_tests::Counted = TALLY.value();
        static BOMB: Bomb = Bomb
    }
    in_runtime(1, || {
        for _ in 0..3 {
            let body = || {
                COUNTED.with(|_| ());
                BOMB.with(|_| 7)
            };
            assert_eq!(spawn_on(Trustee::here(), body).join(), 7);
            assert!(TALLY.made() > 0 && TALLY.is_even());
        }
    });
}

#[test]
fn fibers_that_are_cancelled_drop_their_values_though_destructors_wait() {
    static TALLY: LazyLock<&Tally> = LazyLock::new(Tally::new);
    struct Sleeps;
    impl Drop for Sleeps {
        fn drop(&mut self) {
            // It unwinds: it is cancelled, too.
            gossamer::sleep(Duration::from_secs(1000));
        }
    }
    struct Joins;
    impl Drop for Joins {
        fn drop(&mut self) {
            assert_eq!(spawn_on(Trustee::here(), || 7).join(), 7);
        }
    }
    fiber_local! {
        static COUNTED: integration_tests::Counted = TALLY.value();
        static SLEEPS: Sleeps = Sleeps;
        static JOINS: Joins = Joins;
    }
    in_runtime(2, || {
        spawn_on(Trustee::here(), || JOINS.with(|_| ())).join();
        for trustee in Trustee::all() {
            for _ in 0..10 {
                drop(trustee.spawn(|| {
                    COUNTED.with(|_| ());
                    SLEEPS.with(|_| gossamer::sleep(Duration::from_secs(1000)));
                }));
            }
        }
        while TALLY.made() < 20 {
            yield_now();
        }
    });
    assert_eq!((TALLY.made(), TALLY.dropped()), (20, 20));
}

#[test]
fn nothing_suspends_a_fiber_inside_of_without_suspending() {
    in_runtime(2, || {
        let (near, far) = (entrust(1_u64), Trustee::all()[1].entrust(2_u64));
        let latch = entrust(Latch::new(0_u64));
        let fiber = spawn_on(Trustee::here(), || ());
        let pending = far.apply_async(|number| *number += 0);
        let refused = |call: &dyn Fn()| {
            let text = panic_text(|| without_suspending(call));
            assert!(text.contains("inside `gossamer::without_suspending`"), "{text}");
        };
        refused(&yield_now);
        refused(&|| gossamer::sleep(Duration::ZERO));
        refused(&|| near.apply(|number| *number += 1));
        refused(&|| far.apply(|number| *number += 1));
        refused(&|| drop(far.try_apply(|number| *number)));
        refused(&|| latch.launch(|number| *number += 1));
        refused(&|| gossamer::rack::barrier());
        refused(&|| drop(gossamer::net::TcpListener::bind("127.0.0.1:0").unwrap().accept()));
        let pending = Cell::new(Some(pending));
        refused(&|| pending.take().unwrap().wait());
        let fiber = Cell::new(Some(fiber));
        refused(&|| fiber.take().unwrap().join());
        // Calls that need not wait go on, nested ones too.
        without_suspending(|| {
            without_suspending(|| far.apply_then(|number| *number += 1, |()| ()));
            drop(spawn_on(Trustee::here(), || ()));
            drop(entrust(5_u64));
            assert!(panic_text(yield_now).contains("without_suspending"));
        });
        yield_now();
        assert_eq!((near.apply(|number| *number), far.apply(|number| *number)), (1, 3));
    });
}

#[test]
fn a_thread_local_and_a_once_lock_are_made_once_without_suspending() {
    thread_local! {
        static TURN: Cell<u32> = const { Cell::new(0) };
        static TABLE: Vec<u64> = without_suspending(|| {
            if TURN.replace(1) == 0 {
                yield_now();
            }
            vec![7; 1000]
        });
    }
    static ONCE: OnceLock<u64> = OnceLock::new();
    in_runtime(1, || {
        let here = Trustee::here();
        let slow = spawn_on(here, || TABLE.with(Vec::len));
        let other = spawn_on(here, || {
            TABLE.with(|table| {
                (0..100).for_each(|_| yield_now());
                table.iter().sum::<u64>()
            })
        });
        let error = slow.try_join().unwrap_err();
        assert!(error.to_string().contains("inside `gossamer::without_suspending`"), "{error}");
        assert_eq!(other.join(), 7000);
        let number = entrust(5_u64);
        let waits = |number: gossamer::Trust<u64>| {
            *ONCE.get_or_init(|| without_suspending(|| number.apply(|number| *number)))
        };
        for _ in 0..3 {
            let fiber = gossamer::spawn_on_with(here, waits, number.clone());
            assert!(fiber.try_join().is_err());
        }
        assert_eq!(*ONCE.get_or_init(|| without_suspending(|| 6)), 6);
    });
}

#[test]
fn a_delegated_closure_inside_of_without_suspending_is_one_and_what_is_around_it_goes_on() {
    fiber_local! {
        static LOG: RefCell<Vec<u32>> = RefCell::default();
    }
    in_runtime(2, || {
        let error = spawn_on(Trustee::all()[1], || -> u32 {
            LOG.with(|log| without_suspending(|| log.borrow_mut().push(1)));
            let caught =
                std::panic::catch_unwind(|| without_suspending(|| panic!("inner (expected in the output)")));
            assert!(caught.is_err());
            yield_now();
            without_suspending(|| panic!("outer (expected in the output of this test)"))
        })
        .try_join()
        .unwrap_err();
        let gossamer::Reason::Panicked { message, place, .. } = error.reason() else { panic!("{error}") };
        assert!(message.starts_with("outer"), "{message}");
        assert!(place.as_deref().is_some_and(|place| place.contains(file!())), "{place:?}");
    });
}
