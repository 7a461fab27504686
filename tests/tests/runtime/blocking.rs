//! A blocking call where nothing can wait panics at once, with advice, however the closure got there.

use gossamer::{Latch, Trust, Trustee, entrust};
use integration_tests::{in_runtime, near_and_far, panic_text, wait_until, watched, workers};
use std::sync::Mutex;
use std::sync::mpsc;
use std::time::Duration;

/// What a call may try to block on.
#[derive(Clone)]
struct Targets {
    number: Trust<u64>,
    latch: Trust<Latch<u64>>,
}

// SAFETY: two trusts.
unsafe impl gossamer::NoRef for Targets {}

impl Targets {
    fn at(trustee: Trustee) -> Self {
        Self { number: trustee.entrust(0), latch: trustee.entrust(Latch::new(0)) }
    }
}

/// Every call that blocks, and the name its message gives it.
const CALLS: [(&str, fn(Targets)); 11] = [
    ("apply", |targets| targets.number.apply(|number| *number += 1)),
    ("try_apply", |targets| drop(targets.number.try_apply(|number| *number += 1))),
    ("apply", |targets| targets.number.apply_with(|number, by| *number += by, 1)),
    ("launch", |targets| targets.latch.launch(|number| *number += 1)),
    ("launch", |targets| targets.latch.launch_with(|number, by| *number += by, 1)),
    ("wait", |targets| targets.number.apply_async(|number| *number).try_wait().map(drop).unwrap()),
    ("join", |_| Trustee::here().spawn(|| ()).join()),
    ("join", |_| drop(Trustee::here().spawn(|| ()).try_join())),
    ("yield_now", |_| gossamer::yield_now()),
    ("sleep", |_| gossamer::sleep(Duration::from_secs(3600))),
    ("entrust", |targets| drop(targets.number.trustee().entrust(7))),
];

/// What `CALLS[index]` panics with.
fn message_of(index: usize, targets: Targets) -> String {
    panic_text(|| CALLS[index].1(targets))
}

#[track_caller]
fn assert_advises(text: &str, index: usize, place: &str) {
    assert!(text.contains(&format!("blocking `{}` inside {place}", CALLS[index].0)), "call {index}: {text}");
    let instead = match CALLS[index].0 {
        "apply" | "try_apply" => "use `apply_then`, or make the property a `Latch`",
        "launch" => "use `launch_then`",
        _ => "leave it to a fiber (`spawn_local`), or make the property a `Latch`",
    };
    assert!(text.contains(instead), "call {index}: {text}");
}

#[test]
fn a_delegated_closure_cannot_block_on_any_trustee() {
    near_and_far(|trustee| {
        let property = trustee.entrust(());
        for other in Trustee::all() {
            for index in 0..CALLS.len() {
                let arguments = (index, Targets::at(other));
                let text = property.apply_with(|(), (index, targets)| message_of(index, targets), arguments);
                assert_advises(&text, index, "a delegated closure");
            }
        }
        property.apply(|()| ());
    });
}

#[test]
fn a_delegated_closure_that_does_not_catch_it_passes_the_advice_to_its_caller() {
    near_and_far(|trustee| {
        let property = trustee.entrust(());
        for index in 0..CALLS.len() {
            let arguments = (index, Targets::at(Trustee::here()));
            let error = property.try_apply_with(|(), (index, targets)| CALLS[index].1(targets), arguments);
            assert_advises(&error.unwrap_err().to_string(), index, "a delegated closure");
        }
        property.apply(|()| ());
    });
}

#[test]
fn a_callback_cannot_block_on_any_trustee() {
    near_and_far(|trustee| {
        let property = trustee.entrust(());
        for other in Trustee::all() {
            for index in 0..CALLS.len() {
                let (targets, (sender, said)) = (Targets::at(other), mpsc::channel());
                property.apply_then(|()| (), move |()| sender.send(message_of(index, targets)).unwrap());
                let mut text = None;
                wait_until(|| {
                    text = said.try_recv().ok();
                    text.is_some()
                });
                assert_advises(&text.unwrap(), index, "a callback");
            }
        }
    });
}

#[test]
fn a_closure_sent_by_a_thread_that_is_no_worker_cannot_block_either() {
    in_runtime(1, || {
        let (property, targets) = (entrust(()), Targets::at(Trustee::here()));
        let thread = std::thread::spawn(move || {
            for index in 0..CALLS.len() {
                let arguments = (index, targets.clone());
                let text = property.apply_with(|(), (index, targets)| message_of(index, targets), arguments);
                assert_advises(&text, index, "a delegated closure");
            }
        });
        wait_until(|| thread.is_finished());
        thread.join().unwrap();
    });
}

#[test]
fn a_drop_of_a_property_cannot_block() {
    static TEXTS: Mutex<Vec<String>> = Mutex::new(Vec::new());
    struct Blocks(usize, Targets);
    // SAFETY: a number and two trusts.
    unsafe impl gossamer::NoRef for Blocks {}
    impl Drop for Blocks {
        fn drop(&mut self) {
            TEXTS.lock().unwrap().push(message_of(self.0, self.1.clone()));
        }
    }
    near_and_far(|trustee| {
        for index in 0..CALLS.len() {
            drop(trustee.entrust(Blocks(index, Targets::at(Trustee::here()))));
            wait_until(|| !TEXTS.lock().unwrap().is_empty());
            let text = TEXTS.lock().unwrap().pop().unwrap();
            assert_advises(&text, index, "a delegated closure");
        }
    });
}

#[test]
fn a_closure_cannot_block_on_a_trustee_of_another_runtime_and_sends_it_nothing() {
    watched(|| {
        let (sender, receiver) = mpsc::channel();
        let (stop, stopped) = mpsc::channel::<()>();
        let other = std::thread::spawn(move || {
            gossamer::run(workers(1), move || {
                sender.send(entrust(0_u64)).unwrap();
                wait_until(|| stopped.try_recv().is_ok());
            });
        });
        let foreign = receiver.recv().unwrap();
        gossamer::run(workers(1), move || {
            let property = entrust(());
            let text = property.apply_with(
                |(), foreign: Trust<u64>| panic_text(|| foreign.apply(|number| *number += 1)),
                foreign.clone(),
            );
            assert!(text.contains("blocking `apply` inside a delegated closure"), "{text}");
            assert_eq!(foreign.apply(|number| *number), 0);
        });
        stop.send(()).unwrap();
        other.join().unwrap();
    });
}
