//! A model of how a worker falls asleep over a completion queue: it raises its doorbell, arms the queue, looks once
//! more, and sleeps on the channel and its eventfd (`Worker::sleep`). In this order the worker sleeps over nothing that
//! lands meanwhile; in another order it may.

use crate::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sys::sync::doorbell::Doorbell;
use loom::sync::{Arc, Mutex};
use loom::thread::spawn;

/// What a device does under its own lock: arming concerns the next completion, not one that is already there.
#[derive(Default)]
struct CompletionQueue {
    completions: u32,
    is_armed: bool,
    /// Whether the channel is readable.
    has_event: bool,
}

impl CompletionQueue {
    /// A write with an immediate has landed.
    fn complete(&mut self) {
        self.completions += 1;
        if std::mem::take(&mut self.is_armed) {
            self.has_event = true;
        }
    }

    /// What an endpoint does: it takes the events that were reported first.
    fn arm(&mut self) {
        self.has_event = false;
        self.is_armed = true;
    }
}

/// What others of the process and the device may touch of a worker.
struct Sleeper {
    doorbell: Doorbell,
    queue: Mutex<CompletionQueue>,
    /// What another worker has published.
    published: AtomicU64,
    /// Whether its eventfd is readable.
    is_rung: AtomicBool,
}

#[derive(Clone, Copy)]
enum Step {
    RaiseDoorbell,
    Arm,
    Look,
}

/// A write with an immediate lands, and another worker publishes, while a worker falls asleep by these steps. The
/// worker is woken by whatever it did not see.
fn fall_asleep(steps: [Step; 3]) {
    loom::model(move || {
        let sleeper = Arc::new(Sleeper {
            doorbell: Doorbell::new(),
            queue: Mutex::default(),
            published: AtomicU64::new(0),
            is_rung: AtomicBool::new(false),
        });
        let [device, worker] = [(); 2].map(|()| Arc::clone(&sleeper));
        let device = spawn(move || device.queue.lock().unwrap().complete());
        let worker = spawn(move || {
            worker.published.store(1, Ordering::Release);
            if worker.doorbell.needs_ring() {
                worker.is_rung.store(true, Ordering::Relaxed);
            }
        });
        let (mut has_completion, mut has_published) = (false, false);
        for step in steps {
            match step {
                Step::RaiseDoorbell => sleeper.doorbell.prepare_to_sleep(),
                Step::Arm => sleeper.queue.lock().unwrap().arm(),
                Step::Look => {
                    has_completion = sleeper.queue.lock().unwrap().completions > 0;
                    has_published = sleeper.published.load(Ordering::Acquire) > 0;
                }
            }
        }
        device.join().unwrap();
        worker.join().unwrap();
        if !has_completion && !has_published {
            // It sleeps. Each of the two alone has to wake it: the other one may be meant for something else.
            assert!(sleeper.queue.lock().unwrap().has_event, "it would sleep over the completion");
            assert!(sleeper.is_rung.load(Ordering::Relaxed), "it would sleep over what was published");
        }
    });
}

#[test]
fn what_lands_while_a_worker_falls_asleep_is_seen_or_wakes_it() {
    fall_asleep([Step::RaiseDoorbell, Step::Arm, Step::Look]);
}

#[test]
#[should_panic(expected = "it would sleep over the completion")]
fn a_queue_that_is_armed_after_the_last_look_is_slept_over() {
    fall_asleep([Step::RaiseDoorbell, Step::Look, Step::Arm]);
}

#[test]
#[should_panic(expected = "it would sleep over the completion")]
fn a_queue_that_is_not_armed_is_slept_over() {
    fall_asleep([Step::RaiseDoorbell, Step::Look, Step::Look]);
}

#[test]
#[should_panic(expected = "it would sleep over what was published")]
fn a_doorbell_that_is_raised_after_the_last_look_is_not_rung() {
    fall_asleep([Step::Arm, Step::Look, Step::RaiseDoorbell]);
}
