//! Wakers of the program that panic: the panic is reported, and everything else goes on.

use gossamer::{Trust, Trustee};
use integration_tests::{in_child, workers};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

static WOKEN: AtomicBool = AtomicBool::new(false);

struct Bad;

impl Wake for Bad {
    fn wake(self: Arc<Self>) {
        WOKEN.store(true, Ordering::SeqCst);
        panic!("a waker panics");
    }
}

/// Asks with a waker that panics, and waits until it has panicked.
fn ask(number: &Trust<u64>) {
    static POLLED: AtomicBool = AtomicBool::new(false);
    let slow = |number: &mut u64| {
        while !POLLED.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        *number += 1;
    };
    let mut pending = pin!(number.apply_async(slow));
    let waker = Waker::from(Arc::new(Bad));
    // Inside `block_on`, where an executor of another crate that polls in a fiber would wait.
    gossamer::block_on(async {
        assert!(pending.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    });
    POLLED.store(true, Ordering::SeqCst);
    integration_tests::wait_until(|| WOKEN.load(Ordering::SeqCst));
}

fn is_reported(ask: fn(Trust<u64>)) {
    let ended = in_child(
        |_| (),
        move || {
            gossamer::run(workers(2), move || {
                let number = Trustee::all()[1].entrust(0_u64);
                ask(number.clone());
                assert_eq!(number.apply(|number| *number), 1);
            });
        },
    );
    assert!(ended.status.success(), "{}", ended.errors);
    assert!(ended.errors.contains("a waker panics"), "{}", ended.errors);
}

#[test]
fn a_waker_of_a_thread_that_panics_is_reported() {
    is_reported(|number| {
        let thread = std::thread::spawn(move || ask(&number));
        integration_tests::wait_until(|| thread.is_finished());
        thread.join().unwrap();
    });
}

#[test]
fn a_waker_of_a_fiber_that_panics_is_reported() {
    is_reported(|number| ask(&number));
}
