//! Events that are not about completions: who is informed, and who waits for whom.

use super::kit::*;
use crate::symbols::*;
use crate::types::*;
use libc::EAGAIN;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[test]
fn an_event_names_its_queue_pair_and_destroying_that_waits_for_its_acknowledgement() {
    let (one, two) = connected(Plan::default());
    assert_eq!(verbs_sim_break(one.place().number, 0), 0);
    let event = one.take_async_event();
    assert_eq!(event.kind(), IBV_EVENT_QP_FATAL);
    assert!(event.is_failure_of(&one.pair));
    let is_acknowledged = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            is_acknowledged.store(true, Ordering::SeqCst);
            event.acknowledge();
        });
        drop(one);
        assert!(is_acknowledged.load(Ordering::SeqCst));
    });
    drop(two);
}

#[test]
fn an_event_that_nobody_took_goes_with_its_queue_pair() {
    let (one, two) = connected(Plan::default());
    assert_eq!(verbs_sim_break(one.place().number, 0), 0);
    let context = made(one.context.open_again());
    drop((one, two));
    do_not_wait(context.descriptor());
    assert_eq!(context.take_event().err(), Some(-1));
    assert_eq!(errno(), EAGAIN);
}

#[test]
fn events_of_a_port_are_told_to_all_contexts_of_its_device() {
    let test = "tests::events::events_of_a_port_are_told_to_all_contexts_of_its_device";
    with_devices(test, "a port=1 gid=3:v2:10.0.0.1; b port=1 gid=3:v2:10.0.0.1", || {
        let of = |device| End::new(Plan { device, ..Plan::default() });
        let (one, two, other) = (of(0), of(0), of(1));
        assert_eq!(verbs_sim_event(0, 1, IBV_EVENT_GID_CHANGE), 0);
        assert_eq!((one.event(), two.event()), (IBV_EVENT_GID_CHANGE, IBV_EVENT_GID_CHANGE));
        assert!(!is_readable(other.context.descriptor(), 0));
    });
}
