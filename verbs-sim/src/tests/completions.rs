//! Completion queues: notification, overflow, destroying.

use super::kit::*;
use crate::types::*;
use libc::{EAGAIN, EBUSY, EINVAL};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn write(one: &End, two: &End, id: u64) -> Work {
    Work::write(id, SIGNALED, one.words(0, 1), two.place(), 0)
}

fn has_event(end: &End) -> bool {
    is_readable(end.channel.descriptor(), 0)
}

#[test]
fn an_armed_queue_raises_one_event_for_the_next_completion() {
    let (one, two) = connected(Plan::default());
    one.arm(false);
    assert!(!has_event(&one));
    one.post(&[write(&one, &two, 1), write(&one, &two, 2)]);
    let event = one.take_event();
    assert_eq!(one.statuses(2), [(1, IBV_WC_SUCCESS), (2, IBV_WC_SUCCESS)]);
    assert!(!has_event(&one), "one shot");
    event.acknowledge();
}

#[test]
fn arming_tells_nothing_of_completions_that_are_there_already() {
    let test = "tests::completions::arming_tells_nothing_of_completions_that_are_there_already";
    with_devices(test, "a port=1 gid=3:v2:10.0.0.1", || {
        let (one, two) = connected(Plan::default());
        one.post(&[write(&one, &two, 1)]);
        wait_for(|| (counter(c"completions") == 1).then_some(()));
        one.arm(false);
        assert!(!has_event(&one));
        one.post(&[write(&one, &two, 2)]);
        one.take_event().acknowledge();
        assert_eq!(one.statuses(2).len(), 2);
    });
}

#[test]
fn who_arms_for_solicited_completions_hears_of_those_and_of_errors() {
    let (one, two) = connected(Plan::default());
    assert_eq!([two.receive(1), two.receive(2), two.receive(3)], [0; 3]);
    let immediate = |id, flags| Work::immediate(id, SIGNALED | flags, one.words(0, 1), two.place(), 0, 5);
    two.arm(true);
    one.post(&[immediate(1, 0)]);
    assert_eq!(two.wait().wr_id, 1);
    assert!(!has_event(&two));
    one.post(&[immediate(2, IBV_SEND_SOLICITED)]);
    let first = two.take_event();
    two.arm(true);
    two.fail();
    first.and(two.take_event()).acknowledge();
    assert_eq!(two.statuses(2), [(2, IBV_WC_SUCCESS), (3, IBV_WC_WR_FLUSH_ERR)]);
}

#[test]
fn arm_then_look_then_sleep_misses_nothing() {
    let (one, two) = connected(Plan::default());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let two = &two;
            let mut got = 0;
            while got < 500 {
                two.arm(false);
                let before = got;
                while let Some(wc) = two.poll() {
                    got += 1;
                    assert_eq!(wc.wr_id, got);
                    assert_eq!(two.receive(got + 64), 0);
                }
                if got == before || has_event(two) {
                    two.take_event().acknowledge();
                }
            }
        });
        for id in 1..=500 {
            if id == 1 {
                assert!((1..=64).all(|receive| two.receive(receive) == 0));
            }
            one.post(&[Work::immediate(id, SIGNALED, one.words(0, 1), two.place(), 0, 0)]);
            assert_eq!(one.wait().status, IBV_WC_SUCCESS);
        }
    });
}

#[test]
fn a_channel_that_is_not_to_wait_says_that_there_is_nothing() {
    let end = End::new(Plan::default());
    do_not_wait(end.channel.descriptor());
    assert_eq!(end.channel.take_event().err(), Some(-1));
    assert_eq!(errno(), EAGAIN);
}

#[test]
fn a_queue_that_overflows_is_broken_and_its_queue_pairs_with_it() {
    let (one, two) = connected(Plan { cqe: 3, ..Plan::default() });
    let works: Vec<Work> = (1..=4).map(|id| write(&one, &two, id)).collect();
    one.post(&works);
    assert_eq!((one.event(), one.event()), (IBV_EVENT_CQ_ERR, IBV_EVENT_QP_FATAL));
    assert_eq!(one.statuses(3).len(), 3, "what there was can be polled");
    assert!(one.poll().is_none());
}

#[test]
fn a_receiver_whose_queue_overflows_is_a_remote_operation_error() {
    let (one, two) = (End::new(Plan::default()), End::new(Plan { cqe: 1, ..Plan::default() }));
    one.connect(two.place());
    two.connect(one.place());
    assert_eq!([two.receive(1), two.receive(2)], [0, 0]);
    let immediate = |id| Work::immediate(id, SIGNALED, one.words(0, 1), two.place(), 0, 5);
    one.post(&[immediate(1), immediate(2)]);
    assert_eq!(one.statuses(2), [(1, IBV_WC_SUCCESS), (2, IBV_WC_REM_OP_ERR)]);
    assert_eq!((two.event(), two.event()), (IBV_EVENT_CQ_ERR, IBV_EVENT_QP_FATAL));
}

#[test]
fn a_queue_in_use_is_not_destroyed_nor_its_channel() {
    let end = End::new(Plan::default());
    assert_eq!(end.queue.destroy_in_use(), EBUSY);
    assert_eq!(end.channel.destroy_in_use(), EBUSY);
    assert_eq!(end.domain.destroy_in_use(), EBUSY);
}

#[test]
fn destroying_a_queue_waits_until_its_events_are_acknowledged() {
    let (one, two) = connected(Plan::default());
    let without_events = made(Queue::new(&one.context, 8, Some(&one.channel), 0));
    one.arm(false);
    one.post(&[write(&one, &two, 1)]);
    let event = one.take_event();
    let is_acknowledged = &AtomicBool::new(false);
    // It waits for nobody.
    drop(without_events);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            is_acknowledged.store(true, Ordering::SeqCst);
            event.acknowledge();
        });
        drop(one);
        assert!(is_acknowledged.load(Ordering::SeqCst));
    });
}

#[test]
fn events_that_nobody_took_go_with_their_queue() {
    let (one, two) = connected(Plan::default());
    let queue = made(Queue::new(&one.context, 8, Some(&one.channel), 0));
    let pair = made(Pair::new(&one.domain, &queue, one.plan.cap));
    assert_eq!(queue.arm(false), 0);
    let mut a = ibv_qp_attr { qp_state: IBV_QPS_ERR, ..Default::default() };
    assert_eq!(pair.modify(&mut a, IBV_QP_STATE), 0);
    assert_eq!(pair.receive(0), 0);
    assert!(is_readable(one.channel.descriptor(), 20_000));
    drop((pair, queue));
    assert!(!has_event(&one));
    drop(two);
}

#[test]
fn a_queue_has_at_least_what_was_asked_for_and_no_more_than_there_can_be() {
    let context = open(0);
    let queue = made(Queue::new(&context, 100, None, 0));
    assert!(queue.entries() >= 100);
    drop(queue);
    for (entries, vector) in [(0, 0), (1 << 30, 0), (8, 1)] {
        assert!(Queue::new(&context, entries, None, vector).is_none());
        assert_eq!(errno(), EINVAL);
    }
}
